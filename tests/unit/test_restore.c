/* What a start finds in changelogs and local store becomes window stores again. */
#include "core/run/restore.h"

#include "core/bytes.h"
#include "core/hash.h"
#include "core/note.h"
#include "core/state/changelog.h"
#include "core/state/local_layout.h"
#include "core/state/window_store.h"
#include "tests/check.h"
#include "tests/unit/fake_log.h"
#include "tests/unit/fake_store.h"

#define SIZE 10

static const struct sf_aggregate_spec specs[] = {{.name = "n", .kind = SF_AGGREGATE_COUNT}};
static const struct sf_step_spec step_spec = {.name = "counts",
                                              .kind = SF_STEP_AGGREGATE,
                                              .window = {.size_ms = SIZE},
                                              .aggregates = specs,
                                              .aggregate_count = 1,
                                              .store = {.name = "counts", .retention_ms = 200}};
static struct sf_aggregates *aggregates;
static bool is_packed; /* changelog format of the fixtures that are made */

struct fixture {
    struct fake_kafka kafka;
    struct fake_store fake;
    struct sf_local_writer *writer; /* NULL: without a local store */
    struct sf_window_store *windows[2];
    struct sf_restore_log logs[FAKE_LOGS_MAX];
    struct sf_local_log local_logs[FAKE_LOGS_MAX];
    uint32_t log_count;
    struct sf_restore *restore;
    struct sf_notes notes;
    uint32_t budget;
    uint32_t steps;
};

static void init(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    fake_kafka_init(&f->kafka);
    fake_store_init(&f->fake);
    f->budget = 100;
    struct sf_window_store_config config = {
        .alloc = sf_alloc_libc(), .step = &step_spec, .aggregates = aggregates, .is_packed = is_packed, .epoch = 1};
    for (uint32_t i = 0; i < 2; i++) f->windows[i] = sf_window_store_new(&config);
}

/* A changelog partition of store `store`, with the ends that the owner found. */
static struct fake_log *add_log(struct fixture *f, uint32_t store, const char *topic, int32_t partition, int64_t start,
                                int64_t end)
{
    struct fake_log *log = fake_log_add(&f->kafka, topic, partition, start, end);
    struct sf_tp tp = {.topic = sf_kafka_topic(fake_kafka(&f->kafka), topic), .partition = partition};
    f->logs[f->log_count] = (struct sf_restore_log){
        .tp = tp, .store = store, .is_packed = is_packed, .log_start = start, .log_end = end};
    f->local_logs[f->log_count] = (struct sf_local_log){.topic = topic, .partition = partition};
    f->log_count++;
    return log;
}

static void put(struct fake_log *log, int64_t offset, const char *key, int64_t start, const char *json)
{
    static uint8_t bytes[8192]; /* records borrow from here for the test's life */
    static uint32_t used;
    if (used > sizeof bytes - 128) used = 0;
    uint8_t *at = bytes + used;
    uint32_t key_len = sf_row_key_write(at, (const uint8_t *)key, (uint32_t)strlen(key), start);
    struct sf_slice value = {0};
    if (json != NULL) {
        sf_put_be64(at + key_len, (uint64_t)start);
        memcpy(at + key_len + 8, json, strlen(json));
        value = (struct sf_slice){.data = at + key_len, .len = 8 + (uint32_t)strlen(json)};
    }
    fake_log_put(log, offset, (struct sf_slice){.data = at, .len = key_len}, value);
    used += key_len + value.len + 8;
}

static enum sf_status sink(void *ctx, const struct sf_restored *restored, const char **reason_out)
{
    struct fixture *f = ctx;
    CHECK(restored->store < 2);
    struct sf_window_store *windows = f->windows[restored->store];
    switch (restored->kind) {
    case SF_RESTORED_LOCAL_ROW:
        return sf_window_store_restore_local(windows, restored->key, restored->value, reason_out);
    case SF_RESTORED_TRACE:
        return sf_window_store_restore_trace(windows, &restored->packed_key, restored->entry_count, reason_out);
    case SF_RESTORED_RECORD: break;
    }
    return sf_window_store_restore(windows, restored->key, restored->value, reason_out);
}

