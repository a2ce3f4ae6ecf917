#include "tests/conformance/sched_suite.h"

#include <stdatomic.h>
#include <stdlib.h>

static struct sf_step_result wait_until(uint32_t used, struct sf_mono_ts wake_at)
{
    return (struct sf_step_result){.next = SF_NEXT_WAIT, .used = used, .wake_at = wake_at};
}

static struct sf_step_result wait_for_news(uint32_t used)
{
    return wait_until(used, SF_MONO_NEVER);
}

static struct sf_step_result done(uint32_t used)
{
    return (struct sf_step_result){.next = SF_NEXT_DONE, .used = used, .wake_at = SF_MONO_NEVER};
}

/* A port as the suite needs it: counts alone. Written by one task, read by one task. */
struct line {
    _Atomic uint32_t written;
    struct sf_port port;
    struct sf_port *ports[1];
};

static void line_init(struct line *line)
{
    atomic_init(&line->written, 0);
    line->port = (struct sf_port){.written = &line->written};
    line->ports[0] = &line->port;
}

static void line_push(struct line *line)
{
    atomic_fetch_add_explicit(&line->written, 1, memory_order_release);
}

/* --- a task runs, and runs no more --- */

struct counter {
    uint32_t steps;
    struct sched_world *world;
    struct sf_task *other; /* woken by each step, where set */
    struct sf_task task;
};

static struct sf_step_result count_and_end(void *self, const struct sf_step *step)
{
    (void)step;
    struct counter *counter = self;
    counter->steps++;
    if (counter->other != NULL) sf_sched_wake(counter->world->sched, counter->other->id);
    return done(1);
}

void sched_runs_a_spawned_task_once(void **state)
{
    const struct sched_suite *suite = *state;
    struct sched_world world = suite->open();
    struct counter counter = {.world = &world};
    counter.task = (struct sf_task){.name = "counter", .step = count_and_end, .self = &counter};
    sf_sched_spawn(world.sched, &counter.task);
    CHECK(suite->run_until_done(world.self));
    suite->close(world.self);
    CHECK_EQ(counter.steps, 1);
}

/* Wakes the other one for ever-ish, after that one has ended, and then ends itself. */
struct nagger {
    uint32_t left;
    struct sched_world *world;
    uint32_t victim_id;
    struct sf_task task;
};

static struct sf_step_result nag(void *self, const struct sf_step *step)
{
    (void)step;
    struct nagger *nagger = self;
    sf_sched_wake(nagger->world->sched, nagger->victim_id);
    if (nagger->left == 0) return done(1);
    nagger->left--;
    return (struct sf_step_result){.next = SF_NEXT_AGAIN, .used = 1, .wake_at = SF_MONO_NEVER};
}

void sched_runs_a_done_task_no_more(void **state)
{
    const struct sched_suite *suite = *state;
    struct sched_world world = suite->open();
    struct counter victim = {.world = &world};
    victim.task = (struct sf_task){.name = "victim", .step = count_and_end, .self = &victim, .home = 1};
    sf_sched_spawn(world.sched, &victim.task);
    struct nagger nagger = {.left = 1000, .world = &world, .victim_id = victim.task.id};
    nagger.task = (struct sf_task){.name = "nagger", .step = nag, .self = &nagger};
    sf_sched_spawn(world.sched, &nagger.task);
    CHECK(suite->run_until_done(world.self));
    suite->close(world.self);
    CHECK_EQ(victim.steps, 1);
    CHECK_EQ(nagger.left, 0);
}

void sched_ignores_wakes_of_unknown_tasks(void **state)
{
    const struct sched_suite *suite = *state;
    struct sched_world world = suite->open();
    struct counter counter = {.world = &world};
    counter.task = (struct sf_task){.name = "counter", .step = count_and_end, .self = &counter};
    sf_sched_spawn(world.sched, &counter.task);
    for (uint32_t id = 0; id < 2 * SF_TASK_COUNT_MAX; id++)
        if (id != counter.task.id) sf_sched_wake(world.sched, id);
    sf_sched_wake(world.sched, SF_TASK_NONE);
    CHECK(suite->run_until_done(world.self));
    suite->close(world.self);
    CHECK_EQ(counter.steps, 1);
}

