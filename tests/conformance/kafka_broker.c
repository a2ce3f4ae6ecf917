/* A real broker as a kafka_world. See kafka_broker.h. */
#include "tests/conformance/kafka_broker.h"

#include <stddef.h>

#ifdef SF_HAVE_PROD

#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prod/kafka.h"
#include "tests/conformance/kafka_steps.h"

#define PROCESSES 4
#define LIMIT_S 60     /* a step that has not come by then never will */
#define POLL_AT_LEAST_MS 500 /* the header wants a poll once a second, whatever happens */

struct broker {
    struct kafka_world world;
    struct sf_prod_kafka *processes[PROCESSES];
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool is_woken;
};

static void on_log(void *ctx, int level, const char *text)
{
    (void)ctx;
    if (getenv("KAFKA_LOG") != NULL) fprintf(stderr, "<%d> %s\n", level, text);
}

static struct sf_kafka broker_process(void *ctx, uint32_t index)
{
    struct broker *broker = ctx;
    if (broker->processes[index] == NULL) {
        const struct sf_prod_kafka_setting settings[] = {{"bootstrap.servers", getenv("KAFKA_BOOTSTRAP")},
                                                         {"session.timeout.ms", "6000"},
                                                         {"heartbeat.interval.ms", "200"}};
        struct sf_prod_kafka_config config = {.settings = settings,
                                              .setting_count = sizeof settings / sizeof settings[0],
                                              .watch_interval_ms = 100,
                                              .log = on_log};
        struct sf_error error;
        if (sf_prod_kafka_new(&config, &broker->processes[index], &error) != SF_OK) {
            fprintf(stderr, "%s\n", error.text);
            abort();
        }
    }
    return sf_prod_kafka_handle(broker->processes[index]);
}

static void wake(void *self, uint32_t task_id)
{
    (void)task_id;
    struct broker *broker = self;
    pthread_mutex_lock(&broker->lock);
    broker->is_woken = true;
    pthread_cond_signal(&broker->woken);
    pthread_mutex_unlock(&broker->lock);
}

static struct sf_waker broker_waker(void *ctx)
{
    return (struct sf_waker){wake, ctx, 0};
}

static struct timespec after_ms(int64_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    int64_t ns = at.tv_nsec + ms % 1000 * 1000000;
    at.tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
    at.tv_nsec = (long)(ns % 1000000000);
    return at;
}

static bool broker_run(void *ctx, bool (*is_done)(void *arg), void *arg)
{
    struct broker *broker = ctx;
    struct timespec end = after_ms(LIMIT_S * 1000), now;
    do {
        if (is_done(arg)) return true;
        struct timespec until = after_ms(POLL_AT_LEAST_MS);
        pthread_mutex_lock(&broker->lock);
        int timed_out = 0;
        while (!broker->is_woken && timed_out == 0)
            timed_out = pthread_cond_timedwait(&broker->woken, &broker->lock, &until);
        broker->is_woken = false;
        pthread_mutex_unlock(&broker->lock);
        clock_gettime(CLOCK_REALTIME, &now);
    } while (now.tv_sec < end.tv_sec);
    return is_done(arg);
}

static const char *broker_cannot(void *ctx, enum kafka_power power)
{
    (void)ctx;
    if (power == KAFKA_POWER_LEADER_AWAY) return "one broker: a partition of its own cannot lose its leader";
    return NULL;
}

/* By the library's own admin calls: adding partitions is no business of the engine, hence not in the interface. */
static void broker_grow(void *ctx, const char *topic, int32_t partition_count)
{
    (void)ctx;
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    (void)rd_kafka_conf_set(conf, "bootstrap.servers", getenv("KAFKA_BOOTSTRAP"), text, sizeof text);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_NewPartitions_t *more = rd_kafka_NewPartitions_new(topic, (size_t)partition_count, text, sizeof text);
    rd_kafka_CreatePartitions(rk, &more, 1, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, LIMIT_S * 1000);
    if (event != NULL) rd_kafka_event_destroy(event);
    rd_kafka_NewPartitions_destroy(more);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
}

static const struct kafka_world_ops broker_ops = {.process = broker_process,
                                                  .waker = broker_waker,
                                                  .run = broker_run,
                                                  .cannot = broker_cannot,
                                                  .grow = broker_grow};

const char *kafka_broker_missing(void)
{
    return getenv("KAFKA_BOOTSTRAP") != NULL ? NULL : "KAFKA_BOOTSTRAP is not set: no broker to run against";
}

int kafka_broker_open(void **state)
{
    static unsigned number;
    struct broker *broker = calloc(1, sizeof *broker);
    if (broker == NULL) return -1;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(broker->world.run_id, sizeof broker->world.run_id, "%lld-%ld-%u", (long long)now.tv_sec,
                   (long)getpid(), ++number);
    broker->world.label = "broker";
    broker->world.ops = &broker_ops;
    broker->world.ctx = broker;
    pthread_mutex_init(&broker->lock, NULL);
    pthread_cond_init(&broker->woken, NULL);
    *state = &broker->world;
    return 0;
}

int kafka_broker_close(void **state)
{
    struct kafka_world *world = *state;
    struct broker *broker = world->ctx;
    kafka_close_all(world);
    for (uint32_t i = 0; i < PROCESSES; i++)
        if (broker->processes[i] != NULL) sf_prod_kafka_destroy(broker->processes[i]);
    pthread_cond_destroy(&broker->woken);
    pthread_mutex_destroy(&broker->lock);
    free(broker);
    return 0;
}

#else

const char *kafka_broker_missing(void)
{
    return "built without librdkafka";
}

int kafka_broker_open(void **state)
{
    (void)state;
    return -1;
}

int kafka_broker_close(void **state)
{
    (void)state;
    return -1;
}

#endif