static void start(struct fixture *f, bool has_store)
{
    if (has_store) {
        struct sf_local_writer_config config = {
            .alloc = sf_alloc_libc(),
            .store = fake_store(&f->fake),
            .identity = 1,
            .is_store_empty = sf_local_format_check(fake_store(&f->fake), 1) == SF_NOT_FOUND,
            .store_count = 2,
            .logs = f->local_logs,
            .log_count = f->log_count};
        f->writer = sf_local_writer_new(&config);
    }
    struct sf_restore_config config = {.alloc = sf_alloc_libc(),
                                       .kafka = fake_kafka(&f->kafka),
                                       .group = "app",
                                       .writer = f->writer,
                                       .logs = f->logs,
                                       .log_count = f->log_count,
                                       .sink = sink,
                                       .sink_ctx = f};
    if (has_store) config.store = fake_store(&f->fake);
    f->restore = sf_restore_new(&config);
}

/* Until it is done, failed, or waits. */
static enum sf_restore_state run(struct fixture *f)
{
    f->notes.count = 0;
    while (true) {
        struct sf_step step = {.budget = f->budget, .notes = &f->notes};
        uint32_t used = 0;
        enum sf_restore_state state = sf_restore_step(f->restore, &step, &used);
        CHECK(used <= f->budget);
        CHECK_EQ(f->fake.open_iters, 0);
        f->steps++;
        if (state != SF_RESTORE_RUNNING || used == 0) return state;
    }
}

/* What persist would do next: bring the rest to the store. */
static void flush(struct fixture *f)
{
    uint64_t tag;
    CHECK(sf_local_writer_cut(f->writer, 1));
    while (sf_local_writer_is_busy(f->writer)) {
        (void)sf_local_writer_step(f->writer, 100);
        (void)sf_local_writer_poll(f->writer, &tag);
    }
}

static void stop(struct fixture *f)
{
    sf_restore_destroy(f->restore);
    sf_local_writer_destroy(f->writer);
    f->restore = NULL;
    f->writer = NULL;
    CHECK_EQ(f->kafka.open_batches, 0);
    CHECK_EQ(f->kafka.open_consumers, 0);
}

static void deinit(struct fixture *f)
{
    stop(f);
    for (uint32_t i = 0; i < 2; i++) sf_window_store_destroy(f->windows[i]);
    fake_store_deinit(&f->fake);
}

static int64_t count_of(const struct fixture *f, uint32_t store, const char *key, int64_t window)
{
    const struct sf_window_store *windows = f->windows[store];
    for (uint32_t i = 0; i < sf_window_store_count(windows, window); i++) {
        struct sf_window_row row = sf_window_store_row(windows, window, i);
        if (row.key_len == strlen(key) && memcmp(row.key, key, row.key_len) == 0) return row.accs[0].as.integer;
    }
    return 0;
}

/* A second life with the same logs and store: empty window stores, as after a crash. */
static void restart(struct fixture *f)
{
    stop(f);
    struct sf_window_store_config config = {
        .alloc = sf_alloc_libc(), .step = &step_spec, .aggregates = aggregates, .is_packed = is_packed, .epoch = 1};
    for (uint32_t i = 0; i < 2; i++) {
        sf_window_store_destroy(f->windows[i]);
        f->windows[i] = sf_window_store_new(&config);
    }
    for (uint32_t i = 0; i < f->log_count; i++) {
        f->logs[i].log_start = f->kafka.logs[i].start;
        f->logs[i].log_end = f->kafka.logs[i].stable_end;
    }
}

/* ------------------------------------------------------------------ ends */

