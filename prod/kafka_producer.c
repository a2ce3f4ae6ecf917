/* Kafka adapter: the task's side of a producer, and the interceptors. See kafka_producer.h. */
#include "prod/kafka_producer.h"

#include <assert.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "prod/kafka_batch.h"

#define RECORD_OVERHEAD_BYTES 64 /* counted per record beside key and value */
#define FIELDS_MAX 8

static int64_t record_cost(size_t key_len, size_t value_len)
{
    return (int64_t)(key_len + value_len) + RECORD_OVERHEAD_BYTES;
}

/* ------------------------------------------------------------------ interceptors: threads of the library */

static void track_note(struct sfi_kafka_target *target, const rd_kafka_message_t *message, uint32_t round)
{
    struct sfi_kafka_tracks *tracks = atomic_load_explicit(&target->tracks, memory_order_acquire);
    if (tracks == NULL || (uint32_t)message->partition >= tracks->count) return;
    struct sfi_kafka_track *track = atomic_load_explicit(&tracks->items[message->partition], memory_order_acquire);
    if (track == NULL || message->offset < 0) return; /* -1: acknowledged without a number; the bound before stands */
    if (message->offset >= atomic_load_explicit(&track->ends[round], memory_order_relaxed))
        atomic_store_explicit(&track->ends[round], message->offset + 1, memory_order_release);
}

static void room_offer(struct sfi_kafka_producer *producer)
{
    if (!atomic_load(&producer->is_room_wanted)) return;
    if (atomic_load(&producer->bytes_under_way) > producer->queue_bytes_max / 2) return;
    if (!atomic_exchange(&producer->is_room_wanted, false)) return;
    pthread_mutex_lock(&producer->lock);
    bool is_told = false;
    for (uint32_t i = 0; i < producer->out_count; i++)
        is_told = is_told || producer->outs[i].event.kind == SF_PRODUCER_ROOM;
    if (!is_told)
        sfi_kafka_producer_push(producer, (struct sf_producer_event){.kind = SF_PRODUCER_ROOM}, NULL, NULL);
    pthread_mutex_unlock(&producer->lock);
}

static void delivery_failed(struct sfi_kafka_producer *producer, rd_kafka_resp_err_t err, uint32_t round)
{
    atomic_fetch_add(&producer->round_failed[round], 1);
    int32_t none = 0;
    (void)atomic_compare_exchange_strong(&producer->delivery_err, &none, (int32_t)err);
    bool is_purged = err == RD_KAFKA_RESP_ERR__PURGE_QUEUE || err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
    if (!producer->is_transactional || is_purged) return;
    pthread_mutex_lock(&producer->lock);
    if (!producer->is_abort_told && producer->dead == SF_OK) {
        producer->is_abort_told = true;
        struct sf_producer_event event = {.kind = SF_PRODUCER_FAILED, .status = SF_E_DELIVERY};
        sfi_kafka_producer_push(producer, event, NULL, rd_kafka_err2str(err));
    }
    pthread_mutex_unlock(&producer->lock);
}

static rd_kafka_resp_err_t on_acknowledgement(rd_kafka_t *rk, rd_kafka_message_t *message, void *opaque)
{
    (void)rk;
    struct sfi_kafka_producer *producer = opaque;
    struct sfi_kafka_target *target = rd_kafka_topic_opaque(message->rkt);
    uint32_t round = (uint32_t)(uintptr_t)message->_private;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) track_note(target, message, round);
    else delivery_failed(producer, message->err, round);
    atomic_fetch_sub_explicit(&producer->bytes_under_way, record_cost(message->key_len, message->len),
                              memory_order_acq_rel);
    if (!producer->is_transactional)
        atomic_fetch_sub_explicit(&producer->round_pending[round], 1, memory_order_acq_rel);
    room_offer(producer);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_request_sent(rd_kafka_t *rk, int fd, const char *broker, int32_t broker_id,
                                           int16_t api_key, int16_t version, int32_t correlation, size_t size,
                                           void *opaque)
{
    (void)rk, (void)fd, (void)broker, (void)broker_id, (void)version, (void)correlation, (void)size;
    struct sfi_kafka_producer *producer = opaque;
    if (api_key == 26) atomic_fetch_add(&producer->end_sends, 1); /* EndTxn */
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *opaque, char *text, size_t cap)
{
    (void)conf, (void)text, (void)cap;
    rd_kafka_resp_err_t err = rd_kafka_interceptor_add_on_acknowledgement(rk, "sf", on_acknowledgement, opaque);
    if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
        err = rd_kafka_interceptor_add_on_request_sent(rk, "sf", on_request_sent, opaque);
    return err;
}

