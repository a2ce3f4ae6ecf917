#include "tests/conformance/store_suite.h"

#include <stdio.h>
#include <stdlib.h>

static struct sf_store_slice bytes(const void *data, size_t len)
{
    return (struct sf_store_slice){.data = data, .len = (uint32_t)len};
}

static struct sf_store_slice text(const char *chars)
{
    return bytes(chars, strlen(chars));
}

static struct sf_store_op put(struct sf_store_slice key, struct sf_store_slice value)
{
    return (struct sf_store_op){.kind = SF_STORE_PUT, .key = key, .value = value};
}

static struct sf_store_op delete_row(struct sf_store_slice key)
{
    return (struct sf_store_op){.kind = SF_STORE_DELETE, .key = key};
}

static struct sf_store_op delete_range(struct sf_store_slice from, struct sf_store_slice until)
{
    return (struct sf_store_op){.kind = SF_STORE_DELETE_RANGE, .key = from, .value = until};
}

struct sf_store store_open(struct store_world world, const char *name)
{
    struct sf_store store;
    struct sf_error error = {SF_OK, ""};
    struct sf_store_config config = {.name = name, .cache_bytes = 1u << 20, .waker = world.waker};
    enum sf_status status = sf_store_open(world.factory, &config, &store, &error);
    if (status != SF_OK) fail_msg("open: %s (%s)", sf_status_name(status), error.text);
    return store;
}

static void close_store(struct sf_store store)
{
    struct sf_error error = {SF_OK, ""};
    CHECK_EQ(sf_store_close(store, &error), SF_OK);
}

static struct sf_store_event await(const struct store_suite *suite, struct store_world world, struct sf_store store)
{
    struct sf_store_event event;
    while (sf_store_poll(store, &event, 1) == 0)
        if (!suite->let_happen(world.self)) fail_msg("%s", "no event comes");
    return event;
}

static void write_all(const struct store_suite *suite, struct store_world world, struct sf_store store,
                      const struct sf_store_op *ops, uint32_t count)
{
    sf_store_write(store, 7, ops, count);
    struct sf_store_event event = await(suite, world, store);
    CHECK_EQ(event.kind, SF_STORE_WRITTEN);
    CHECK_EQ(event.status, SF_OK);
    CHECK_EQ(event.tag, 7);
}

static void sync_all(const struct store_suite *suite, struct store_world world, struct sf_store store)
{
    sf_store_sync(store, 8);
    struct sf_store_event event = await(suite, world, store);
    CHECK_EQ(event.kind, SF_STORE_SYNCED);
    CHECK_EQ(event.status, SF_OK);
    CHECK_EQ(event.tag, 8);
}

/* The rows of a range as text, "key=value" each: bytes outside of letters and digits as two hexadecimal digits. */
static size_t append_slice(char *to, size_t cap, struct sf_store_slice slice)
{
    size_t len = 0;
    for (uint32_t i = 0; i < slice.len; i++) {
        bool is_plain = slice.data[i] >= '0' && slice.data[i] <= 'z';
        len += (size_t)snprintf(to + len, cap - len, is_plain ? "%c" : "%02x", slice.data[i]);
        CHECK(len < cap);
    }
    return len;
}

static const char *rows_of_iter(struct sf_store_iter iter)
{
    static char rows[4096];
    struct sf_store_slice key, value;
    enum sf_status status;
    size_t len = 0;
    rows[0] = '\0';
    while ((status = sf_store_iter_next(iter, &key, &value)) == SF_OK) {
        if (len > 0) rows[len++] = ' ';
        len += append_slice(rows + len, sizeof rows - 2 - len, key);
        rows[len++] = '=';
        rows[len] = '\0';
        len += append_slice(rows + len, sizeof rows - 2 - len, value);
    }
    CHECK_EQ(status, SF_END);
    CHECK_EQ(sf_store_iter_next(iter, &key, &value), SF_END);
    return rows;
}

static const char *rows(struct sf_store store, struct sf_store_slice from, struct sf_store_slice until, bool is_reverse)
{
    struct sf_store_iter iter;
    struct sf_store_range range = {.from = from, .until = until, .is_reverse = is_reverse};
    CHECK_EQ(sf_store_iter_open(store, &range, &iter), SF_OK);
    const char *all = rows_of_iter(iter);
    sf_store_iter_close(iter);
    return all;
}

static const char *all_rows(struct sf_store store)
{
    return rows(store, bytes(NULL, 0), bytes(NULL, 0), false);
}

