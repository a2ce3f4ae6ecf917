/* The window store against a naive model, and each of its promises by itself. */
#include "core/state/window_store.h"

#include <stdlib.h>

#include "core/bytes.h"
#include "core/hash.h"
#include "core/time/event_time.h"
#include "tests/check.h"

#define SIZE 10
#define RETENTION 30

static const struct sf_aggregate_spec specs[] = {{.name = "n", .kind = SF_AGGREGATE_COUNT}};
static const struct sf_step_spec step = {
    .name = "counts",
    .kind = SF_STEP_AGGREGATE,
    .window = {.kind = SF_WINDOW_TUMBLING, .size_ms = SIZE, .grace_ms = 5},
    .aggregates = specs,
    .aggregate_count = 1,
    .store = {.name = "counts", .is_persistent = true, .retention_ms = RETENTION},
};

static struct sf_aggregates *counts;

/* Counts what it gives out, so that a leak fails the test that made it. */
struct counting {
    int64_t bytes;
};

static void *counting_alloc(void *ctx, size_t bytes)
{
    ((struct counting *)ctx)->bytes += (int64_t)bytes;
    struct sf_alloc libc = sf_alloc_libc();
    return libc.alloc(libc.ctx, bytes);
}

static void counting_free(void *ctx, void *ptr, size_t bytes)
{
    ((struct counting *)ctx)->bytes -= (int64_t)bytes;
    struct sf_alloc libc = sf_alloc_libc();
    libc.free(libc.ctx, ptr, bytes);
}

static bool is_packed; /* format of the stores that are made */

static struct sf_window_store *store_new(struct counting *counting, uint64_t epoch)
{
    struct sf_window_store_config config = {
        .alloc = {.alloc = counting_alloc, .free = counting_free, .ctx = counting},
        .step = &step,
        .aggregates = counts,
        .is_packed = is_packed,
        .epoch = epoch};
    return sf_window_store_new(&config);
}

static void bump(struct sf_window_store *store, struct sf_window_row row, int64_t ts_ms)
{
    static const struct sf_input_value input = {0};
    struct sf_fault fault;
    CHECK(sf_aggregates_add(counts, &input, row.accs, &fault));
    sf_window_store_set_ts(store, sf_time_max(row.ts_ms, ts_ms));
}

static int64_t number(const struct sf_acc *acc)
{
    return acc->as.integer;
}

static struct sf_window_row touch(struct sf_window_store *store, int64_t start, const char *key)
{
    uint32_t len = (uint32_t)strlen(key);
    uint64_t hash = sf_hash64(key, len);
    sf_window_store_expect(store, start, hash, false); /* whether or not it is there: changes nothing */
    sf_window_store_expect(store, start, hash, true);
    return sf_window_store_touch(store, start, hash, (const uint8_t *)key, len);
}

static int64_t count_of(const struct sf_window_store *store, int64_t start, const char *key)
{
    for (uint32_t i = 0; i < sf_window_store_count(store, start); i++) {
        struct sf_window_row row = sf_window_store_row(store, start, i);
        if (row.key_len == strlen(key) && memcmp(row.key, key, row.key_len) == 0) return number(row.accs);
    }
    return 0;
}

/* ------------------------------------------------------------------ single promises */

static void new_row_is_new_once_and_keeps_its_key(void **state)
{
    (void)state;
    struct counting counting = {0};
    struct sf_window_store *store = store_new(&counting, 1);
    char key[] = "user-1";
    struct sf_window_row row = touch(store, 20, key);
    CHECK(row.is_new);
    CHECK_EQ(row.ts_ms, SF_TIME_UNSET);
    bump(store, row, 21);
    key[5] = '2'; /* the store has its own copy */
    row = touch(store, 20, "user-1");
    CHECK(!row.is_new);
    CHECK_EQ(row.ts_ms, 21);
    CHECK_EQ(number(row.accs), 1);
    CHECK_EQ(sf_window_store_rows(store), 1);
    sf_window_store_destroy(store);
    CHECK_EQ(counting.bytes, 0);
}

