/* Plans of several shapes: cuts (L1), order, routes, hops and lag (F8), D7. The shapes are written as text:
 * `k<s` is step k reading s; a name's first letter is its kind: f filter, k key-by, m merge, a aggregate on close,
 * u aggregate on update; sources are s, t; `!x` is a sink reading x. */
#include "tests/check.h"

#include "core/text.h"
#include "core/topo/plan.h"

struct shape {
    struct sf_topology *topology;
    struct sf_plan *plan;
    char text[1024];
};

static bool is_name(const char *name, const char *text, size_t length)
{
    return strncmp(name, text, length) == 0 && name[length] == '\0';
}

static bool find_input(const struct sf_topology *topology, const char *name, size_t length, struct sf_input *input_out)
{
    for (uint32_t i = 0; i < topology->source_count; i++) {
        if (!is_name(topology->sources[i].name, name, length)) continue;
        *input_out = (struct sf_input){SF_INPUT_SOURCE, i};
        return true;
    }
    for (uint32_t i = 0; i < topology->step_count; i++) {
        if (!is_name(topology->steps[i].name, name, length)) continue;
        *input_out = (struct sf_input){SF_INPUT_STEP, i};
        return true;
    }
    return false;
}

static enum sf_step_kind kind_of(char letter)
{
    if (letter == 'f') return SF_STEP_FILTER;
    if (letter == 'k') return SF_STEP_KEY_BY;
    return letter == 'm' ? SF_STEP_MERGE : SF_STEP_AGGREGATE;
}

/* Sources s and t; the steps' names first, so that they may stand in any order. */
static void build(struct shape *shape, const char *text)
{
    struct sf_topology *topology = sf_topology_new(sf_alloc_libc());
    shape->topology = topology;
    topology->sources = sf_topology_take(topology, 2 * sizeof *topology->sources);
    topology->steps = sf_topology_take(topology, 32 * sizeof *topology->steps);
    topology->sinks = sf_topology_take(topology, 32 * sizeof *topology->sinks);
    topology->sources[0].name = "s";
    topology->sources[1].name = "t";
    topology->source_count = strstr(text, "<t") != NULL || strstr(text, ",t") != NULL ? 2 : 1;
    for (int round = 0; round < 2; round++) {
        uint32_t index = 0;
        for (const char *at = text; *at != '\0';) {
            size_t length = strcspn(at, " ");
            if (at[0] == '!' && round == 1) {
                CHECK(find_input(topology, at + 1, length - 1, &topology->sinks[topology->sink_count++].from));
            } else if (at[0] != '!') {
                struct sf_step_spec *step = &topology->steps[index++];
                size_t name_length = strcspn(at, "<");
                if (round == 0) {
                    step->name = sf_topology_text(topology, at, name_length);
                    step->kind = kind_of(at[0]);
                    step->emit = at[0] == 'a' ? SF_EMIT_ON_CLOSE : SF_EMIT_ON_UPDATE;
                    step->window = (struct sf_window_spec){.size_ms = 10, .grace_ms = 0};
                    topology->step_count = index;
                } else {
                    for (const char *input = at + name_length + 1; input < at + length;) {
                        size_t input_length = strcspn(input, ", ");
                        CHECK(find_input(topology, input, input_length, &step->inputs[step->input_count++]));
                        input += input_length + (input[input_length] == ',' ? 1 : 0);
                    }
                }
            }
            at += length + (at[length] == ' ' ? 1 : 0);
        }
    }
}

static void add_routes(struct sf_text *text, const struct sf_topology *topology, const struct sf_route *routes,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sf_text_add(text, routes[i].kind == SF_ROUTE_HOP ? " ~" : " ");
        if (routes[i].kind == SF_ROUTE_SINK) {
            sf_text_add(text, "!");
            sf_text_add_uint(text, routes[i].target);
        } else {
            sf_text_add(text, topology->steps[routes[i].target].name);
        }
    }
}

