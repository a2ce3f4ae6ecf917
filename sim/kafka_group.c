#include "sim/kafka_group.h"

#include "sim/random.h"

#define TOKEN_BITS 26u
#define TOKEN_MAX (1u << TOKEN_BITS)
#define RANK_GROUP (UINT64_C(1) << 41)

struct sfi_group *sfi_group_find(struct sf_sim_kafka *broker, const char *name)
{
    for (struct sfi_group *group = broker->groups; group != NULL; group = group->next)
        if (strcmp(group->name, name) == 0) return group;
    return NULL;
}

struct sfi_group *sfi_group_get(struct sf_sim_kafka *broker, const char *name)
{
    uint32_t number = 1;
    struct sfi_group **link = &broker->groups;
    for (; *link != NULL; link = &(*link)->next, number++)
        if (strcmp((*link)->name, name) == 0) return *link;
    struct sfi_group *group = sf_malloc(broker->alloc, sizeof *group);
    *group = (struct sfi_group){.broker = broker, .name = sfi_strdup(broker->alloc, name), .number = number,
                                .topic = UINT32_MAX};
    *link = group;
    return group;
}

void sfi_member_free(struct sfi_member *member)
{
    struct sf_sim_kafka *broker = member->group->broker;
    (void)sf_sim_world_cancel(broker->world, member->session_event);
    (void)sf_sim_world_cancel(broker->world, member->rebalance_event);
    sfi_strfree(broker->alloc, member->static_id);
    sf_free(broker->alloc, member, sizeof *member);
}

void sfi_group_free(struct sfi_group *group)
{
    struct sf_alloc alloc = group->broker->alloc;
    while (group->members != NULL) {
        struct sfi_member *member = group->members;
        assert(member->consumer == NULL);
        group->members = member->next;
        sfi_member_free(member);
    }
    sfi_offsets_free(group);
    sfi_strfree(alloc, group->name);
    sf_free(alloc, group, sizeof *group);
}

/* ---------------------------------------------------------------- proof */

struct sf_member_token sfi_member_token(const struct sfi_member *member)
{
    const struct sfi_group *group = member->group;
    assert(member->number < TOKEN_MAX && group->generation < TOKEN_MAX);
    return (struct sf_member_token){(uint64_t)group->number << (2 * TOKEN_BITS) |
                                    (uint64_t)member->number << TOKEN_BITS | group->generation};
}

bool sfi_group_accepts(const struct sfi_group *group, struct sf_member_token token)
{
    for (const struct sfi_member *member = group->members; member != NULL; member = member->next)
        if (sfi_member_token(member).id == token.id) return true;
    return false;
}

/* ---------------------------------------------------------------- rebalances */

static void tell(struct sfi_member *member)
{
    if (member->consumer == NULL) return;
    struct sf_sim_kafka *broker = member->group->broker;
    int64_t delay_us = sfi_broker_leg_us(broker, broker->config.group, SF_SIM_DOMAIN_KAFKA_ANSWER,
                                         RANK_GROUP + member->group->number, member->group->draw_ordinal++);
    sfi_consumer_member_news(member->consumer, delay_us);
}

static void owner_changed(const struct sfi_group *group)
{
    const struct sf_sim_kafka_observer *observer = group->broker->observer;
    if (observer == NULL || observer->owner == NULL) return;
    observer->owner(observer->ctx, group->name, group->owner != NULL ? group->owner->instance : 0, group->generation);
}

static bool has_topic(const struct sfi_group *group)
{
    return group->topic != UINT32_MAX && sf_sim_kafka_partition_count(group->broker, group->topic) > 0;
}

/* A new generation: the owner stays, or the member that joined first becomes it; all hear of it. */
static void rebalance(struct sfi_group *group)
{
    group->generation++;
    if (group->owner == NULL && has_topic(group)) group->owner = group->members;
    owner_changed(group);
    for (struct sfi_member *member = group->members; member != NULL; member = member->next) tell(member);
}

void sfi_group_topics_changed(struct sfi_group *group)
{
    if (group->owner == NULL && group->members != NULL && has_topic(group)) rebalance(group);
}

static void append(struct sfi_group *group, struct sfi_member *member)
{
    struct sfi_member **link = &group->members;
    while (*link != NULL) link = &(*link)->next;
    member->next = NULL;
    *link = member;
}

static void unlink_member(struct sfi_member *member)
{
    struct sfi_group *group = member->group;
    struct sfi_member **link = &group->members;
    while (*link != member) link = &(*link)->next;
    *link = member->next;
    member->next = NULL;
    if (group->owner == member) group->owner = NULL;
}

/* Out of the group; its consumer, where there is one, keeps the struct and hears of it after `deaf_us`. */
static void expel(struct sfi_member *member, int64_t deaf_us)
{
    struct sfi_group *group = member->group;
    struct sf_sim_world *world = group->broker->world;
    unlink_member(member);
    member->is_gone = true;
    (void)sf_sim_world_cancel(world, member->session_event);
    (void)sf_sim_world_cancel(world, member->rebalance_event);
    member->session_event = member->rebalance_event = SF_SIM_EVENT_NONE;
    if (member->consumer != NULL)
        sfi_consumer_member_news(member->consumer, deaf_us);
    else
        sfi_member_free(member);
    rebalance(group);
}

static void session_fire(void *ctx)
{
    struct sfi_member *member = ctx;
    member->session_event = SF_SIM_EVENT_NONE;
    expel(member, 0);
}

