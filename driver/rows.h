/*
 * Rows: what a read-committed reader finds in a topic at the end of a run, against what a scenario expects of it.
 *
 *     expected  a [10:00,10:05) {n: 1}     a [10:05,10:10) {n: 2}
 *     actual    a [10:00,10:05) {n: 1}     b …                       a [10:05,10:10) {n: 3}
 *     -> the second row of key a differs
 *
 * Order counts within a key. `exactly`: each key has these rows and no others; `contains`: these are among its rows, in
 * this order. Rows without a key have no order: they may lie in any partition (K12).
 *
 * Threading: one run's.
 */
#ifndef SF_DRIVER_ROWS_H
#define SF_DRIVER_ROWS_H

#include "driver/scenario.h"
#include "sim/kafka.h"

struct sf_driver_row {
    size_t key, value; /* offsets of NUL-terminated texts in rows->text; value normalised, without `window` */
    bool has_key;
    bool has_window;
    int64_t window_start_ms, window_end_ms;
    int64_t ts_ms;
    bool is_taken;     /* an expected row has claimed it */
};

struct sf_driver_rows {
    struct sf_alloc alloc;
    struct sf_driver_row *items; /* by partition, then offset */
    uint32_t count;
    uint32_t capacity;
    struct sf_text text;
};

void sf_driver_rows_init(struct sf_driver_rows *rows, struct sf_alloc alloc);
void sf_driver_rows_deinit(struct sf_driver_rows *rows);
struct sf_driver_row_serdes {
    enum sf_serde key, value;
};
/* Everything committed in the topic; none where it does not exist. */
void sf_driver_rows_read(struct sf_driver_rows *rows, struct sf_sim_kafka *broker, const char *topic,
                         struct sf_driver_row_serdes serdes);

/* Calls `differs` for each difference, in order of the expected rows, then of the actual ones that are too many. */
typedef void(sf_driver_differs_fn)(void *ctx, const char *subject, const char *expected, const char *actual);
void sf_driver_rows_compare(struct sf_driver_rows *rows, const struct sf_scenario_output *output,
                            sf_driver_differs_fn *differs, void *ctx);

/* How many committed records; without reading them in. */
uint64_t sf_driver_rows_count(struct sf_sim_kafka *broker, struct sf_tp tp, int64_t from, int64_t before);

#endif
