/* What lanes take and cross, and how barriers come: X4 within a lane, X11. */
#include "driver/oracle_parts.h"

#define BARRIER_SLACK_US 100000 /* news of a commit may come with a later step */
#define CROSSING_SLACK_US 2000000

static struct sfi_oracle_lane *lane_of(struct sfi_oracle_instance *instance, uint32_t sub, uint32_t lane)
{
    return &instance->lanes[sub * instance->oracle->world.lanes + lane];
}

static void say_lane(struct sfi_oracle *oracle, const char *rule, uint32_t sub, uint32_t lane, const char *what,
                     int64_t expected, int64_t actual)
{
    char words[96];
    struct sf_text text;
    sf_text_init(&text, words, sizeof words);
    sf_text_add(&text, "lane ");
    sf_text_add_uint(&text, sub);
    sf_text_add(&text, ".");
    sf_text_add_uint(&text, lane);
    sf_text_add(&text, ": ");
    sf_text_add(&text, what);
    char numbers[2][SF_TEXT_INT_BYTES];
    sfi_oracle_say(oracle, rule, words, sf_text_of_int(numbers[0], expected), sf_text_of_int(numbers[1], actual));
}

void sfi_oracle_lane_sent(struct sfi_oracle_instance *instance, uint32_t sub, uint32_t lane_number, uint64_t epoch,
                          uint32_t partition, int64_t offset)
{
    struct sfi_oracle_lane *lane = lane_of(instance, sub, lane_number);
    if (lane->count == lane->capacity) {
        uint32_t capacity = lane->capacity == 0 ? 256 : lane->capacity * 2;
        struct sfi_oracle_sent *grown = sf_calloc(instance->oracle->alloc, capacity, sizeof *grown);
        for (uint32_t i = 0; i < lane->count; i++) grown[i] = lane->sent[(lane->first + i) & (lane->capacity - 1)];
        sf_free(instance->oracle->alloc, lane->sent, lane->capacity * sizeof *lane->sent);
        lane->sent = grown;
        lane->capacity = capacity;
        lane->first = 0;
    }
    lane->sent[(lane->first + lane->count) & (lane->capacity - 1)] =
        (struct sfi_oracle_sent){.partition = partition, .epoch_low = (uint32_t)epoch, .offset = offset};
    lane->count++;
}

void sfi_oracle_taken(void *ctx, uint32_t sub, uint32_t lane_number, uint64_t epoch, const struct sf_ref *refs,
                      uint32_t count)
{
    struct sfi_oracle_instance *instance = ctx;
    struct sfi_oracle *oracle = instance->oracle;
    struct sfi_oracle_lane *lane = lane_of(instance, sub, lane_number);
    for (uint32_t i = 0; i < count && !oracle->is_broken && !instance->is_former; i++) {
        if (lane->count == 0) {
            say_lane(oracle, "X4", sub, lane_number, "takes a record that was not sent to it (L2)", -1,
                     refs[i].record->offset);
            return;
        }
        const struct sfi_oracle_sent *next = &lane->sent[lane->first & (lane->capacity - 1)];
        bool is_next = refs[i].partition < instance->partition_of_count &&
                       instance->partition_of[refs[i].partition] == next->partition &&
                       next->offset == refs[i].record->offset;
        if (!is_next || next->epoch_low != (uint32_t)epoch) {
            say_lane(oracle, "X4", sub, lane_number,
                     is_next ? "epoch of a record that is taken" : "takes records in the order sent (L2, L3): offset",
                     is_next ? (int64_t)next->epoch_low : next->offset,
                     is_next ? (int64_t)epoch : refs[i].record->offset);
            return;
        }
        lane->first = (lane->first + 1) & (lane->capacity - 1);
        lane->count--;
    }
}

