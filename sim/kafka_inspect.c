/* The outside world's records, and what the oracle may look at. */
#include "sim/kafka_broker.h"

#include "sim/kafka_group.h"
#include "sim/kafka_txn.h"

static struct sfi_log *log_of(struct sf_sim_kafka *broker, struct sf_tp tp)
{
    struct sfi_log *log = sfi_broker_log(broker, tp);
    assert(log != NULL);
    return log;
}

int64_t sf_sim_kafka_append(struct sf_sim_kafka *broker, struct sf_tp tp, const struct sf_out *records, uint32_t count)
{
    assert(count > 0);
    return sfi_log_append_plain(log_of(broker, tp), records, count);
}

void sf_sim_kafka_truncate(struct sf_sim_kafka *broker, struct sf_tp tp, int64_t before)
{
    sfi_log_truncate(log_of(broker, tp), before);
}

void sf_sim_kafka_discard(struct sf_sim_kafka *broker, struct sf_tp tp, int64_t before)
{
    sfi_log_discard(log_of(broker, tp), before, 1);
}

bool sf_sim_kafka_is_missed(const struct sf_sim_kafka *broker)
{
    return broker->is_missed;
}

/* ---------------------------------------------------------------- foreign transactions */

struct sf_sim_kafka_txn {
    struct sfi_txn *txn;
    struct sfi_log **logs; /* in the order added */
    uint32_t log_count;
    uint32_t log_cap;
};

struct sf_sim_kafka_txn *sf_sim_kafka_foreign_begin(struct sf_sim_kafka *broker)
{
    struct sf_sim_kafka_txn *foreign = sf_malloc(broker->alloc, sizeof *foreign);
    *foreign = (struct sf_sim_kafka_txn){.txn = sfi_broker_txn_new(broker, ++broker->producer_id_last, 0)};
    return foreign;
}

static void foreign_add_log(struct sf_sim_kafka *broker, struct sf_sim_kafka_txn *foreign, struct sfi_log *log)
{
    for (uint32_t i = 0; i < foreign->log_count; i++)
        if (foreign->logs[i] == log) return;
    if (foreign->log_count == foreign->log_cap) {
        uint32_t cap = foreign->log_cap == 0 ? 4 : foreign->log_cap * 2;
        foreign->logs = sf_regrow(broker->alloc, foreign->logs, foreign->log_cap * sizeof(struct sfi_log *),
                                  foreign->log_count * sizeof(struct sfi_log *), cap * sizeof(struct sfi_log *));
        foreign->log_cap = cap;
    }
    foreign->logs[foreign->log_count++] = log;
}

int64_t sf_sim_kafka_foreign_append(struct sf_sim_kafka *broker, struct sf_sim_kafka_txn *foreign, struct sf_tp tp,
                                    const struct sf_out *records, uint32_t count)
{
    assert(count > 0);
    struct sfi_log *log = log_of(broker, tp);
    foreign_add_log(broker, foreign, log);
    int64_t base = log->end;
    struct sfi_chunk *chunk = NULL;
    for (uint32_t i = 0; i < count;) {
        chunk = sfi_chunk_new_for(broker->alloc, NULL, 1, &records[i], count - i);
        chunk->producer_id = foreign->txn->producer_id;
        chunk->txn = foreign->txn;
        sfi_txn_ref(foreign->txn);
        while (i < count && sfi_chunk_add(chunk, &records[i])) i++;
        (void)sfi_log_append(log, chunk);
    }
    return base;
}

void sf_sim_kafka_foreign_end(struct sf_sim_kafka *broker, struct sf_sim_kafka_txn *foreign, bool is_commit)
{
    foreign->txn->state = is_commit ? SF_SIM_KAFKA_COMMITTED : SF_SIM_KAFKA_ABORTED;
    for (uint32_t i = 0; i < foreign->log_count; i++) sfi_log_mark(foreign->logs[i], foreign->txn, is_commit, 0);
    sfi_txn_unref(broker->alloc, foreign->txn);
    sf_free(broker->alloc, foreign->logs, foreign->log_cap * sizeof(struct sfi_log *));
    sf_free(broker->alloc, foreign, sizeof *foreign);
    sfi_broker_retry_parked(broker);
}