/* In any call into the library that serves its main queue: the task's poll, or a flush on the helper. */
static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
    struct sfi_kafka_producer *producer = opaque;
    char text[200] = "";
    rd_kafka_resp_err_t code = (rd_kafka_resp_err_t)err;
    bool is_fatal = code == RD_KAFKA_RESP_ERR__FATAL;
    if (is_fatal) code = rd_kafka_fatal_error(rk, text, sizeof text);
    enum sf_status status = sfi_kafka_status(code);
    if (!is_fatal && status != SF_E_AUTH) return;
    pthread_mutex_lock(&producer->lock);
    if (producer->dead == SF_OK) {
        producer->dead = sf_status_class(status) == SF_CLASS_FATAL ? status : SF_E_SESSION;
        (void)snprintf(producer->dead_text, sizeof producer->dead_text, "%s", is_fatal ? text : reason);
    }
    sf_waker_wake(producer->waker);
    pthread_mutex_unlock(&producer->lock);
}

static void on_main_ready(rd_kafka_t *rk, void *opaque)
{
    (void)rk;
    struct sfi_kafka_producer *producer = opaque;
    atomic_store(&producer->is_main_ready, true);
    sf_waker_wake(producer->waker);
}

/* ------------------------------------------------------------------ targets and tracks */

static struct sfi_kafka_target *target_of(struct sfi_kafka_producer *producer, uint32_t topic)
{
    if (topic < producer->target_cap && producer->targets[topic] != NULL) return producer->targets[topic];
    if (topic >= producer->target_cap) {
        uint32_t cap = topic + 16;
        producer->targets = sfi_kafka_grow(producer->targets, cap * sizeof(struct sfi_kafka_target *));
        for (uint32_t i = producer->target_cap; i < cap; i++) producer->targets[i] = NULL;
        producer->target_cap = cap;
    }
    struct sfi_kafka_target *target = sfi_kafka_alloc(sizeof *target);
    rd_kafka_topic_conf_t *conf = rd_kafka_default_topic_conf_dup(producer->rk);
    rd_kafka_topic_conf_set_opaque(conf, target);
    target->rkt = rd_kafka_topic_new(producer->rk, sfi_kafka_topic_name(producer->kafka, topic), conf);
    if (target->rkt == NULL) abort(); /* a name the broker could never have had: engine checks names at start */
    producer->targets[topic] = target;
    return target;
}

static void tracks_put(struct sfi_kafka_target *target, struct sfi_kafka_track *track)
{
    uint32_t partition = (uint32_t)track->tp.partition;
    struct sfi_kafka_tracks *tracks = atomic_load(&target->tracks);
    if (tracks == NULL || partition >= tracks->count) {
        uint32_t count = partition + 1;
        if (tracks != NULL && count < tracks->count * 2) count = tracks->count * 2;
        struct sfi_kafka_tracks *grown = sfi_kafka_alloc(sizeof *grown + count * sizeof grown->items[0]);
        grown->older = tracks;
        grown->count = count;
        for (uint32_t i = 0; i < count; i++)
            atomic_init(&grown->items[i], tracks != NULL && i < tracks->count ? atomic_load(&tracks->items[i]) : NULL);
        atomic_store_explicit(&target->tracks, grown, memory_order_release);
        tracks = grown;
    }
    atomic_store_explicit(&tracks->items[partition], track, memory_order_release);
}

static void producer_track(void *self, struct sf_tp tp)
{
    struct sfi_kafka_producer *producer = self;
    uint32_t at = 0;
    while (at < producer->track_count &&
           (producer->tracks[at]->tp.topic < tp.topic ||
            (producer->tracks[at]->tp.topic == tp.topic && producer->tracks[at]->tp.partition < tp.partition)))
        at++;
    if (at < producer->track_count && producer->tracks[at]->tp.topic == tp.topic &&
        producer->tracks[at]->tp.partition == tp.partition)
        return;
    struct sfi_kafka_track *track = sfi_kafka_alloc(sizeof *track);
    track->tp = tp;
    for (uint32_t i = 0; i < SFI_KAFKA_ROUNDS_MAX; i++) atomic_init(&track->ends[i], -1);
    pthread_mutex_lock(&producer->lock);
    if (producer->track_count == producer->track_cap) {
        producer->track_cap = producer->track_cap > 0 ? producer->track_cap * 2 : 16;
        producer->tracks = sfi_kafka_grow(producer->tracks, producer->track_cap * sizeof(struct sfi_kafka_track *));
    }
    memmove(&producer->tracks[at + 1], &producer->tracks[at],
            (producer->track_count - at) * sizeof(struct sfi_kafka_track *));
    producer->tracks[at] = track;
    producer->track_count++;
    pthread_mutex_unlock(&producer->lock);
    tracks_put(target_of(producer, tp.topic), track);
}

