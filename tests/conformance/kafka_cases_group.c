/* Kafka conformance: membership and its proofs (B14). See kafka_suite.h. */
#include "tests/check.h"
#include "tests/conformance/kafka_cases.h"
#include "tests/conformance/kafka_steps.h"

/* A one-partition topic `w` that the group shares, and `t` to write to. */
static struct kafka_boss *stage(struct kafka_world *world)
{
    struct kafka_boss *boss = kafka_boss_open(world, 0);
    kafka_boss_create(boss, 0, "w", 1, NULL, NULL);
    kafka_boss_create(boss, 0, "t", 1, NULL, NULL);
    return boss;
}

static struct kafka_owner *member(struct kafka_world *world, uint32_t process, const char *instance)
{
    return kafka_owner_open(world, process, "g", "w", instance);
}

static struct kafka_owner *member_granted(struct kafka_world *world, uint32_t process, const char *instance)
{
    struct kafka_owner *owner = member(world, process, instance);
    kafka_owner_wait_granted(owner);
    return owner;
}

static struct kafka_writer *writer_ready(struct kafka_world *world, uint32_t process)
{
    struct kafka_writer *writer = kafka_writer_open(world, process, "tx", (struct kafka_writer_options){0});
    CHECK_EQ(kafka_writer_init(writer).status, SF_OK);
    return writer;
}

void one_of_two_members_is_the_owner(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world);
    struct kafka_owner *a = member(world, 0, NULL);
    CHECK_EQ(kafka_owner_token(a).id, 0);
    kafka_owner_wait_granted(a);
    struct sf_member_token old = kafka_owner_token(a);
    CHECK(old.id != 0);
    struct kafka_owner *b = member(world, 1, NULL);
    kafka_owner_wait_token(a, old); /* b has joined */
    CHECK(a->is_owner && !b->is_owner);
    CHECK_EQ(a->granted_count, 1);
    CHECK_EQ(a->revoking_count + a->revoked_count, 0); /* sticky: joining takes nothing away */
    CHECK_EQ(kafka_owner_token(b).id, 0);
}

void owner_that_leaves_is_followed(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world);
    struct kafka_owner *a = member_granted(world, 0, NULL);
    struct kafka_owner *b = member(world, 1, NULL);
    kafka_owner_close(a);
    kafka_owner_wait_granted(b);
    CHECK(kafka_owner_token(b).id != 0);
}

void static_member_takes_its_place_back(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world);
    struct kafka_owner *a = member_granted(world, 0, "one");
    struct kafka_owner *standby = member(world, 1, "two");
    struct sf_member_token old = kafka_owner_token(a);
    kafka_owner_wait_token(a, old);
    kafka_owner_close(a);
    a = member_granted(world, 2, "one"); /* within the session: the standby is not asked */
    CHECK_EQ(standby->granted_count, 0);
    kafka_owner_close(a);
    kafka_owner_wait_granted(standby); /* when the session has run out */
}

void later_holder_of_a_static_name_wins(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world);
    struct kafka_owner *a = member_granted(world, 0, "one");
    struct kafka_owner *b = member_granted(world, 1, "one");
    kafka_owner_wait_lost(a);
    CHECK_EQ(sf_status_class(a->lost), SF_CLASS_FENCED);
    CHECK_EQ(kafka_owner_token(a).id, 0);
    CHECK(b->is_owner);
}

void token_changes_when_a_member_joins_and_the_old_one_is_refused(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_owner *a = member_granted(world, 0, NULL);
    struct kafka_writer *writer = writer_ready(world, 0);
    struct sf_member_token old = kafka_owner_token(a);
    CHECK_EQ(kafka_owner_token(a).id, old.id); /* nothing has changed */
    kafka_writer_begin(writer);
    CHECK_EQ(kafka_writer_offsets(writer, old, tp, 1, NULL).status, SF_OK);
    CHECK_EQ(kafka_writer_commit(writer).outcome, SF_OUTCOME_COMMITTED);
    (void)member(world, 1, NULL);
    kafka_owner_wait_token(a, old);
    kafka_writer_begin(writer);
    CHECK_EQ(sf_status_class(kafka_writer_offsets(writer, old, tp, 2, NULL).status), SF_CLASS_ABORT);
    CHECK_EQ(kafka_writer_abort(writer).status, SF_OK);
    kafka_writer_begin(writer); /* same session, new proof */
    CHECK_EQ(kafka_writer_offsets(writer, kafka_owner_token(a), tp, 3, NULL).status, SF_OK);
    CHECK_EQ(kafka_writer_commit(writer).outcome, SF_OUTCOME_COMMITTED);
    CHECK_EQ(kafka_boss_committed(boss, "g", tp).offset, 3);
}

void owner_is_confirmed_until_it_is_one_no_more(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world);
    struct kafka_owner *a = member_granted(world, 0, "one");
    kafka_owner_confirm(a);
    struct sf_member_token old = kafka_owner_token(a);
    struct kafka_owner *b = member(world, 1, NULL);
    kafka_owner_confirm(a); /* while another joins, and after it: it is the owner still */
    kafka_owner_wait_token(a, old);
    kafka_owner_confirm(a);
    sf_consumer_confirm(b->client); /* it owns nothing: no answer */
    struct kafka_owner *later = member_granted(world, 2, "one");
    sf_consumer_confirm(a->client); /* asked before it has heard of its loss, or after it: no answer */
    kafka_owner_wait_lost(a);
    kafka_owner_confirm(later);
    CHECK_EQ(a->confirmed_count, 3);
    CHECK_EQ(b->confirmed_count, 0);
    CHECK_EQ(later->confirmed_count, 1);
}

