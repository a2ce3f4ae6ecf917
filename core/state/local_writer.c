#include "core/state/local_writer.h"

#include "core/state/local_batch.h"
#include "core/state/local_layout.h"
#include "core/time/event_time.h"

#define SYNC_TAG 0 /* writes are numbered from 1 */
#define NO_BATCH UINT32_MAX
#define BATCHES (SF_LOCAL_WRITES_MAX + 1) /* being made, or under way */

enum batch_state { BATCH_FREE, BATCH_MAKING, BATCH_MADE, BATCH_WRITING };

struct sf_local_writer {
    struct sf_alloc alloc;
    struct sf_store store;
    uint64_t identity;
    uint64_t bytes_max;
    uint64_t replay_max;
    enum sf_status status;
    bool is_format_written;
    bool is_sync_due;        /* as soon as no batch is being made */
    bool is_sync_under_way;
    bool is_unsynced;        /* a batch has been cut since the last sync was due */
    uint64_t put_bytes;      /* of changelog records, since the last cut */
    uint64_t unsynced_bytes; /* of those that were cut since the last sync was due */
    uint32_t store_count;
    uint32_t log_count;
    int64_t *written_max;  /* by store: no window that starts later is in it */
    bool *is_wiped;        /* by store: the next batch deletes it first */
    struct sf_local_log *logs;
    int64_t *positions;    /* by log */
    bool *is_moved;        /* by log: since the last cut */
    uint32_t moved_count;
    uint32_t wiped_count;
    struct sfi_local_batch pending;
    struct sfi_local_batch batches[BATCHES];
    enum batch_state states[BATCHES];
    uint32_t making;       /* index, or NO_BATCH */
    uint32_t under_way;    /* writes of the store */
    uint64_t serial;       /* of the last write: its tag at the store */
};

struct sf_local_writer *sf_local_writer_new(const struct sf_local_writer_config *config)
{
    assert(config->store_count > 0 && config->store_count < SF_LOCAL_STORES_MAX);
    struct sf_local_writer *writer = sf_calloc(config->alloc, 1, sizeof *writer);
    writer->alloc = config->alloc;
    writer->store = config->store;
    writer->identity = config->identity;
    writer->bytes_max = config->bytes_max == 0 ? SF_LOCAL_BATCH_BYTES : config->bytes_max;
    writer->replay_max = config->replay_max == 0 ? SF_LOCAL_REPLAY_BYTES : config->replay_max;
    writer->is_format_written = !config->is_store_empty;
    writer->store_count = config->store_count;
    writer->log_count = config->log_count;
    writer->written_max = sf_calloc(writer->alloc, config->store_count, sizeof *writer->written_max);
    writer->is_wiped = sf_calloc(writer->alloc, config->store_count, sizeof *writer->is_wiped);
    for (uint32_t i = 0; i < config->store_count; i++) writer->written_max[i] = SF_TIME_UNSET;
    writer->logs = sf_calloc(writer->alloc, config->log_count, sizeof *writer->logs);
    writer->positions = sf_calloc(writer->alloc, config->log_count, sizeof *writer->positions);
    writer->is_moved = sf_calloc(writer->alloc, config->log_count, sizeof *writer->is_moved);
    for (uint32_t i = 0; i < config->log_count; i++) {
        writer->logs[i] = config->logs[i];
        writer->positions[i] = SF_OFFSET_UNKNOWN;
    }
    sfi_local_batch_init(&writer->pending, writer->alloc);
    for (uint32_t i = 0; i < BATCHES; i++) sfi_local_batch_init(&writer->batches[i], writer->alloc);
    writer->making = NO_BATCH;
    return writer;
}

void sf_local_writer_destroy(struct sf_local_writer *writer)
{
    if (writer == NULL) return;
    struct sf_alloc alloc = writer->alloc;
    sfi_local_batch_deinit(&writer->pending);
    for (uint32_t i = 0; i < BATCHES; i++) sfi_local_batch_deinit(&writer->batches[i]);
    sf_cfree(alloc, writer->written_max, writer->store_count, sizeof *writer->written_max);
    sf_cfree(alloc, writer->is_wiped, writer->store_count, sizeof *writer->is_wiped);
    sf_cfree(alloc, writer->logs, writer->log_count, sizeof *writer->logs);
    sf_cfree(alloc, writer->positions, writer->log_count, sizeof *writer->positions);
    sf_cfree(alloc, writer->is_moved, writer->log_count, sizeof *writer->is_moved);
    sf_cfree(alloc, writer, 1, sizeof *writer);
}

