/* Lives of a packed window store: random epochs, falls back, crashes; each start from the local store and what is
 * behind its position in a log that is compacted as far as a broker may. */
#include <stdlib.h>

#include "core/bytes.h"
#include "core/hash.h"
#include "core/state/changelog.h"
#include "core/state/local_layout.h"
#include "core/state/local_writer.h"
#include "core/state/window_store.h"
#include "tests/check.h"
#include "tests/unit/fake_store.h"

#define KEYS 48u
#define LONG_KEY 12000u /* five of them, as each group has, need two records */
#define ENTRIES_MAX 8192u

static const struct sf_aggregate_spec specs[] = {{.name = "n", .kind = SF_AGGREGATE_COUNT}};
static const struct sf_step_spec step = {.kind = SF_STEP_AGGREGATE,
                                         .window = {.size_ms = 10},
                                         .aggregates = specs,
                                         .aggregate_count = 1,
                                         .store = {.name = "s", .retention_ms = 10}};
static const struct sf_local_log log_name[] = {{.topic = "log", .partition = 0}};
static struct sf_aggregates *aggregates;
static uint8_t keys[KEYS][LONG_KEY]; /* of three key groups; the last 16 are long */

struct entry {
    uint8_t key[SF_PACKED_KEY_BYTES];
    uint8_t *value; /* NULL: a null */
    uint32_t len;
    bool is_gone;   /* compacted */
};

struct life {
    uint64_t random;
    struct sf_window_store *windows;
    struct entry log[ENTRIES_MAX];
    uint32_t end;
    uint32_t epoch_from; /* entries of the epoch that is being sealed */
    struct fake_store disk;
    struct sf_local_writer *writer;
    uint64_t epoch;
    int64_t now;
    uint32_t starts_from_rows; /* that found something in the local store */
    uint32_t images;
    uint32_t nulls_gone;   /* nulls before this have been compacted away */
    bool is_away_for_long; /* nulls behind the stored position may be gone when it starts */
};

static uint32_t draw(struct life *life, uint32_t below)
{
    life->random = life->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(life->random >> 33) % below;
}

static uint32_t key_len(uint32_t key)
{
    return key < KEYS - 16 ? 5 : LONG_KEY;
}

static void make_keys(void)
{
    const uint32_t groups[3] = {5, 77, 127};
    uint32_t tried = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        do {
            memset(keys[i], 'x', LONG_KEY);
            sf_put_be32(keys[i], tried++);
        } while (sf_key_group(sf_hash64(keys[i], key_len(i))) != groups[i % 3]);
    }
}

static struct sf_window_store *windows_new(uint64_t epoch)
{
    return sf_window_store_new(&(struct sf_window_store_config){.alloc = sf_alloc_libc(),
                                                                .step = &step,
                                                                .aggregates = aggregates,
                                                                .is_packed = true,
                                                                .epoch = epoch});
}

static void writer_new(struct life *life)
{
    bool is_empty = sf_local_format_check(fake_store(&life->disk), 1) == SF_NOT_FOUND;
    life->writer = sf_local_writer_new(&(struct sf_local_writer_config){.alloc = sf_alloc_libc(),
                                                                        .store = fake_store(&life->disk),
                                                                        .identity = 1,
                                                                        .is_store_empty = is_empty,
                                                                        .store_count = 1,
                                                                        .logs = log_name,
                                                                        .log_count = 1});
}

static void begin(struct life *life, uint64_t seed)
{
    life->random = seed;
    life->epoch = 1;
    life->now = 100;
    life->windows = windows_new(1);
    fake_store_init(&life->disk);
    writer_new(life);
}

static void end(struct life *life)
{
    sf_window_store_destroy(life->windows);
    sf_local_writer_destroy(life->writer);
    fake_store_deinit(&life->disk);
    for (uint32_t i = 0; i < life->end; i++) free(life->log[i].value);
}

/* ------------------------------------------------------------------ an epoch */

