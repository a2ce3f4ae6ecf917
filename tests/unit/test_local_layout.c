/* Keys of the local store, and the writer that fills it. */
#include "core/state/local_layout.h"

#include "core/bytes.h"
#include "core/hash.h"
#include "core/state/local_writer.h"
#include "core/state/packed.h"
#include "tests/check.h"
#include "tests/unit/fake_store.h"

static void row_key_bytes_are_as_documented(void **state)
{
    (void)state;
    uint8_t key[64];
    CHECK_EQ(sf_local_row_key_write(key, 3, 256, 128 * 9 + 5, (const uint8_t *)"a", 1), 13);
    CHECK(memcmp(key, "\x00\x03\x00\x00\x00\x00\x00\x00\x01\x00\x05\x00\x61", 13) == 0);
    struct sf_local_row row;
    CHECK(sf_local_row_key_read((struct sf_store_slice){.data = key, .len = 13}, &row));
    CHECK(!row.is_trace);
    CHECK_EQ(row.store, 3);
    CHECK_EQ(row.start, 256);
    CHECK_EQ(row.group, 5);
    CHECK_EQ(row.record_key.len, 1);
    CHECK(!sf_local_row_key_read((struct sf_store_slice){.data = key, .len = 11}, &row));
    CHECK(!sf_local_row_key_read(sf_local_format_key(), &row));
    key[11] = 2; /* neither row nor trace */
    CHECK(!sf_local_row_key_read((struct sf_store_slice){.data = key, .len = 13}, &row));
}

static void trace_key_bytes_are_as_documented_k5(void **state)
{
    (void)state;
    uint8_t key[SF_LOCAL_TRACE_KEY_BYTES];
    const struct sf_packed_key at = {.kind = SF_PACKED_IMAGE, .start = 256, .group = 5, .slot = 258};
    sf_local_trace_key_write(key, 3, &at);
    CHECK(memcmp(key, "\x00\x03\x00\x00\x00\x00\x00\x00\x01\x00\x05\x01\x01\x00\x00\x01\x02", 17) == 0);
    struct sf_local_row row;
    CHECK(sf_local_row_key_read((struct sf_store_slice){.data = key, .len = 17}, &row));
    CHECK(row.is_trace);
    CHECK_EQ(row.store, 3);
    CHECK_EQ(row.packed_key.kind, SF_PACKED_IMAGE);
    CHECK_EQ(row.packed_key.start, 256);
    CHECK_EQ(row.packed_key.group, 5);
    CHECK_EQ(row.packed_key.slot, 258);
    CHECK(!sf_local_row_key_read((struct sf_store_slice){.data = key, .len = 16}, &row));
    key[12] = 2;
    CHECK(!sf_local_row_key_read((struct sf_store_slice){.data = key, .len = 17}, &row));
}

static void position_key_bytes_are_as_documented(void **state)
{
    (void)state;
    uint8_t key[SF_LOCAL_POSITION_KEY_BYTES_MAX];
    uint32_t len = sf_local_position_key_write(key, "t-x", 258);
    CHECK_EQ(len, 13);
    CHECK(memcmp(key, "\xff\xffpost-x\0\0\0\1\2", 13) == 0);
}

static void starts_stand_in_order_of_time_case_107(void **state)
{
    (void)state;
    const int64_t starts[] = {1, 255, 256, 65536, 253402300790000};
    uint8_t before[32] = {0}, key[32];
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t len = sf_local_row_key_write(key, 0, starts[i], 127, (const uint8_t *)"\xff\xff", 2);
        CHECK(memcmp(before, key, len) < 0);
        memcpy(before, key, len);
    }
    struct sf_local_range to_300 = sf_local_window_range(0, 300);
    CHECK(memcmp(to_300.from, before, to_300.len) < 0);
    (void)sf_local_row_key_write(key, 0, 256, 0, (const uint8_t *)"a", 1);
    CHECK(memcmp(key, to_300.from, to_300.len) < 0);
}

/* ------------------------------------------------------------------ rows in the store */

static const struct sf_local_log logs[] = {{.topic = "log", .partition = 0}, {.topic = "log", .partition = 1}};

