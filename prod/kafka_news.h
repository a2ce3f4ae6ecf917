/*
 * Kafka news: what the Kafka library says becomes log lines. Complaints about connections, which it repeats as long
 * as a broker is away, are said once, and once more when the broker has answered again. What it finds odd about
 * settings every client of ours repeats: said once.
 *
 * Threading: any thread.
 */
#ifndef SF_PROD_KAFKA_NEWS_H
#define SF_PROD_KAFKA_NEWS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "prod/log.h"

#define SF_PROD_KAFKA_NEWS_SETTINGS_MAX 16u

struct sf_prod_kafka_news {
    struct sf_prod_log *log;
    _Atomic uint64_t settings[SF_PROD_KAFKA_NEWS_SETTINGS_MAX]; /* hashes of what was said of settings; 0: free */
    _Atomic bool is_away;
    _Atomic bool is_session_silent;
};

void sf_prod_kafka_news_init(struct sf_prod_kafka_news *news, struct sf_prod_log *log);
/* As prod/kafka.h's `log`; `ctx` is the news. */
void sf_prod_kafka_news_take(void *ctx, int level, const char *text);
/* The broker has answered something. */
void sf_prod_kafka_news_answered(struct sf_prod_kafka_news *news);
/* Since it was asked last: did the member give its session up because the broker answered nothing for that long? False
 * where the broker said itself that the member is out. */
bool sf_prod_kafka_news_take_silence(struct sf_prod_kafka_news *news);

#endif
