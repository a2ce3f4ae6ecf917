/* One instance as it reads: what it buffers lies in the log, what it judges is judged right, what it dispatches is the
 * oldest head (X4, X15 as it happens, T4, T5, D1–D3). */
#include <assert.h>
#include <string.h>

#include "core/hash.h"
#include "core/ops/serde.h"
#include "core/ops/timestamp.h"
#include "driver/oracle_heads.h"
#include "driver/oracle_parts.h"
#include "driver/oracle_time.h"

/* ---------------------------------------------------------------- blocks */

void sfi_oracle_block_drop(struct sfi_oracle *oracle, struct sfi_oracle_block *block, uint32_t count)
{
    assert(block->left >= count);
    block->left -= count;
    if (block->left == 0) sf_free(oracle->alloc, block, block->bytes);
}

static struct sf_slice copy_slice(uint8_t **at, struct sf_slice slice)
{
    struct sf_slice copy = {.data = slice.data != NULL ? *at : NULL, .len = slice.len};
    if (slice.data == NULL || slice.len == 0) return copy;
    memcpy(*at, slice.data, slice.len);
    *at += slice.len;
    return copy;
}

static struct sfi_oracle_block *copy_batch(struct sfi_oracle *oracle, const struct sf_batch *batch)
{
    size_t bytes = sizeof(struct sfi_oracle_block) + batch->count * sizeof(struct sfi_oracle_copy) + 1;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct sf_record *record = &batch->records[i];
        bytes += (size_t)record->key.len + record->value.len + record->headers.len;
    }
    struct sfi_oracle_block *block = sf_malloc(oracle->alloc, bytes);
    *block = (struct sfi_oracle_block){.bytes = bytes, .count = batch->count, .left = batch->count};
    uint8_t *at = (uint8_t *)&block->copies[batch->count];
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct sf_record *record = &batch->records[i];
        struct sfi_oracle_copy *copy = &block->copies[i];
        copy->offset = record->offset;
        copy->ts_ms = record->ts_kind == SF_TS_NONE ? SF_TIME_UNSET : record->ts_ms;
        copy->key = copy_slice(&at, record->key);
        copy->value = copy_slice(&at, record->value);
        copy->headers = copy_slice(&at, record->headers);
    }
    return block;
}

/* ---------------------------------------------------------------- judging a head (T4, T5, M5) */

/* False: the value cannot be read. */
static bool event_time(struct sfi_oracle *oracle, uint32_t source, const struct sfi_oracle_copy *copy, int64_t *ts_out)
{
    const struct sf_source_spec *spec = &oracle->world.topology->sources[source];
    struct sf_input_value value = {.serde = spec->value, .bytes = copy->value};
    struct sf_fault fault;
    *ts_out = copy->ts_ms;
    if (spec->is_validated && !sf_serde_check(&value, &fault)) return false;
    if (oracle->assigners[source] == NULL) return true;
    return sf_timestamp_assign(oracle->assigners[source], &value, ts_out, &fault);
}

static void judge_future(const struct sf_source_spec *spec, int64_t wall_ms, struct sfi_oracle_live *live)
{
    if (spec->max_future_skew_ms == SF_SPAN_NONE) return;
    int64_t limit = sf_time_add(wall_ms, spec->max_future_skew_ms);
    if (live->head_ts <= limit || spec->on_future == SF_FUTURE_ACCEPT) return;
    if (spec->on_future == SF_FUTURE_CLAMP) {
        live->head_time = limit > 0 ? limit : 0;
        return;
    }
    live->verdict = SFI_ORACLE_SKIP;
    live->reason = SF_DROP_FUTURE_TIMESTAMP;
}

static void judge(struct sfi_oracle *oracle, uint32_t source, struct sfi_oracle_live *live)
{
    const struct sf_source_spec *spec = &oracle->world.topology->sources[source];
    const struct sfi_oracle_copy *copy = &live->first->copies[live->first->at];
    int64_t ts;
    live->verdict = SFI_ORACLE_GO;
    if (!event_time(oracle, source, copy, &ts)) {
        live->verdict = spec->on_deserialization_error == SF_ERROR_FAIL ? SFI_ORACLE_FAIL : SFI_ORACLE_SKIP;
        live->reason = SF_DROP_DESERIALIZATION;
        return;
    }
    live->head_ts = live->head_time = ts;
    if (sf_time_is_valid(ts)) {
        judge_future(spec, sf_sim_world_wall_ms(oracle->world.world), live);
        return;
    }
    live->reason = SF_DROP_INVALID_TIMESTAMP;
    if (spec->on_invalid == SF_INVALID_FAIL)
        live->verdict = SFI_ORACLE_FAIL;
    else if (spec->on_invalid == SF_INVALID_SKIP || live->time_max == SF_TIME_UNSET)
        live->verdict = SFI_ORACLE_SKIP;
    else
        live->head_ts = live->head_time = live->time_max;
}

