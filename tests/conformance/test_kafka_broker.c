/* Kafka conformance, against a real broker (KAFKA_BOOTSTRAP). Many cases in one program, each with names of its own. */
/* ctest: broker */
#include <stdio.h>
#include <stdlib.h>

#include "tests/conformance/kafka_broker.h"
#include "tests/conformance/kafka_suite.h"

int main(void)
{
    const char *reason = kafka_broker_missing();
    if (reason != NULL) {
        printf("skipped: %s\n", reason);
        return 77;
    }
    return kafka_suite_run("kafka broker", kafka_broker_open, kafka_broker_close);
}
