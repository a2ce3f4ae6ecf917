#include "core/state/packed.h"

#include "core/bytes.h"
#include "core/hash.h"
#include "core/ops/number.h"
#include "core/time/event_time.h"

#define KEY_VERSION 1u
#define FORMAT 1u
#define CHECK_AT 20u

static enum sf_status corrupt(const char **reason_out, const char *reason)
{
    *reason_out = reason;
    return SF_E_CORRUPT;
}

/* ------------------------------------------------------------------ keys */

void sf_packed_key_write(uint8_t out[SF_PACKED_KEY_BYTES], const struct sf_packed_key *key)
{
    assert(key->start >= 0 && key->group < SF_KEY_GROUPS);
    out[0] = KEY_VERSION;
    out[1] = (uint8_t)key->kind;
    sf_put_be64(out + 2, (uint64_t)key->start);
    sf_put_be16(out + 10, (uint16_t)key->group);
    sf_put_be32(out + 12, key->slot);
}

enum sf_status sf_packed_key_read(struct sf_slice key, struct sf_packed_key *out, const char **reason_out)
{
    if (key.data == NULL || key.len != SF_PACKED_KEY_BYTES) return corrupt(reason_out, "no key of a packed record");
    if (key.data[0] != KEY_VERSION) return corrupt(reason_out, "unknown version of the key");
    if (key.data[1] > SF_PACKED_IMAGE) return corrupt(reason_out, "unknown kind of record in the key");
    uint64_t start = sf_get_be64(key.data + 2);
    if (start > (uint64_t)SF_TIME_VALID_MAX) return corrupt(reason_out, "window start out of range in the key");
    *out = (struct sf_packed_key){.kind = key.data[1] == SF_PACKED_IMAGE ? SF_PACKED_IMAGE : SF_PACKED_ENTRIES,
                                  .start = (int64_t)start,
                                  .group = sf_get_be16(key.data + 10),
                                  .slot = sf_get_be32(key.data + 12)};
    if (out->group >= SF_KEY_GROUPS) return corrupt(reason_out, "key group out of range in the key");
    return SF_OK;
}

uint32_t sf_packed_schema(const struct sf_aggregate_spec *specs, uint32_t count)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *input = specs[i].expression != NULL ? specs[i].expression : "";
        uint8_t parts[32];
        sf_put_be64(parts, hash);
        sf_put_be64(parts + 8, sf_hash64(specs[i].name, strlen(specs[i].name)));
        sf_put_be64(parts + 16, (uint64_t)specs[i].kind);
        sf_put_be64(parts + 24, sf_hash64(input, strlen(input)));
        hash = sf_hash64(parts, sizeof parts);
    }
    return (uint32_t)hash;
}

/* ------------------------------------------------------------------ varints */

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

/* NULL: cut, or longer than 64 bits. */
static const uint8_t *get_varint(const uint8_t *at, const uint8_t *end, uint64_t *value_out)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64 && at < end; shift += 7) {
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1) return NULL;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value_out = value;
            return at;
        }
    }
    return NULL;
}

static uint64_t zigzag(int64_t value)
{
    return value < 0 ? ~((uint64_t)value << 1) : (uint64_t)value << 1;
}

static int64_t unzigzag(uint64_t value)
{
    return (int64_t)((value & 1) != 0 ? ~(value >> 1) : value >> 1);
}

static uint32_t varint_bytes(uint64_t value)
{
    uint32_t bytes = 1;
    for (; value >= 0x80; value >>= 7) bytes++;
    return bytes;
}

/* ------------------------------------------------------------------ values */

uint32_t sf_packed_value_write(uint8_t *out, int64_t start, int64_t ts_ms, const struct sf_acc *accs, uint32_t count)
{
    uint8_t *at = put_varint(out, zigzag(ts_ms - start));
    for (uint32_t i = 0; i < count; i++) {
        *at++ = (uint8_t)accs[i].kind;
        if (accs[i].kind == SF_ACC_INT) {
            at = put_varint(at, zigzag(accs[i].as.integer));
        } else if (accs[i].kind == SF_ACC_DOUBLE) {
            uint64_t bits;
            memcpy(&bits, &accs[i].as.real, sizeof bits);
            sf_put_be64(at, bits);
            at += 8;
        }
    }
    return (uint32_t)(at - out);
}

static const uint8_t *read_acc(const uint8_t *at, const uint8_t *end, struct sf_acc *acc_out)
{
    if (at == end) return NULL;
    uint8_t kind = *at++;
    *acc_out = (struct sf_acc){.kind = kind};
    if (kind == SF_ACC_NONE) return at;
    if (kind == SF_ACC_INT) {
        uint64_t value;
        at = get_varint(at, end, &value);
        if (at != NULL) acc_out->as.integer = unzigzag(value);
        return at;
    }
    if (kind != SF_ACC_DOUBLE || end - at < 8) return NULL;
    uint64_t bits = sf_get_be64(at);
    memcpy(&acc_out->as.real, &bits, sizeof bits);
    return sf_double_is_finite(acc_out->as.real) ? at + 8 : NULL;
}

