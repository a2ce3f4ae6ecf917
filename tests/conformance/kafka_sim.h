/*
 * The simulated Kafka as a kafka_world: each process is an instance, waits let virtual time pass. Clients are polled
 * after every event and at least twice a virtual second.
 */
#ifndef SF_TESTS_CONFORMANCE_KAFKA_SIM_H
#define SF_TESTS_CONFORMANCE_KAFKA_SIM_H

/* cmocka fixtures: a struct kafka_world in *state. */
int kafka_sim_open(void **state);       /* what librdkafka 2.0 speaks, small latencies */
int kafka_sim_open_exact(void **state); /* no latencies */
int kafka_sim_open_v2(void **state);    /* an epoch per transaction */
int kafka_sim_close(void **state);

#endif
