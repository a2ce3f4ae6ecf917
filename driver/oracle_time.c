#include "driver/oracle_time.h"

#define SECOND_US 1000000
/* When /watermarks is read: with each new watermark; and where partitions are few, in steps that are many: in each of
 * the first, later in one of eight. */
#define FEW 8u
#define LOOKS_FIRST 1000u

static const struct sf_source_spec *source_of(const struct sfi_oracle_instance *instance, uint32_t p)
{
    return &instance->oracle->world.topology->sources[instance->oracle->partitions[p].source];
}

static bool is_waiting(const struct sfi_oracle_live *live)
{
    return live->waiting > 0 && live->verdict == SFI_ORACLE_GO;
}

/* ---------------------------------------------------------------- time passes */

/* I7: since ingest's last step. Running time is what the clocks of waiting records run on: at most, and for certain. */
static void pass(struct sfi_oracle_instance *instance)
{
    struct sfi_oracle_time *time = &instance->time;
    int64_t now_us = instance->oracle->world.world->mono_us;
    if (time->has_begun && now_us == time->now_us) return;
    int64_t gap_us = time->has_begun ? now_us - time->now_us : 0;
    if (gap_us <= SECOND_US) {
        if (!time->is_standing) time->running_hi += gap_us;
        if (time->is_running) time->running_lo += gap_us;
    }
    time->has_begun = true;
    time->now_us = now_us;
}

static void stamp(struct sfi_oracle_instance *instance, struct sfi_oracle_live *live)
{
    live->live_lo = live->live_hi = instance->time.now_us;
    live->running_lo = instance->time.running_lo;
    live->running_hi = instance->time.running_hi;
    live->is_idle = false;
}

static void end_hold(struct sfi_oracle_live *live)
{
    live->is_held = live->is_previewed = false;
}

void sfi_oracle_time_assigned(struct sfi_oracle_instance *instance, uint32_t p, bool has_more)
{
    struct sfi_oracle_live *live = &instance->live[p];
    pass(instance);
    end_hold(live);
    live->is_lag_known = live->is_caught_up = false;
    sfi_oracle_wait_update(instance, p);
    if (live->is_registered && !has_more) {
        /* it keeps its clock, or starts anew where it only stood behind control records: either will do */
        live->live_hi = instance->time.now_us;
        live->is_idle = false;
        live->is_idle_open = true;
        return;
    }
    live->is_registered = true;
    live->is_idle_open = false;
    stamp(instance, live);
}

void sfi_oracle_time_reached(struct sfi_oracle_instance *instance, uint32_t p)
{
    struct sfi_oracle_live *live = &instance->live[p];
    pass(instance);
    end_hold(live);
    live->is_idle_open = false;
    live->delivered_wall_ms = sf_sim_world_wall_ms(instance->oracle->world.world);
    stamp(instance, live);
}

void sfi_oracle_time_batch(struct sfi_oracle_instance *instance, uint32_t last)
{
    pass(instance);
    instance->time.has_dispatched = true;
    instance->time.stands_us = -1; /* a head has gone: whatever stands now has only begun to */
    for (uint32_t h = 0; h < instance->head_count; h++) {
        struct sfi_oracle_live *live = &instance->live[instance->heads[h].partition];
        if (instance->heads[h].partition == last || live->is_held) continue;
        live->is_held = true;
        live->held_us = instance->time.now_us;
        live->held_wall_ms = sf_sim_world_wall_ms(instance->oracle->world.world);
    }
}

void sfi_oracle_lag(void *ctx, struct sf_tp tp, bool is_known, bool is_caught_up)
{
    struct sfi_oracle_instance *instance = ctx;
    uint32_t p;
    if (instance->oracle->is_broken || instance->is_former) return;
    if (sfi_oracle_partition_get(instance, tp, &p) == NULL) return;
    pass(instance);
    struct sfi_oracle_live *live = &instance->live[p];
    bool is_batch = live->is_batch_new;
    live->is_batch_new = false;
    if (is_batch && (is_known != live->is_batch_known || is_caught_up != live->is_batch_last))
        sfi_oracle_say_partition(instance->oracle, "X4", &instance->oracle->partitions[p],
                                 "caught up, as its batch says (D6)", live->is_batch_last, is_caught_up);
    if (live->waiting >= instance->oracle->world.topology->settings.buffered_records_max) {
        live->is_paused = true;
        live->is_pause_open = false;
    }
    live->is_lag_known = is_known;
    live->is_caught_up = is_caught_up;
    sfi_oracle_wait_update(instance, p);
    if (is_known && !is_caught_up && !is_waiting(live)) live->is_idle = live->is_idle_open = false;
}

