#include "core/state/local_layout.h"

#include "core/bytes.h"
#include "core/hash.h"

#define META 0xffffu

enum { WHAT_ROW, WHAT_TRACE };

static void head_write(uint8_t *out, uint32_t store, int64_t start, uint32_t group)
{
    assert(store < SF_LOCAL_STORES_MAX && start >= 0 && group < SF_KEY_GROUPS);
    sf_put_be16(out, (uint16_t)store);
    sf_put_be64(out + 2, (uint64_t)start);
    out[10] = (uint8_t)group;
}

uint32_t sf_local_row_key_write(uint8_t *out, uint32_t store, int64_t start, uint64_t hash, const uint8_t *record_key,
                                uint32_t key_len)
{
    assert(key_len <= SF_LOCAL_KEY_BYTES_MAX);
    head_write(out, store, start, sf_key_group(hash));
    out[SF_LOCAL_UNIT_BYTES] = WHAT_ROW;
    if (key_len > 0) memcpy(out + SF_LOCAL_ROW_HEAD_BYTES, record_key, key_len);
    return SF_LOCAL_ROW_HEAD_BYTES + key_len;
}

void sf_local_trace_key_write(uint8_t out[SF_LOCAL_TRACE_KEY_BYTES], uint32_t store, const struct sf_packed_key *key)
{
    head_write(out, store, key->start, key->group);
    out[SF_LOCAL_UNIT_BYTES] = WHAT_TRACE;
    out[SF_LOCAL_UNIT_BYTES + 1] = (uint8_t)key->kind;
    sf_put_be32(out + SF_LOCAL_UNIT_BYTES + 2, key->slot);
}

static bool trace_read(struct sf_store_slice key, struct sf_local_row *row)
{
    if (key.len != SF_LOCAL_TRACE_KEY_BYTES || key.data[SF_LOCAL_UNIT_BYTES + 1] > SF_PACKED_IMAGE) return false;
    row->is_trace = true;
    row->packed_key = (struct sf_packed_key){
        .kind = key.data[SF_LOCAL_UNIT_BYTES + 1] == SF_PACKED_IMAGE ? SF_PACKED_IMAGE : SF_PACKED_ENTRIES,
        .start = row->start,
        .group = row->group,
        .slot = sf_get_be32(key.data + SF_LOCAL_UNIT_BYTES + 2)};
    return true;
}

bool sf_local_row_key_read(struct sf_store_slice key, struct sf_local_row *out)
{
    if (key.len < SF_LOCAL_ROW_HEAD_BYTES) return false;
    uint32_t store = sf_get_be16(key.data);
    uint64_t start = sf_get_be64(key.data + 2);
    if (store >= SF_LOCAL_STORES_MAX || start > INT64_MAX || key.data[10] >= SF_KEY_GROUPS) return false;
    *out = (struct sf_local_row){.store = store, .start = (int64_t)start, .group = key.data[10]};
    if (key.data[SF_LOCAL_UNIT_BYTES] == WHAT_TRACE) return trace_read(key, out);
    out->record_key =
        (struct sf_slice){.data = key.data + SF_LOCAL_ROW_HEAD_BYTES, .len = key.len - SF_LOCAL_ROW_HEAD_BYTES};
    return key.data[SF_LOCAL_UNIT_BYTES] == WHAT_ROW;
}

/* The end is the head with its last byte one higher, carried on; stores end below META, so it never runs over. */
static struct sf_local_range range_of(uint32_t store, int64_t start, uint32_t group, uint32_t len)
{
    struct sf_local_range range = {.len = len};
    head_write(range.from, store, start, group);
    memcpy(range.until, range.from, len);
    uint32_t at = len - 1;
    while (++range.until[at] == 0) at--;
    return range;
}

struct sf_local_range sf_local_store_range(uint32_t store)
{
    return range_of(store, 0, 0, 2);
}

struct sf_local_range sf_local_window_range(uint32_t store, int64_t start)
{
    return range_of(store, start, 0, 10);
}

struct sf_local_range sf_local_group_range(uint32_t store, int64_t start, uint32_t group)
{
    return range_of(store, start, group, SF_LOCAL_UNIT_BYTES);
}

/* ------------------------------------------------------------------ positions */