/* ---------------------------------------------------------------- the queue of one partition */

static void set_unsettled(struct sfi_oracle_instance *instance, struct sfi_oracle_live *live)
{
    bool is_unsettled = live->skip_count > 0 || (live->waiting > 0 && live->verdict == SFI_ORACLE_SKIP);
    if (is_unsettled == live->is_unsettled) return;
    live->is_unsettled = is_unsettled;
    if (is_unsettled)
        instance->unsettled_count++;
    else
        instance->unsettled_count--;
}

/* The head leaves the queue; its block is the caller's to keep or drop. */
static struct sfi_oracle_entry pop(struct sfi_oracle_live *live, uint32_t partition, bool is_skipped)
{
    struct sfi_oracle_block *block = live->first;
    struct sfi_oracle_entry entry = {.block = block,
                                     .copy = &block->copies[block->at],
                                     .ts_ms = live->head_ts,
                                     .time = live->head_time,
                                     .partition = partition,
                                     .is_skipped = is_skipped};
    block->at++;
    live->waiting--;
    if (block->at == block->count) live->first = block->next;
    if (live->first == NULL) live->last = NULL;
    return entry;
}

static void take_skip(struct sfi_oracle_instance *instance, uint32_t p, uint64_t epoch_number, enum sf_drop reason)
{
    struct sfi_oracle *oracle = instance->oracle;
    struct sfi_oracle_live *live = &instance->live[p];
    if (reason != live->reason)
        sfi_oracle_say_partition(oracle, "X5", &oracle->partitions[p], "reason of a skipped record (M3)",
                                 live->reason, reason);
    struct sfi_oracle_epoch *epoch = sfi_oracle_epoch_get(instance, epoch_number);
    epoch->counts[oracle->partitions[p].source].skipped[reason]++;
    sfi_oracle_epoch_add(instance, epoch, pop(live, p, true));
}

/* A new head: judged; what was announced as skipped goes. */
static void head(struct sfi_oracle_instance *instance, uint32_t p, bool is_served)
{
    struct sfi_oracle *oracle = instance->oracle;
    struct sfi_oracle_live *live = &instance->live[p];
    while (live->waiting > 0) {
        judge(oracle, oracle->partitions[p].source, live);
        if (live->verdict != SFI_ORACLE_SKIP || live->skip_count == 0) break;
        struct sfi_oracle_skip skip = live->skips[live->skip_first];
        if (skip.offset != live->first->copies[live->first->at].offset) break;
        live->skip_first++;
        live->skip_count--;
        if (live->skip_count == 0) live->skip_first = 0;
        take_skip(instance, p, skip.epoch, skip.reason);
    }
    bool is_ready = live->waiting > 0 && live->verdict == SFI_ORACLE_GO;
    bool is_ordered = sfi_oracle_is_ordered(oracle);
    int64_t key = is_ready && !is_ordered ? (int64_t)live->first->arrival : live->head_ts;
    sfi_oracle_heads_set(instance, p, is_ready, key);
    if (is_served && live->waiting <= oracle->world.topology->settings.buffered_records_max / 2)
        live->is_paused = live->is_pause_open = false;
    set_unsettled(instance, live);
    sfi_oracle_wait_update(instance, p);
    if (is_ready || is_served) sfi_oracle_time_reached(instance, p);
}

static void clear(struct sfi_oracle_instance *instance, uint32_t p)
{
    struct sfi_oracle_live *live = &instance->live[p];
    while (live->first != NULL) {
        struct sfi_oracle_block *block = live->first;
        live->first = block->next;
        sfi_oracle_block_drop(instance->oracle, block, block->count - block->at);
    }
    live->last = NULL;
    live->waiting = 0;
    live->is_paused = live->is_batch_new = false;
    live->skip_count = live->skip_first = 0;
    sfi_oracle_heads_set(instance, p, false, 0);
    set_unsettled(instance, live);
}

