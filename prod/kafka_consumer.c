/* Kafka adapter: reading partitions given by hand. See kafka_consumer.h. */
#include "prod/kafka_consumer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAIN_EVENTS_MAX 16u          /* of the instance itself, per poll */
#define QUEUED_RECORD_BYTES 512u     /* what a small queued record really costs the library */
#define FETCH_BYTES_MIN 65536u
/* Of one partition, per request: larger answers leave the processor's caches before they are read. */
#define FETCH_BYTES_MAX 131072u
#define QUEUE_BYTES_MAX 262144u /* of one partition: one answer is read while the next arrives */

void sfi_kafka_consumer_wake(struct sfi_kafka_consumer *consumer)
{
    sf_waker_wake(consumer->waker);
}

static void on_part_ready(rd_kafka_t *rk, void *opaque)
{
    (void)rk;
    struct sfi_kafka_part *part = opaque;
    atomic_store_explicit(&part->is_ready, true, memory_order_release);
    sfi_kafka_consumer_wake(part->consumer);
}

static void on_main_ready(rd_kafka_t *rk, void *opaque)
{
    (void)rk;
    struct sfi_kafka_consumer *consumer = opaque;
    atomic_store_explicit(&consumer->is_main_ready, true, memory_order_release);
    sfi_kafka_consumer_wake(consumer);
}

/* ------------------------------------------------------------------ failures of the whole */

static void consumer_fail(struct sfi_kafka_consumer *consumer, enum sf_status status, const char *text)
{
    if (consumer->is_failed) return;
    consumer->is_failed = true;
    (void)sfi_kafka_fail(&consumer->failure, status, "%s", text);
}

/* In poll, on the task's thread. */
static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
    struct sfi_kafka_consumer *consumer = opaque;
    char text[200];
    rd_kafka_resp_err_t code = (rd_kafka_resp_err_t)err;
    if (code == RD_KAFKA_RESP_ERR__FATAL) {
        code = rd_kafka_fatal_error(rk, text, sizeof text);
        consumer_fail(consumer, sfi_kafka_status(code), text);
        return;
    }
    enum sf_status status = sfi_kafka_status(code);
    if (status == SF_E_AUTH) consumer_fail(consumer, status, reason);
    if (status != SF_E_UNAVAILABLE) return;
    pthread_mutex_lock(&consumer->lock);
    consumer->is_probe_wanted = true;
    pthread_cond_signal(&consumer->news);
    pthread_mutex_unlock(&consumer->lock);
}

/* ------------------------------------------------------------------ the instance */

static rd_kafka_conf_t *consumer_conf(struct sfi_kafka_consumer *consumer)
{
    uint64_t share = consumer->fetch_bytes_max / (consumer->part_count > 0 ? consumer->part_count : 1);
    if (share < FETCH_BYTES_MIN) share = FETCH_BYTES_MIN;
    if (share > (uint64_t)1 << 30) share = (uint64_t)1 << 30;
    consumer->part_bytes_max = share < QUEUE_BYTES_MAX ? share : QUEUE_BYTES_MAX;
    consumer->part_count_max = share / QUEUED_RECORD_BYTES;
    rd_kafka_conf_t *conf = sfi_kafka_conf_new(&consumer->link, consumer->purpose);
    sfi_kafka_conf_set(conf, "group.id", consumer->group);
    sfi_kafka_conf_set(conf, "enable.auto.commit", "false");
    sfi_kafka_conf_set(conf, "enable.auto.offset.store", "false");
    sfi_kafka_conf_set(conf, "enable.partition.eof", "true");
    sfi_kafka_conf_set(conf, "auto.offset.reset", "error");
    sfi_kafka_conf_set(conf, "isolation.level", consumer->is_read_committed ? "read_committed" : "read_uncommitted");
    sfi_kafka_conf_set_int(conf, "queued.max.messages.kbytes", (int64_t)(consumer->part_bytes_max / 1024));
    sfi_kafka_conf_set_int(conf, "queued.min.messages", (int64_t)consumer->part_count_max);
    sfi_kafka_conf_set_int(conf, "fetch.message.max.bytes",
                           (int64_t)(share < FETCH_BYTES_MAX ? share : FETCH_BYTES_MAX));
    rd_kafka_conf_set_error_cb(conf, on_error);
    return conf;
}