static const char *value_of(struct sf_store store, const char *key)
{
    static char value[64];
    uint32_t len = 0;
    enum sf_status status = sf_store_get(store, text(key), (uint8_t *)value, sizeof(value) - 1, &len);
    if (status == SF_NOT_FOUND) return "(none)";
    CHECK_EQ(status, SF_OK);
    value[len] = '\0';
    return value;
}

/* ---------------------------------------------------------------- order and ranges */

void store_orders_prefixes_and_extreme_bytes(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_store store = store_open(world, "rows");
    struct sf_store_op ops[] = {
        put(bytes("\xff\xff", 2), text("8")), put(text("a"), text("3")),        put(bytes("\xff", 1), text("6")),
        put(bytes("a\0", 2), text("4")),      put(bytes("\0\0", 2), text("2")), put(bytes("\0", 1), text("1")),
        put(bytes("\xff\0", 2), text("7")),   put(text("ab"), text("5")),
    };
    write_all(suite, world, store, ops, 8);
    CHECK_STR(all_rows(store), "00=1 0000=2 a=3 a00=4 ab=5 ff=6 ff00=7 ffff=8");
    CHECK_STR(rows(store, text("a"), text("b"), false), "a=3 a00=4 ab=5");
    CHECK_STR(rows(store, bytes("\xff", 1), bytes(NULL, 0), false), "ff=6 ff00=7 ffff=8");
    close_store(store);
    suite->close(world.self);
}

void store_tells_an_empty_value_from_none(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_store store = store_open(world, "rows");
    struct sf_store_op op = put(text("k"), bytes(NULL, 0));
    write_all(suite, world, store, &op, 1);
    uint32_t len = 99;
    CHECK_EQ(sf_store_get(store, text("k"), NULL, 0, &len), SF_OK);
    CHECK_EQ(len, 0);
    CHECK_EQ(sf_store_get(store, text("kk"), NULL, 0, &len), SF_NOT_FOUND);
    CHECK_EQ(sf_store_get(store, text(""), NULL, 0, &len), SF_NOT_FOUND);
    CHECK_STR(all_rows(store), "k=");
    close_store(store);
    suite->close(world.self);
}

static void put_letters(const struct store_suite *suite, struct store_world world, struct sf_store store)
{
    struct sf_store_op ops[] = {put(text("b"), text("2")), put(text("d"), text("4")), put(text("f"), text("6"))};
    write_all(suite, world, store, ops, 3);
}

void store_keeps_to_the_ends_of_a_range(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_store store = store_open(world, "rows");
    CHECK_STR(all_rows(store), "");
    put_letters(suite, world, store);
    CHECK_STR(rows(store, text("b"), text("f"), false), "b=2 d=4");
    CHECK_STR(rows(store, text("a"), text("g"), false), "b=2 d=4 f=6");
    CHECK_STR(rows(store, text("c"), text("d"), false), "");
    CHECK_STR(rows(store, text("d"), text("d"), false), "");
    CHECK_STR(rows(store, text("d"), bytes("d\0", 2), false), "d=4");
    CHECK_STR(rows(store, text("g"), bytes(NULL, 0), false), "");
    CHECK_STR(rows(store, bytes(NULL, 0), text("b"), false), "");
    close_store(store);
    suite->close(world.self);
}

void store_walks_backwards_over_the_same_rows(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_store store = store_open(world, "rows");
    CHECK_STR(rows(store, bytes(NULL, 0), bytes(NULL, 0), true), "");
    put_letters(suite, world, store);
    CHECK_STR(rows(store, bytes(NULL, 0), bytes(NULL, 0), true), "f=6 d=4 b=2");
    CHECK_STR(rows(store, text("b"), text("f"), true), "d=4 b=2");
    CHECK_STR(rows(store, text("c"), text("e"), true), "d=4");
    CHECK_STR(rows(store, text("g"), bytes(NULL, 0), true), "");
    CHECK_STR(rows(store, bytes(NULL, 0), text("b"), true), "");
    CHECK_STR(rows(store, text("d"), text("zz"), true), "f=6 d=4");
    close_store(store);
    suite->close(world.self);
}

/* ---------------------------------------------------------------- batches */