void sfi_oracle_crossed(void *ctx, uint32_t sub, uint32_t lane_number, uint64_t epoch)
{
    struct sfi_oracle_instance *instance = ctx;
    struct sfi_oracle *oracle = instance->oracle;
    struct sfi_oracle_lane *lane = lane_of(instance, sub, lane_number);
    const struct sf_plan_sub *plan = &oracle->world.plan->subs[sub];
    if (oracle->is_broken || instance->is_former) return;
    if (epoch != instance->fixed)
        say_lane(oracle, "X11", sub, lane_number, "crosses the barrier that was fixed (B5)", (int64_t)instance->fixed,
                 (int64_t)epoch);
    if (lane->crossed >= epoch)
        say_lane(oracle, "X11", sub, lane_number, "crosses a barrier once (B5)", (int64_t)lane->crossed + 1,
                 (int64_t)epoch);
    if (lane->passed != lane->crossed)
        say_lane(oracle, "X11", sub, lane_number, "has finished the last barrier's pass (F5)", (int64_t)lane->crossed,
                 (int64_t)lane->passed);
    if (lane->count > 0 && lane->sent[lane->first & (lane->capacity - 1)].epoch_low == (uint32_t)epoch)
        say_lane(oracle, "X11", sub, lane_number, "crosses after all it was given before (B5); left", 0, lane->count);
    for (uint32_t i = 0; i < plan->upstream_count; i++)
        for (uint32_t l = 0; l < oracle->world.lanes; l++)
            if (lane_of(instance, plan->upstream[i], l)->crossed < epoch)
                say_lane(oracle, "X11", sub, lane_number, "crosses after all its upstream lanes (B5)", (int64_t)epoch,
                         (int64_t)lane_of(instance, plan->upstream[i], l)->crossed);
    lane->crossed = epoch;
    const struct sfi_oracle_epoch *of = sfi_oracle_epoch_find(instance, epoch);
    if (of != NULL && of->is_flush) lane->passed = epoch; /* S4: it has passed before it crossed */
}

void sfi_oracle_passed(void *ctx, uint32_t sub, uint32_t lane_number, uint64_t epoch, uint64_t result_count)
{
    struct sfi_oracle_instance *instance = ctx;
    struct sfi_oracle_lane *lane = lane_of(instance, sub, lane_number);
    (void)result_count;
    if (instance->oracle->is_broken || instance->is_former) return;
    if (lane->crossed != epoch || lane->passed >= epoch)
        say_lane(instance->oracle, "X11", sub, lane_number, "passes once behind each barrier (F5)",
                 (int64_t)lane->crossed, (int64_t)epoch);
    lane->passed = epoch;
}

void sfi_oracle_lanes_reset(struct sfi_oracle_instance *instance, uint64_t cut)
{
    uint32_t count = instance->oracle->world.plan->sub_count * instance->oracle->world.lanes;
    for (uint32_t i = 0; i < count; i++) {
        instance->lanes[i].count = instance->lanes[i].first = 0;
        instance->lanes[i].crossed = instance->lanes[i].passed = instance->lanes[i].begun = cut;
    }
}

/* ---------------------------------------------------------------- barriers */

static int64_t clamped_us(const struct sf_settings *settings, int64_t us)
{
    int64_t least_us = settings->barrier_interval_ms_min * 1000, most_us = settings->barrier_interval_ms_max * 1000;
    us = us > most_us ? most_us : us;
    return us < least_us ? least_us : us;
}

/* B2: the interval behind a commit that took so long. */
static int64_t interval_us(const struct sf_settings *settings, int64_t took_us)
{
    int64_t most_us = settings->barrier_interval_ms_max * 1000, percent = settings->barrier_factor_percent;
    bool is_long = percent > 0 && took_us / 100 > most_us / percent;
    return clamped_us(settings, is_long ? most_us : took_us * percent / 100);
}

/* Behind a fall-back nothing is known of it: it may be that of the commit before, since a fixing that is gone. */
static int64_t interval_least_us(const struct sfi_oracle_instance *instance)
{
    const struct sf_settings *settings = &instance->oracle->world.topology->settings;
    if (instance->base == SFI_ORACLE_BASE_FALL_BACK) return 0;
    if (instance->base == SFI_ORACLE_BASE_START) return clamped_us(settings, settings->barrier_interval_ms * 1000);
    bool is_known = instance->published == instance->fixed && instance->published_us >= instance->base_us;
    return interval_us(settings, is_known ? instance->published_us - instance->base_us : 0);
}