static void row_that_is_taken_back_has_never_been(void **state)
{
    (void)state;
    struct counting counting = {0};
    struct sf_window_store *store = store_new(&counting, 1);
    (void)touch(store, 0, "a");
    sf_window_store_untouch(store);
    CHECK_EQ(sf_window_store_panes(store), 0);
    CHECK_EQ(sf_window_store_uncommitted_bytes(store), 0);
    bump(store, touch(store, 0, "b"), 1);
    (void)touch(store, 0, "a key that is longer than what a row holds itself");
    sf_window_store_untouch(store);
    CHECK_EQ(sf_window_store_count(store, 0), 1);
    CHECK(touch(store, 0, "a key that is longer than what a row holds itself").is_new);
    sf_window_store_untouch(store);
    struct sf_change change;
    sf_window_store_seal_begin(store);
    CHECK(sf_window_store_seal_next(store, &change));
    CHECK_EQ(change.record_key.len, 1);
    sf_window_store_seal_accept(store);
    CHECK(!sf_window_store_seal_next(store, &change));
    sf_window_store_destroy(store);
    CHECK_EQ(counting.bytes, 0);
}

static void keys_with_one_hash_are_told_apart_by_their_bytes(void **state)
{
    (void)state;
    struct counting counting = {0};
    struct sf_window_store *store = store_new(&counting, 1);
    const char *keys[] = {"", "a", "b", "aa", "a key that is longer than what a row holds itself",
                          "a key that is longer than what a row holds itself!"};
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t i = 0; i < 6; i++)
            bump(store, sf_window_store_touch(store, 0, 7, (const uint8_t *)keys[i], (uint32_t)strlen(keys[i])), i);
    CHECK_EQ(sf_window_store_count(store, 0), 6);
    for (uint32_t i = 0; i < 6; i++) CHECK_EQ(count_of(store, 0, keys[i]), 3);
    sf_window_store_fall_back(store, 0, 2); /* all six come out of one run of the index */
    CHECK_EQ(sf_window_store_panes(store), 0);
    sf_window_store_destroy(store);
    CHECK_EQ(counting.bytes, 0);
}

static void due_gives_windows_by_close_after_and_upto_f5(void **state)
{
    (void)state;
    struct counting counting = {0};
    struct sf_window_store *store = store_new(&counting, 1);
    int64_t starts[] = {40, 0, 20}; /* close at 55, 15, 35 */
    for (uint32_t i = 0; i < 3; i++) bump(store, touch(store, starts[i], "a"), starts[i]);
    int64_t start = -1;
    CHECK(!sf_window_store_due(store, SF_TIME_UNSET, 14, &start));
    CHECK(sf_window_store_due(store, SF_TIME_UNSET, 15, &start));
    CHECK_EQ(start, 0);
    CHECK(sf_window_store_due(store, 15, 100, &start));
    CHECK_EQ(start, 20);
    CHECK(sf_window_store_due(store, 35, SF_TIME_COMPLETE, &start));
    CHECK_EQ(start, 40);
    CHECK(!sf_window_store_due(store, 55, SF_TIME_COMPLETE, &start));
    sf_window_store_destroy(store);
}

static void rows_are_walked_in_order_of_creation(void **state)
{
    (void)state;
    struct counting counting = {0};
    struct sf_window_store *store = store_new(&counting, 1);
    for (uint32_t i = 0; i < 1000; i++) {
        uint8_t key[4];
        sf_put_be32(key, i * 2654435761u);
        bump(store, sf_window_store_touch(store, 0, sf_hash64(key, 4), key, 4), i);
    }
    for (uint32_t i = 0; i < 1000; i++) {
        struct sf_window_row row = sf_window_store_row(store, 0, i);
        CHECK_EQ(sf_get_be32(row.key), i * 2654435761u);
        CHECK_EQ(row.ts_ms, i);
    }
    sf_window_store_destroy(store);
}

static void expired_pane_is_gone_at_once_back_after_fall_back_and_freed_at_commit_k6(void **state)
{
    (void)state;
    struct counting counting = {0};
    struct sf_window_store *store = store_new(&counting, 1);
    bump(store, touch(store, 0, "a"), 1);
    bump(store, touch(store, 10, "a"), 11);
    sf_window_store_rotate(store, 2);
    sf_window_store_committed(store, 1);
    sf_window_store_expire(store, RETENTION - 1);
    CHECK_EQ(sf_window_store_panes(store), 2);
    sf_window_store_expire(store, RETENTION);
    CHECK_EQ(sf_window_store_panes(store), 1);
    CHECK_EQ(sf_window_store_oldest(store), 10);
    CHECK_EQ(sf_window_store_count(store, 0), 0);
    sf_window_store_fall_back(store, 1, 3);
    CHECK_EQ(sf_window_store_oldest(store), 0);
    CHECK_EQ(count_of(store, 0, "a"), 1);
    sf_window_store_expire(store, RETENTION);
    int64_t before = counting.bytes;
    sf_window_store_rotate(store, 4);
    sf_window_store_committed(store, 3);
    CHECK(counting.bytes < before);
    sf_window_store_destroy(store);
    CHECK_EQ(counting.bytes, 0);
}

