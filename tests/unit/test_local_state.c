/* Opening, recognising and setting aside the local store, over a simulated disk. */
#include "core/run/local_state.h"

#include "core/hash.h"
#include "core/state/local_layout.h"
#include "sim/store.h"
#include "tests/check.h"
#include "tests/unit/fake_log.h"

struct fixture {
    struct sf_sim_world world;
    struct sf_sim_disk *disk;
    struct sf_sim_instance *instance;
    struct fake_kafka kafka;
    struct sf_aggregate_spec field;
    struct sf_step_spec step;
    struct sf_topology topology;
    struct sf_target target;
    struct sf_targets targets;
    struct sf_local_state local;
    struct sf_error error;
};

static void init(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    sf_sim_world_init(&f->world, &(struct sf_sim_world_config){.seed = 1, .is_fifo = true});
    struct sf_sim_disk_config disk = sf_sim_disk_config_exact();
    f->disk = sf_sim_disk_new(&f->world, &disk);
    f->instance = sf_sim_instance_new(&f->world);
    fake_kafka_init(&f->kafka);
    (void)fake_log_add(&f->kafka, "log", 0, 0, 0);
    f->field = (struct sf_aggregate_spec){.name = "n", .kind = SF_AGGREGATE_COUNT};
    f->step = (struct sf_step_spec){.kind = SF_STEP_AGGREGATE,
                                    .window = {.size_ms = 10},
                                    .aggregates = &f->field,
                                    .aggregate_count = 1,
                                    .store = {.name = "s"}};
    f->topology = (struct sf_topology){.application_id = "app", .steps = &f->step, .step_count = 1};
    f->target = (struct sf_target){.kind = SF_TARGET_CHANGELOG, .topic = 0, .partition_count = 3};
    f->targets = (struct sf_targets){.items = &f->target, .count = 1};
}

static void deinit(struct fixture *f)
{
    (void)sf_local_state_close(&f->local, &f->error);
    sf_sim_instance_destroy(f->instance);
    sf_sim_disk_destroy(f->disk);
    sf_sim_world_deinit(&f->world);
}

static enum sf_status open(struct fixture *f)
{
    struct sf_local_state_config config = {.alloc = sf_alloc_libc(),
                                           .stores = sf_sim_disk_factory(f->disk, f->instance),
                                           .kafka = fake_kafka(&f->kafka),
                                           .topology = &f->topology,
                                           .targets = &f->targets};
    return sf_local_state_open(&f->local, &config, &f->error);
}

static void write_row(struct fixture *f, const char *key)
{
    struct sf_slice slice = {.data = (const uint8_t *)key, .len = (uint32_t)strlen(key)};
    sf_local_writer_put(f->local.writer, 0, 0, sf_hash64(key, slice.len), slice, slice);
    sf_local_writer_position(f->local.writer, 2, 7);
    CHECK(sf_local_writer_cut(f->local.writer, 1));
    uint64_t tag;
    while (sf_local_writer_is_busy(f->local.writer)) {
        (void)sf_local_writer_step(f->local.writer, 10);
        sf_sim_world_run_until(&f->world, f->world.mono_us + 1000);
        (void)sf_local_writer_poll(f->local.writer, &tag);
    }
}

static bool has_row(struct fixture *f, const char *key)
{
    uint8_t bytes[64], value[64];
    uint32_t len = sf_local_row_key_write(bytes, 0, 0, sf_hash64(key, strlen(key)), (const uint8_t *)key,
                                          (uint32_t)strlen(key));
    return sf_store_get(f->local.store, (struct sf_store_slice){bytes, len}, value, sizeof value, &len) == SF_OK;
}

static void count_row(void *ctx, struct sf_store_slice key, struct sf_store_slice value)
{
    (void)key;
    (void)value;
    (*(uint32_t *)ctx)++;
}

static void own_store_is_opened_again_with_its_rows(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    CHECK_EQ(open(&f), SF_OK);
    write_row(&f, "a");
    CHECK_EQ(sf_local_state_close(&f.local, &f.error), SF_OK);
    CHECK_EQ(sf_local_state_close(&f.local, &f.error), SF_OK);
    CHECK_EQ(open(&f), SF_OK);
    CHECK(!f.local.is_set_aside);
    CHECK(has_row(&f, "a"));
    int64_t offset;
    CHECK_EQ(sf_local_position_get(f.local.store, "log", 2, &offset), SF_OK);
    CHECK_EQ(offset, 7);
    deinit(&f);
}

