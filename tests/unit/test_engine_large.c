/* Records that a topic will not take: what becomes of them and of the application (M5). */
#include <stdio.h>

#include "tests/check.h"
#include "tests/unit/engine_world.h"

#define SOURCE \
    "sources:\n" \
    "  in: {topic: in, key: string, value: json, watermark: {strategy: bounded-out-of-orderness, " \
    "max-out-of-orderness: 0ms}}\n"

static const char copy_app[] = "application: {id: large}\n" SOURCE "sinks: [{from: in, topic: small}]\n";

static const char lenient_app[] = "application: {id: large}\n" SOURCE
                                  "sinks: [{from: in, topic: small, on-production-error: continue}]\n";

#define COUNT(id, policy, format) \
    "application: {id: " id "}\n" SOURCE "stoatflow: {instance: one, changelog.format: " format "}\n" \
    "streams: [{name: counts, from: in, window: {tumbling: 10ms}, aggregate: {n: count}, " \
    "emit: on-window-close, on-error: " policy "}]\n" \
    "sinks: [{from: counts, topic: out}]\n"

static const char any_app[] = COUNT("any", "fail", "rows");
static const char strict_count_app[] = COUNT("large", "fail", "rows");
static const char lenient_count_app[] = COUNT("large", "continue", "rows");
static const char packed_count_app[] = COUNT("large", "fail", "packed");

/* `app` in a world where `topic` takes batches of up to `bytes`. */
static void start(struct engine_world *w, const char *app, const char *topic, const char *bytes)
{
    struct sf_topic_setting settings[] = {{"cleanup.policy", "compact"}, {"max.message.bytes", bytes}};
    engine_world_init(w, any_app, 1, 1, 0);
    engine_world_crash(w);
    w->has_store = false;
    CHECK_EQ(sf_sim_kafka_create(w->broker, topic, 1, settings, 2), SF_OK);
    engine_world_load(w, app);
    engine_world_start(w);
}

/* A record whose value, or key, has `bytes` bytes. */
static void append_large(struct engine_world *w, uint32_t bytes, bool is_key)
{
    static char text[2001];
    CHECK(bytes >= 2 && bytes < sizeof text);
    memset(text, 'x', bytes);
    if (!is_key) text[0] = text[bytes - 1] = '"';
    text[bytes] = '\0';
    engine_world_append(w, 0, is_key ? text : "b", 12, is_key ? "1" : text);
}

static void a_record_too_large_for_its_topic_ends_the_run_and_says_which_m5(void **state)
{
    (void)state;
    struct engine_world w;
    start(&w, copy_app, "small", "400");
    engine_world_append(&w, 0, "a", 11, "1");
    append_large(&w, 300, false);
    engine_world_at(&w, 100);
    engine_world_barrier(&w);
    CHECK(w.has_ended);
    CHECK_EQ(w.end, SF_END_FAILED);
    CHECK_EQ(w.error.status, SF_E_TOO_LARGE);
    CHECK_EQ(sf_engine_transactions_lost(w.engine), 0);
    CHECK_STR(w.error.text, "sink small: key \"b\" for partition 0: the record has 301 bytes, its max.message.bytes "
                            "allows 272 (made of in/0 offset 1); `on-production-error: continue` counts and skips such "
                            "records");
    engine_world_deinit(&w);
}

static void what_is_too_large_is_skipped_and_counted_where_the_sink_says_so_m5_m6(void **state)
{
    (void)state;
    struct engine_world w;
    start(&w, lenient_app, "small", "400");
    engine_world_append(&w, 0, "a", 11, "1");
    append_large(&w, 300, false);
    append_large(&w, 271, false); /* the most: with its key 272 */
    append_large(&w, 272, false);
    engine_world_append(&w, 0, "c", 13, "2");
    engine_world_at(&w, 100);
    engine_world_barrier(&w);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    CHECK_EQ(sf_engine_epoch(w.engine), 1);
    CHECK_EQ(sf_engine_transactions_lost(w.engine), 0);
    CHECK_EQ(sf_engine_sink_counts(w.engine)[0].written, 3);
    CHECK_EQ(sf_engine_sink_counts(w.engine)[0].dropped, 2);
    CHECK_EQ(sf_ingest_counts(sf_engine_ingest(w.engine))[0].dispatched, 5);
    struct sf_tp tp = {.topic = sf_sim_kafka_topic(w.broker, "small"), .partition = 0};
    CHECK_EQ(sf_sim_kafka_log_end(w.broker, tp, SF_LOG_END), 4); /* three and the marker */
    engine_world_deinit(&w);
}

static void a_key_too_long_for_its_changelog_is_an_error_of_its_record_m5(void **state)
{
    (void)state;
    struct engine_world w;
    start(&w, strict_count_app, "large-counts-changelog", "2000");
    append_large(&w, 2000, true);
    engine_world_at(&w, 100);
    engine_world_barrier(&w);
    CHECK_EQ(w.end, SF_END_FAILED);
    CHECK(strstr(w.error.text, "step counts, in/0 offset 0: the key has 2000 bytes, the max.message.bytes of the "
                               "changelog allows ") == w.error.text);
    engine_world_crash(&w);
    engine_world_load(&w, lenient_count_app);
    engine_world_start(&w);
    engine_world_append(&w, 0, "a", 13, "1");
    engine_world_append(&w, 0, "a", 25, "1");
    engine_world_at(&w, 200);
    for (int i = 0; i < 3; i++) engine_world_barrier(&w);
    CHECK_STR(engine_world_output(&w), "a {\"window\":{\"start\":10,\"end\":20},\"n\":1} @13\n");
    CHECK_EQ(sf_engine_step_counts(w.engine)[0].drops[SF_DROP_PROCESSING], 1);
    engine_world_deinit(&w);
}

/* 47 rows to a unit, 1.2 KB, where 772 bytes go into a record; a restart finds them all. */
static void packed_records_are_cut_to_what_the_changelog_takes_k5(void **state)
{
    (void)state;
    struct engine_world w;
    start(&w, packed_count_app, "large-counts-changelog", "900");
    for (int i = 0; i < 6000; i++) {
        char key[24];
        (void)snprintf(key, sizeof key, "some-longer-key-%d", i);
        engine_world_append(&w, 0, key, 11, "1");
    }
    engine_world_at(&w, 100);
    engine_world_barrier(&w);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    CHECK_EQ(sf_engine_epoch(w.engine), 1);
    CHECK_EQ(sf_engine_transactions_lost(w.engine), 0);
    engine_world_crash(&w);
    engine_world_start(&w);
    engine_world_append(&w, 0, "a", 25, "1");
    engine_world_at(&w, 200);
    for (int i = 0; i < 3; i++) engine_world_barrier(&w);
    CHECK_EQ(sf_engine_sink_counts(w.engine)[0].written, 6000);
    engine_world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_too_large_for_its_topic_ends_the_run_and_says_which_m5),
        cmocka_unit_test(what_is_too_large_is_skipped_and_counted_where_the_sink_says_so_m5_m6),
        cmocka_unit_test(a_key_too_long_for_its_changelog_is_an_error_of_its_record_m5),
        cmocka_unit_test(packed_records_are_cut_to_what_the_changelog_takes_k5),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