static void uncommitted_bytes_count_the_open_epochs_only_l5(void **state)
{
    (void)state;
    struct counting counting = {0};
    struct sf_window_store *store = store_new(&counting, 1);
    CHECK_EQ(sf_window_store_uncommitted_bytes(store), 0);
    bump(store, touch(store, 0, "a"), 1);
    uint64_t created = sf_window_store_uncommitted_bytes(store);
    CHECK(created > 0);
    bump(store, touch(store, 0, "a"), 2);
    CHECK_EQ(sf_window_store_uncommitted_bytes(store), created); /* one image a row and epoch */
    sf_window_store_rotate(store, 2);
    bump(store, touch(store, 0, "a"), 3);
    CHECK(sf_window_store_uncommitted_bytes(store) > created);
    sf_window_store_committed(store, 1);
    uint64_t image = sf_window_store_uncommitted_bytes(store);
    CHECK(image > 0 && image < created);
    sf_window_store_fall_back(store, 1, 3);
    CHECK_EQ(sf_window_store_uncommitted_bytes(store), 0);
    CHECK_EQ(count_of(store, 0, "a"), 2);
    sf_window_store_destroy(store);
}

static uint32_t seal_count(struct sf_window_store *store, uint32_t *tombstones_out)
{
    uint32_t count = 0;
    *tombstones_out = 0;
    struct sf_change change;
    sf_window_store_seal_begin(store);
    while (sf_window_store_seal_next(store, &change)) {
        *tombstones_out += change.value.data == NULL;
        count++;
        sf_window_store_seal_accept(store);
    }
    return count;
}

static void row_that_the_changelog_never_saw_gets_no_tombstone(void **state)
{
    (void)state;
    struct counting counting = {0};
    struct sf_window_store *store = store_new(&counting, 1);
    uint32_t tombstones;
    bump(store, touch(store, 0, "a"), 1);
    CHECK_EQ(seal_count(store, &tombstones), 1);
    sf_window_store_rotate(store, 2);
    bump(store, touch(store, 0, "a"), 2); /* a final flush passes inside the epoch that touched (S4) */
    bump(store, touch(store, 0, "b"), 3);
    sf_window_store_expire(store, RETENTION);
    CHECK_EQ(seal_count(store, &tombstones), 1);
    CHECK_EQ(tombstones, 1);
    sf_window_store_rotate(store, 3);
    sf_window_store_committed(store, 2);
    CHECK_EQ(seal_count(store, &tombstones), 0);
    sf_window_store_destroy(store);
    CHECK_EQ(counting.bytes, 0);
}

static void change_that_was_not_accepted_comes_again(void **state)
{
    (void)state;
    struct counting counting = {0};
    struct sf_window_store *store = store_new(&counting, 1);
    bump(store, touch(store, 0, "a"), 1);
    bump(store, touch(store, 10, "b"), 11);
    struct sf_change one, again, two;
    sf_window_store_seal_begin(store);
    CHECK(sf_window_store_seal_next(store, &one));
    CHECK_EQ(one.key.data[0], 'a');
    CHECK(sf_window_store_seal_next(store, &again));
    CHECK_EQ(again.key.data[0], 'a');
    CHECK_EQ(again.ts_ms, 1);
    sf_window_store_seal_accept(store);
    CHECK(sf_window_store_seal_next(store, &two));
    CHECK_EQ(two.key.data[0], 'b');
    CHECK_EQ(sf_change_partition(&two, 7), sf_partition_of_key("b", 1, 7));
    sf_window_store_seal_accept(store);
    CHECK(!sf_window_store_seal_next(store, &two));
    sf_window_store_rotate(store, 2);
    sf_window_store_destroy(store);
}