/* ------------------------------------------------------------------ write */

/* How many of `records` fit below the bound, at least one when nothing is under way; their cost. */
static uint32_t write_room(const struct sfi_kafka_producer *producer, const struct sf_out *records, uint32_t count,
                           int64_t *cost_out)
{
    int64_t under_way = atomic_load(&producer->bytes_under_way), cost = 0;
    uint32_t taken = 0;
    while (taken < count) {
        int64_t more = record_cost(records[taken].key.len, records[taken].value.len);
        if (under_way + cost + more > producer->queue_bytes_max && under_way + cost > 0) break;
        cost += more;
        taken++;
    }
    *cost_out = cost;
    return taken;
}

static rd_kafka_resp_err_t record_produce(struct sfi_kafka_producer *producer, rd_kafka_topic_t *rkt,
                                          int32_t partition, const struct sf_out *record)
{
    rd_kafka_vu_t fields[FIELDS_MAX];
    fields[0].vtype = RD_KAFKA_VTYPE_RKT;
    fields[0].u.rkt = rkt;
    fields[1].vtype = RD_KAFKA_VTYPE_PARTITION;
    fields[1].u.i32 = partition;
    fields[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    fields[2].u.i = RD_KAFKA_MSG_F_COPY;
    fields[3].vtype = RD_KAFKA_VTYPE_VALUE;
    fields[3].u.mem.ptr = (void *)(uintptr_t)record->value.data;
    fields[3].u.mem.size = record->value.len;
    fields[4].vtype = RD_KAFKA_VTYPE_KEY;
    fields[4].u.mem.ptr = (void *)(uintptr_t)record->key.data;
    fields[4].u.mem.size = record->key.len;
    fields[5].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
    fields[5].u.i64 = record->ts_ms;
    fields[6].vtype = RD_KAFKA_VTYPE_OPAQUE;
    fields[6].u.ptr = (void *)(uintptr_t)producer->round;
    size_t count = 7;
    rd_kafka_headers_t *headers = NULL;
    if (record->headers.data != NULL && record->headers.len > 0) {
        headers = sfi_kafka_headers_new(record->headers);
        assert(headers != NULL); /* the flat form is the caller's to keep */
        fields[7].vtype = RD_KAFKA_VTYPE_HEADERS;
        fields[7].u.headers = headers;
        count = 8;
    }
    rd_kafka_error_t *error = rd_kafka_produceva(producer->rk, fields, count);
    if (error == NULL) return RD_KAFKA_RESP_ERR_NO_ERROR; /* headers taken */
    rd_kafka_resp_err_t err = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    if (headers != NULL) rd_kafka_headers_destroy(headers);
    return err;
}

/* The library refused a record for good: as a failed delivery, so that nothing that belongs to it can commit. */
static void write_refused(struct sfi_kafka_producer *producer, rd_kafka_resp_err_t err, const struct sf_out *record)
{
    bool was_acknowledged = err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION || err == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    if (!was_acknowledged) { /* else its interceptor has counted it */
        atomic_fetch_sub(&producer->bytes_under_way, record_cost(record->key.len, record->value.len));
        if (!producer->is_transactional) atomic_fetch_sub(&producer->round_pending[producer->round], 1);
        delivery_failed(producer, err, producer->round);
    }
    pthread_mutex_lock(&producer->lock);
    if (producer->poison == SF_OK) producer->poison = SF_E_DELIVERY;
    pthread_mutex_unlock(&producer->lock);
}

/* What was counted as written and was not taken. */
static void write_unreserve(struct sfi_kafka_producer *producer, const struct sf_out *records, uint32_t count)
{
    int64_t cost = 0;
    for (uint32_t i = 0; i < count; i++) cost += record_cost(records[i].key.len, records[i].value.len);
    atomic_fetch_sub(&producer->bytes_under_way, cost);
    if (!producer->is_transactional) atomic_fetch_sub(&producer->round_pending[producer->round], count);
}

static uint32_t producer_write(void *self, struct sf_tp tp, const struct sf_out *records, uint32_t count)
{
    struct sfi_kafka_producer *producer = self;
    assert(!producer->is_transactional || producer->state == SFI_OPEN);
    rd_kafka_topic_t *rkt = target_of(producer, tp.topic)->rkt;
    int64_t cost;
    uint32_t room = write_room(producer, records, count, &cost), taken = 0;
    atomic_fetch_add(&producer->bytes_under_way, cost);
    if (!producer->is_transactional) atomic_fetch_add(&producer->round_pending[producer->round], room);
    while (taken < room) {
        const struct sf_out *record = &records[taken];
        assert(record->ts_ms >= 0);
        rd_kafka_resp_err_t err = record_produce(producer, rkt, tp.partition, record);
        if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL) break;
        if (err != RD_KAFKA_RESP_ERR_NO_ERROR) write_refused(producer, err, record);
        taken++;
    }
    if (taken < room) write_unreserve(producer, records + taken, room - taken);
    if (taken < count) {
        atomic_store(&producer->is_room_wanted, true);
        room_offer(producer); /* what was under way may have been delivered meanwhile */
    }
    return taken;
}