/* --- wakes --- */

enum wake_phase { WAKE_BEFORE, WAKE_DURING, WAKE_AFTER, WAKE_ENDED };

struct sleeper {
    struct line line;
    struct sched_world *world;
    enum wake_phase phase;
    uint32_t seen;
    _Atomic uint32_t is_asleep; /* tells the waker that the step after which it wakes has begun */
    struct sf_task task;
};

/* Its own line plays the neighbour's: a message and a wake in the middle of a step are for the next one. */
static struct sf_step_result sleep_and_count(void *self, const struct sf_step *step)
{
    (void)step;
    struct sleeper *sleeper = self;
    uint32_t visible = sf_port_visible(&sleeper->line.port);
    sleeper->line.port.consumed += visible;
    sleeper->seen += visible;
    if (sleeper->phase == WAKE_BEFORE && sleeper->seen == 1) {
        sleeper->phase = WAKE_DURING;
        line_push(&sleeper->line);
        sf_sched_wake(sleeper->world->sched, sleeper->task.id);
        return wait_for_news(visible > 0);
    }
    if (sleeper->phase == WAKE_DURING && sleeper->seen == 2) {
        sleeper->phase = WAKE_AFTER;
        atomic_store(&sleeper->is_asleep, 1);
        return wait_for_news(visible > 0);
    }
    if (sleeper->phase == WAKE_AFTER && sleeper->seen == 3) {
        sleeper->phase = WAKE_ENDED;
        return done(1);
    }
    return wait_for_news(visible > 0);
}

struct rouser {
    struct sleeper *sleeper;
    struct sf_task task;
};

static struct sf_step_result rouse_when_asleep(void *self, const struct sf_step *step)
{
    struct rouser *rouser = self;
    if (atomic_load(&rouser->sleeper->is_asleep) == 0) return wait_until(0, sf_mono_add(step->now, 1000));
    line_push(&rouser->sleeper->line);
    sf_sched_wake(rouser->sleeper->world->sched, rouser->sleeper->task.id);
    return done(1);
}

void sched_loses_no_wake_before_during_or_after_a_step(void **state)
{
    const struct sched_suite *suite = *state;
    for (uint32_t round = 0; round < 50; round++) {
        struct sched_world world = suite->open();
        struct sleeper sleeper = {.world = &world, .phase = WAKE_BEFORE};
        line_init(&sleeper.line);
        sleeper.task = (struct sf_task){.name = "sleeper",
                                        .step = sleep_and_count,
                                        .self = &sleeper,
                                        .ports = sleeper.line.ports,
                                        .port_count = 1};
        struct rouser rouser = {.sleeper = &sleeper};
        rouser.task =
            (struct sf_task){.name = "rouser", .step = rouse_when_asleep, .self = &rouser, .home = round % 2};
        sf_sched_spawn(world.sched, &sleeper.task);
        line_push(&sleeper.line);
        sf_sched_wake(world.sched, sleeper.task.id);
        sf_sched_spawn(world.sched, &rouser.task);
        CHECK(suite->run_until_done(world.self));
        suite->close(world.self);
        CHECK_EQ(sleeper.phase, WAKE_ENDED);
        CHECK_EQ(sleeper.seen, 3);
    }
}

/* --- deadlines --- */

struct alarm_log {
    uint32_t order[8];
    uint32_t count;
};

struct alarm {
    uint32_t index;
    int64_t delay_us;           /* asked for by the first step */
    struct sf_mono_ts due;      /* by the first alarm's clock where `shared_due` is set */
    struct sf_mono_ts *shared_due;
    struct sf_mono_ts first_at, rang_at;
    struct alarm_log *log;
    bool is_set;
    struct sf_task task;
};