void store_applies_a_batch_in_order(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_store store = store_open(world, "rows");
    struct sf_store_op twice[] = {put(text("a"), text("1")), delete_row(text("a")), put(text("a"), text("2")),
                                  put(text("b"), text("1")), delete_row(text("b")), delete_row(text("never"))};
    write_all(suite, world, store, twice, 6);
    CHECK_STR(all_rows(store), "a=2");
    put_letters(suite, world, store);
    CHECK_STR(all_rows(store), "a=2 b=2 d=4 f=6");
    struct sf_store_op range[] = {put(text("c"), text("3")), delete_range(text("a"), text("f")),
                                  put(text("d"), text("5"))};
    write_all(suite, world, store, range, 3);
    CHECK_STR(all_rows(store), "d=5 f=6");
    CHECK_STR(value_of(store, "a"), "(none)");
    CHECK_STR(value_of(store, "d"), "5");
    struct sf_store_op nothing = delete_range(text("x"), text("y"));
    write_all(suite, world, store, &nothing, 1);
    CHECK_STR(all_rows(store), "d=5 f=6");
    close_store(store);
    suite->close(world.self);
}

void store_iterator_does_not_see_later_writes(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_store store = store_open(world, "rows");
    put_letters(suite, world, store);
    struct sf_store_iter before, after;
    struct sf_store_range all = {.is_reverse = false};
    CHECK_EQ(sf_store_iter_open(store, &all, &before), SF_OK);
    struct sf_store_slice key, value;
    CHECK_EQ(sf_store_iter_next(before, &key, &value), SF_OK);
    CHECK(key.len == 1 && key.data[0] == 'b');
    struct sf_store_op ops[] = {put(text("c"), text("3")), put(text("d"), text("5")), delete_row(text("f")),
                                delete_range(text("a"), text("c"))};
    write_all(suite, world, store, ops, 4);
    sync_all(suite, world, store);
    CHECK_EQ(sf_store_iter_open(store, &all, &after), SF_OK);
    CHECK_STR(rows_of_iter(before), "d=4 f=6");
    CHECK_STR(rows_of_iter(after), "c=3 d=5");
    sf_store_iter_close(after);
    sf_store_iter_close(before);
    CHECK_STR(all_rows(store), "c=3 d=5");
    close_store(store);
    suite->close(world.self);
}

void store_says_how_much_room_a_value_needs(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_store store = store_open(world, "rows");
    struct sf_store_op op = put(text("k"), text("value"));
    write_all(suite, world, store, &op, 1);
    uint8_t buf[8] = "xxxxxxx";
    uint32_t len = 0;
    CHECK_EQ(sf_store_get(store, text("k"), buf, 4, &len), SF_E_FULL);
    CHECK_EQ(len, 5);
    CHECK(memcmp(buf, "xxxxxxx", 8) == 0);
    CHECK_EQ(sf_store_get(store, text("k"), buf, 5, &len), SF_OK);
    CHECK_EQ(len, 5);
    CHECK(memcmp(buf, "valuexx", 8) == 0);
    close_store(store);
    suite->close(world.self);
}

void store_gives_each_event_once_and_in_order(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_store store = store_open(world, "rows");
    struct sf_store_op ops[] = {put(text("a"), text("1")), put(text("a"), text("2")), put(text("a"), text("3"))};
    for (uint32_t i = 0; i < 3; i++) sf_store_write(store, 10 + i, &ops[i], 1);
    sf_store_sync(store, 13);
    for (uint32_t i = 0; i < 4; i++) {
        struct sf_store_event event = await(suite, world, store);
        CHECK_EQ(event.tag, 10 + i);
        CHECK_EQ(event.kind, i < 3 ? SF_STORE_WRITTEN : SF_STORE_SYNCED);
        CHECK_EQ(event.status, SF_OK);
    }
    struct sf_store_event none;
    CHECK_EQ(sf_store_poll(store, &none, 1), 0);
    CHECK_STR(value_of(store, "a"), "3");
    CHECK(sf_store_bytes(store) > 0);
    close_store(store);
    suite->close(world.self);
}

/* ---------------------------------------------------------------- opening */

void store_opens_once(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_store store = store_open(world, "rows"), second;
    struct sf_error error = {SF_OK, ""};
    struct sf_store_config config = {.name = "rows", .cache_bytes = 0, .waker = world.waker};
    CHECK_EQ(sf_store_open(world.factory, &config, &second, &error), SF_E_EXISTS);
    CHECK_EQ(error.status, SF_E_EXISTS);
    CHECK(strstr(error.text, "rows") != NULL);
    CHECK_EQ(sf_store_set_aside(world.factory, "rows", "test", &error), SF_E_EXISTS);
    CHECK_EQ(sf_store_destroy(world.factory, "rows", &error), SF_E_EXISTS);
    CHECK_EQ(sf_store_open(world.factory, &config, &second, &error), SF_E_EXISTS);
    struct sf_store other = store_open(world, "other");
    close_store(other);
    close_store(store);
    close_store(store_open(world, "rows"));
    suite->close(world.self);
}