/* ------------------------------------------------------------------ restore */

static enum sf_status restore(struct sf_window_store *store, const uint8_t *key, uint32_t key_len, const void *value,
                              uint32_t value_len, const char **reason)
{
    return sf_window_store_restore(store, (struct sf_slice){.data = key, .len = key_len},
                                   (struct sf_slice){.data = value, .len = value_len}, reason);
}

static void damaged_record_is_refused_whole_and_null_deletes_case_55(void **state)
{
    (void)state;
    struct counting counting = {0};
    struct sf_window_store *store = store_new(&counting, 1);
    const char *reason = NULL;
    uint8_t key[13] = {'a', 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 0};
    static const char good[] = "\0\0\0\0\0\0\0\x15{\"n\":3}", other[] = "\0\0\0\0\0\0\0\x15{\"m\":3}",
                      bad_time[] = "\xff\0\0\0\0\0\0\x15{\"n\":3}", trailing[] = "\0\0\0\0\0\0\0\x15{\"n\":3}x";
    CHECK_EQ(restore(store, key, 13, good, sizeof good - 1, &reason), SF_OK);
    for (uint32_t len = 0; len < sizeof good - 1; len++) { /* cut anywhere; the sanitizer sees a read past the end */
        uint8_t *cut = test_malloc(len + 1);
        memcpy(cut, good, len);
        reason = NULL;
        CHECK_EQ(restore(store, key, 13, cut, len, &reason), SF_E_CORRUPT);
        CHECK(reason != NULL);
        test_free(cut);
    }
    CHECK_EQ(restore(store, key, 13, trailing, sizeof trailing - 1, &reason), SF_E_CORRUPT);
    CHECK_EQ(restore(store, key, 13, other, sizeof other - 1, &reason), SF_E_CORRUPT);
    CHECK_EQ(restore(store, key, 13, good, 0, &reason), SF_E_CORRUPT);
    CHECK_STR(reason, "empty value");
    CHECK_EQ(restore(store, key, 13, bad_time, sizeof bad_time - 1, &reason), SF_E_CORRUPT);
    CHECK_STR(reason, "event time out of range in the value");
    CHECK_EQ(restore(store, key, 11, good, sizeof good - 1, &reason), SF_E_CORRUPT);
    key[12] = 1;
    CHECK_EQ(restore(store, key, 13, good, sizeof good - 1, &reason), SF_E_CORRUPT);
    CHECK_STR(reason, "sequence in the key is not 0");
    key[12] = 0;
    key[8] = 21;
    CHECK_EQ(restore(store, key, 13, good, sizeof good - 1, &reason), SF_E_CORRUPT);
    key[8] = 20;
    CHECK_EQ(sf_window_store_rows(store), 1);
    CHECK_EQ(count_of(store, 20, "a"), 3);
    CHECK_EQ(sf_window_store_row(store, 20, 0).ts_ms, 21);
    CHECK_EQ(restore(store, key, 13, NULL, 0, &reason), SF_OK);
    CHECK_EQ(restore(store, key, 13, NULL, 0, &reason), SF_OK); /* what is not there may be deleted too */
    CHECK_EQ(sf_window_store_rows(store), 0);
    CHECK_EQ(sf_window_store_panes(store), 0);
    sf_window_store_destroy(store);
    CHECK_EQ(counting.bytes, 0);
}