/* ------------------------------------------------------------------ commands and poll */

void sfi_kafka_producer_push(struct sfi_kafka_producer *producer, struct sf_producer_event event,
                             struct sf_position *positions, const char *text)
{
    assert(producer->out_count < SFI_KAFKA_OUT_MAX);
    struct sfi_kafka_out *out = &producer->outs[producer->out_count++];
    *out = (struct sfi_kafka_out){.event = event, .positions = positions};
    if (text != NULL) out->text = sfi_kafka_strdup(text);
    out->event.positions = positions;
    out->event.text = out->text;
    sf_waker_wake(producer->waker);
}

static void producer_command(struct sfi_kafka_producer *producer, struct sfi_kafka_command command)
{
    pthread_mutex_lock(&producer->lock);
    assert(producer->command_count < SFI_KAFKA_COMMANDS_MAX);
    uint32_t at = (producer->command_head + producer->command_count++) % SFI_KAFKA_COMMANDS_MAX;
    producer->commands[at] = command;
    pthread_cond_signal(&producer->news);
    pthread_mutex_unlock(&producer->lock);
}

static void producer_init(void *self, uint64_t tag)
{
    struct sfi_kafka_producer *producer = self;
    assert(producer->is_transactional && producer->state == SFI_CLOSED);
    producer_command(producer, (struct sfi_kafka_command){.kind = SFI_INIT, .tag = tag});
}

static enum sf_status producer_begin(void *self)
{
    struct sfi_kafka_producer *producer = self;
    assert(producer->state == SFI_READY);
    rd_kafka_error_t *error = rd_kafka_begin_transaction(producer->rk);
    if (error != NULL) {
        enum sf_status status = sfi_kafka_status(rd_kafka_error_code(error));
        rd_kafka_error_destroy(error);
        return sf_status_class(status) == SF_CLASS_FATAL ? status : SF_E_SESSION;
    }
    atomic_store(&producer->delivery_err, 0);
    for (uint32_t i = 0; i < producer->track_count; i++) atomic_store(&producer->tracks[i]->ends[0], -1);
    pthread_mutex_lock(&producer->lock);
    producer->poison = SF_OK;
    producer->is_abort_told = false;
    pthread_mutex_unlock(&producer->lock);
    producer->state = SFI_OPEN;
    return SF_OK;
}

static void producer_offsets(void *self, uint64_t tag, struct sf_member_token token,
                             const struct sf_offset_commit *commits, uint32_t count)
{
    struct sfi_kafka_producer *producer = self;
    assert(producer->state == SFI_OPEN);
    struct sfi_kafka_command command = {.kind = SFI_OFFSETS,
                                        .tag = tag,
                                        .token = token,
                                        .offsets = sfi_kafka_offsets_new(producer->kafka, commits, count)};
    producer_command(producer, command);
}

static void producer_commit(void *self, uint64_t tag)
{
    struct sfi_kafka_producer *producer = self;
    assert(producer->state == SFI_OPEN);
    producer->state = SFI_ENDING;
    producer_command(producer, (struct sfi_kafka_command){.kind = SFI_COMMIT, .tag = tag});
}

