/* Packed changelog records: their bytes, what is refused, and what slots, images and nulls do. */
#include "core/state/packed.h"

#include "core/hash.h"
#include "core/state/window_store.h"
#include "tests/check.h"

static const struct sf_aggregate_spec specs[] = {{.name = "n", .kind = SF_AGGREGATE_COUNT}};
static const struct sf_step_spec step = {.kind = SF_STEP_AGGREGATE,
                                         .window = {.size_ms = 10},
                                         .aggregates = specs,
                                         .aggregate_count = 1,
                                         .store = {.name = "s", .retention_ms = 10}};
static struct sf_aggregates *aggregates;

static struct sf_slice text(const char *bytes)
{
    return (struct sf_slice){.data = (const uint8_t *)bytes, .len = (uint32_t)strlen(bytes)};
}

/* ------------------------------------------------------------------ bytes */

static void key_bytes_are_as_documented_k5(void **state)
{
    (void)state;
    uint8_t bytes[SF_PACKED_KEY_BYTES];
    struct sf_packed_key key = {.kind = SF_PACKED_IMAGE, .start = 256, .group = 127, .slot = 258}, back;
    sf_packed_key_write(bytes, &key);
    CHECK(memcmp(bytes, "\x01\x01\0\0\0\0\0\0\x01\0\0\x7f\0\0\x01\x02", 16) == 0);
    const char *reason;
    CHECK_EQ(sf_packed_key_read((struct sf_slice){bytes, 16}, &back, &reason), SF_OK);
    CHECK_EQ(back.kind, SF_PACKED_IMAGE);
    CHECK_EQ(back.start, 256);
    CHECK_EQ(back.group, 127);
    CHECK_EQ(back.slot, 258);
}

static void row_value_bytes_are_as_documented_k5(void **state)
{
    (void)state;
    const struct sf_acc accs[3] = {{.kind = SF_ACC_INT, .as.integer = -65},
                                   {.kind = SF_ACC_DOUBLE, .as.real = 1.0},
                                   {.kind = SF_ACC_NONE}};
    uint8_t bytes[SF_PACKED_VALUE_BYTES_MAX];
    CHECK_EQ(sf_packed_value_write(bytes, 1000, 1003, accs, 3), 14);
    CHECK(memcmp(bytes, "\x06\x01\x81\x01\x02\x3f\xf0\0\0\0\0\0\0\x00", 14) == 0);
    struct sf_acc back[3];
    int64_t ts_ms;
    const char *reason;
    CHECK_EQ(sf_packed_value_read((struct sf_slice){bytes, 14}, 1000, &ts_ms, back, 3, &reason), SF_OK);
    CHECK_EQ(ts_ms, 1003);
    CHECK(memcmp(accs, back, sizeof accs) == 0);
    for (uint32_t len = 0; len < 14; len++)
        CHECK_EQ(sf_packed_value_read((struct sf_slice){bytes, len}, 1000, &ts_ms, back, 3, &reason), SF_E_CORRUPT);
    CHECK_EQ(sf_packed_value_read((struct sf_slice){bytes, 14}, 1000, &ts_ms, back, 2, &reason), SF_E_CORRUPT);
}

static void extreme_numbers_come_back(void **state)
{
    (void)state;
    const int64_t numbers[] = {0, 1, -1, 63, 64, -64, -65, INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sf_acc acc = {.kind = SF_ACC_INT, .as.integer = numbers[i]}, back;
        uint8_t bytes[SF_PACKED_VALUE_BYTES_MAX];
        uint32_t len = sf_packed_value_write(bytes, 253402300790000, 0, &acc, 1);
        int64_t ts_ms;
        const char *reason;
        CHECK_EQ(sf_packed_value_read((struct sf_slice){bytes, len}, 253402300790000, &ts_ms, &back, 1, &reason),
                 SF_OK);
        CHECK_EQ(ts_ms, 0);
        CHECK_EQ(back.as.integer, numbers[i]);
    }
}

/* A sum that no engine has: written out as a result it would end the process. */
static void a_double_that_is_not_finite_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[] = {0x06, SF_ACC_DOUBLE, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0};
    struct sf_acc back;
    int64_t ts_ms;
    const char *reason = "";
    for (uint32_t nan = 0; nan < 2; nan++) {
        bytes[sizeof bytes - 1] = (uint8_t)nan; /* infinity, then a NaN */
        CHECK_EQ(sf_packed_value_read((struct sf_slice){bytes, sizeof bytes}, 1000, &ts_ms, &back, 1, &reason),
                 SF_E_CORRUPT);
    }
    bytes[3] = 0xef; /* below the largest double */
    CHECK_EQ(sf_packed_value_read((struct sf_slice){bytes, sizeof bytes}, 1000, &ts_ms, &back, 1, &reason), SF_OK);
}

