#include "core/hash.h"
#include "core/state/changelog.h"
#include "core/state/local_writer.h"
#include "core/state/packed.h"

static enum sf_status put_packed(struct sf_local_writer *writer, uint32_t store, struct sf_slice key,
                                 struct sf_slice value, const char **reason_out)
{
    struct sf_packed_key at;
    enum sf_status status = sf_packed_key_read(key, &at, reason_out);
    if (status != SF_OK) return status;
    struct sf_packed_reader reader;
    if (value.data != NULL) status = sf_packed_open(&reader, key, value, reason_out);
    if (status == SF_OK) sf_local_writer_put_packed(writer, store, &at, value);
    return status;
}

enum sf_status sf_local_writer_record(struct sf_local_writer *writer, uint32_t store, bool is_packed,
                                      struct sf_slice key, struct sf_slice value, const char **reason_out)
{
    if (is_packed) return put_packed(writer, store, key, value, reason_out);
    struct sf_row_key row;
    enum sf_status status = sf_row_key_read(key, 1, &row, reason_out);
    if (status != SF_OK) return status;
    uint64_t hash = sf_hash64(row.record_key.data, row.record_key.len);
    sf_local_writer_put(writer, store, row.start, hash, row.record_key, value);
    return SF_OK;
}