void sf_local_writer_found(struct sf_local_writer *writer, uint32_t store, int64_t start)
{
    assert(store < writer->store_count);
    writer->written_max[store] = sf_time_max(writer->written_max[store], start);
}

void sf_local_writer_wipe(struct sf_local_writer *writer, uint32_t store)
{
    assert(store < writer->store_count && writer->pending.entry_count == 0);
    if (writer->is_wiped[store]) return;
    writer->is_wiped[store] = true;
    writer->wiped_count++;
}

/* ------------------------------------------------------------------ failing */

static void free_batches(struct sf_local_writer *writer)
{
    for (uint32_t i = 0; i < BATCHES; i++) {
        if (writer->states[i] == BATCH_WRITING) continue; /* borrowed by the store until its event */
        sfi_local_batch_deinit(&writer->batches[i]);
        writer->states[i] = BATCH_FREE;
    }
    sfi_local_batch_deinit(&writer->pending);
    writer->making = NO_BATCH;
    writer->is_sync_due = false;
    writer->is_unsynced = false;
}

static void fail(struct sf_local_writer *writer, enum sf_status status)
{
    writer->status = status;
    free_batches(writer);
}

/* ------------------------------------------------------------------ gathering */

static bool can_hold(struct sf_local_writer *writer, uint32_t key_len)
{
    if (writer->status == SF_OK && key_len > SF_LOCAL_KEY_BYTES_MAX) fail(writer, SF_E_TOO_LARGE);
    return writer->status == SF_OK;
}

/* Only a record that is longer than such a key can hold one. */
static bool can_hold_packed(struct sf_local_writer *writer, struct sf_slice value)
{
    struct sf_packed_reader reader;
    struct sf_slice key, row;
    const char *reason;
    if (value.len <= SF_LOCAL_KEY_BYTES_MAX) return writer->status == SF_OK;
    sf_packed_resume(&reader, value);
    while (writer->status == SF_OK && sf_packed_next(&reader, &key, &row, &reason) == SF_OK)
        (void)can_hold(writer, key.len);
    return writer->status == SF_OK;
}

void sf_local_writer_put(struct sf_local_writer *writer, uint32_t store, int64_t start, uint64_t hash,
                         struct sf_slice record_key, struct sf_slice value)
{
    assert(store < writer->store_count);
    if (!can_hold(writer, record_key.len)) return;
    uint32_t key_len = SF_LOCAL_ROW_HEAD_BYTES + record_key.len;
    writer->put_bytes += key_len + value.len;
    struct sfi_local_entry entry = {.kind = value.data == NULL ? SFI_ENTRY_DELETE : SFI_ENTRY_PUT,
                                    .key_len = key_len & SFI_ENTRY_KEY_LEN_MAX,
                                    .value_len = value.len};
    uint8_t *bytes = sfi_local_batch_put(&writer->pending, store, start, sf_key_group(hash), entry);
    (void)sf_local_row_key_write(bytes, store, start, hash, record_key.data, record_key.len);
    if (value.len > 0) memcpy(bytes + key_len, value.data, value.len);
}

void sf_local_writer_put_packed(struct sf_local_writer *writer, uint32_t store, const struct sf_packed_key *key,
                                struct sf_slice value)
{
    assert(store < writer->store_count && key->group < SF_KEY_GROUPS);
    writer->put_bytes += SF_LOCAL_TRACE_KEY_BYTES + value.len;
    if (value.data == NULL && key->kind == SF_PACKED_IMAGE && key->slot == 0) {
        sf_local_writer_clear(writer, store, key->start, key->group);
        return;
    }
    if (!can_hold_packed(writer, value)) return;
    struct sfi_local_entry entry = {.kind = value.data == NULL ? SFI_ENTRY_DELETE : SFI_ENTRY_PACKED,
                                    .key_len = SF_LOCAL_TRACE_KEY_BYTES,
                                    .value_len = value.len};
    uint8_t *bytes = sfi_local_batch_put(&writer->pending, store, key->start, key->group, entry);
    sf_local_trace_key_write(bytes, store, key);
    if (value.len > 0) memcpy(bytes + SF_LOCAL_TRACE_KEY_BYTES, value.data, value.len);
}