static void trailing_removed_and_lonely_markers_do_not_hold_it_up_case_97(void **state)
{
    (void)state;
    for (uint32_t has_store = 0; has_store < 2; has_store++) {
        for (uint32_t budget = 1; budget <= 64; budget *= 8) {
            struct fixture f;
            init(&f);
            f.budget = budget;
            struct fake_log *log = add_log(&f, 0, "v1", 0, 0, 92); /* 91: a commit marker; in V2 not even that */
            for (int64_t offset = 88; offset <= 90; offset++) put(log, offset, &"abc"[offset - 88], 0, "{\"n\":1}");
            (void)add_log(&f, 1, "v3", 0, 5, 8); /* markers only */
            (void)add_log(&f, 1, "v3", 1, 0, 0); /* nothing ever */
            (void)add_log(&f, 1, "v3", 2, 7, 7); /* all of it gone */
            start(&f, has_store);
            CHECK_EQ(run(&f), SF_RESTORE_DONE);
            CHECK_EQ(sf_restore_rows(f.restore), 3);
            CHECK_EQ(sf_window_store_rows(f.windows[0]), 3);
            CHECK_EQ(sf_window_store_rows(f.windows[1]), 0);
            CHECK_EQ(sf_restore_logs_left(f.restore), 0);
            deinit(&f);
        }
    }
}

static void end_is_the_given_one_and_a_reader_below_it_waits_case_99(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    struct fake_log *log = add_log(&f, 0, "log", 0, 0, 22);
    for (int64_t offset = 11; offset <= 20; offset++) {
        char key[2] = {(char)('a' + offset - 11), 0};
        put(log, offset, key, 0, "{\"n\":1}");
    }
    log->stable_end = 10; /* somebody else's transaction is still open */
    start(&f, false);
    CHECK_EQ(run(&f), SF_RESTORE_RUNNING);
    CHECK_EQ(sf_window_store_rows(f.windows[0]), 0);
    struct sf_tp tp;
    int64_t position, end;
    CHECK(sf_restore_holder(f.restore, &tp, &position, &end));
    CHECK_EQ(position, 10);
    CHECK_EQ(end, 22);
    log->stable_end = 22;
    log->is_told_caught_up = false;
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    CHECK_EQ(sf_window_store_rows(f.windows[0]), 10);
    CHECK(!sf_restore_holder(f.restore, &tp, &position, &end));
    deinit(&f);
}

static void later_records_win_and_null_deletes(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    struct fake_log *log = add_log(&f, 0, "log", 0, 0, 10);
    put(log, 0, "a", 0, "{\"n\":1}");
    put(log, 1, "b", 0, "{\"n\":1}");
    put(log, 2, "a", 0, "{\"n\":2}");
    put(log, 3, "b", 0, NULL);
    put(log, 4, "a", 10, "{\"n\":7}");
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    CHECK_EQ(count_of(&f, 0, "a", 0), 2);
    CHECK_EQ(count_of(&f, 0, "b", 0), 0);
    CHECK_EQ(count_of(&f, 0, "a", 10), 7);
    deinit(&f);
}

static void old_and_new_windows_are_restored_in_either_order_case_109(void **state)
{
    (void)state;
    for (uint32_t order = 0; order < 2; order++) {
        struct fixture f;
        init(&f);
        struct fake_log *log = add_log(&f, 0, "log", 0, 0, 3);
        put(log, 0, "a", order == 0 ? 0 : 90, "{\"n\":1}");
        put(log, 1, "a", order == 0 ? 90 : 0, "{\"n\":1}");
        start(&f, false);
        CHECK_EQ(run(&f), SF_RESTORE_DONE);
        CHECK_EQ(count_of(&f, 0, "a", 0), 1);
        CHECK_EQ(count_of(&f, 0, "a", 90), 1);
        deinit(&f);
    }
}

/* ------------------------------------------------------------------ damage */

static void damaged_record_stops_with_topic_partition_offset_and_reason_case_55(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    struct fake_log *log = add_log(&f, 0, "counts-changelog", 3, 0, 10);
    put(log, 1, "a", 0, "{\"n\":1}");
    put(log, 7, "b", 0, "{\"n\":");
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_FAILED);
    CHECK_EQ(sf_restore_error(f.restore)->status, SF_E_CORRUPT);
    CHECK(strstr(sf_restore_error(f.restore)->text, "counts-changelog/3 offset 7: ") != NULL);
    CHECK(!sf_restore_is_local_damaged(f.restore));
    CHECK_EQ(run(&f), SF_RESTORE_FAILED); /* it stays so */
    deinit(&f);
}

