/* The runner's small parts: draws, times, JSON as compared, points. */
#include "driver/draw.h"
#include "driver/json_text.h"
#include "driver/point.h"
#include "driver/swarm.h"
#include "driver/time_text.h"
#include "driver/trail.h"
#include "sim/random.h"
#include "tests/check.h"

/* ---------------------------------------------------------------- draws */

static int64_t draw(enum sf_scenario_draw_kind kind, int64_t a, int64_t b, uint64_t bits)
{
    struct sf_scenario_draw spec = {.kind = kind, .a = a, .b = b};
    struct sf_driver_draw one;
    sf_driver_draw_init(&one, &spec, sf_alloc_libc());
    int64_t number = sf_driver_draw_number(&one, bits, 7);
    sf_driver_draw_deinit(&one);
    return number;
}

static void logarithm_and_power_agree_with_known_values(void **state)
{
    (void)state;
    CHECK_EQ(sf_driver_log2(1), 0);
    CHECK_EQ(sf_driver_log2(1024), (int64_t)10 << 24);
    CHECK_EQ(sf_driver_log2(3) * 1000 >> 24, 1584);
    CHECK_EQ(sf_driver_exp2_neg(0), (int64_t)1 << 32);
    CHECK_EQ(sf_driver_exp2_neg(1u << 24), (int64_t)1 << 31);
    CHECK_EQ((sf_driver_exp2_neg(1u << 23) * 1000) >> 32, 707);
}

static void exponential_has_its_mean(void **state)
{
    (void)state;
    int64_t sum = 0;
    for (uint64_t i = 0; i < 20000; i++)
        sum += draw(SF_SCENARIO_DRAW_EXPONENTIAL, 2000, 0, sf_sim_draw(1, 2, 3, i));
    CHECK(sum / 20000 > 1940 && sum / 20000 < 2060);
    CHECK_EQ(draw(SF_SCENARIO_DRAW_EXPONENTIAL, 2000, 0, UINT64_MAX), 0);
    CHECK(draw(SF_SCENARIO_DRAW_EXPONENTIAL, 2000, 0, 0) < 2000 * 45);
}

static void zipf_gives_rank_one_half_of_rank_zero(void **state)
{
    (void)state;
    struct sf_scenario_draw spec = {.kind = SF_SCENARIO_DRAW_ZIPF, .a = 100, .b = 1000000};
    struct sf_driver_draw zipf;
    int64_t counts[100] = {0};
    sf_driver_draw_init(&zipf, &spec, sf_alloc_libc());
    for (uint64_t i = 0; i < 50000; i++) counts[sf_driver_draw_number(&zipf, sf_sim_draw(1, 2, 3, i), i)]++;
    sf_driver_draw_deinit(&zipf);
    CHECK(counts[0] > counts[1] * 18 / 10 && counts[0] < counts[1] * 22 / 10);
    CHECK(counts[99] > 0);
}

static void sequence_and_uniform_stay_in_their_range(void **state)
{
    (void)state;
    CHECK_EQ(draw(SF_SCENARIO_DRAW_SEQUENCE, 0, 0, 99), 7);
    CHECK_EQ(draw(SF_SCENARIO_DRAW_CONSTANT, 5, 0, 99), 5);
    for (uint64_t i = 0; i < 100; i++) {
        int64_t number = draw(SF_SCENARIO_DRAW_UNIFORM, -3, 3, sf_sim_draw(1, 2, 3, i));
        CHECK(number >= -3 && number <= 3);
    }
}

/* ---------------------------------------------------------------- texts */

static const char *iso_of(char buffer[SF_DRIVER_TIME_BYTES], int64_t ms)
{
    struct sf_text text;
    sf_text_init(&text, buffer, SF_DRIVER_TIME_BYTES);
    sf_driver_text_iso(&text, ms);
    return buffer;
}