void sfi_oracle_live_clear(struct sfi_oracle_instance *instance)
{
    struct sf_alloc alloc = instance->oracle->alloc;
    for (uint32_t p = 0; p < instance->live_count; p++) {
        clear(instance, p);
        sf_free(alloc, instance->live[p].skips, instance->live[p].skip_capacity * sizeof *instance->live[p].skips);
    }
    sf_free(alloc, instance->live, instance->live_count * sizeof *instance->live);
    sf_free(alloc, instance->heads, instance->head_capacity * sizeof *instance->heads);
    sf_free(alloc, instance->waits, instance->wait_capacity * sizeof *instance->waits);
    sf_free(alloc, instance->partition_of, instance->partition_of_count * sizeof *instance->partition_of);
    instance->live = NULL;
    instance->heads = NULL;
    instance->waits = NULL;
    instance->wait_count = instance->wait_capacity = 0;
    instance->partition_of = NULL;
    instance->live_count = instance->head_count = instance->head_capacity = instance->partition_of_count = 0;
}

/* ---------------------------------------------------------------- what the engine tells */

/* Where reading begins: at the cut, or where S8 says (X15). */
static void check_begin(struct sfi_oracle *oracle, struct sfi_oracle_partition *partition, int64_t offset,
                        int64_t time_max, bool is_found)
{
    if (partition->is_begun && (partition->has_committed || offset == partition->committed)) {
        if (offset != partition->committed)
            sfi_oracle_say_partition(oracle, "X15", partition, "reading goes on at the committed offset",
                                     partition->committed, offset);
        else if (time_max != partition->time_max)
            sfi_oracle_say_partition(oracle, "X8", partition, "partition time resumed (S1)", partition->time_max,
                                     time_max);
        return;
    }
    bool is_earliest = is_found || oracle->world.topology->sources[partition->source].start == SF_START_EARLIEST;
    int64_t log_start = sf_sim_kafka_log_end(oracle->world.broker, partition->tp, SF_LOG_START);
    int64_t stable = sf_sim_kafka_log_end(oracle->world.broker, partition->tp, SF_LOG_STABLE_END);
    /* one that an earlier process found, and committed nothing of, is still to be read from its start */
    int64_t least = oracle->has_grown ? log_start : sf_time_max(log_start, partition->end_at_start);
    if (is_earliest ? offset != log_start : offset > stable || offset < least)
        sfi_oracle_say_partition(oracle, "X15", partition, "reading begins where S8 says",
                                 is_earliest ? log_start : stable, offset);
    partition->is_begun = true;
    partition->committed = offset;
    partition->time_max = SF_TIME_UNSET;
}

void sfi_oracle_assigned(void *ctx, struct sf_tp tp, int64_t offset, int64_t time_max)
{
    struct sfi_oracle_instance *instance = ctx;
    struct sfi_oracle *oracle = instance->oracle;
    uint32_t p;
    if (oracle->is_broken || instance->is_former) return;
    struct sfi_oracle_partition *partition = sfi_oracle_partition_get(instance, tp, &p);
    if (partition == NULL) {
        sfi_oracle_say(oracle, "X4", "assigned", "a partition of a source", "another topic");
        return;
    }
    struct sfi_oracle_live *live = &instance->live[p];
    bool has_more = live->waiting > 0 || live->read != offset;
    bool is_found = instance->time.has_stepped && !live->is_registered; /* while running (G4) */
    clear(instance, p);
    live->is_assigned = offset >= 0;
    if (offset < 0) live->is_leaving = false;
    partition->is_given_up = offset < 0;
    if (offset < 0) {
        sfi_oracle_wait_update(instance, p);
        return;
    }
    sfi_oracle_begin_reading(instance);
    if (instance->is_former) return;
    sfi_oracle_time_assigned(instance, p, has_more);
    check_begin(oracle, partition, offset, time_max, is_found);
    live->read = live->known = offset;
    live->time_max = time_max;
}

void sfi_oracle_leaves(struct sfi_oracle_instance *instance, struct sf_tp tp, bool is_leaving)
{
    for (uint32_t p = 0; p < instance->live_count && p < instance->oracle->partition_count; p++) {
        struct sf_tp other = instance->oracle->partitions[p].tp;
        if (other.topic != tp.topic || other.partition != tp.partition) continue;
        instance->live[p].is_leaving = is_leaving;
        instance->live[p].is_pause_open = true;
        sfi_oracle_wait_update(instance, p);
    }
}