static void work(struct life *life)
{
    life->now += draw(life, 3);
    for (uint32_t i = draw(life, 30); i > 0; i--) {
        uint32_t key = draw(life, KEYS);
        int64_t start = (life->now - draw(life, 12)) / 10 * 10;
        struct sf_window_row row = sf_window_store_touch(life->windows, start, sf_hash64(keys[key], key_len(key)),
                                                         keys[key], key_len(key));
        row.accs[0] = (struct sf_acc){.kind = SF_ACC_INT, .as.integer = row.is_new ? 1 : row.accs[0].as.integer + 1};
        sf_window_store_set_ts(life->windows, start + 1);
    }
    sf_window_store_expire(life->windows, life->now - 15);
}

/* The epoch's records at the end of the log; `upto` of them, or as many as end with a part of an image. */
static void seal(struct life *life, uint32_t upto)
{
    struct sf_change change;
    life->epoch_from = life->end;
    sf_window_store_seal_begin(life->windows);
    while (sf_window_store_seal_next(life->windows, &change)) {
        CHECK(life->end < ENTRIES_MAX);
        sf_window_store_seal_accept(life->windows);
        if (life->end - life->epoch_from == upto) continue;
        struct entry *entry = &life->log[life->end++];
        *entry = (struct entry){.len = change.value.len};
        memcpy(entry->key, change.key.data, SF_PACKED_KEY_BYTES);
        if (change.value.data != NULL) {
            entry->value = malloc(change.value.len);
            CHECK(entry->value != NULL);
            memcpy(entry->value, change.value.data, change.value.len);
            life->images += entry->key[1];
        }
        if (upto < UINT32_MAX && entry->key[1] == SF_PACKED_IMAGE && draw(life, 2) == 0)
            upto = life->end - life->epoch_from;
    }
}

static struct sf_slice value_of(const struct entry *entry)
{
    return (struct sf_slice){.data = entry->value, .len = entry->len};
}

static void write_locally(struct life *life, uint32_t from)
{
    const char *reason;
    for (uint32_t i = from; i < life->end; i++) {
        const struct entry *entry = &life->log[i];
        struct sf_slice key = {.data = entry->key, .len = SF_PACKED_KEY_BYTES};
        if (entry->is_gone) continue;
        CHECK_EQ(sf_local_writer_record(life->writer, 0, true, key, value_of(entry), &reason), SF_OK);
    }
}

static void cut(struct life *life)
{
    uint64_t tag;
    CHECK(sf_local_writer_cut(life->writer, 1));
    while (sf_local_writer_is_busy(life->writer)) {
        (void)sf_local_writer_step(life->writer, 3);
        (void)sf_local_writer_poll(life->writer, &tag);
    }
}

/* Rows may stand in the store ahead of their position, never behind it. */
static void commit(struct life *life)
{
    seal(life, UINT32_MAX);
    write_locally(life, life->epoch_from);
    if (draw(life, 8) == 0) cut(life);
    sf_local_writer_position(life->writer, 0, life->end);
    if (draw(life, 4) == 0) cut(life);
    sf_window_store_rotate(life->windows, life->epoch + 1);
    sf_window_store_committed(life->windows, life->epoch);
    life->epoch++;
}

/* B12, before or after the epoch was sealed: of what it wrote a reader sees nothing. */
static void fall_back(struct life *life)
{
    if (draw(life, 2) == 0) seal(life, 0);
    sf_window_store_fall_back(life->windows, life->epoch - 1, life->epoch + 1);
    life->epoch++;
}

/* ------------------------------------------------------------------ compaction */

/* As a cleaner works: before `upto` only the newest of a key stays; nulls before `nulls_upto` go as well. */
static void compact(struct life *life, uint32_t upto, uint32_t nulls_upto)
{
    for (uint32_t i = 0; i < upto; i++) {
        struct entry *entry = &life->log[i];
        bool is_newest = true;
        for (uint32_t k = i + 1; k < upto && is_newest; k++)
            is_newest = life->log[k].is_gone || memcmp(entry->key, life->log[k].key, SF_PACKED_KEY_BYTES) != 0;
        if (!is_newest || (entry->value == NULL && i < nulls_upto)) entry->is_gone = true;
    }
}

