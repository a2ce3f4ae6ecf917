/* The tracker: what counts, who is idle, what is previewed (G, I, P), by example and against a model that walks over
 * all partitions and counts silence up instead of comparing deadlines. */
#include "tests/check.h"

#include "core/time/tracker.h"

#define UNSET SF_TIME_UNSET
#define BASE_US INT64_C(5000000)

static struct sf_mono_ts at(int64_t ms)
{
    return (struct sf_mono_ts){BASE_US + ms * 1000};
}

static struct sf_generator bounded(int64_t bound_ms, int64_t time_max)
{
    return sf_generator_make(SF_GENERATOR_BOUNDED, bound_ms, time_max);
}

/* Partition i: a record of time ts comes and goes. */
static void deliver(struct sf_tracker *t, uint32_t i, int64_t ts, struct sf_mono_ts now)
{
    if (!t->parts[i].is_waiting) sf_tracker_reach(t, i, ts, now);
    sf_generator_advance(&t->parts[i].generator, ts);
    sf_tracker_serve(t, i, false, 0, now);
}

static void tick(struct sf_tracker *t, int64_t ms, bool is_running)
{
    sf_tracker_run(t, at(ms), is_running);
    sf_tracker_judge(t, at(ms));
}

static void partition_that_is_gone_leaves_the_minimum_case11(void **state)
{
    (void)state;
    struct sf_tracker t;
    sf_tracker_init(&t, sf_alloc_libc(), 2, 1000000);
    tick(&t, 0, true);
    for (uint32_t i = 0; i < 2; i++) sf_tracker_join(&t, i, bounded(0, UNSET), 0, at(0));
    deliver(&t, 0, 100, at(0));
    CHECK_EQ(sf_tracker_candidate(&t, UNSET), UNSET); /* 1 counts from its assignment (G4) */
    deliver(&t, 1, 10, at(0));
    CHECK_EQ(sf_tracker_candidate(&t, UNSET), 10);
    sf_tracker_leave(&t, 1);
    CHECK_EQ(sf_tracker_candidate(&t, 10), 100);
    sf_tracker_leave(&t, 0);
    CHECK_EQ(sf_tracker_candidate(&t, 100), 100);
    CHECK_EQ(sf_tracker_holder(&t), SF_HEAP_OUT);
    sf_tracker_join(&t, 1, bounded(0, 10), 0, at(0)); /* comes back behind: nothing falls */
    CHECK_EQ(sf_tracker_candidate(&t, 100), 100);
    CHECK_EQ(sf_tracker_holder(&t), 1);
    sf_tracker_deinit(&t);
}

static void idle_is_strict_and_ends_with_the_next_record_i1_i3(void **state)
{
    (void)state;
    struct sf_tracker t;
    sf_tracker_init(&t, sf_alloc_libc(), 2, 1000000);
    tick(&t, 0, true);
    sf_tracker_join(&t, 0, bounded(0, 50), 100000, at(0));
    sf_tracker_join(&t, 1, bounded(0, 90), 0, at(0));
    tick(&t, 100, true);
    CHECK(!t.parts[0].is_idle);
    CHECK_EQ(sf_tracker_wake_at(&t).us, at(100).us + 1);
    tick(&t, 101, true);
    CHECK(t.parts[0].is_idle);
    CHECK_EQ(t.changed_count, 1);
    CHECK_EQ(sf_tracker_candidate(&t, 50), 90);
    sf_tracker_reach(&t, 0, 60, at(101));
    CHECK(!t.parts[0].is_idle);
    CHECK_EQ(sf_tracker_candidate(&t, 90), 90); /* neither drops nor advances (I3) */
    sf_tracker_deinit(&t);
}