/* What is in the store is known only while no batch is being made. */
void sf_local_writer_clear(struct sf_local_writer *writer, uint32_t store, int64_t start, uint32_t group)
{
    assert(store < writer->store_count && group < SF_KEY_GROUPS);
    if (writer->status != SF_OK) return;
    bool can_go = writer->making == NO_BATCH && start > writer->written_max[store];
    uint8_t *bytes = sfi_local_batch_clear(&writer->pending, store, start, group, can_go);
    if (bytes == NULL) return;
    struct sf_local_range range = sf_local_group_range(store, start, group);
    memcpy(bytes, range.from, range.len);
}

void sf_local_writer_position(struct sf_local_writer *writer, uint32_t log, int64_t offset)
{
    assert(log < writer->log_count && (offset >= 0 || offset == SF_OFFSET_UNKNOWN));
    writer->positions[log] = offset;
    if (!writer->is_moved[log]) writer->moved_count++;
    writer->is_moved[log] = true;
}

bool sf_local_writer_has_pending(const struct sf_local_writer *writer)
{
    if (writer->status != SF_OK) return false;
    return writer->pending.entry_count > 0 || writer->moved_count > 0 || writer->wiped_count > 0;
}

bool sf_local_writer_is_due(const struct sf_local_writer *writer)
{
    return writer->pending.bytes >= writer->bytes_max || writer->put_bytes >= writer->replay_max;
}

uint64_t sf_local_writer_bytes(const struct sf_local_writer *writer)
{
    uint64_t bytes = writer->pending.bytes;
    for (uint32_t i = 0; i < BATCHES; i++) bytes += writer->batches[i].bytes;
    return bytes;
}

bool sf_local_writer_is_full(const struct sf_local_writer *writer)
{
    return writer->status == SF_OK && sf_local_writer_bytes(writer) >= 2 * writer->bytes_max;
}

/* ------------------------------------------------------------------ writing */

static struct sf_store_slice copy(struct sfi_local_batch *batch, const uint8_t *data, uint32_t len)
{
    uint8_t *bytes = sfi_local_batch_take(batch, len);
    memcpy(bytes, data, len);
    return (struct sf_store_slice){.data = bytes, .len = len};
}

/* First what is wiped, so that later puts of the same batch stand. */
static void add_wipes(struct sf_local_writer *writer, struct sfi_local_batch *batch)
{
    for (uint32_t i = 0; i < writer->store_count && writer->wiped_count > 0; i++) {
        if (!writer->is_wiped[i]) continue;
        struct sf_local_range range = sf_local_store_range(i);
        sfi_local_batch_op(batch, (struct sf_store_op){.kind = SF_STORE_DELETE_RANGE,
                                                 .key = copy(batch, range.from, range.len),
                                                 .value = copy(batch, range.until, range.len)});
        writer->is_wiped[i] = false;
        writer->written_max[i] = SF_TIME_UNSET;
        writer->wiped_count--;
    }
}

/* Positions are those of the cut, whatever is put while the batch is made. */
static void add_positions(struct sf_local_writer *writer, struct sfi_local_batch *batch)
{
    for (uint32_t i = 0; i < writer->log_count && writer->moved_count > 0; i++) {
        if (!writer->is_moved[i]) continue;
        uint8_t key[SF_LOCAL_POSITION_KEY_BYTES_MAX], value[8];
        uint32_t len = sf_local_position_key_write(key, writer->logs[i].topic, writer->logs[i].partition);
        struct sf_store_op op = {.kind = SF_STORE_DELETE, .key = copy(batch, key, len)};
        if (writer->positions[i] != SF_OFFSET_UNKNOWN) {
            sf_local_position_write(value, writer->positions[i]);
            op.kind = SF_STORE_PUT;
            op.value = copy(batch, value, sizeof value);
        }
        sfi_local_batch_op(batch, op);
        writer->is_moved[i] = false;
        writer->moved_count--;
    }
}

static void add_format(struct sf_local_writer *writer, struct sfi_local_batch *batch)
{
    if (writer->is_format_written) return;
    uint8_t value[SF_LOCAL_FORMAT_BYTES];
    sf_local_format_write(value, writer->identity);
    sfi_local_batch_op(batch, (struct sf_store_op){.kind = SF_STORE_PUT,
                                             .key = sf_local_format_key(),
                                             .value = copy(batch, value, sizeof value)});
    writer->is_format_written = true;
}