static bool is_same(struct sf_slice a, struct sf_slice b)
{
    if ((a.data == NULL) != (b.data == NULL) || a.len != b.len) return false;
    return a.len == 0 || a.data == b.data || memcmp(a.data, b.data, a.len) == 0;
}

/* Every record of the batch is the next one in the log that a read-committed reader may see. */
static bool check_batch(struct sfi_oracle *oracle, const struct sfi_oracle_partition *partition,
                        struct sfi_oracle_live *live, const struct sf_batch *batch)
{
    struct sf_sim_kafka_entry entry = {0};
    int64_t offset = live->read;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct sf_record *record = &batch->records[i];
        bool is_there;
        do is_there = sf_sim_kafka_log_next(oracle->world.broker, partition->tp, &offset, &entry);
        while (is_there && (entry.is_control || entry.state == SF_SIM_KAFKA_ABORTED));
        if (!is_there || entry.offset != record->offset) {
            sfi_oracle_say_partition(oracle, "X4", partition, "next record read", is_there ? entry.offset : -1,
                                     record->offset);
            return false;
        }
        if (!is_same(entry.record->key, record->key) || !is_same(entry.record->value, record->value)) {
            sfi_oracle_say_partition(oracle, "X4", partition, "bytes of the record read", record->offset, -1);
            return false;
        }
    }
    int64_t stable = sf_sim_kafka_log_end(oracle->world.broker, partition->tp, SF_LOG_STABLE_END);
    if (offset > stable) {
        sfi_oracle_say_partition(oracle, "X4", partition, "reading stops at the last stable offset", stable, offset);
        return false;
    }
    return true;
}

void sfi_oracle_buffered(void *ctx, const struct sf_batch *batch)
{
    struct sfi_oracle_instance *instance = ctx;
    struct sfi_oracle *oracle = instance->oracle;
    const struct sf_settings *settings = &oracle->world.topology->settings;
    uint32_t p;
    if (oracle->is_broken || instance->is_former) return;
    struct sfi_oracle_partition *partition = sfi_oracle_partition_get(instance, batch->tp, &p);
    if (partition == NULL || !instance->live[p].is_assigned) {
        sfi_oracle_say(oracle, "X4", "buffered", "records of partitions that were taken", "another partition's");
        return;
    }
    struct sfi_oracle_live *live = &instance->live[p];
    if (!check_batch(oracle, partition, live, batch)) return;
    instance->polled += batch->count;
    if (instance->polled > settings->poll_records_max)
        sfi_oracle_say_partition(oracle, "X13", partition, "records of one poll (D1), at most",
                                 settings->poll_records_max, instance->polled);
    struct sfi_oracle_block *block = copy_batch(oracle, batch);
    block->arrival = ++instance->arrivals;
    live->is_batch_new = true;
    live->is_batch_known = batch->known_end != SF_OFFSET_UNKNOWN;
    live->is_batch_last = live->is_batch_known && batch->known_end <= batch->next_offset;
    if (live->last != NULL)
        live->last->next = block;
    else
        live->first = block;
    live->last = block;
    bool was_empty = live->waiting == 0;
    live->waiting += batch->count;
    live->read = live->known = batch->next_offset;
    uint64_t most = (uint64_t)settings->buffered_records_max - 1 + settings->poll_records_max;
    if (live->waiting > most)
        sfi_oracle_say_partition(oracle, "X13", partition, "records buffered (D1)", (int64_t)most, live->waiting);
    if (was_empty) head(instance, p, false);
}

/* The number that ingest gives a partition, resolved once. */
static uint32_t partition_of(struct sfi_oracle_instance *instance, uint32_t number, struct sf_tp tp)
{
    struct sf_alloc alloc = instance->oracle->alloc;
    if (number < instance->partition_of_count && instance->partition_of[number] != SFI_ORACLE_NONE)
        return instance->partition_of[number];
    if (number >= instance->partition_of_count) {
        uint32_t count = instance->partition_of_count, grown = count == 0 ? 16 : count * 2;
        while (grown <= number) grown *= 2;
        size_t item = sizeof *instance->partition_of;
        instance->partition_of = sf_regrow(alloc, instance->partition_of, count * item, count * item, grown * item);
        for (uint32_t i = count; i < grown; i++) instance->partition_of[i] = SFI_ORACLE_NONE;
        instance->partition_of_count = grown;
    }
    uint32_t p = SFI_ORACLE_NONE;
    if (sfi_oracle_partition_get(instance, tp, &p) != NULL) instance->partition_of[number] = p;
    return p;
}