static void empty_partition_with_known_lag_is_not_idle_i7(void **state)
{
    (void)state;
    struct sf_tracker t;
    sf_tracker_init(&t, sf_alloc_libc(), 1, 1000000);
    tick(&t, 0, true);
    sf_tracker_join(&t, 0, bounded(0, 50), 100000, at(0));
    sf_tracker_lag(&t, 0, true);
    tick(&t, 500, true);
    CHECK(!t.parts[0].is_idle);
    sf_tracker_lag(&t, 0, false);
    tick(&t, 500, true);
    CHECK(t.parts[0].is_idle); /* its clock ran all the time */
    sf_tracker_lag(&t, 0, true);
    CHECK(!t.parts[0].is_idle);
    sf_tracker_deinit(&t);
}

static void records_that_wait_are_silent_on_running_time_only_i7(void **state)
{
    (void)state;
    struct sf_tracker t;
    sf_tracker_init(&t, sf_alloc_libc(), 1, 1000000);
    tick(&t, 0, true);
    sf_tracker_join(&t, 0, bounded(0, 50), 100000, at(0));
    sf_tracker_reach(&t, 0, 60, at(0));
    tick(&t, 5000, false); /* nothing could be dispatched */
    CHECK(!t.parts[0].is_idle);
    tick(&t, 5100, true); /* others were */
    CHECK(!t.parts[0].is_idle);
    tick(&t, 5101, true);
    CHECK(t.parts[0].is_idle);
    sf_tracker_deinit(&t);
}

static void preview_counts_after_its_delay_until_the_head_goes_p2(void **state)
{
    (void)state;
    struct sf_tracker t;
    sf_tracker_init(&t, sf_alloc_libc(), 3, 1000000);
    tick(&t, 0, true);
    sf_tracker_join(&t, 0, bounded(10, 100), 0, at(0));
    sf_tracker_join(&t, 1, bounded(0, 120), 0, at(0));
    sf_tracker_join(&t, 2, sf_generator_make(SF_GENERATOR_NONE, 0, UNSET), 0, at(0));
    sf_tracker_leave(&t, 2);
    sf_tracker_reach(&t, 0, 500, at(0));
    sf_tracker_hold(&t, 1, at(0), (struct sf_wall_ts){7}); /* partition 1 went first */
    CHECK(t.parts[0].is_held);
    CHECK_EQ(t.parts[0].held_wall_ms, 7);
    CHECK_EQ(sf_tracker_wake_at(&t).us, at(1000).us);
    tick(&t, 999, true);
    CHECK_EQ(sf_tracker_contribution(&t, 0), 90);
    tick(&t, 1000, false);
    CHECK_EQ(sf_tracker_contribution(&t, 0), 490);
    CHECK_EQ(sf_generator_value(&t.parts[0].generator), 90); /* its own still describes processed records only */
    CHECK_EQ(sf_tracker_candidate(&t, 90), 120);
    CHECK_EQ(t.previewing_count, 1);
    sf_generator_advance(&t.parts[0].generator, 500);
    sf_tracker_serve(&t, 0, true, 505, at(1000));
    sf_tracker_hold(&t, 0, at(1000), (struct sf_wall_ts){8});
    CHECK(!t.parts[0].is_held); /* nothing was served before its new head */
    CHECK_EQ(t.previewing_count, 0);
    sf_tracker_hold(&t, 1, at(1000), (struct sf_wall_ts){8});
    CHECK(t.parts[0].is_held);
    sf_tracker_deinit(&t);
}

/* ------------------------------------------------------------------ the model */

#define PARTS 7u
#define DELAY_US 300000

struct model_part {
    bool is_assigned, is_waiting, is_lagging, is_idle, is_held;
    enum sf_generator_kind kind;
    int64_t bound, timeout_us, silence_us, held_us;
    int64_t largest, head;
};

struct model {
    struct model_part parts[PARTS];
    int64_t global;
};

static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*random >> 33) % below;
}

static int64_t model_claim(const struct model_part *p, bool is_with_head)
{
    if (p->kind == SF_GENERATOR_NONE) return UNSET;
    int64_t largest = is_with_head && (p->largest == UNSET || p->head > p->largest) ? p->head : p->largest;
    if (largest == UNSET) return UNSET;
    return largest - (p->kind == SF_GENERATOR_MONOTONOUS ? 1 : p->bound);
}

