/* The ring of stamps: floors, frontiers, what a crash leaves out (F1, F8, S2, K1). */
#include "tests/check.h"

#include "core/run/ring.h"
#include "core/time/event_time.h"

static void push_all(struct sf_ring *ring, uint64_t first_epoch, const int64_t *stamps, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) sf_ring_push(ring, first_epoch + i, stamps[i], false);
}

static void floor_is_the_newest_stamp_and_frontier_the_one_before_f1(void **state)
{
    (void)state;
    struct sf_ring ring;
    sf_ring_init(&ring, 0);
    CHECK_EQ(sf_ring_floor(&ring, 0, 0), SF_TIME_UNSET);
    sf_ring_push(&ring, 1, 10, false);
    CHECK_EQ(sf_ring_floor(&ring, 0, 0), 10);
    CHECK_EQ(sf_ring_frontier(&ring, 0, 0), SF_TIME_UNSET);
    sf_ring_push(&ring, 2, 20, false);
    CHECK_EQ(sf_ring_floor(&ring, 0, 0), 20);
    CHECK_EQ(sf_ring_frontier(&ring, 0, 0), 10);
}

static void a_crash_leaves_the_newest_stamp_out_for_good_s2(void **state)
{
    (void)state;
    /* the example of S2 */
    const int64_t stamps[] = {20, 30, 40, 50};
    struct sf_ring ring;
    sf_ring_init(&ring, 1);
    push_all(&ring, 2, stamps, 4);
    sf_ring_fall_back(&ring, 5);
    CHECK_EQ(sf_ring_floor(&ring, 0, 0), 50);
    sf_ring_push(&ring, 6, 60, false);
    CHECK_EQ(sf_ring_frontier(&ring, 0, 0), 40);
    CHECK_EQ(sf_ring_floor(&ring, 1, 0), 30);
    sf_ring_push(&ring, 7, 60, false);
    CHECK_EQ(sf_ring_frontier(&ring, 0, 0), 60);
}

static void without_a_crash_the_floor_behind_a_hop_is_two_places_older_f8(void **state)
{
    (void)state;
    const int64_t stamps[] = {20, 30, 40, 50, 60};
    struct sf_ring ring;
    sf_ring_init(&ring, 1);
    push_all(&ring, 2, stamps, 5);
    CHECK_EQ(sf_ring_floor(&ring, 1, 0), 40);
    CHECK_EQ(sf_ring_floor(&ring, 1, 14), 26);
    CHECK_EQ(sf_ring_frontier(&ring, 1, 14), 16);
}

static void falling_back_drops_later_stamps_and_may_be_repeated_b12(void **state)
{
    (void)state;
    const int64_t stamps[] = {10, 20, 30};
    struct sf_ring ring;
    sf_ring_init(&ring, 0);
    push_all(&ring, 1, stamps, 3);
    sf_ring_fall_back(&ring, 2); /* epoch 3 did not commit */
    sf_ring_fall_back(&ring, 2);
    CHECK_EQ(sf_ring_newest(&ring), 20);
    sf_ring_push(&ring, 4, 40, false);
    CHECK_EQ(sf_ring_frontier(&ring, 0, 0), 10);
    sf_ring_fall_back(&ring, 2); /* and again, before 4 committed */
    CHECK_EQ(sf_ring_newest(&ring), 20);
    sf_ring_push(&ring, 5, 50, false);
    CHECK_EQ(sf_ring_frontier(&ring, 0, 0), 10);
    sf_ring_push(&ring, 6, 60, false);
    CHECK_EQ(sf_ring_frontier(&ring, 0, 0), 50);
}

static void a_second_abort_finds_the_floor_of_the_cut_again_b12(void **state)
{
    (void)state;
    struct sf_ring ring;
    sf_ring_init(&ring, 0);
    sf_ring_push(&ring, 1, 10, false);
    sf_ring_fall_back(&ring, 1); /* a start after a crash: the only stamp is left out */
    sf_ring_push(&ring, 2, 20, false);
    sf_ring_fall_back(&ring, 1);
    CHECK_EQ(sf_ring_newest(&ring), 10);
    sf_ring_push(&ring, 3, 20, false);
    CHECK_EQ(sf_ring_frontier(&ring, 0, 0), SF_TIME_UNSET);
}