static void times_are_iso_and_sentinels_words(void **state)
{
    (void)state;
    char text[SF_DRIVER_TIME_BYTES];
    CHECK_STR(sf_driver_time_of(text, 0), "1970-01-01T00:00:00.000Z");
    CHECK_STR(sf_driver_time_of(text, INT64_C(1790071210250)), "2026-09-22T10:00:10.250Z");
    CHECK_STR(sf_driver_time_of(text, INT64_C(951782400000)), "2000-02-29T00:00:00.000Z");
    CHECK_STR(sf_driver_time_of(text, SF_TIME_VALID_MAX), "9999-12-31T23:59:59.999Z");
    CHECK_STR(sf_driver_time_of(text, -1), "-1ms");
    CHECK_STR(sf_driver_time_of(text, SF_TIME_UNSET), "unset");
    CHECK_STR(sf_driver_time_of(text, SF_TIME_COMPLETE), "complete");
    CHECK_STR(iso_of(text, SF_TIME_COMPLETE), "+292278994-08-17T07:12:55.807Z"); /* M1 */
    CHECK_STR(iso_of(text, INT64_MIN + 1), "-292275055-05-16T16:47:04.193Z");
    CHECK_STR(iso_of(text, -29995), "1969-12-31T23:59:30.005Z");
    CHECK_STR(iso_of(text, 0), "1970-01-01T00:00:00.000Z");
    CHECK_STR(sf_driver_elapsed_of(text, 12250000), "+12.250s");
    CHECK_STR(sf_driver_elapsed_of(text, 12250001), "+12.250001s");
}

static const char *normal(struct sf_text *text, const char *json, const char *without)
{
    text->length = 0;
    sf_driver_json_normal(text, json, strlen(json), without);
    return text->data;
}

static void json_is_compared_by_members_not_by_spelling(void **state)
{
    (void)state;
    char data[256];
    struct sf_text text;
    sf_text_init(&text, data, sizeof data);
    CHECK_STR(normal(&text, "{\"window\":{\"start\":0,\"end\":9}, \"total\": 5, \"n\":1}", "window"),
              "{\"n\":1,\"total\":5}");
    CHECK_STR(normal(&text, "{\"b\":[1, {\"z\" : \"a b\\\" }\"}],\"a\":{}}", NULL),
              "{\"a\":{},\"b\":[1,{\"z\":\"a b\\\" }\"}]}");
    CHECK_STR(normal(&text, "[1, 2]", NULL), "[1,2]");
    CHECK_STR(normal(&text, " \"a b\" ", NULL), "\"a b\"");
    CHECK_STR(normal(&text, "{}", "window"), "{}");
    CHECK_STR(normal(&text, "{broken", NULL), "{broken");
}

/* ---------------------------------------------------------------- points */

static bool reach(struct sf_driver_point *point, uint16_t code, int64_t n, int64_t s, int64_t i)
{
    struct sf_note note = {.code = code, .args = {n, s, i, 0}};
    return sf_driver_point_reached(point, &note, 2);
}

static struct sf_scenario_point spec_of(const char *text, uint16_t note, int64_t epoch)
{
    return (struct sf_scenario_point){.text = text,
                                      .note = note,
                                      .epoch = epoch,
                                      .is_epoch_any = epoch == SF_SCENARIO_ANY,
                                      .step = SF_SCENARIO_ANY,
                                      .lane = SF_SCENARIO_ANY};
}

static void a_point_is_reached_once_by_its_epoch_and_lane(void **state)
{
    (void)state;
    struct sf_scenario_point spec = spec_of("lane(1).crossed(3)", SF_NOTE_LANE_CROSSED, 3);
    struct sf_driver_point point;
    spec.lane = 1;
    sf_driver_point_init(&point, &spec, NULL, 0);
    CHECK(!reach(&point, SF_NOTE_LANE_CROSSED, 2, 0, 1));
    CHECK(!reach(&point, SF_NOTE_LANE_CROSSED, 3, 0, 0));
    CHECK(!reach(&point, SF_NOTE_LANE_EMITTED, 3, 0, 1));
    CHECK(reach(&point, SF_NOTE_LANE_CROSSED, 3, 0, 1));
    CHECK(!reach(&point, SF_NOTE_LANE_CROSSED, 3, 0, 1));
}

static void a_star_takes_the_occurrence_that_the_seed_drew(void **state)
{
    (void)state;
    struct sf_scenario_point spec = spec_of("txn(*).committed", SF_NOTE_TXN_COMMITTED, SF_SCENARIO_ANY);
    struct sf_driver_point point;
    sf_driver_point_init(&point, &spec, NULL, 2);
    CHECK(!reach(&point, SF_NOTE_TXN_COMMITTED, 1, 0, 0));
    CHECK(!reach(&point, SF_NOTE_TXN_COMMITTED, 2, 0, 0));
    CHECK(reach(&point, SF_NOTE_TXN_COMMITTED, 3, 0, 0));
}

static void a_frontier_is_emitted_when_every_lane_has_passed(void **state)
{
    (void)state;
    struct sf_scenario_point spec = spec_of("frontier(4).emitted", SF_NOTE_LANE_EMITTED, 4);
    struct sf_driver_point point;
    sf_driver_point_init(&point, &spec, NULL, 0);
    CHECK(!reach(&point, SF_NOTE_LANE_EMITTED, 4, 0, 0));
    sf_driver_point_restart(&point);
    CHECK(!reach(&point, SF_NOTE_LANE_EMITTED, 4, 0, 1));
    CHECK(reach(&point, SF_NOTE_LANE_EMITTED, 4, 0, 0));
}

