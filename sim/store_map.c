#include "sim/store_map.h"

#include "core/hash.h"

int sfi_slice_compare(struct sf_store_slice a, struct sf_store_slice b)
{
    uint32_t common = a.len < b.len ? a.len : b.len;
    int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static size_t row_bytes(uint32_t height, uint32_t key_len)
{
    return sizeof(struct sfi_row) + height * sizeof(struct sfi_row *) + key_len;
}

static void free_version(struct sfi_map *map, struct sfi_version *version)
{
    sf_free(map->alloc, version, sizeof *version + version->len);
}

static void free_row(struct sfi_map *map, struct sfi_row *row)
{
    while (row->newest != NULL) {
        struct sfi_version *older = row->newest->older;
        free_version(map, row->newest);
        row->newest = older;
    }
    sf_free(map->alloc, row, row_bytes(row->height, row->key_len));
}

void sfi_map_init(struct sfi_map *map, struct sf_alloc alloc)
{
    *map = (struct sfi_map){.alloc = alloc};
}

void sfi_map_deinit(struct sfi_map *map)
{
    struct sfi_row *row = map->first[0];
    while (row != NULL) {
        struct sfi_row *next = row->next[0];
        free_row(map, row);
        row = next;
    }
    *map = (struct sfi_map){.alloc = map->alloc};
}

/* --- the skip list --- */

/* Where the links to the first row >= key are, per level; returns the last row < key, NULL if none. */
static struct sfi_row *find_links(struct sfi_map *map, struct sf_store_slice key,
                                  struct sfi_row **links[SFI_MAP_HEIGHT_MAX])
{
    struct sfi_row *before = NULL;
    for (uint32_t level = SFI_MAP_HEIGHT_MAX; level-- > 0;) {
        struct sfi_row **link = before != NULL ? &before->next[level] : &map->first[level];
        while (*link != NULL && sfi_slice_compare(sfi_row_key(*link), key) < 0) {
            before = *link;
            link = &before->next[level];
        }
        links[level] = link;
    }
    return before;
}

static struct sfi_row *last_below(const struct sfi_map *map, struct sf_store_slice key)
{
    struct sfi_row *before = NULL;
    for (uint32_t level = SFI_MAP_HEIGHT_MAX; level-- > 0;) {
        struct sfi_row *row = before != NULL ? before->next[level] : map->first[level];
        while (row != NULL && sfi_slice_compare(sfi_row_key(row), key) < 0) {
            before = row;
            row = before->next[level];
        }
    }
    return before;
}

struct sfi_row *sfi_map_first_from(const struct sfi_map *map, struct sf_store_slice key)
{
    struct sfi_row *before = last_below(map, key);
    return before != NULL ? before->next[0] : map->first[0];
}

struct sfi_row *sfi_map_last_below(const struct sfi_map *map, struct sf_store_slice until)
{
    return until.len == 0 ? map->last : last_below(map, until);
}

/* One level up for each two zero bits: a quarter of the rows reaches each next level. */
static uint32_t height_of(struct sf_store_slice key)
{
    uint64_t hash = sf_hash64(key.data, key.len);
    uint32_t height = 1;
    while (height < SFI_MAP_HEIGHT_MAX && (hash & 3) == 0) {
        height++;
        hash >>= 2;
    }
    return height;
}

static struct sfi_row *insert(struct sfi_map *map, struct sf_store_slice key, struct sfi_row *before,
                              struct sfi_row **links[SFI_MAP_HEIGHT_MAX])
{
    uint32_t height = height_of(key);
    struct sfi_row *row = sf_malloc(map->alloc, row_bytes(height, key.len));
    *row = (struct sfi_row){.prev = before, .height = height, .key_len = key.len};
    row->key = (uint8_t *)&row->next[height];
    if (key.len > 0) memcpy(row->key, key.data, key.len);
    for (uint32_t level = 0; level < height; level++) {
        row->next[level] = *links[level];
        *links[level] = row;
    }
    if (row->next[0] != NULL)
        row->next[0]->prev = row;
    else
        map->last = row;
    map->row_count++;
    return row;
}

static void remove_row(struct sfi_map *map, struct sfi_row *row)
{
    struct sfi_row **links[SFI_MAP_HEIGHT_MAX];
    (void)find_links(map, sfi_row_key(row), links);
    for (uint32_t level = 0; level < row->height; level++) {
        assert(*links[level] == row);
        *links[level] = row->next[level];
    }
    if (row->next[0] != NULL)
        row->next[0]->prev = row->prev;
    else
        map->last = row->prev;
    map->row_count--;
    free_row(map, row);
}

/* --- versions --- */

static uint64_t weight_of(const struct sfi_row *row)
{
    return row->newest == NULL || row->newest->is_gone ? 0 : (uint64_t)row->key_len + row->newest->len;
}

static void note_unclean(struct sfi_map *map, struct sfi_row *row)
{
    if (row->is_unclean || (row->newest->older == NULL && !row->newest->is_gone)) return;
    row->is_unclean = true;
    row->next_unclean = map->unclean;
    map->unclean = row;
}

static void add_version(struct sfi_map *map, struct sfi_row *row, uint64_t batch, struct sf_store_slice value,
                        bool is_gone)
{
    map->bytes -= weight_of(row);
    struct sfi_version *version = sf_malloc(map->alloc, sizeof *version + value.len);
    *version = (struct sfi_version){.older = row->newest, .batch = batch, .len = value.len, .is_gone = is_gone};
    if (value.len > 0) memcpy(version->bytes, value.data, value.len);
    struct sfi_version *same = row->newest;
    if (same != NULL && same->batch == batch) {
        version->older = same->older;
        free_version(map, same);
    }
    assert(version->older == NULL || version->older->batch < batch);
    row->newest = version;
    map->bytes += weight_of(row);
    note_unclean(map, row);
}

void sfi_map_put(struct sfi_map *map, uint64_t batch, struct sf_store_slice key, struct sf_store_slice value)
{
    struct sfi_row **links[SFI_MAP_HEIGHT_MAX];
    struct sfi_row *before = find_links(map, key, links);
    struct sfi_row *row = *links[0];
    if (row == NULL || sfi_slice_compare(sfi_row_key(row), key) != 0) row = insert(map, key, before, links);
    add_version(map, row, batch, value, false);
}

static void remove_as_of(struct sfi_map *map, struct sfi_row *row, uint64_t batch)
{
    if (!row->newest->is_gone) add_version(map, row, batch, (struct sf_store_slice){NULL, 0}, true);
}

void sfi_map_delete(struct sfi_map *map, uint64_t batch, struct sf_store_slice key)
{
    struct sfi_row *row = sfi_map_first_from(map, key);
    if (row != NULL && sfi_slice_compare(sfi_row_key(row), key) == 0) remove_as_of(map, row, batch);
}

void sfi_map_delete_range(struct sfi_map *map, uint64_t batch, struct sf_store_slice from, struct sf_store_slice until)
{
    struct sfi_row *row = sfi_map_first_from(map, from);
    for (; row != NULL && sfi_slice_compare(sfi_row_key(row), until) < 0; row = row->next[0])
        remove_as_of(map, row, batch);
}

const struct sfi_version *sfi_row_as_of(const struct sfi_row *row, uint64_t batch)
{
    const struct sfi_version *version = row->newest;
    while (version != NULL && version->batch > batch) version = version->older;
    return version != NULL && !version->is_gone ? version : NULL;
}

static void drop_older_than(struct sfi_map *map, struct sfi_row *row, uint64_t horizon)
{
    struct sfi_version *kept = row->newest;
    while (kept != NULL && kept->batch > horizon) kept = kept->older;
    if (kept == NULL) return;
    while (kept->older != NULL) {
        struct sfi_version *dropped = kept->older;
        kept->older = dropped->older;
        free_version(map, dropped);
    }
}

void sfi_map_sweep(struct sfi_map *map, uint64_t horizon)
{
    struct sfi_row *row = map->unclean;
    map->unclean = NULL;
    while (row != NULL) {
        struct sfi_row *next = row->next_unclean;
        row->is_unclean = false;
        drop_older_than(map, row, horizon);
        if (row->newest->is_gone && row->newest->older == NULL)
            remove_row(map, row); /* no view that is left ever saw it */
        else
            note_unclean(map, row);
        row = next;
    }
}

/* A row that has one version, and that newer than `batch`, is clean: so all rows are looked at. */
void sfi_map_go_back(struct sfi_map *map, uint64_t batch)
{
    struct sfi_row *row = map->first[0];
    map->unclean = NULL;
    while (row != NULL) {
        struct sfi_row *next = row->next[0];
        map->bytes -= weight_of(row);
        while (row->newest != NULL && row->newest->batch > batch) {
            struct sfi_version *older = row->newest->older;
            free_version(map, row->newest);
            row->newest = older;
        }
        map->bytes += weight_of(row);
        row->is_unclean = false;
        if (row->newest == NULL)
            remove_row(map, row);
        else
            note_unclean(map, row);
        row = next;
    }
}
