/* One epoch has committed: the model takes it, and everything that its transaction holds is compared. */
#include "driver/oracle_parts.h"

int64_t sfi_oracle_visible(struct sfi_oracle *oracle, struct sf_tp tp, int64_t offset)
{
    struct sf_sim_kafka_entry entry;
    int64_t stable = sf_sim_kafka_log_end(oracle->world.broker, tp, SF_LOG_STABLE_END);
    while (sf_sim_kafka_log_next(oracle->world.broker, tp, &offset, &entry)) {
        if (entry.is_control || entry.state == SF_SIM_KAFKA_ABORTED) continue;
        return entry.offset < stable ? entry.offset : stable;
    }
    return stable;
}

/* ---------------------------------------------------------------- the epoch's records */

static void feed_entry(struct sfi_oracle *oracle, const struct sfi_oracle_entry *entry)
{
    struct sfi_oracle_partition *partition = &oracle->partitions[entry->partition];
    if (!partition->is_moved) {
        int64_t next = oracle->is_loose ? entry->copy->offset
                                        : sfi_oracle_visible(oracle, partition->tp, partition->committed);
        /* what was truncated under our feet has left no record to look at (S7) */
        if (entry->copy->offset != next && entry->copy->offset >= partition->committed &&
            sf_sim_kafka_log_end(oracle->world.broker, partition->tp, SF_LOG_START) <= entry->copy->offset)
            sfi_oracle_say_partition(oracle, "X15", partition, "first record of the epoch", next, entry->copy->offset);
        if (entry->copy->offset < partition->committed)
            sfi_oracle_say_partition(oracle, "X15", partition, "first record of the epoch (was committed before)",
                                     partition->committed, entry->copy->offset);
        partition->is_moved = true;
    }
    partition->last = entry->copy->offset;
    if (entry->is_skipped) return;
    partition->time_max = sf_time_max(partition->time_max, entry->time);
    struct sfi_model_record record = {.key = entry->copy->key,
                                      .value = entry->copy->value,
                                      .headers = entry->copy->headers,
                                      .ts_ms = entry->ts_ms,
                                      .serde = oracle->world.topology->sources[partition->source].value};
    sfi_model_record(&oracle->model, partition->source, &record);
}

static void feed(struct sfi_oracle *oracle, const struct sfi_oracle_epoch *epoch)
{
    for (uint32_t i = 0; i < oracle->partition_count; i++) oracle->partitions[i].is_moved = false;
    for (uint32_t i = 0; i < epoch->count && !oracle->is_broken; i++) feed_entry(oracle, &epoch->entries[i]);
}

/* At-least-once: they have come. */
static void take_offsets(struct sfi_oracle *oracle, const struct sfi_oracle_epoch *epoch)
{
    for (uint32_t i = 0; i < epoch->offset_count; i++) {
        struct sfi_oracle_partition *partition = sfi_oracle_partition_of(oracle, epoch->offsets[i].tp);
        if (partition == NULL) continue;
        int64_t least = partition->is_moved ? partition->last + 1 : partition->committed;
        if (epoch->offsets[i].offset < least)
            sfi_oracle_say_partition(oracle, "X15", partition, "offset committed with the epoch's records", least,
                                     epoch->offsets[i].offset);
        partition->committed = epoch->offsets[i].offset;
        partition->has_committed = true;
    }
}

/* The offsets that must come with it. */
static void owe(struct sfi_oracle *oracle, uint64_t serial)
{
    for (uint32_t i = 0; i < oracle->partition_count; i++) {
        struct sfi_oracle_partition *partition = &oracle->partitions[i];
        if (!partition->is_moved) continue;
        partition->owed_serial = serial;
        partition->owed_low = partition->last + 1;
        partition->owed_high = sfi_oracle_visible(oracle, partition->tp, partition->last + 1);
        partition->committed = partition->owed_low;
        partition->has_committed = true;
    }
}

void sfi_oracle_offsets_check(struct sfi_oracle *oracle)
{
    for (uint32_t i = 0; i < oracle->partition_count; i++) {
        const struct sfi_oracle_partition *partition = &oracle->partitions[i];
        if (partition->owed_serial == 0 || oracle->is_broken) continue;
        sfi_oracle_say_partition(oracle, "X8", partition, "offset in the transaction of its records",
                                 partition->owed_low, -1);
    }
}

/* ---------------------------------------------------------------- what may be */

