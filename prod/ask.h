/*
 * Ask: questions to the broker for a thread that may wait: one at a time, each with its answer.
 *
 *     struct sf_prod_ask ask;
 *     if (sf_prod_ask_open(&ask, kafka, &error) == SF_OK) …
 *     status = sf_prod_ask_topic(&ask, topic, 10000, &answer);     partitions, cleanup policy
 *     sf_prod_ask_close(&ask);
 *
 * Threading: one thread.
 */
#ifndef SF_PROD_ASK_H
#define SF_PROD_ASK_H

#include "core/io/kafka.h"
#include "prod/bell.h"

#define SF_PROD_ASK_FOREVER INT64_MAX

struct sf_prod_ask {
    struct sf_admin admin;
    struct sf_prod_bell bell;
    uint64_t tag;
    bool (*is_cancelled)(void *ctx); /* looked at ten times a second; NULL: never */
    void *ctx;
};

struct sf_prod_topic {
    int32_t partition_count;
    char cleanup_policy[64]; /* "" where the broker does not say */
};

SF_MUST_USE enum sf_status sf_prod_ask_open(struct sf_prod_ask *ask, struct sf_kafka kafka, struct sf_error *error);
void sf_prod_ask_close(struct sf_prod_ask *ask);

/* SF_E_UNKNOWN_TOPIC: there is none. SF_E_TIMEOUT: no answer within `timeout_ms`; SF_E_CLOSED: cancelled; after either
 * only close is allowed. */
SF_MUST_USE enum sf_status sf_prod_ask_topic(struct sf_prod_ask *ask, uint32_t topic, int64_t timeout_ms,
                                             struct sf_prod_topic *topic_out);

/* Where the logs of these partitions begin or end. Errors as above. */
SF_MUST_USE enum sf_status sf_prod_ask_ends(struct sf_prod_ask *ask, enum sf_log_end which, const struct sf_tp *tps,
                                            uint32_t count, int64_t timeout_ms, int64_t *ends_out);

#endif