/* The queue first, unforwarded, then the assignment: what is fetched never meets the common queue. A queue that holds
 * something already (barriers of an earlier life) never becomes non-empty, so it has to be looked at once. */
static void part_start(struct sfi_kafka_part *part)
{
    struct sfi_kafka_consumer *consumer = part->consumer;
    if (part->queue == NULL) {
        part->queue = rd_kafka_queue_get_partition(consumer->rk, part->name, part->tp.partition);
        rd_kafka_queue_forward(part->queue, NULL);
        rd_kafka_queue_cb_event_enable(part->queue, on_part_ready, part);
        on_part_ready(consumer->rk, part);
    }
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    int64_t offset = part->position;
    if (offset == SF_OFFSET_BEGINNING) offset = part->is_guess ? 0 : RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_topic_partition_list_add(list, part->name, part->tp.partition)->offset = offset;
    rd_kafka_error_t *error = rd_kafka_incremental_assign(consumer->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (error == NULL) return;
    consumer_fail(consumer, SF_E_STATE, rd_kafka_error_string(error)); /* only after a fatal error of the instance */
    rd_kafka_error_destroy(error);
}

static struct sfi_kafka_block *part_pop(struct sfi_kafka_part *part)
{
    struct sfi_kafka_block *block = part->first;
    if (block == NULL) return NULL;
    part->first = block->behind;
    if (part->first == NULL) part->last = NULL;
    return block;
}

static void on_dropped(rd_kafka_message_t *message, void *opaque)
{
    (void)message, (void)opaque;
}

/* After return the library's version barrier hides everything fetched so far; the queue is emptied of errors, which
 * carry no version. */
static void part_stop(struct sfi_kafka_part *part)
{
    struct sfi_kafka_consumer *consumer = part->consumer;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, part->name, part->tp.partition);
    rd_kafka_error_t *error = rd_kafka_incremental_unassign(consumer->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (error != NULL) rd_kafka_error_destroy(error); /* a fatal error has emptied the assignment already */
    while (rd_kafka_queue_length(part->queue) > 0)
        (void)rd_kafka_consume_callback_queue(part->queue, 0, on_dropped, NULL);
    struct sfi_kafka_block *block;
    while ((block = part_pop(part)) != NULL) sfi_kafka_batch_release(&consumer->pool, &block->batch);
}

static void consumer_start(struct sfi_kafka_consumer *consumer)
{
    struct sf_error error;
    consumer->rk = sfi_kafka_instance_new(RD_KAFKA_CONSUMER, consumer_conf(consumer), &error);
    if (consumer->rk == NULL) {
        consumer_fail(consumer, error.status, error.text);
        return;
    }
    (void)rd_kafka_poll_set_consumer(consumer->rk);
    consumer->main_queue = rd_kafka_queue_get_consumer(consumer->rk);
    rd_kafka_queue_cb_event_enable(consumer->main_queue, on_main_ready, consumer);
    for (uint32_t i = 0; i < consumer->part_count; i++) part_start(consumer->parts[i]);
    sfi_kafka_helper_start(consumer->kafka, sfi_kafka_consumer_side, consumer);
}

/* ------------------------------------------------------------------ commands */

static struct sfi_kafka_part *part_of(struct sfi_kafka_consumer *consumer, struct sf_tp tp)
{
    for (uint32_t i = 0; i < consumer->part_count; i++)
        if (consumer->parts[i]->tp.topic == tp.topic && consumer->parts[i]->tp.partition == tp.partition)
            return consumer->parts[i];
    return NULL;
}

static void part_reset(struct sfi_kafka_part *part, int64_t offset)
{
    struct sfi_kafka_consumer *consumer = part->consumer;
    pthread_mutex_lock(&consumer->lock);
    part->generation = ++consumer->generation_last;
    pthread_mutex_unlock(&consumer->lock);
    atomic_store(&part->range, SFI_RANGE_OK);
    part->position = offset;
    part->is_guess = offset == SF_OFFSET_BEGINNING;
    part->is_guess_wrong = false;
    part->caught_up_at = -1;
    part->is_fresh = true;
    part->is_due = false;
}

static uint32_t consumer_add(void *self, struct sf_tp tp, int64_t offset)
{
    struct sfi_kafka_consumer *consumer = self;
    assert(part_of(consumer, tp) == NULL);
    struct sfi_kafka_part *part = sfi_kafka_alloc(sizeof *part);
    part->tp = tp;
    part->name = sfi_kafka_topic_name(consumer->kafka, tp.topic);
    part->consumer = consumer;
    part->known_end = SF_OFFSET_UNKNOWN;
    part_reset(part, offset);
    pthread_mutex_lock(&consumer->lock);
    if (consumer->part_count == consumer->part_cap) {
        consumer->part_cap = consumer->part_cap > 0 ? consumer->part_cap * 2 : 16;
        consumer->parts = sfi_kafka_grow(consumer->parts, consumer->part_cap * sizeof(struct sfi_kafka_part *));
    }
    consumer->parts[consumer->part_count++] = part;
    pthread_mutex_unlock(&consumer->lock);
    if (consumer->rk != NULL) part_start(part);
    else sfi_kafka_consumer_wake(consumer); /* its first poll makes the instance */
    return part->generation;
}

static void part_free(struct sfi_kafka_part *part)
{
    if (part->queue != NULL) {
        rd_kafka_queue_cb_event_enable(part->queue, NULL, NULL);
        rd_kafka_queue_destroy(part->queue);
    }
    free(part);
}

static void consumer_remove(void *self, struct sf_tp tp)
{
    struct sfi_kafka_consumer *consumer = self;
    struct sfi_kafka_part *part = part_of(consumer, tp);
    assert(part != NULL);
    if (part->queue != NULL) part_stop(part);
    pthread_mutex_lock(&consumer->lock);
    for (uint32_t i = 0; i < consumer->part_count; i++)
        if (consumer->parts[i] == part) {
            memmove(&consumer->parts[i], &consumer->parts[i + 1],
                    (consumer->part_count - i - 1) * sizeof(struct sfi_kafka_part *));
            break;
        }
    consumer->part_count--;
    pthread_mutex_unlock(&consumer->lock);
    part_free(part);
}

/* Unassign and assign rather than the library's seek: that one is lost, silently, on a partition that is being
 * stopped, or that reported its position out of range. */
static uint32_t consumer_seek(void *self, struct sf_tp tp, int64_t offset)
{
    struct sfi_kafka_consumer *consumer = self;
    struct sfi_kafka_part *part = part_of(consumer, tp);
    assert(part != NULL);
    if (part->queue != NULL) part_stop(part);
    part_reset(part, offset);
    if (part->queue != NULL) part_start(part);
    return part->generation;
}

static void consumer_pause(void *self, struct sf_tp tp)
{
    struct sfi_kafka_part *part = part_of(self, tp);
    assert(part != NULL);
    part->is_paused = true;
}

static void consumer_resume(void *self, struct sf_tp tp)
{
    struct sfi_kafka_consumer *consumer = self;
    struct sfi_kafka_part *part = part_of(consumer, tp);
    assert(part != NULL);
    if (!part->is_paused) return;
    part->is_paused = false;
    if (atomic_load(&part->is_ready) || part->is_due || part->first != NULL) sfi_kafka_consumer_wake(consumer);
}

static void consumer_release(void *self, struct sf_batch *batch)
{
    struct sfi_kafka_consumer *consumer = self;
    sfi_kafka_batch_release(&consumer->pool, batch);
}

static struct sf_member_token consumer_token(void *self)
{
    (void)self;
    return (struct sf_member_token){0};
}

static void consumer_confirm(void *self)
{
    (void)self;
    assert(false && "confirm is for members");
}

static void consumer_yield(void *self)
{
    (void)self;
    assert(false && "yield is for members");
}

/* ------------------------------------------------------------------ poll */

struct poll {
    struct sf_consumer_event *events;
    uint32_t count, cap;
};

static struct sf_consumer_event *poll_add(struct poll *poll, enum sf_consumer_event_kind kind,
                                          const struct sfi_kafka_part *part)
{
    assert(poll->count < poll->cap);
    struct sf_consumer_event *event = &poll->events[poll->count++];
    *event = (struct sf_consumer_event){.kind = kind, .status = SF_OK};
    if (part == NULL) return event;
    event->tp = part->tp;
    event->generation = part->generation;
    event->position = part->position;
    return event;
}

/* A queue that may have been full has been read from: let the helper make the library look at it again. */
static void part_poke(struct sfi_kafka_part *part)
{
    struct sfi_kafka_consumer *consumer = part->consumer;
    pthread_mutex_lock(&consumer->lock);
    if (!consumer->is_poke_wanted) pthread_cond_signal(&consumer->news);
    consumer->is_poke_wanted = true;
    consumer->poke_name = part->name;
    consumer->poke_partition = part->tp.partition;
    pthread_mutex_unlock(&consumer->lock);
}

static void part_error(struct sfi_kafka_part *part, const rd_kafka_message_t *message)
{
    struct sfi_kafka_consumer *consumer = part->consumer;
    enum sf_status status = sfi_kafka_status(message->err);
    if (status == SF_E_RANGE && part->is_guess && part->is_fresh) {
        part->is_guess_wrong = true;
        return;
    }
    if (status == SF_E_RANGE) {
        /* Errors carry no version: one of an earlier generation is told by its offset. */
        bool is_ours = part->position == SF_OFFSET_BEGINNING ||
                       (part->is_fresh ? message->offset == part->position : message->offset >= part->position);
        if (!is_ours || atomic_load(&part->range) != SFI_RANGE_OK) return;
        if (part->position >= 0) part->position = message->offset;
        atomic_store(&part->range, SFI_RANGE_ASKED);
        pthread_mutex_lock(&consumer->lock);
        consumer->is_range_wanted = true;
        pthread_cond_signal(&consumer->news);
        pthread_mutex_unlock(&consumer->lock);
        return;
    }
    if (sf_status_class(status) == SF_CLASS_FATAL) atomic_store(&part->health, (uint32_t)status);
}

/* The queue is empty: by the end of the last fetch, has a reader of this isolation everything? The end of partition
 * error says so for the stable end; the cached high watermark sometimes earlier. */
static void part_drained(struct sfi_kafka_part *part)
{
    int64_t low, high;
    if (part->is_fresh || part->position < 0 || part->is_due || part->caught_up_at == part->position) return;
    if (rd_kafka_get_watermark_offsets(part->consumer->rk, part->name, part->tp.partition, &low, &high) !=
        RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    if (high >= 0 && high <= part->position) {
        if (high > part->known_end) part->known_end = high;
        part->is_due = true;
    }
}

static void read_error(struct sfi_kafka_part *part, const rd_kafka_message_t *message)
{
    if (message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        part_error(part, message);
        return;
    }
    if (message->offset > part->position) part->position = message->offset;
    if (message->offset > part->known_end) part->known_end = message->offset;
    part->is_fresh = false;
    part->is_due = true;
}

/* One message of the queue, in poll. An end that records follow is no news any more. */
static void on_message(rd_kafka_message_t *message, void *opaque)
{
    struct sfi_kafka_part *part = opaque;
    struct sfi_kafka_consumer *consumer = part->consumer;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        read_error(part, message);
        return;
    }
    struct sfi_kafka_block *block = sfi_kafka_batch_add(&consumer->pool, part->last, message,
                                                        consumer->batch_records_max, consumer->has_headers);
    if (block != part->last) {
        if (part->last != NULL) part->last->behind = block;
        else part->first = block;
        part->last = block;
    }
    part->position = message->offset + 1;
    part->is_fresh = false;
    part->is_due = false;
    part->read_bytes += message->key_len + message->len;
    part->read_count++;
}

/* Takes all that is queued: records into batches, errors into the partition's state. */
static void part_read(struct sfi_kafka_part *part)
{
    struct sfi_kafka_consumer *consumer = part->consumer;
    assert(part->first == NULL);
    part->read_bytes = 0;
    part->read_count = 0;
    atomic_store_explicit(&part->is_ready, false, memory_order_seq_cst); /* before looking */
    if (rd_kafka_queue_length(part->queue) > 0) /* the library takes a system call to see that there is nothing */
        (void)rd_kafka_consume_callback_queue(part->queue, 0, on_message, part);
    if (part->is_guess_wrong) {
        part_stop(part);
        part->is_guess = part->is_guess_wrong = false;
        part_start(part);
        return;
    }
    bool was_full = part->read_count >= consumer->part_count_max / 8 * 7 ||
                    part->read_bytes >= consumer->part_bytes_max / 8 * 7;
    if (was_full) part_poke(part);
    part_drained(part);
}

/* The oldest batch that waits, NULL: none. What is known of the end goes with it: the last one reaches as far as was
 * read. */
static struct sf_batch *part_take(struct sfi_kafka_part *part)
{
    struct sfi_kafka_block *block = part_pop(part);
    if (block == NULL) return NULL;
    block->batch.tp = part->tp;
    block->batch.generation = part->generation;
    if (part->first == NULL) block->batch.next_offset = part->position;
    block->batch.known_end = part->known_end;
    return &block->batch;
}

/* What is known about the partition beside its records, and behind those that wait. False: no room. */
static bool part_tell(struct sfi_kafka_part *part, struct poll *poll)
{
    enum sf_status health = (enum sf_status)atomic_load(&part->health);
    if (health != part->told) {
        if (poll->count == poll->cap) return false;
        poll_add(poll, SF_CONSUMER_PARTITION, part)->status = health;
        part->told = health;
    }
    if (part->first != NULL) return true;
    if (atomic_load(&part->range) == SFI_RANGE_KNOWN) {
        if (poll->count == poll->cap) return false;
        struct sf_consumer_event *event = poll_add(poll, SF_CONSUMER_OUT_OF_RANGE, part);
        event->status = SF_E_RANGE;
        event->log_start = part->log_start;
        event->log_end = part->log_end;
        atomic_store(&part->range, SFI_RANGE_TOLD);
    }
    if (part->is_due) {
        if (poll->count == poll->cap) return false;
        part->is_due = false;
        if (part->caught_up_at == part->position) return true;
        part->caught_up_at = part->position;
        poll_add(poll, SF_CONSUMER_CAUGHT_UP, part)->log_end = part->known_end;
    }
    return true;
}

/* One visit. False: the caller has no more room. */
static bool part_visit(struct sfi_kafka_part *part, struct poll *poll, bool *has_moved)
{
    if (part->is_paused) return true;
    if (!part_tell(part, poll)) return false;
    if (part->first == NULL && !atomic_load_explicit(&part->is_ready, memory_order_acquire)) return true;
    if (poll->count == poll->cap) return false;
    *has_moved = true;
    if (part->first == NULL) part_read(part);
    struct sf_batch *batch = part_take(part);
    if (batch != NULL) poll_add(poll, SF_CONSUMER_BATCH, part)->batch = batch;
    return part_tell(part, poll);
}

static void poll_main(struct sfi_kafka_consumer *consumer)
{
    if (!atomic_exchange(&consumer->is_main_ready, false)) return;
    for (uint32_t i = 0; i < MAIN_EVENTS_MAX; i++) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer->rk, 0);
        if (message == NULL) return;
        assert(message->err != RD_KAFKA_RESP_ERR_NO_ERROR); /* records go to the partitions' own queues */
        on_error(consumer->rk, message->err, rd_kafka_message_errstr(message), consumer);
        rd_kafka_message_destroy(message);
    }
    on_main_ready(consumer->rk, consumer); /* more */
}

