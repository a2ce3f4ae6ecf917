#include "core/state/pane.h"

static_assert(sizeof(struct sfi_row) == 48, "three of four pointers' worth of key fit beside the hash");

void sfi_pools_init(struct sfi_pools *pools, struct sf_alloc alloc, size_t acc_bytes, bool has_units)
{
    assert(acc_bytes % 8 == 0);
    pools->has_units = has_units;
    pools->stride = sizeof(struct sfi_row) + acc_bytes;
    sfi_pool_init(&pools->rows, alloc, SFI_PANE_FIRST_ROWS * pools->stride);
    sfi_pool_init(&pools->index, alloc, SFI_INDEX_BASE_BYTES);
    sfi_pool_init(&pools->far, alloc, SFI_FAR_BASE_BYTES);
}

void sfi_pools_deinit(struct sfi_pools *pools)
{
    sfi_pool_deinit(&pools->rows);
    sfi_pool_deinit(&pools->index);
    sfi_pool_deinit(&pools->far);
}

static void index_make(struct sfi_pools *pools, struct sfi_pane *pane, uint32_t class)
{
    size_t bytes = SFI_INDEX_BASE_BYTES << class;
    pane->index = sfi_pool_take(&pools->index, class);
    memset(pane->index, 0, bytes);
    pane->index_class = class;
    pane->index_mask = (uint32_t)(bytes / sizeof *pane->index) - 1;
}

struct sfi_pane *sfi_pane_new(struct sfi_pools *pools, int64_t start)
{
    struct sfi_pane *pane = sf_calloc(pools->rows.alloc, 1, sizeof *pane);
    pane->start = start;
    index_make(pools, pane, 0);
    if (pools->has_units) pane->units = sf_calloc(pools->rows.alloc, SF_KEY_GROUPS, sizeof *pane->units);
    return pane;
}

static void far_pop(struct sfi_pools *pools, struct sfi_pane *pane)
{
    struct sfi_far *far = pane->far;
    pane->far = far->older;
    sfi_pool_give(&pools->far, far, far->class);
}

void sfi_pane_destroy(struct sfi_pools *pools, struct sfi_pane *pane)
{
    if (pane->units != NULL) sf_cfree(pools->rows.alloc, pane->units, SF_KEY_GROUPS, sizeof *pane->units);
    while (pane->far != NULL) far_pop(pools, pane);
    for (uint32_t i = 0; i < sizeof pane->pieces / sizeof *pane->pieces && pane->pieces[i] != NULL; i++)
        sfi_pool_give(&pools->rows, pane->pieces[i], i);
    sfi_pool_give(&pools->index, pane->index, pane->index_class);
    sf_cfree(pools->rows.alloc, pane, 1, sizeof *pane);
}

/* ------------------------------------------------------------------ index */

static void index_put(struct sfi_pane *pane, uint32_t tag, uint32_t row)
{
    uint32_t at = tag & pane->index_mask;
    while (pane->index[at].row != 0) at = (at + 1) & pane->index_mask;
    pane->index[at] = (struct sfi_place){.tag = tag, .row = row};
}

static void index_grow(struct sfi_pools *pools, struct sfi_pane *pane)
{
    struct sfi_place *old = pane->index;
    uint32_t old_class = pane->index_class, old_places = pane->index_mask + 1;
    index_make(pools, pane, old_class + 1);
    for (uint32_t i = 0; i < old_places; i++)
        if (old[i].row != 0) index_put(pane, old[i].tag, old[i].row);
    sfi_pool_give(&pools->index, old, old_class);
}

static uint32_t index_find(const struct sfi_pane *pane, uint64_t hash, uint32_t number)
{
    uint32_t at = (uint32_t)(hash >> 32) & pane->index_mask;
    while (pane->index[at].row != number + 1) {
        assert(pane->index[at].row != 0);
        at = (at + 1) & pane->index_mask;
    }
    return at;
}

/* Close the gap: a place further on may move back as long as it does not pass its home. */
static void index_remove(struct sfi_pane *pane, uint32_t at)
{
    uint32_t mask = pane->index_mask, hole = at;
    for (uint32_t next = (at + 1) & mask; pane->index[next].row != 0; next = (next + 1) & mask) {
        uint32_t home = pane->index[next].tag & mask;
        if (((next - home) & mask) < ((next - hole) & mask)) continue;
        pane->index[hole] = pane->index[next];
        hole = next;
    }
    pane->index[hole] = (struct sfi_place){0};
}