/* L2. */
static uint64_t hash_of(const struct sfi_oracle_partition *partition, struct sf_slice key)
{
    if (key.data != NULL) return sf_hash64(key.data, key.len);
    uint32_t number = (uint32_t)partition->number;
    uint8_t bytes[4] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number};
    return sf_hash64(bytes, sizeof bytes);
}

static void add_head(struct sf_text *text, const struct sfi_oracle_instance *instance, uint32_t p)
{
    const struct sfi_oracle *oracle = instance->oracle;
    sf_text_add(text, oracle->world.topology->sources[oracle->partitions[p].source].topic);
    sf_text_add(text, "/");
    sf_text_add_int(text, oracle->partitions[p].number);
    sf_text_add(text, sfi_oracle_is_ordered(oracle) ? " at " : " batch ");
    sf_text_add_int(text, instance->heads[instance->live[p].heap_at].ts_ms);
}

static void say_order(struct sfi_oracle_instance *instance, uint32_t p)
{
    char words[2][SF_DRIVER_VALUE_BYTES];
    struct sf_text text;
    sf_text_init(&text, words[0], sizeof words[0]);
    add_head(&text, instance, instance->heads[0].partition);
    sf_text_init(&text, words[1], sizeof words[1]);
    add_head(&text, instance, p);
    sfi_oracle_say(instance->oracle, "X4",
                   sfi_oracle_is_ordered(instance->oracle) ? "the oldest head goes first (D2)"
                                                           : "what came first goes first (D4)",
                   words[0], words[1]);
}

static bool check_dispatch(struct sfi_oracle_instance *instance, uint32_t p, const struct sf_ref *ref)
{
    struct sfi_oracle *oracle = instance->oracle;
    const struct sfi_oracle_live *live = &instance->live[p];
    const struct sfi_oracle_partition *partition = &oracle->partitions[p];
    if (live->waiting == 0) {
        sfi_oracle_say_partition(oracle, "X4", partition, "record dispatched that was not read", -1,
                                 ref->record->offset);
        return false;
    }
    const struct sfi_oracle_copy *copy = &live->first->copies[live->first->at];
    if (copy->offset != ref->record->offset) {
        sfi_oracle_say_partition(oracle, "X4", partition, "next record in offset order (D3)", copy->offset,
                                 ref->record->offset);
        return false;
    }
    if (live->verdict != SFI_ORACLE_GO) {
        sfi_oracle_say_partition(oracle, "X5", partition, "a record that T4, T5 or M5 refuses is dispatched", -1,
                                 copy->offset);
        return false;
    }
    if (live->head_ts != ref->ts_ms) {
        sfi_oracle_say_partition(oracle, "X4", partition, "event time of a dispatched record", live->head_ts,
                                 ref->ts_ms);
        return false;
    }
    if (instance->heads[0].partition != p) {
        say_order(instance, p);
        return false;
    }
    if (ref->hash != hash_of(partition, copy->key)) {
        sfi_oracle_say_partition(oracle, "X4", partition, "hash of the key that picks the lane (L2)",
                                 (int64_t)hash_of(partition, copy->key), (int64_t)ref->hash);
        return false;
    }
    return true;
}

/* L5: at the limit dispatch stops. The engine counts more per record than these bytes, so it stops sooner. */
static bool check_memory(struct sfi_oracle_instance *instance, struct sfi_oracle_epoch *epoch)
{
    uint64_t bytes = 0, most = instance->oracle->world.topology->settings.uncommitted_bytes_max;
    for (const struct sfi_oracle_epoch *open = instance->epochs; open != NULL; open = open->next)
        if (open == epoch || open->number > instance->published) bytes += open->bytes;
    if (bytes < most) return true;
    sfi_oracle_say_epoch(instance->oracle, "X13", epoch->number, "bytes that have not committed (L5), below",
                         (int64_t)most, (int64_t)bytes);
    return false;
}

