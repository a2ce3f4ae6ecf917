/* Packed changelog records (K5, docs/formats.md), read by a decoder of our own into changes of single rows. */
#include <string.h>

#include "core/bytes.h"
#include "core/hash.h"
#include "driver/oracle_parts.h"

#define KEY_BYTES 16u
#define HEAD_BYTES 28u
#define COUNT_AT 16u

struct bytes {
    const uint8_t *at;
    const uint8_t *end;
};

static bool take_varint(struct bytes *bytes, uint64_t *value_out)
{
    *value_out = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        if (bytes->at == bytes->end) return false;
        uint8_t byte = *bytes->at++;
        *value_out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return true;
    }
    return false;
}

static bool take_signed(struct bytes *bytes, int64_t *value_out)
{
    uint64_t folded;
    if (!take_varint(bytes, &folded)) return false;
    *value_out = (int64_t)((folded & 1) != 0 ? ~(folded >> 1) : folded >> 1);
    return true;
}

static bool take_slice(struct bytes *bytes, struct sf_slice *slice_out)
{
    uint64_t len;
    if (!take_varint(bytes, &len) || len > (uint64_t)(bytes->end - bytes->at)) return false;
    *slice_out = (struct sf_slice){bytes->at, (uint32_t)len};
    bytes->at += len;
    return true;
}

static bool take_number(struct bytes *bytes, struct sfi_model_number *number_out)
{
    if (bytes->at == bytes->end || *bytes->at > SFI_MODEL_DOUBLE) return false;
    number_out->kind = (enum sfi_model_number_kind) * bytes->at++;
    number_out->as.integer = 0;
    if (number_out->kind == SFI_MODEL_INT) return take_signed(bytes, &number_out->as.integer);
    if (number_out->kind == SFI_MODEL_NOTHING) return true;
    if (bytes->end - bytes->at < 8) return false;
    uint64_t bits = sf_get_be64(bytes->at);
    memcpy(&number_out->as.real, &bits, sizeof bits);
    bytes->at += 8;
    return true;
}

bool sfi_oracle_packed_value_hash(struct sfi_oracle *oracle, uint32_t step, int64_t start, struct sf_slice value,
                                  uint64_t *hash_out)
{
    struct sfi_model_number numbers[SF_AGGREGATES_MAX];
    const struct sfi_model_aggregates *aggregates = &oracle->model.steps[step].aggregates;
    struct bytes bytes = {value.data, value.data + value.len};
    int64_t delta;
    if (!take_signed(&bytes, &delta)) return false;
    for (uint32_t i = 0; i < aggregates->count; i++)
        if (!take_number(&bytes, &numbers[i])) return false;
    *hash_out = sfi_oracle_hash_numbers(oracle, aggregates, start + delta, numbers);
    return bytes.at == bytes.end;
}

static bool take_entries(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn, struct sfi_oracle_change change,
                         struct sf_slice value)
{
    struct bytes bytes = {value.data + HEAD_BYTES, value.data + value.len};
    uint32_t count = sf_get_be32(value.data + COUNT_AT);
    change.kind = SFI_ORACLE_CHANGE_VALUE;
    for (uint32_t i = 0; i < count; i++) {
        struct sf_slice key, row;
        if (!take_slice(&bytes, &key) || !take_slice(&bytes, &row)) return false;
        change.key_hash = sf_hash64(key.data, key.len);
        if (sf_key_group(change.key_hash) != change.group) return false;
        if (!sfi_oracle_packed_value_hash(oracle, change.step, change.start, row, &change.value_hash)) return false;
        sfi_oracle_change_add(oracle, txn, &change);
    }
    return bytes.at == bytes.end;
}

bool sfi_oracle_packed_read(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn, uint32_t step, struct sf_tp tp,
                            const struct sf_record *record)
{
    const uint8_t *key = record->key.data;
    if (key == NULL || record->key.len != KEY_BYTES || key[0] != 1 || key[1] > 1) return false;
    bool is_image = key[1] == 1;
    uint32_t slot = sf_get_be32(key + 12);
    struct sfi_oracle_change change = {.step = step,
                                       .start = (int64_t)sf_get_be64(key + 2),
                                       .group = sf_get_be16(key + 10),
                                       .tp = tp,
                                       .offset = record->offset};
    if (record->value.data == NULL) {
        if (!is_image || slot != 0) return true; /* a slot or a part that something else covers */
        change.kind = SFI_ORACLE_CHANGE_UNIT_GONE;
        sfi_oracle_change_add(oracle, txn, &change);
        return true;
    }
    if (record->value.len < HEAD_BYTES || record->value.data[0] != 1) return false;
    if (is_image && slot == 0) {
        change.kind = SFI_ORACLE_CHANGE_UNIT_CLEAR;
        sfi_oracle_change_add(oracle, txn, &change);
    }
    return take_entries(oracle, txn, change, record->value);
}