/* One sub-topology a line: its sources, then its steps with their routes; `<` and `>` its neighbours. */
static const char *describe(struct shape *shape)
{
    const struct sf_topology *topology = shape->topology;
    const struct sf_plan *plan = shape->plan = sf_plan_new(shape->topology);
    struct sf_text text;
    sf_text_init(&text, shape->text, sizeof shape->text);
    for (uint32_t i = 0; i < plan->sub_count; i++) {
        const struct sf_plan_sub *sub = &plan->subs[i];
        for (uint32_t k = 0; k < sub->source_count; k++) {
            const struct sf_plan_source *source = &plan->sources[sub->sources[k]];
            CHECK_EQ(source->sub, i);
            sf_text_add(&text, topology->sources[sub->sources[k]].name);
            sf_text_add(&text, ":");
            add_routes(&text, topology, source->routes, source->route_count);
            sf_text_add(&text, "; ");
        }
        for (uint32_t k = 0; k < sub->step_count; k++) {
            const struct sf_plan_step *step = &plan->steps[sub->steps[k]];
            CHECK_EQ(step->sub, i);
            CHECK_EQ(step->rank, k);
            CHECK_EQ(step->step, sub->steps[k]);
            sf_text_add(&text, topology->steps[sub->steps[k]].name);
            sf_text_add(&text, ":");
            add_routes(&text, topology, step->routes, step->route_count);
            sf_text_add(&text, "; ");
        }
        for (uint32_t k = 0; k < sub->upstream_count; k++) {
            CHECK(sub->upstream[k] < i);
            sf_text_add(&text, "<");
            sf_text_add_uint(&text, sub->upstream[k]);
        }
        for (uint32_t k = 0; k < sub->downstream_count; k++) {
            sf_text_add(&text, ">");
            sf_text_add_uint(&text, sub->downstream[k]);
        }
        sf_text_add(&text, "\n");
    }
    return shape->text;
}

static void check_shape(const char *steps, const char *expected)
{
    struct shape shape;
    build(&shape, steps);
    CHECK_STR(describe(&shape), expected);
    sf_topology_destroy(shape.topology);
}

static void a_chain_without_key_change_is_one_sub_topology(void **state)
{
    (void)state;
    check_shape("f1<s a1<f1 !a1", "s: f1; f1: a1; a1: !0; \n");
}

static void a_key_change_before_a_keyed_step_cuts_l1(void **state)
{
    (void)state;
    check_shape("f1<s k1<f1 a1<k1 !a1", "s: f1; f1: k1; k1: ~a1; >1\na1: !0; <0\n");
}

static void a_key_change_that_no_keyed_step_follows_does_not_cut(void **state)
{
    (void)state;
    check_shape("k1<s f1<k1 !f1", "s: k1; k1: f1; f1: !0; \n");
}

static void the_cut_lies_right_before_the_keyed_step(void **state)
{
    (void)state;
    check_shape("k1<s f1<k1 a1<f1 !a1 !f1", "s: k1; k1: f1; f1: ~a1 !1; >1\na1: !0; <0\n");
}

static void a_second_key_change_before_the_keyed_step_does_not_cut_twice(void **state)
{
    (void)state;
    check_shape("k1<s k2<k1 a1<k2", "s: k1; k1: k2; k2: ~a1; >1\na1:; <0\n");
}

static void steps_may_stand_in_any_order_and_ties_go_by_the_file(void **state)
{
    (void)state;
    check_shape("a1<m1 m1<f2,f1 f2<s f1<s !a1 !s", "s: f2 f1 !1; f2: m1; f1: m1; m1: a1; a1: !0; \n");
}

static void a_diamond_joins_its_arms_in_one_sub_topology(void **state)
{
    (void)state;
    check_shape("f1<s f2<s m1<f1,f2 a1<m1", "s: f1 f2; f1: m1; f2: m1; m1: a1; a1:; \n");
}

static void a_merge_of_a_source_and_a_changed_key_hops_behind_the_merge(void **state)
{
    (void)state;
    check_shape("k1<s m1<s,k1 a1<m1", "s: k1 m1; k1: m1; m1: ~a1; >1\na1:; <0\n");
}

static void two_sources_that_meet_are_one_sub_topology(void **state)
{
    (void)state;
    check_shape("m1<s,t a1<m1", "s: m1; t: m1; m1: a1; a1:; \n");
}

static void two_sources_that_never_meet_are_two(void **state)
{
    (void)state;
    check_shape("f1<s f2<t !f1 !f2", "s: f1; f1: !0; \nt: f2; f2: !1; \n");
}

