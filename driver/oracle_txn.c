/* What producers write and what coordinators decide. */
#include <string.h>

#include "core/bytes.h"
#include "core/hash.h"
#include "driver/oracle_parts.h"

#define ROW_KEY_TAIL 12u /* window start, sequence (K5) */

/* ---------------------------------------------------------------- topics by their names (K1, K2, K11) */

static bool is_name(const char *topic, const char *application, const char *store, const char *suffix)
{
    size_t a = strlen(application), s = strlen(store);
    if (strncmp(topic, application, a) != 0 || topic[a] != '-') return false;
    topic += a + 1;
    return strncmp(topic, store, s) == 0 && strcmp(topic + s, suffix) == 0;
}

static struct sfi_oracle_topic topic_new(enum sfi_oracle_topic_kind kind, uint32_t index, int32_t partitions)
{
    return (struct sfi_oracle_topic){.kind = kind, .index = index, .partition_count = partitions};
}

static struct sfi_oracle_topic classify(struct sfi_oracle *oracle, uint32_t number)
{
    const struct sf_topology *topology = oracle->world.topology;
    const char *name = sf_sim_kafka_topic_name(oracle->world.broker, number);
    int32_t partitions = sf_sim_kafka_partition_count(oracle->world.broker, number);
    for (uint32_t i = 0; i < topology->sink_count; i++)
        if (strcmp(topology->sinks[i].topic, name) == 0)
            return topic_new(SFI_ORACLE_TOPIC_SINK, i, partitions);
    if (is_name(name, topology->application_id, "stoatflow-watermark", "-changelog"))
        return topic_new(SFI_ORACLE_TOPIC_STAMPS, 0, partitions);
    for (uint32_t i = 0; i < topology->step_count; i++) {
        if (topology->steps[i].kind != SF_STEP_AGGREGATE) continue;
        const char *store = topology->steps[i].store.name;
        if (is_name(name, topology->application_id, store, "-changelog"))
            return topic_new(SFI_ORACLE_TOPIC_CHANGELOG, i, partitions);
        if (is_name(name, topology->application_id, store, "-emitfrontier-changelog"))
            return topic_new(SFI_ORACLE_TOPIC_FRONTIER, i, partitions);
    }
    return topic_new(SFI_ORACLE_TOPIC_OTHER, 0, partitions);
}

static int32_t width_of(const struct sfi_oracle *oracle, uint32_t sub)
{
    const struct sf_plan_sub *plan = &oracle->world.plan->subs[sub];
    int32_t widest = 1;
    for (uint32_t i = 0; i < plan->source_count; i++) {
        const char *name = oracle->world.topology->sources[plan->sources[i]].topic;
        uint32_t topic = sf_sim_kafka_topic(oracle->world.broker, name);
        int32_t count = sf_sim_kafka_partition_count(oracle->world.broker, topic);
        widest = count > widest ? count : widest;
    }
    for (uint32_t i = 0; i < plan->upstream_count; i++) {
        int32_t count = width_of(oracle, plan->upstream[i]);
        widest = count > widest ? count : widest;
    }
    return widest;
}

/* K13: as wide as the widest source that reaches it; where one has grown since, nothing is known. */
static void check_width(struct sfi_oracle *oracle, uint32_t number, const struct sfi_oracle_topic *topic)
{
    bool is_kept = topic->kind == SFI_ORACLE_TOPIC_CHANGELOG || topic->kind == SFI_ORACLE_TOPIC_FRONTIER;
    if (!is_kept || oracle->has_grown) return;
    char words[2][SF_TEXT_INT_BYTES];
    int32_t width = width_of(oracle, oracle->world.plan->steps[topic->index].sub);
    if (topic->partition_count != width)
        sfi_oracle_say(oracle, "X9", sf_sim_kafka_topic_name(oracle->world.broker, number),
                       sf_text_of_int(words[0], width), sf_text_of_int(words[1], topic->partition_count));
}

