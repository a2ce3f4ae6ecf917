/*
 * What every implementation of core/io/sched.h must do. A program gives a suite as the tests' initial state; each
 * test opens a world, spawns its tasks, runs them until none is left, and closes it.
 */
#ifndef SF_TESTS_CONFORMANCE_SCHED_SUITE_H
#define SF_TESTS_CONFORMANCE_SCHED_SUITE_H

#include "tests/check.h"

#include "core/io/clock.h"
#include "core/io/sched.h"

struct sched_world {
    struct sf_sched sched;
    struct sf_clock clock;
    void *self;
};

struct sched_suite {
    struct sched_world (*open)(void);
    bool (*run_until_done)(void *self); /* false: tasks were left when patience ended */
    void (*close)(void *self);
    uint32_t ping_count;
    bool is_order_of_equal_deadlines_fixed;
};

void sched_runs_a_spawned_task_once(void **state);
void sched_loses_no_wake_before_during_or_after_a_step(void **state);
void sched_runs_equal_deadlines_in_spawn_order(void **state);
void sched_runs_a_deadline_in_the_past_at_once(void **state);
void sched_runs_a_deadline_not_before_its_time(void **state);
void sched_runs_a_done_task_no_more(void **state);
void sched_ignores_wakes_of_unknown_tasks(void **state);
void sched_never_overlaps_two_tasks_of_one_home(void **state);
void sched_loses_no_message_in_a_long_ping_pong(void **state);
void sched_makes_an_edge_of_capacity_one_work(void **state);
void sched_gives_every_task_an_id_of_its_own(void **state);

#define SF_SCHED_SUITE(suite)                                                                        \
    cmocka_unit_test_prestate(sched_runs_a_spawned_task_once, suite),                                \
        cmocka_unit_test_prestate(sched_loses_no_wake_before_during_or_after_a_step, suite),         \
        cmocka_unit_test_prestate(sched_runs_equal_deadlines_in_spawn_order, suite),                 \
        cmocka_unit_test_prestate(sched_runs_a_deadline_in_the_past_at_once, suite),                 \
        cmocka_unit_test_prestate(sched_runs_a_deadline_not_before_its_time, suite),                 \
        cmocka_unit_test_prestate(sched_runs_a_done_task_no_more, suite),                            \
        cmocka_unit_test_prestate(sched_ignores_wakes_of_unknown_tasks, suite),                      \
        cmocka_unit_test_prestate(sched_never_overlaps_two_tasks_of_one_home, suite),                \
        cmocka_unit_test_prestate(sched_loses_no_message_in_a_long_ping_pong, suite),                \
        cmocka_unit_test_prestate(sched_makes_an_edge_of_capacity_one_work, suite),                  \
        cmocka_unit_test_prestate(sched_gives_every_task_an_id_of_its_own, suite)

#endif
