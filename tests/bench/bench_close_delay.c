/*
 * How long after its close a window's result is there to be read: on a real broker, with sfprod in another process.
 * close_delay.py starts both; alone it is of no use.
 *
 *     bench_close_delay BROKER IN OUT PARTITIONS RATE KEYS WINDOW_MS BOUND_MS SECONDS
 *
 * It writes RATE records a second to IN, stamped with the wall clock less a disorder below BOUND_MS, the partitions in
 * turn, and reads OUT with a read-committed consumer of its own. The application counts per key in tumbling windows of
 * WINDOW_MS, bound BOUND_MS, no grace. A window that ends at E may close once the watermark is at E: once *every*
 * partition holds a record stamped E + BOUND_MS or later. Its delay is counted
 *
 *     from  the instant at which the broker had acknowledged such a record for the last of the partitions
 *     to    the instant at which the consumer handed the window's result out, for each result
 *
 * and, as `sent`, from the instant at which that record was given to the producer: the linger and the way to the broker
 * are in it too. Windows of the first WARM_S seconds are not counted. Prints one object of JSON.
 *
 * Exit status: 0; 1 the broker refused something, or results are missing or too many; 2 wrong use.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef SF_HAVE_PROD
#include <librdkafka/rdkafka.h>

#define WARM_S 10
#define DRAIN_S 20 /* after the last counted window: how long its results are waited for */
#define PARTITIONS_MAX 64
#define VALUE_BYTES 92

struct window {
    int64_t sent_us[PARTITIONS_MAX];  /* 0: not yet */
    int64_t acked_us[PARTITIONS_MAX]; /* the same record's */
    uint32_t fed_count;               /* distinct keys */
    uint32_t read_count;
};

struct sample {
    uint32_t window;
    int64_t read_us;
};

struct bench {
    const char *broker, *in, *out;
    int64_t partitions, rate, keys, window_ms, bound_ms, seconds;
    int64_t first_ms;       /* window w is [first_ms + w * window_ms, + window_ms) */
    int64_t window_count;   /* all that are fed */
    int64_t counted_from;   /* windows from here to window_count are counted */
    struct window *windows;
    uint8_t *is_seen;       /* by window and key */
    int64_t newest_ms[PARTITIONS_MAX];
    struct sample *samples; /* the reader's */
    size_t sample_count, sample_room;
    _Atomic int64_t left;   /* results of counted windows that have not been read; below 0: too many */
    _Atomic bool is_over;
    rd_kafka_t *reader;
};

static void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench_close_delay: %s: %s\n", what, why);
    exit(1);
}

static int64_t now_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static rd_kafka_t *open_client(rd_kafka_type_t type, const struct bench *b, const char *const settings[][2],
                               size_t count, rd_kafka_conf_t *conf)
{
    char text[512];
    bool is_good =
        rd_kafka_conf_set(conf, "bootstrap.servers", b->broker, text, sizeof text) == RD_KAFKA_CONF_OK;
    for (size_t i = 0; is_good && i < count; i++)
        is_good = rd_kafka_conf_set(conf, settings[i][0], settings[i][1], text, sizeof text) == RD_KAFKA_CONF_OK;
    rd_kafka_t *client = is_good ? rd_kafka_new(type, conf, text, sizeof text) : NULL;
    if (client == NULL) fail("client", text);
    return client;
}

/* ------------------------------------------------------------------ the reader, a thread with a client of its own */

static int64_t window_end(const rd_kafka_message_t *message)
{
    char text[256];
    size_t size = message->len < sizeof text - 1 ? message->len : sizeof text - 1;
    memcpy(text, message->payload, size);
    text[size] = '\0';
    const char *at = strstr(text, "\"end\":");
    if (at == NULL) fail("a result without a window", text);
    return strtoll(at + 6, NULL, 10);
}

static void take(struct bench *b, const rd_kafka_message_t *message, int64_t read_us)
{
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) fail("reading", rd_kafka_message_errstr(message));
    int64_t w = (window_end(message) - b->first_ms) / b->window_ms - 1;
    if (w < b->counted_from || w >= b->window_count) return;
    if (b->sample_count == b->sample_room) {
        b->sample_room = b->sample_room * 2 + 1024;
        b->samples = realloc(b->samples, b->sample_room * sizeof *b->samples);
        if (b->samples == NULL) fail("reading", "no memory");
    }
    b->samples[b->sample_count++] = (struct sample){.window = (uint32_t)w, .read_us = read_us};
    atomic_fetch_sub(&b->left, 1);
}