/* ------------------------------------------------------------------ in a window store */

static struct sf_window_store *store_new(void)
{
    return sf_window_store_new(&(struct sf_window_store_config){
        .alloc = sf_alloc_libc(), .step = &step, .aggregates = aggregates, .is_packed = true, .epoch = 1});
}

/* A record of `count` rows: keys with their counts, all of the first one's group. */
struct made {
    uint8_t key[SF_PACKED_KEY_BYTES];
    uint8_t value[512];
    struct sf_slice key_slice;
    struct sf_slice value_slice;
};

static void make(struct made *made, enum sf_packed_kind kind, uint32_t slot, const char *const *keys, int64_t n)
{
    uint64_t hash = sf_hash64(keys[0], strlen(keys[0]));
    struct sf_packed_key key = {.kind = kind, .start = 20, .group = sf_key_group(hash), .slot = slot};
    sf_packed_key_write(made->key, &key);
    struct sf_packed_builder builder;
    sf_packed_begin(&builder, made->value, sizeof made->value);
    for (uint32_t i = 0; keys[i] != NULL; i++) {
        struct sf_acc acc = {.kind = SF_ACC_INT, .as.integer = n};
        uint8_t row[SF_PACKED_VALUE_BYTES_MAX];
        uint32_t len = sf_packed_value_write(row, 20, 21, &acc, 1);
        CHECK(sf_packed_add(&builder, text(keys[i]), (struct sf_slice){row, len}));
    }
    made->key_slice = (struct sf_slice){made->key, SF_PACKED_KEY_BYTES};
    made->value_slice = sf_packed_end(&builder, made->key, sf_packed_schema(specs, 1), 7);
}

/* Two keys of one group. */
static const char *twins[3];

static void find_twins(void)
{
    static char names[2][8] = {"k", "k"};
    uint32_t group = sf_key_group(sf_hash64("k", 1));
    for (uint32_t i = 0; i < 10000 && twins[1] == NULL; i++) {
        for (uint32_t d = 0, rest = i; d < 4; d++, rest /= 10) names[1][1 + d] = (char)('0' + rest % 10);
        if (sf_key_group(sf_hash64(names[1], 5)) == group) twins[1] = names[1];
    }
    twins[0] = names[0];
}

static enum sf_status apply(struct sf_window_store *store, const struct made *made, bool is_null)
{
    const char *reason = NULL;
    struct sf_slice value = is_null ? (struct sf_slice){0} : made->value_slice;
    enum sf_status status = sf_window_store_restore(store, made->key_slice, value, &reason);
    CHECK(status == SF_OK || reason != NULL);
    return status;
}

static void any_damaged_byte_is_noticed_and_nothing_is_applied_case_55(void **state)
{
    (void)state;
    struct sf_window_store *store = store_new();
    struct made made;
    make(&made, SF_PACKED_ENTRIES, 0, twins, 3);
    for (uint32_t i = 0; i < made.value_slice.len; i++) {
        made.value[i] ^= 0x10;
        CHECK_EQ(apply(store, &made, false), SF_E_CORRUPT);
        made.value[i] ^= 0x10;
    }
    for (uint32_t len = 0; len < made.value_slice.len; len++) {
        struct made cut = made;
        cut.key_slice.data = cut.key;
        cut.value_slice = (struct sf_slice){cut.value, len};
        CHECK_EQ(apply(store, &cut, false), SF_E_CORRUPT);
    }
    made.key[1] ^= 1; /* the value of another key */
    CHECK_EQ(apply(store, &made, false), SF_E_CORRUPT);
    made.key[1] = 9;
    CHECK_EQ(apply(store, &made, false), SF_E_CORRUPT);
    made.key[1] = 0;
    made.key[0] = 99; /* a later version */
    CHECK_EQ(apply(store, &made, false), SF_E_CORRUPT);
    made.key[0] = 1;
    made.key_slice.len--;
    CHECK_EQ(apply(store, &made, false), SF_E_CORRUPT);
    made.key_slice.len++;
    CHECK_EQ(sf_window_store_panes(store), 0);
    CHECK_EQ(apply(store, &made, false), SF_OK);
    CHECK_EQ(sf_window_store_count(store, 20), 2);
    sf_window_store_destroy(store);
}