static struct sf_step_result ring(void *self, const struct sf_step *step)
{
    struct alarm *alarm = self;
    if (!alarm->is_set) {
        alarm->is_set = true;
        alarm->first_at = step->now;
        alarm->due = sf_mono_add(step->now, alarm->delay_us);
        if (alarm->shared_due != NULL) {
            if (alarm->shared_due->us == 0) *alarm->shared_due = alarm->due;
            alarm->due = *alarm->shared_due;
        }
        return wait_until(0, alarm->due);
    }
    alarm->rang_at = step->now;
    if (alarm->log != NULL) alarm->log->order[alarm->log->count++] = alarm->index;
    return done(1);
}

void sched_runs_equal_deadlines_in_spawn_order(void **state)
{
    const struct sched_suite *suite = *state;
    if (!suite->is_order_of_equal_deadlines_fixed) skip();
    struct sched_world world = suite->open();
    struct alarm_log log = {.count = 0};
    struct sf_mono_ts due = {0};
    struct alarm alarms[8];
    for (uint32_t i = 0; i < 8; i++) {
        alarms[i] = (struct alarm){.index = i, .delay_us = 20000, .shared_due = &due, .log = &log};
        alarms[i].task = (struct sf_task){.name = "alarm", .step = ring, .self = &alarms[i]};
        sf_sched_spawn(world.sched, &alarms[i].task);
    }
    CHECK(suite->run_until_done(world.self));
    suite->close(world.self);
    CHECK_EQ(log.count, 8);
    for (uint32_t i = 0; i < 8; i++) CHECK_EQ(log.order[i], i);
}

void sched_runs_a_deadline_in_the_past_at_once(void **state)
{
    const struct sched_suite *suite = *state;
    struct sched_world world = suite->open();
    struct alarm past = {.delay_us = -1000000};
    past.task = (struct sf_task){.name = "past", .step = ring, .self = &past};
    sf_sched_spawn(world.sched, &past.task);
    CHECK(suite->run_until_done(world.self));
    suite->close(world.self);
    CHECK(past.rang_at.us >= past.first_at.us);
    CHECK(past.rang_at.us - past.first_at.us < 1000000);
}

void sched_runs_a_deadline_not_before_its_time(void **state)
{
    const struct sched_suite *suite = *state;
    struct sched_world world = suite->open();
    struct alarm alarms[3];
    for (uint32_t i = 0; i < 3; i++) {
        alarms[i] = (struct alarm){.index = i, .delay_us = 1500 * (int64_t)(3 - i)};
        alarms[i].task = (struct sf_task){.name = "alarm", .step = ring, .self = &alarms[i], .home = i};
        sf_sched_spawn(world.sched, &alarms[i].task);
    }
    CHECK(suite->run_until_done(world.self));
    suite->close(world.self);
    for (uint32_t i = 0; i < 3; i++) CHECK(alarms[i].rang_at.us >= alarms[i].first_at.us + 1500 * (int64_t)(3 - i));
}

/* --- homes --- */

struct housemate {
    _Atomic uint32_t *in_house;
    uint32_t left;
    uint32_t overlaps;
    uint32_t sum; /* some work, so that a step takes time */
    struct sf_task task;
};

static struct sf_step_result live_alone(void *self, const struct sf_step *step)
{
    (void)step;
    struct housemate *mate = self;
    if (atomic_fetch_add(mate->in_house, 1) != 0) mate->overlaps++;
    for (uint32_t i = 0; i < 200; i++) mate->sum = mate->sum * 31 + i;
    atomic_fetch_sub(mate->in_house, 1);
    if (mate->left == 0) return done(1);
    mate->left--;
    return (struct sf_step_result){.next = SF_NEXT_AGAIN, .used = 1, .wake_at = SF_MONO_NEVER};
}