static void damaged_local_row_says_that_it_is_the_local_store_k8(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    struct fake_log *log = add_log(&f, 0, "log", 0, 0, 10);
    put(log, 1, "a", 0, "{\"n\":1}");
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    flush(&f);
    restart(&f);
    CHECK_EQ(f.fake.row_count, 3); /* the row, its position, the format */
    f.fake.rows[0].value_len -= 1;
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_FAILED);
    CHECK(sf_restore_is_local_damaged(f.restore));
    restart(&f);
    start(&f, false); /* the rebuild */
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    CHECK_EQ(count_of(&f, 0, "a", 0), 1);
    restart(&f);
    f.fake.read_status = SF_E_IO;
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_FAILED);
    CHECK_EQ(sf_restore_error(f.restore)->status, SF_E_IO);
    CHECK(sf_restore_is_local_damaged(f.restore));
    f.fake.read_status = SF_OK;
    deinit(&f);
}

/* ------------------------------------------------------------------ local store */

static void only_what_is_behind_the_stored_position_is_replayed_k4(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    f.budget = 2;
    struct fake_log *log = add_log(&f, 0, "log", 0, 0, 10);
    for (int64_t i = 0; i < 8; i++) {
        char key[2] = {(char)('a' + i), 0};
        put(log, i, key, i % 2 * 10, "{\"n\":1}");
    }
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    flush(&f);
    put(log, 10, "a", 0, "{\"n\":2}");
    put(log, 11, "b", 10, NULL);
    log->stable_end = 13;
    restart(&f);
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    CHECK_EQ(log->added_at, 10); /* beyond the marker at 8, 9 */
    CHECK_EQ(sf_restore_rows(f.restore), 8 + 2);
    CHECK_EQ(count_of(&f, 0, "a", 0), 2);
    CHECK_EQ(count_of(&f, 0, "b", 10), 0);
    CHECK_EQ(count_of(&f, 0, "h", 10), 1);
    flush(&f);
    restart(&f); /* what was replayed is in the store now */
    log->added_at = -1;
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    CHECK_EQ(log->added_at, -1);
    CHECK_EQ(sf_window_store_rows(f.windows[0]), 7);
    CHECK_EQ(count_of(&f, 0, "a", 0), 2);
    deinit(&f);
}

static void leftover_of_an_aborted_epoch_cannot_be_in_the_store_case_100(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    struct fake_log *log = add_log(&f, 0, "log", 0, 0, 100);
    put(log, 98, "k", 0, "{\"n\":4}");
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    flush(&f);
    /* the epoch writes k=5 and n=1; its transaction is aborted: neither the log nor the writer ever shows it */
    log->stable_end = 103;
    restart(&f);
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    CHECK_EQ(count_of(&f, 0, "k", 0), 4);
    CHECK_EQ(sf_window_store_rows(f.windows[0]), 1);
    deinit(&f);
}

static void position_before_the_log_start_wipes_that_store_only_case_103(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    struct fake_log *one = add_log(&f, 0, "one", 0, 0, 100);
    struct fake_log *other = add_log(&f, 1, "other", 0, 0, 10);
    put(one, 50, "dead", 0, "{\"n\":1}");
    put(one, 60, "alive", 0, "{\"n\":1}");
    put(other, 5, "x", 0, "{\"n\":9}");
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    flush(&f);
    one->record_count = 0; /* "dead" was deleted meanwhile, and its tombstone is gone too */
    put(one, 450, "alive", 0, "{\"n\":2}");
    one->start = 400;
    one->stable_end = 600;
    restart(&f);
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    CHECK_EQ(one->added_at, 400);
    CHECK_EQ(count_of(&f, 0, "dead", 0), 0);
    CHECK_EQ(count_of(&f, 0, "alive", 0), 2);
    CHECK_EQ(count_of(&f, 1, "x", 0), 9);
    flush(&f);
    uint8_t key[64];
    uint32_t len = sf_local_row_key_write(key, 0, 0, sf_hash64("dead", 4), (const uint8_t *)"dead", 4);
    uint8_t value[64];
    CHECK_EQ(sf_store_get(fake_store(&f.fake), (struct sf_store_slice){key, len}, value, 64, &len), SF_NOT_FOUND);
    restart(&f);
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    CHECK_EQ(count_of(&f, 0, "alive", 0), 2);
    CHECK_EQ(count_of(&f, 1, "x", 0), 9);
    deinit(&f);
}