bool sf_local_writer_cut(struct sf_local_writer *writer, uint64_t tag)
{
    if (writer->making != NO_BATCH) return false;
    if (writer->status != SF_OK) return true;
    uint32_t at = 0;
    while (writer->states[at] != BATCH_FREE) at++; /* one more than can be under way */
    struct sfi_local_batch *batch = &writer->batches[at];
    sfi_local_batch_deinit(batch);
    *batch = writer->pending;
    sfi_local_batch_init(&writer->pending, writer->alloc);
    batch->tag = tag;
    add_wipes(writer, batch);
    add_format(writer, batch);
    add_positions(writer, batch);
    writer->states[at] = BATCH_MAKING;
    writer->making = at;
    writer->is_unsynced = true;
    writer->unsynced_bytes += writer->put_bytes;
    writer->put_bytes = 0;
    if (writer->unsynced_bytes >= writer->replay_max) sf_local_writer_sync(writer);
    return true;
}

uint32_t sf_local_writer_step(struct sf_local_writer *writer, uint32_t budget)
{
    uint32_t used = 0;
    if (writer->making != NO_BATCH) {
        uint32_t at = writer->making;
        struct sfi_local_batch *batch = &writer->batches[at];
        if (writer->states[at] == BATCH_MAKING && sfi_local_batch_make(batch, writer->written_max, budget, &used))
            writer->states[at] = BATCH_MADE;
        if (writer->states[at] == BATCH_MADE && writer->under_way < SF_LOCAL_WRITES_MAX) {
            writer->making = NO_BATCH;
            if (batch->op_count > 0) {
                writer->states[at] = BATCH_WRITING;
                writer->under_way++;
                writer->serial++;
                batch->serial = writer->serial;
                sf_store_write(writer->store, batch->serial, batch->ops, batch->op_count);
            } else {
                writer->states[at] = BATCH_FREE; /* all of it had gone before it was ever written */
                sfi_local_batch_deinit(batch);
            }
        }
    }
    if (writer->is_sync_due && writer->making == NO_BATCH && !writer->is_sync_under_way) {
        writer->is_sync_due = false;
        writer->is_sync_under_way = true;
        sf_store_sync(writer->store, SYNC_TAG); /* of the batches given before it, whether they are in or not */
    }
    return used;
}

static uint64_t on_written(struct sf_local_writer *writer, uint64_t serial)
{
    uint32_t at = 0;
    while (at < BATCHES && (writer->states[at] != BATCH_WRITING || writer->batches[at].serial != serial)) at++;
    assert(at < BATCHES); /* a store tells only of what it was given */
    uint64_t tag = writer->batches[at].tag;
    writer->states[at] = BATCH_FREE;
    sfi_local_batch_deinit(&writer->batches[at]);
    writer->under_way--;
    return tag;
}

bool sf_local_writer_poll(struct sf_local_writer *writer, uint64_t *tag_out)
{
    struct sf_store_event event;
    while (sf_store_poll(writer->store, &event, 1) == 1) {
        if (event.kind == SF_STORE_SYNCED) writer->is_sync_under_way = false;
        bool is_write = event.kind == SF_STORE_WRITTEN;
        uint64_t tag = is_write ? on_written(writer, event.tag) : 0;
        if (event.status != SF_OK && writer->status == SF_OK) fail(writer, event.status);
        if (is_write && event.status == SF_OK) {
            *tag_out = tag;
            return true;
        }
    }
    return false;
}

void sf_local_writer_sync(struct sf_local_writer *writer)
{
    if (writer->status != SF_OK) return;
    writer->is_sync_due = true;
    writer->is_unsynced = false;
    writer->unsynced_bytes = 0;
}

bool sf_local_writer_is_unsynced(const struct sf_local_writer *writer)
{
    return writer->is_unsynced;
}

bool sf_local_writer_is_busy(const struct sf_local_writer *writer)
{
    return writer->making != NO_BATCH || writer->under_way > 0 || writer->is_sync_due ||
           writer->is_sync_under_way;
}

bool sf_local_writer_is_ready(const struct sf_local_writer *writer)
{
    return writer->making != NO_BATCH && (writer->states[writer->making] == BATCH_MAKING ||
                                          writer->under_way < SF_LOCAL_WRITES_MAX);
}

enum sf_status sf_local_writer_status(const struct sf_local_writer *writer)
{
    return writer->status;
}
