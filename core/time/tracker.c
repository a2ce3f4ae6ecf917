#include "core/time/tracker.h"

void sf_tracker_init(struct sf_tracker *tracker, struct sf_alloc alloc, uint32_t count, int64_t preview_delay_us)
{
    *tracker = (struct sf_tracker){.count = count, .preview_delay_us = preview_delay_us, .alloc = alloc};
    tracker->parts = sf_calloc(alloc, count, sizeof *tracker->parts);
    tracker->fresh = sf_calloc(alloc, count, sizeof *tracker->fresh);
    tracker->changed = sf_calloc(alloc, count, sizeof *tracker->changed);
    sf_heap_init(&tracker->counting, alloc, count);
    sf_heap_init(&tracker->empty_due, alloc, count);
    sf_heap_init(&tracker->waiting_due, alloc, count);
    sf_heap_init(&tracker->preview_due, alloc, count);
}

void sf_tracker_deinit(struct sf_tracker *tracker)
{
    if (tracker->parts == NULL) return;
    sf_cfree(tracker->alloc, tracker->parts, tracker->count, sizeof *tracker->parts);
    sf_cfree(tracker->alloc, tracker->fresh, tracker->count, sizeof *tracker->fresh);
    sf_cfree(tracker->alloc, tracker->changed, tracker->count, sizeof *tracker->changed);
    sf_heap_deinit(&tracker->counting);
    sf_heap_deinit(&tracker->empty_due);
    sf_heap_deinit(&tracker->waiting_due);
    sf_heap_deinit(&tracker->preview_due);
    tracker->parts = NULL;
}

static int64_t add_us(int64_t at, int64_t span)
{
    return at > INT64_MAX - span ? INT64_MAX : at + span;
}

int64_t sf_tracker_contribution(const struct sf_tracker *tracker, uint32_t i)
{
    const struct sf_tracker_part *part = &tracker->parts[i];
    return sf_generator_with(&part->generator, part->is_previewing ? part->head_time : SF_TIME_UNSET);
}

/* Into, within or out of the minimum. */
static void recount(struct sf_tracker *tracker, uint32_t i)
{
    const struct sf_tracker_part *part = &tracker->parts[i];
    if (part->is_assigned && !part->is_idle)
        sf_heap_put(&tracker->counting, i, sf_tracker_contribution(tracker, i));
    else
        sf_heap_remove(&tracker->counting, i);
}

/* Under the deadline, on the clock, that its state asks for. */
static void reschedule(struct sf_tracker *tracker, uint32_t i)
{
    const struct sf_tracker_part *part = &tracker->parts[i];
    bool is_due = part->is_assigned && !part->is_idle && part->timeout_us > 0;
    if (is_due && part->is_waiting)
        sf_heap_put(&tracker->waiting_due, i, add_us(part->live_us, part->timeout_us));
    else
        sf_heap_remove(&tracker->waiting_due, i);
    if (is_due && !part->is_waiting && !part->is_lag_known_above_zero)
        sf_heap_put(&tracker->empty_due, i, add_us(part->live_us, part->timeout_us));
    else
        sf_heap_remove(&tracker->empty_due, i);
}

static void set_idle(struct sf_tracker *tracker, uint32_t i, bool is_idle)
{
    struct sf_tracker_part *part = &tracker->parts[i];
    if (part->is_idle == is_idle) return;
    part->is_idle = is_idle;
    if (part->is_changed) return;
    part->is_changed = true;
    tracker->changed[tracker->changed_count] = i;
    tracker->changed_count++;
}

static void end_hold(struct sf_tracker *tracker, uint32_t i)
{
    struct sf_tracker_part *part = &tracker->parts[i];
    if (part->is_previewing) tracker->previewing_count--;
    part->is_previewing = false;
    part->is_held = false;
    sf_heap_remove(&tracker->preview_due, i);
}

static void set_fresh(struct sf_tracker *tracker, uint32_t i)
{
    struct sf_tracker_part *part = &tracker->parts[i];
    if (part->is_fresh) return;
    part->is_fresh = true;
    tracker->fresh[tracker->fresh_count] = i;
    tracker->fresh_count++;
}