static uint32_t consumer_poll(void *self, struct sf_consumer_event *events_out, uint32_t cap)
{
    struct sfi_kafka_consumer *consumer = self;
    struct poll poll = {.events = events_out, .cap = cap};
    if (consumer->rk == NULL && consumer->part_count > 0 && !consumer->is_failed) consumer_start(consumer);
    if (consumer->rk != NULL) poll_main(consumer);
    if (consumer->is_failed) {
        if (consumer->is_failure_told) return 0;
        consumer->is_failure_told = true;
        struct sf_consumer_event *event = poll_add(&poll, SF_CONSUMER_FAILED, NULL);
        event->status = consumer->failure.status;
        event->text = consumer->failure.text;
        return poll.count;
    }
    bool has_moved = true, has_room = true;
    while (has_moved && has_room && consumer->part_count > 0) {
        has_moved = false;
        for (uint32_t i = 0; i < consumer->part_count && has_room; i++) {
            if (consumer->cursor >= consumer->part_count) consumer->cursor = 0;
            has_room = part_visit(consumer->parts[consumer->cursor], &poll, &has_moved);
            if (has_room) consumer->cursor++;
        }
    }
    return poll.count;
}

/* ------------------------------------------------------------------ open, close */

void sfi_kafka_consumer_free(struct sfi_kafka_consumer *consumer)
{
    sfi_kafka_link_deinit(&consumer->link);
    pthread_cond_destroy(&consumer->news);
    pthread_mutex_destroy(&consumer->lock);
    free(consumer->parts);
    free(consumer->group);
    free(consumer->purpose);
    free(consumer);
}