/* B3. */
static void check_content(struct sfi_oracle *oracle, const struct sfi_oracle_epoch *epoch, int64_t stamp_before)
{
    bool is_empty = epoch->count == 0 && epoch->stamp == stamp_before && !oracle->model.is_work_due &&
                    oracle->model.result_count == 0;
    if (is_empty && !epoch->is_flush && !oracle->world.is_barrier_manual)
        sfi_oracle_say_epoch(oracle, "X11", epoch->number, "barriers of empty epochs are put off (B3); records", 1, 0);
}

/* X7: nothing of this epoch can change what has left, or leaves with it. */
static void check_floors(struct sfi_oracle *oracle, uint64_t epoch)
{
    for (uint32_t i = 0; i < oracle->world.topology->step_count; i++) {
        const struct sfi_model_step *step = &oracle->model.steps[i];
        if (step->spec->kind != SF_STEP_AGGREGATE || step->spec->emit != SF_EMIT_ON_CLOSE) continue;
        if (step->emitted > step->floor)
            sfi_oracle_say_epoch(oracle, "X7", epoch, "floor, not below what has been emitted", step->emitted,
                                 step->floor);
    }
}

static void check_stopped(struct sfi_oracle *oracle, uint64_t epoch)
{
    if (oracle->model.failed_step == UINT32_MAX) return;
    sfi_oracle_say_epoch(oracle, "X6", epoch, "a record whose error stops the engine (M5) has committed; step", -1,
                         oracle->model.failed_step);
}

/* M6. */
static void add_counts(const struct sfi_oracle *oracle, struct sfi_oracle_instance *instance,
                       const struct sfi_oracle_epoch *epoch)
{
    for (uint32_t s = 0; s < oracle->world.topology->source_count; s++) {
        struct sf_source_counts *total = &instance->source_totals[s];
        total->dispatched += epoch->counts[s].dispatched;
        total->late += epoch->counts[s].late;
        for (uint32_t d = 0; d < SF_DROP_COUNT; d++) total->skipped[d] += epoch->counts[s].skipped[d];
    }
}

/* Whoever is gone has nothing to come any more. */
static void forget_others(struct sfi_oracle *oracle, const struct sfi_oracle_instance *instance)
{
    for (struct sfi_oracle_instance *other = oracle->instances; other != NULL; other = other->next) {
        if (other == instance || !other->is_over) continue;
        sfi_oracle_epochs_drop(other);
        sfi_oracle_live_clear(other);
    }
}

void sfi_oracle_commit(struct sfi_oracle *oracle, struct sfi_oracle_instance *instance, struct sfi_oracle_epoch *epoch,
                       struct sfi_oracle_txn *txn)
{
    bool is_continued = instance == oracle->last && epoch->run == oracle->last_run;
    int64_t stamp_before = oracle->model.ring.newest.w;
    uint64_t number = epoch->number;
    sfi_oracle_offsets_check(oracle);
    sfi_oracle_rows_clear(oracle, &oracle->expected);
    oracle->text_used = 0;
    sfi_model_begin(&oracle->model, is_continued);
    if (!oracle->is_loose) check_floors(oracle, number);
    feed(oracle, epoch);
    sfi_model_end(&oracle->model, number, epoch->stamp, epoch->is_flush);
    sfi_oracle_order_watch(oracle);
    check_stopped(oracle, number);
    if (epoch->stamp < stamp_before && !oracle->is_loose)
        sfi_oracle_say_epoch(oracle, "X1", number, "stamp, not below the newest committed one", stamp_before,
                             epoch->stamp);
    if (!oracle->is_loose) {
        check_content(oracle, epoch, stamp_before);
        sfi_oracle_rows_check(oracle, number, txn);
        sfi_oracle_stamp_check(oracle, number, txn->stamp, txn->stamp_len);
        sfi_oracle_frontiers_check(oracle, number, txn);
        sfi_oracle_state_check(oracle, number, txn);
    }
    if (oracle->is_exactly_once)
        owe(oracle, txn->serial);
    else
        take_offsets(oracle, epoch);
    sfi_model_settle(&oracle->model);
    oracle->last = instance;
    oracle->last_run = epoch->run;
    oracle->decided_us = oracle->world.world->mono_us;
    oracle->commit_count++;
    instance->committed = number;
    add_counts(oracle, instance, epoch);
    sfi_oracle_epoch_free_first(instance);
    forget_others(oracle, instance);
}
