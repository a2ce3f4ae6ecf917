/* The simulated scheduler by its histories: who stepped when, line by line, in virtual time. */
#include "tests/check.h"

#include <stdio.h>

#include "sim/sched.h"

#define HISTORY_BYTES 4096u

struct stage {
    struct sf_sim_world world;
    struct sf_sim_sched *sched;
    struct sf_sim_instance *active;
    size_t len;
    char history[HISTORY_BYTES];
    uint32_t kill_at_note; /* code; 0: never */
};

/* "@us name used", with the instance in front where it is not the first. */
static void write_step(void *ctx, const struct sf_sim_step_record *record)
{
    struct stage *stage = ctx;
    char whose[16] = "";
    if (record->instance->id != 1) (void)snprintf(whose, sizeof whose, "%u:", record->instance->id);
    int written = snprintf(stage->history + stage->len, HISTORY_BYTES - stage->len, "@%d %s%s %u\n",
                           (int)sf_sim_world_elapsed_us(&stage->world), whose, record->task->name,
                           record->result.used);
    stage->len += (size_t)written;
    CHECK(stage->len < HISTORY_BYTES);
}

static void kill_at(void *ctx, struct sf_sim_instance *instance, const struct sf_task *task,
                    const struct sf_note *note)
{
    struct stage *stage = ctx;
    CHECK(sf_sim_sched_running(stage->sched) == task);
    if (note->code == stage->kill_at_note) sf_sim_instance_kill(instance);
}

static void stage_init(struct stage *stage, uint64_t seed, struct sf_sim_sched_config config)
{
    memset(stage, 0, sizeof *stage);
    struct sf_sim_world_config world_config = {.seed = seed, .wall_start_ms = 1790071200000, .is_fifo = true};
    sf_sim_world_init(&stage->world, &world_config);
    config.on_step = write_step;
    config.on_note = kill_at;
    config.ctx = stage;
    stage->sched = sf_sim_sched_new(&stage->world, &config);
    stage->active = sf_sim_instance_new(&stage->world);
}

static void stage_deinit(struct stage *stage)
{
    sf_sim_sched_destroy(stage->sched);
    sf_sim_world_deinit(&stage->world);
}

static int64_t at(const struct stage *stage, int64_t us)
{
    return stage->world.start_us + us;
}

/* Works off `left` units, each step as many as it may, then waits `pause_us` for `rounds` times. */
struct worker {
    uint32_t left, again, rounds;
    int64_t pause_us;
    uint16_t note;
    uint32_t after_note; /* how often it got past its note */
    struct sf_task task;
};

static struct sf_step_result work(void *self, const struct sf_step *step)
{
    struct worker *worker = self;
    uint32_t used = worker->left < step->budget ? worker->left : step->budget;
    worker->left -= used;
    if (worker->note != 0) {
        sf_notes_add(step->notes, (struct sf_note){.code = worker->note});
        worker->after_note++;
    }
    if (worker->left > 0) return (struct sf_step_result){SF_NEXT_AGAIN, used, SF_MONO_NEVER};
    if (worker->rounds == 0) return (struct sf_step_result){SF_NEXT_DONE, used, SF_MONO_NEVER};
    worker->rounds--;
    worker->left = worker->again;
    return (struct sf_step_result){SF_NEXT_WAIT, used, sf_mono_add(step->now, worker->pause_us)};
}

static void spawn(struct stage *stage, struct sf_sim_instance *instance, struct worker *worker, const char *name,
                  uint32_t home)
{
    worker->task = (struct sf_task){.name = name, .step = work, .self = worker, .home = home};
    sf_sched_spawn(sf_sim_sched_handle(stage->sched, instance), &worker->task);
}

static struct sf_sim_sched_config config_of(enum sf_sim_choice choice, uint32_t budget)
{
    struct sf_sim_sched_config config = sf_sim_sched_config_exact();
    config.choice = choice;
    config.budget_min = config.budget_max = budget;
    config.wake_grain_us = 1;
    return config;
}

/* ---------------------------------------------------------------- order */