static uint32_t values_left(const struct life *life)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < life->end; i++) count += !life->log[i].is_gone && life->log[i].value != NULL;
    return count;
}

/* ------------------------------------------------------------------ starts */

static void replay(struct life *life, struct sf_window_store *windows, uint32_t from)
{
    const char *reason;
    for (uint32_t i = from; i < life->end; i++) {
        const struct entry *entry = &life->log[i];
        struct sf_slice key = {.data = entry->key, .len = SF_PACKED_KEY_BYTES};
        if (entry->is_gone) continue;
        CHECK_EQ(sf_window_store_restore(windows, key, value_of(entry), &reason), SF_OK);
    }
}

static void read_row(struct life *life, struct sf_window_store *windows, const struct sf_local_row *row,
                     struct sf_store_slice value)
{
    static uint8_t key[LONG_KEY + SF_ROW_KEY_TAIL_BYTES];
    const char *reason;
    sf_local_writer_found(life->writer, 0, row->start);
    if (row->is_trace) {
        CHECK_EQ(value.len, SF_LOCAL_TRACE_BYTES);
        CHECK_EQ(sf_window_store_restore_trace(windows, &row->packed_key, sf_get_be32(value.data), &reason), SF_OK);
        return;
    }
    uint32_t len = sf_row_key_write(key, row->record_key.data, row->record_key.len, row->start);
    CHECK_EQ(sf_window_store_restore_local(windows, (struct sf_slice){key, len},
                                           (struct sf_slice){value.data, value.len}, &reason),
             SF_OK);
    life->starts_from_rows++;
}

static int64_t position_of(struct life *life)
{
    int64_t position;
    CHECK_EQ(sf_local_position_get(fake_store(&life->disk), "log", 0, &position), SF_OK);
    return position == SF_OFFSET_UNKNOWN ? 0 : position;
}

/* Local rows, then what is behind their position. */
static struct sf_window_store *restore(struct life *life)
{
    struct sf_window_store *windows = windows_new(life->epoch);
    struct sf_local_range range = sf_local_store_range(0);
    struct sf_store_range bounds = {.from = {range.from, range.len}, .until = {range.until, range.len}};
    struct sf_store_iter iter;
    struct sf_store_slice key, value;
    struct sf_local_row row;
    int64_t position = position_of(life);
    CHECK_EQ(sf_store_iter_open(fake_store(&life->disk), &bounds, &iter), SF_OK);
    while (sf_store_iter_next(iter, &key, &value) == SF_OK) {
        CHECK(sf_local_row_key_read(key, &row));
        read_row(life, windows, &row, value);
    }
    sf_store_iter_close(iter);
    replay(life, windows, (uint32_t)position);
    write_locally(life, (uint32_t)position);
    sf_local_writer_position(life->writer, 0, life->end);
    return windows;
}

static int64_t count_of(const struct sf_window_store *windows, int64_t start, const struct sf_window_row *row)
{
    for (uint32_t i = 0; i < sf_window_store_count(windows, start); i++) {
        struct sf_window_row other = sf_window_store_row(windows, start, i);
        if (other.key_len == row->key_len && memcmp(other.key, row->key, row->key_len) == 0)
            return other.accs[0].as.integer;
    }
    return 0;
}

/* Every row of `less` is in `more`, with the same count, or one that is not smaller. Windows before `from` do not
 * matter. */
static void check_within(const struct life *life, int64_t from, const struct sf_window_store *less,
                         const struct sf_window_store *more, bool is_exact)
{
    for (int64_t start = from / 10 * 10; start <= life->now; start += 10) {
        uint32_t count = sf_window_store_count(less, start);
        if (is_exact) CHECK_EQ(sf_window_store_count(more, start), count);
        for (uint32_t i = 0; i < count; i++) {
            struct sf_window_row row = sf_window_store_row(less, start, i);
            int64_t expected = row.accs[0].as.integer, actual = count_of(more, start, &row);
            CHECK(is_exact ? actual == expected : actual >= expected);
        }
    }
}

