/* The store's conformance suite against the simulated disk, and what only a simulated disk can show. */
#include "tests/conformance/store_suite.h"

#include <stdlib.h>

#include "sim/store.h"

struct machine {
    struct sf_sim_world world;
    struct sf_sim_disk *disk;
    struct sf_sim_instance *instance;
    uint32_t wakes;
};

static uint64_t next_seed;

static void count_wake(void *self, uint32_t task_id)
{
    struct machine *machine = self;
    (void)task_id;
    machine->wakes++;
}

static struct store_world world_of(struct machine *machine)
{
    return (struct store_world){.factory = sf_sim_disk_factory(machine->disk, machine->instance),
                                .waker = {.wake = count_wake, .self = machine},
                                .self = machine};
}

static struct machine *make_machine(const struct sf_sim_disk_config *config)
{
    struct machine *machine = calloc(1, sizeof(*machine));
    CHECK(machine != NULL);
    struct sf_sim_world_config world_config = {.seed = next_seed, .wall_start_ms = 1790071200000};
    sf_sim_world_init(&machine->world, &world_config);
    machine->disk = sf_sim_disk_new(&machine->world, config);
    machine->instance = sf_sim_instance_new(&machine->world);
    return machine;
}

static struct store_world open_exact(void)
{
    struct sf_sim_disk_config config = sf_sim_disk_config_exact();
    return world_of(make_machine(&config));
}

static struct store_world open_drawn(void)
{
    next_seed++;
    struct sf_sim_disk_config config = sf_sim_disk_config_drawn(next_seed);
    return world_of(make_machine(&config));
}

static bool let_happen(void *self)
{
    struct machine *machine = self;
    uint32_t wakes = machine->wakes;
    if (sf_sim_world_run_due(&machine->world) > 0) {
        CHECK(machine->wakes > wakes); /* no event without a wake */
        return true;
    }
    return sf_sim_world_advance(&machine->world, INT64_MAX - 1);
}

static void restart(struct machine *machine)
{
    sf_sim_instance_kill(machine->instance);
    sf_sim_instance_destroy(machine->instance);
    machine->instance = sf_sim_instance_new(&machine->world);
}

static void close_world(void *self)
{
    struct machine *machine = self;
    sf_sim_instance_destroy(machine->instance);
    sf_sim_disk_destroy(machine->disk);
    sf_sim_world_deinit(&machine->world);
    free(machine);
}

static const struct store_suite *suite_of_crash;

/* Batches are written and the process dies with one of them outstanding. The suite opens by the factory that it has:
 * so the dead instance is another one than the suite's. */
static uint32_t crash(void *self, uint32_t synced)
{
    struct machine *machine = self;
    struct sf_sim_instance *instance = sf_sim_instance_new(&machine->world);
    struct store_world world = {.factory = sf_sim_disk_factory(machine->disk, instance),
                                .waker = {.wake = count_wake, .self = machine},
                                .self = machine};
    struct sf_store store = store_open(world, "crash");
    uint32_t batch = 0, sure = 0;
    while (sure < synced || batch < sure + 3) {
        batch++;
        if (store_crash_script_batch(suite_of_crash, world, store, batch)) sure = batch;
    }
    struct sf_store_op op = {.kind = SF_STORE_PUT, .key = {(const uint8_t *)"count", 5}};
    sf_store_write(store, 1, &op, 1);
    sf_sim_instance_kill(instance);
    uint32_t len;
    CHECK_EQ(sf_store_get(store, op.key, NULL, 0, &len), SF_NOT_FOUND); /* a corpse sees nothing */
    sf_sim_instance_destroy(instance);
    return sure;
}

/* ---------------------------------------------------------------- what only a simulated disk can show */

static void put_one(const struct store_suite *suite, struct store_world world, struct sf_store store, const char *key)
{
    struct sf_store_op op = {.kind = SF_STORE_PUT, .key = {(const uint8_t *)key, (uint32_t)strlen(key)}};
    struct sf_store_event event;
    sf_store_write(store, 1, &op, 1);
    while (sf_store_poll(store, &event, 1) == 0) CHECK(suite->let_happen(world.self));
    CHECK_EQ(event.status, SF_OK);
}

