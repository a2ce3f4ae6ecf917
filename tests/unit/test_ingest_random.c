/*
 * The ingest task under random arrivals, budgets, blocked lanes, slow commits and aborts, against a model that keeps
 * every buffered record and looks at all heads for each one that goes: order (D2, D3), waits (D5), bounds (D1), cuts
 * without gap or overlap (B4, B12, X15), balances (M6), late arrivals and the watermark (G1, G3, X2).
 */
#include "tests/unit/ingest_world.h"

#define PARTS 3u
#define ROUNDS 60u
#define SEEDS 60u
#define BUFFER_MAX 6u
#define POLL_MAX 8u
#define BOUND 7

struct model_part {
    int64_t queue[WORLD_RECORDS]; /* offsets that are buffered and will go (not those to be skipped) */
    uint32_t first, count;
    int64_t end;                  /* behind the last one polled */
    int64_t fixed, committed;
    int64_t largest, largest_fixed, largest_committed;
    bool is_caught_up;
};

struct model {
    struct world *w;
    struct model_part parts[PARTS];
    int64_t watermark, stamp, stamp_committed;
    uint64_t epoch, epoch_committed; /* running; the cut */
    bool is_fixed;                   /* a barrier is under way */
    uint64_t dispatched, skipped, late;                 /* of the running epoch */
    uint64_t dispatched_fixed, skipped_fixed, total;    /* total: committed */
    uint64_t random;
};

struct reached {
    uint32_t aborts, lates, ties, full;
};

static struct model m;
static struct reached reached;

static uint32_t draw(uint32_t below)
{
    m.random = m.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(m.random >> 33) % below;
}

static int64_t ts_of(uint32_t i, int64_t offset)
{
    return m.w->logs[i].records[offset].ts_ms; /* offsets have no gaps */
}

static int64_t running(const struct model_part *p)
{
    return p->first < p->count ? p->queue[p->first] : p->end;
}

static int64_t candidate(void)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < PARTS; i++) {
        int64_t claim = m.parts[i].largest == UNSET ? UNSET : m.parts[i].largest - BOUND;
        if (claim < least) least = claim;
    }
    return least > m.watermark ? least : m.watermark;
}

static void saw_buffered(void *ctx, const struct sf_batch *batch)
{
    (void)ctx;
    uint32_t i = world_index(m.w, batch->tp);
    struct model_part *p = &m.parts[i];
    for (uint32_t k = 0; k < batch->count; k++) {
        CHECK_EQ(batch->records[k].offset, p->end);
        p->end++;
        if (batch->records[k].ts_ms != -1) p->queue[p->count++] = batch->records[k].offset;
    }
    CHECK(p->count - p->first <= BUFFER_MAX - 1 + POLL_MAX); /* D1 */
    reached.full += p->count - p->first >= BUFFER_MAX;
}

static void saw_lag(void *ctx, struct sf_tp tp, bool is_known, bool is_caught_up)
{
    (void)ctx;
    m.parts[world_index(m.w, tp)].is_caught_up = is_known && is_caught_up;
}

static void saw_skipped(void *ctx, uint64_t epoch, struct sf_tp tp, int64_t offset, enum sf_drop reason)
{
    (void)ctx;
    CHECK_EQ(epoch, m.epoch);
    CHECK_EQ(reason, SF_DROP_INVALID_TIMESTAMP);
    CHECK_EQ(ts_of(world_index(m.w, tp), offset), -1);
    m.skipped++;
}

