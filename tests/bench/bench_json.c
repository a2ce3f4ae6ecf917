/* What reading and writing values costs, in nanoseconds per call. Not a test: numbers of one machine at one moment. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/ops/aggregate.h"
#include "core/ops/expression.h"
#include "core/ops/number.h"

#define ROUNDS 2000000u

static volatile uint64_t sink;

static double now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void report(const char *what, double start)
{
    printf("%-34s %8.1f ns\n", what, (now_ns() - start) / ROUNDS);
}

static void bench_eval(const char *what, const char *text, const char *json)
{
    struct sf_expression *expression;
    struct sf_expression_error error;
    struct sf_value value;
    struct sf_fault fault;
    struct sf_input_value input = {.serde = SF_SERDE_JSON,
                                   .bytes = {.data = (const uint8_t *)json, .len = (uint32_t)strlen(json)}};
    if (!sf_expression_compile(text, strlen(text), sf_alloc_libc(), &expression, &error)) return;
    double start = now_ns();
    for (unsigned i = 0; i < ROUNDS; i++) sink += sf_expression_eval(expression, &input, &value, &fault);
    report(what, start);
    sf_expression_destroy(expression);
}

static void bench_result(void)
{
    static const struct sf_aggregate_spec spec = {.name = "n", .kind = SF_AGGREGATE_COUNT};
    struct sf_aggregates *aggregates;
    struct sf_expression_error error;
    struct sf_acc row[1];
    char buf[256];
    if (!sf_aggregates_compile(&spec, 1, sf_alloc_libc(), &aggregates, &error)) return;
    sf_aggregates_init(aggregates, row);
    double start = now_ns();
    for (unsigned i = 0; i < ROUNDS; i++) {
        row[0].as.integer = i & 1023;
        sink += sf_result_write(aggregates, 1790071200000 + i, 1790071500000 + i, row, buf, sizeof buf);
    }
    report("result {window, n}", start);
    sf_aggregates_destroy(aggregates);
}

static void bench_doubles(void)
{
    static const double reals[] = {12.5, 0.1 + 0.2, 1234.5678, 1e300};
    for (unsigned k = 0; k < 4; k++) {
        char buf[SF_NUMBER_TEXT_BYTES + 1], what[64];
        struct sf_value value;
        size_t len = 0;
        double start = now_ns();
        for (unsigned i = 0; i < ROUNDS; i++) sink += len = sf_double_write(reals[k], buf);
        buf[len] = '\0';
        snprintf(what, sizeof what, "write %s", buf);
        report(what, start);
        start = now_ns();
        for (unsigned i = 0; i < ROUNDS; i++) sink += sf_number_read(buf, len, &value);
        snprintf(what, sizeof what, "read  %s", buf);
        report(what, start);
    }
}

int main(void)
{
    static const char json[] = "{\"event_time\":1790071200123,\"user\":\"user-000123\",\"amount\":125,"
                               "\"currency\":\"EUR\","
                               "\"items\":[1,2,3],\"note\":\"standard delivery\",\"flag\":true,\"d\":1.5}";
    printf("record of %zu bytes\n", sizeof json - 1);
    bench_eval("$.event_time", "$.event_time", json);
    bench_eval("$.d", "$.d", json);
    bench_eval("$.amount >= 100", "$.amount >= 100", json);
    bench_eval("three paths", "$.amount >= 100 and $.user != 'x' and $.flag", json);
    bench_result();
    bench_doubles();
    return sink == 0;
}
