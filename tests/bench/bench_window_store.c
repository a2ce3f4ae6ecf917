/*
 * What the window store costs, in nanoseconds per call: touching rows that are there, first touches of an epoch, making
 * rows, sealing, walking, undoing. Not a test: numbers of one machine at one moment.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/hash.h"
#include "core/state/window_store.h"

#define KEYS_MAX 1000000u
#define ROUNDS 4u

static const struct sf_aggregate_spec specs[] = {{.name = "n", .kind = SF_AGGREGATE_COUNT}};
static const struct sf_step_spec step = {.kind = SF_STEP_AGGREGATE,
                                         .window = {.size_ms = 10},
                                         .aggregates = specs,
                                         .aggregate_count = 1,
                                         .store = {.name = "s", .retention_ms = 10}};

struct key {
    uint64_t hash;
    uint8_t bytes[16];
    uint32_t len;
};

static struct key *keys;
static uint32_t *order; /* random keys */
static volatile uint64_t result_sink;

static double now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* the machine may be busy */
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void report(const char *what, uint32_t count, double start, uint64_t calls)
{
    printf("%-28s %8" PRIu32 " keys %8.1f ns\n", what, count, (now_ns() - start) / (double)calls);
}

static void touch_all(struct sf_window_store *store, int64_t start, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct key *key = &keys[order[i] % count];
        struct sf_window_row row = sf_window_store_touch(store, start, key->hash, key->bytes, key->len);
        row.accs[0].as.integer++;
        sf_window_store_set_ts(store, start);
        sum += row.hash;
    }
    result_sink += sum;
}

static void seal_all(struct sf_window_store *store, uint64_t *changes)
{
    struct sf_change change;
    sf_window_store_seal_begin(store);
    while (sf_window_store_seal_next(store, &change)) {
        result_sink += change.value.len;
        (*changes)++;
        sf_window_store_seal_accept(store);
    }
}

/* Epochs that touch `count` random rows of one window; nanoseconds of sealing. */
static void bench_packed(struct sf_aggregates *aggregates, uint32_t count)
{
    struct sf_window_store_config config = {
        .alloc = sf_alloc_libc(), .step = &step, .aggregates = aggregates, .is_packed = true, .epoch = 1};
    struct sf_window_store *store = sf_window_store_new(&config);
    uint64_t records = 0, rows = 0;
    double seal = 0;
    for (uint64_t epoch = 1; epoch <= ROUNDS; epoch++) {
        touch_all(store, 10, count);
        rows += sf_window_store_rows(store); /* about: each round touches most rows there are */
        double from = now_ns();
        seal_all(store, &records);
        seal += now_ns() - from;
        sf_window_store_rotate(store, epoch + 1);
        sf_window_store_committed(store, epoch);
    }
    report("seal a row, packed", count, now_ns() - seal, rows);
    sf_window_store_destroy(store);
}

static void bench(struct sf_aggregates *aggregates, uint32_t count)
{
    struct sf_window_store_config config = {
        .alloc = sf_alloc_libc(), .step = &step, .aggregates = aggregates, .epoch = 1};
    struct sf_window_store *store = sf_window_store_new(&config);
    uint64_t epoch = 1, changes = 0;
    for (uint32_t round = 0; round < 2; round++) { /* the second pane takes over the memory of the first */
        int64_t start = (int64_t)round * 10;
        double from = now_ns();
        for (uint32_t i = 0; i < count; i++) {
            (void)sf_window_store_touch(store, start, keys[i].hash, keys[i].bytes, keys[i].len);
            sf_window_store_set_ts(store, start);
        }
        report(round == 0 ? "make a row" : "make a row, memory reused", count, from, count);
        if (round == 1) break;
        sf_window_store_expire(store, 10);
        sf_window_store_rotate(store, ++epoch);
        sf_window_store_committed(store, epoch - 1);
    }
    double from = now_ns();
    for (uint32_t round = 0; round < ROUNDS; round++) touch_all(store, 10, count);
    report("touch", count, from, (uint64_t)ROUNDS * count);
    double first = 0, undo = 0, seal = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        sf_window_store_rotate(store, ++epoch);
        sf_window_store_committed(store, epoch - 1);
        from = now_ns();
        touch_all(store, 10, count);
        first += now_ns() - from;
        from = now_ns();
        seal_all(store, &changes);
        seal += now_ns() - from;
        from = now_ns();
        sf_window_store_fall_back(store, epoch - 1, epoch + 1);
        undo += now_ns() - from;
        epoch++;
    }
    report("touch, first of an epoch", count, now_ns() - first, (uint64_t)ROUNDS * count);
    report("seal a row", count, now_ns() - seal, changes);
    report("undo a row", count, now_ns() - undo, changes);
    from = now_ns();
    uint32_t rows = sf_window_store_count(store, 10);
    for (uint32_t i = 0; i < rows; i++) result_sink += sf_window_store_row(store, 10, i).hash;
    report("walk a row", count, from, rows);
    sf_window_store_destroy(store);
}

int main(void)
{
    struct sf_aggregates *aggregates;
    struct sf_expression_error error;
    if (!sf_aggregates_compile(specs, 1, sf_alloc_libc(), &aggregates, &error)) return 1;
    keys = calloc(KEYS_MAX, sizeof *keys);
    order = calloc(KEYS_MAX, sizeof *order);
    uint64_t draw = 1;
    for (uint32_t i = 0; i < KEYS_MAX; i++) {
        keys[i].len = (uint32_t)snprintf((char *)keys[i].bytes, sizeof keys[i].bytes, "user-%" PRIu32, i);
        keys[i].hash = sf_hash64(keys[i].bytes, keys[i].len);
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        order[i] = (uint32_t)(draw >> 33);
    }
    for (uint32_t count = 1000; count <= KEYS_MAX; count *= 10) {
        bench(aggregates, count);
        bench_packed(aggregates, count);
    }
    free(keys);
    free(order);
    sf_aggregates_destroy(aggregates);
    return 0;
}