/* What the last batches brought is lost with the machine, or all of the disk. */
static void crash(struct life *life)
{
    sf_local_writer_destroy(life->writer);
    if (draw(life, 5) == 0) {
        fake_store_deinit(&life->disk);
        fake_store_init(&life->disk);
    } else {
        uint32_t lost = draw(life, 3);
        fake_store_crash(&life->disk, life->disk.batch_count > lost ? life->disk.batch_count - lost : 0);
    }
    writer_new(life);
    uint32_t clean = draw(life, life->end + 1), nulls = draw(life, clean + 1);
    int64_t position = position_of(life);
    if (position < life->nulls_gone) life->is_away_for_long = true;
    if (!life->is_away_for_long && nulls > position) nulls = (uint32_t)position;
    if (draw(life, 2) != 0) return;
    compact(life, clean, nulls);
    if (nulls > life->nulls_gone) life->nulls_gone = nulls;
}

static void restart(struct life *life, bool is_exact)
{
    struct sf_window_store *all = windows_new(life->epoch), *windows = restore(life);
    /* what has expired may be there in part, or again: the next pass takes it away */
    int64_t from = is_exact && !life->is_away_for_long ? 0 : life->now - 15;
    replay(life, all, 0);
    check_within(life, from, life->windows, windows, is_exact);
    check_within(life, from, life->windows, all, is_exact);
    check_within(life, from, windows, all, true);
    sf_window_store_destroy(life->windows);
    sf_window_store_destroy(all);
    life->windows = windows;
}

/* ------------------------------------------------------------------ lives */

/* Rows are those of the cut, whatever of the disk is left; and when all windows have gone, so has all of the log. */
static void local_rows_and_the_rest_of_the_log_are_the_state_k4(void **state)
{
    (void)state;
    static struct life life;
    uint32_t starts = 0, images = 0, exact = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        memset(&life, 0, sizeof life);
        begin(&life, seed);
        life.is_away_for_long = seed % 3 == 0;
        for (uint32_t i = 0; i < 60; i++) {
            work(&life);
            if (draw(&life, 5) == 0) fall_back(&life);
            else commit(&life);
            if (draw(&life, 8) != 0) continue;
            sf_window_store_fall_back(life.windows, life.epoch - 1, life.epoch);
            crash(&life);
            restart(&life, true);
        }
        sf_window_store_expire(life.windows, life.now + 100);
        commit(&life);
        compact(&life, life.end, 0);
        CHECK_EQ(values_left(&life), 0);
        starts += life.starts_from_rows;
        images += life.images;
        exact += !life.is_away_for_long;
        end(&life);
    }
    CHECK(starts > 1000);
    CHECK(images > 100);
    CHECK(exact > 10);
}

/* Without a transaction an epoch may be there in part (B10): no row is older than the last whole epoch's. */
static void log_that_ends_within_an_epoch_loses_no_row_b10(void **state)
{
    (void)state;
    static struct life life;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        memset(&life, 0, sizeof life);
        begin(&life, seed);
        for (uint32_t i = 0; i < 60; i++) {
            work(&life);
            if (draw(&life, 6) != 0) {
                commit(&life);
                continue;
            }
            seal(&life, draw(&life, 12));
            sf_window_store_fall_back(life.windows, life.epoch - 1, life.epoch);
            crash(&life);
            restart(&life, false);
        }
        sf_window_store_expire(life.windows, life.now + 100);
        commit(&life);
        compact(&life, life.end, 0);
        CHECK_EQ(values_left(&life), 0);
        end(&life);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_rows_and_the_rest_of_the_log_are_the_state_k4),
        cmocka_unit_test(log_that_ends_within_an_epoch_loses_no_row_b10),
    };
    struct sf_expression_error error;
    make_keys();
    if (!sf_aggregates_compile(specs, 1, sf_alloc_libc(), &aggregates, &error)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sf_aggregates_destroy(aggregates);
    return failed;
}