static void one_key_change_feeds_its_aggregations_in_one_sub_topology(void **state)
{
    (void)state;
    check_shape("k1<s a1<k1 a2<k1 !a1 !a2", "s: k1; k1: ~a1 ~a2; >1\na1: !0; a2: !1; <0\n");
}

static void cuts_chain_and_upstream_comes_first(void **state)
{
    (void)state;
    check_shape("u2<k2 k2<u1 u1<k1 k1<s f1<k2 !u2",
                "s: k1; k1: ~u1; >1\nu1: k2; k2: ~u2 f1; f1:; <0>2\nu2: !0; <1\n");
}

static void a_hop_into_a_merge_puts_keys_right_once(void **state)
{
    (void)state;
    check_shape("k1<s u1<k1 f1<k1 m1<u1,f1 u2<m1", "s: k1; k1: ~u1 f1; f1: ~m1; >1\nu1: m1; m1: u2; u2:; <0\n");
}

static void a_source_without_a_reader_has_a_sub_topology_of_its_own(void **state)
{
    (void)state;
    struct shape shape;
    build(&shape, "f1<t");
    CHECK_STR(describe(&shape), "s:; \nt: f1; f1:; \n");
    sf_topology_destroy(shape.topology);
}

/* ---- F8 ---- */

static const struct sf_plan_step *step_named(const struct shape *shape, const char *name)
{
    uint32_t i = 0;
    while (i < shape->topology->step_count && strcmp(shape->topology->steps[i].name, name) != 0) i++;
    if (i == shape->topology->step_count) fail_msg("no step %s", name);
    return &shape->plan->steps[i];
}

static void set_window(struct shape *shape, const char *name, int64_t size_ms, int64_t grace_ms)
{
    for (uint32_t i = 0; i < shape->topology->step_count; i++)
        if (strcmp(shape->topology->steps[i].name, name) == 0)
            shape->topology->steps[i].window = (struct sf_window_spec){.size_ms = size_ms, .grace_ms = grace_ms};
}

static void hops_and_lag_are_zero_behind_nothing_that_closes_f8(void **state)
{
    (void)state;
    struct shape shape;
    build(&shape, "f1<s k1<f1 u1<k1 k2<u1 a1<k2");
    describe(&shape);
    CHECK_EQ(step_named(&shape, "a1")->hops, 0);
    CHECK_EQ(step_named(&shape, "a1")->delta_ms, 0);
    CHECK_EQ(shape.plan->hops_max, 0);
    sf_topology_destroy(shape.topology);
}

static void tumbling_10_grace_5_into_tumbling_4_lags_14_f8(void **state)
{
    (void)state;
    struct shape shape;
    build(&shape, "a1<s k1<a1 a2<k1");
    set_window(&shape, "a1", 10, 5);
    set_window(&shape, "a2", 4, 0);
    describe(&shape);
    CHECK_EQ(step_named(&shape, "a1")->hops, 0);
    CHECK_EQ(step_named(&shape, "k1")->hops, 1);
    CHECK_EQ(step_named(&shape, "a2")->hops, 1);
    CHECK_EQ(step_named(&shape, "a2")->delta_ms, 14);
    CHECK_EQ(shape.plan->hops_max, 1);
    sf_topology_destroy(shape.topology);
}

static void a_window_that_contains_the_upstream_one_lags_by_the_graces_only_f8(void **state)
{
    (void)state;
    struct shape shape;
    build(&shape, "a1<s a2<a1 a3<a1");
    set_window(&shape, "a1", 10000, 500);
    set_window(&shape, "a2", 60000, 200);
    set_window(&shape, "a3", 60000, 700);
    describe(&shape);
    CHECK_EQ(step_named(&shape, "a2")->delta_ms, 300);
    CHECK_EQ(step_named(&shape, "a3")->delta_ms, 0);
    sf_topology_destroy(shape.topology);
}