static bool has(struct sf_store store, const char *key)
{
    uint32_t len;
    struct sf_store_slice slice = {(const uint8_t *)key, (uint32_t)strlen(key)};
    return sf_store_get(store, slice, NULL, 0, &len) == SF_OK;
}

static void sync_one(const struct store_suite *suite, struct store_world world, struct sf_store store)
{
    struct sf_store_event event;
    sf_store_sync(store, 2);
    while (sf_store_poll(store, &event, 1) == 0) CHECK(suite->let_happen(world.self));
    CHECK_EQ(event.status, SF_OK);
}

/* Over seeds, a crash after batches a | sync | b c keeps a, ab and abc, each at least once, and nothing else. */
static void a_crash_keeps_each_prefix_beyond_the_sync_for_some_seed(void **state)
{
    const struct store_suite *suite = *state;
    uint32_t kept[3] = {0, 0, 0};
    for (uint32_t i = 0; i < 64; i++) {
        struct store_world world = open_drawn();
        struct sf_store store = store_open(world, "rows");
        put_one(suite, world, store, "a");
        sync_one(suite, world, store);
        put_one(suite, world, store, "b");
        put_one(suite, world, store, "c");
        restart(world.self);
        store = store_open(world_of(world.self), "rows");
        CHECK(has(store, "a"));
        CHECK(has(store, "b") || !has(store, "c"));
        kept[has(store, "b") + has(store, "c")]++;
        suite->close(world.self);
    }
    for (uint32_t i = 0; i < 3; i++) CHECK(kept[i] > 0);
}

static void a_lying_disk_loses_what_was_synced_for_some_seed(void **state)
{
    const struct store_suite *suite = *state;
    uint32_t lost = 0;
    for (uint32_t i = 0; i < 32; i++) {
        next_seed++;
        struct sf_sim_disk_config config = sf_sim_disk_config_exact();
        struct store_world world = world_of(make_machine(&config));
        struct machine *machine = world.self;
        sf_sim_disk_set_faults(machine->disk, SF_SIM_DISK_LYING);
        struct sf_store store = store_open(world, "rows");
        put_one(suite, world, store, "a");
        sync_one(suite, world, store);
        restart(machine);
        store = store_open(world_of(machine), "rows");
        lost += !has(store, "a");
        suite->close(world.self);
    }
    CHECK(lost > 0 && lost < 32);
}

static void damaged_files_are_reported_until_set_aside_k8(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = open_exact();
    struct machine *machine = world.self;
    struct sf_store store = store_open(world, "rows");
    struct sf_error error;
    put_one(suite, world, store, "a");
    CHECK_EQ(sf_store_close(store, &error), SF_OK);
    sf_sim_disk_set_faults(machine->disk, SF_SIM_DISK_OPEN_CORRUPT);
    struct sf_store_config config = {.name = "rows", .waker = world.waker};
    CHECK_EQ(sf_store_open(world.factory, &config, &store, &error), SF_E_CORRUPT);
    CHECK_STR(error.text, "store rows: the files are damaged");
    CHECK_EQ(sf_store_set_aside(world.factory, "rows", "corrupt", &error), SF_OK);
    CHECK_EQ(sf_store_open(world.factory, &config, &store, &error), SF_OK);
    CHECK(!has(store, "a"));
    suite->close(world.self);
}

static void faults_of_reads_and_writes_are_reported(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = open_exact();
    struct machine *machine = world.self;
    struct sf_store store = store_open(world, "rows");
    put_one(suite, world, store, "a");
    sf_sim_disk_set_faults(machine->disk, SF_SIM_DISK_READ_IO);
    uint32_t len;
    struct sf_store_iter iter;
    struct sf_store_range range = {.is_reverse = false};
    struct sf_store_slice key = {(const uint8_t *)"a", 1};
    CHECK_EQ(sf_store_get(store, key, NULL, 0, &len), SF_E_IO);
    CHECK_EQ(sf_store_iter_open(store, &range, &iter), SF_E_IO);
    sf_sim_disk_set_faults(machine->disk, SF_SIM_DISK_WRITE_IO);
    struct sf_store_op op = {.kind = SF_STORE_PUT, .key = {(const uint8_t *)"b", 1}};
    struct sf_store_event event;
    sf_store_write(store, 3, &op, 1);
    while (sf_store_poll(store, &event, 1) == 0) CHECK(suite->let_happen(world.self));
    CHECK_EQ(event.status, SF_E_IO);
    sf_sim_disk_set_faults(machine->disk, 0);
    sf_store_sync(store, 4);
    while (sf_store_poll(store, &event, 1) == 0) CHECK(suite->let_happen(world.self));
    CHECK_EQ(event.status, SF_E_IO); /* no more writes after a failed one */
    CHECK(has(store, "a") && !has(store, "b"));
    suite->close(world.self);
}