static void session_schedule(struct sfi_member *member, int64_t delay_us)
{
    struct sf_sim_world *world = member->group->broker->world;
    (void)sf_sim_world_cancel(world, member->session_event);
    member->session_event = sf_sim_world_after(world, delay_us, RANK_GROUP + member->group->number, session_fire,
                                               member);
}

/* From the last heartbeat, which was up to one interval ago. */
static int64_t session_left_us(const struct sfi_member *member)
{
    struct sfi_group *group = member->group;
    const struct sf_sim_kafka_config *config = &group->broker->config;
    uint64_t draw = sf_sim_draw(group->broker->world->seed, SF_SIM_DOMAIN_KAFKA_HEARTBEAT,
                                RANK_GROUP + group->number, group->draw_ordinal++);
    return config->session_timeout_us - sf_sim_range(draw, 0, config->heartbeat_us);
}

/* ---------------------------------------------------------------- members */

/* The later holder of a static id takes the place of the earlier one, in the same generation. */
static void take_place(struct sfi_group *group, struct sfi_member *earlier, struct sfi_member *member)
{
    bool is_owner = group->owner == earlier;
    member->next = earlier->next;
    struct sfi_member **link = &group->members;
    while (*link != earlier) link = &(*link)->next;
    *link = member;
    earlier->next = NULL;
    earlier->is_gone = true;
    earlier->is_fenced = true;
    if (is_owner) group->owner = member;
    struct sf_sim_world *world = group->broker->world;
    (void)sf_sim_world_cancel(world, earlier->session_event);
    (void)sf_sim_world_cancel(world, earlier->rebalance_event);
    earlier->session_event = earlier->rebalance_event = SF_SIM_EVENT_NONE;
    if (is_owner) owner_changed(group);
    if (earlier->consumer != NULL)
        tell(earlier);
    else
        sfi_member_free(earlier);
    tell(member);
}

struct sfi_member *sfi_group_join(struct sfi_group *group, struct sfi_consumer *consumer, uint32_t instance,
                                  uint32_t topic, const char *static_id)
{
    assert(group->topic == UINT32_MAX || group->topic == topic);
    group->topic = topic;
    struct sf_alloc alloc = group->broker->alloc;
    struct sfi_member *member = sf_malloc(alloc, sizeof *member);
    *member = (struct sfi_member){.group = group, .consumer = consumer, .number = ++group->member_number_last,
                                  .instance = instance};
    if (static_id != NULL) {
        member->static_id = sfi_strdup(alloc, static_id);
        for (struct sfi_member *other = group->members; other != NULL; other = other->next) {
            if (other->static_id == NULL || strcmp(other->static_id, static_id) != 0) continue;
            take_place(group, other, member);
            return member;
        }
    }
    append(group, member);
    rebalance(group);
    return member;
}

void sfi_group_detach(struct sfi_member *member, bool is_leaving)
{
    member->consumer = NULL;
    if (member->is_gone) {
        sfi_member_free(member);
        return;
    }
    struct sfi_group *group = member->group;
    if (!is_leaving || member->static_id != NULL) {
        if (member->session_event == SF_SIM_EVENT_NONE) session_schedule(member, session_left_us(member));
        return;
    }
    session_schedule(member, sfi_broker_leg_us(group->broker, group->broker->config.group, SF_SIM_DOMAIN_KAFKA_SEND,
                                               RANK_GROUP + group->number, group->draw_ordinal++));
}

void sfi_group_silence(struct sfi_member *member, bool is_silent)
{
    if (member->is_gone) return;
    if (is_silent) {
        session_schedule(member, session_left_us(member));
        return;
    }
    (void)sf_sim_world_cancel(member->group->broker->world, member->session_event);
    member->session_event = SF_SIM_EVENT_NONE;
}

void sfi_group_yield(struct sfi_member *member)
{
    struct sfi_group *group = member->group;
    if (member->is_gone || group->owner != member || !member->is_revoking) return;
    member->is_revoking = false;
    (void)sf_sim_world_cancel(group->broker->world, member->rebalance_event);
    member->rebalance_event = SF_SIM_EVENT_NONE;
    unlink_member(member);
    append(group, member); /* last in line */
    rebalance(group);
}

static void rebalance_timeout_fire(void *ctx)
{
    struct sfi_member *member = ctx;
    member->rebalance_event = SF_SIM_EVENT_NONE;
    expel(member, 0);
}

void sf_sim_kafka_group_move(struct sf_sim_kafka *broker, const char *name)
{
    struct sfi_group *group = sfi_group_find(broker, name);
    if (group == NULL || group->owner == NULL || group->members->next == NULL || group->owner->is_revoking) return;
    struct sfi_member *member = group->owner;
    member->is_revoking = true;
    member->rebalance_event = sf_sim_world_after(broker->world, broker->config.rebalance_timeout_us,
                                                 RANK_GROUP + group->number, rebalance_timeout_fire, member);
    tell(member);
}

bool sf_sim_kafka_group_expel(struct sf_sim_kafka *broker, const char *name, int64_t deaf_us)
{
    struct sfi_group *group = sfi_group_find(broker, name);
    if (group == NULL || group->owner == NULL) return false;
    expel(group->owner, deaf_us);
    return true;
}

struct sf_sim_kafka_group_view sf_sim_kafka_group(struct sf_sim_kafka *broker, const char *name)
{
    struct sf_sim_kafka_group_view view = {0};
    const struct sfi_group *group = sfi_group_find(broker, name);
    if (group == NULL) return view;
    view.generation = group->generation;
    for (const struct sfi_member *member = group->members; member != NULL; member = member->next) view.member_count++;
    if (group->owner != NULL && group->owner->consumer != NULL) view.owner_instance = group->owner->instance;
    return view;
}
