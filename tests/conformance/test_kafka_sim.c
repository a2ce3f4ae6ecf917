/* Kafka conformance on the simulated Kafka: small latencies, none, and an epoch per transaction. */
#include "tests/conformance/kafka_sim.h"
#include "tests/conformance/kafka_suite.h"

int main(void)
{
    int failed = kafka_suite_run("kafka sim", kafka_sim_open, kafka_sim_close);
    failed += kafka_suite_run("kafka sim exact", kafka_sim_open_exact, kafka_sim_close);
    failed += kafka_suite_run("kafka sim v2", kafka_sim_open_v2, kafka_sim_close);
    return failed;
}