static int64_t interval_most_us(const struct sfi_oracle_instance *instance)
{
    const struct sf_settings *settings = &instance->oracle->world.topology->settings;
    if (instance->base == SFI_ORACLE_BASE_FALL_BACK) return settings->barrier_interval_ms_max * 1000;
    if (instance->base == SFI_ORACLE_BASE_START) return clamped_us(settings, settings->barrier_interval_ms * 1000);
    return interval_us(settings, instance->seen_us - instance->base_us);
}

/* Not sooner than the interval, unless memory is short or the end is near; nor later, if it has slept over it. */
static void check_cadence(struct sfi_oracle_instance *instance, const struct sf_cut *cut, int64_t now_us)
{
    struct sfi_oracle *oracle = instance->oracle;
    const struct sf_settings *settings = &oracle->world.topology->settings;
    if (oracle->world.is_barrier_manual || cut->is_flush) return;
    bool is_memory_short = settings->uncommitted_bytes_max < UINT64_C(1) << 20;
    int64_t since_us = now_us - instance->base_us, least_us = interval_least_us(instance);
    if (!is_memory_short && since_us < least_us)
        sfi_oracle_say_epoch(oracle, "X11", cut->epoch, "us since the last fixing, at least (B2)", least_us, since_us);
    bool has_overslept = instance->due_us >= 0 && instance->slept_us > instance->due_us + BARRIER_SLACK_US;
    if (has_overslept && now_us >= instance->slept_us)
        sfi_oracle_say_epoch(oracle, "X11", cut->epoch, "us since the last fixing, at most (B2)",
                             instance->due_us - instance->base_us, since_us);
    instance->due_us = -1;
}

static void check_counts(struct sfi_oracle *oracle, const struct sf_cut *cut, const struct sfi_oracle_epoch *epoch)
{
    for (uint32_t s = 0; s < cut->source_count; s++) {
        const struct sf_source_counts *actual = &cut->sources[s], *expected = &epoch->counts[s];
        if (actual->dispatched != expected->dispatched)
            sfi_oracle_say_epoch(oracle, "X5", cut->epoch, "records dispatched of a source (M6)",
                                 (int64_t)expected->dispatched, (int64_t)actual->dispatched);
        if (actual->late != expected->late)
            sfi_oracle_say_epoch(oracle, "X15", cut->epoch, "late arrivals of a source (G3)", (int64_t)expected->late,
                                 (int64_t)actual->late);
        for (uint32_t d = 0; d < SF_DROP_COUNT; d++)
            if (actual->skipped[d] != expected->skipped[d])
                sfi_oracle_say_epoch(oracle, "X5", cut->epoch, "records skipped of a source (M6)",
                                     (int64_t)expected->skipped[d], (int64_t)actual->skipped[d]);
    }
}

/* With the broker's numbers of topics: they may commit when the process and its names are gone. */
static void keep_offsets(struct sfi_oracle_instance *instance, struct sfi_oracle_epoch *epoch, const struct sf_cut *cut)
{
    struct sfi_oracle *oracle = instance->oracle;
    epoch->offset_count = cut->offset_count;
    epoch->offsets =
        cut->offset_count > 0 ? sf_malloc(oracle->alloc, cut->offset_count * sizeof *epoch->offsets) : NULL;
    for (uint32_t i = 0; i < cut->offset_count; i++) {
        epoch->offsets[i] = cut->offsets[i];
        epoch->offsets[i].tp.topic = sf_sim_kafka_topic(
            oracle->world.broker, sf_kafka_topic_name(instance->info.kafka, cut->offsets[i].tp.topic));
    }
}