void store_keeps_what_was_closed(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_store store = store_open(world, "rows");
    struct sf_store_op op = put(text("late"), text("1"));
    put_letters(suite, world, store);
    sf_store_write(store, 1, &op, 1); /* outstanding at the close */
    close_store(store);
    store = store_open(world, "rows");
    CHECK_STR(all_rows(store), "b=2 d=4 f=6 late=1");
    close_store(store);
    suite->close(world.self);
}

void store_checkpoint_opens_and_stands_still(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_store store = store_open(world, "rows");
    put_letters(suite, world, store);
    sf_store_checkpoint(store, 5, "frame-1");
    struct sf_store_event event = await(suite, world, store);
    CHECK_EQ(event.kind, SF_STORE_CHECKPOINTED);
    CHECK_EQ(event.status, SF_OK);
    CHECK_EQ(event.tag, 5);
    struct sf_store_op ops[] = {delete_row(text("b")), put(text("d"), text("5"))};
    write_all(suite, world, store, ops, 2);
    struct sf_store frame = store_open(world, "frame-1");
    CHECK_STR(all_rows(frame), "b=2 d=4 f=6");
    CHECK_STR(all_rows(store), "d=5 f=6");
    close_store(frame);
    sf_store_checkpoint(store, 6, "frame-1");
    event = await(suite, world, store);
    CHECK_EQ(event.status, SF_E_EXISTS);
    write_all(suite, world, store, ops, 2); /* a name that is taken does the store no harm */
    close_store(store);
    suite->close(world.self);
}

void store_set_aside_leaves_an_empty_one(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_error error = {SF_OK, ""};
    for (uint32_t i = 0; i < 2; i++) {
        struct sf_store store = store_open(world, "rows");
        CHECK_STR(all_rows(store), "");
        put_letters(suite, world, store);
        close_store(store);
        CHECK_EQ(sf_store_set_aside(world.factory, "rows", "corrupt", &error), SF_OK);
    }
    CHECK_EQ(sf_store_set_aside(world.factory, "rows", "corrupt", &error), SF_NOT_FOUND);
    suite->close(world.self);
}

void store_destroyed_is_gone(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_error error = {SF_OK, ""};
    struct sf_store store = store_open(world, "rows");
    put_letters(suite, world, store);
    close_store(store);
    CHECK_EQ(sf_store_destroy(world.factory, "rows", &error), SF_OK);
    CHECK_EQ(sf_store_destroy(world.factory, "rows", &error), SF_OK);
    store = store_open(world, "rows");
    CHECK_STR(all_rows(store), "");
    close_store(store);
    suite->close(world.self);
}

/* ---------------------------------------------------------------- crashes */

static void crash_row(char key_out[16], uint32_t batch)
{
    (void)snprintf(key_out, 16, "row%08u", batch);
}

bool store_crash_script_batch(const struct store_suite *suite, struct store_world world, struct sf_store store,
                              uint32_t batch)
{
    char count[16], key[16], old[16];
    (void)snprintf(count, sizeof count, "%u", batch);
    crash_row(key, batch);
    crash_row(old, batch - 3);
    struct sf_store_op ops[] = {put(text("count"), text(count)), put(text(key), text(count)), delete_row(text(old))};
    write_all(suite, world, store, ops, batch > 3 ? 3 : 2);
    if (batch % STORE_CRASH_SYNC_EVERY != 0) return false;
    sync_all(suite, world, store);
    return true;
}

/* Exactly the rows that batches 1 … n leave, for an n that is not less than what was synced. */
static uint32_t check_prefix(struct sf_store store, uint32_t synced)
{
    const char *count = value_of(store, "count");
    CHECK(strcmp(count, "(none)") != 0);
    uint32_t n = (uint32_t)strtoul(count, NULL, 10);
    char expected[256];
    CHECK(n >= synced && n > 3);
    (void)snprintf(expected, sizeof expected, "count=%u row%08u=%u row%08u=%u row%08u=%u", n, n - 2, n - 2, n - 1,
                   n - 1, n, n);
    CHECK_STR(all_rows(store), expected);
    return n;
}