void sfi_oracle_dispatched(void *ctx, uint64_t epoch_number, const struct sf_ref *refs, const struct sf_tp *tps,
                           uint32_t count, int64_t watermark)
{
    struct sfi_oracle_instance *instance = ctx;
    struct sfi_oracle *oracle = instance->oracle;
    if (oracle->is_broken || instance->is_former) return;
    if (instance->is_watermark_open) {
        instance->watermark = watermark;
        instance->is_watermark_open = false;
        sfi_oracle_time_resumed(instance);
    }
    if (watermark != instance->watermark)
        sfi_oracle_say_epoch(oracle, "X1", epoch_number, "watermark that travels with dispatched records (G3)",
                             instance->watermark, watermark);
    struct sfi_oracle_epoch *epoch = sfi_oracle_epoch_get(instance, epoch_number);
    if (epoch->is_fixed)
        sfi_oracle_say_epoch(oracle, "X11", epoch_number, "records behind the epoch's barrier (B4)", 0, count);
    if (!sfi_oracle_time_may_dispatch(instance)) return;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t p = partition_of(instance, refs[i].partition, tps[i]);
        if (p == SFI_ORACLE_NONE || !check_dispatch(instance, p, &refs[i]) || !check_memory(instance, epoch)) return;
        struct sfi_oracle_live *live = &instance->live[p];
        uint32_t source = oracle->partitions[p].source;
        epoch->counts[source].dispatched++;
        epoch->counts[source].late += refs[i].ts_ms < watermark;
        live->time_max = sf_time_max(live->time_max, live->head_time);
        sfi_oracle_epoch_add(instance, epoch, pop(live, p, false));
        sfi_oracle_lane_sent(instance, oracle->world.plan->sources[source].sub,
                             sf_lane_of_hash(refs[i].hash, oracle->world.lanes), epoch_number, p,
                             refs[i].record->offset);
        head(instance, p, true);
        if (i + 1 == count)
            sfi_oracle_time_batch(instance, p);
        else if (live->waiting == 0 && !sfi_oracle_time_may_dispatch(instance))
            return;
    }
}

void sfi_oracle_skipped(void *ctx, uint64_t epoch, struct sf_tp tp, int64_t offset, enum sf_drop reason)
{
    struct sfi_oracle_instance *instance = ctx;
    struct sfi_oracle *oracle = instance->oracle;
    uint32_t p;
    if (oracle->is_broken || instance->is_former || sfi_oracle_partition_get(instance, tp, &p) == NULL) return;
    struct sfi_oracle_live *live = &instance->live[p];
    bool is_head = live->skip_count == 0 && live->waiting > 0 && live->verdict == SFI_ORACLE_SKIP &&
                   live->first->copies[live->first->at].offset == offset;
    if (is_head) {
        take_skip(instance, p, epoch, reason);
        head(instance, p, false);
        return;
    }
    /* told while the dispatch batch that leads to it is not told yet */
    if (live->skip_first + live->skip_count == live->skip_capacity) {
        uint32_t capacity = live->skip_capacity == 0 ? 16 : live->skip_capacity * 2;
        size_t item = sizeof *live->skips;
        live->skips = sf_regrow(oracle->alloc, live->skips, live->skip_capacity * item,
                                (live->skip_first + live->skip_count) * item, capacity * item);
        live->skip_capacity = capacity;
    }
    live->skips[live->skip_first + live->skip_count] =
        (struct sfi_oracle_skip){.offset = offset, .epoch = epoch, .reason = reason};
    live->skip_count++;
    set_unsettled(instance, live);
}

void sfi_oracle_live_stepped(struct sfi_oracle_instance *instance)
{
    struct sfi_oracle *oracle = instance->oracle;
    for (uint32_t p = 0; p < instance->live_count && instance->unsettled_count > 0; p++) {
        const struct sfi_oracle_live *live = &instance->live[p];
        if (!live->is_unsettled) continue;
        int64_t actual = live->skip_count > 0 ? live->skips[live->skip_first].offset : -1;
        int64_t expected = live->waiting > 0 && live->verdict == SFI_ORACLE_SKIP
                               ? live->first->copies[live->first->at].offset
                               : -1;
        sfi_oracle_say_partition(oracle, "X5", &oracle->partitions[p], "record skipped (T4, T5, M5)", expected, actual);
        return;
    }
}