/* Nothing would wake it: there is no log to hear from. */
static void without_logs_it_is_done_without_waiting(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    deinit(&f);
}

static void wipe_is_warned_of_with_both_offsets_k8(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    struct fake_log *log = add_log(&f, 0, "log", 0, 0, 100);
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    flush(&f);
    log->start = 400;
    log->stable_end = 600;
    restart(&f);
    start(&f, true);
    struct sf_step step = {.budget = 1, .notes = &f.notes};
    uint32_t used;
    (void)sf_restore_step(f.restore, &step, &used);
    CHECK_EQ(f.notes.count, 1);
    CHECK_EQ(f.notes.items[0].code, SF_NOTE_STORE_TRUNCATED);
    CHECK_EQ(f.notes.items[0].args[0], 100);
    CHECK_EQ(f.notes.items[0].args[1], 400);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    deinit(&f);
}

static void log_that_starts_above_zero_without_a_position_is_read_from_there_case_103(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    struct fake_log *log = add_log(&f, 0, "log", 0, 400, 600);
    put(log, 500, "a", 0, "{\"n\":1}");
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    CHECK_EQ(f.notes.count, 0);
    CHECK_EQ(log->added_at, 400);
    CHECK_EQ(count_of(&f, 0, "a", 0), 1);
    deinit(&f);
}

static void truncation_during_the_restore_fails_it(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    struct fake_log *log = add_log(&f, 0, "log", 0, 0, 600);
    log->start = 400;
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_FAILED);
    CHECK_EQ(sf_restore_error(f.restore)->status, SF_E_RANGE);
    CHECK(strstr(sf_restore_error(f.restore)->text, "log/0 offset 0: ") != NULL);
    deinit(&f);
}

/* What a window store seals, as records of `log` from `offset` on; how many. */
static uint32_t seal_into(struct sf_window_store *store, struct fake_log *log, int64_t offset)
{
    static uint8_t bytes[16384];
    static uint32_t used;
    uint32_t count = 0;
    struct sf_change change;
    sf_window_store_seal_begin(store);
    while (sf_window_store_seal_next(store, &change)) {
        if (used + change.key.len + change.value.len > sizeof bytes) used = 0;
        struct sf_slice key = {.data = bytes + used, .len = change.key.len}, value = {0};
        memcpy(bytes + used, change.key.data, change.key.len);
        used += change.key.len;
        if (change.value.data != NULL) {
            value = (struct sf_slice){.data = bytes + used, .len = change.value.len};
            memcpy(bytes + used, change.value.data, change.value.len);
            used += change.value.len;
        }
        fake_log_put(log, offset + count, key, value);
        count++;
        sf_window_store_seal_accept(store);
    }
    return count;
}

static void touch(struct sf_window_store *store, int64_t window, const char *key)
{
    uint32_t len = (uint32_t)strlen(key);
    struct sf_window_row row =
        sf_window_store_touch(store, window, sf_hash64(key, len), (const uint8_t *)key, len);
    row.accs[0].as.integer++;
    sf_window_store_set_ts(store, window);
}

static void packed_changelog_is_restored_and_kept_and_cleared_locally_k5(void **state)
{
    (void)state;
    is_packed = true;
    struct fixture f;
    init(&f);
    struct fake_log *log = add_log(&f, 0, "log", 0, 0, 0);
    struct sf_window_store *writer = sf_window_store_new(&(struct sf_window_store_config){
        .alloc = sf_alloc_libc(), .step = &step_spec, .aggregates = aggregates, .is_packed = true, .epoch = 1});
    const char *keys[] = {"a", "b", "c", "d", "e", "f"};
    for (uint32_t i = 0; i < 6; i++) touch(writer, i % 2 * 250, keys[i]);
    log->stable_end = 1 + seal_into(writer, log, 0);
    sf_window_store_rotate(writer, 2);
    restart(&f);
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    CHECK_EQ(sf_window_store_rows(f.windows[0]), 6);
    flush(&f);
    sf_window_store_committed(writer, 1);
    sf_window_store_expire(writer, 200); /* [0, 10) goes */
    touch(writer, 250, "b");
    log->stable_end += seal_into(writer, log, log->stable_end);
    restart(&f);
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE); /* local rows, then the rest of the log */
    CHECK_EQ(sf_window_store_rows(f.windows[0]), 3);
    CHECK_EQ(count_of(&f, 0, "b", 250), 2);
    flush(&f);
    log->record_count = 0; /* from local rows alone */
    restart(&f);
    start(&f, true);
    CHECK_EQ(run(&f), SF_RESTORE_DONE);
    CHECK_EQ(sf_window_store_rows(f.windows[0]), 3);
    CHECK_EQ(count_of(&f, 0, "b", 250), 2);
    sf_window_store_destroy(writer);
    deinit(&f);
    is_packed = false;
}