static struct sf_local_writer *writer_new(struct fake_store *fake, bool is_empty)
{
    struct sf_local_writer_config config = {.alloc = sf_alloc_libc(),
                                            .store = fake_store(fake),
                                            .identity = 42,
                                            .is_store_empty = is_empty,
                                            .store_count = 4,
                                            .logs = logs,
                                            .log_count = 2,
                                            .bytes_max = 1 << 20};
    return sf_local_writer_new(&config);
}

static struct sf_slice bytes_of(const void *data, size_t len)
{
    return (struct sf_slice){.data = data, .len = (uint32_t)len};
}

static void put(struct sf_local_writer *writer, uint32_t store, int64_t start, struct sf_slice key, const char *value)
{
    sf_local_writer_put(writer, store, start, sf_hash64(key.data, key.len), key,
                        value == NULL ? (struct sf_slice){0} : bytes_of(value, strlen(value)));
}

static void finish(struct sf_local_writer *writer)
{
    while (sf_local_writer_is_busy(writer)) {
        uint64_t written;
        (void)sf_local_writer_step(writer, 1);
        (void)sf_local_writer_poll(writer, &written);
    }
}

static void write_all(struct sf_local_writer *writer, uint64_t tag)
{
    CHECK(sf_local_writer_cut(writer, tag));
    finish(writer);
}

static const char *value_of(struct fake_store *fake, uint32_t store, int64_t start, struct sf_slice key)
{
    static char value[64];
    uint8_t bytes[128];
    uint32_t len = 0, key_len = sf_local_row_key_write(bytes, store, start, sf_hash64(key.data, key.len), key.data,
                                                       key.len);
    enum sf_status status = sf_store_get(fake_store(fake), (struct sf_store_slice){.data = bytes, .len = key_len},
                                         (uint8_t *)value, sizeof value - 1, &len);
    if (status != SF_OK) return "";
    value[len] = '\0';
    return value;
}

static uint32_t rows_in(struct fake_store *fake, struct sf_local_range range)
{
    struct sf_store_range bounds = {.from = {range.from, range.len}, .until = {range.until, range.len}};
    struct sf_store_iter iter;
    CHECK_EQ(sf_store_iter_open(fake_store(fake), &bounds, &iter), SF_OK);
    struct sf_store_slice key, value;
    uint32_t count = 0;
    while (sf_store_iter_next(iter, &key, &value) == SF_OK) count++;
    sf_store_iter_close(iter);
    return count;
}