enum sf_status sf_packed_value_read(struct sf_slice value, int64_t start, int64_t *ts_ms_out, struct sf_acc *accs,
                                    uint32_t count, const char **reason_out)
{
    const uint8_t *at = value.data, *end = value.data + value.len;
    uint64_t delta;
    at = get_varint(at, end, &delta);
    if (at == NULL) return corrupt(reason_out, "a row without its event time");
    *ts_ms_out = sf_time_add(start, unzigzag(delta));
    if (!sf_time_is_valid(*ts_ms_out)) return corrupt(reason_out, "event time out of range in a row");
    for (uint32_t i = 0; i < count; i++) {
        at = read_acc(at, end, &accs[i]);
        if (at == NULL) return corrupt(reason_out, "a row that does not have the aggregate's fields");
    }
    return at == end ? SF_OK : corrupt(reason_out, "bytes behind a row's last field");
}

/* ------------------------------------------------------------------ records */

static uint64_t check_of(const uint8_t *key, const uint8_t *value, uint32_t len)
{
    /* the hash of the hashes of what stands around the check */
    uint8_t parts[24];
    sf_put_be64(parts, sf_hash64(key, SF_PACKED_KEY_BYTES));
    sf_put_be64(parts + 8, sf_hash64(value, CHECK_AT));
    sf_put_be64(parts + 16, sf_hash64(value + SF_PACKED_HEAD_BYTES, len - SF_PACKED_HEAD_BYTES));
    return sf_hash64(parts, sizeof parts);
}

uint32_t sf_packed_room(uint32_t key_len, uint32_t value_len)
{
    return SF_PACKED_HEAD_BYTES + 10 + key_len + value_len;
}

void sf_packed_begin(struct sf_packed_builder *builder, uint8_t *data, uint32_t capacity)
{
    assert(capacity >= SF_PACKED_HEAD_BYTES);
    *builder = (struct sf_packed_builder){.data = data, .capacity = capacity, .used = SF_PACKED_HEAD_BYTES};
}

bool sf_packed_add(struct sf_packed_builder *builder, struct sf_slice record_key, struct sf_slice value)
{
    uint64_t need = (uint64_t)varint_bytes(record_key.len) + record_key.len + varint_bytes(value.len) + value.len;
    if (need > builder->capacity - builder->used) return false;
    uint8_t *at = put_varint(builder->data + builder->used, record_key.len);
    if (record_key.len > 0) memcpy(at, record_key.data, record_key.len);
    at = put_varint(at + record_key.len, value.len);
    memcpy(at, value.data, value.len);
    builder->used += (uint32_t)need;
    builder->count++;
    return true;
}

struct sf_slice sf_packed_end(struct sf_packed_builder *builder, const uint8_t key[SF_PACKED_KEY_BYTES],
                              uint32_t schema, uint64_t epoch)
{
    uint8_t *head = builder->data;
    memset(head, 0, SF_PACKED_HEAD_BYTES);
    head[0] = FORMAT;
    sf_put_be32(head + 4, schema);
    sf_put_be64(head + 8, epoch);
    sf_put_be32(head + 16, builder->count);
    sf_put_be64(head + CHECK_AT, check_of(key, head, builder->used));
    return (struct sf_slice){.data = head, .len = builder->used};
}

void sf_packed_resume(struct sf_packed_reader *reader, struct sf_slice value)
{
    assert(value.len >= SF_PACKED_HEAD_BYTES);
    *reader = (struct sf_packed_reader){.at = value.data + SF_PACKED_HEAD_BYTES,
                                        .end = value.data + value.len,
                                        .left = sf_get_be32(value.data + 16),
                                        .schema = sf_get_be32(value.data + 4),
                                        .epoch = sf_get_be64(value.data + 8)};
}

enum sf_status sf_packed_open(struct sf_packed_reader *reader, struct sf_slice key, struct sf_slice value,
                              const char **reason_out)
{
    assert(value.data != NULL && key.len == SF_PACKED_KEY_BYTES);
    if (value.len < SF_PACKED_HEAD_BYTES) return corrupt(reason_out, "value shorter than its head");
    if (value.data[0] != FORMAT) return corrupt(reason_out, "unknown format of the value");
    if (sf_get_be64(value.data + CHECK_AT) != check_of(key.data, value.data, value.len))
        return corrupt(reason_out, "the value's bytes are not those that were written");
    sf_packed_resume(reader, value);
    return SF_OK;
}

static bool take(struct sf_packed_reader *reader, struct sf_slice *out)
{
    uint64_t len;
    const uint8_t *at = get_varint(reader->at, reader->end, &len);
    if (at == NULL || len > (uint64_t)(reader->end - at)) return false;
    *out = (struct sf_slice){.data = at, .len = (uint32_t)len};
    reader->at = at + len;
    return true;
}

enum sf_status sf_packed_next(struct sf_packed_reader *reader, struct sf_slice *record_key_out,
                              struct sf_slice *value_out, const char **reason_out)
{
    if (reader->left == 0)
        return reader->at == reader->end ? SF_END : corrupt(reason_out, "bytes behind the last entry");
    if (!take(reader, record_key_out) || !take(reader, value_out)) return corrupt(reason_out, "an entry that is cut");
    reader->left--;
    return SF_OK;
}