struct sfi_oracle_topic *sfi_oracle_topic_of(struct sfi_oracle *oracle, uint32_t number)
{
    if (number >= oracle->topic_capacity) {
        uint32_t capacity = oracle->topic_capacity == 0 ? 16 : oracle->topic_capacity;
        while (capacity <= number) capacity *= 2;
        struct sfi_oracle_topic *grown = sf_calloc(oracle->alloc, capacity, sizeof *grown);
        if (oracle->topic_capacity > 0) memcpy(grown, oracle->topics, oracle->topic_capacity * sizeof *grown);
        sf_free(oracle->alloc, oracle->topics, oracle->topic_capacity * sizeof *grown);
        oracle->topics = grown;
        oracle->topic_capacity = capacity;
    }
    struct sfi_oracle_topic *topic = &oracle->topics[number];
    if (topic->kind == SFI_ORACLE_TOPIC_NEW) {
        *topic = classify(oracle, number);
        check_width(oracle, number, topic);
    }
    return topic;
}

/* ---------------------------------------------------------------- transactions */

struct sfi_oracle_txn *sfi_oracle_txn_get(struct sfi_oracle *oracle, uint64_t serial)
{
    for (struct sfi_oracle_txn *txn = oracle->txns; txn != NULL; txn = txn->next)
        if (txn->serial == serial) return txn;
    struct sfi_oracle_txn *txn = oracle->txn_pool;
    if (txn != NULL) {
        oracle->txn_pool = txn->next;
    } else {
        txn = sf_malloc(oracle->alloc, sizeof *txn);
        *txn = (struct sfi_oracle_txn){.serial = serial};
        sfi_oracle_rows_init(oracle, &txn->rows);
    }
    txn->serial = serial;
    txn->next = oracle->txns;
    oracle->txns = txn;
    return txn;
}

static void clear_stamp(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn)
{
    sf_free(oracle->alloc, txn->stamp, txn->stamp_len);
    txn->stamp = NULL;
    txn->stamp_len = 0;
}

void sfi_oracle_txn_drop(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn)
{
    struct sfi_oracle_txn **link = &oracle->txns;
    while (*link != txn) link = &(*link)->next;
    *link = txn->next;
    sfi_oracle_rows_clear(oracle, &txn->rows);
    txn->change_count = txn->raise_count = txn->stamp_count = 0;
    clear_stamp(oracle, txn);
    txn->next = oracle->txn_pool;
    oracle->txn_pool = txn;
}

void sfi_oracle_txns_free(struct sfi_oracle *oracle)
{
    while (oracle->txns != NULL) sfi_oracle_txn_drop(oracle, oracle->txns);
    while (oracle->txn_pool != NULL) {
        struct sfi_oracle_txn *txn = oracle->txn_pool;
        oracle->txn_pool = txn->next;
        sfi_oracle_rows_deinit(oracle, &txn->rows);
        sf_free(oracle->alloc, txn->changes, txn->change_capacity * sizeof *txn->changes);
        sf_free(oracle->alloc, txn->raises, txn->raise_capacity * sizeof *txn->raises);
        sf_free(oracle->alloc, txn, sizeof *txn);
    }
}

/* ---------------------------------------------------------------- records that are written */

static void say_topic(struct sfi_oracle *oracle, const char *rule, struct sf_tp tp, const char *expected,
                      const char *actual)
{
    char subject[SF_DRIVER_SUBJECT_BYTES];
    struct sf_text text;
    sf_text_init(&text, subject, sizeof subject);
    sf_text_add(&text, sf_sim_kafka_topic_name(oracle->world.broker, tp.topic));
    sf_text_add(&text, "/");
    sf_text_add_int(&text, tp.partition);
    sfi_oracle_say(oracle, rule, subject, expected, actual);
}

void sfi_oracle_change_add(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn,
                           const struct sfi_oracle_change *change)
{
    if (txn->change_count == txn->change_capacity) {
        uint32_t capacity = txn->change_capacity == 0 ? 256 : txn->change_capacity * 2;
        size_t item = sizeof *txn->changes;
        txn->changes = sf_regrow(oracle->alloc, txn->changes, txn->change_capacity * item, txn->change_count * item,
                                 capacity * item);
        txn->change_capacity = capacity;
    }
    txn->changes[txn->change_count++] = *change;
}