static void store_of_another_topology_is_set_aside_and_a_new_one_is_empty_k8(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    CHECK_EQ(open(&f), SF_OK);
    write_row(&f, "a");
    CHECK_EQ(sf_local_state_close(&f.local, &f.error), SF_OK);
    f.step.window.size_ms = 20;
    CHECK_EQ(open(&f), SF_OK);
    CHECK(f.local.is_set_aside);
    CHECK(!has_row(&f, "a"));
    write_row(&f, "b");
    CHECK_EQ(sf_local_state_close(&f.local, &f.error), SF_OK);
    CHECK_EQ(open(&f), SF_OK);
    CHECK(!f.local.is_set_aside);
    CHECK(has_row(&f, "b"));
    deinit(&f);
}

static void corrupt_store_is_set_aside_at_open_and_later_k8(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    CHECK_EQ(open(&f), SF_OK);
    write_row(&f, "a");
    CHECK_EQ(sf_local_state_close(&f.local, &f.error), SF_OK);
    sf_sim_disk_set_faults(f.disk, SF_SIM_DISK_OPEN_CORRUPT);
    CHECK_EQ(open(&f), SF_OK);
    CHECK(f.local.is_set_aside);
    CHECK(!has_row(&f, "a"));
    sf_sim_disk_set_faults(f.disk, 0);
    write_row(&f, "b");
    CHECK(has_row(&f, "b"));
    CHECK_EQ(sf_local_state_set_aside(&f.local, "damaged", &f.error), SF_OK);
    CHECK(!has_row(&f, "b"));
    write_row(&f, "c");
    uint32_t rows = 0;
    CHECK(sf_sim_disk_each(f.disk, "state", count_row, &rows));
    CHECK_EQ(rows, 3); /* row, position, format */
    deinit(&f);
}

static void store_that_somebody_holds_is_not_touched(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    CHECK_EQ(open(&f), SF_OK);
    struct fixture other = f;
    other.instance = sf_sim_instance_new(&f.world);
    other.local = (struct sf_local_state){0};
    struct sf_local_state_config config = f.local.config;
    config.stores = sf_sim_disk_factory(f.disk, other.instance);
    CHECK_EQ(sf_local_state_open(&other.local, &config, &other.error), SF_E_EXISTS);
    CHECK(other.local.writer == NULL);
    write_row(&f, "a");
    CHECK(has_row(&f, "a"));
    (void)sf_local_state_close(&f.local, &f.error);
    sf_sim_instance_destroy(other.instance);
    deinit(&f);
}

static void logs_are_the_flat_table_of_tracked_partitions(void **state)
{
    (void)state;
    struct sf_target items[] = {
        {.kind = SF_TARGET_SINK, .topic = 1, .partition_count = 9},
        {.kind = SF_TARGET_CHANGELOG, .index = 4, .topic = 2, .partition_count = 2, .first_position = 1},
        {.kind = SF_TARGET_FRONTIER, .index = 4, .topic = 3, .partition_count = 2},
        {.kind = SF_TARGET_CHANGELOG, .index = 6, .topic = 5, .partition_count = 1, .first_position = 0},
    };
    struct sf_targets targets = {.items = items, .count = 4, .sink_count = 1};
    CHECK_EQ(sf_local_state_log_count(&targets), 3);
    struct sf_restore_log logs[3];
    sf_local_state_logs(&targets, true, logs);
    CHECK_EQ(logs[0].tp.topic, 5);
    CHECK_EQ(logs[0].store, 6);
    CHECK_EQ(logs[1].tp.topic, 2);
    CHECK_EQ(logs[1].tp.partition, 0);
    CHECK_EQ(logs[2].tp.partition, 1);
    CHECK_EQ(logs[2].store, 4);
    CHECK(logs[2].is_packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_store_is_opened_again_with_its_rows),
        cmocka_unit_test(store_of_another_topology_is_set_aside_and_a_new_one_is_empty_k8),
        cmocka_unit_test(corrupt_store_is_set_aside_at_open_and_later_k8),
        cmocka_unit_test(store_that_somebody_holds_is_not_touched),
        cmocka_unit_test(logs_are_the_flat_table_of_tracked_partitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