static void fixed_order_runs_an_instant_until_nothing_is_left(void **state)
{
    (void)state;
    struct stage stage;
    stage_init(&stage, 1, config_of(SF_SIM_CHOICE_FIXED, 2));
    struct worker a = {.left = 3, .again = 1, .rounds = 1, .pause_us = 100}, b = {.left = 3}, c = {.left = 1};
    spawn(&stage, stage.active, &a, "a", 0);
    spawn(&stage, stage.active, &b, "b", 1);
    spawn(&stage, stage.active, &c, "c", 0);
    CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 1000)));
    CHECK_STR(stage.history, "@0 a 2\n@0 a 1\n@0 b 2\n@0 b 1\n@0 c 1\n@100 a 1\n");
    CHECK_EQ(sf_sim_world_elapsed_us(&stage.world), 1000);
    CHECK(sf_sim_sched_is_quiescent(stage.sched));
    CHECK_EQ(sf_sim_sched_next_us(stage.sched), INT64_MAX);
    stage_deinit(&stage);
}

static void fifo_takes_turns(void **state)
{
    (void)state;
    struct stage stage;
    stage_init(&stage, 1, config_of(SF_SIM_CHOICE_FIFO, 2));
    struct worker a = {.left = 5}, b = {.left = 3}, c = {.left = 1};
    spawn(&stage, stage.active, &a, "a", 0);
    spawn(&stage, stage.active, &b, "b", 1);
    spawn(&stage, stage.active, &c, "c", 0);
    CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 1000)));
    CHECK_STR(stage.history, "@0 a 2\n@0 b 2\n@0 c 1\n@0 a 2\n@0 b 1\n@0 a 1\n");
    stage_deinit(&stage);
}

static void equal_deadlines_run_in_spawn_order_and_whole_milliseconds_in_the_exact_world(void **state)
{
    (void)state;
    struct stage stage;
    struct sf_sim_sched_config config = sf_sim_sched_config_exact();
    stage_init(&stage, 1, config);
    struct worker a = {.rounds = 1, .pause_us = 1999}, b = {.rounds = 1, .pause_us = 1000},
                  c = {.rounds = 1, .pause_us = 1001}, d = {.rounds = 1, .pause_us = -5};
    spawn(&stage, stage.active, &a, "a", 0);
    spawn(&stage, stage.active, &b, "b", 0);
    spawn(&stage, stage.active, &c, "c", 0);
    spawn(&stage, stage.active, &d, "d", 0);
    CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 5000)));
    CHECK_STR(stage.history, "@0 a 0\n@0 b 0\n@0 c 0\n@0 d 0\n@0 d 0\n@1000 b 0\n@2000 a 0\n@2000 c 0\n");
    stage_deinit(&stage);
}

static void random_order_differs_between_seeds_and_not_within_one(void **state)
{
    (void)state;
    char first[HISTORY_BYTES] = "";
    uint32_t others = 0;
    struct sf_sim_digest digest = {{0}};
    for (uint64_t i = 0; i < 12; i++) {
        uint64_t seed = i < 2 ? 5 : 5 + i;
        struct stage stage;
        struct sf_sim_sched_config config = config_of(SF_SIM_CHOICE_RANDOM, 1);
        config.window = 8;
        stage_init(&stage, seed, config);
        struct worker workers[3];
        static const char *const names[] = {"a", "b", "c"};
        for (uint32_t w = 0; w < 3; w++) {
            workers[w] = (struct worker){.left = 6};
            spawn(&stage, stage.active, &workers[w], names[w], w);
        }
        CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 10)));
        CHECK_EQ(sf_sim_sched_step_count(stage.sched), 18);
        struct sf_sim_digest now = sf_sim_sched_digest(stage.sched);
        if (i == 0) {
            memcpy(first, stage.history, sizeof first);
            digest = now;
        }
        if (i == 1) {
            CHECK_STR(stage.history, first);
            CHECK(memcmp(&now, &digest, sizeof now) == 0); /* X14 */
        }
        others += strcmp(stage.history, first) != 0;
        stage_deinit(&stage);
    }
    CHECK(others >= 8);
}