void sched_never_overlaps_two_tasks_of_one_home(void **state)
{
    const struct sched_suite *suite = *state;
    struct sched_world world = suite->open();
    _Atomic uint32_t in_house[2];
    struct housemate mates[8];
    for (uint32_t i = 0; i < 2; i++) atomic_init(&in_house[i], 0);
    for (uint32_t i = 0; i < 8; i++) {
        mates[i] = (struct housemate){.in_house = &in_house[i % 2], .left = 500};
        mates[i].task = (struct sf_task){.name = "mate", .step = live_alone, .self = &mates[i], .home = i % 2};
        sf_sched_spawn(world.sched, &mates[i].task);
    }
    CHECK(suite->run_until_done(world.self));
    suite->close(world.self);
    for (uint32_t i = 0; i < 8; i++) {
        CHECK_EQ(mates[i].overlaps, 0);
        CHECK_EQ(mates[i].left, 0);
    }
}

/* --- messages --- */

/* Answers each message with one, up to `count`; `slot` is the edge: a value per message, `cap` of them at most. */
struct player {
    struct line *in;
    struct line *out;
    uint64_t *in_slot;
    uint64_t *out_slot;
    uint32_t sent, received, count;
    bool is_first;
    uint32_t wrong;
    struct sched_world *world;
    struct player *other;
    struct sf_task task;
};

static void serve_ball(struct player *player)
{
    *player->out_slot = player->sent;
    player->sent++;
    line_push(player->out);
    sf_sched_wake(player->world->sched, player->other->task.id);
}

static struct sf_step_result play(void *self, const struct sf_step *step)
{
    (void)step;
    struct player *player = self;
    uint32_t used = 0;
    if (player->is_first && player->sent == 0) {
        serve_ball(player);
        used++;
    } else if (sf_port_visible(&player->in->port) > 0) {
        if (*player->in_slot != player->received) player->wrong++;
        player->received++;
        player->in->port.consumed++;
        if (player->sent < player->count) serve_ball(player);
        used++;
    }
    if (player->received == player->count && player->sent == player->count) return done(used);
    return wait_for_news(used);
}

static void set_player(struct player *player, struct sched_world *world, struct line *in, struct line *out,
                       uint64_t *slots)
{
    player->world = world;
    player->in = in;
    player->out = out;
    player->in_slot = &slots[player->is_first];
    player->out_slot = &slots[!player->is_first];
    player->task = (struct sf_task){.name = player->is_first ? "ping" : "pong",
                                    .step = play,
                                    .self = player,
                                    .ports = in->ports,
                                    .port_count = 1,
                                    .home = player->is_first};
}

void sched_loses_no_message_in_a_long_ping_pong(void **state)
{
    const struct sched_suite *suite = *state;
    struct sched_world world = suite->open();
    struct line lines[2];
    uint64_t slots[2] = {0, 0};
    line_init(&lines[0]);
    line_init(&lines[1]);
    struct player players[2] = {{.count = suite->ping_count}, {.count = suite->ping_count, .is_first = true}};
    for (uint32_t i = 0; i < 2; i++) {
        set_player(&players[i], &world, &lines[i], &lines[1 - i], slots);
        players[i].other = &players[1 - i];
    }
    for (uint32_t i = 0; i < 2; i++) sf_sched_spawn(world.sched, &players[i].task);
    CHECK(suite->run_until_done(world.self));
    suite->close(world.self);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_EQ(players[i].received, suite->ping_count);
        CHECK_EQ(players[i].wrong, 0);
    }
}

/* A stream over an edge of one place: the sender waits for the credit, the receiver for the message. */
struct stream_end {
    struct line *port;   /* sender: credits; receiver: messages */
    struct line *out;
    uint32_t *place;
    uint32_t moved, count, wrong;
    struct sched_world *world;
    struct stream_end *other;
    struct sf_task task;
};