static void after_a_flush_nothing_is_left_out_s2(void **state)
{
    (void)state;
    struct sf_ring ring;
    sf_ring_init(&ring, 1);
    sf_ring_push(&ring, 1, 10, false);
    sf_ring_push(&ring, 2, 20, true);
    sf_ring_fall_back(&ring, 2);
    CHECK_EQ(sf_ring_floor(&ring, 0, 0), 20);
    CHECK_EQ(sf_ring_floor(&ring, 1, 0), 20);
    CHECK_EQ(sf_ring_frontier(&ring, 1, 0), 20);
    sf_ring_push(&ring, 3, 30, false);
    CHECK_EQ(sf_ring_frontier(&ring, 0, 0), 20);
}

static void long_histories_keep_their_places(void **state)
{
    (void)state;
    struct sf_ring ring;
    sf_ring_init(&ring, 3);
    uint64_t cut = 0;
    for (uint64_t epoch = 1; epoch < 2000; epoch++) {
        sf_ring_push(&ring, epoch, (int64_t)epoch * 10, false);
        if (epoch % 7 == 0) {
            sf_ring_fall_back(&ring, cut);
            CHECK_EQ(sf_ring_newest(&ring), (int64_t)cut * 10);
        } else {
            cut = epoch;
        }
        if (epoch > 30) CHECK(sf_ring_floor(&ring, 3, 0) != SF_TIME_UNSET);
        if (epoch > 30) CHECK(sf_ring_floor(&ring, 3, 0) <= sf_ring_floor(&ring, 0, 0) - 60);
    }
}

static void a_row_brings_the_ring_back_k1(void **state)
{
    (void)state;
    const int64_t stamps[] = {SF_TIME_UNSET, 20, 30, 40, 50, 60, 70};
    uint8_t row[SF_RING_ROW_BYTES_MAX];
    struct sf_ring ring, back;
    uint64_t incarnation = 0, epoch = 0;
    sf_ring_init(&ring, 1);
    push_all(&ring, 1, stamps, 3);
    uint32_t len = sf_ring_encode(&ring, 77, row, sizeof row);
    CHECK_EQ(len, 20 + 3 * 16);
    CHECK(sf_ring_decode(&back, 1, row, len, &incarnation, &epoch));
    CHECK_EQ(incarnation, 77);
    CHECK_EQ(epoch, 3);
    CHECK_EQ(sf_ring_frontier(&back, 0, 0), 20);
    CHECK_EQ(sf_ring_frontier(&back, 1, 0), SF_TIME_UNSET);
    push_all(&ring, 4, stamps + 3, 4);
    len = sf_ring_encode(&ring, 77, row, sizeof row);
    CHECK_EQ(len, 20 + 5 * 16); /* 2h + 3 places */
    CHECK(sf_ring_decode(&back, 1, row, len, &incarnation, &epoch));
    CHECK_EQ(sf_ring_floor(&back, 1, 0), sf_ring_floor(&ring, 1, 0));
    CHECK_EQ(sf_ring_frontier(&back, 1, 0), sf_ring_frontier(&ring, 1, 0));
}

static void bytes_that_are_no_row_are_refused(void **state)
{
    (void)state;
    uint8_t row[SF_RING_ROW_BYTES_MAX];
    struct sf_ring ring;
    uint64_t incarnation, epoch;
    sf_ring_init(&ring, 0);
    sf_ring_push(&ring, 9, 90, true);
    uint32_t len = sf_ring_encode(&ring, 1, row, sizeof row);
    for (uint32_t cut = 0; cut < len; cut++) CHECK(!sf_ring_decode(&ring, 0, row, cut, &incarnation, &epoch));
    row[0] = 99;
    CHECK(!sf_ring_decode(&ring, 0, row, len, &incarnation, &epoch));
    CHECK_EQ(sf_ring_newest(&ring), SF_TIME_UNSET);
}