/* Every prefix of the batches that a crash may leave gives the same state once the rest is replayed. */
static void any_prefix_of_batches_restores_to_the_same_state_case_102(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    struct fake_log *log = add_log(&f, 0, "log", 0, 0, 40);
    for (int64_t i = 0; i < 39; i++) {
        char key[2] = {(char)('a' + i % 7), 0}, json[] = "{\"n\":10}";
        json[5] = (char)('1' + i / 10);
        json[6] = (char)('0' + i % 10);
        put(log, i, key, i % 3 * 10, i % 5 == 4 ? NULL : json);
    }
    uint32_t batches = 0;
    for (int64_t end = 8; end <= 40; end += 8) { /* a batch each */
        log->stable_end = end;
        restart(&f);
        start(&f, true);
        CHECK_EQ(run(&f), SF_RESTORE_DONE);
        flush(&f);
        batches++;
    }
    CHECK_EQ(f.fake.batch_count, batches);
    uint64_t rows = sf_window_store_rows(f.windows[0]);
    int64_t counts[7][3];
    for (uint32_t k = 0; k < 7; k++)
        for (uint32_t w = 0; w < 3; w++) counts[k][w] = count_of(&f, 0, (char[]){(char)('a' + k), 0}, w * 10);
    for (uint32_t kept = batches; kept > 0; kept--) {
        fake_store_crash(&f.fake, kept - 1);
        restart(&f);
        start(&f, true);
        CHECK_EQ(run(&f), SF_RESTORE_DONE);
        CHECK_EQ(sf_window_store_rows(f.windows[0]), rows);
        for (uint32_t k = 0; k < 7; k++)
            for (uint32_t w = 0; w < 3; w++)
                CHECK_EQ(count_of(&f, 0, (char[]){(char)('a' + k), 0}, w * 10), counts[k][w]);
    }
    deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trailing_removed_and_lonely_markers_do_not_hold_it_up_case_97),
        cmocka_unit_test(end_is_the_given_one_and_a_reader_below_it_waits_case_99),
        cmocka_unit_test(later_records_win_and_null_deletes),
        cmocka_unit_test(old_and_new_windows_are_restored_in_either_order_case_109),
        cmocka_unit_test(damaged_record_stops_with_topic_partition_offset_and_reason_case_55),
        cmocka_unit_test(damaged_local_row_says_that_it_is_the_local_store_k8),
        cmocka_unit_test(only_what_is_behind_the_stored_position_is_replayed_k4),
        cmocka_unit_test(leftover_of_an_aborted_epoch_cannot_be_in_the_store_case_100),
        cmocka_unit_test(position_before_the_log_start_wipes_that_store_only_case_103),
        cmocka_unit_test(without_logs_it_is_done_without_waiting),
        cmocka_unit_test(wipe_is_warned_of_with_both_offsets_k8),
        cmocka_unit_test(log_that_starts_above_zero_without_a_position_is_read_from_there_case_103),
        cmocka_unit_test(truncation_during_the_restore_fails_it),
        cmocka_unit_test(packed_changelog_is_restored_and_kept_and_cleared_locally_k5),
        cmocka_unit_test(any_prefix_of_batches_restores_to_the_same_state_case_102),
    };
    struct sf_expression_error error;
    if (!sf_aggregates_compile(specs, 1, sf_alloc_libc(), &aggregates, &error)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sf_aggregates_destroy(aggregates);
    return failed;
}
