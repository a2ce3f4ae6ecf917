/* Partitions found while running (G4): read from their start, in order, over aborts and restarts. */
#include "tests/check.h"
#include "tests/unit/engine_world.h"

#define APP(emit) \
    "application: {id: counts}\n" \
    "sources:\n" \
    "  in: {topic: in, key: string, value: json, start: latest, watermark: {strategy: bounded-out-of-orderness, " \
    "max-out-of-orderness: 0ms, idleness: 1s}}\n" \
    "stoatflow: {instance: one}\n" \
    "streams:\n" \
    "  - {name: counts, from: in, window: {tumbling: 10ms}, aggregate: {n: count}, emit: " emit \
    ", store: {name: counts, kind: persistent}}\n" \
    "sinks:\n" \
    "  - {from: counts, topic: out, value: json}\n"

static const char app[] = APP("on-window-close");
static const char updates_app[] = APP("on-window-update");

static void add_partitions(struct engine_world *w, int32_t count)
{
    sf_sim_kafka_add_partitions(w->broker, sf_sim_kafka_topic(w->broker, "in"), count);
}

static int64_t global(struct engine_world *w)
{
    struct sf_watermark_view view;
    sf_ingest_view(sf_engine_ingest(w->engine), (struct sf_wall_ts){0}, &view);
    return view.global;
}

static uint32_t partition_count(struct engine_world *w)
{
    struct sf_watermark_view view;
    sf_ingest_view(sf_engine_ingest(w->engine), (struct sf_wall_ts){0}, &view);
    return view.partition_count;
}

static void init(struct engine_world *w)
{
    engine_world_init(w, app, 1, 2, 0);
    engine_world_at(w, 1);
    engine_world_append(w, 0, "a", 100, "1");
    engine_world_at(w, 2);
    engine_world_barrier(w);
    CHECK_EQ(global(w), 100);
}

static void a_partition_that_is_found_holds_the_watermark_and_is_read_from_its_start_g4(void **state)
{
    (void)state;
    struct engine_world w;
    init(&w);
    add_partitions(&w, 3);
    engine_world_append(&w, 2, "b", 105, "1"); /* before it is found: `start: latest` is not for it */
    engine_world_at(&w, 10);
    CHECK_EQ(partition_count(&w), 3);
    engine_world_append(&w, 0, "a", 150, "1");
    engine_world_at(&w, 20);
    CHECK_EQ(global(&w), 100); /* partition 1 claims nothing yet */
    engine_world_append(&w, 1, "c", 151, "1");
    engine_world_append(&w, 2, "b", 152, "1");
    engine_world_at(&w, 500);
    CHECK_EQ(global(&w), 150);
    for (int barrier = 0; barrier < 3; barrier++) engine_world_barrier(&w);
    const char *out = engine_world_output(&w);
    CHECK(strstr(out, "a {\"window\":{\"start\":100,\"end\":110},\"n\":1} @100\n") != NULL);
    CHECK(strstr(out, "b {\"window\":{\"start\":100,\"end\":110},\"n\":1} @105\n") != NULL);
    engine_world_deinit(&w);
}

/* Its offset commits with the first barrier after, so `latest` is not applied to it by a restart either. */
static void a_restart_goes_on_with_it_where_it_was_s8(void **state)
{
    (void)state;
    struct engine_world w;
    init(&w);
    add_partitions(&w, 2);
    engine_world_at(&w, 10);
    CHECK_EQ(partition_count(&w), 2);
    engine_world_barrier(&w);
    engine_world_append(&w, 1, "b", 105, "1");
    engine_world_at(&w, 20);
    engine_world_crash(&w); /* what was read is not committed */
    engine_world_append(&w, 1, "b", 106, "1");
    engine_world_append(&w, 1, "b", 200, "1");
    engine_world_append(&w, 0, "a", 200, "1");
    engine_world_start(&w);
    engine_world_at(&w, 30);
    for (int barrier = 0; barrier < 4; barrier++) engine_world_barrier(&w);
    CHECK(strstr(engine_world_output(&w), "b {\"window\":{\"start\":100,\"end\":110},\"n\":2} @106\n") != NULL);
    engine_world_deinit(&w);
}

/* Found, and the process dies before any cut has its offset: `latest` must not be applied to it now. */
static void one_that_was_found_just_before_a_crash_is_read_from_its_start_s8(void **state)
{
    (void)state;
    struct engine_world w;
    init(&w);
    add_partitions(&w, 2);
    engine_world_append(&w, 1, "b", 105, "1");
    engine_world_at(&w, 10);
    CHECK_EQ(partition_count(&w), 2);
    engine_world_crash(&w);
    engine_world_append(&w, 1, "b", 200, "1");
    engine_world_append(&w, 0, "a", 200, "1");
    engine_world_start(&w);
    engine_world_at(&w, 30);
    for (int barrier = 0; barrier < 4; barrier++) engine_world_barrier(&w);
    CHECK(strstr(engine_world_output(&w), "b {\"window\":{\"start\":100,\"end\":110},\"n\":1} @105\n") != NULL);
    engine_world_deinit(&w);
}

