/*
 * feed BROKER TOPIC: what standard input says becomes records of TOPIC, each once and in order, however often the
 * broker goes away meanwhile. (kcat ends when the last broker is gone.)
 *
 *     partition TAB timestamp-ms TAB key TAB value LF
 *
 * Exit status: 0 when input has ended and all is acknowledged, 1 when a record could not be written, 2 wrong use.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <librdkafka/rdkafka.h>

#define FLUSH_MS 1000

static int failed_count;

static void on_delivered(rd_kafka_t *client, const rd_kafka_message_t *message, void *ctx)
{
    (void)client;
    (void)ctx;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) return;
    (void)fprintf(stderr, "feed: a record was not written: %s\n", rd_kafka_err2str(message->err));
    failed_count++;
}

static void on_log(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
    (void)client;
    if (level <= 3) (void)fprintf(stderr, "feed: %s: %s\n", facility, text);
}

static rd_kafka_t *open_client(const char *broker)
{
    static const char *const settings[][2] = {
        {"enable.idempotence", "true"}, {"linger.ms", "5"},  {"message.timeout.ms", "0"},
        {"reconnect.backoff.ms", "50"}, {"reconnect.backoff.max.ms", "500"},
    };
    char text[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    bool is_good = rd_kafka_conf_set(conf, "bootstrap.servers", broker, text, sizeof text) == RD_KAFKA_CONF_OK;
    for (size_t i = 0; is_good && i < sizeof settings / sizeof settings[0]; i++)
        is_good = rd_kafka_conf_set(conf, settings[i][0], settings[i][1], text, sizeof text) == RD_KAFKA_CONF_OK;
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivered);
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_t *client = is_good ? rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text) : NULL;
    if (client != NULL) return client;
    (void)fprintf(stderr, "feed: %s\n", text);
    exit(1);
}

/* Waits where the client's queue is full. */
static void produce(rd_kafka_t *client, const char *topic, int32_t partition, int64_t timestamp, const char *key,
                    const char *value)
{
    const rd_kafka_vu_t fields[] = {
        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = topic},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = partition},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = timestamp},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {(void *)(uintptr_t)key, strlen(key)}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {(void *)(uintptr_t)value, strlen(value)}},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY}};
    for (;;) {
        rd_kafka_error_t *error = rd_kafka_produceva(client, fields, sizeof fields / sizeof fields[0]);
        rd_kafka_resp_err_t err = error != NULL ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR;
        rd_kafka_error_destroy(error);
        if (err == RD_KAFKA_RESP_ERR_NO_ERROR) return;
        if (err != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            (void)fprintf(stderr, "feed: a record was refused: %s\n", rd_kafka_err2str(err));
            exit(1);
        }
        rd_kafka_poll(client, FLUSH_MS);
    }
}

/* Cuts the line in place; NULL where it has not four parts. */
static char *next_part(char **line, char end)
{
    char *part = *line;
    char *at = part != NULL ? strchr(part, end) : NULL;
    if (at == NULL) return NULL;
    *at = '\0';
    *line = at + 1;
    return part;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: feed BROKER TOPIC\n");
        return 2;
    }
    rd_kafka_t *client = open_client(argv[1]);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        char *rest = line;
        char *partition = next_part(&rest, '\t');
        char *timestamp = next_part(&rest, '\t');
        char *key = next_part(&rest, '\t');
        char *value = next_part(&rest, '\n');
        if (value == NULL) {
            (void)fprintf(stderr, "feed: a line without partition, timestamp, key and value\n");
            return 2;
        }
        produce(client, argv[2], (int32_t)strtol(partition, NULL, 10), strtoll(timestamp, NULL, 10), key, value);
        rd_kafka_poll(client, 0);
    }
    free(line);
    while (rd_kafka_outq_len(client) > 0 && failed_count == 0) (void)rd_kafka_flush(client, FLUSH_MS);
    rd_kafka_destroy(client);
    return failed_count > 0 ? 1 : 0;
}