/* Epochs that no engine writes would be counted on from. */
static void a_row_whose_epochs_do_not_rise_to_its_own_is_refused(void **state)
{
    (void)state;
    const int64_t stamps[] = {10, 20, 30};
    uint8_t row[SF_RING_ROW_BYTES_MAX];
    struct sf_ring ring;
    uint64_t incarnation, epoch;
    sf_ring_init(&ring, 0);
    push_all(&ring, 1, stamps, 3);
    uint32_t len = sf_ring_encode(&ring, 1, row, sizeof row);
    CHECK(sf_ring_decode(&ring, 0, row, len, &incarnation, &epoch));
    static const uint32_t last_bytes[] = {19, 27, 43, 59}; /* of the row's epoch, then of the stamps' */
    for (uint32_t i = 0; i < sizeof last_bytes / sizeof last_bytes[0]; i++) {
        row[last_bytes[i]] ^= 4;
        CHECK(!sf_ring_decode(&ring, 0, row, len, &incarnation, &epoch));
        CHECK_EQ(sf_ring_newest(&ring), SF_TIME_UNSET);
        row[last_bytes[i]] ^= 4;
    }
    row[12] = row[len - 16] = 0x7f; /* a last epoch, to which none can be added */
    memset(row + 13, 0xff, 7);
    memset(row + len - 15, 0xff, 7);
    CHECK(!sf_ring_decode(&ring, 0, row, len, &incarnation, &epoch));
}

static void a_flush_that_is_aborted_gives_the_stamps_back_b12(void **state)
{
    (void)state;
    const int64_t stamps[] = {10, 20, 30};
    struct sf_ring ring;
    sf_ring_init(&ring, 0);
    push_all(&ring, 1, stamps, 3);
    sf_ring_push(&ring, 4, 40, true);
    sf_ring_fall_back(&ring, 3);
    sf_ring_fall_back(&ring, 3);
    CHECK(!ring.is_flushed);
    CHECK_EQ(sf_ring_newest(&ring), 30);
    sf_ring_push(&ring, 5, 50, false);
    CHECK_EQ(sf_ring_frontier(&ring, 0, 0), 20);
    CHECK_EQ(sf_ring_floor(&ring, 0, 0), 50);
}

static void a_flushed_row_fills_a_deeper_ring_k1(void **state)
{
    (void)state;
    uint8_t row[SF_RING_ROW_BYTES_MAX];
    struct sf_ring ring;
    uint64_t incarnation, epoch;
    sf_ring_init(&ring, 0);
    sf_ring_push(&ring, 9, 90, true);
    uint32_t len = sf_ring_encode(&ring, 1, row, sizeof row);
    CHECK(sf_ring_decode(&ring, 2, row, len, &incarnation, &epoch));
    CHECK(ring.is_flushed);
    CHECK_EQ(sf_ring_frontier(&ring, 2, 0), 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floor_is_the_newest_stamp_and_frontier_the_one_before_f1),
        cmocka_unit_test(a_crash_leaves_the_newest_stamp_out_for_good_s2),
        cmocka_unit_test(without_a_crash_the_floor_behind_a_hop_is_two_places_older_f8),
        cmocka_unit_test(falling_back_drops_later_stamps_and_may_be_repeated_b12),
        cmocka_unit_test(a_second_abort_finds_the_floor_of_the_cut_again_b12),
        cmocka_unit_test(after_a_flush_nothing_is_left_out_s2),
        cmocka_unit_test(long_histories_keep_their_places),
        cmocka_unit_test(a_row_brings_the_ring_back_k1),
        cmocka_unit_test(bytes_that_are_no_row_are_refused),
        cmocka_unit_test(a_row_whose_epochs_do_not_rise_to_its_own_is_refused),
        cmocka_unit_test(a_flush_that_is_aborted_gives_the_stamps_back_b12),
        cmocka_unit_test(a_flushed_row_fills_a_deeper_ring_k1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