/* ---------------------------------------------------------------- idleness (I1, I2, I7) */

static int64_t timeout_us(const struct sfi_oracle_instance *instance, uint32_t p)
{
    int64_t own_ms = source_of(instance, p)->watermark.idleness_ms;
    int64_t ms = own_ms != SF_SPAN_NONE ? own_ms : instance->oracle->world.topology->settings.idleness_timeout_ms;
    return ms > INT64_MAX / 1000 ? INT64_MAX : ms * 1000;
}

struct silence {
    bool may; /* be idle */
    bool must;
};

/* `is_judged`: a tick has judged, or judges, as of now. */
static struct silence silence_of(const struct sfi_oracle_instance *instance, uint32_t p, bool is_judged)
{
    const struct sfi_oracle_live *live = &instance->live[p];
    const struct sfi_oracle_time *time = &instance->time;
    int64_t limit_us = timeout_us(instance, p);
    bool waits = is_waiting(live);
    if (live->is_idle) return (struct silence){true, true};
    if (limit_us == 0 || (!waits && live->is_lag_known && !live->is_caught_up)) return (struct silence){false, false};
    int64_t least = waits ? time->running_lo - live->running_lo : time->now_us - live->live_hi;
    int64_t most = waits ? time->running_hi - live->running_hi : time->now_us - live->live_lo;
    return (struct silence){.may = most > limit_us || live->is_idle_open, .must = is_judged && least > limit_us};
}

bool sfi_oracle_time_may_dispatch(struct sfi_oracle_instance *instance)
{
    struct sfi_oracle *oracle = instance->oracle;
    if (oracle->world.topology->settings.task_idle_ms_max < 0 || !oracle->world.plan->is_event_time) return true;
    uint32_t first = SFI_ORACLE_NONE;
    for (uint32_t i = 0; i < instance->wait_count; i++) {
        uint32_t p = instance->waits[i];
        const struct sfi_oracle_live *live = &instance->live[p];
        if (live->is_lag_known && live->is_caught_up) continue; /* sfi_oracle_wait_may_dispatch */
        bool may_be_idle = !live->is_lag_known && (live->is_idle_open || silence_of(instance, p, false).may);
        if (!may_be_idle && p < first) first = p;
    }
    if (first == SFI_ORACLE_NONE) return sfi_oracle_wait_may_dispatch(instance);
    sfi_oracle_say_partition(oracle, "X4", &oracle->partitions[first],
                             "dispatch waits for a partition that may have more (D5); records buffered", 1, 0);
    return false;
}

/* ---------------------------------------------------------------- contributions (W1–W3, P2, G1) */

static int64_t claim(const struct sfi_oracle_instance *instance, uint32_t p, int64_t ts)
{
    const struct sf_watermark_spec *spec = &source_of(instance, p)->watermark;
    int64_t bound = spec->bound_ms != SF_SPAN_NONE ? spec->bound_ms
                                                   : instance->oracle->world.topology->settings.max_out_of_orderness_ms;
    switch (spec->strategy) {
    case SF_STRATEGY_NONE: return SF_TIME_UNSET;
    case SF_STRATEGY_MONOTONOUS: return sf_time_add(ts, -1);
    case SF_STRATEGY_DEFAULT:
    case SF_STRATEGY_BOUNDED: break;
    }
    return sf_time_add(ts, -bound);
}

/* What a partition may count with: its own claim, its preview, nothing. */
struct options {
    bool may_be_out;
    bool may_be_own;
    bool may_be_preview;
    int64_t own;
    int64_t preview;
};

static struct options options_of(const struct sfi_oracle_instance *instance, uint32_t p, bool is_judged)
{
    const struct sfi_oracle_live *live = &instance->live[p];
    struct silence silence = silence_of(instance, p, is_judged);
    int64_t delay_us = instance->oracle->world.topology->settings.preview_delay_ms * 1000;
    bool may_preview = is_waiting(live) && live->is_held && instance->time.now_us - live->held_us >= delay_us;
    bool must_preview = may_preview && (is_judged || live->is_previewed);
    struct options options = {.may_be_out = silence.may, .own = claim(instance, p, live->time_max)};
    options.preview = claim(instance, p, sf_time_max(live->time_max, live->head_time));
    if (silence.must) return options;
    options.may_be_preview = may_preview;
    options.may_be_own = !must_preview;
    return options;
}

