/* The scheduler's conformance suite against worker threads, and what only threads can show. */
/* ctest: threads */
#include "tests/conformance/sched_suite.h"

#if defined(SF_HAVE_PROD)

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "prod/clock.h"
#include "prod/sched.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PING_COUNT 50000u
#define WAKE_COUNT 20000u
#else
#define PING_COUNT 1000000u
#define WAKE_COUNT 200000u
#endif

#define PATIENCE_US 120000000

struct threads_world {
    struct sf_prod_clock clock;
    struct sf_prod_sched *sched;
    uint32_t noted;
};

static void count_notes(void *ctx, const struct sf_task *task, const struct sf_notes *notes)
{
    struct threads_world *world = ctx;
    (void)task;
    world->noted += notes->count;
}

static struct sched_world open_with(uint32_t worker_count)
{
    struct threads_world *world = calloc(1, sizeof(*world));
    CHECK(world != NULL);
    sf_prod_clock_init(&world->clock);
    struct sf_prod_sched_config config = {.alloc = sf_alloc_libc(),
                                          .clock = sf_prod_clock_handle(&world->clock),
                                          .worker_count = worker_count,
                                          .budget = 16,
                                          .on_notes = count_notes,
                                          .ctx = world};
    world->sched = sf_prod_sched_new(&config);
    return (struct sched_world){
        .sched = sf_prod_sched_handle(world->sched), .clock = config.clock, .self = world};
}

static struct sched_world open_one(void)
{
    return open_with(1);
}

static struct sched_world open_two(void)
{
    return open_with(2);
}

static bool run_until_done(void *self)
{
    struct threads_world *world = self;
    struct sf_error error;
    CHECK_EQ(sf_prod_sched_start(world->sched, &error), SF_OK);
    return sf_prod_sched_wait_done(world->sched, PATIENCE_US);
}

static void close_world(void *self)
{
    struct threads_world *world = self;
    sf_prod_sched_destroy(world->sched);
    free(world);
}

/* --- a wake from a thread that is no worker --- */

struct listener {
    _Atomic uint32_t written;
    struct sf_port port;
    struct sf_port *ports[1];
    _Atomic uint32_t heard;
    struct sf_task task;
};

static struct sf_step_result listen_on(void *self, const struct sf_step *step)
{
    (void)step;
    struct listener *listener = self;
    uint32_t used = sf_port_visible(&listener->port) < step->budget ? sf_port_visible(&listener->port) : step->budget;
    listener->port.consumed += used;
    atomic_store(&listener->heard, listener->port.consumed);
    if (listener->port.consumed == WAKE_COUNT)
        return (struct sf_step_result){.next = SF_NEXT_DONE, .used = used, .wake_at = SF_MONO_NEVER};
    bool is_more = sf_port_visible(&listener->port) > 0;
    return (struct sf_step_result){
        .next = is_more ? SF_NEXT_AGAIN : SF_NEXT_WAIT, .used = used, .wake_at = SF_MONO_NEVER};
}

/* Lock-step with the worker, so that it naps, or is about to, at almost every wake. */
static void no_wake_of_a_foreign_thread_is_lost_while_the_worker_falls_asleep(void **state)
{
    (void)state;
    struct sched_world world = open_with(1);
    struct listener listener = {.port = {0}};
    atomic_init(&listener.written, 0);
    atomic_init(&listener.heard, 0);
    listener.port.written = &listener.written;
    listener.ports[0] = &listener.port;
    listener.task = (struct sf_task){
        .name = "listener", .step = listen_on, .self = &listener, .ports = listener.ports, .port_count = 1};
    sf_sched_spawn(world.sched, &listener.task);
    struct threads_world *threads = world.self;
    struct sf_error error;
    CHECK_EQ(sf_prod_sched_start(threads->sched, &error), SF_OK);
    int64_t give_up_us = sf_clock_mono(world.clock).us + PATIENCE_US;
    for (uint32_t i = 1; i <= WAKE_COUNT; i++) {
        atomic_store_explicit(&listener.written, i, memory_order_release);
        sf_sched_wake(world.sched, listener.task.id);
        if (i % 2 == 0)
            while (atomic_load(&listener.heard) < i) CHECK(sf_clock_mono(world.clock).us < give_up_us);
    }
    CHECK(sf_prod_sched_wait_done(threads->sched, PATIENCE_US));
    close_world(world.self);
    CHECK_EQ(atomic_load(&listener.heard), WAKE_COUNT);
}