uint32_t sf_local_position_key_write(uint8_t *out, const char *topic, int32_t partition)
{
    size_t len = strlen(topic);
    assert(len + 10 <= SF_LOCAL_POSITION_KEY_BYTES_MAX && partition >= 0);
    sf_put_be16(out, META);
    memcpy(out + 2, "pos", 3);
    memcpy(out + 5, topic, len + 1);
    sf_put_be32(out + 6 + len, (uint32_t)partition);
    return (uint32_t)len + 10;
}

void sf_local_position_write(uint8_t out[8], int64_t offset)
{
    assert(offset >= 0);
    sf_put_be64(out, (uint64_t)offset);
}

enum sf_status sf_local_position_get(struct sf_store store, const char *topic, int32_t partition, int64_t *offset_out)
{
    uint8_t key[SF_LOCAL_POSITION_KEY_BYTES_MAX], value[8];
    uint32_t key_len = sf_local_position_key_write(key, topic, partition), len = 0;
    *offset_out = SF_OFFSET_UNKNOWN;
    enum sf_status status =
        sf_store_get(store, (struct sf_store_slice){.data = key, .len = key_len}, value, sizeof value, &len);
    if (status == SF_NOT_FOUND) return SF_OK;
    if (status == SF_E_FULL || (status == SF_OK && len != sizeof value)) return SF_E_CORRUPT;
    if (status != SF_OK) return status;
    if (sf_get_be64(value) > INT64_MAX) return SF_E_CORRUPT;
    *offset_out = (int64_t)sf_get_be64(value);
    return SF_OK;
}

/* ------------------------------------------------------------------ format */

struct sf_store_slice sf_local_format_key(void)
{
    static const uint8_t key[] = {0xff, 0xff, 'f', 'o', 'r', 'm', 'a', 't'};
    return (struct sf_store_slice){.data = key, .len = sizeof key};
}

void sf_local_format_write(uint8_t out[SF_LOCAL_FORMAT_BYTES], uint64_t identity)
{
    out[0] = SF_LOCAL_VERSION;
    sf_put_be64(out + 1, identity);
}

static enum sf_status check_empty(struct sf_store store)
{
    struct sf_store_iter iter;
    struct sf_store_slice key, value;
    enum sf_status status = sf_store_iter_open(store, &(struct sf_store_range){0}, &iter);
    if (status != SF_OK) return status;
    status = sf_store_iter_next(iter, &key, &value);
    sf_store_iter_close(iter);
    if (status == SF_END) return SF_NOT_FOUND;
    return status == SF_OK ? SF_E_CORRUPT : status;
}

enum sf_status sf_local_format_check(struct sf_store store, uint64_t identity)
{
    uint8_t stored[SF_LOCAL_FORMAT_BYTES], ours[SF_LOCAL_FORMAT_BYTES];
    uint32_t len = 0;
    enum sf_status status = sf_store_get(store, sf_local_format_key(), stored, sizeof stored, &len);
    if (status == SF_NOT_FOUND) return check_empty(store);
    if (status == SF_E_FULL) return SF_E_EXISTS; /* a later version may say more */
    if (status != SF_OK) return status;
    sf_local_format_write(ours, identity);
    return len == sizeof ours && memcmp(stored, ours, len) == 0 ? SF_OK : SF_E_EXISTS;
}

static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
    uint8_t pair[16];
    sf_put_be64(pair, hash);
    sf_put_be64(pair + 8, sf_hash64(data, len));
    return sf_hash64(pair, sizeof pair);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return text == NULL ? mix(hash, NULL, 0) : mix(hash, text, strlen(text) + 1);
}

static uint64_t mix_number(uint64_t hash, int64_t number)
{
    uint8_t bytes[8];
    sf_put_be64(bytes, (uint64_t)number);
    return mix(hash, bytes, sizeof bytes);
}

uint64_t sf_local_identity(const struct sf_topology *topology)
{
    uint64_t hash = mix_text(topology->settings.is_changelog_packed ? 1 : 0, topology->application_id);
    for (uint32_t i = 0; i < topology->step_count; i++) {
        const struct sf_step_spec *step = &topology->steps[i];
        if (step->kind != SF_STEP_AGGREGATE) continue;
        hash = mix_text(mix_number(hash, i), step->store.name);
        hash = mix_number(mix_number(hash, (int64_t)step->window.kind), step->window.size_ms);
        for (uint32_t k = 0; k < step->aggregate_count; k++) {
            const struct sf_aggregate_spec *field = &step->aggregates[k];
            hash = mix_text(mix_number(mix_text(hash, field->name), (int64_t)field->kind), field->expression);
        }
    }
    return hash;
}
