/*
 * Map of a simulated store: ordered rows, each with its versions. Private to sim.
 *
 *     batch 1  put a=1           a: 1@1
 *     batch 2  put a=2, del b    a: 2@2 1@1    b: gone@2 x@1
 *
 * A version is kept while somebody may ask for it: an iterator sees the map as of the batch at which it was opened,
 * and a crash may take the map back to any batch that is not yet durable. Both are one horizon: sweep(h) drops what
 * only views older than h need. Rows with more than one version, or none that lives, are on a list, so that a sweep
 * touches only those.
 *
 * A skip list; the height of a row comes from a hash of its key, so the same rows have the same shape always. Order:
 * memcmp, then the shorter first. Keys and values are copied.
 *
 * Threading: one thread.
 */
#ifndef SF_SIM_STORE_MAP_H
#define SF_SIM_STORE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/io/store.h"
#include "core/mem.h"

#define SFI_MAP_HEIGHT_MAX 16u

struct sfi_version {
    struct sfi_version *older;
    uint64_t batch;
    uint32_t len;
    bool is_gone;
    uint8_t bytes[];
};

struct sfi_row {
    struct sfi_version *newest; /* never NULL */
    struct sfi_row *prev;       /* NULL: the first */
    struct sfi_row *next_unclean;
    bool is_unclean; /* on the list of rows to sweep */
    uint32_t height;
    uint32_t key_len;
    uint8_t *key;           /* behind `next` */
    struct sfi_row *next[]; /* `height` of them */
};

struct sfi_map {
    struct sf_alloc alloc;
    struct sfi_row *first[SFI_MAP_HEIGHT_MAX];
    struct sfi_row *last;
    struct sfi_row *unclean;
    uint64_t row_count;
    uint64_t bytes; /* of the newest versions, keys included */
};

int sfi_slice_compare(struct sf_store_slice a, struct sf_store_slice b);

void sfi_map_init(struct sfi_map *map, struct sf_alloc alloc);
void sfi_map_deinit(struct sfi_map *map);

/* `batch` never falls from call to call. Of one key and batch the last change counts. */
void sfi_map_put(struct sfi_map *map, uint64_t batch, struct sf_store_slice key, struct sf_store_slice value);
void sfi_map_delete(struct sfi_map *map, uint64_t batch, struct sf_store_slice key);
void sfi_map_delete_range(struct sfi_map *map, uint64_t batch, struct sf_store_slice from, struct sf_store_slice until);

/* First row >= key (any if key.len is 0); last row < until (any if until.len is 0). NULL if none. */
struct sfi_row *sfi_map_first_from(const struct sfi_map *map, struct sf_store_slice key);
struct sfi_row *sfi_map_last_below(const struct sfi_map *map, struct sf_store_slice until);

/* The row as of `batch`: NULL if it was not there. */
const struct sfi_version *sfi_row_as_of(const struct sfi_row *row, uint64_t batch);
static inline struct sf_store_slice sfi_row_key(const struct sfi_row *row)
{
    return (struct sf_store_slice){.data = row->key, .len = row->key_len};
}

/* Nobody will ask for a view older than `horizon` any more. */
void sfi_map_sweep(struct sfi_map *map, uint64_t horizon);
/* The map as of `batch`, which must be >= every horizon swept: later changes never were. */
void sfi_map_go_back(struct sfi_map *map, uint64_t batch);

#endif