static int64_t model_contribution(const struct model_part *p)
{
    return model_claim(p, p->is_waiting && p->is_held && p->held_us >= DELAY_US);
}

static void model_pass(struct model *m, int64_t us, bool is_running)
{
    for (uint32_t i = 0; i < PARTS; i++) {
        struct model_part *p = &m->parts[i];
        if (!p->is_waiting || is_running) p->silence_us += us;
        if (p->is_held) p->held_us += us;
    }
}

static void model_serve(struct model *m, uint32_t i, bool has_next, int64_t next)
{
    struct model_part *p = &m->parts[i];
    if (p->head > p->largest) p->largest = p->head;
    p->is_waiting = has_next;
    p->head = next;
    p->is_held = false;
    p->silence_us = 0;
    p->is_idle = false;
    for (uint32_t k = 0; k < PARTS; k++) { /* P1, word for word */
        struct model_part *other = &m->parts[k];
        if (k == i || !other->is_waiting || other->is_held) continue;
        other->is_held = true;
        other->held_us = 0;
    }
}

static void model_judge(struct model *m)
{
    int64_t least = INT64_MAX;
    bool is_any = false;
    for (uint32_t i = 0; i < PARTS; i++) {
        struct model_part *p = &m->parts[i];
        if (!p->is_assigned) continue;
        bool is_lag = !p->is_waiting && p->is_lagging;
        if (is_lag) p->is_idle = false;
        else if (p->timeout_us > 0 && p->silence_us > p->timeout_us) p->is_idle = true;
        if (p->is_idle) continue;
        is_any = true;
        if (model_contribution(p) < least) least = model_contribution(p);
    }
    if (is_any && least > m->global) m->global = least;
}

static void model_join(struct model *m, struct sf_tracker *t, uint32_t i, uint64_t *random, struct sf_mono_ts now)
{
    static const int64_t timeouts[] = {0, 100000, 250000, 1000000};
    struct model_part *p = &m->parts[i];
    *p = (struct model_part){.is_assigned = true,
                             .kind = (enum sf_generator_kind)draw(random, i == 0 ? 3 : 2),
                             .bound = draw(random, 40),
                             .timeout_us = timeouts[draw(random, 4)],
                             .largest = draw(random, 2) ? UNSET : (int64_t)draw(random, 100)};
    sf_tracker_join(t, i, sf_generator_make(p->kind, p->bound, p->largest), p->timeout_us, now);
}

/* Up to a few records, smallest head first as D2 has it; the tracker is told as ingest tells it: once per partition,
 * then who went last. */
static void dispatch(struct model *m, struct sf_tracker *t, uint64_t *random, int64_t ms, struct sf_mono_ts now)
{
    bool is_touched[PARTS] = {false};
    uint32_t last = PARTS;
    for (uint32_t n = draw(random, 6); n > 0; n--) {
        uint32_t first = PARTS;
        for (uint32_t i = 0; i < PARTS; i++) {
            const struct model_part *p = &m->parts[i];
            if (p->is_waiting && (first == PARTS || p->head < m->parts[first].head)) first = i;
        }
        if (first == PARTS) break;
        sf_generator_advance(&t->parts[first].generator, m->parts[first].head);
        model_serve(m, first, draw(random, 3) > 0, ms + draw(random, 200));
        is_touched[first] = true;
        last = first;
    }
    for (uint32_t i = 0; i < PARTS; i++)
        if (is_touched[i]) sf_tracker_serve(t, i, m->parts[i].is_waiting, m->parts[i].head, now);
    if (last != PARTS) sf_tracker_hold(t, last, now, (struct sf_wall_ts){0});
}

