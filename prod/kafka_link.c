/* Kafka adapter: one library instance's connections and log, and how an instance is configured. See kafka_impl.h. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "prod/kafka_impl.h"

/* ------------------------------------------------------------------ connections */

void sfi_kafka_link_init(struct sfi_kafka_link *link, struct sf_prod_kafka *kafka)
{
    *link = (struct sfi_kafka_link){.kafka = kafka};
    pthread_mutex_init(&link->lock, NULL);
    pthread_mutex_lock(&kafka->lock);
    link->next = kafka->links;
    if (link->next != NULL) link->next->prev = link;
    kafka->links = link;
    pthread_mutex_unlock(&kafka->lock);
}

void sfi_kafka_link_abandon(struct sfi_kafka_link *link)
{
    struct sf_prod_kafka *kafka = link->kafka;
    pthread_mutex_lock(&kafka->lock);
    if (link->next != NULL) link->next->prev = link->prev;
    if (link->prev != NULL) link->prev->next = link->next;
    else kafka->links = link->next;
    pthread_mutex_unlock(&kafka->lock);
    pthread_mutex_lock(&link->lock);
    link->kafka = NULL; /* no more log lines */
    pthread_mutex_unlock(&link->lock);
}

void sfi_kafka_link_deinit(struct sfi_kafka_link *link)
{
    sfi_kafka_link_abandon(link);
    assert(link->fd_count == 0);
    free(link->fds);
    pthread_mutex_destroy(&link->lock);
}

void sfi_kafka_link_cut(struct sfi_kafka_link *link)
{
    pthread_mutex_lock(&link->lock);
    link->is_cut = true;
    for (uint32_t i = 0; i < link->fd_count; i++) (void)shutdown(link->fds[i], SHUT_RDWR);
    pthread_mutex_unlock(&link->lock);
}

/* Library thread. -1 makes the connection attempt fail; the library tries again after a while, until destroyed. */
static int on_socket(int domain, int type, int protocol, void *opaque)
{
    struct sfi_kafka_link *link = opaque;
    int fd = -1;
    pthread_mutex_lock(&link->lock);
    if (link->is_cut) {
        errno = ENETDOWN;
    } else {
        fd = socket(domain, type | SOCK_CLOEXEC, protocol);
        if (fd >= 0) {
            if (link->fd_count == link->fd_cap) {
                link->fd_cap = link->fd_cap > 0 ? link->fd_cap * 2 : 8;
                link->fds = sfi_kafka_grow(link->fds, link->fd_cap * sizeof *link->fds);
            }
            link->fds[link->fd_count++] = fd;
        }
    }
    pthread_mutex_unlock(&link->lock);
    return fd;
}

/* Closed under the lock, so that a cut never hits a number that has been given to somebody else since. */
static int on_close(int fd, void *opaque)
{
    struct sfi_kafka_link *link = opaque;
    pthread_mutex_lock(&link->lock);
    for (uint32_t i = 0; i < link->fd_count; i++) {
        if (link->fds[i] != fd) continue;
        link->fds[i] = link->fds[--link->fd_count];
        break;
    }
    int result = close(fd);
    pthread_mutex_unlock(&link->lock);
    return result;
}

/* ------------------------------------------------------------------ configuration */

static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    struct sfi_kafka_link *link = rd_kafka_opaque(rk);
    if (link == NULL) return;
    char line[640];
    (void)snprintf(line, sizeof line, "%s: %s: %s", rd_kafka_name(rk), facility, text);
    pthread_mutex_lock(&link->lock);
    const struct sf_prod_kafka *kafka = link->kafka;
    if (kafka != NULL && kafka->log != NULL && !link->is_cut) kafka->log(kafka->log_ctx, level, line);
    pthread_mutex_unlock(&link->lock);
}

void sfi_kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char text[160];
    rd_kafka_conf_res_t result = rd_kafka_conf_set(conf, name, value, text, sizeof text);
    assert(result == RD_KAFKA_CONF_OK);
    (void)result;
}

void sfi_kafka_conf_set_int(rd_kafka_conf_t *conf, const char *name, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    sfi_kafka_conf_set(conf, name, text);
}

/* Defaults of ours that the file may overrule. A back-off of 100 ms would be paid by every transaction
 * (AddOffsetsToTxn meets "concurrent transactions" while the previous markers are written). */
static const struct sf_prod_kafka_setting default_settings[] = {
    {"retry.backoff.ms", "8"},         {"fetch.wait.max.ms", "10"},  {"reconnect.backoff.ms", "50"},
    {"reconnect.backoff.max.ms", "1000"}, {"linger.ms", "5"},        {"batch.size", "1000000"},
    {"socket.nagle.disable", "true"},  {"session.timeout.ms", "10000"}, {"heartbeat.interval.ms", "1000"},
    {"topic.metadata.refresh.fast.interval.ms", "50"}};

rd_kafka_conf_t *sfi_kafka_conf_new(struct sfi_kafka_link *link, const char *purpose)
{
    const struct sf_prod_kafka *kafka = link->kafka;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (size_t i = 0; i < sizeof default_settings / sizeof default_settings[0]; i++)
        sfi_kafka_conf_set(conf, default_settings[i].name, default_settings[i].value);
    for (uint32_t i = 0; i < kafka->setting_count; i++)
        sfi_kafka_conf_set(conf, kafka->settings[i].name, kafka->settings[i].value);
    char id[160];
    (void)snprintf(id, sizeof id, "%s-%s", kafka->client_id, purpose);
    sfi_kafka_conf_set(conf, "client.id", id);
    rd_kafka_conf_set_opaque(conf, link);
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_conf_set_socket_cb(conf, on_socket);
    rd_kafka_conf_set_closesocket_cb(conf, on_close);
    return conf;
}

rd_kafka_t *sfi_kafka_instance_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, struct sf_error *error)
{
    char text[200] = "";
    rd_kafka_t *rk = rd_kafka_new(type, conf, text, sizeof text);
    if (rk == NULL) {
        rd_kafka_conf_destroy(conf);
        (void)sfi_kafka_fail(error, SF_E_ARG, "kafka settings: %s", text);
    }
    return rk;
}