static struct sf_step_result move_on(struct stream_end *end)
{
    end->port->port.consumed++;
    end->moved++;
    line_push(end->out);
    sf_sched_wake(end->world->sched, end->other->task.id);
    return end->moved == end->count ? done(1) : wait_for_news(1);
}

static struct sf_step_result stream_send(void *self, const struct sf_step *step)
{
    (void)step;
    struct stream_end *end = self;
    if (sf_port_visible(&end->port->port) == 0) return wait_for_news(0);
    *end->place = end->moved * 7;
    return move_on(end);
}

static struct sf_step_result stream_receive(void *self, const struct sf_step *step)
{
    (void)step;
    struct stream_end *end = self;
    if (sf_port_visible(&end->port->port) == 0) return wait_for_news(0);
    if (*end->place != end->moved * 7) end->wrong++;
    return move_on(end);
}

void sched_makes_an_edge_of_capacity_one_work(void **state)
{
    const struct sched_suite *suite = *state;
    struct sched_world world = suite->open();
    struct line messages, credits;
    uint32_t place = 0;
    line_init(&messages);
    line_init(&credits);
    struct stream_end sender = {.port = &credits, .out = &messages, .place = &place, .count = 2000, .world = &world};
    struct stream_end receiver = {.port = &messages, .out = &credits, .place = &place, .count = 2000, .world = &world};
    sender.other = &receiver;
    receiver.other = &sender;
    sender.task = (struct sf_task){
        .name = "sender", .step = stream_send, .self = &sender, .ports = credits.ports, .port_count = 1, .home = 0};
    receiver.task = (struct sf_task){.name = "receiver",
                                     .step = stream_receive,
                                     .self = &receiver,
                                     .ports = messages.ports,
                                     .port_count = 1,
                                     .home = 1};
    line_push(&credits);
    sf_sched_spawn(world.sched, &receiver.task);
    sf_sched_spawn(world.sched, &sender.task);
    CHECK(suite->run_until_done(world.self));
    suite->close(world.self);
    CHECK_EQ(sender.moved, 2000);
    CHECK_EQ(receiver.moved, 2000);
    CHECK_EQ(receiver.wrong, 0);
}

/* --- ids --- */

/* A chain: each task spawns the next from its step, so that places of ended tasks are used again. */
struct link {
    struct sched_world *world;
    struct link *links;
    uint32_t index, count;
    uint32_t steps;
    struct sf_task task;
};

static struct sf_step_result spawn_next(void *self, const struct sf_step *step)
{
    (void)step;
    struct link *link = self;
    link->steps++;
    if (link->index + 1 < link->count) sf_sched_spawn(link->world->sched, &link->links[link->index + 1].task);
    return done(1);
}

void sched_gives_every_task_an_id_of_its_own(void **state)
{
    const struct sched_suite *suite = *state;
    enum { LINKS = 3 * SF_TASK_COUNT_MAX / 2 };
    struct sched_world world = suite->open();
    struct link *links = calloc(LINKS, sizeof(*links));
    CHECK(links != NULL);
    for (uint32_t i = 0; i < LINKS; i++) {
        links[i] = (struct link){.world = &world, .links = links, .index = i, .count = LINKS};
        links[i].task = (struct sf_task){.name = "link", .step = spawn_next, .self = &links[i], .home = i % 2};
    }
    sf_sched_spawn(world.sched, &links[0].task);
    CHECK(suite->run_until_done(world.self));
    suite->close(world.self);
    uint32_t same = 0;
    for (uint32_t i = 0; i < LINKS; i++) CHECK_EQ(links[i].steps, 1);
    for (uint32_t i = 0; i < 64; i++)
        for (uint32_t j = i + 1; j < LINKS; j++) same += links[i].task.id == links[j].task.id;
    CHECK_EQ(same, 0);
    free(links);
}
