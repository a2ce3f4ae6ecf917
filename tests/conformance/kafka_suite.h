/*
 * The Kafka conformance suite: what core/io/kafka.h promises, as cases over a struct kafka_world (kafka_steps.h), to
 * be run against every implementation. "Drop-in" means that this passes. A case that a world cannot show is skipped
 * by name, with the reason.
 */
#ifndef SF_TESTS_CONFORMANCE_KAFKA_SUITE_H
#define SF_TESTS_CONFORMANCE_KAFKA_SUITE_H

#include "tests/conformance/kafka_steps.h"

/* Makes the world of one test in *state (a struct kafka_world), and takes it down after kafka_close_all. 0: fine. */
typedef int(kafka_world_open_fn)(void **state);
typedef int(kafka_world_close_fn)(void **state);

/* Runs every case; the number that failed. */
int kafka_suite_run(const char *label, kafka_world_open_fn *open, kafka_world_close_fn *close);

#endif
