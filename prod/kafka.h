/*
 * Kafka, for real: core/io/kafka.h on librdkafka 2.0.2.
 *
 *     struct sf_prod_kafka_config config = {.settings = {{"bootstrap.servers", "localhost:9092"}}, .setting_count = 1};
 *     struct sf_prod_kafka *kafka;
 *     if (sf_prod_kafka_new(&config, &kafka, &error) != SF_OK) …    "no such setting: boostrap.servers"
 *     struct sf_kafka handle = sf_prod_kafka_handle(kafka);
 *     …  open, use and close clients through `handle` …
 *     sf_prod_kafka_destroy(kafka);
 *
 * Model. Each client owns one library instance and one helper thread; the helper does what blocks (transactional
 * calls, metadata, watermarks) and, after close, takes the instance down. Close itself never waits: it cuts the
 * client's connections where nothing more may leave (by-hand consumers, producers), so what was not sent is never
 * sent, whatever the library is in the middle of.
 *
 * Invariants. No event is reported after close. A helper never touches the caller's memory after close, except the
 * waker, which is not called any more either. sf_prod_kafka_destroy returns when the last helper has ended, or never
 * will.
 *
 * What librdkafka 2.0.2 does not have, and what stands in its place (docs/kafka-model.md lists traps as well):
 *
 *     who took a session             LOST (SF_E_SESSION), never FENCED; init takes the id back all the same
 *     an epoch per transaction       an end that is sent twice could end the next transaction: `end_sends` counts
 *     the last stable offset         ends of partitions in fetches; questions for log ends, on a helper
 *     metadata with NUL bytes        none: offset metadata is text (core writes base64, K7)
 *     leader epochs                  nothing: a log that an unclean election has cut is noticed by its offsets, or not
 *
 * Threading: as core/io/kafka.h says. Wakers are called from threads of the library and of the helpers, with locks
 * held: they must do nothing but wake. `log` is called from any thread.
 */
#ifndef SF_PROD_KAFKA_H
#define SF_PROD_KAFKA_H

#include <stdbool.h>
#include <stdint.h>

#include "core/io/kafka.h"
#include "core/status.h"

/* One line of the application file's `kafka:` section, handed to the library as it is. */
struct sf_prod_kafka_setting {
    const char *name;
    const char *value;
};

struct sf_prod_kafka_config {
    const struct sf_prod_kafka_setting *settings; /* copied */
    uint32_t setting_count;
    const char *client_id;     /* start of every client's id; copied; NULL: "sf" */
    int64_t watch_interval_ms; /* how often partition counts and leaders are looked at; 0: 5000 */
    /* Lines of the library, without a newline; level as in syslog (3 error … 7 debug). NULL: dropped. */
    void (*log)(void *ctx, int level, const char *text);
    /* The group's coordinator has answered a member, owner or not. From the task that polls it. NULL: nobody cares. */
    void (*answered)(void *ctx);
    void *log_ctx;
};

struct sf_prod_kafka;

/* SF_E_ARG, text naming the setting: it does not exist, has a bad value, or is the engine's own to set. Opens no
 * connection. */
enum sf_status sf_prod_kafka_new(const struct sf_prod_kafka_config *config, struct sf_prod_kafka **kafka_out,
                                 struct sf_error *error) SF_MUST_USE;

/* Borrows; valid until destroy. */
struct sf_kafka sf_prod_kafka_handle(struct sf_prod_kafka *kafka);

/* All clients must have been closed. Waits until their helpers have ended: milliseconds, and a few seconds where a
 * member leaves its group or a call into the library is under way while the broker is silent. False: one is in a call
 * that never ends (library 2.0.2: offsets that wait for a coordinator, once the connections are cut). It is left alone
 * with all it needs, sends and logs nothing, and ends with the process, which should not unload anything under it:
 * _exit. */
bool sf_prod_kafka_destroy(struct sf_prod_kafka *kafka);

#endif