void former_owner_cannot_commit_before_the_new_one_has_opened_a_session(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_owner *a = member_granted(world, 0, NULL);
    struct kafka_writer *zombie = writer_ready(world, 0);
    struct sf_member_token token = kafka_owner_token(a);
    kafka_writer_begin(zombie);
    kafka_writer_put(zombie, tp, "k", "zombie");
    struct kafka_owner *b = member(world, 1, NULL);
    kafka_owner_close(a);
    kafka_owner_wait_granted(b);
    CHECK_EQ(sf_status_class(kafka_writer_offsets(zombie, token, tp, 9, NULL).status), SF_CLASS_ABORT);
    struct sf_producer_event event = kafka_writer_commit(zombie);
    CHECK_EQ(event.outcome, SF_OUTCOME_NOT_COMMITTED);
    CHECK_EQ(sf_status_class(event.status), SF_CLASS_ABORT);
    CHECK_EQ(kafka_writer_abort(zombie).status, SF_OK);
    CHECK_EQ(kafka_boss_committed(boss, "g", tp).status, SF_NOT_FOUND);
}

void former_owner_cannot_commit_after_the_new_one_has_opened_a_session(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0), tp1 = kafka_tp(world, 1, "t", 0);
    struct kafka_owner *a = member_granted(world, 0, NULL);
    struct kafka_writer *zombie = writer_ready(world, 0);
    kafka_writer_begin(zombie);
    kafka_writer_put(zombie, tp, "k", "zombie");
    CHECK_EQ(kafka_writer_offsets(zombie, kafka_owner_token(a), tp, 9, NULL).status, SF_OK); /* still the owner */
    struct kafka_owner *b = member(world, 1, NULL);
    kafka_owner_close(a);
    kafka_owner_wait_granted(b);
    struct kafka_writer *writer = writer_ready(world, 1);
    CHECK_EQ(kafka_boss_committed(boss, "g", tp).status, SF_NOT_FOUND); /* settled: the zombie's was aborted */
    struct sf_producer_event event = kafka_writer_commit(zombie);
    CHECK(event.outcome != SF_OUTCOME_COMMITTED);
    CHECK_EQ(sf_status_class(event.status), SF_CLASS_LOST);
    kafka_writer_begin(writer);
    kafka_writer_put(writer, tp1, "k", "owner");
    CHECK_EQ(kafka_writer_offsets(writer, kafka_owner_token(b), tp1, 1, NULL).status, SF_OK);
    CHECK_EQ(kafka_writer_commit(writer).outcome, SF_OUTCOME_COMMITTED);
    CHECK_EQ(kafka_boss_committed(boss, "g", tp).offset, 1);
}

void offsets_outside_transactions_need_the_current_token(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_owner *a = member_granted(world, 0, NULL);
    struct sf_member_token old = kafka_owner_token(a);
    CHECK_EQ(kafka_boss_commit(boss, "g", old, tp, 4), SF_OK);
    CHECK_EQ(kafka_boss_committed(boss, "g", tp).offset, 4);
    (void)member(world, 1, NULL);
    kafka_owner_wait_token(a, old);
    CHECK_EQ(sf_status_class(kafka_boss_commit(boss, "g", old, tp, 5)), SF_CLASS_ABORT);
    CHECK_EQ(kafka_boss_committed(boss, "g", tp).offset, 4);
    CHECK_EQ(kafka_boss_commit(boss, "g", kafka_owner_token(a), tp, 6), SF_OK);
    CHECK_EQ(kafka_boss_committed(boss, "g", tp).offset, 6);
}

struct empty_wait {
    struct kafka_boss *boss;
    struct sf_tp tp;
};

static bool is_group_empty(void *arg)
{
    struct empty_wait *wait = arg;
    struct kafka_boss *boss = wait->boss;
    if (!boss->has_event) return false;
    if (boss->event.status == SF_OK) return true;
    char name[KAFKA_NAME_BYTES]; /* refused: ask again */
    struct sf_offset_commit commit = {.tp = wait->tp, .offset = 2};
    boss->has_event = false;
    boss->tag += 2;
    struct sf_member_token none = {0};
    sf_admin_commit(boss->client, boss->tag, kafka_name(boss->world, "g", name), none, &commit, 1);
    return false;
}

void offsets_without_token_need_an_empty_group(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    CHECK_EQ(kafka_boss_commit(boss, "g", (struct sf_member_token){0}, tp, 1), SF_OK);
    CHECK_EQ(kafka_boss_committed(boss, "g", tp).offset, 1);
    struct kafka_owner *a = member_granted(world, 0, NULL);
    CHECK_EQ(sf_status_class(kafka_boss_commit(boss, "g", (struct sf_member_token){0}, tp, 2)), SF_CLASS_ABORT);
    CHECK_EQ(kafka_boss_committed(boss, "g", tp).offset, 1);
    kafka_owner_close(a);
    struct empty_wait wait = {boss, tp};
    boss->has_event = true;
    boss->event.status = SF_E_TXN;
    kafka_wait(world, is_group_empty, &wait, "the group to be empty");
    CHECK_EQ(kafka_boss_committed(boss, "g", tp).offset, 2);
}