static rd_kafka_t *open_reader(const struct bench *b)
{
    static const char *const settings[][2] = {
        {"group.id", "bench"}, {"isolation.level", "read_committed"}, {"enable.auto.commit", "false"}};
    rd_kafka_t *client = open_client(RD_KAFKA_CONSUMER, b, settings, 3, rd_kafka_conf_new());
    rd_kafka_poll_set_consumer(client);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)b->partitions);
    for (int32_t p = 0; p < b->partitions; p++)
        rd_kafka_topic_partition_list_add(list, b->out, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
    if (rd_kafka_assign(client, list) != RD_KAFKA_RESP_ERR_NO_ERROR) fail("reading", "assign");
    rd_kafka_topic_partition_list_destroy(list);
    return client;
}

static void *read_all(void *ctx)
{
    struct bench *b = ctx;
    while (!atomic_load(&b->is_over)) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(b->reader, 100);
        if (message == NULL) continue;
        take(b, message, now_us());
        rd_kafka_message_destroy(message);
    }
    rd_kafka_consumer_close(b->reader);
    rd_kafka_destroy(b->reader);
    return NULL;
}

/* ------------------------------------------------------------------ the feeder */

static void on_delivered(rd_kafka_t *client, const rd_kafka_message_t *message, void *ctx)
{
    struct bench *b = ctx;
    (void)client;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) fail("writing", rd_kafka_err2str(message->err));
    uintptr_t reached = (uintptr_t)message->_private; /* one more than the last window that it reached the close of */
    int32_t p = message->partition;
    if (reached == 0) return;
    int64_t now = now_us();
    for (size_t w = reached; w-- > 0 && b->windows[w].acked_us[p] == 0;) b->windows[w].acked_us[p] = now;
}

/* As the application will: which windows' close this record's partition now has reached. Their number plus one. */
static uintptr_t reach(struct bench *b, int32_t p, int64_t stamp_ms)
{
    if (stamp_ms <= b->newest_ms[p]) return 0;
    int64_t before = (b->newest_ms[p] - b->bound_ms - b->first_ms) / b->window_ms;
    int64_t after = (stamp_ms - b->bound_ms - b->first_ms) / b->window_ms;
    b->newest_ms[p] = stamp_ms;
    if (after > b->window_count) after = b->window_count;
    if (after <= 0 || after == before) return 0;
    for (int64_t w = after; w-- > 0 && b->windows[w].sent_us[p] == 0;) b->windows[w].sent_us[p] = now_us();
    return (uintptr_t)after;
}

static void put(struct bench *b, rd_kafka_t *client, uint64_t i)
{
    static char value[VALUE_BYTES];
    char key[24];
    uint64_t draw = mix(i);
    int64_t stamp_ms = now_us() / 1000 - (int64_t)(draw >> 32) % b->bound_ms;
    int32_t p = (int32_t)(i % (uint64_t)b->partitions);
    int64_t k = (int64_t)(draw & 0xffffffffu) % b->keys, w = (stamp_ms - b->first_ms) / b->window_ms;
    (void)snprintf(key, sizeof key, "k%06" PRId64, k);
    memset(value, 'v', sizeof value);
    if (stamp_ms < b->first_ms) stamp_ms = b->first_ms, w = 0;
    if (w < b->window_count && !b->is_seen[w * b->keys + k]) {
        b->is_seen[w * b->keys + k] = 1;
        b->windows[w].fed_count++;
        if (w >= b->counted_from) atomic_fetch_add(&b->left, 1);
    }
    const rd_kafka_vu_t fields[] = {
        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = b->in},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = p},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = stamp_ms},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {key, strlen(key)}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {value, sizeof value}},
        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = (void *)reach(b, p, stamp_ms)},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY}};
    rd_kafka_error_t *error = rd_kafka_produceva(client, fields, sizeof fields / sizeof fields[0]);
    if (error != NULL) fail("writing", rd_kafka_error_string(error));
}

static rd_kafka_t *open_feeder(struct bench *b)
{
    static const char *const settings[][2] = {{"enable.idempotence", "true"}, {"linger.ms", "5"}};
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivered);
    rd_kafka_conf_set_opaque(conf, b);
    return open_client(RD_KAFKA_PRODUCER, b, settings, 2, conf);
}

/* Until every counted window's results are read, and a while beyond where they do not come. */
static void feed(struct bench *b)
{
    rd_kafka_t *client = open_feeder(b);
    int64_t begin_us = now_us(), told_us = begin_us;
    b->first_ms = (begin_us / 1000 / b->window_ms + 1) * b->window_ms;
    int64_t end_us = (b->first_ms + b->window_count * b->window_ms) * 1000;
    uint64_t count = 0;
    for (int64_t now = begin_us; now < end_us + DRAIN_S * 1000000; now = now_us()) {
        if (now > end_us + b->bound_ms * 1000 && atomic_load(&b->left) <= 0) break;
        uint64_t due = (uint64_t)((now - begin_us) * b->rate / 1000000);
        for (; count < due; count++) put(b, client, count);
        (void)rd_kafka_poll(client, 1);
        if (now - told_us < 10000000) continue;
        told_us = now;
        (void)fprintf(stderr, "%" PRId64 " s: %" PRIu64 " records\n", (now - begin_us) / 1000000, count);
    }
    (void)rd_kafka_flush(client, 10000);
    rd_kafka_destroy(client);
}