/* ---------------------------------------------------------------- trail */

static void a_trail_names_the_first_step_that_differs(void **state)
{
    (void)state;
    struct sf_driver_trail trail;
    sf_driver_trail_init(&trail, sf_alloc_libc());
    for (uint64_t i = 0; i < 5000; i++) CHECK(!sf_driver_trail_step(&trail, i, 0));
    sf_driver_trail_rewind(&trail);
    for (uint64_t i = 0; i < 4999; i++) CHECK(!sf_driver_trail_step(&trail, i, 0));
    CHECK(sf_driver_trail_step(&trail, 17, 123));
    CHECK(!sf_driver_trail_step(&trail, 18, 124));
    CHECK_EQ(trail.difference_step, 5000);
    CHECK_EQ(trail.difference_at_us, 123);
    sf_driver_trail_deinit(&trail);
}

/* ---------------------------------------------------------------- swarms */

static const char swarm_yaml[] = "scenario: x\n"
                                 "topics: {t: {partitions: 2}}\n"
                                 "app: {application: {id: a}, stoatflow: {processing.lanes: 2},\n"
                                 "  sources: {s: {topic: t, value: json}},\n"
                                 "  streams: [{name: f, from: s, filter: \"true\"}], sinks: [{from: f, topic: o}]}\n"
                                 "input: [{from: +0s, until: +9s, every: 1s, to: t}]\n"
                                 "faults: [{swarm: default}]\n";

static void swarm_is_drawn_within_what_the_scenario_lists_and_begins_with_a_crash(void **state)
{
    (void)state;
    struct sf_text text;
    sf_text_init_growing(&text, sf_alloc_libc());
    struct sf_scenario *scenario =
        sf_driver_scenario_parse(swarm_yaml, strlen(swarm_yaml), "f", sf_alloc_libc(), &text);
    CHECK(scenario != NULL);
    uint32_t kinds[SF_SCENARIO_SWARM + 1] = {0};
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct sf_scenario_fault faults[SF_DRIVER_SWARM_FAULTS], again[SF_DRIVER_SWARM_FAULTS];
        uint32_t count = sf_driver_swarm_draw(scenario, 0, seed, 2, faults);
        CHECK(count >= 1 && count <= SF_DRIVER_SWARM_FAULTS);
        CHECK_EQ(faults[0].kind, SF_SCENARIO_CRASH);
        CHECK_EQ(sf_driver_swarm_draw(scenario, 0, seed, 2, again), count);
        for (uint32_t i = 0; i < count; i++) {
            kinds[faults[i].kind]++;
            CHECK_EQ(faults[i].kind, again[i].kind);
            CHECK_EQ(faults[i].at_ms, again[i].at_ms);
            CHECK(faults[i].at_ms >= 0 && faults[i].at_ms <= 15000);
            CHECK(!faults[i].is_at_point && faults[i].partition < 2 && faults[i].lane < 2 && faults[i].step < 1);
        }
    }
    for (uint32_t kind = 0; kind < SF_SCENARIO_SWARM; kind++) {
        bool is_drawn = kind != SF_SCENARIO_ADDED && kind != SF_SCENARIO_TRUNCATED &&
                        kind != SF_SCENARIO_LOG_START && kind != SF_SCENARIO_METADATA_LOST;
        CHECK_EQ(kinds[kind] > 0, is_drawn);
    }
    sf_driver_scenario_destroy(scenario);
    sf_text_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithm_and_power_agree_with_known_values),
        cmocka_unit_test(exponential_has_its_mean),
        cmocka_unit_test(zipf_gives_rank_one_half_of_rank_zero),
        cmocka_unit_test(sequence_and_uniform_stay_in_their_range),
        cmocka_unit_test(times_are_iso_and_sentinels_words),
        cmocka_unit_test(json_is_compared_by_members_not_by_spelling),
        cmocka_unit_test(a_point_is_reached_once_by_its_epoch_and_lane),
        cmocka_unit_test(a_star_takes_the_occurrence_that_the_seed_drew),
        cmocka_unit_test(a_frontier_is_emitted_when_every_lane_has_passed),
        cmocka_unit_test(a_trail_names_the_first_step_that_differs),
        cmocka_unit_test(swarm_is_drawn_within_what_the_scenario_lists_and_begins_with_a_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