static void restore_expires_nothing_in_either_order_case_109(void **state)
{
    (void)state;
    static const char value[] = "\0\0\0\0\0\0\0\x05{\"n\":1}";
    uint8_t old[13] = {'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    uint8_t new[13] = {'a', 0, 0, 0, 0, 0, 0, 0, 90, 0, 0, 0, 0};
    for (uint32_t order = 0; order < 2; order++) {
        struct counting counting = {0};
        struct sf_window_store *store = store_new(&counting, 1);
        const char *reason;
        CHECK_EQ(restore(store, order == 0 ? old : new, 13, value, sizeof value - 1, &reason), SF_OK);
        CHECK_EQ(restore(store, order == 0 ? new : old, 13, value, sizeof value - 1, &reason), SF_OK);
        CHECK_EQ(sf_window_store_count(store, 0), 1);
        CHECK_EQ(sf_window_store_count(store, 90), 1);
        sf_window_store_destroy(store);
    }
}

static void restored_row_that_expires_gets_its_tombstone_k11(void **state)
{
    (void)state;
    struct counting counting = {0};
    struct sf_window_store *store = store_new(&counting, 1);
    static const char value[] = "\0\0\0\0\0\0\0\x05{\"n\":1}";
    const uint8_t key[13] = {'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const char *reason;
    uint32_t tombstones;
    CHECK_EQ(restore(store, key, 13, value, sizeof value - 1, &reason), SF_OK);
    sf_window_store_expire(store, RETENTION);
    CHECK_EQ(seal_count(store, &tombstones), 1);
    CHECK_EQ(tombstones, 1);
    sf_window_store_destroy(store);
}

/* ------------------------------------------------------------------ against a model */

#define KEYS 40u
#define STARTS 64u
#define SNAPSHOTS 4u
#define LOG_MAX 200000u

struct cell {
    int64_t n; /* 0: no row */
    int64_t ts_ms;
};

struct model {
    uint64_t epoch; /* whose end this is */
    int64_t clock;
    struct cell cells[STARTS][KEYS];
};

struct log_record {
    uint8_t *key; /* then the value */
    uint32_t key_len;
    uint32_t value_len;
    bool is_null;
    bool is_gone; /* compacted away, in one replay */
};

struct run {
    struct sf_window_store *store;
    uint64_t draw;
    struct model now;
    struct model ends[SNAPSHOTS]; /* [0]: the last committed; then those that are open */
    uint32_t end_count;
    struct log_record *log; /* committed up to committed_count, then what open epochs sealed */
    uint32_t log_count;
    uint32_t sealed_at[SNAPSHOTS]; /* log_count at each end */
    uint64_t epoch;
    uint64_t touched;
    uint64_t images;
    struct counting *counting;
};

static uint32_t draw(struct run *run, uint32_t below)
{
    run->draw = run->draw * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(run->draw >> 33) % below;
}

/* Key i has i bytes, some longer than a row holds. Its last two are chosen so that few key groups hold all. */
static uint32_t key_of(uint32_t i, uint8_t *key)
{
    for (uint32_t at = 0; at < i; at++) key[at] = (uint8_t)(at < 20 ? 'k' : 'a' + i % 3);
    for (uint32_t tail = 0; i >= 2; tail++) {
        sf_put_be16(key + i - 2, (uint16_t)tail);
        if (sf_key_group(sf_hash64(key, i)) == i % 2 * 7) break;
    }
    return i;
}

static uint8_t model_keys[KEYS][KEYS + 1];

static void check_store(const struct sf_window_store *store, const struct model *model)
{
    uint64_t rows = 0;
    uint32_t panes = 0;
    int64_t oldest = SF_TIME_COMPLETE;
    for (uint32_t s = 0; s < STARTS; s++) {
        uint32_t expected = 0, count = sf_window_store_count(store, s * SIZE);
        for (uint32_t k = 0; k < KEYS; k++) expected += model->cells[s][k].n > 0;
        CHECK_EQ(count, expected);
        rows += expected;
        panes += expected > 0;
        if (expected > 0 && oldest == SF_TIME_COMPLETE) oldest = s * SIZE;
        bool seen[KEYS] = {false};
        for (uint32_t i = 0; i < count; i++) {
            struct sf_window_row row = sf_window_store_row(store, s * SIZE, i);
            uint8_t key[KEYS];
            uint32_t k = row.key_len;
            CHECK(k < KEYS && !seen[k]);
            seen[k] = true;
            memcpy(key, model_keys[k], k);
            CHECK(k == 0 || memcmp(row.key, key, k) == 0);
            CHECK(row.hash == sf_hash64(key, k));
            CHECK_EQ(number(row.accs), model->cells[s][k].n);
            CHECK_EQ(row.ts_ms, model->cells[s][k].ts_ms);
        }
    }
    CHECK_EQ(sf_window_store_rows(store), rows);
    CHECK_EQ(sf_window_store_panes(store), panes);
    CHECK_EQ(sf_window_store_oldest(store), oldest);
}

static void model_touch(struct run *run)
{
    uint32_t first = (uint32_t)(run->now.clock < 0 ? 0 : run->now.clock / SIZE);
    uint32_t s = first + draw(run, 5), k = draw(run, KEYS);
    if (s >= STARTS || (int64_t)s * SIZE + RETENTION <= run->now.clock) return;
    const uint8_t *key = model_keys[k];
    struct sf_window_row row = sf_window_store_touch(run->store, s * SIZE, sf_hash64(key, k), key, k);
    struct cell *cell = &run->now.cells[s][k];
    CHECK_EQ(row.is_new, cell->n == 0);
    int64_t ts_ms = s * SIZE + draw(run, SIZE);
    if (cell->n == 0) cell->ts_ms = SF_TIME_UNSET;
    cell->n++;
    cell->ts_ms = sf_time_max(cell->ts_ms, ts_ms);
    bump(run->store, row, ts_ms);
    run->touched++;
}

static void model_expire(struct run *run)
{
    run->now.clock += draw(run, 2 * SIZE);
    sf_window_store_expire(run->store, run->now.clock);
    for (uint32_t s = 0; s < STARTS; s++)
        if ((int64_t)s * SIZE + RETENTION <= run->now.clock) memset(run->now.cells[s], 0, sizeof run->now.cells[s]);
}

static void model_rotate(struct run *run)
{
    if (run->end_count == SNAPSHOTS - 1) return; /* two open beside the running one */
    sf_window_store_seal_begin(run->store);
    struct sf_change change;
    while (sf_window_store_seal_next(run->store, &change)) {
        CHECK(run->log_count < LOG_MAX);
        CHECK_EQ(change.record_key.data == NULL, is_packed);
        struct log_record *record = &run->log[run->log_count++];
        *record = (struct log_record){.key = malloc(change.key.len + change.value.len + 1u),
                                      .key_len = change.key.len,
                                      .value_len = change.value.len,
                                      .is_null = change.value.data == NULL};
        memcpy(record->key, change.key.data, change.key.len);
        if (!record->is_null) memcpy(record->key + change.key.len, change.value.data, change.value.len);
        run->images += is_packed && !record->is_null && record->key[1] == 1;
        sf_window_store_seal_accept(run->store);
    }
    run->ends[run->end_count] = run->now;
    run->ends[run->end_count].epoch = run->epoch;
    run->sealed_at[run->end_count] = run->log_count;
    run->end_count++;
    run->epoch++;
    sf_window_store_rotate(run->store, run->epoch);
}

/* What a broker's cleaner may have done: up to some offset all that a later record there replaces is gone, and up to an
 * earlier one the nulls are gone too. */
static void compact(struct run *run)
{
    uint32_t count = run->sealed_at[0];
    for (uint32_t i = 0; i < count; i++) run->log[i].is_gone = false;
    if (count == 0 || draw(run, 4) == 0) return;
    uint32_t cleaned = draw(run, count + 1), nulls = draw(run, cleaned + 1);
    for (uint32_t i = 0; i < cleaned; i++) {
        struct log_record *record = &run->log[i];
        uint32_t later = i + 1;
        while (later < cleaned && (run->log[later].key_len != record->key_len ||
                                   memcmp(run->log[later].key, record->key, record->key_len) != 0))
            later++;
        record->is_gone = later < cleaned || (i < nulls && record->is_null);
    }
}

static void log_truncate(struct run *run, uint32_t count)
{
    while (run->log_count > count) {
        run->log_count--;
        free(run->log[run->log_count].key);
    }
}

/* The committed log, compacted, into `store`. */
static void replay(struct run *run, struct sf_window_store *store)
{
    const char *reason = NULL;
    compact(run);
    for (uint32_t i = 0; i < run->sealed_at[0]; i++) {
        const struct log_record *record = &run->log[i];
        if (record->is_gone) continue;
        enum sf_status status =
            restore(store, record->key, record->key_len, record->is_null ? NULL : record->key + record->key_len,
                    record->value_len, &reason);
        CHECK_EQ(status, SF_OK);
    }
    check_store(store, &run->ends[0]);
}

static void check_replay(struct run *run)
{
    struct counting counting = {0};
    struct sf_window_store *replayed = store_new(&counting, 1);
    replay(run, replayed);
    sf_window_store_destroy(replayed);
    CHECK_EQ(counting.bytes, 0);
}

static void model_commit(struct run *run)
{
    if (run->end_count < 2) return;
    sf_window_store_committed(run->store, run->ends[1].epoch);
    memmove(&run->ends[0], &run->ends[1], (run->end_count - 1) * sizeof run->ends[0]);
    memmove(&run->sealed_at[0], &run->sealed_at[1], (run->end_count - 1) * sizeof run->sealed_at[0]);
    run->end_count--;
    if (draw(run, 8) == 0) check_replay(run);
}

static void model_fall_back(struct run *run)
{
    run->epoch += 1 + draw(run, 3);
    sf_window_store_fall_back(run->store, run->ends[0].epoch, run->epoch);
    run->now = run->ends[0];
    log_truncate(run, run->sealed_at[0]);
    run->end_count = 1;
    CHECK_EQ(sf_window_store_uncommitted_bytes(run->store), 0);
    check_store(run->store, &run->now);
}

/* A crash: what was not committed is gone, and the store goes on from what the log gives. The log is as compacted as
 * the restart found it. */
static void model_restart(struct run *run)
{
    run->epoch++;
    run->now = run->ends[0];
    log_truncate(run, run->sealed_at[0]);
    run->end_count = 1;
    sf_window_store_destroy(run->store);
    run->store = store_new(run->counting, run->epoch);
    replay(run, run->store);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < run->log_count; i++) {
        if (run->log[i].is_gone) free(run->log[i].key);
        else run->log[kept++] = run->log[i];
    }
    run->log_count = kept;
    run->sealed_at[0] = kept;
}

static uint64_t images;

static void run_seed(uint64_t seed, uint32_t ops)
{
    static struct run run; /* snapshots are large */
    static struct log_record log[LOG_MAX];
    struct counting counting = {0};
    run = (struct run){.store = store_new(&counting, 1), .draw = seed, .log = log, .end_count = 1, .epoch = 1,
                       .counting = &counting};
    for (uint32_t op = 0; op < ops; op++) {
        uint32_t choice = draw(&run, 100);
        if (choice < 84) model_touch(&run);
        else if (choice < 87) model_expire(&run);
        else if (choice < 93) model_rotate(&run);
        else if (choice < 98) model_commit(&run);
        else if (draw(&run, 4) > 0) model_fall_back(&run);
        else model_restart(&run);
        if (op % 50 == 0) check_store(run.store, &run.now);
    }
    check_store(run.store, &run.now);
    check_replay(&run);
    log_truncate(&run, 0);
    sf_window_store_destroy(run.store);
    CHECK_EQ(counting.bytes, 0);
    CHECK(run.touched > ops / 4);
    images += run.images;
}

static void store_equals_a_naive_model_through_epochs_undo_expiry_and_replay_k3_b12(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) run_seed(seed, 4000);
}

