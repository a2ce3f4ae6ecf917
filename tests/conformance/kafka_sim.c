/* The simulated Kafka as a kafka_world. See kafka_sim.h. */
#include "tests/conformance/kafka_sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/kafka.h"
#include "sim/world.h"
#include "tests/conformance/kafka_steps.h"

#define PROCESSES 4
#define LIMIT_US (INT64_C(120) * 1000000) /* virtual; a step that has not come by then never will */
#define POLL_AT_LEAST_US 500000

struct simulated {
    struct kafka_world world;
    struct sf_sim_world sim;
    struct sf_sim_kafka *broker;
    struct sf_sim_instance *processes[PROCESSES];
};

static struct sf_kafka sim_process(void *ctx, uint32_t index)
{
    struct simulated *simulated = ctx;
    if (simulated->processes[index] == NULL) simulated->processes[index] = sf_sim_instance_new(&simulated->sim);
    return sf_sim_kafka_handle(simulated->broker, simulated->processes[index]);
}

static struct sf_waker sim_waker(void *ctx)
{
    (void)ctx;
    return (struct sf_waker){0}; /* everything is polled after every event */
}

static bool sim_run(void *ctx, bool (*is_done)(void *arg), void *arg)
{
    struct simulated *simulated = ctx;
    struct sf_sim_world *sim = &simulated->sim;
    int64_t end_us = sim->mono_us + LIMIT_US;
    for (;;) {
        (void)sf_sim_world_run_due(sim);
        if (is_done(arg)) return true;
        if (sim->mono_us >= end_us) return false;
        (void)sf_sim_world_advance(sim, sim->mono_us + POLL_AT_LEAST_US);
    }
}

static const char *sim_cannot(void *ctx, enum kafka_power power)
{
    (void)ctx, (void)power;
    return NULL;
}

static void sim_leader_away(void *ctx, const char *topic, int32_t partition, bool is_away)
{
    struct simulated *simulated = ctx;
    struct sf_tp tp = {sf_sim_kafka_topic(simulated->broker, topic), partition};
    sf_sim_kafka_mode(simulated->broker, tp, is_away ? SF_SIM_KAFKA_MODE_NO_LEADER : SF_SIM_KAFKA_MODE_OK);
}

static void sim_grow(void *ctx, const char *topic, int32_t partition_count)
{
    struct simulated *simulated = ctx;
    sf_sim_kafka_add_partitions(simulated->broker, sf_sim_kafka_topic(simulated->broker, topic), partition_count);
}

static const struct kafka_world_ops sim_ops = {.process = sim_process,
                                               .waker = sim_waker,
                                               .run = sim_run,
                                               .cannot = sim_cannot,
                                               .leader_away = sim_leader_away,
                                               .grow = sim_grow};

static int sim_open(void **state, struct sf_sim_kafka_config config)
{
    struct simulated *simulated = calloc(1, sizeof *simulated);
    if (simulated == NULL) return -1;
    struct sf_sim_world_config world = {.seed = 7, .wall_start_ms = 1700000000000};
    sf_sim_world_init(&simulated->sim, &world);
    config.session_timeout_us = 6000000;
    config.record_bytes_max = 4000; /* so that a large record is one that cannot be delivered */
    simulated->broker = sf_sim_kafka_new(&simulated->sim, &config);
    (void)snprintf(simulated->world.run_id, sizeof simulated->world.run_id, "sim");
    simulated->world.label = config.is_v2 ? "sim v2" : "sim";
    simulated->world.ops = &sim_ops;
    simulated->world.ctx = simulated;
    *state = &simulated->world;
    return 0;
}

int kafka_sim_open(void **state)
{
    return sim_open(state, sf_sim_kafka_config_default());
}

int kafka_sim_open_exact(void **state)
{
    return sim_open(state, sf_sim_kafka_config_exact());
}

int kafka_sim_open_v2(void **state)
{
    struct sf_sim_kafka_config config = sf_sim_kafka_config_default();
    config.is_v2 = true;
    return sim_open(state, config);
}

int kafka_sim_close(void **state)
{
    struct kafka_world *world = *state;
    struct simulated *simulated = world->ctx;
    kafka_close_all(world);
    for (uint32_t i = 0; i < PROCESSES; i++)
        if (simulated->processes[i] != NULL) sf_sim_instance_destroy(simulated->processes[i]);
    sf_sim_kafka_destroy(simulated->broker);
    sf_sim_world_deinit(&simulated->sim);
    free(simulated);
    return 0;
}