static void producer_abort(void *self, uint64_t tag)
{
    struct sfi_kafka_producer *producer = self;
    assert(producer->state == SFI_OPEN);
    producer->state = SFI_ENDING;
    producer_command(producer, (struct sfi_kafka_command){.kind = SFI_ABORT, .tag = tag});
}

static void producer_flush(void *self, uint64_t tag)
{
    struct sfi_kafka_producer *producer = self;
    assert(!producer->is_transactional);
    uint32_t round = producer->round;
    producer->round = (round + 1) % SFI_KAFKA_ROUNDS_MAX;
    assert(atomic_load(&producer->round_pending[producer->round]) == 0); /* at most 3 flushes pending */
    producer_command(producer, (struct sfi_kafka_command){.kind = SFI_FLUSH, .tag = tag, .round = round});
}

static void told_free(struct sfi_kafka_out *outs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free(outs[i].positions);
        free(outs[i].text);
    }
}

static void state_follow(struct sfi_kafka_producer *producer, const struct sf_producer_event *event)
{
    enum sf_class class = sf_status_class(event->status);
    if (class == SF_CLASS_ABORT && event->kind == SF_PRODUCER_COMMITTED) producer->state = SFI_OPEN;
    if (class != SF_CLASS_OK) return;
    if (event->kind == SF_PRODUCER_INIT || event->kind == SF_PRODUCER_COMMITTED || event->kind == SF_PRODUCER_ABORTED)
        producer->state = SFI_READY;
}

/* With the lock. A session that died with no command to carry the news. */
static void death_tell(struct sfi_kafka_producer *producer)
{
    if (producer->dead == SF_OK || producer->is_dead_told) return;
    if (producer->is_running || producer->command_count > 0) return;
    producer->is_dead_told = true;
    struct sf_producer_event event = {.kind = SF_PRODUCER_FAILED, .status = producer->dead};
    sfi_kafka_producer_push(producer, event, NULL, producer->dead_text);
}

static uint32_t producer_poll(void *self, struct sf_producer_event *events_out, uint32_t cap)
{
    struct sfi_kafka_producer *producer = self;
    told_free(producer->told, producer->told_count);
    if (atomic_exchange(&producer->is_main_ready, false)) (void)rd_kafka_poll(producer->rk, 0);
    pthread_mutex_lock(&producer->lock);
    death_tell(producer);
    uint32_t count = producer->out_count < cap ? producer->out_count : cap;
    memcpy(producer->told, producer->outs, count * sizeof producer->outs[0]);
    memmove(producer->outs, producer->outs + count, (producer->out_count - count) * sizeof producer->outs[0]);
    producer->out_count -= count;
    if (producer->out_count > 0) sf_waker_wake(producer->waker);
    pthread_mutex_unlock(&producer->lock);
    producer->told_count = count;
    for (uint32_t i = 0; i < count; i++) {
        events_out[i] = producer->told[i].event;
        state_follow(producer, &events_out[i]);
    }
    return count;
}

/* ------------------------------------------------------------------ open, close */

void sfi_kafka_producer_free(struct sfi_kafka_producer *producer)
{
    sfi_kafka_link_deinit(&producer->link);
    for (uint32_t i = 0; i < producer->track_count; i++) free(producer->tracks[i]);
    for (uint32_t i = 0; i < producer->target_cap; i++) {
        if (producer->targets[i] == NULL) continue;
        struct sfi_kafka_tracks *tracks = atomic_load(&producer->targets[i]->tracks);
        while (tracks != NULL) {
            struct sfi_kafka_tracks *older = tracks->older;
            free(tracks);
            tracks = older;
        }
        free(producer->targets[i]);
    }
    for (uint32_t i = 0; i < producer->command_count; i++) {
        struct sfi_kafka_command *command =
            &producer->commands[(producer->command_head + i) % SFI_KAFKA_COMMANDS_MAX];
        if (command->offsets != NULL) rd_kafka_topic_partition_list_destroy(command->offsets);
    }
    told_free(producer->outs, producer->out_count);
    free(producer->targets);
    free(producer->tracks);
    free(producer->group);
    pthread_cond_destroy(&producer->news);
    pthread_mutex_destroy(&producer->lock);
    free(producer);
}