/* Where `latest` has put a silent partition is in the first cut that commits, also when the first was given up. */
static void where_latest_begins_outlives_an_abort_and_a_restart_s8(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, app, 2, 1, 0);
    engine_world_at(&w, 1);
    engine_world_append(&w, 0, "a", 100, "1");
    engine_world_at(&w, 2);
    sf_sim_kafka_fault(w.broker, &(struct sf_sim_kafka_fault){.request = SF_SIM_KAFKA_REQUEST_PRODUCE,
                                                              .effect = SF_SIM_KAFKA_REFUSED,
                                                              .count = 1});
    engine_world_barrier(&w);
    engine_world_at(&w, 5000);
    engine_world_barrier(&w);
    CHECK(sf_engine_epoch(w.engine) >= 1);
    engine_world_crash(&w);
    engine_world_append(&w, 1, "b", 105, "1");
    engine_world_start(&w);
    engine_world_at(&w, 5010);
    engine_world_append(&w, 0, "a", 200, "1");
    engine_world_append(&w, 1, "b", 200, "1");
    engine_world_at(&w, 5020);
    for (int barrier = 0; barrier < 4; barrier++) engine_world_barrier(&w);
    CHECK(strstr(engine_world_output(&w), "b {\"window\":{\"start\":100,\"end\":110},\"n\":1} @105\n") != NULL);
    engine_world_deinit(&w);
}

/* The source outgrows its changelog, which stays as it was made; the frontier that a later version needs follows it. */
static void a_frontier_is_made_as_wide_as_its_stores_changelog_k2_k13(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, updates_app, 1, 2, 0);
    engine_world_append(&w, 0, "a", 100, "1");
    engine_world_at(&w, 2);
    engine_world_barrier(&w);
    engine_world_stop(&w);
    add_partitions(&w, 3);
    engine_world_load(&w, app);
    engine_world_start(&w);
    engine_world_at(&w, 100);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    uint32_t changelog = sf_sim_kafka_topic(w.broker, "counts-counts-changelog");
    uint32_t frontier = sf_sim_kafka_topic(w.broker, "counts-counts-emitfrontier-changelog");
    CHECK_EQ(sf_sim_kafka_partition_count(w.broker, changelog), 1);
    CHECK_EQ(sf_sim_kafka_partition_count(w.broker, frontier), 1);
    CHECK_EQ(partition_count(&w), 3);
    engine_world_deinit(&w);
}

/* More than one word of the bits of those that moved; an abort rewinds them, a commit keeps them. */
static void found_partitions_abort_and_commit_like_others_b12(void **state)
{
    (void)state;
    struct engine_world w;
    init(&w);
    for (int32_t count = 2; count <= 70; count += 17) {
        add_partitions(&w, count);
        engine_world_at(&w, 10 * count);
        CHECK_EQ(partition_count(&w), (uint32_t)count);
    }
    for (int32_t p = 0; p < (int32_t)partition_count(&w); p++)
        engine_world_append(&w, p, "k", 200, "1");
    engine_world_at(&w, 1000);
    sf_sim_kafka_fault(w.broker, &(struct sf_sim_kafka_fault){.request = SF_SIM_KAFKA_REQUEST_PRODUCE,
                                                              .effect = SF_SIM_KAFKA_REFUSED,
                                                              .count = 1});
    engine_world_barrier(&w);
    engine_world_at(&w, 5000);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    engine_world_barrier(&w);
    CHECK_EQ(sf_engine_step_counts(w.engine)[0].in, 1 + partition_count(&w));
    engine_world_crash(&w);
    engine_world_start(&w);
    engine_world_at(&w, 6000);
    for (uint32_t p = 0; p < partition_count(&w); p++) {
        struct sf_partition_view view;
        sf_ingest_partition_view(sf_engine_ingest(w.engine), p, (struct sf_wall_ts){0}, &view);
        CHECK_EQ(view.next_offset, p == 0 ? 2 : 1);
    }
    engine_world_deinit(&w);
}

/* A standby learnt how wide the topic is when it started; the owner has read from what came since. */
static void a_standby_goes_on_where_its_predecessor_was_in_a_found_partition_s1(void **state)
{
    (void)state;
    static char alone[sizeof app];
    const char *named = strstr(app, "stoatflow:");
    size_t len = (size_t)(named - app);
    memcpy(alone, app, len);
    memcpy(alone + len, strchr(named, '\n') + 1, strlen(strchr(named, '\n')));
    struct engine_world w;
    engine_world_init(&w, alone, 1, 1, 0);
    engine_world_at(&w, 4000); /* the group has an owner */
    engine_world_append(&w, 0, "a", 100, "1");
    engine_world_barrier(&w);
    struct sf_sim_instance *old = w.instance;
    struct sf_engine *old_engine = w.engine;
    engine_world_start(&w);
    engine_world_at(&w, 9000);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_STANDBY);
    add_partitions(&w, 2);
    engine_world_append(&w, 1, "b", 105, "1");
    engine_world_at(&w, 9100);
    sf_engine_fix(old_engine);
    engine_world_at(&w, 9200);
    sf_sim_instance_kill(old);
    engine_world_at(&w, 60000);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    CHECK_EQ(partition_count(&w), 2);
    engine_world_append(&w, 0, "a", 200, "1");
    engine_world_append(&w, 1, "b", 200, "1");
    engine_world_at(&w, 60010);
    for (int barrier = 0; barrier < 4; barrier++) engine_world_barrier(&w);
    CHECK(strstr(engine_world_output(&w), "b {\"window\":{\"start\":100,\"end\":110},\"n\":1} @105\n") != NULL);
    sf_engine_destroy(old_engine);
    sf_sim_instance_destroy(old);
    engine_world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_partition_that_is_found_holds_the_watermark_and_is_read_from_its_start_g4),
        cmocka_unit_test(a_restart_goes_on_with_it_where_it_was_s8),
        cmocka_unit_test(one_that_was_found_just_before_a_crash_is_read_from_its_start_s8),
        cmocka_unit_test(where_latest_begins_outlives_an_abort_and_a_restart_s8),
        cmocka_unit_test(a_frontier_is_made_as_wide_as_its_stores_changelog_k2_k13),
        cmocka_unit_test(found_partitions_abort_and_commit_like_others_b12),
        cmocka_unit_test(a_standby_goes_on_where_its_predecessor_was_in_a_found_partition_s1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