static void the_larger_of_two_paths_counts_and_terms_add_up_f8(void **state)
{
    (void)state;
    struct shape shape;
    build(&shape, "a1<s a2<a1 f1<a2 m1<f1,a1 a3<m1");
    set_window(&shape, "a1", 10, 5); /* into a2: 15 - 1 = 14; into a3: 15 - 2 = 13 */
    set_window(&shape, "a2", 4, 0);  /* into a3: 4 - 2 = 2, 14 + 2 = 16 */
    set_window(&shape, "a3", 3, 1);
    describe(&shape);
    CHECK_EQ(step_named(&shape, "a2")->delta_ms, 14);
    CHECK_EQ(step_named(&shape, "a3")->hops, 2);
    CHECK_EQ(step_named(&shape, "a3")->delta_ms, 16);
    CHECK_EQ(shape.plan->hops_max, 2);
    sf_topology_destroy(shape.topology);
    build(&shape, "a1<s a2<a1 m1<a2,a1 a3<m1");
    set_window(&shape, "a1", 10, 5);
    set_window(&shape, "a2", 4, 0);
    set_window(&shape, "a3", 3, 1);
    describe(&shape);
    CHECK_EQ(step_named(&shape, "a3")->delta_ms, 16);
    sf_topology_destroy(shape.topology);
}

/* ---- D7 ---- */

static void event_time_is_tracked_for_a_strategy_or_a_window_d7(void **state)
{
    (void)state;
    struct shape plain, windowed, given;
    build(&plain, "f1<s");
    describe(&plain);
    CHECK(!plain.plan->is_event_time);
    build(&windowed, "u1<s");
    describe(&windowed);
    CHECK(windowed.plan->is_event_time);
    build(&given, "f1<s");
    given.topology->sources[0].watermark.is_given = true;
    given.topology->sources[0].watermark.strategy = SF_STRATEGY_NONE;
    describe(&given);
    CHECK(given.plan->is_event_time);
    sf_topology_destroy(plain.topology);
    sf_topology_destroy(windowed.topology);
    sf_topology_destroy(given.topology);
}

/* ---- headers ---- */

static bool has_headers_out(const char *steps)
{
    struct shape shape;
    build(&shape, steps);
    describe(&shape);
    bool answer = shape.plan->has_headers_out;
    sf_topology_destroy(shape.topology);
    return answer;
}

static void headers_are_wanted_only_where_they_reach_a_sink(void **state)
{
    (void)state;
    CHECK(!has_headers_out("a1<s !a1"));
    CHECK(!has_headers_out("f1<s k1<f1 a1<k1 f2<a1 !f2"));
    CHECK(!has_headers_out("a1<s f1<s !a1"));
    CHECK(has_headers_out("!s"));
    CHECK(has_headers_out("f1<s !f1"));
    CHECK(has_headers_out("a1<s f1<t m1<a1,f1 !m1"));
    CHECK(has_headers_out("!f2 f2<k1 k1<s a1<k1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_without_key_change_is_one_sub_topology),
        cmocka_unit_test(a_key_change_before_a_keyed_step_cuts_l1),
        cmocka_unit_test(a_key_change_that_no_keyed_step_follows_does_not_cut),
        cmocka_unit_test(the_cut_lies_right_before_the_keyed_step),
        cmocka_unit_test(a_second_key_change_before_the_keyed_step_does_not_cut_twice),
        cmocka_unit_test(steps_may_stand_in_any_order_and_ties_go_by_the_file),
        cmocka_unit_test(a_diamond_joins_its_arms_in_one_sub_topology),
        cmocka_unit_test(a_merge_of_a_source_and_a_changed_key_hops_behind_the_merge),
        cmocka_unit_test(two_sources_that_meet_are_one_sub_topology),
        cmocka_unit_test(two_sources_that_never_meet_are_two),
        cmocka_unit_test(one_key_change_feeds_its_aggregations_in_one_sub_topology),
        cmocka_unit_test(cuts_chain_and_upstream_comes_first),
        cmocka_unit_test(a_hop_into_a_merge_puts_keys_right_once),
        cmocka_unit_test(a_source_without_a_reader_has_a_sub_topology_of_its_own),
        cmocka_unit_test(hops_and_lag_are_zero_behind_nothing_that_closes_f8),
        cmocka_unit_test(tumbling_10_grace_5_into_tumbling_4_lags_14_f8),
        cmocka_unit_test(a_window_that_contains_the_upstream_one_lags_by_the_graces_only_f8),
        cmocka_unit_test(the_larger_of_two_paths_counts_and_terms_add_up_f8),
        cmocka_unit_test(event_time_is_tracked_for_a_strategy_or_a_window_d7),
        cmocka_unit_test(headers_are_wanted_only_where_they_reach_a_sink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