static void priorities_change_at_drawn_steps_only(void **state)
{
    (void)state;
    uint32_t switches_seen = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct stage stage;
        struct sf_sim_sched_config config = config_of(SF_SIM_CHOICE_PRIORITY, 1);
        config.depth = 2;
        config.depth_steps = 8;
        stage_init(&stage, seed, config);
        struct worker a = {.left = 6}, b = {.left = 6};
        spawn(&stage, stage.active, &a, "a", 0);
        spawn(&stage, stage.active, &b, "b", 1);
        CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 10)));
        uint32_t switches = 0;
        const char *history = stage.history;
        for (size_t i = 7; i < stage.len; i += 7) switches += history[i + 3] != history[i - 4];
        CHECK(switches >= 1 && switches <= 2); /* one task to its end, or once away and back */
        switches_seen += switches == 2;
        stage_deinit(&stage);
    }
    CHECK(switches_seen > 0 && switches_seen < 20);
}

/* ---------------------------------------------------------------- cost and homes */

static void a_home_is_busy_for_the_cost_of_a_step_and_fractions_add_up(void **state)
{
    (void)state;
    struct stage stage;
    struct sf_sim_sched_config config = config_of(SF_SIM_CHOICE_FIFO, 3);
    stage_init(&stage, 1, config);
    sf_sim_sched_cost(stage.sched, 0, "lane*", 1000, 500);
    sf_sim_sched_cost(stage.sched, 0, "lane 2", 0, 0);
    struct worker lane1 = {.left = 6}, lane2 = {.left = 4}, commit = {.left = 6};
    spawn(&stage, stage.active, &lane1, "lane 1", 0);
    spawn(&stage, stage.active, &lane2, "lane 2", 0); /* same home: waits for it, costs nothing itself */
    spawn(&stage, stage.active, &commit, "commit", 1);
    CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 100)));
    CHECK_STR(stage.history, "@0 lane 1 3\n@0 commit 3\n@0 commit 3\n"
                             "@2 lane 2 3\n@2 lane 1 3\n@5 lane 2 1\n");
    stage_deinit(&stage);
}

static void two_instances_are_busy_independently(void **state)
{
    (void)state;
    struct stage stage;
    struct sf_sim_sched_config config = config_of(SF_SIM_CHOICE_FIFO, 1);
    config.step_ns = 10000;
    stage_init(&stage, 1, config);
    struct sf_sim_instance *standby = sf_sim_instance_new(&stage.world);
    struct worker a = {.left = 2}, b = {.left = 2};
    spawn(&stage, stage.active, &a, "lane", 0);
    spawn(&stage, standby, &b, "lane", 0);
    CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 100)));
    CHECK_STR(stage.history, "@0 lane 1\n@0 2:lane 1\n@10 lane 1\n@10 2:lane 1\n");
    stage_deinit(&stage);
}

/* ---------------------------------------------------------------- holds */

static void a_held_task_waits_for_the_end_of_its_hold(void **state)
{
    (void)state;
    struct stage stage;
    stage_init(&stage, 1, config_of(SF_SIM_CHOICE_FIFO, 1));
    struct worker lane0 = {.rounds = 3, .pause_us = 10}, lane1 = {.rounds = 3, .pause_us = 10};
    sf_sim_sched_hold(stage.sched, 0, "lane counts/0", at(&stage, 5), at(&stage, 25)); /* before it is there */
    spawn(&stage, stage.active, &lane0, "lane counts/0", 0);
    spawn(&stage, stage.active, &lane1, "lane counts/1", 0);
    CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 22)));
    CHECK_STR(stage.history, "@0 lane counts/0 0\n@0 lane counts/1 0\n@10 lane counts/1 0\n@20 lane counts/1 0\n");
    sf_sim_sched_hold(stage.sched, 1, "lane*", at(&stage, 22), at(&stage, 50));
    sf_sim_sched_hold(stage.sched, 2, "lane*", at(&stage, 22), at(&stage, 1000)); /* of another instance */
    CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 100)));
    CHECK_STR(stage.history, "@0 lane counts/0 0\n@0 lane counts/1 0\n@10 lane counts/1 0\n@20 lane counts/1 0\n"
                             "@50 lane counts/0 0\n@50 lane counts/1 0\n@60 lane counts/0 0\n@70 lane counts/0 0\n");
    stage_deinit(&stage);
}

/* ---------------------------------------------------------------- freezing and dying */