static void world_moves(struct model *m, struct sf_tracker *t, uint64_t *random, int64_t ms, struct sf_mono_ts now)
{
    for (uint32_t i = 0; i < PARTS; i++) {
        struct model_part *p = &m->parts[i];
        uint32_t what = draw(random, 20);
        if (!p->is_assigned) {
            if (what == 0) model_join(m, t, i, random, now);
        } else if (what < 4 && !p->is_waiting) {
            p->is_waiting = true;
            p->head = ms + draw(random, 200);
            p->silence_us = 0;
            p->is_idle = false;
            sf_tracker_reach(t, i, p->head, now);
        } else if (what < 8) {
            p->is_lagging = draw(random, 3) == 0;
            if (p->is_lagging && !p->is_waiting) p->is_idle = false;
            sf_tracker_lag(t, i, p->is_lagging);
        } else if (what == 8 && draw(random, 10) == 0) {
            *p = (struct model_part){0};
            sf_tracker_leave(t, i);
        } else if (what == 9 && draw(random, 10) == 0) { /* an abort takes it back a little */
            bool is_anew = p->is_waiting || draw(random, 2) == 0;
            if (p->largest != UNSET) p->largest -= draw(random, 30);
            p->is_waiting = p->is_held = p->is_lagging = false;
            if (is_anew) {
                p->silence_us = 0;
                p->is_idle = false;
            }
            sf_tracker_rewind(t, i, p->largest, is_anew, now);
        }
    }
}

static void check_against(const struct model *m, const struct sf_tracker *t, int64_t global)
{
    uint32_t previews = 0;
    CHECK_EQ(global, m->global);
    for (uint32_t i = 0; i < PARTS; i++) {
        const struct model_part *p = &m->parts[i];
        if (!p->is_assigned) continue;
        CHECK_EQ(t->parts[i].is_idle, p->is_idle);
        CHECK_EQ(t->parts[i].is_held, p->is_held && p->is_waiting);
        CHECK_EQ(sf_tracker_contribution(t, i), model_contribution(p));
        previews += p->kind != SF_GENERATOR_NONE && p->is_waiting && p->is_held && p->held_us >= DELAY_US;
    }
    CHECK_EQ(t->previewing_count, previews);
}

static void minimum_is_what_a_walk_over_all_finds_x2(void **state)
{
    (void)state;
    uint32_t idles = 0, previews = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        uint64_t random = seed;
        struct model m = {.global = UNSET};
        struct sf_tracker t;
        int64_t global = UNSET, ms = 0;
        sf_tracker_init(&t, sf_alloc_libc(), PARTS, DELAY_US);
        sf_tracker_run(&t, at(0), true);
        for (uint32_t i = 0; i < PARTS; i++) model_join(&m, &t, i, &random, at(0));
        for (uint32_t step = 0; step < 1000; step++) {
            int64_t passed = draw(&random, 4) == 0 ? draw(&random, 400) : draw(&random, 30);
            bool is_running = draw(&random, 3) > 0;
            ms += passed;
            model_pass(&m, passed * 1000, is_running);
            sf_tracker_run(&t, at(ms), is_running);
            world_moves(&m, &t, &random, ms, at(ms));
            if (draw(&random, 3) > 0) dispatch(&m, &t, &random, ms, at(ms));
            model_judge(&m);
            sf_tracker_judge(&t, at(ms));
            global = sf_tracker_candidate(&t, global);
            check_against(&m, &t, global);
            idles += t.changed_count;
            previews += t.previewing_count;
            while (t.changed_count > 0) t.parts[t.changed[--t.changed_count]].is_changed = false;
        }
        sf_tracker_deinit(&t);
    }
    CHECK(idles > 1000); /* the walk went through what it is about */
    CHECK(previews > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partition_that_is_gone_leaves_the_minimum_case11),
        cmocka_unit_test(idle_is_strict_and_ends_with_the_next_record_i1_i3),
        cmocka_unit_test(empty_partition_with_known_lag_is_not_idle_i7),
        cmocka_unit_test(records_that_wait_are_silent_on_running_time_only_i7),
        cmocka_unit_test(preview_counts_after_its_delay_until_the_head_goes_p2),
        cmocka_unit_test(minimum_is_what_a_walk_over_all_finds_x2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