/* What has been fetched is of no use to anybody: the connections are cut, and the helper takes the rest down. */
static void consumer_close(void *self)
{
    struct sfi_kafka_consumer *consumer = self;
    sfi_kafka_link_cut(&consumer->link);
    pthread_mutex_lock(&consumer->lock);
    for (uint32_t i = 0; i < consumer->part_count; i++) part_free(consumer->parts[i]);
    consumer->part_count = 0;
    consumer->is_closing = true;
    bool has_helper = consumer->rk != NULL;
    if (has_helper) {
        rd_kafka_queue_cb_event_enable(consumer->main_queue, NULL, NULL);
        rd_kafka_queue_destroy(consumer->main_queue);
    }
    pthread_cond_signal(&consumer->news);
    sfi_kafka_pool_deinit(&consumer->pool);
    consumer->waker = (struct sf_waker){0};
    pthread_mutex_unlock(&consumer->lock);
    if (!has_helper) sfi_kafka_consumer_free(consumer);
}

static const struct sf_consumer_ops consumer_ops = {.add = consumer_add,
                                                    .remove = consumer_remove,
                                                    .seek = consumer_seek,
                                                    .pause = consumer_pause,
                                                    .resume = consumer_resume,
                                                    .poll = consumer_poll,
                                                    .release = consumer_release,
                                                    .token = consumer_token,
                                                    .confirm = consumer_confirm,
                                                    .yield = consumer_yield,
                                                    .close = consumer_close};

enum sf_status sfi_kafka_consumer_open(void *self, const struct sf_consumer_config *config,
                                       struct sf_consumer *consumer_out, struct sf_error *error)
{
    (void)error;
    struct sfi_kafka_consumer *consumer = sfi_kafka_alloc(sizeof *consumer);
    consumer->kafka = self;
    sfi_kafka_link_init(&consumer->link, self);
    consumer->waker = config->waker;
    /* The library wants a group of every consumer; one whose partitions are given by hand never joins it. */
    consumer->group = sfi_kafka_strdup(config->group != NULL ? config->group : "sf-reader");
    consumer->purpose = sfi_kafka_strdup(config->purpose != NULL ? config->purpose : "consumer");
    consumer->is_read_committed = config->is_read_committed;
    consumer->has_headers = config->has_headers;
    consumer->batch_records_max = config->batch_records_max;
    consumer->fetch_bytes_max = config->fetch_bytes_max > 0 ? config->fetch_bytes_max : QUEUE_BYTES_MAX;
    pthread_mutex_init(&consumer->lock, NULL);
    sfi_os_cond_init(&consumer->news);
    *consumer_out = (struct sf_consumer){&consumer_ops, consumer};
    return SF_OK;
}