static void thaw(void *ctx)
{
    struct stage *stage = ctx;
    sf_sim_instance_freeze(stage->active, false);
}

static void a_frozen_instance_catches_up_when_it_thaws(void **state)
{
    (void)state;
    struct stage stage;
    stage_init(&stage, 1, config_of(SF_SIM_CHOICE_FIFO, 1));
    struct sf_sim_instance *standby = sf_sim_instance_new(&stage.world);
    struct worker a = {.rounds = 3, .pause_us = 10}, b = {.rounds = 2, .pause_us = 15};
    spawn(&stage, stage.active, &a, "a", 0);
    spawn(&stage, standby, &b, "b", 0);
    CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 5)));
    sf_sim_instance_freeze(stage.active, true);
    (void)sf_sim_world_after(&stage.world, 30, 0, thaw, &stage);
    CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 100)));
    CHECK_STR(stage.history, "@0 a 0\n@0 2:b 0\n@15 2:b 0\n@30 2:b 0\n@35 a 0\n@45 a 0\n@55 a 0\n");
    stage_deinit(&stage);
}

static void an_instance_killed_at_a_note_ends_when_the_step_returns(void **state)
{
    (void)state;
    struct stage stage;
    stage_init(&stage, 1, config_of(SF_SIM_CHOICE_FIFO, 1));
    struct sf_sim_instance *standby = sf_sim_instance_new(&stage.world);
    struct worker a = {.left = 9}, b = {.left = 9, .note = 7}, c = {.left = 9}, d = {.left = 2};
    spawn(&stage, stage.active, &a, "a", 0);
    spawn(&stage, stage.active, &b, "b", 0);
    spawn(&stage, stage.active, &c, "c", 1);
    spawn(&stage, standby, &d, "d", 0);
    stage.kill_at_note = 7;
    CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 100)));
    CHECK_STR(stage.history, "@0 a 1\n@0 b 1\n@0 2:d 1\n@0 2:d 1\n");
    CHECK_EQ(b.after_note, 1); /* the step went on to its end: its commands are what is swallowed */
    CHECK_EQ(sf_sim_sched_task_count(stage.sched), 0);
    sf_sched_wake(sf_sim_sched_handle(stage.sched, stage.active), a.task.id);
    CHECK(sf_sim_sched_is_quiescent(stage.sched));
    sf_sim_instance_destroy(stage.active);
    stage.active = sf_sim_instance_new(&stage.world);
    struct worker again = {.left = 1};
    spawn(&stage, stage.active, &again, "a", 0);
    CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 200)));
    CHECK_STR(stage.history, "@0 a 1\n@0 b 1\n@0 2:d 1\n@0 2:d 1\n@100 3:a 1\n");
    stage_deinit(&stage);
}

static void an_instance_killed_between_steps_is_gone_at_once(void **state)
{
    (void)state;
    struct stage stage;
    stage_init(&stage, 1, config_of(SF_SIM_CHOICE_FIFO, 1));
    struct worker a = {.left = 9}, b = {.left = 9};
    spawn(&stage, stage.active, &a, "a", 0);
    spawn(&stage, stage.active, &b, "b", 0);
    CHECK(sf_sim_sched_step_one(stage.sched));
    sf_sim_instance_kill(stage.active);
    CHECK_EQ(sf_sim_sched_task_count(stage.sched), 0);
    CHECK(!sf_sim_sched_step_one(stage.sched));
    CHECK_STR(stage.history, "@0 a 1\n");
    stage_deinit(&stage);
}

/* ---------------------------------------------------------------- limits, digests, going nowhere */

struct reader {
    _Atomic uint32_t written;
    struct sf_port port;
    struct sf_port *ports[1];
    uint32_t cut; /* steps that saw less than there was */
    struct sf_task task;
};

static struct sf_step_result read_all(void *self, const struct sf_step *step)
{
    (void)step;
    struct reader *reader = self;
    uint32_t used = sf_port_visible(&reader->port);
    if (used < 10 - reader->port.consumed) reader->cut++;
    reader->port.consumed += used;
    return (struct sf_step_result){reader->port.consumed == 10 ? SF_NEXT_DONE : SF_NEXT_WAIT, used, SF_MONO_NEVER};
}

