/*
 * Aggregate: the fields of a windowed aggregation (O3), their accumulators, and the two texts they become: the
 * result that a sink writes and the changelog's value (K5).
 *
 *     aggregate: {n: count, total: sum($.amount)}
 *     records {"amount":2} {"amount":0.5} {}   row: n INT 3, total DOUBLE 2.5
 *     result  {"window":{"start":0,"end":60000},"n":3,"total":2.5}
 *     stored  8 bytes of event time, then {"n":3,"total":2.5}
 *
 *   field  input              starts   null or missing input   not a number
 *   count  –                  0        counts the record       –
 *   sum    integers, doubles  0        ignored                 a PROCESSING fault
 *   min    "                  null     ignored                 "
 *   max    "                  null     ignored                 "
 *
 * Integers are exact and an overflow is a PROCESSING fault (M5); a sum becomes a double with its first double. min
 * and max compare exactly; of an integer and a double of the same value the integer is kept, of -0.0 and 0.0 min
 * keeps the first and max the second: so they, like count, do not depend on the order of records. A sum of doubles
 * does.
 *
 * A row is `count` accumulators of 16 bytes without padding; it may be copied, compared and moved as bytes.
 *
 * Threading: what is compiled does not change; rows are plain data.
 */
#ifndef SF_CORE_OPS_AGGREGATE_H
#define SF_CORE_OPS_AGGREGATE_H

#include "core/mem.h"
#include "core/ops/expression.h"
#include "core/ops/value.h"
#include "core/topo/topology.h"

#define SF_RESULT_HEAD_BYTES 96u

enum sf_acc_kind { SF_ACC_NONE, SF_ACC_INT, SF_ACC_DOUBLE };

struct sf_acc {
    uint64_t kind; /* enum sf_acc_kind */
    union {
        int64_t integer; /* 0 for NONE */
        double real;
    } as;
};

struct sf_aggregates;

/* 1 … SF_AGGREGATES_MAX fields; specs are copied. False: error_out->root is the field, offset stands in its
 * expression. */
bool sf_aggregates_compile(const struct sf_aggregate_spec *specs, uint32_t count, struct sf_alloc alloc,
                           struct sf_aggregates **aggregates_out, struct sf_expression_error *error_out) SF_MUST_USE;
/* NULL is fine. */
void sf_aggregates_destroy(struct sf_aggregates *aggregates);

uint32_t sf_aggregates_count(const struct sf_aggregates *aggregates);
/* The empty row. */
void sf_aggregates_init(const struct sf_aggregates *aggregates, struct sf_acc *row);
/* Folds one record in. False: the row is as it was. The caller has sorted out null keys and values (O3). */
bool sf_aggregates_add(const struct sf_aggregates *aggregates, const struct sf_input_value *input, struct sf_acc *row,
                       struct sf_fault *fault_out) SF_MUST_USE;

/* The result of the window [start_ms, end_ms). The length needed; the text is there only where it is <= cap. */
size_t sf_result_write(const struct sf_aggregates *aggregates, int64_t start_ms, int64_t end_ms,
                       const struct sf_acc *row, char *buf, size_t cap);
/* The same in two steps, for many results of one window: what they begin with, then each. */
size_t sf_result_head_write(int64_t start_ms, int64_t end_ms, char head[SF_RESULT_HEAD_BYTES]);
size_t sf_result_body_write(const struct sf_aggregates *aggregates, const char *head, size_t head_len,
                            const struct sf_acc *row, char *buf, size_t cap);

/* K5: event time, big-endian, then the fields as JSON; a double always has a point or an exponent, so that the row
 * comes back as it was. Length as above. */
size_t sf_row_encode(const struct sf_aggregates *aggregates, int64_t event_time_ms, const struct sf_acc *row, char *buf,
                     size_t cap);
/* False: a DESERIALIZATION fault (the stored bytes are damaged, or of other fields); row is then meaningless. */
bool sf_row_decode(const struct sf_aggregates *aggregates, const char *bytes, size_t len, int64_t *event_time_ms_out,
                   struct sf_acc *row, struct sf_fault *fault_out) SF_MUST_USE;

#endif
