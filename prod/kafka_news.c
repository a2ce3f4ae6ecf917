#include "prod/kafka_news.h"

#include <string.h>

#include "core/hash.h"

void sf_prod_kafka_news_init(struct sf_prod_kafka_news *news, struct sf_prod_log *log)
{
    news->log = log;
    for (uint32_t i = 0; i < SF_PROD_KAFKA_NEWS_SETTINGS_MAX; i++) atomic_init(&news->settings[i], 0);
    atomic_init(&news->is_away, false);
    atomic_init(&news->is_session_silent, false);
}

static enum sf_prod_level level_of(int syslog_level)
{
    if (syslog_level <= 4) return SF_PROD_WARN;
    return syslog_level <= 6 ? SF_PROD_DEBUG : SF_PROD_TRACE;
}

/* One `kafka:` section serves all clients. */
static bool is_about_other_clients(const char *text)
{
    return strstr(text, " property and will be ignored by this ") != NULL;
}

/* What comes of it is an event, and what we make of that a line of its own: `restart`, or a session that opens. */
static bool is_told_by_us(const char *text)
{
    return strstr(text, "SESSTMOUT: ") != NULL || strstr(text, "GETPID: ") != NULL;
}

static bool is_about_connections(const char *text)
{
    return strstr(text, "FAIL") != NULL || strstr(text, "brokers are down") != NULL;
}

/* "client: CONFWARN: [thread]: text": the text; NULL: it is about something else. */
static const char *about_settings(const char *text)
{
    const char *at = strstr(text, "CONFWARN: ");
    if (at == NULL) return NULL;
    const char *behind = strstr(at, "]: ");
    return behind != NULL ? behind + 3 : at + 10;
}

/* False: it was said before, or there is no place to remember that it is said now. */
static bool remember(struct sf_prod_kafka_news *news, const char *text)
{
    uint64_t hash = sf_hash64((const uint8_t *)text, strlen(text)) | 1;
    for (uint32_t i = 0; i < SF_PROD_KAFKA_NEWS_SETTINGS_MAX; i++) {
        uint64_t seen = 0;
        if (atomic_compare_exchange_strong(&news->settings[i], &seen, hash)) return true;
        if (seen == hash) return false;
    }
    return false;
}

static void take_settings(struct sf_prod_kafka_news *news, int level, const char *text)
{
    bool is_news = level <= 4 && remember(news, text);
    sf_prod_log_say(news->log, is_news ? SF_PROD_WARN : SF_PROD_DEBUG, "kafka-setting", text, NULL, 0);
}

void sf_prod_kafka_news_take(void *ctx, int level, const char *text)
{
    struct sf_prod_kafka_news *news = ctx;
    if (is_about_other_clients(text)) level = 7;
    const char *settings = about_settings(text);
    if (settings != NULL) {
        take_settings(news, level, settings);
        return;
    }
    if (strstr(text, "SESSTMOUT: ") != NULL) atomic_store(&news->is_session_silent, true);
    if (is_told_by_us(text)) level = 7;
    if (level > 4 || !is_about_connections(text)) {
        sf_prod_log_say(news->log, level_of(level), "kafka", text, NULL, 0);
        return;
    }
    if (atomic_exchange(&news->is_away, true)) {
        sf_prod_log_say(news->log, SF_PROD_DEBUG, "kafka", text, NULL, 0);
        return;
    }
    sf_prod_log_say(news->log, SF_PROD_WARN, "broker-away", text, NULL, 0);
}

void sf_prod_kafka_news_answered(struct sf_prod_kafka_news *news)
{
    if (!atomic_load(&news->is_away) || !atomic_exchange(&news->is_away, false)) return;
    sf_prod_log_say(news->log, SF_PROD_INFO, "broker-back", "the broker answers again", NULL, 0);
}

bool sf_prod_kafka_news_take_silence(struct sf_prod_kafka_news *news)
{
    return atomic_exchange(&news->is_session_silent, false);
}