static void add_change(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn, const struct sfi_oracle_topic *topic,
                       struct sf_tp tp, const struct sf_record *record)
{
    if (record->key.data == NULL || record->key.len < ROW_KEY_TAIL) {
        say_topic(oracle, "X9", tp, "a row's key: record key, window start, sequence (K5)", "a shorter key");
        return;
    }
    uint32_t key_len = record->key.len - ROW_KEY_TAIL;
    const uint8_t *tail = record->key.data + key_len;
    uint64_t start = sf_get_be64(tail);
    if (sf_get_be32(tail + 8) != 0 || start > INT64_MAX) {
        say_topic(oracle, "X9", tp, "sequence 0 and a start behind a row's key (K5)", "something else");
        return;
    }
    if (tp.partition != sf_partition_of_key(record->key.data, key_len, topic->partition_count))
        say_topic(oracle, "X9", tp, "a row in the partition of its record key (K13)", "another partition");
    uint64_t value_hash = record->value.data != NULL ? sf_hash64(record->value.data, record->value.len) : 1;
    struct sfi_oracle_change change = {
        .kind = record->value.data != NULL ? SFI_ORACLE_CHANGE_VALUE : SFI_ORACLE_CHANGE_TOMBSTONE,
        .step = topic->index,
        .start = (int64_t)start,
        .key_hash = sf_hash64(record->key.data, key_len),
        .value_hash = value_hash != 0 ? value_hash : 1,
        .tp = tp,
        .offset = record->offset};
    sfi_oracle_change_add(oracle, txn, &change);
}

static void add_packed(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn, const struct sfi_oracle_topic *topic,
                       struct sf_tp tp, const struct sf_record *record)
{
    if (!sfi_oracle_packed_read(oracle, txn, topic->index, tp, record))
        say_topic(oracle, "X9", tp, "a packed record (K5)", "something else");
    else if (tp.partition != (int32_t)(sf_get_be16(record->key.data + 10) % (uint32_t)topic->partition_count))
        say_topic(oracle, "X9", tp, "a packed record in the partition of its key group (K13)", "another partition");
}

void sfi_oracle_change_read(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn, const struct sfi_oracle_topic *topic,
                            struct sf_tp tp, const struct sf_record *record)
{
    if (oracle->world.topology->settings.is_changelog_packed)
        add_packed(oracle, txn, topic, tp, record);
    else
        add_change(oracle, txn, topic, tp, record);
}

static void add_raise(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn, const struct sfi_oracle_topic *topic,
                      struct sf_tp tp, const struct sf_record *record)
{
    if (record->value.data == NULL || record->value.len != 8) {
        say_topic(oracle, "X8", tp, "an emit frontier of 8 bytes (K2)", "something else");
        return;
    }
    if (txn->raise_count == txn->raise_capacity) {
        uint32_t capacity = txn->raise_capacity == 0 ? 16 : txn->raise_capacity * 2;
        size_t item = sizeof *txn->raises;
        txn->raises = sf_regrow(oracle->alloc, txn->raises, txn->raise_capacity * item, txn->raise_count * item,
                                capacity * item);
        txn->raise_capacity = capacity;
    }
    txn->raises[txn->raise_count++] =
        (struct sfi_oracle_raise){.step = topic->index, .emitted = (int64_t)sf_get_be64(record->value.data)};
}

static void add_stamp(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn, const struct sf_record *record)
{
    txn->stamp_count++;
    clear_stamp(oracle, txn);
    if (record->value.data == NULL || record->value.len == 0) return;
    txn->stamp = sf_malloc(oracle->alloc, record->value.len);
    txn->stamp_len = record->value.len;
    memcpy(txn->stamp, record->value.data, record->value.len);
}

static void add_row(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn, const struct sfi_oracle_topic *topic,
                    struct sf_tp tp, const struct sf_record *record)
{
    struct sfi_oracle_content content = {
        .key = record->key, .value = record->value, .headers = record->headers, .ts_ms = record->ts_ms};
    sfi_oracle_rows_add(oracle, &txn->rows, topic->index, tp.partition, record->offset, &content);
    sfi_oracle_least_wrote(oracle, oracle->sinks[topic->index].stands_for, &content);
}