/* D2 and D5, word for word, for each record of the batch. */
static void saw_dispatched(void *ctx, uint64_t epoch, const struct sf_ref *refs, const struct sf_tp *tps,
                           uint32_t count, int64_t watermark)
{
    (void)ctx;
    CHECK_EQ(epoch, m.epoch);
    CHECK_EQ(watermark, m.watermark);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t best = PARTS;
        for (uint32_t i = 0; i < PARTS; i++) {
            const struct model_part *p = &m.parts[i];
            if (p->first == p->count) {
                CHECK(p->is_caught_up); /* D5 */
                continue;
            }
            int64_t ts = ts_of(i, p->queue[p->first]);
            if (best == PARTS || ts < ts_of(best, m.parts[best].queue[m.parts[best].first])) best = i;
            else reached.ties += ts == ts_of(best, m.parts[best].queue[m.parts[best].first]);
        }
        struct model_part *p = &m.parts[best];
        CHECK_EQ(world_index(m.w, tps[k]), best);
        CHECK_EQ(refs[k].record->offset, p->queue[p->first]);
        CHECK_EQ(refs[k].ts_ms, ts_of(best, p->queue[p->first]));
        p->first++;
        if (refs[k].ts_ms > p->largest) p->largest = refs[k].ts_ms;
        m.dispatched++;
        m.late += refs[k].ts_ms < watermark;
    }
}

static void saw_watermark(void *ctx, int64_t value, enum sf_watermark_why why)
{
    (void)ctx;
    CHECK_EQ(value, candidate());
    CHECK(why != SF_WATERMARK_POLL || value > m.watermark);
    m.watermark = value;
}

static void saw_fixed(void *ctx, const struct sf_cut *cut)
{
    (void)ctx;
    CHECK(!m.is_fixed); /* B1 */
    CHECK_EQ(cut->epoch, m.epoch);
    CHECK(cut->offset_count > 0);
    CHECK_EQ(cut->stamp, m.watermark);
    CHECK_EQ(cut->sources[0].dispatched, m.dispatched);
    CHECK_EQ(cut->sources[0].skipped[SF_DROP_INVALID_TIMESTAMP], m.skipped);
    CHECK_EQ(cut->sources[0].late, m.late);
    uint32_t at = 0;
    for (uint32_t i = 0; i < PARTS; i++) {
        struct model_part *p = &m.parts[i];
        if (at < cut->offset_count && world_index(m.w, cut->offsets[at].tp) == i) {
            /* what is to be skipped next may not have been looked at yet */
            CHECK_EQ(cut->offsets[at].offset, running(p));
            at++;
        } else {
            CHECK_EQ(p->committed, running(p));
        }
        p->fixed = running(p);
        p->largest_fixed = p->largest;
    }
    CHECK_EQ(at, cut->offset_count);
    reached.lates += m.late > 0;
    m.stamp = cut->stamp;
    m.is_fixed = true;
    m.epoch++;
    m.dispatched_fixed = m.dispatched;
    m.skipped_fixed = m.skipped;
    m.dispatched = m.skipped = m.late = 0;
}

static void commit_it(void)
{
    if (!m.is_fixed) return;
    world_committed(m.w, m.epoch - 1);
    m.is_fixed = false;
    m.epoch_committed = m.epoch - 1;
    m.stamp_committed = m.stamp;
    m.total += m.dispatched_fixed + m.skipped_fixed;
    for (uint32_t i = 0; i < PARTS; i++) {
        m.parts[i].committed = m.parts[i].fixed;
        m.parts[i].largest_committed = m.parts[i].largest_fixed;
    }
}

static void abort_it(void)
{
    world_engine_says(m.w, (struct sf_msg){.kind = SF_MSG_STOP});
    m.w->generation++;
    m.epoch += draw(2); /* numbers go on; the cut is the same */
    m.is_fixed = false;
    world_engine_says(m.w, (struct sf_msg){.kind = SF_MSG_RESET,
                                           .epoch = m.epoch_committed,
                                           .value = (int64_t)m.epoch,
                                           .value2 = m.w->generation});
    for (uint32_t i = 0; i < PARTS; i++) {
        struct model_part *p = &m.parts[i];
        p->first = p->count = 0;
        p->end = p->fixed = p->committed;
        p->largest = p->largest_fixed = p->largest_committed;
        p->is_caught_up = false;
    }
    m.watermark = m.stamp = m.stamp_committed;
    m.dispatched = m.skipped = m.late = 0;
    reached.aborts++;
}