static void producer_close(void *self)
{
    struct sfi_kafka_producer *producer = self;
    sfi_kafka_link_cut(&producer->link); /* from here on nothing is sent, whatever the library is doing */
    told_free(producer->told, producer->told_count);
    rd_kafka_queue_cb_event_enable(producer->main_queue, NULL, NULL);
    rd_kafka_queue_destroy(producer->main_queue);
    pthread_mutex_lock(&producer->lock);
    producer->waker = (struct sf_waker){0};
    producer->is_closing = true;
    pthread_cond_signal(&producer->news);
    pthread_mutex_unlock(&producer->lock);
}

static const struct sf_producer_ops producer_ops = {.init = producer_init,
                                                    .begin = producer_begin,
                                                    .write = producer_write,
                                                    .track = producer_track,
                                                    .offsets = producer_offsets,
                                                    .commit = producer_commit,
                                                    .abort = producer_abort,
                                                    .flush = producer_flush,
                                                    .poll = producer_poll,
                                                    .close = producer_close};

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The library does not split a batch that a topic refuses as too large. The file's own setting may be lower. */
static void batch_bytes_lower(rd_kafka_conf_t *conf, uint32_t bytes)
{
    char now[32] = "";
    size_t room = sizeof now;
    bool is_known = rd_kafka_conf_get(conf, "batch.size", now, &room) == RD_KAFKA_CONF_OK;
    if (is_known && strtoll(now, NULL, 10) <= bytes) return;
    sfi_kafka_conf_set_int(conf, "batch.size", clamp(bytes, 1, INT32_MAX));
}

static rd_kafka_conf_t *producer_conf(struct sfi_kafka_producer *producer, const struct sf_producer_config *config)
{
    rd_kafka_conf_t *conf = sfi_kafka_conf_new(&producer->link, "producer");
    sfi_kafka_conf_set(conf, "enable.idempotence", "true");
    /* Our own count bounds the queue; the library's bound is only a second line behind it. */
    sfi_kafka_conf_set_int(conf, "queue.buffering.max.kbytes", clamp(producer->queue_bytes_max / 512, 4096, 2097151));
    sfi_kafka_conf_set(conf, "queue.buffering.max.messages", "10000000");
    int64_t record_bytes = (int64_t)config->record_bytes_max + 1024; /* with its frame */
    sfi_kafka_conf_set_int(conf, "message.max.bytes", clamp(record_bytes, 1000000, 1000000000));
    if (config->batch_bytes_max > 0) batch_bytes_lower(conf, config->batch_bytes_max);
    if (producer->is_transactional) {
        sfi_kafka_conf_set(conf, "transactional.id", config->transactional_id);
        sfi_kafka_conf_set_int(conf, "transaction.timeout.ms", clamp(config->txn_timeout_ms, 1000, INT32_MAX));
    } else {
        sfi_kafka_conf_set(conf, "message.timeout.ms", "0"); /* giving up is close */
    }
    rd_kafka_conf_set_error_cb(conf, on_error);
    (void)rd_kafka_conf_interceptor_add_on_new(conf, "sf", on_new, producer);
    return conf;
}

enum sf_status sfi_kafka_producer_open(void *self, const struct sf_producer_config *config,
                                       struct sf_producer *producer_out, struct sf_error *error)
{
    struct sfi_kafka_producer *producer = sfi_kafka_alloc(sizeof *producer);
    producer->kafka = self;
    sfi_kafka_link_init(&producer->link, self);
    producer->waker = config->waker;
    producer->is_transactional = config->transactional_id != NULL;
    producer->group = sfi_kafka_strdup(config->group != NULL ? config->group : "");
    producer->queue_bytes_max = config->queue_bytes_max > 0 ? (int64_t)config->queue_bytes_max : 1 << 20;
    pthread_mutex_init(&producer->lock, NULL);
    sfi_os_cond_init(&producer->news);
    producer->rk = sfi_kafka_instance_new(RD_KAFKA_PRODUCER, producer_conf(producer, config), error);
    if (producer->rk == NULL) {
        sfi_kafka_producer_free(producer);
        return error->status;
    }
    producer->main_queue = rd_kafka_queue_get_main(producer->rk);
    rd_kafka_queue_cb_event_enable(producer->main_queue, on_main_ready, producer);
    sfi_kafka_helper_start(producer->kafka, sfi_kafka_producer_txn, producer);
    *producer_out = (struct sf_producer){&producer_ops, producer};
    return SF_OK;
}