void sfi_oracle_appended(void *ctx, struct sf_tp tp, const struct sf_record *records, uint32_t count,
                         uint64_t producer_id, int32_t producer_epoch, uint64_t txn_serial)
{
    struct sfi_oracle *oracle = ctx;
    if (oracle->is_broken || producer_id == 0) return;
    const struct sfi_oracle_topic *topic = sfi_oracle_topic_of(oracle, tp.topic);
    if (topic->kind == SFI_ORACLE_TOPIC_OTHER) return;
    if (oracle->is_exactly_once && txn_serial == 0) {
        say_topic(oracle, "X6", tp, "records inside a transaction", "records outside");
        return;
    }
    struct sfi_oracle_txn *txn = sfi_oracle_txn_get(oracle, txn_serial);
    txn->producer_id = producer_id;
    txn->producer_epoch = producer_epoch;
    for (uint32_t i = 0; i < count && !oracle->is_broken; i++) {
        switch (topic->kind) {
        case SFI_ORACLE_TOPIC_SINK: add_row(oracle, txn, topic, tp, &records[i]); break;
        case SFI_ORACLE_TOPIC_CHANGELOG: sfi_oracle_change_read(oracle, txn, topic, tp, &records[i]); break;
        case SFI_ORACLE_TOPIC_FRONTIER: add_raise(oracle, txn, topic, tp, &records[i]); break;
        case SFI_ORACLE_TOPIC_STAMPS: add_stamp(oracle, txn, &records[i]); break;
        case SFI_ORACLE_TOPIC_NEW:
        case SFI_ORACLE_TOPIC_OTHER: break;
        }
    }
}

/* ---------------------------------------------------------------- decisions */

static struct sfi_oracle_instance *instance_of(struct sfi_oracle *oracle, uint64_t incarnation)
{
    for (struct sfi_oracle_instance *instance = oracle->instances; instance != NULL; instance = instance->next)
        if (instance->info.incarnation == incarnation) return instance;
    return NULL;
}

/* X12: what commits is of the session opened last, and of who read the newest cut last. */
static bool check_writer(struct sfi_oracle *oracle, const struct sfi_oracle_txn *txn,
                         const struct sfi_oracle_instance *instance, uint64_t epoch)
{
    bool is_old = txn->producer_id == oracle->producer_id_max && txn->producer_epoch < oracle->producer_epoch_max;
    if (is_old)
        sfi_oracle_say_epoch(oracle, "X12", epoch, "producer epoch of what commits, at least",
                             oracle->producer_epoch_max, txn->producer_epoch);
    else if (instance != oracle->reader)
        sfi_oracle_say_epoch(oracle, "X12", epoch, "instance whose epoch commits: the one that took over",
                             oracle->reader != NULL ? oracle->reader->id : 0, instance->id);
    oracle->producer_id_max = txn->producer_id;
    oracle->producer_epoch_max = txn->producer_epoch;
    return !oracle->is_broken;
}

static void commit(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn)
{
    uint64_t incarnation = 0, number = 0;
    if (txn->stamp_count != 1 || !sfi_oracle_stamp_read(txn->stamp, txn->stamp_len, &incarnation, &number)) {
        char words[SF_TEXT_INT_BYTES];
        sfi_oracle_say(oracle, "X8", "a transaction", "one stamp that can be read (K1)",
                       sf_text_of_int(words, txn->stamp_count));
        return;
    }
    struct sfi_oracle_instance *instance = instance_of(oracle, incarnation);
    if (instance == NULL) {
        sfi_oracle_say_epoch(oracle, "X12", number, "incarnation of a process that was started", 1, 0);
        return;
    }
    if (!check_writer(oracle, txn, instance, number)) return;
    struct sfi_oracle_epoch *epoch = sfi_oracle_epoch_find(instance, number);
    if (epoch == NULL || !epoch->is_fixed || epoch != instance->epochs) {
        sfi_oracle_say_epoch(oracle, "X15", number, "commits: the oldest epoch that is fixed",
                             instance->epochs != NULL ? (int64_t)instance->epochs->number : -1, (int64_t)number);
        return;
    }
    if (epoch->fixed_us > instance->lost_us) {
        sfi_oracle_say_epoch(oracle, "X12", number, "us since ownership was lost, when what commits was fixed (B14)", 0,
                             epoch->fixed_us - instance->lost_us);
        return;
    }
    sfi_oracle_commit(oracle, instance, epoch, txn);
}

void sfi_oracle_decided(void *ctx, const char *transactional_id, uint64_t producer_id, int32_t producer_epoch,
                        uint64_t txn_serial, bool is_commit)
{
    struct sfi_oracle *oracle = ctx;
    if (oracle->is_broken || strcmp(transactional_id, oracle->world.topology->application_id) != 0) return;
    struct sfi_oracle_txn *txn = sfi_oracle_txn_get(oracle, txn_serial);
    txn->producer_id = producer_id;
    txn->producer_epoch = producer_epoch;
    if (is_commit) commit(oracle, txn);
    sfi_oracle_txn_drop(oracle, txn);
}