void store_keeps_a_prefix_when_its_process_is_killed(void **state)
{
    const struct store_suite *suite = *state;
    for (uint32_t round = 0; round < suite->crash_rounds; round++) {
        struct store_world world = suite->open();
        uint32_t synced = suite->crash(world.self, STORE_CRASH_SYNC_EVERY * (1 + round));
        CHECK(synced >= STORE_CRASH_SYNC_EVERY * (1 + round));
        struct sf_store store = store_open(world, "crash");
        uint32_t n = check_prefix(store, synced);
        (void)store_crash_script_batch(suite, world, store, n + 1); /* and it goes on from there */
        CHECK_EQ(check_prefix(store, n + 1), n + 1);
        close_store(store);
        suite->close(world.self);
    }
}

/* ---------------------------------------------------------------- against a model */

#define MODEL_KEYS 64u
#define MODEL_BATCHES 200u
#define MODEL_OPS 12u

static uint32_t next_number(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void change_model(uint32_t model[MODEL_KEYS], const struct sf_store_op *op, uint32_t from, uint32_t until,
                         uint32_t value)
{
    switch (op->kind) {
    case SF_STORE_PUT: model[from] = value; break;
    case SF_STORE_DELETE: model[from] = 0; break;
    case SF_STORE_DELETE_RANGE:
        for (uint32_t i = from; i < until; i++) model[i] = 0;
        break;
    }
}

static void compare_with_model(struct sf_store store, const uint32_t model[MODEL_KEYS], uint8_t from, uint8_t until,
                               bool is_reverse)
{
    struct sf_store_iter iter;
    struct sf_store_range range = {.from = bytes(&from, 1), .until = bytes(&until, 1), .is_reverse = is_reverse};
    CHECK_EQ(sf_store_iter_open(store, &range, &iter), SF_OK);
    struct sf_store_slice key, value;
    for (uint32_t i = from; i < until; i++) {
        uint32_t at = is_reverse ? (uint32_t)from + until - 1 - i : i;
        if (model[at] == 0) continue;
        CHECK_EQ(sf_store_iter_next(iter, &key, &value), SF_OK);
        CHECK(key.len == 1 && key.data[0] == at);
        CHECK(value.len == sizeof model[at] && memcmp(value.data, &model[at], value.len) == 0);
    }
    CHECK_EQ(sf_store_iter_next(iter, &key, &value), SF_END);
    sf_store_iter_close(iter);
}

void store_agrees_with_a_plain_model(void **state)
{
    const struct store_suite *suite = *state;
    struct store_world world = suite->open();
    struct sf_store store = store_open(world, "rows");
    uint32_t model[MODEL_KEYS] = {0}, seed = 1;
    for (uint32_t batch = 0; batch < MODEL_BATCHES; batch++) {
        struct sf_store_op ops[MODEL_OPS];
        uint8_t keys[MODEL_OPS][2];
        uint32_t values[MODEL_OPS];
        for (uint32_t i = 0; i < MODEL_OPS; i++) {
            uint32_t kind = next_number(&seed) % 8;
            keys[i][0] = (uint8_t)(next_number(&seed) % MODEL_KEYS);
            keys[i][1] = (uint8_t)(keys[i][0] + next_number(&seed) % (MODEL_KEYS - keys[i][0]));
            values[i] = 1 + next_number(&seed);
            ops[i] = put(bytes(&keys[i][0], 1), bytes(&values[i], sizeof values[i]));
            if (kind == 0) ops[i] = delete_range(bytes(&keys[i][0], 1), bytes(&keys[i][1], 1));
            if (kind == 1 || kind == 2) ops[i] = delete_row(bytes(&keys[i][0], 1));
            change_model(model, &ops[i], keys[i][0], keys[i][1], values[i]);
        }
        write_all(suite, world, store, ops, MODEL_OPS);
        if (batch % 32 == 0) sync_all(suite, world, store);
        uint8_t from = (uint8_t)(next_number(&seed) % MODEL_KEYS);
        uint8_t until = (uint8_t)(from + 1 + next_number(&seed) % (MODEL_KEYS - from));
        compare_with_model(store, model, from, until, batch % 2 == 0);
    }
    compare_with_model(store, model, 0, MODEL_KEYS, false);
    close_store(store);
    store = store_open(world, "rows");
    compare_with_model(store, model, 0, MODEL_KEYS, true);
    close_store(store);
    suite->close(world.self);
}