struct sfi_oracle_claim sfi_oracle_time_claim(const struct sfi_oracle_instance *instance, uint32_t p, bool is_judged)
{
    struct silence silence = silence_of(instance, p, is_judged);
    struct options options = options_of(instance, p, is_judged);
    int64_t timeout = timeout_us(instance, p);
    return (struct sfi_oracle_claim){.own = options.own,
                                     .preview = options.preview,
                                     .timeout_ms = timeout / 1000,
                                     .may_be_idle = silence.may,
                                     .must_be_idle = silence.must,
                                     .may_preview = options.may_be_preview || silence.must,
                                     .must_preview = options.may_be_preview && !options.may_be_own};
}

/* Can the minimum be `value`, or at most it where `is_below`? */
static bool can_be(struct sfi_oracle_instance *instance, int64_t value, bool is_below, bool is_judged)
{
    bool is_met = false, can_all_be_out = true;
    for (uint32_t p = 0; p < instance->oracle->partition_count; p++) {
        if (!instance->live[p].is_assigned) continue;
        struct options o = options_of(instance, p, is_judged);
        bool own_fits = o.may_be_own && (is_below || o.own >= value);
        bool preview_fits = o.may_be_preview && (is_below || o.preview >= value);
        if (!o.may_be_out && !own_fits && !preview_fits) return false;
        if (!o.may_be_out) can_all_be_out = false;
        is_met = is_met || (o.may_be_own && (is_below ? o.own <= value : o.own == value)) ||
                 (o.may_be_preview && (is_below ? o.preview <= value : o.preview == value));
    }
    return is_met || (is_below && can_all_be_out);
}

/* The candidate where nothing is open; *is_open_out: something is, and the result is the lowest that may be. */
static int64_t minimum(struct sfi_oracle_instance *instance, int64_t before, bool is_judged, bool *is_open_out)
{
    int64_t least = SF_TIME_COMPLETE;
    bool has_one = false;
    *is_open_out = false;
    for (uint32_t p = 0; p < instance->oracle->partition_count; p++) {
        if (!instance->live[p].is_assigned) continue;
        struct options o = options_of(instance, p, is_judged);
        if (o.may_be_out + o.may_be_own + o.may_be_preview > 1) *is_open_out = true;
        if (o.may_be_own) least = sf_time_min(least, o.own);
        if (o.may_be_preview && !o.may_be_own) least = sf_time_min(least, o.preview);
        has_one = has_one || o.may_be_own || o.may_be_preview;
    }
    return has_one ? sf_time_max(before, least) : before;
}

/* ---------------------------------------------------------------- emissions (G2) */

static void say(struct sfi_oracle_instance *instance, const char *what, int64_t expected, int64_t actual)
{
    sfi_oracle_say_epoch(instance->oracle, "X2", instance->fixed + 1, what, expected, actual);
}

static void check_emission(struct sfi_oracle_instance *instance, int64_t value, bool is_judged)
{
    struct sfi_oracle_time *time = &instance->time;
    bool is_fine = value == time->reached ? can_be(instance, value, true, is_judged)
                                          : value > time->reached && can_be(instance, value, false, is_judged);
    if (value > time->reached && value <= time->reached_hi) is_fine = true;
    if (!is_fine) {
        bool is_open;
        say(instance, "global watermark: the largest of before and the minimum of who counts (G1)",
            minimum(instance, time->reached, is_judged, &is_open), value);
    }
    time->reached = sf_time_max(time->reached, value);
    time->reached_hi = time->reached;
}

void sfi_oracle_time_emitted(struct sfi_oracle_instance *instance, int64_t value, enum sf_watermark_why why)
{
    struct sfi_oracle_time *time = &instance->time;
    int64_t interval_us = instance->oracle->world.topology->settings.auto_interval_ms * 1000;
    pass(instance);
    if (!instance->oracle->world.plan->is_event_time) return;
    if (why == SF_WATERMARK_POLL && value != instance->watermark && time->has_emitted &&
        time->now_us - time->emitted_us < interval_us)
        say(instance, "us since the last emission, at least (G2a)", interval_us, time->now_us - time->emitted_us);
    if (value != instance->watermark) {
        time->has_emitted = true;
        time->emitted_us = time->now_us;
    }
    if (!time->has_stepped) { /* before its first poll: partitions count with what they resume from (S1) */
        check_emission(instance, value, false);
        return;
    }
    time->emitted = value;
    time->is_emitted = true;
}

void sfi_oracle_time_resumed(struct sfi_oracle_instance *instance)
{
    struct sfi_oracle_time *time = &instance->time;
    time->reached = time->reached_hi = instance->watermark;
    time->is_emitted = false;
}