static uint32_t *mapped_list(struct sf_alloc alloc, uint32_t *list, uint32_t used, uint32_t old_count, uint32_t count,
                             const uint32_t *map)
{
    uint32_t *made = sf_calloc(alloc, count, sizeof *made);
    for (uint32_t k = 0; k < used; k++) made[k] = map[list[k]];
    sf_cfree(alloc, list, old_count, sizeof *list);
    return made;
}

static void map_heap(struct sf_heap *heap, uint32_t count, const uint32_t *map)
{
    struct sf_heap made;
    sf_heap_init(&made, heap->alloc, count);
    for (uint32_t k = 0; k < heap->count; k++) sf_heap_put(&made, map[heap->items[k].id], heap->items[k].key);
    sf_heap_deinit(heap);
    *heap = made;
}

void sf_tracker_grow(struct sf_tracker *tracker, uint32_t count, const uint32_t *map)
{
    struct sf_alloc alloc = tracker->alloc;
    uint32_t old = tracker->count;
    assert(count > old);
    struct sf_tracker_part *parts = sf_calloc(alloc, count, sizeof *parts);
    for (uint32_t i = 0; i < old; i++) parts[map[i]] = tracker->parts[i];
    sf_cfree(alloc, tracker->parts, old, sizeof *parts);
    tracker->parts = parts;
    tracker->count = count;
    tracker->fresh = mapped_list(alloc, tracker->fresh, tracker->fresh_count, old, count, map);
    tracker->changed = mapped_list(alloc, tracker->changed, tracker->changed_count, old, count, map);
    map_heap(&tracker->counting, count, map);
    map_heap(&tracker->empty_due, count, map);
    map_heap(&tracker->waiting_due, count, map);
    map_heap(&tracker->preview_due, count, map);
}

void sf_tracker_join(struct sf_tracker *tracker, uint32_t i, struct sf_generator generator, int64_t timeout_us,
                     struct sf_mono_ts now)
{
    struct sf_tracker_part *part = &tracker->parts[i];
    assert(!part->is_assigned && timeout_us >= 0);
    part->generator = generator;
    part->timeout_us = timeout_us;
    part->live_us = now.us;
    part->is_assigned = true;
    part->is_waiting = false;
    part->is_lag_known_above_zero = false;
    set_idle(tracker, i, false);
    recount(tracker, i);
    reschedule(tracker, i);
}

void sf_tracker_leave(struct sf_tracker *tracker, uint32_t i)
{
    struct sf_tracker_part *part = &tracker->parts[i];
    end_hold(tracker, i);
    part->is_assigned = false;
    part->is_waiting = false;
    recount(tracker, i);
    reschedule(tracker, i);
}

void sf_tracker_rewind(struct sf_tracker *tracker, uint32_t i, int64_t time_max, bool is_anew, struct sf_mono_ts now)
{
    struct sf_tracker_part *part = &tracker->parts[i];
    if (!part->is_assigned) return;
    assert(is_anew || !part->is_waiting); /* what waits is read again */
    end_hold(tracker, i);
    part->generator.time_max = time_max;
    part->is_waiting = false;
    part->is_lag_known_above_zero = false;
    if (is_anew) {
        part->live_us = now.us;
        set_idle(tracker, i, false);
    }
    recount(tracker, i);
    reschedule(tracker, i);
}

void sf_tracker_run(struct sf_tracker *tracker, struct sf_mono_ts now, bool is_running)
{
    if (is_running) tracker->running_us += sf_mono_elapsed_us(tracker->ran_to, now);
    tracker->ran_to = now;
}

void sf_tracker_reach(struct sf_tracker *tracker, uint32_t i, int64_t head_time, struct sf_mono_ts now)
{
    struct sf_tracker_part *part = &tracker->parts[i];
    assert(part->is_assigned && !part->is_waiting && tracker->ran_to.us == now.us);
    part->is_waiting = true;
    part->head_time = head_time;
    part->live_us = tracker->running_us;
    set_fresh(tracker, i);
    set_idle(tracker, i, false);
    recount(tracker, i);
    reschedule(tracker, i);
}

