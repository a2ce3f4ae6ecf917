/*
 * What an operator sees (M1, M6) is what the oracle has worked out: the view of each partition and of the watermark
 * at every recompute, and the counters of sources at every barrier (X15).
 */
#include "core/run/engine.h"
#include "driver/oracle_time.h"

struct look {
    struct sfi_oracle_instance *instance;
    const struct sf_ingest *ingest;
    bool is_judged;     /* ingest had everything, and has judged */
    bool has_one;       /* somebody counts */
    int64_t least;
    uint32_t previewing;
};

static struct sf_wall_ts wall_of(const struct sfi_oracle_instance *instance)
{
    return (struct sf_wall_ts){sf_sim_world_wall_ms(instance->oracle->world.world)};
}

static void same(const struct look *look, uint32_t p, const char *what, int64_t expected, int64_t actual)
{
    struct sfi_oracle *oracle = look->instance->oracle;
    if (expected != actual) sfi_oracle_say_partition(oracle, "X15", &oracle->partitions[p], what, expected, actual);
}

/* B13: past control records where nothing waits. */
static void check_place(const struct look *look, uint32_t p, const struct sf_partition_view *view)
{
    const struct sfi_oracle_live *live = &look->instance->live[p];
    same(look, p, "/watermarks: buffered", live->waiting, view->buffered);
    if (live->waiting > 0) {
        same(look, p, "/watermarks: next offset", live->first->copies[live->first->at].offset, view->next_offset);
    } else if (view->next_offset < live->known) {
        same(look, p, "/watermarks: next offset, at least", live->known, view->next_offset);
    }
    if (live->is_leaving || live->is_pause_open) return;
    if (view->is_paused != live->is_paused)
        sfi_oracle_say_partition(look->instance->oracle, "X4", &look->instance->oracle->partitions[p],
                                 "paused from the threshold on, down to a half of it (D1)", live->is_paused,
                                 view->is_paused);
}

static void check_time(struct look *look, uint32_t p, const struct sf_partition_view *view)
{
    const struct sfi_oracle_live *live = &look->instance->live[p];
    struct sfi_oracle_claim claim = sfi_oracle_time_claim(look->instance, p, look->is_judged);
    same(look, p, "/watermarks: watermark", claim.own, view->watermark);
    same(look, p, "/watermarks: idleness time-out, ms", claim.timeout_ms, view->idleness_ms);
    bool is_refused = live->waiting > 0 && live->verdict == SFI_ORACLE_FAIL; /* the end of the run, alive or not */
    if (!is_refused)
        same(look, p, "/watermarks: when it delivered last", live->delivered_wall_ms, view->last_wall_ms);
    same(look, p, "/watermarks: held", live->is_held, view->is_held);
    if (view->is_held) same(look, p, "/watermarks: held since", live->held_wall_ms, view->held_since_ms);
    if (view->is_idle ? !claim.may_be_idle : claim.must_be_idle)
        same(look, p, "/watermarks: idle", !view->is_idle, view->is_idle);
    bool has_preview = view->preview != SF_TIME_UNSET;
    if (has_preview) same(look, p, "/watermarks: preview", claim.may_preview ? claim.preview : SF_TIME_UNSET,
                          view->preview);
    if (!has_preview && claim.must_preview && !view->is_idle)
        same(look, p, "/watermarks: preview", claim.preview, view->preview);
    if (view->is_idle) return;
    look->has_one = true;
    look->least = sf_time_min(look->least, has_preview ? view->preview : claim.own);
}

static void check_partition(struct look *look, uint32_t index)
{
    struct sf_partition_view view;
    uint32_t p;
    sf_ingest_partition_view(look->ingest, index, wall_of(look->instance), &view);
    bool is_ours = sfi_oracle_partition_get(look->instance, view.tp, &p) != NULL;
    if (!is_ours || look->instance->live[p].is_assigned == view.is_taken)
        sfi_oracle_say(look->instance->oracle, "X15", "/watermarks", "partitions that were assigned", "another one");
    if (!is_ours || view.is_taken || !look->instance->live[p].is_assigned) return;
    check_place(look, p, &view);
    check_time(look, p, &view);
    look->previewing += view.preview != SF_TIME_UNSET;
}

