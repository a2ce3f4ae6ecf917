#include "tests/unit/fake_store.h"

#include <stdlib.h>
#include <string.h>

static uint8_t *dup(const uint8_t *data, uint32_t len)
{
    uint8_t *copy = malloc(len + 1u);
    if (len > 0) memcpy(copy, data, len);
    return copy;
}

static int compare(const uint8_t *a, uint32_t a_len, const uint8_t *b, uint32_t b_len)
{
    uint32_t least = a_len < b_len ? a_len : b_len;
    int order = least == 0 ? 0 : memcmp(a, b, least);
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static uint32_t place(const struct fake_store *fake, const uint8_t *key, uint32_t len)
{
    uint32_t at = 0;
    while (at < fake->row_count && compare(fake->rows[at].key, fake->rows[at].key_len, key, len) < 0) at++;
    return at;
}

static void drop(struct fake_store *fake, uint32_t at)
{
    free(fake->rows[at].key);
    free(fake->rows[at].value);
    memmove(fake->rows + at, fake->rows + at + 1, (fake->row_count - at - 1) * sizeof *fake->rows);
    fake->row_count--;
}

static void apply(struct fake_store *fake, const struct fake_op *op)
{
    uint32_t at = place(fake, op->row.key, op->row.key_len);
    if (op->kind == SF_STORE_DELETE_RANGE) {
        while (at < fake->row_count && compare(fake->rows[at].key, fake->rows[at].key_len, op->row.value,
                                               op->row.value_len) < 0)
            drop(fake, at);
        return;
    }
    if (at < fake->row_count &&
        compare(fake->rows[at].key, fake->rows[at].key_len, op->row.key, op->row.key_len) == 0)
        drop(fake, at);
    if (op->kind == SF_STORE_DELETE) return;
    if (fake->row_count == fake->row_capacity) {
        fake->row_capacity = fake->row_capacity * 2 + 16;
        fake->rows = realloc(fake->rows, fake->row_capacity * sizeof *fake->rows);
    }
    memmove(fake->rows + at + 1, fake->rows + at, (fake->row_count - at) * sizeof *fake->rows);
    fake->rows[at] = (struct fake_row){.key = dup(op->row.key, op->row.key_len),
                                       .key_len = op->row.key_len,
                                       .value = dup(op->row.value, op->row.value_len),
                                       .value_len = op->row.value_len};
    fake->row_count++;
}

static void clear_rows(struct fake_store *fake)
{
    while (fake->row_count > 0) drop(fake, fake->row_count - 1);
}

static void clear_batches(struct fake_store *fake, uint32_t kept)
{
    for (uint32_t i = kept; i < fake->batch_count; i++) {
        for (uint32_t k = 0; k < fake->batches[i].count; k++) {
            free(fake->batches[i].ops[k].row.key);
            free(fake->batches[i].ops[k].row.value);
        }
        free(fake->batches[i].ops);
    }
    fake->batch_count = kept;
}

void fake_store_init(struct fake_store *fake)
{
    memset(fake, 0, sizeof *fake);
    fake->told_max = UINT32_MAX;
}

void fake_store_deinit(struct fake_store *fake)
{
    assert(fake->open_iters == 0);
    clear_rows(fake);
    clear_batches(fake, 0);
    free(fake->rows);
}

void fake_store_crash(struct fake_store *fake, uint32_t kept)
{
    assert(kept <= fake->batch_count);
    clear_rows(fake);
    clear_batches(fake, kept);
    for (uint32_t i = 0; i < kept; i++)
        for (uint32_t k = 0; k < fake->batches[i].count; k++) apply(fake, &fake->batches[i].ops[k]);
    fake->event_count = 0;
}

/* ------------------------------------------------------------------ the store's functions */

static enum sf_status fake_get(void *self, struct sf_store_slice key, uint8_t *buf, uint32_t cap, uint32_t *len_out)
{
    struct fake_store *fake = self;
    if (fake->read_status != SF_OK) return fake->read_status;
    uint32_t at = place(fake, key.data, key.len);
    if (at == fake->row_count || compare(fake->rows[at].key, fake->rows[at].key_len, key.data, key.len) != 0)
        return SF_NOT_FOUND;
    *len_out = fake->rows[at].value_len;
    if (*len_out > cap) return SF_E_FULL;
    if (*len_out > 0) memcpy(buf, fake->rows[at].value, *len_out);
    return SF_OK;
}

struct fake_iter {
    struct fake_store *fake;
    uint32_t at;
    uint8_t *until;
    uint32_t until_len;
};

static enum sf_status fake_next(void *self, struct sf_store_slice *key_out, struct sf_store_slice *value_out)
{
    struct fake_iter *iter = self;
    if (iter->fake->read_status != SF_OK) return iter->fake->read_status;
    if (iter->at == iter->fake->row_count) return SF_END;
    const struct fake_row *row = &iter->fake->rows[iter->at];
    if (iter->until_len > 0 && compare(row->key, row->key_len, iter->until, iter->until_len) >= 0) return SF_END;
    *key_out = (struct sf_store_slice){.data = row->key, .len = row->key_len};
    *value_out = (struct sf_store_slice){.data = row->value, .len = row->value_len};
    iter->at++;
    return SF_OK;
}

static void fake_iter_close(void *self)
{
    struct fake_iter *iter = self;
    iter->fake->open_iters--;
    free(iter->until);
    free(iter);
}

static enum sf_status fake_iter_open(void *self, const struct sf_store_range *range, struct sf_store_iter *iter_out)
{
    static const struct sf_store_iter_ops ops = {.next = fake_next, .close = fake_iter_close};
    struct fake_store *fake = self;
    struct fake_iter *iter = malloc(sizeof *iter);
    *iter = (struct fake_iter){.fake = fake,
                               .at = place(fake, range->from.data, range->from.len),
                               .until = dup(range->until.data, range->until.len),
                               .until_len = range->until.len};
    fake->open_iters++;
    *iter_out = (struct sf_store_iter){.ops = &ops, .self = iter};
    return SF_OK;
}

static void tell(struct fake_store *fake, enum sf_store_event_kind kind, enum sf_status status, uint64_t tag)
{
    assert(fake->event_count < FAKE_EVENTS_MAX);
    fake->events[fake->event_count++] = (struct sf_store_event){.kind = kind, .status = status, .tag = tag};
}

static void fake_write(void *self, uint64_t tag, const struct sf_store_op *ops, uint32_t count)
{
    struct fake_store *fake = self;
    uint32_t under_way = 0;
    for (uint32_t i = 0; i < fake->event_count; i++) under_way += fake->events[i].kind == SF_STORE_WRITTEN;
    assert(under_way < 4 && fake->batch_count < FAKE_BATCHES_MAX);
    tell(fake, SF_STORE_WRITTEN, fake->write_status, tag);
    if (fake->write_status != SF_OK) return;
    struct fake_batch *batch = &fake->batches[fake->batch_count++];
    *batch = (struct fake_batch){.ops = calloc(count, sizeof *batch->ops), .count = count};
    for (uint32_t i = 0; i < count; i++) {
        batch->ops[i] = (struct fake_op){.kind = ops[i].kind,
                                         .row = {.key = dup(ops[i].key.data, ops[i].key.len),
                                                 .key_len = ops[i].key.len,
                                                 .value = dup(ops[i].value.data, ops[i].value.len),
                                                 .value_len = ops[i].value.len}};
        apply(fake, &batch->ops[i]);
    }
}

static void fake_sync(void *self, uint64_t tag)
{
    struct fake_store *fake = self;
    fake->sync_count++;
    tell(fake, SF_STORE_SYNCED, SF_OK, tag);
}

static uint32_t fake_poll(void *self, struct sf_store_event *events_out, uint32_t cap)
{
    struct fake_store *fake = self;
    uint32_t count = fake->event_count < cap ? fake->event_count : cap;
    if (count > fake->told_max) count = fake->told_max;
    if (fake->told_max != UINT32_MAX) fake->told_max -= count;
    memcpy(events_out, fake->events, count * sizeof *events_out);
    memmove(fake->events, fake->events + count, (fake->event_count - count) * sizeof *fake->events);
    fake->event_count -= count;
    return count;
}

struct sf_store fake_store(struct fake_store *fake)
{
    static const struct sf_store_ops ops = {
        .get = fake_get, .iter = fake_iter_open, .write = fake_write, .sync = fake_sync, .poll = fake_poll};
    return (struct sf_store){.ops = &ops, .self = fake};
}