static void what_a_limit_keeps_back_is_read_by_a_later_step(void **state)
{
    (void)state;
    uint32_t cut = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct stage stage;
        struct sf_sim_sched_config config = config_of(SF_SIM_CHOICE_RANDOM, 1024);
        config.limit_per_million = 700000;
        config.limit_max = 3;
        stage_init(&stage, seed, config);
        struct reader reader = {.port = {0}};
        atomic_init(&reader.written, 10);
        reader.port.written = &reader.written;
        reader.ports[0] = &reader.port;
        reader.task = (struct sf_task){
            .name = "reader", .step = read_all, .self = &reader, .ports = reader.ports, .port_count = 1};
        sf_sched_spawn(sf_sim_sched_handle(stage.sched, stage.active), &reader.task);
        CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 100)));
        CHECK_EQ(reader.port.consumed, 10);
        cut += reader.cut;
        stage_deinit(&stage);
    }
    CHECK(cut > 20);
}

static struct sf_sim_digest digest_of(uint32_t units, uint16_t note, const char *mixed, int64_t pause_us)
{
    struct stage stage;
    stage_init(&stage, 3, config_of(SF_SIM_CHOICE_FIFO, 1));
    struct worker a = {.left = units, .note = note, .rounds = 1, .pause_us = pause_us};
    spawn(&stage, stage.active, &a, "a", 0);
    CHECK(sf_sim_sched_run_until(stage.sched, at(&stage, 1000)));
    sf_sim_sched_mix(stage.sched, mixed, strlen(mixed));
    struct sf_sim_digest digest = sf_sim_sched_digest(stage.sched);
    stage_deinit(&stage);
    return digest;
}

static void the_digest_tells_units_notes_times_and_effects_apart_x14(void **state)
{
    (void)state;
    struct sf_sim_digest digests[] = {digest_of(3, 1, "x", 10), digest_of(4, 1, "x", 10), digest_of(3, 2, "x", 10),
                                      digest_of(3, 1, "y", 10), digest_of(3, 1, "x", 11), digest_of(3, 1, "x", 10)};
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t j = i + 1; j < 5; j++) CHECK(memcmp(&digests[i], &digests[j], sizeof digests[i]) != 0);
    CHECK(memcmp(&digests[0], &digests[5], sizeof digests[0]) == 0);
}

static void a_run_that_goes_nowhere_stops_and_names_the_task_x3(void **state)
{
    (void)state;
    struct stage stage;
    struct sf_sim_sched_config config = config_of(SF_SIM_CHOICE_FIFO, 1);
    config.instant_steps_max = 50;
    stage_init(&stage, 1, config);
    struct worker mill = {.left = 1000};
    spawn(&stage, stage.active, &mill, "mill", 0);
    CHECK(!sf_sim_sched_run_until(stage.sched, at(&stage, 100)));
    CHECK_STR(sf_sim_sched_stuck_on(stage.sched), "mill");
    CHECK_EQ(sf_sim_world_elapsed_us(&stage.world), 0);
    stage_deinit(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_order_runs_an_instant_until_nothing_is_left),
        cmocka_unit_test(fifo_takes_turns),
        cmocka_unit_test(equal_deadlines_run_in_spawn_order_and_whole_milliseconds_in_the_exact_world),
        cmocka_unit_test(random_order_differs_between_seeds_and_not_within_one),
        cmocka_unit_test(priorities_change_at_drawn_steps_only),
        cmocka_unit_test(a_home_is_busy_for_the_cost_of_a_step_and_fractions_add_up),
        cmocka_unit_test(two_instances_are_busy_independently),
        cmocka_unit_test(a_held_task_waits_for_the_end_of_its_hold),
        cmocka_unit_test(a_frozen_instance_catches_up_when_it_thaws),
        cmocka_unit_test(an_instance_killed_at_a_note_ends_when_the_step_returns),
        cmocka_unit_test(an_instance_killed_between_steps_is_gone_at_once),
        cmocka_unit_test(what_a_limit_keeps_back_is_read_by_a_later_step),
        cmocka_unit_test(the_digest_tells_units_notes_times_and_effects_apart_x14),
        cmocka_unit_test(a_run_that_goes_nowhere_stops_and_names_the_task_x3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