void sfi_oracle_fixed(void *ctx, const struct sf_cut *cut)
{
    struct sfi_oracle_instance *instance = ctx;
    struct sfi_oracle *oracle = instance->oracle;
    int64_t now_us = oracle->world.world->mono_us;
    if (oracle->is_broken || instance->is_former) return;
    if (instance->fixed != instance->committed)
        sfi_oracle_say_epoch(oracle, "X11", cut->epoch, "is fixed after this epoch has committed (B1)",
                             (int64_t)instance->fixed, (int64_t)instance->committed);
    if (cut->epoch <= instance->fixed && !oracle->is_loose)
        sfi_oracle_say_epoch(oracle, "X11", cut->epoch, "epochs rise (B12): at least", (int64_t)instance->fixed + 1,
                             (int64_t)cut->epoch);
    if (cut->stamp != instance->watermark && !instance->is_watermark_open)
        sfi_oracle_say_epoch(oracle, "X2", cut->epoch, "stamp (B4)", instance->watermark, cut->stamp);
    if (!instance->is_recomputed)
        sfi_oracle_say_epoch(oracle, "X2", cut->epoch, "the watermark is computed anew for a barrier (G2b)", 1, 0);
    instance->is_recomputed = false;
    if (cut->epoch < instance->epoch_least)
        sfi_oracle_say_epoch(oracle, "X11", cut->epoch, "numbers of epochs are not used again (B12): at least",
                             (int64_t)instance->epoch_least, (int64_t)cut->epoch);
    if (cut->offset_count == 0) sfi_oracle_say_epoch(oracle, "X8", cut->epoch, "offsets in the cut (B14)", 1, 0);
    check_cadence(instance, cut, now_us);
    struct sfi_oracle_epoch *epoch = sfi_oracle_epoch_get(instance, cut->epoch);
    if (epoch != instance->newest || epoch->is_fixed)
        sfi_oracle_say_epoch(oracle, "X11", cut->epoch, "a barrier ends the epoch that runs (B1)",
                             (int64_t)instance->newest->number, (int64_t)cut->epoch);
    check_counts(oracle, cut, epoch);
    epoch->is_fixed = true;
    epoch->is_flush = cut->is_flush;
    epoch->stamp = cut->stamp;
    epoch->fixed_us = now_us;
    if (!oracle->is_exactly_once && epoch->offsets == NULL) keep_offsets(instance, epoch, cut);
    instance->fixed = cut->epoch;
    instance->base = SFI_ORACLE_BASE_FIXED;
    instance->base_us = now_us;
    instance->is_fixed_now = true;
}

/* Of lanes that were there before: one that never begins holds the start up. */
void sfi_oracle_crossing_watch(struct sfi_oracle_instance *instance)
{
    struct sfi_oracle *oracle = instance->oracle;
    uint32_t lanes = oracle->world.lanes, count = oracle->world.plan->sub_count * lanes;
    int64_t waited_us = oracle->world.world->mono_us - instance->base_us;
    int64_t most_us = oracle->world.topology->settings.barrier_timeout_ms * 1000 + CROSSING_SLACK_US;
    if (instance->base != SFI_ORACLE_BASE_FIXED || instance->fixed == instance->published) return;
    for (uint32_t i = 0; i < count && waited_us > most_us; i++)
        if (instance->lanes[i].crossed < instance->fixed && instance->lanes[i].crossed > instance->lanes[i].begun)
            say_lane(oracle, "X3", i / lanes, i % lanes, "us that a barrier is waited for (B9), at most", most_us,
                     waited_us);
}

/* With records in the epoch that runs, its barrier comes when the interval is over (B2). */
void sfi_oracle_barrier_watch(struct sfi_oracle_instance *instance, int64_t wake_us)
{
    struct sfi_oracle *oracle = instance->oracle;
    const struct sfi_oracle_epoch *epoch = instance->newest;
    int64_t now_us = oracle->world.world->mono_us;
    bool is_owed = epoch != NULL && !epoch->is_fixed && epoch->count > 0 && instance->fixed == instance->published;
    instance->due_us = -1;
    if (oracle->world.is_barrier_manual || oracle->is_broken || !is_owed) return;
    if (instance->seen_us < instance->published_us) instance->seen_us = now_us; /* of the commit, at the latest */
    int64_t due_us = instance->base_us + interval_most_us(instance);
    due_us = sf_time_max(due_us, sf_time_max(instance->seen_us, epoch->begun_us));
    instance->due_us = due_us;
    instance->slept_us = wake_us;
    if (now_us > due_us + BARRIER_SLACK_US)
        sfi_oracle_say_epoch(oracle, "X3", epoch->number, "us without a barrier, with records to commit, at most (B2)",
                             due_us - instance->base_us, now_us - instance->base_us);
}