static void store_with_a_packed_changelog_equals_the_same_model_k5(void **state)
{
    (void)state;
    is_packed = true;
    images = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) run_seed(seed, 4000);
    is_packed = false;
    CHECK(images > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_row_is_new_once_and_keeps_its_key),
        cmocka_unit_test(row_that_is_taken_back_has_never_been),
        cmocka_unit_test(keys_with_one_hash_are_told_apart_by_their_bytes),
        cmocka_unit_test(due_gives_windows_by_close_after_and_upto_f5),
        cmocka_unit_test(rows_are_walked_in_order_of_creation),
        cmocka_unit_test(expired_pane_is_gone_at_once_back_after_fall_back_and_freed_at_commit_k6),
        cmocka_unit_test(uncommitted_bytes_count_the_open_epochs_only_l5),
        cmocka_unit_test(row_that_the_changelog_never_saw_gets_no_tombstone),
        cmocka_unit_test(change_that_was_not_accepted_comes_again),
        cmocka_unit_test(damaged_record_is_refused_whole_and_null_deletes_case_55),
        cmocka_unit_test(restore_expires_nothing_in_either_order_case_109),
        cmocka_unit_test(restored_row_that_expires_gets_its_tombstone_k11),
        cmocka_unit_test(store_equals_a_naive_model_through_epochs_undo_expiry_and_replay_k3_b12),
        cmocka_unit_test(store_with_a_packed_changelog_equals_the_same_model_k5),
    };
    struct sf_expression_error error;
    for (uint32_t k = 0; k < KEYS; k++) (void)key_of(k, model_keys[k]);
    if (!sf_aggregates_compile(specs, 1, sf_alloc_libc(), &counts, &error)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sf_aggregates_destroy(counts);
    return failed;
}