static void check_global(struct look *look, const struct sf_watermark_view *view)
{
    struct sfi_oracle_instance *instance = look->instance;
    struct sf_partition_view holder = {.preview = SF_TIME_UNSET, .watermark = SF_TIME_UNSET};
    uint64_t epoch = instance->fixed + 1;
    bool has_holder = view->holder != UINT32_MAX;
    if (view->global != instance->watermark)
        sfi_oracle_say_epoch(instance->oracle, "X15", epoch, "/watermarks: global", instance->watermark, view->global);
    if (view->previewing_count != look->previewing)
        sfi_oracle_say_epoch(instance->oracle, "X15", epoch, "partitions that count with a preview (M3)",
                             look->previewing, view->previewing_count);
    if (has_holder != look->has_one)
        sfi_oracle_say_epoch(instance->oracle, "X15", epoch, "/watermarks: somebody holds the minimum", look->has_one,
                             has_holder);
    if (!has_holder || instance->oracle->is_broken) return;
    sf_ingest_partition_view(look->ingest, view->holder, wall_of(instance), &holder);
    int64_t held = holder.preview != SF_TIME_UNSET ? holder.preview : holder.watermark;
    if (holder.is_idle || held != look->least)
        sfi_oracle_say_epoch(instance->oracle, "X15", epoch, "/watermarks: what the holder counts with", look->least,
                             held);
    enum sf_hold_why why = look->least == SF_TIME_UNSET ? SF_HOLD_UNSET : SF_HOLD_SLOWEST;
    if (view->why != why)
        sfi_oracle_say_epoch(instance->oracle, "X15", epoch, "/watermarks: why it holds", (int64_t)why,
                             (int64_t)view->why);
}

void sfi_oracle_view_check(struct sfi_oracle_instance *instance, bool is_judged)
{
    const struct sf_engine *engine = instance->info.engine;
    const struct sf_ingest *ingest = engine != NULL ? sf_engine_ingest(engine) : NULL;
    struct look look = {
        .instance = instance, .ingest = ingest, .is_judged = is_judged, .least = SF_TIME_COMPLETE};
    struct sf_watermark_view view;
    if (ingest == NULL || instance->oracle->is_broken || instance->is_watermark_open) return;
    sf_ingest_view(ingest, wall_of(instance), &view);
    for (uint32_t i = 0; i < view.partition_count && !instance->oracle->is_broken; i++) check_partition(&look, i);
    if (!instance->oracle->is_broken) check_global(&look, &view);
}

/* ---------------------------------------------------------------- counters (M6) */

static void same_counts(struct sfi_oracle_instance *instance, const struct sf_source_counts *expected,
                        const struct sf_source_counts *actual, const char *of)
{
    char what[96];
    struct sf_text text;
    for (uint32_t d = 0; d < SF_DROP_COUNT + 2u && !instance->oracle->is_broken; d++) {
        static const char *const names[] = {"records dispatched", "late arrivals"};
        uint64_t e = d == 0 ? expected->dispatched : d == 1 ? expected->late : expected->skipped[d - 2];
        uint64_t a = d == 0 ? actual->dispatched : d == 1 ? actual->late : actual->skipped[d - 2];
        if (e == a) continue;
        sf_text_init(&text, what, sizeof what);
        sf_text_add(&text, d < 2 ? names[d] : "records skipped");
        sf_text_add(&text, of);
        sfi_oracle_say_epoch(instance->oracle, "X15", instance->fixed, what, (int64_t)e, (int64_t)a);
    }
}

void sfi_oracle_view_check_counts(struct sfi_oracle_instance *instance)
{
    static const struct sf_source_counts none;
    struct sfi_oracle *oracle = instance->oracle;
    const struct sf_engine *engine = instance->info.engine;
    const struct sf_ingest *ingest = engine != NULL ? sf_engine_ingest(engine) : NULL;
    if (ingest == NULL || oracle->is_loose) return;
    const struct sfi_oracle_epoch *running =
        instance->newest != NULL && !instance->newest->is_fixed ? instance->newest : NULL;
    for (uint32_t s = 0; s < oracle->world.topology->source_count; s++) {
        same_counts(instance, &instance->source_totals[s], &sf_ingest_counts(ingest)[s], ", all that committed (M6)");
        same_counts(instance, running != NULL ? &running->counts[s] : &none, &sf_ingest_counts_running(ingest)[s],
                    ", since the barrier (M6)");
    }
}
