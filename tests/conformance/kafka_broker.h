/*
 * A real broker as a kafka_world: each process is a factory of the adapter, waits are waits for wakers. The broker's
 * address comes from KAFKA_BOOTSTRAP. Builds without the adapter, and then is missing.
 */
#ifndef SF_TESTS_CONFORMANCE_KAFKA_BROKER_H
#define SF_TESTS_CONFORMANCE_KAFKA_BROKER_H

/* Why there is none; NULL: there is. */
const char *kafka_broker_missing(void);
/* cmocka fixtures: a struct kafka_world in *state. */
int kafka_broker_open(void **state);
int kafka_broker_close(void **state);

#endif