static void keys_that_are_prefixes_of_others_disturb_nobody_case_106(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    struct sf_local_writer *writer = writer_new(&fake, true);
    const struct sf_slice keys[] = {bytes_of("\x61", 1), bytes_of("\x61\x00", 2), bytes_of("\x61\x61", 2),
                                    bytes_of("\x61\x00\x00\x00\x00\x00\x00\x00\x05", 9), bytes_of("", 0)};
    const int64_t starts[] = {0, 5, 10, 60000};
    const char *values[] = {"k0", "k1", "k2", "k3", "k4"};
    for (uint32_t k = 0; k < 5; k++)
        for (uint32_t s = 0; s < 4; s++) put(writer, 1, starts[s], keys[k], values[k]);
    write_all(writer, 1);
    for (uint32_t k = 0; k < 5; k++)
        for (uint32_t s = 0; s < 4; s++) CHECK_STR(value_of(&fake, 1, starts[s], keys[k]), values[k]);
    CHECK_EQ(rows_in(&fake, sf_local_store_range(1)), 20);
    CHECK_EQ(rows_in(&fake, sf_local_window_range(1, 5)), 5);
    /* key 61 expires up to 5: two rows go, and no other */
    put(writer, 1, 0, keys[0], NULL);
    put(writer, 1, 5, keys[0], NULL);
    write_all(writer, 2);
    CHECK_EQ(rows_in(&fake, sf_local_store_range(1)), 18);
    for (uint32_t k = 1; k < 5; k++)
        for (uint32_t s = 0; s < 4; s++) CHECK_STR(value_of(&fake, 1, starts[s], keys[k]), values[k]);
    CHECK_STR(value_of(&fake, 1, 10, keys[0]), "k0");
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

static void clear_takes_one_key_group_of_one_window_k10(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    struct sf_local_writer *writer = writer_new(&fake, true);
    uint32_t group = sf_key_group(sf_hash64("a", 1));
    CHECK(sf_key_group(sf_hash64("b", 1)) != group);
    for (uint32_t store = 0; store < 2; store++)
        for (int64_t start = 0; start < 30; start += 10) {
            put(writer, store, start, bytes_of("a", 1), "a");
            put(writer, store, start, bytes_of("b", 1), "b");
        }
    write_all(writer, 1);
    put(writer, 1, 10, bytes_of("a", 1), "before");
    sf_local_writer_clear(writer, 1, 10, group);
    write_all(writer, 2);
    CHECK_STR(value_of(&fake, 1, 10, bytes_of("a", 1)), "");
    CHECK_EQ(rows_in(&fake, sf_local_store_range(0)), 6);
    CHECK_EQ(rows_in(&fake, sf_local_store_range(1)), 5);
    sf_local_writer_clear(writer, 1, 20, group);
    put(writer, 1, 20, bytes_of("a", 1), "after");
    write_all(writer, 3);
    CHECK_STR(value_of(&fake, 1, 20, bytes_of("a", 1)), "after");
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

static void last_write_of_a_row_wins_and_the_batch_is_sorted(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    struct sf_local_writer *writer = writer_new(&fake, true);
    char value[8] = "v000";
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t i = 0; i < 500; i++) {
            uint8_t key[4];
            sf_put_be32(key, (i * 7919u) % 500u);
            value[1] = (char)('0' + round);
            put(writer, 2, (int64_t)(i % 3) * 10, bytes_of(key, 4), value);
        }
    write_all(writer, 1);
    CHECK_EQ(fake.batch_count, 1);
    uint32_t puts = 0;
    for (uint32_t i = 1; i < fake.batches[0].count; i++) {
        const struct fake_row *before = &fake.batches[0].ops[i - 1].row, *row = &fake.batches[0].ops[i].row;
        if (row->key[0] == 0xff || before->key[0] == 0xff) continue;
        CHECK(memcmp(before->key, row->key, 16) < 0);
        CHECK(memcmp(row->value, "v2", 2) == 0);
        puts++;
    }
    CHECK_EQ(puts, 499);
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

static void window_that_was_never_written_leaves_no_trace(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    struct sf_local_writer *writer = writer_new(&fake, true);
    put(writer, 0, 10, bytes_of("old", 3), "1");
    write_all(writer, 1);
    uint32_t before = fake.batch_count;
    put(writer, 0, 20, bytes_of("a", 1), "1");
    put(writer, 0, 20, bytes_of("a", 1), NULL); /* expired before the batch was cut */
    write_all(writer, 2);
    CHECK_EQ(fake.batch_count, before);
    put(writer, 0, 10, bytes_of("old", 3), NULL);
    write_all(writer, 3);
    CHECK_EQ(fake.batch_count, before + 1);
    CHECK_EQ(rows_in(&fake, sf_local_store_range(0)), 0);
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

/* A record of the packed changelog with two rows, in slot 0. */
static void put_packed(struct sf_local_writer *writer, int64_t start, uint32_t group, const char *key,
                       const char *value)
{
    uint8_t packed_key[SF_PACKED_KEY_BYTES], data[256];
    struct sf_packed_key at = {.start = start, .group = group};
    struct sf_packed_builder builder;
    const char *reason = "";
    sf_packed_key_write(packed_key, &at);
    sf_packed_begin(&builder, data, sizeof data);
    CHECK(sf_packed_add(&builder, bytes_of(key, strlen(key)), bytes_of(value, strlen(value))));
    CHECK(sf_packed_add(&builder, bytes_of("other", 5), bytes_of("o", 1)));
    struct sf_slice record = sf_packed_end(&builder, packed_key, 1, 1);
    CHECK_EQ(sf_local_writer_record(writer, 0, true, bytes_of(packed_key, sizeof packed_key), record, &reason), SF_OK);
}

static void packed_rows_come_out_one_by_one_and_the_last_write_wins(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    struct sf_local_writer *writer = writer_new(&fake, true);
    uint32_t group = sf_key_group(sf_hash64("a", 1));
    put_packed(writer, 10, group, "a", "1");
    put_packed(writer, 10, group, "a", "2");
    put_packed(writer, 20, group, "a", "gone");
    sf_local_writer_clear(writer, 0, 20, group);
    put_packed(writer, 20, group, "a", "new");
    write_all(writer, 1);
    CHECK_STR(value_of(&fake, 0, 10, bytes_of("a", 1)), "2");
    CHECK_STR(value_of(&fake, 0, 20, bytes_of("a", 1)), "new");
    CHECK_EQ(rows_in(&fake, sf_local_store_range(0)), 6); /* two rows and a trace a window */
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

static void null_record(struct sf_local_writer *writer, enum sf_packed_kind kind, uint32_t group, uint32_t slot)
{
    uint8_t packed_key[SF_PACKED_KEY_BYTES];
    const struct sf_packed_key at = {.kind = kind, .start = 10, .group = group, .slot = slot};
    const char *reason = "";
    sf_packed_key_write(packed_key, &at);
    CHECK_EQ(sf_local_writer_record(writer, 0, true, bytes_of(packed_key, sizeof packed_key), (struct sf_slice){0},
                                    &reason),
             SF_OK);
}

/* A null takes its record's trace, in the same batch and in a later one; the rows stay until the unit goes. */
static void trace_goes_with_the_null_of_its_record_k5(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    struct sf_local_writer *writer = writer_new(&fake, true);
    uint8_t bytes[8];
    uint32_t len = 0, group = sf_key_group(sf_hash64("a", 1));
    put_packed(writer, 10, group, "a", "1");
    null_record(writer, SF_PACKED_ENTRIES, group, 0);
    write_all(writer, 1);
    CHECK_EQ(rows_in(&fake, sf_local_group_range(0, 10, group)), 2);
    put_packed(writer, 10, group, "a", "2");
    write_all(writer, 2);
    CHECK_EQ(rows_in(&fake, sf_local_group_range(0, 10, group)), 3);
    uint8_t key[SF_LOCAL_TRACE_KEY_BYTES];
    sf_local_trace_key_write(key, 0, &(struct sf_packed_key){.start = 10, .group = group});
    CHECK_EQ(sf_store_get(fake_store(&fake), (struct sf_store_slice){key, sizeof key}, bytes, sizeof bytes, &len),
             SF_OK);
    CHECK_EQ(len, 4);
    CHECK_EQ(sf_get_be32(bytes), 2);
    null_record(writer, SF_PACKED_ENTRIES, group, 0);
    write_all(writer, 3);
    CHECK_EQ(rows_in(&fake, sf_local_group_range(0, 10, group)), 2);
    put_packed(writer, 10, group, "a", "3");
    null_record(writer, SF_PACKED_IMAGE, group, 0);
    write_all(writer, 4);
    CHECK_EQ(rows_in(&fake, sf_local_store_range(0)), 0);
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

/* What the store cannot hold, its positions must not stand for (K4). */
static void key_too_long_for_the_store_ends_the_writing(void **state)
{
    (void)state;
    static uint8_t key[SF_LOCAL_KEY_BYTES_MAX + 1], data[sizeof key + 64], packed_key[SF_PACKED_KEY_BYTES];
    for (uint32_t i = 0; i < 4; i++) {
        struct fake_store fake;
        fake_store_init(&fake);
        struct sf_local_writer *writer = writer_new(&fake, true);
        bool is_packed = i / 2 == 1, is_too_long = i % 2 == 1;
        struct sf_slice record_key = bytes_of(key, SF_LOCAL_KEY_BYTES_MAX + (is_too_long ? 1 : 0));
        if (is_packed) {
            struct sf_packed_builder builder;
            const char *reason = "";
            sf_packed_key_write(packed_key, &(struct sf_packed_key){.start = 10});
            sf_packed_begin(&builder, data, sizeof data);
            CHECK(sf_packed_add(&builder, record_key, bytes_of("v", 1)));
            struct sf_slice value = sf_packed_end(&builder, packed_key, 1, 1);
            CHECK_EQ(sf_local_writer_record(writer, 0, true, bytes_of(packed_key, sizeof packed_key), value, &reason),
                     SF_OK);
        } else {
            put(writer, 0, 10, record_key, "v");
        }
        sf_local_writer_position(writer, 0, 10);
        CHECK_EQ(sf_local_writer_status(writer), is_too_long ? SF_E_TOO_LARGE : SF_OK);
        write_all(writer, 1);
        CHECK_EQ(fake.batch_count, is_too_long ? 0 : 1);
        sf_local_writer_destroy(writer);
        fake_store_deinit(&fake);
    }
}

static void window_that_is_cleared_before_it_was_written_is_forgotten_at_once(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    struct sf_local_writer *writer = writer_new(&fake, true);
    put_packed(writer, 10, 5, "a", "1");
    write_all(writer, 1);
    uint32_t before = fake.batch_count;
    put_packed(writer, 20, 5, "a", "1");
    put_packed(writer, 20, 6, "b", "1");
    sf_local_writer_clear(writer, 0, 20, 5);
    CHECK(sf_local_writer_has_pending(writer));
    sf_local_writer_clear(writer, 0, 20, 6);
    CHECK(!sf_local_writer_has_pending(writer));
    CHECK_EQ(sf_local_writer_bytes(writer), 0);
    sf_local_writer_clear(writer, 0, 10, 5); /* this one is in the store */
    CHECK(sf_local_writer_has_pending(writer));
    write_all(writer, 2);
    CHECK_EQ(fake.batch_count, before + 1);
    CHECK_EQ(rows_in(&fake, sf_local_store_range(0)), 0);
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

static void window_that_a_batch_under_way_brings_to_the_store_is_not_forgotten(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    struct sf_local_writer *writer = writer_new(&fake, true);
    put_packed(writer, 10, 5, "a", "1");
    CHECK(sf_local_writer_cut(writer, 1)); /* taken, not yet made */
    sf_local_writer_clear(writer, 0, 10, 5);
    finish(writer);
    CHECK_EQ(rows_in(&fake, sf_local_store_range(0)), 3);
    write_all(writer, 2);
    CHECK_EQ(rows_in(&fake, sf_local_store_range(0)), 0);
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

static void rows_and_positions_are_one_batch_case_102(void **state)
{
    (void)state;
    for (uint32_t kept = 0; kept <= 3; kept++) { /* (a), (b): cannot come about; (c), (d): a prefix of batches */
        struct fake_store fake;
        fake_store_init(&fake);
        struct sf_local_writer *writer = writer_new(&fake, true);
        for (uint32_t batch = 1; batch <= 3; batch++) {
            char value[2] = {(char)('0' + batch), 0};
            put(writer, 0, 0, bytes_of("k", 1), value);
            sf_local_writer_position(writer, 0, batch * 100);
            write_all(writer, batch);
        }
        fake_store_crash(&fake, kept);
        int64_t offset;
        CHECK_EQ(sf_local_position_get(fake_store(&fake), "log", 0, &offset), SF_OK);
        CHECK_EQ(offset, kept == 0 ? SF_OFFSET_UNKNOWN : kept * 100);
        char expected[2] = {kept == 0 ? '\0' : (char)('0' + kept), 0};
        CHECK_STR(value_of(&fake, 0, 0, bytes_of("k", 1)), expected);
        CHECK_EQ(sf_local_format_check(fake_store(&fake), 42), kept == 0 ? SF_NOT_FOUND : SF_OK);
        sf_local_writer_destroy(writer);
        fake_store_deinit(&fake);
    }
}

static void wipe_takes_one_store_and_its_position_and_nothing_else_k8(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    struct sf_local_writer *writer = writer_new(&fake, true);
    for (uint32_t store = 0; store < 3; store++) put(writer, store, 0, bytes_of("k", 1), "1");
    sf_local_writer_position(writer, 0, 7);
    sf_local_writer_position(writer, 1, 8);
    write_all(writer, 1);
    sf_local_writer_destroy(writer);
    writer = writer_new(&fake, false);
    for (uint32_t store = 0; store < 3; store++) sf_local_writer_found(writer, store, 0);
    sf_local_writer_wipe(writer, 1);
    sf_local_writer_position(writer, 1, SF_OFFSET_UNKNOWN);
    put(writer, 1, 0, bytes_of("new", 3), "2");
    write_all(writer, 2);
    CHECK_EQ(rows_in(&fake, sf_local_store_range(0)), 1);
    CHECK_EQ(rows_in(&fake, sf_local_store_range(1)), 1);
    CHECK_STR(value_of(&fake, 1, 0, bytes_of("new", 3)), "2");
    int64_t offset;
    CHECK_EQ(sf_local_position_get(fake_store(&fake), "log", 0, &offset), SF_OK);
    CHECK_EQ(offset, 7);
    CHECK_EQ(sf_local_position_get(fake_store(&fake), "log", 1, &offset), SF_OK);
    CHECK_EQ(offset, SF_OFFSET_UNKNOWN);
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

static void store_of_another_application_or_format_is_recognised(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    struct sf_store store = fake_store(&fake);
    CHECK_EQ(sf_local_format_check(store, 42), SF_NOT_FOUND);
    struct sf_local_writer *writer = writer_new(&fake, false); /* rows without a format */
    put(writer, 0, 0, bytes_of("k", 1), "1");
    write_all(writer, 1);
    CHECK_EQ(sf_local_format_check(store, 42), SF_E_CORRUPT);
    sf_local_writer_destroy(writer);
    writer = writer_new(&fake, true);
    put(writer, 0, 0, bytes_of("k", 1), "1");
    write_all(writer, 1);
    CHECK_EQ(sf_local_format_check(store, 42), SF_OK);
    CHECK_EQ(sf_local_format_check(store, 43), SF_E_EXISTS);
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

static void identity_moves_with_whatever_gives_rows_their_meaning(void **state)
{
    (void)state;
    struct sf_aggregate_spec field = {.name = "n", .kind = SF_AGGREGATE_COUNT};
    struct sf_step_spec step = {.kind = SF_STEP_AGGREGATE,
                                .window = {.size_ms = 10},
                                .aggregates = &field,
                                .aggregate_count = 1,
                                .store = {.name = "s"}};
    struct sf_topology topology = {.application_id = "a", .steps = &step, .step_count = 1};
    uint64_t hash = sf_local_identity(&topology);
    CHECK(hash == sf_local_identity(&topology));
    step.window.size_ms = 20;
    CHECK(hash != sf_local_identity(&topology));
    step.window.size_ms = 10;
    step.store.name = "t";
    CHECK(hash != sf_local_identity(&topology));
    step.store.name = "s";
    field.name = "m";
    CHECK(hash != sf_local_identity(&topology));
    field.name = "n";
    topology.application_id = "b";
    CHECK(hash != sf_local_identity(&topology));
}

static void at_most_four_writes_are_under_way_and_memory_says_when_it_is_full(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    fake.told_max = 0; /* the store answers nothing for now */
    struct sf_local_writer *writer = writer_new(&fake, true);
    uint64_t tag = 0;
    for (uint32_t i = 0; i < 5; i++) {
        uint8_t key[4];
        sf_put_be32(key, i);
        put(writer, 0, 0, bytes_of(key, 4), "1");
        CHECK(sf_local_writer_cut(writer, i + 1));
        while (sf_local_writer_is_ready(writer)) (void)sf_local_writer_step(writer, 1);
    }
    CHECK_EQ(fake.batch_count, 4);
    CHECK(!sf_local_writer_cut(writer, 9));
    CHECK(!sf_local_writer_poll(writer, &tag));
    static uint8_t large[1 << 19];
    CHECK(!sf_local_writer_is_full(writer));
    for (uint32_t i = 0; i < 5; i++) sf_local_writer_put(writer, 0, 0, 1, bytes_of("k", 1), bytes_of(large, 1 << 19));
    CHECK(sf_local_writer_is_due(writer));
    CHECK(sf_local_writer_is_full(writer));
    fake.told_max = 1;
    CHECK(sf_local_writer_poll(writer, &tag));
    CHECK_EQ(tag, 1);
    CHECK(sf_local_writer_is_ready(writer));
    (void)sf_local_writer_step(writer, 1);
    CHECK_EQ(fake.batch_count, 5);
    fake.told_max = UINT32_MAX;
    write_all(writer, 6);
    CHECK(!sf_local_writer_is_full(writer));
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

/* What a crash leaves to the changelog is bounded in bytes of its records, whatever has become of their rows (K4). */
static void enough_to_replay_is_cut_and_made_durable(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    struct sf_local_writer_config config = {.alloc = sf_alloc_libc(),
                                            .store = fake_store(&fake),
                                            .is_store_empty = true,
                                            .store_count = 1,
                                            .logs = logs,
                                            .log_count = 2,
                                            .replay_max = 2000};
    struct sf_local_writer *writer = sf_local_writer_new(&config);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 20; i++) {
            CHECK(!sf_local_writer_is_due(writer));
            put_packed(writer, 10, 5, "a", "1");
            sf_local_writer_clear(writer, 0, 10, 5); /* nothing of it is left to write */
        }
        sf_local_writer_position(writer, 0, 1 + round);
        CHECK(!sf_local_writer_is_due(writer));
        CHECK_EQ(fake.sync_count, round / 2);
        CHECK(sf_local_writer_cut(writer, 1)); /* for its age */
        CHECK_EQ(sf_local_writer_is_unsynced(writer), round % 2 == 0);
        finish(writer);
        CHECK_EQ(fake.sync_count, (round + 1) / 2);
    }
    for (uint32_t i = 0; !sf_local_writer_is_due(writer); i++) {
        CHECK(i < 60);
        put_packed(writer, 10, 5, "a", "1");
        sf_local_writer_clear(writer, 0, 10, 5);
    }
    CHECK_EQ(sf_local_writer_bytes(writer), 0);
    write_all(writer, 2);
    CHECK(!sf_local_writer_is_due(writer));
    CHECK_EQ(fake.sync_count, 2);
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

static void failed_store_takes_nothing_more(void **state)
{
    (void)state;
    struct fake_store fake;
    fake_store_init(&fake);
    struct sf_local_writer *writer = writer_new(&fake, true);
    put(writer, 0, 0, bytes_of("a", 1), "1");
    write_all(writer, 1);
    fake.write_status = SF_E_IO;
    put(writer, 0, 0, bytes_of("b", 1), "1");
    sf_local_writer_position(writer, 0, 10);
    write_all(writer, 2);
    CHECK_EQ(sf_local_writer_status(writer), SF_E_IO);
    put(writer, 0, 0, bytes_of("c", 1), "1");
    CHECK(!sf_local_writer_has_pending(writer));
    write_all(writer, 3);
    CHECK_EQ(fake.batch_count, 1);
    CHECK_EQ(sf_local_writer_bytes(writer), 0);
    sf_local_writer_destroy(writer);
    fake_store_deinit(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_key_bytes_are_as_documented),
        cmocka_unit_test(trace_key_bytes_are_as_documented_k5),
        cmocka_unit_test(position_key_bytes_are_as_documented),
        cmocka_unit_test(starts_stand_in_order_of_time_case_107),
        cmocka_unit_test(keys_that_are_prefixes_of_others_disturb_nobody_case_106),
        cmocka_unit_test(clear_takes_one_key_group_of_one_window_k10),
        cmocka_unit_test(last_write_of_a_row_wins_and_the_batch_is_sorted),
        cmocka_unit_test(window_that_was_never_written_leaves_no_trace),
        cmocka_unit_test(packed_rows_come_out_one_by_one_and_the_last_write_wins),
        cmocka_unit_test(trace_goes_with_the_null_of_its_record_k5),
        cmocka_unit_test(key_too_long_for_the_store_ends_the_writing),
        cmocka_unit_test(window_that_is_cleared_before_it_was_written_is_forgotten_at_once),
        cmocka_unit_test(window_that_a_batch_under_way_brings_to_the_store_is_not_forgotten),
        cmocka_unit_test(rows_and_positions_are_one_batch_case_102),
        cmocka_unit_test(wipe_takes_one_store_and_its_position_and_nothing_else_k8),
        cmocka_unit_test(store_of_another_application_or_format_is_recognised),
        cmocka_unit_test(identity_moves_with_whatever_gives_rows_their_meaning),
        cmocka_unit_test(at_most_four_writes_are_under_way_and_memory_says_when_it_is_full),
        cmocka_unit_test(enough_to_replay_is_cut_and_made_durable),
        cmocka_unit_test(failed_store_takes_nothing_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
