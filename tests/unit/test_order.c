/* The heap behind order (D2) and the tracker's minimum (G5), against a walk over all members. */
#include "tests/check.h"

#include "core/time/heap.h"

#define IDS 40u

static uint32_t id_of(const struct sf_heap_item *item)
{
    return item != NULL ? item->id : IDS;
}

static void equal_keys_go_by_number_d2(void **state)
{
    (void)state;
    struct sf_heap heap;
    sf_heap_init(&heap, sf_alloc_libc(), 8);
    CHECK(sf_heap_top(&heap) == NULL);
    CHECK(sf_heap_second(&heap) == NULL);
    sf_heap_put(&heap, 7, 100);
    sf_heap_put(&heap, 3, 100);
    sf_heap_put(&heap, 5, 90);
    CHECK_EQ(id_of(sf_heap_top(&heap)), 5);
    CHECK_EQ(id_of(sf_heap_second(&heap)), 3);
    sf_heap_remove(&heap, 5);
    sf_heap_remove(&heap, 5);
    CHECK_EQ(id_of(sf_heap_top(&heap)), 3);
    CHECK_EQ(id_of(sf_heap_second(&heap)), 7);
    sf_heap_put(&heap, 3, 101);
    CHECK_EQ(id_of(sf_heap_top(&heap)), 7);
    CHECK(heap.places[5] == SF_HEAP_OUT);
    sf_heap_deinit(&heap);
}

static bool is_before(const int64_t *keys, uint32_t a, uint32_t b)
{
    return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
}

static void top_and_second_are_what_a_walk_finds(void **state)
{
    (void)state;
    struct sf_heap heap;
    int64_t keys[IDS];
    bool is_in[IDS] = {false};
    uint64_t random = 1;
    sf_heap_init(&heap, sf_alloc_libc(), IDS);
    for (uint32_t step = 0; step < 20000; step++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t id = (uint32_t)(random >> 33) % IDS;
        if ((random >> 60) < 5) {
            sf_heap_remove(&heap, id);
            is_in[id] = false;
        } else {
            keys[id] = (int64_t)(random >> 40) % 23;
            sf_heap_put(&heap, id, keys[id]);
            is_in[id] = true;
        }
        uint32_t best = IDS, second = IDS, count = 0;
        for (uint32_t i = 0; i < IDS; i++) {
            if (!is_in[i]) continue;
            count++;
            if (best == IDS || is_before(keys, i, best)) {
                second = best;
                best = i;
            } else if (second == IDS || is_before(keys, i, second)) {
                second = i;
            }
        }
        CHECK_EQ(heap.count, count);
        CHECK_EQ(id_of(sf_heap_top(&heap)), best);
        CHECK_EQ(id_of(sf_heap_second(&heap)), second);
    }
    sf_heap_deinit(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_keys_go_by_number_d2),
        cmocka_unit_test(top_and_second_are_what_a_walk_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
