#include <string.h>

#include "prod/store_parts.h"

struct iter {
    struct sfi_rocks *store;
    struct sf_store_range range;
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *rocks;
    bool is_started;
};

static struct sf_store_slice slice_of(const char *data, size_t len)
{
    return (struct sf_store_slice){.data = (const uint8_t *)data, .len = (uint32_t)len};
}

static const char *chars(const uint8_t *data)
{
    return data != NULL ? (const char *)data : "";
}

enum sf_status sfi_rocks_get(void *self, struct sf_store_slice key, uint8_t *buf, uint32_t cap, uint32_t *len_out)
{
    struct sfi_rocks *store = self;
    char *error = NULL;
    rocksdb_pinnableslice_t *pinned =
        rocksdb_get_pinned(store->db, store->read_options, chars(key.data), key.len, &error);
    if (error != NULL) {
        char text[SFI_ROCKS_TEXT_BYTES];
        if (pinned != NULL) rocksdb_pinnableslice_destroy(pinned);
        return sfi_rocks_error(error, text, sizeof text);
    }
    if (pinned == NULL) return SF_NOT_FOUND;
    size_t len = 0;
    const char *value = rocksdb_pinnableslice_value(pinned, &len);
    assert(len <= UINT32_MAX);
    *len_out = (uint32_t)len;
    enum sf_status status = len <= cap ? SF_OK : SF_E_FULL;
    if (status == SF_OK && len > 0) memcpy(buf, value, len);
    rocksdb_pinnableslice_destroy(pinned);
    return status;
}

static int compare(struct sf_store_slice a, struct sf_store_slice b)
{
    uint32_t common = a.len < b.len ? a.len : b.len;
    int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* The bounds in the read options let RocksDB skip files; that none leaks past them is checked here. */
static bool is_in_range(const struct iter *iter, struct sf_store_slice key)
{
    const struct sf_store_range *range = &iter->range;
    if (compare(key, range->from) < 0) return false;
    return range->until.len == 0 || compare(key, range->until) < 0;
}

static void start(struct iter *iter)
{
    const struct sf_store_range *range = &iter->range;
    if (!range->is_reverse) {
        rocksdb_iter_seek(iter->rocks, chars(range->from.data), range->from.len);
    } else if (range->until.len == 0) {
        rocksdb_iter_seek_to_last(iter->rocks);
    } else {
        rocksdb_iter_seek_for_prev(iter->rocks, chars(range->until.data), range->until.len);
        size_t len = 0;
        if (!rocksdb_iter_valid(iter->rocks)) return;
        /* the end is not in the range, should the upper bound have let it through */
        const char *key = rocksdb_iter_key(iter->rocks, &len);
        if (compare(slice_of(key, len), range->until) == 0) rocksdb_iter_prev(iter->rocks);
    }
}

static enum sf_status iter_next(void *self, struct sf_store_slice *key_out, struct sf_store_slice *value_out)
{
    struct iter *iter = self;
    if (!iter->is_started)
        start(iter);
    else if (!rocksdb_iter_valid(iter->rocks))
        return SF_END; /* asked again after the end */
    else if (iter->range.is_reverse)
        rocksdb_iter_prev(iter->rocks);
    else
        rocksdb_iter_next(iter->rocks);
    iter->is_started = true;
    if (!rocksdb_iter_valid(iter->rocks)) {
        char *error = NULL;
        char text[SFI_ROCKS_TEXT_BYTES];
        rocksdb_iter_get_error(iter->rocks, &error);
        return error == NULL ? SF_END : sfi_rocks_error(error, text, sizeof text);
    }
    size_t key_len = 0, value_len = 0;
    const char *key = rocksdb_iter_key(iter->rocks, &key_len);
    if (!is_in_range(iter, slice_of(key, key_len))) return SF_END;
    const char *value = rocksdb_iter_value(iter->rocks, &value_len);
    assert(value_len <= UINT32_MAX);
    *key_out = slice_of(key, key_len);
    *value_out = slice_of(value, value_len);
    return SF_OK;
}

static void iter_close(void *self)
{
    struct iter *iter = self;
    struct sfi_rocks *store = iter->store;
    rocksdb_iter_destroy(iter->rocks);
    rocksdb_readoptions_destroy(iter->options);
    sf_free(store->alloc, iter, sizeof *iter);
    atomic_fetch_sub(&store->iter_count, 1);
}

enum sf_status sfi_rocks_iter(void *self, const struct sf_store_range *range, struct sf_store_iter *iter_out)
{
    static const struct sf_store_iter_ops ops = {.next = iter_next, .close = iter_close};
    struct sfi_rocks *store = self;
    struct iter *iter = sf_malloc(store->alloc, sizeof *iter);
    *iter = (struct iter){.store = store, .range = *range, .options = rocksdb_readoptions_create()};
    if (range->from.len > 0)
        rocksdb_readoptions_set_iterate_lower_bound(iter->options, chars(range->from.data), range->from.len);
    if (range->until.len > 0)
        rocksdb_readoptions_set_iterate_upper_bound(iter->options, chars(range->until.data), range->until.len);
    iter->rocks = rocksdb_create_iterator(store->db, iter->options);
    atomic_fetch_add(&store->iter_count, 1);
    *iter_out = (struct sf_store_iter){.ops = &ops, .self = iter};
    return SF_OK;
}