static void record_of_other_fields_or_another_group_is_refused(void **state)
{
    (void)state;
    struct sf_window_store *store = store_new();
    struct made made;
    make(&made, SF_PACKED_ENTRIES, 0, twins, 3);
    struct sf_packed_builder builder;
    sf_packed_begin(&builder, made.value, sizeof made.value);
    uint8_t row[] = {0x02, 0x01, 0x02};
    CHECK(sf_packed_add(&builder, text(twins[0]), (struct sf_slice){row, 3}));
    made.value_slice = sf_packed_end(&builder, made.key, sf_packed_schema(specs, 1) + 1, 7);
    CHECK_EQ(apply(store, &made, false), SF_E_CORRUPT);
    CHECK(sf_key_group(sf_hash64("other", 5)) != sf_key_group(sf_hash64(twins[0], 1)));
    CHECK(sf_packed_add(&builder, text("other"), (struct sf_slice){row, 3}));
    made.value_slice = sf_packed_end(&builder, made.key, sf_packed_schema(specs, 1), 7);
    CHECK_EQ(apply(store, &made, false), SF_E_CORRUPT);
    CHECK_EQ(sf_window_store_panes(store), 0);
    sf_window_store_destroy(store);
}

/* Where the log is written without a transaction it may end within an image (B10). */
static void image_that_is_cut_takes_no_row_away_and_part_0s_null_takes_all(void **state)
{
    (void)state;
    struct sf_window_store *store = store_new();
    struct made made;
    make(&made, SF_PACKED_ENTRIES, 0, twins, 3);
    CHECK_EQ(apply(store, &made, false), SF_OK);
    const char *const second[] = {twins[1], NULL}, *const first[] = {twins[0], NULL};
    make(&made, SF_PACKED_IMAGE, 0, second, 4);
    CHECK_EQ(apply(store, &made, false), SF_OK);
    CHECK_EQ(sf_window_store_count(store, 20), 2);
    make(&made, SF_PACKED_IMAGE, 1, first, 4);
    CHECK_EQ(apply(store, &made, false), SF_OK);
    CHECK_EQ(sf_window_store_count(store, 20), 2);
    make(&made, SF_PACKED_ENTRIES, 0, first, 0);
    CHECK_EQ(apply(store, &made, true), SF_OK); /* covered: says nothing about rows */
    make(&made, SF_PACKED_IMAGE, 1, first, 0);
    CHECK_EQ(apply(store, &made, true), SF_OK);
    CHECK_EQ(sf_window_store_count(store, 20), 2);
    make(&made, SF_PACKED_IMAGE, 0, first, 0);
    CHECK_EQ(apply(store, &made, true), SF_OK); /* the unit is gone */
    CHECK_EQ(sf_window_store_panes(store), 0);
    sf_window_store_destroy(store);
}

struct nulls {
    uint32_t slots;
    uint32_t parts;
    bool is_part_0_last;
};

static struct nulls expire_and_seal(struct sf_window_store *store)
{
    struct nulls nulls = {0};
    struct sf_change change;
    sf_window_store_expire(store, 30);
    sf_window_store_seal_begin(store);
    while (sf_window_store_seal_next(store, &change)) {
        struct sf_packed_key key;
        const char *reason;
        CHECK(change.value.data == NULL);
        CHECK_EQ(sf_packed_key_read(change.key, &key, &reason), SF_OK);
        CHECK_EQ(sf_change_partition(&change, 5), (int64_t)(key.group % 5)); /* K13 */
        nulls.slots += key.kind == SF_PACKED_ENTRIES;
        nulls.parts += key.kind == SF_PACKED_IMAGE;
        nulls.is_part_0_last = key.kind == SF_PACKED_IMAGE && key.slot == 0;
        sf_window_store_seal_accept(store);
    }
    return nulls;
}

static void unit_that_goes_is_written_as_nulls_with_part_0_last(void **state)
{
    (void)state;
    struct sf_window_store *store = store_new();
    struct made made;
    for (uint32_t slot = 3; slot < 6; slot++) {
        make(&made, SF_PACKED_ENTRIES, slot, twins, slot);
        CHECK_EQ(apply(store, &made, false), SF_OK);
    }
    struct nulls nulls = expire_and_seal(store);
    CHECK_EQ(nulls.slots, 3);
    CHECK_EQ(nulls.parts, 1);
    CHECK(nulls.is_part_0_last);
    sf_window_store_destroy(store);
}

/* Of three slots and three parts, as far as the nulls behind an image of two parts have come. */
static void what_an_image_covers_is_noted_until_its_null_has_come(void **state)
{
    (void)state;
    for (uint32_t come = 0; come < 5; come++) {
        struct sf_window_store *store = store_new();
        struct made made;
        for (uint32_t i = 0; i < 6; i++) {
            make(&made, i < 3 ? SF_PACKED_IMAGE : SF_PACKED_ENTRIES, i % 3, twins, 1);
            CHECK_EQ(apply(store, &made, false), SF_OK);
        }
        for (uint32_t i = 0; i < 2 + come; i++) {
            bool is_image = i < 2 || i == 5;
            make(&made, is_image ? SF_PACKED_IMAGE : SF_PACKED_ENTRIES, i < 2 ? i : i == 5 ? 2 : i - 2, twins, 2);
            CHECK_EQ(apply(store, &made, i >= 2), SF_OK);
        }
        struct nulls nulls = expire_and_seal(store);
        CHECK_EQ(nulls.slots, come < 3 ? 3 - come : 0);
        CHECK_EQ(nulls.parts, come < 4 ? 3 : 2);
        CHECK(nulls.is_part_0_last);
        sf_window_store_destroy(store);
    }
}

