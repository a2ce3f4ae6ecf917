/* The Kafka conformance suite: which cases there are. See kafka_suite.h. */
#include "tests/conformance/kafka_suite.h"

#include <stdlib.h>

#include "tests/check.h"
#include "tests/conformance/kafka_cases.h"

#define CASES_MAX 64

int kafka_suite_run(const char *label, kafka_world_open_fn *open, kafka_world_close_fn *close)
{
    struct CMUnitTest tests[CASES_MAX];
    size_t count = 0;
#define CASE(name) tests[count++] = (struct CMUnitTest){#name, name, open, close, NULL};
    KAFKA_CASES(CASE)
#undef CASE
    CHECK(count < CASES_MAX);
    const char *only = getenv("KAFKA_CASE"); /* a cmocka pattern; a name that matches nothing fails the run */
    if (only != NULL) cmocka_set_test_filter(only);
    return _cmocka_run_group_tests(label, tests, count, NULL, NULL);
}
