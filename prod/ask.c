#include "prod/ask.h"

#include <stdio.h>
#include <string.h>

#include "prod/os.h"

#define LOOK_INTERVAL_MS 100

enum sf_status sf_prod_ask_open(struct sf_prod_ask *ask, struct sf_kafka kafka, struct sf_error *error)
{
    memset(ask, 0, sizeof *ask);
    sf_prod_bell_init(&ask->bell);
    enum sf_status status = sf_kafka_admin_open(kafka, sf_prod_bell_waker(&ask->bell), &ask->admin, error);
    if (status != SF_OK) sf_prod_bell_deinit(&ask->bell);
    return status;
}

void sf_prod_ask_close(struct sf_prod_ask *ask)
{
    sf_admin_close(ask->admin);
    sf_prod_bell_deinit(&ask->bell);
}

/* The answer to the one question that is open. Its pointers hold until the next poll. */
static enum sf_status wait(struct sf_prod_ask *ask, int64_t timeout_ms, struct sf_admin_event *event_out)
{
    int64_t begin = sfi_os_now_ms();
    for (;;) {
        if (sf_admin_poll(ask->admin, event_out, 1) == 1) return event_out->status;
        if (ask->is_cancelled != NULL && ask->is_cancelled(ask->ctx)) return SF_E_CLOSED;
        if (timeout_ms != SF_PROD_ASK_FOREVER && sfi_os_now_ms() - begin >= timeout_ms) return SF_E_TIMEOUT;
        sf_prod_bell_wait(&ask->bell, LOOK_INTERVAL_MS);
    }
}

enum sf_status sf_prod_ask_topic(struct sf_prod_ask *ask, uint32_t topic, int64_t timeout_ms,
                                 struct sf_prod_topic *topic_out)
{
    struct sf_admin_event event;
    *topic_out = (struct sf_prod_topic){0};
    sf_admin_describe(ask->admin, ask->tag++, topic);
    enum sf_status status = wait(ask, timeout_ms, &event);
    if (status != SF_OK) return status;
    topic_out->partition_count = event.partition_count;
    for (uint32_t i = 0; i < event.setting_count; i++)
        if (strcmp(event.settings[i].name, "cleanup.policy") == 0)
            (void)snprintf(topic_out->cleanup_policy, sizeof topic_out->cleanup_policy, "%s", event.settings[i].value);
    return SF_OK;
}

enum sf_status sf_prod_ask_ends(struct sf_prod_ask *ask, enum sf_log_end which, const struct sf_tp *tps,
                                uint32_t count, int64_t timeout_ms, int64_t *ends_out)
{
    struct sf_admin_event event;
    if (count == 0) return SF_OK;
    sf_admin_ends(ask->admin, ask->tag++, which, tps, count);
    enum sf_status status = wait(ask, timeout_ms, &event);
    if (status != SF_OK) return status;
    assert(event.answer_count == count);
    for (uint32_t i = 0; i < count; i++) {
        if (event.answers[i].status != SF_OK) return event.answers[i].status;
        ends_out[i] = event.answers[i].offset;
    }
    return SF_OK;
}