static void round_of(struct world *w, uint32_t round)
{
    world_at(w, w->ms + draw(40));
    for (uint32_t i = 0; i < PARTS; i++) {
        for (uint32_t n = draw(4); n > 0; n--) {
            int64_t offset = w->logs[i].count;
            world_put(w, i, offset, draw(12) == 0 ? -1 : (int64_t)(10 * round + draw(30)));
            w->logs[i].records[offset].key.data = (const uint8_t *)"abcdefgh" + draw(8);
        }
        if (draw(3) > 0) world_caught_up(w, i);
    }
    w->is_lane_blocked = draw(4) == 0;
    for (uint32_t n = draw(6); n > 0; n--) {
        w->budget = 1 + draw(6);
        world_step(w);
    }
    if (draw(4) == 0) world_fix(w);
    if (draw(3) == 0) commit_it();
    if (draw(12) == 0) abort_it();
    w->budget = 1 + draw(20);
    world_step(w);
    (void)world_history(w);
}

static void whatever_happens_order_cuts_and_counts_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        m = (struct model){.random = seed, .epoch = 1, .watermark = UNSET, .stamp = UNSET, .stamp_committed = UNSET};
        struct world *w = world_new(PARTS);
        m.w = w;
        for (uint32_t i = 0; i < PARTS; i++)
            m.parts[i].largest = m.parts[i].largest_fixed = m.parts[i].largest_committed = UNSET;
        w->is_quiet = true;
        w->is_commit_held = true;
        w->lane_count = 1 + (uint32_t)seed % WORLD_LANES;
        w->lane_blocks = 2;
        w->block_refs = 3;
        w->topology->sources[0].on_invalid = SF_INVALID_SKIP;
        w->topology->settings.max_out_of_orderness_ms = BOUND;
        w->topology->settings.preview_delay_ms = INT64_MAX / 2000;
        w->topology->settings.buffered_records_max = BUFFER_MAX;
        w->topology->settings.poll_records_max = POLL_MAX;
        world_start(w);
        w->observer = (struct sf_observer){.ctx = w,
                                           .buffered = saw_buffered,
                                           .lag = saw_lag,
                                           .dispatched = saw_dispatched,
                                           .skipped = saw_skipped,
                                           .watermark = saw_watermark,
                                           .fixed = saw_fixed};
        for (uint32_t round = 0; round < ROUNDS; round++) round_of(w, round);
        w->is_lane_blocked = false;
        w->budget = 1024;
        for (uint32_t i = 0; i < PARTS; i++) world_caught_up(w, i);
        for (uint32_t k = 0; k < 2 * ROUNDS && (k < 2 || m.is_fixed); k++) { /* all that was asked for, and one more */
            world_run(w);
            if (k == 0) world_fix(w);
            world_run(w);
            commit_it();
            world_run(w);
        }
        uint64_t records = 0;
        for (uint32_t i = 0; i < PARTS; i++) {
            CHECK_EQ(m.parts[i].committed, w->logs[i].count); /* X15 */
            records += w->logs[i].count;
        }
        CHECK_EQ(m.total, records); /* M6 */
        CHECK_EQ(sf_ingest_counts(w->ingest)[0].dispatched +
                     sf_ingest_counts(w->ingest)[0].skipped[SF_DROP_INVALID_TIMESTAMP],
                 records);
        CHECK_EQ(w->batches_out, 0);
        CHECK(sf_ingest_is_settled(w->ingest));
        world_destroy(w);
    }
    CHECK(reached.aborts > 20);
    CHECK(reached.lates > 20);
    CHECK(reached.ties > 20);
    CHECK(reached.full > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whatever_happens_order_cuts_and_counts_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