/* --- notes and stopping --- */

struct noter {
    uint32_t left;
    struct sf_task task;
};

static struct sf_step_result write_notes(void *self, const struct sf_step *step)
{
    struct noter *noter = self;
    CHECK_EQ(step->notes->count, 0);
    CHECK(step->notes->hook == NULL);
    sf_notes_add(step->notes, (struct sf_note){.code = 1});
    sf_notes_add(step->notes, (struct sf_note){.code = 2});
    noter->left--;
    return (struct sf_step_result){
        .next = noter->left == 0 ? SF_NEXT_DONE : SF_NEXT_AGAIN, .used = 1, .wake_at = SF_MONO_NEVER};
}

static void notes_are_drained_after_each_step(void **state)
{
    (void)state;
    struct sched_world world = open_with(1);
    struct noter noter = {.left = 100};
    noter.task = (struct sf_task){.name = "noter", .step = write_notes, .self = &noter};
    sf_sched_spawn(world.sched, &noter.task);
    CHECK(run_until_done(world.self));
    struct threads_world *threads = world.self;
    sf_prod_sched_stop(threads->sched);
    CHECK_EQ(threads->noted, 200);
    close_world(world.self);
}

static struct sf_step_result go_on_for_ever(void *self, const struct sf_step *step)
{
    (void)step;
    atomic_fetch_add((_Atomic uint32_t *)self, 1);
    return (struct sf_step_result){.next = SF_NEXT_AGAIN, .used = 1, .wake_at = SF_MONO_NEVER};
}

static void stop_ends_busy_workers_and_leaves_the_rest_alone(void **state)
{
    (void)state;
    struct sched_world world = open_with(2);
    _Atomic uint32_t steps[3];
    struct sf_task tasks[3];
    for (uint32_t i = 0; i < 3; i++) {
        atomic_init(&steps[i], 0);
        tasks[i] = (struct sf_task){.name = "busy", .step = go_on_for_ever, .self = &steps[i], .home = i};
        sf_sched_spawn(world.sched, &tasks[i]);
    }
    struct threads_world *threads = world.self;
    struct sf_error error;
    CHECK_EQ(sf_prod_sched_start(threads->sched, &error), SF_OK);
    for (uint32_t i = 0; i < 3; i++)
        while (atomic_load(&steps[i]) < 100) {
        }
    CHECK(!sf_prod_sched_wait_done(threads->sched, 0));
    sf_prod_sched_stop(threads->sched);
    uint32_t at_stop = atomic_load(&steps[0]);
    sf_sched_wake(world.sched, tasks[0].id);
    CHECK_EQ(atomic_load(&steps[0]), at_stop);
    close_world(world.self);
}

int main(void)
{
    struct sched_suite one = {
        .open = open_one, .run_until_done = run_until_done, .close = close_world, .ping_count = PING_COUNT};
    struct sched_suite two = one;
    two.open = open_two;
    const struct CMUnitTest tests[] = {
        SF_SCHED_SUITE(&one),
        SF_SCHED_SUITE(&two),
        cmocka_unit_test(no_wake_of_a_foreign_thread_is_lost_while_the_worker_falls_asleep),
        cmocka_unit_test(notes_are_drained_after_each_step),
        cmocka_unit_test(stop_ends_busy_workers_and_leaves_the_rest_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77;
}

#endif