/* ---------------------------------------------------------------- inspection */

int64_t sf_sim_kafka_log_end(struct sf_sim_kafka *broker, struct sf_tp tp, enum sf_log_end which)
{
    const struct sfi_log *log = log_of(broker, tp);
    if (which == SF_LOG_START) return log->start;
    return which == SF_LOG_END ? log->end : sfi_log_stable(log);
}

bool sf_sim_kafka_log_next(struct sf_sim_kafka *broker, struct sf_tp tp, int64_t *offset,
                           struct sf_sim_kafka_entry *entry_out)
{
    const struct sfi_log *log = log_of(broker, tp);
    if (*offset < log->start) *offset = log->start;
    for (uint32_t i = sfi_log_find(log, *offset); i < log->first + log->count; i++) {
        const struct sfi_chunk *chunk = log->chunks[i];
        uint32_t at = sfi_chunk_find(chunk, *offset);
        if (!chunk->is_control && at == chunk->count) continue; /* only offsets that compaction emptied are left */
        *entry_out = (struct sf_sim_kafka_entry){
            .record = chunk->is_control ? NULL : &chunk->records[at],
            .offset = chunk->is_control ? chunk->base_offset : chunk->records[at].offset,
            .producer_id = chunk->producer_id, .producer_epoch = chunk->producer_epoch,
            .txn_serial = chunk->txn != NULL ? chunk->txn->serial : 0,
            .state = chunk->txn != NULL ? chunk->txn->state : SF_SIM_KAFKA_PLAIN,
            .is_control = chunk->is_control, .is_commit = chunk->is_commit};
        *offset = entry_out->offset + 1;
        return true;
    }
    return false;
}

struct sf_sim_kafka_committed sf_sim_kafka_committed(struct sf_sim_kafka *broker, const char *group_name,
                                                     struct sf_tp tp)
{
    struct sf_sim_kafka_committed view = {.offset = SF_OFFSET_UNKNOWN, .pending = SF_OFFSET_UNKNOWN};
    const struct sfi_group *group = sfi_group_find(broker, group_name);
    if (group == NULL) return view;
    const struct sfi_offset *item = sfi_offsets_find(&group->committed, tp);
    if (item != NULL) {
        view.offset = item->offset;
        if (item->metadata != NULL) view.metadata = (struct sf_slice){item->metadata, item->metadata_len};
    }
    item = sfi_offsets_find(&group->pending, tp);
    if (item != NULL) view.pending = item->offset;
    return view;
}

uint32_t sf_sim_kafka_metadata_lost(struct sf_sim_kafka *broker, const char *group_name)
{
    struct sfi_group *group = sfi_group_find(broker, group_name);
    return group != NULL ? sfi_offsets_strip(group) : 0;
}

void sf_sim_kafka_markers_delay(struct sf_sim_kafka *broker, const char *transactional_id, int64_t delay_us)
{
    assert(delay_us >= 0);
    sfi_coord_get(broker, transactional_id)->markers_delay_us = delay_us;
}

bool sf_sim_kafka_are_markers_delayed(struct sf_sim_kafka *broker, const char *transactional_id)
{
    return sfi_coord_get(broker, transactional_id)->markers_delay_us < 0;
}

bool sf_sim_kafka_txn_timeout(struct sf_sim_kafka *broker, const char *transactional_id)
{
    struct sfi_coord *coord = sfi_coord_find(broker, transactional_id);
    if (coord == NULL || coord->state != SFI_COORD_ONGOING) return false;
    sfi_txn_fence(coord);
    return true;
}