/* What is certain at the end of a step of which nothing was cut off. */
static void settle(struct sfi_oracle_instance *instance)
{
    for (uint32_t p = 0; p < instance->oracle->partition_count; p++) {
        struct sfi_oracle_live *live = &instance->live[p];
        if (!live->is_assigned) continue;
        if (silence_of(instance, p, true).must) live->is_idle = true;
        struct options o = options_of(instance, p, true);
        if (o.may_be_preview && !o.may_be_own) live->is_previewed = true;
    }
}

/* The largest minimum that may have been reached where it is not certain: in a step that was cut, or beside a partition
 * whose silence may or may not have lasted long enough. */
static void open_up(struct sfi_oracle_instance *instance)
{
    struct sfi_oracle_time *time = &instance->time;
    int64_t forced = SF_TIME_COMPLETE, free = SF_TIME_UNSET;
    bool has_forced = false;
    for (uint32_t p = 0; p < instance->oracle->partition_count; p++) {
        if (!instance->live[p].is_assigned) continue;
        struct options o = options_of(instance, p, false);
        if (!o.may_be_own && !o.may_be_preview) continue;
        int64_t best = o.may_be_preview ? o.preview : o.own;
        if (o.may_be_out) {
            free = sf_time_max(free, best);
        } else {
            forced = sf_time_min(forced, best);
            has_forced = true;
        }
    }
    time->reached_hi = sf_time_max(time->reached_hi, has_forced ? forced : free);
}

static void check_reached(struct sfi_oracle_instance *instance)
{
    struct sfi_oracle_time *time = &instance->time;
    int64_t interval_us = instance->oracle->world.topology->settings.auto_interval_ms * 1000;
    bool is_open;
    int64_t expected = minimum(instance, time->reached, true, &is_open);
    if (is_open) {
        open_up(instance);
        return;
    }
    time->reached = sf_time_max(time->reached, expected);
    time->reached_hi = sf_time_max(time->reached_hi, time->reached);
    bool is_due = !time->has_emitted || time->now_us - time->emitted_us >= interval_us;
    if (is_due && time->reached != instance->watermark)
        say(instance, "global watermark after a poll (G2a, X3)", time->reached, instance->watermark);
}

/* It joins the minimum with its first step (G4), told a little earlier. */
static void begin(struct sfi_oracle_instance *instance)
{
    instance->time.has_stepped = true;
    if (instance->base == SFI_ORACLE_BASE_START) instance->base_us = instance->time.now_us;
    for (uint32_t p = 0; p < instance->oracle->partition_count; p++)
        instance->live[p].live_hi = instance->time.now_us;
}

void sfi_oracle_time_stepped(struct sfi_oracle_instance *instance, const struct sf_sim_step_record *record)
{
    struct sfi_oracle *oracle = instance->oracle;
    struct sfi_oracle_time *time = &instance->time;
    if (!instance->is_reading || !oracle->world.plan->is_event_time) return;
    pass(instance);
    if (!time->has_stepped) begin(instance);
    /* it waits, for something that may come later than now: it had everything, and has judged (I7, I8) */
    bool is_whole = record->result.next == SF_NEXT_WAIT && record->result.wake_at.us > record->now.us &&
                    record->result.wake_at.us != SF_MONO_NEVER.us && !time->is_ending;
    bool is_cut = record->result.used >= record->budget;
    bool is_emitted = time->is_emitted;
    if (time->is_emitted && !instance->is_watermark_open) check_emission(instance, time->emitted, is_whole);
    time->is_emitted = false;
    if (is_whole) {
        settle(instance);
        check_reached(instance);
        sfi_oracle_barrier_watch(instance, record->result.wake_at.us);
        sfi_oracle_crossing_watch(instance);
        sfi_oracle_wait_stepped(instance, record->result.wake_at.us);
    } else {
        open_up(instance);
    }
    if (is_emitted || is_whole) instance->is_falling_back = false;
    time->step_count++;
    bool is_turn = time->step_count <= LOOKS_FIRST || time->step_count % 8 == 0;
    bool is_looked_at = is_emitted || (oracle->partition_count <= FEW && is_turn && !instance->is_falling_back);
    if (is_looked_at) sfi_oracle_view_check(instance, is_whole);
    if (instance->is_fixed_now) sfi_oracle_view_check_counts(instance);
    instance->is_fixed_now = false;
    time->is_standing = is_whole && instance->head_count > 0; /* it waits although there are heads: nothing can go */
    time->is_running = instance->head_count == 0 || (is_cut && time->has_dispatched);
    time->has_dispatched = false;
}
