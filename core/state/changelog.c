#include "core/state/changelog.h"

#include "core/bytes.h"
#include "core/time/event_time.h"

static enum sf_status corrupt(const char **reason_out, const char *reason)
{
    *reason_out = reason;
    return SF_E_CORRUPT;
}

uint32_t sf_row_key_write(uint8_t *out, const uint8_t *record_key, uint32_t key_len, int64_t start)
{
    if (key_len > 0) memcpy(out, record_key, key_len);
    sf_put_be64(out + key_len, (uint64_t)start);
    sf_put_be32(out + key_len + 8, 0);
    return key_len + SF_ROW_KEY_TAIL_BYTES;
}

enum sf_status sf_row_key_read(struct sf_slice key, int64_t size_ms, struct sf_row_key *out, const char **reason_out)
{
    assert(size_ms > 0);
    if (key.data == NULL) return corrupt(reason_out, "null key");
    if (key.len < SF_ROW_KEY_TAIL_BYTES) return corrupt(reason_out, "key shorter than a window and its sequence");
    uint32_t key_len = key.len - SF_ROW_KEY_TAIL_BYTES;
    uint64_t start = sf_get_be64(key.data + key_len);
    if (start > (uint64_t)SF_TIME_VALID_MAX) return corrupt(reason_out, "window start out of range in the key");
    if ((int64_t)start % size_ms != 0) return corrupt(reason_out, "window start in the key is none of these windows");
    if (sf_get_be32(key.data + key_len + 8) != 0) return corrupt(reason_out, "sequence in the key is not 0");
    *out = (struct sf_row_key){.record_key = {.data = key.data, .len = key_len}, .start = (int64_t)start};
    return SF_OK;
}

enum sf_status sf_row_value_read(struct sf_slice value, const struct sf_aggregates *aggregates, int64_t *ts_ms_out,
                                 struct sf_acc *accs, const char **reason_out)
{
    assert(value.data != NULL);
    if (value.len == 0) return corrupt(reason_out, "empty value");
    struct sf_fault fault;
    if (!sf_row_decode(aggregates, (const char *)value.data, value.len, ts_ms_out, accs, &fault))
        return corrupt(reason_out, fault.text);
    if (!sf_time_is_valid(*ts_ms_out)) return corrupt(reason_out, "event time out of range in the value");
    return SF_OK;
}