/* ---------------------------------------------------------------- offsets */

static int32_t sextet(uint8_t letter)
{
    if (letter >= 'A' && letter <= 'Z') return letter - 'A';
    if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9') return letter - '0' + 52;
    return letter == '+' ? 62 : letter == '/' ? 63 : -1;
}

/* K7: base64 of version 2 and a time, big-endian. False: it is not that. */
static bool read_metadata(struct sf_slice metadata, int64_t *time_out)
{
    uint8_t bytes[9];
    if (metadata.data == NULL || metadata.len != 12) return false;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t bits = 0;
        for (uint32_t k = 0; k < 4; k++) {
            int32_t six = sextet(metadata.data[i * 4 + k]);
            if (six < 0) return false;
            bits = bits << 6 | (uint32_t)six;
        }
        bytes[i * 3] = (uint8_t)(bits >> 16);
        bytes[i * 3 + 1] = (uint8_t)(bits >> 8);
        bytes[i * 3 + 2] = (uint8_t)bits;
    }
    if (bytes[0] != 2) return false;
    *time_out = (int64_t)sf_get_be64(bytes + 1);
    if (*time_out == -1) *time_out = SF_TIME_UNSET;
    return true;
}

struct sfi_oracle_partition *sfi_oracle_partition_of(struct sfi_oracle *oracle, struct sf_tp tp)
{
    for (uint32_t i = 0; i < oracle->partition_count; i++)
        if (oracle->partitions[i].tp.topic == tp.topic && oracle->partitions[i].tp.partition == tp.partition)
            return &oracle->partitions[i];
    return NULL;
}

static void check_offset(struct sfi_oracle *oracle, struct sfi_oracle_partition *partition, int64_t offset,
                         struct sf_slice metadata)
{
    bool is_owed = partition->owed_serial != 0;
    int64_t low = is_owed ? partition->owed_low : partition->committed;
    int64_t high = is_owed ? partition->owed_high : sfi_oracle_visible(oracle, partition->tp, partition->committed);
    int64_t time;
    if (offset < low || offset > high)
        sfi_oracle_say_partition(oracle, offset > high ? "X15" : "X8", partition,
                                 "offset committed with the epoch's records", low, offset);
    else if (!read_metadata(metadata, &time) || time != partition->time_max)
        sfi_oracle_say_partition(oracle, "X8", partition, "partition time beside the offset (K7)", partition->time_max,
                                 read_metadata(metadata, &time) ? time : -2);
    partition->owed_serial = 0;
    partition->committed = offset;
    partition->has_committed = true;
}

/* At-least-once: an epoch is committed when all offsets of its cut are. */
static void commit_by_offsets(struct sfi_oracle *oracle)
{
    struct sfi_oracle_instance *instance = oracle->reader;
    struct sfi_oracle_epoch *epoch = instance != NULL ? instance->epochs : NULL;
    const char *group = oracle->world.topology->application_id;
    if (epoch == NULL || !epoch->is_fixed) return;
    for (uint32_t i = 0; i < epoch->offset_count; i++) {
        struct sf_tp tp = epoch->offsets[i].tp;
        if (sf_sim_kafka_committed(oracle->world.broker, group, tp).offset != epoch->offsets[i].offset) return;
    }
    struct sfi_oracle_txn *txn = sfi_oracle_txn_get(oracle, 0);
    sfi_oracle_commit(oracle, instance, epoch, txn);
    sfi_oracle_txn_drop(oracle, txn);
}

void sfi_oracle_offset_committed(void *ctx, const char *group, struct sf_tp tp, int64_t offset,
                                 struct sf_slice metadata, uint64_t txn_serial)
{
    struct sfi_oracle *oracle = ctx;
    if (oracle->is_broken || strcmp(group, oracle->world.topology->application_id) != 0) return;
    struct sfi_oracle_partition *partition = sfi_oracle_partition_of(oracle, tp);
    if (partition == NULL) return;
    if (!oracle->is_exactly_once) {
        commit_by_offsets(oracle);
        return;
    }
    if (txn_serial == 0)
        sfi_oracle_say_partition(oracle, "X8", partition, "offsets are committed in transactions", -1, offset);
    else
        check_offset(oracle, partition, offset, metadata);
}
