/*
 * What every implementation of core/io/store.h must do. A program gives a suite as the tests' initial state; each test
 * opens a world (an empty state directory), opens stores in it, and closes it.
 */
#ifndef SF_TESTS_CONFORMANCE_STORE_SUITE_H
#define SF_TESTS_CONFORMANCE_STORE_SUITE_H

#include "tests/check.h"

#include "core/io/store.h"

struct store_world {
    struct sf_store_factory factory;
    struct sf_waker waker; /* to be given to stores */
    void *self;
};

struct store_suite {
    struct store_world (*open)(void);
    /* Lets something happen; false: nothing will any more. */
    bool (*let_happen)(void *self);
    /* Runs store_crash_script in a process of its own, on store "crash", and kills it when at least `synced` batches
     * are synced. Returns how many were synced for certain. */
    uint32_t (*crash)(void *self, uint32_t synced);
    void (*close)(void *self);
    uint32_t crash_rounds;
};

#define STORE_CRASH_SYNC_EVERY 8u

/* Writes batch `batch` of the crash script and, after each STORE_CRASH_SYNC_EVERY, syncs; waits for the events. True if
 * a sync was among them. Batch b puts "count" = b and a row of its own, and deletes the row of batch b - 3. */
bool store_crash_script_batch(const struct store_suite *suite, struct store_world world, struct sf_store store,
                              uint32_t batch);
struct sf_store store_open(struct store_world world, const char *name);

void store_orders_prefixes_and_extreme_bytes(void **state);
void store_tells_an_empty_value_from_none(void **state);
void store_keeps_to_the_ends_of_a_range(void **state);
void store_walks_backwards_over_the_same_rows(void **state);
void store_applies_a_batch_in_order(void **state);
void store_iterator_does_not_see_later_writes(void **state);
void store_says_how_much_room_a_value_needs(void **state);
void store_opens_once(void **state);
void store_keeps_what_was_closed(void **state);
void store_keeps_a_prefix_when_its_process_is_killed(void **state);
void store_checkpoint_opens_and_stands_still(void **state);
void store_set_aside_leaves_an_empty_one(void **state);
void store_destroyed_is_gone(void **state);
void store_gives_each_event_once_and_in_order(void **state);
void store_agrees_with_a_plain_model(void **state);

#define SF_STORE_SUITE(suite)                                                              \
    cmocka_unit_test_prestate(store_orders_prefixes_and_extreme_bytes, suite),             \
        cmocka_unit_test_prestate(store_tells_an_empty_value_from_none, suite),            \
        cmocka_unit_test_prestate(store_keeps_to_the_ends_of_a_range, suite),              \
        cmocka_unit_test_prestate(store_walks_backwards_over_the_same_rows, suite),        \
        cmocka_unit_test_prestate(store_applies_a_batch_in_order, suite),                  \
        cmocka_unit_test_prestate(store_iterator_does_not_see_later_writes, suite),        \
        cmocka_unit_test_prestate(store_says_how_much_room_a_value_needs, suite),          \
        cmocka_unit_test_prestate(store_opens_once, suite),                                \
        cmocka_unit_test_prestate(store_keeps_what_was_closed, suite),                     \
        cmocka_unit_test_prestate(store_keeps_a_prefix_when_its_process_is_killed, suite), \
        cmocka_unit_test_prestate(store_checkpoint_opens_and_stands_still, suite),         \
        cmocka_unit_test_prestate(store_set_aside_leaves_an_empty_one, suite),             \
        cmocka_unit_test_prestate(store_destroyed_is_gone, suite),                         \
        cmocka_unit_test_prestate(store_gives_each_event_once_and_in_order, suite),        \
        cmocka_unit_test_prestate(store_agrees_with_a_plain_model, suite)

#endif