static void a_frozen_process_writes_nothing_until_it_thaws(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = open_drawn();
    struct machine *machine = world.self;
    struct sf_store store = store_open(world, "rows");
    struct sf_store_op op = {.kind = SF_STORE_PUT, .key = {(const uint8_t *)"a", 1}};
    struct sf_store_event event;
    sf_store_write(store, 1, &op, 1);
    sf_sim_instance_freeze(machine->instance, true);
    sf_sim_world_run_until(&machine->world, machine->world.mono_us + 60000000);
    CHECK(!has(store, "a"));
    struct sf_sim_instance *other = sf_sim_instance_new(&machine->world);
    struct sf_store second;
    struct sf_error error;
    struct sf_store_config config = {.name = "rows", .waker = world.waker};
    CHECK_EQ(sf_store_open(sf_sim_disk_factory(machine->disk, other), &config, &second, &error), SF_E_EXISTS);
    sf_sim_instance_freeze(machine->instance, false);
    sf_sim_world_run_until(&machine->world, machine->world.mono_us + 1);
    CHECK(has(store, "a"));
    CHECK_EQ(sf_store_poll(store, &event, 1), 1);
    sf_sim_instance_destroy(other);
    suite->close(world.self);
}

static void a_crash_falls_between_two_commands(void **state)
{
    const struct store_suite *suite = *state;
    for (uint64_t command = 2; command <= 4; command++) {
        struct store_world world = open_exact();
        struct machine *machine = world.self;
        sf_sim_instance_crash_at(machine->instance, command, SF_SIM_CRASH_GIVEN);
        struct sf_store store = store_open(world, "rows"); /* command 1 */
        static const char *const keys[] = {"a", "b", "c"};
        for (uint32_t i = 0; i < 3; i++) {
            struct sf_store_op op = {.kind = SF_STORE_PUT, .key = {(const uint8_t *)keys[i], 1}};
            sf_store_write(store, i, &op, 1);
            sf_sim_world_run_until(&machine->world, machine->world.mono_us + 1);
        }
        CHECK(machine->instance->is_dead);
        restart(machine);
        store = store_open(world_of(machine), "rows");
        for (uint32_t i = 0; i < 3; i++) CHECK(!has(store, keys[i]) || i + 2 < command);
        suite->close(world.self);
    }
}

int main(void)
{
    struct store_suite exact = {
        .open = open_exact, .let_happen = let_happen, .crash = crash, .close = close_world, .crash_rounds = 1};
    struct store_suite drawn = exact;
    drawn.open = open_drawn;
    drawn.crash_rounds = 32;
    suite_of_crash = &exact;
    const struct CMUnitTest tests[] = {
        SF_STORE_SUITE(&exact),
        SF_STORE_SUITE(&drawn),
        cmocka_unit_test_prestate(a_crash_keeps_each_prefix_beyond_the_sync_for_some_seed, &drawn),
        cmocka_unit_test_prestate(a_lying_disk_loses_what_was_synced_for_some_seed, &exact),
        cmocka_unit_test_prestate(damaged_files_are_reported_until_set_aside_k8, &exact),
        cmocka_unit_test_prestate(faults_of_reads_and_writes_are_reported, &exact),
        cmocka_unit_test_prestate(a_frozen_process_writes_nothing_until_it_thaws, &drawn),
        cmocka_unit_test_prestate(a_crash_falls_between_two_commands, &exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