/* ------------------------------------------------------------------ the figures */

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Nearest rank: the smallest of which at least this share, in ten-thousandths, is not above it. */
static double at(const int64_t *sorted, size_t count, size_t share)
{
    size_t rank = (count * share + 9999) / 10000;
    return (double)sorted[rank > 0 ? rank - 1 : 0] / 1000.0;
}

static void print(const char *name, int64_t *delays, size_t count)
{
    qsort(delays, count, sizeof *delays, by_size);
    printf(", \"%s\": {\"count\": %zu, \"min_ms\": %.1f, \"p50_ms\": %.1f, \"p99_ms\": %.1f, \"p99_99_ms\": %.1f, "
           "\"max_ms\": %.1f}", name, count, at(delays, count, 0), at(delays, count, 5000), at(delays, count, 9900),
           at(delays, count, 9999), at(delays, count, 10000));
}

static int64_t latest(const struct bench *b, const int64_t *times)
{
    int64_t last = 0;
    for (int64_t p = 0; p < b->partitions; p++) last = times[p] > last ? times[p] : last;
    return last;
}

static int report(struct bench *b)
{
    size_t windows = (size_t)(b->window_count - b->counted_from), wrong = 0;
    int64_t *acked = calloc(b->sample_count + 1, sizeof *acked), *sent = calloc(b->sample_count + 1, sizeof *sent);
    int64_t *last = calloc(windows + 1, sizeof *last);
    if (acked == NULL || sent == NULL || last == NULL) fail("report", "no memory");
    for (size_t i = 0; i < b->sample_count; i++) {
        struct window *w = &b->windows[b->samples[i].window];
        size_t n = b->samples[i].window - (size_t)b->counted_from;
        acked[i] = b->samples[i].read_us - latest(b, w->acked_us);
        sent[i] = b->samples[i].read_us - latest(b, w->sent_us);
        if (acked[i] > last[n]) last[n] = acked[i];
        w->read_count++;
    }
    for (int64_t w = b->counted_from; w < b->window_count; w++)
        wrong += b->windows[w].read_count != b->windows[w].fed_count;
    printf("{\"rate\": %" PRId64 ", \"keys\": %" PRId64 ", \"window_ms\": %" PRId64 ", \"bound_ms\": %" PRId64
           ", \"windows\": %zu, \"wrong_windows\": %zu", b->rate, b->keys, b->window_ms, b->bound_ms, windows, wrong);
    print("acknowledged", acked, b->sample_count);
    print("sent", sent, b->sample_count);
    print("last_of_window", last, windows);
    printf("}\n");
    free(acked);
    free(sent);
    free(last);
    return wrong > 0;
}

static int run(struct bench *b)
{
    pthread_t reader;
    b->window_count = b->seconds * 1000 / b->window_ms;
    b->counted_from = WARM_S * 1000 / b->window_ms;
    b->windows = calloc((size_t)b->window_count + 1, sizeof *b->windows);
    b->is_seen = calloc((size_t)(b->window_count * b->keys), 1);
    if (b->windows == NULL || b->is_seen == NULL) fail("start", "no memory");
    b->reader = open_reader(b);
    if (pthread_create(&reader, NULL, read_all, b) != 0) fail("start", "no thread");
    feed(b);
    atomic_store(&b->is_over, true);
    pthread_join(reader, NULL);
    int status = b->sample_count > 0 ? report(b) : 1;
    free(b->windows);
    free(b->is_seen);
    free(b->samples);
    return status;
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    int64_t *const numbers[] = {&b.partitions, &b.rate, &b.keys, &b.window_ms, &b.bound_ms, &b.seconds};
    bool is_good = argc == 10;
    for (int i = 4; is_good && i < argc; i++) is_good = (*numbers[i - 4] = strtoll(argv[i], NULL, 10)) > 0;
    if (!is_good || b.partitions > PARTITIONS_MAX || b.seconds <= WARM_S) {
        (void)fprintf(stderr, "usage: bench_close_delay BROKER IN OUT PARTITIONS RATE KEYS WINDOW_MS BOUND_MS "
                              "SECONDS\n");
        return 2;
    }
    b.broker = argv[1], b.in = argv[2], b.out = argv[3];
    return run(&b);
}
#else
int main(void)
{
    (void)fprintf(stderr, "bench_close_delay: built without a Kafka client\n");
    return 1;
}
#endif