/* ------------------------------------------------------------------ key bytes */

static const uint8_t *far_copy(struct sfi_pools *pools, struct sfi_pane *pane, const uint8_t *key, uint32_t len)
{
    struct sfi_far *top = pane->far;
    if (top == NULL || top->capacity - top->used < len) {
        uint32_t class = top == NULL ? 0 : top->class + (top->class < 8);
        while ((SFI_FAR_BASE_BYTES << class) - sizeof(struct sfi_far) < len) class++;
        top = sfi_pool_take(&pools->far, class);
        *top = (struct sfi_far){.older = pane->far,
                                .class = class,
                                .capacity = ((size_t)SFI_FAR_BASE_BYTES << class) - sizeof(struct sfi_far)};
        pane->far = top;
    }
    uint8_t *copy = top->data + top->used;
    memcpy(copy, key, len);
    top->used += len;
    return copy;
}

/* Only the newest bytes can be taken back; others stay until the pane goes. */
static void far_drop(struct sfi_pools *pools, struct sfi_pane *pane, const struct sfi_row *row)
{
    struct sfi_far *top = pane->far;
    if (row->key_len <= SFI_ROW_KEY_BYTES || top == NULL) return;
    if (top->used < row->key_len || row->key.far != top->data + top->used - row->key_len) return;
    top->used -= row->key_len;
    if (top->used == 0) far_pop(pools, pane);
}

/* ------------------------------------------------------------------ rows */

struct sfi_row *sfi_pane_append(struct sfi_pools *pools, struct sfi_pane *pane, uint64_t hash, const uint8_t *key,
                                uint32_t key_len)
{
    uint32_t number = pane->count;
    assert(number < SFI_PANE_ROWS_MAX);
    if (number >= (pane->index_mask + 1) / 2) index_grow(pools, pane);
    uint32_t piece = sfi_pane_piece(number);
    if (pane->pieces[piece] == NULL) pane->pieces[piece] = sfi_pool_take(&pools->rows, piece);
    struct sfi_row *row = sfi_pane_row(pools, pane, number);
    row->hash = hash;
    row->key_len = key_len;
    row->mark = 0;
    if (key_len > SFI_ROW_KEY_BYTES) {
        row->key.far = far_copy(pools, pane, key, key_len);
    } else if (key_len > 0) {
        memcpy(row->key.near, key, key_len);
    }
    index_put(pane, (uint32_t)(hash >> 32), number + 1);
    if (pane->units != NULL) pane->units[sf_key_group(hash)].live++;
    pane->count++;
    return row;
}

static void pop(struct sfi_pools *pools, struct sfi_pane *pane)
{
    uint32_t number = pane->count - 1;
    struct sfi_row *row = sfi_pane_row(pools, pane, number);
    index_remove(pane, index_find(pane, row->hash, number));
    if (pane->units != NULL) pane->units[sf_key_group(row->hash)].live--;
    far_drop(pools, pane, row);
    pane->count = number;
    uint32_t piece = sfi_pane_piece(number);
    if (number == SFI_PANE_FIRST_ROWS * ((1u << piece) - 1)) { /* it was the first of its piece */
        sfi_pool_give(&pools->rows, pane->pieces[piece], piece);
        pane->pieces[piece] = NULL;
    }
}

void sfi_pane_truncate(struct sfi_pools *pools, struct sfi_pane *pane, uint32_t count)
{
    assert(count <= pane->count);
    while (pane->count > count) pop(pools, pane);
    if (pane->sealed > count) pane->sealed = count;
}

void sfi_pane_remove(struct sfi_pools *pools, struct sfi_pane *pane, uint32_t number)
{
    assert(number < pane->count);
    uint32_t last = pane->count - 1;
    if (number != last) {
        struct sfi_row *row = sfi_pane_row(pools, pane, number), *mover = sfi_pane_row(pools, pane, last);
        uint32_t row_at = index_find(pane, row->hash, number), mover_at = index_find(pane, mover->hash, last);
        pane->index[row_at].row = last + 1; /* the two trade places, then the end goes */
        pane->index[mover_at].row = number + 1;
        uint8_t *a = (uint8_t *)row, *b = (uint8_t *)mover;
        for (size_t i = 0; i < pools->stride; i++) {
            uint8_t byte = a[i];
            a[i] = b[i];
            b[i] = byte;
        }
    }
    sfi_pane_truncate(pools, pane, last);
}