void sf_tracker_serve(struct sf_tracker *tracker, uint32_t i, bool has_head, int64_t head_time,
                      struct sf_mono_ts now)
{
    struct sf_tracker_part *part = &tracker->parts[i];
    assert(part->is_assigned && part->is_waiting && tracker->ran_to.us == now.us);
    end_hold(tracker, i);
    part->is_waiting = has_head;
    part->head_time = head_time;
    part->live_us = has_head ? tracker->running_us : now.us;
    if (has_head) set_fresh(tracker, i);
    set_idle(tracker, i, false);
    recount(tracker, i);
    reschedule(tracker, i);
}

void sf_tracker_hold(struct sf_tracker *tracker, uint32_t last, struct sf_mono_ts now, struct sf_wall_ts wall)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < tracker->fresh_count; k++) {
        uint32_t i = tracker->fresh[k];
        struct sf_tracker_part *part = &tracker->parts[i];
        if (i == last && part->is_waiting) {
            tracker->fresh[kept] = i;
            kept++;
            continue;
        }
        part->is_fresh = false;
        if (!part->is_waiting || part->is_held) continue;
        part->is_held = true;
        part->held_since = now;
        part->held_wall_ms = wall.ms;
        if (sf_generator_is_previewed(&part->generator))
            sf_heap_put(&tracker->preview_due, i, add_us(now.us, tracker->preview_delay_us));
    }
    tracker->fresh_count = kept;
}

void sf_tracker_lag(struct sf_tracker *tracker, uint32_t i, bool is_known_above_zero)
{
    struct sf_tracker_part *part = &tracker->parts[i];
    if (part->is_lag_known_above_zero == is_known_above_zero) return;
    part->is_lag_known_above_zero = is_known_above_zero;
    if (is_known_above_zero && !part->is_waiting) {
        set_idle(tracker, i, false);
        recount(tracker, i);
    }
    reschedule(tracker, i);
}

static void judge_silence(struct sf_tracker *tracker, struct sf_heap *due, int64_t now_us)
{
    const struct sf_heap_item *top;
    while ((top = sf_heap_top(due)) != NULL && top->key < now_us) {
        uint32_t i = top->id;
        set_idle(tracker, i, true);
        recount(tracker, i);
        reschedule(tracker, i);
    }
}

void sf_tracker_judge(struct sf_tracker *tracker, struct sf_mono_ts now)
{
    judge_silence(tracker, &tracker->empty_due, now.us);
    judge_silence(tracker, &tracker->waiting_due, tracker->running_us);
    const struct sf_heap_item *top;
    while ((top = sf_heap_top(&tracker->preview_due)) != NULL && top->key <= now.us) {
        uint32_t i = top->id;
        sf_heap_remove(&tracker->preview_due, i);
        tracker->parts[i].is_previewing = true;
        tracker->previewing_count++;
        recount(tracker, i);
    }
}

uint32_t sf_tracker_holder(const struct sf_tracker *tracker)
{
    const struct sf_heap_item *top = sf_heap_top(&tracker->counting);
    return top != NULL ? top->id : SF_HEAP_OUT;
}

int64_t sf_tracker_candidate(const struct sf_tracker *tracker, int64_t previous)
{
    const struct sf_heap_item *top = sf_heap_top(&tracker->counting);
    return top != NULL ? sf_time_max(previous, top->key) : previous;
}

bool sf_tracker_is_other_below(const struct sf_tracker *tracker, uint32_t i, int64_t value)
{
    const struct sf_heap_item *item = sf_heap_top(&tracker->counting);
    if (item != NULL && item->id == i) item = sf_heap_second(&tracker->counting);
    return item != NULL && item->key < value;
}

struct sf_mono_ts sf_tracker_wake_at(const struct sf_tracker *tracker)
{
    struct sf_mono_ts at = SF_MONO_NEVER;
    const struct sf_heap_item *top = sf_heap_top(&tracker->empty_due);
    if (top != NULL && top->key < INT64_MAX) at.us = top->key + 1; /* strict */
    top = sf_heap_top(&tracker->preview_due);
    if (top != NULL && top->key < at.us) at.us = top->key;
    return at;
}
