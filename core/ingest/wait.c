#include "core/ingest/wait.h"

void sf_wait_init(struct sf_wait *wait, struct sf_alloc alloc, uint32_t count, int64_t idle_ms_max)
{
    static const struct sf_wait_list none = {SF_WAIT_NONE, SF_WAIT_NONE};
    int64_t ms = idle_ms_max > INT64_MAX / 1000 ? INT64_MAX / 1000 : idle_ms_max;
    *wait = (struct sf_wait){.count = count, .alloc = alloc, .lag = none, .timed = none};
    wait->idle_us_max = ms < 0 ? -1 : ms * 1000;
    wait->parts = sf_calloc(alloc, count, sizeof *wait->parts);
}

void sf_wait_deinit(struct sf_wait *wait)
{
    if (wait->parts != NULL) sf_cfree(wait->alloc, wait->parts, wait->count, sizeof *wait->parts);
    wait->parts = NULL;
}

static uint32_t mapped(uint32_t i, const uint32_t *map)
{
    return i == SF_WAIT_NONE ? SF_WAIT_NONE : map[i];
}

void sf_wait_grow(struct sf_wait *wait, uint32_t count, const uint32_t *map)
{
    struct sf_wait_part *parts = sf_calloc(wait->alloc, count, sizeof *parts);
    for (uint32_t i = 0; i < wait->count; i++) {
        struct sf_wait_part *part = &parts[map[i]];
        *part = wait->parts[i];
        if (part->class_ == SF_WAIT_NOT) continue;
        part->next = mapped(part->next, map);
        part->prev = mapped(part->prev, map);
    }
    struct sf_wait_list *lists[] = {&wait->lag, &wait->timed};
    for (uint32_t k = 0; k < 2; k++) {
        lists[k]->first = mapped(lists[k]->first, map);
        lists[k]->last = mapped(lists[k]->last, map);
    }
    sf_cfree(wait->alloc, wait->parts, wait->count, sizeof *parts);
    wait->parts = parts;
    wait->count = count;
}

static struct sf_wait_list *list_of(struct sf_wait *wait, enum sf_wait_class class_)
{
    return class_ == SF_WAIT_LAG ? &wait->lag : &wait->timed;
}

static void take_out(struct sf_wait *wait, uint32_t i)
{
    struct sf_wait_part *part = &wait->parts[i];
    if (part->class_ == SF_WAIT_NOT) return;
    struct sf_wait_list *list = list_of(wait, part->class_);
    if (part->prev != SF_WAIT_NONE) wait->parts[part->prev].next = part->next;
    else list->first = part->next;
    if (part->next != SF_WAIT_NONE) wait->parts[part->next].prev = part->prev;
    else list->last = part->prev;
    part->class_ = SF_WAIT_NOT;
}

static void put_in(struct sf_wait *wait, uint32_t i, enum sf_wait_class class_, struct sf_mono_ts now)
{
    struct sf_wait_part *part = &wait->parts[i];
    struct sf_wait_list *list = list_of(wait, class_);
    part->class_ = class_;
    part->since = now;
    part->next = SF_WAIT_NONE;
    part->prev = list->last;
    if (list->last != SF_WAIT_NONE) wait->parts[list->last].next = i;
    else list->first = i;
    list->last = i;
}

static enum sf_wait_class class_of(const struct sf_wait *wait, uint32_t i, struct sf_wait_state state)
{
    if (!state.is_empty || wait->idle_us_max < 0) return SF_WAIT_NOT;
    if (!state.is_lag_known) return state.is_idle ? SF_WAIT_NOT : SF_WAIT_LAG;
    if (!state.is_caught_up) return SF_WAIT_LAG;
    return wait->idle_us_max > 0 && !wait->parts[i].is_waited_out ? SF_WAIT_TIMED : SF_WAIT_NOT;
}

void sf_wait_update(struct sf_wait *wait, uint32_t i, struct sf_wait_state state, struct sf_mono_ts now)
{
    struct sf_wait_part *part = &wait->parts[i];
    if (!state.is_empty) part->is_waited_out = false;
    enum sf_wait_class class_ = class_of(wait, i, state);
    if (class_ == part->class_) return;
    take_out(wait, i);
    if (class_ != SF_WAIT_NOT) put_in(wait, i, class_, now);
}

uint32_t sf_wait_for(struct sf_wait *wait, struct sf_mono_ts now)
{
    while (wait->timed.first != SF_WAIT_NONE) {
        uint32_t i = wait->timed.first;
        if (sf_mono_elapsed_us(wait->parts[i].since, now) < wait->idle_us_max) break;
        take_out(wait, i);
        wait->parts[i].is_waited_out = true;
    }
    return wait->lag.first != SF_WAIT_NONE ? wait->lag.first : wait->timed.first;
}

struct sf_mono_ts sf_wait_until(const struct sf_wait *wait)
{
    if (wait->lag.first != SF_WAIT_NONE || wait->timed.first == SF_WAIT_NONE) return SF_MONO_NEVER;
    return sf_mono_add(wait->parts[wait->timed.first].since, wait->idle_us_max);
}
