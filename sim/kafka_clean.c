/* What a broker does to old records: compaction by key, retention by time. Offsets stay what they were. */
#include <stdlib.h>

#include "core/hash.h"
#include "sim/kafka_broker.h"

#define RETENTION_MS_DEFAULT INT64_C(604800000)

/* Newest offset by key: open addressing, looked up only. */
struct newest {
    struct newest_slot {
        const struct sf_record *record; /* NULL: free */
        uint64_t hash;
    } *slots;
    size_t mask;
};

static bool is_hidden(const struct sfi_chunk *chunk)
{
    return chunk->is_control || (chunk->txn != NULL && chunk->txn->state == SF_SIM_KAFKA_ABORTED);
}

static struct newest_slot *newest_find(const struct newest *newest, struct sf_slice key)
{
    uint64_t hash = sf_hash64(key.data, key.len);
    for (size_t i = (size_t)hash & newest->mask;; i = (i + 1) & newest->mask) {
        struct newest_slot *slot = &newest->slots[i];
        if (slot->record == NULL) {
            slot->hash = hash;
            return slot;
        }
        if (slot->hash == hash && slot->record->key.len == key.len &&
            memcmp(slot->record->key.data, key.data, key.len) == 0)
            return slot;
    }
}

/* `end`: position in chunks behind the last that may be compacted. */
static void newest_build(const struct sfi_log *log, uint32_t end, struct newest *newest)
{
    size_t records = 0, cap = 16;
    for (uint32_t i = log->first; i < end; i++) records += log->chunks[i]->count;
    while (cap < 2 * records) cap *= 2;
    newest->mask = cap - 1;
    newest->slots = sf_calloc(log->broker->alloc, cap, sizeof *newest->slots);
    for (uint32_t i = log->first; i < end; i++) {
        const struct sfi_chunk *chunk = log->chunks[i];
        for (uint32_t at = 0; !is_hidden(chunk) && at < chunk->count; at++)
            if (chunk->records[at].key.data != NULL)
                newest_find(newest, chunk->records[at].key)->record = &chunk->records[at];
    }
}

static bool is_kept(const struct newest *newest, const struct sf_record *record,
                    const struct sf_sim_kafka_compaction *how)
{
    if (record->key.data == NULL) return true;
    if (record->value.data == NULL && how->is_tombstones_dropped) return false;
    return newest_find(newest, record->key)->record == record;
}

/* The chunk without what is not kept; NULL if nothing is; takes the pin of `chunk`. */
static struct sfi_chunk *chunk_compact(struct sf_alloc alloc, struct sfi_chunk *chunk, const struct newest *newest,
                                       const struct sf_sim_kafka_compaction *how)
{
    if (chunk->is_control && !how->is_markers_dropped) return chunk;
    struct sfi_chunk *kept = NULL;
    for (uint32_t i = 0; !is_hidden(chunk) && i < chunk->count; i++) {
        const struct sf_record *record = &chunk->records[i];
        if (!is_kept(newest, record, how)) continue;
        if (kept == NULL) kept = sfi_chunk_new(alloc, chunk->count, chunk->byte_count);
        bool is_added = sfi_chunk_add(kept, &(struct sf_out){.key = record->key, .value = record->value,
                                                             .headers = record->headers, .ts_ms = record->ts_ms});
        assert(is_added);
        (void)is_added;
        kept->records[kept->count - 1].offset = record->offset;
        kept->records[kept->count - 1].ts_kind = record->ts_kind;
    }
    if (kept != NULL) {
        kept->txn = chunk->txn;
        if (kept->txn != NULL) sfi_txn_ref(kept->txn);
        kept->producer_id = chunk->producer_id;
        kept->producer_epoch = chunk->producer_epoch;
        kept->base_offset = chunk->base_offset;
        kept->next_offset = chunk->next_offset;
        kept->ts_max_ms = chunk->ts_max_ms;
    }
    return kept;
}

void sf_sim_kafka_compact(struct sf_sim_kafka *broker, struct sf_tp tp, const struct sf_sim_kafka_compaction *how)
{
    struct sfi_log *log = sfi_broker_log(broker, tp);
    assert(log != NULL);
    int64_t stable = sfi_log_stable(log);
    uint32_t last = log->first + log->count, end = log->first, kept_end = log->first;
    while (end < last && log->chunks[end]->next_offset <= stable) end++;
    struct newest newest;
    newest_build(log, end, &newest);
    /* records are compared by address with the newest ones: old chunks go only when all are done */
    struct sfi_chunk **old = sf_calloc(broker->alloc, log->count, sizeof(struct sfi_chunk *));
    uint32_t old_count = 0;
    for (uint32_t i = log->first; i < last; i++) {
        struct sfi_chunk *chunk = log->chunks[i];
        struct sfi_chunk *kept = i < end ? chunk_compact(broker->alloc, chunk, &newest, how) : chunk;
        if (kept != chunk) old[old_count++] = chunk;
        if (kept != NULL) log->chunks[kept_end++] = kept;
    }
    if (end == last) log->is_tail_open = false;
    for (uint32_t i = 0; i < old_count; i++) sfi_chunk_unpin(broker->alloc, old[i]);
    sf_cfree(broker->alloc, old, log->count, sizeof(struct sfi_chunk *));
    sf_cfree(broker->alloc, newest.slots, newest.mask + 1, sizeof *newest.slots);
    log->count = kept_end - log->first;
}

static void log_sweep(struct sfi_log *log, int64_t before_ms)
{
    int64_t start = log->start;
    for (uint32_t i = log->first; i < log->first + log->count; i++) {
        const struct sfi_chunk *chunk = log->chunks[i];
        if (chunk->ts_max_ms >= before_ms || chunk->next_offset > sfi_log_stable(log)) break;
        start = chunk->next_offset;
    }
    sfi_log_truncate(log, start);
}

void sf_sim_kafka_sweep(struct sf_sim_kafka *broker, int64_t now_ms)
{
    for (uint32_t topic = 0; topic < broker->topic_count; topic++) {
        const char *policy = sf_sim_kafka_setting(broker, topic, "cleanup.policy");
        if (policy != NULL && strstr(policy, "delete") == NULL) continue;
        const char *retention = sf_sim_kafka_setting(broker, topic, "retention.ms");
        int64_t retention_ms = retention != NULL ? strtoll(retention, NULL, 10) : RETENTION_MS_DEFAULT;
        if (retention_ms < 0) continue;
        for (int32_t i = 0; i < broker->topics[topic].partition_count; i++)
            log_sweep(broker->topics[topic].logs[i], now_ms - retention_ms);
    }
}