static void slots_that_an_image_covers_are_not_written_again(void **state)
{
    (void)state;
    struct sf_window_store *store = store_new();
    struct made made;
    for (uint32_t slot = 0; slot < 3; slot++) {
        make(&made, SF_PACKED_ENTRIES, slot, twins, 1);
        CHECK_EQ(apply(store, &made, false), SF_OK);
    }
    for (uint32_t part = 0; part < 2; part++) {
        make(&made, SF_PACKED_IMAGE, part, twins, 1);
        CHECK_EQ(apply(store, &made, false), SF_OK);
    }
    for (uint32_t slot = 0; slot < 3; slot++) {
        make(&made, SF_PACKED_ENTRIES, slot, twins, 1);
        CHECK_EQ(apply(store, &made, true), SF_OK);
    }
    make(&made, SF_PACKED_ENTRIES, 3, twins, 1);
    CHECK_EQ(apply(store, &made, false), SF_OK);
    struct nulls nulls = expire_and_seal(store);
    CHECK_EQ(nulls.slots, 1);
    CHECK_EQ(nulls.parts, 2);
    CHECK(nulls.is_part_0_last);
    sf_window_store_destroy(store);
}

static void large_unit_is_cut_into_records_that_a_block_takes(void **state)
{
    (void)state;
    struct sf_window_store *store = store_new(), *back = store_new();
    static uint8_t key[2000];
    uint32_t made = 0;
    for (uint32_t i = 0; made < 100; i++) {
        memcpy(key, &i, sizeof i);
        uint64_t hash = sf_hash64(key, sizeof key);
        if (sf_key_group(hash) != 9) continue;
        (void)sf_window_store_touch(store, 20, hash, key, sizeof key);
        sf_window_store_set_ts(store, 25);
        made++;
    }
    struct sf_change change;
    uint32_t records = 0;
    const char *reason;
    sf_window_store_seal_begin(store);
    while (sf_window_store_seal_next(store, &change)) {
        CHECK(change.value.len <= 49152);
        CHECK_EQ(sf_window_store_restore(back, change.key, change.value, &reason), SF_OK);
        records++;
        sf_window_store_seal_accept(store);
    }
    CHECK_EQ(records, 5);
    CHECK_EQ(sf_window_store_count(back, 20), 100);
    sf_window_store_destroy(store);
    sf_window_store_destroy(back);
}

static void local_row_of_a_packed_store_is_restored(void **state)
{
    (void)state;
    struct sf_window_store *store = store_new();
    const uint8_t key[13] = {'a', 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 0}, value[3] = {0x06, 0x01, 0x0a};
    const char *reason;
    CHECK_EQ(sf_window_store_restore_local(store, (struct sf_slice){key, 13}, (struct sf_slice){value, 3}, &reason),
             SF_OK);
    struct sf_window_row row = sf_window_store_row(store, 20, 0);
    CHECK_EQ(row.ts_ms, 23);
    CHECK_EQ(row.accs[0].as.integer, 5);
    sf_window_store_destroy(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_bytes_are_as_documented_k5),
        cmocka_unit_test(row_value_bytes_are_as_documented_k5),
        cmocka_unit_test(extreme_numbers_come_back),
        cmocka_unit_test(a_double_that_is_not_finite_is_refused),
        cmocka_unit_test(any_damaged_byte_is_noticed_and_nothing_is_applied_case_55),
        cmocka_unit_test(record_of_other_fields_or_another_group_is_refused),
        cmocka_unit_test(image_that_is_cut_takes_no_row_away_and_part_0s_null_takes_all),
        cmocka_unit_test(unit_that_goes_is_written_as_nulls_with_part_0_last),
        cmocka_unit_test(what_an_image_covers_is_noted_until_its_null_has_come),
        cmocka_unit_test(slots_that_an_image_covers_are_not_written_again),
        cmocka_unit_test(large_unit_is_cut_into_records_that_a_block_takes),
        cmocka_unit_test(local_row_of_a_packed_store_is_restored),
    };
    struct sf_expression_error error;
    find_twins();
    if (!sf_aggregates_compile(specs, 1, sf_alloc_libc(), &aggregates, &error)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sf_aggregates_destroy(aggregates);
    return failed;
}
