/* Kafka adapter: the helper thread of a consumer by hand: pokes, log ends of a lost position, who can be read. See
 * kafka_consumer.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "prod/kafka_consumer.h"

/* With the lock. A partition by number, NULL when it has gone or moved on. */
static struct sfi_kafka_part *part_find(struct sfi_kafka_consumer *consumer, struct sf_tp tp, uint32_t generation)
{
    for (uint32_t i = 0; i < consumer->part_count; i++) {
        struct sfi_kafka_part *part = consumer->parts[i];
        if (part->tp.topic == tp.topic && part->tp.partition == tp.partition && part->generation == generation)
            return part;
    }
    return NULL;
}

/* Where the log of one partition begins or ends. False: no answer. */
static bool bound(struct sfi_kafka_consumer *consumer, const char *name, int32_t partition, bool is_end,
                  int64_t *offset_out)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, name, partition);
    rd_kafka_resp_err_t err = sfi_kafka_log_bounds(consumer->rk, list, is_end, SFI_KAFKA_QUERY_MS);
    if (err == RD_KAFKA_RESP_ERR_NO_ERROR) err = list->elems[0].err;
    *offset_out = list->elems[0].offset;
    rd_kafka_topic_partition_list_destroy(list);
    return err == RD_KAFKA_RESP_ERR_NO_ERROR && *offset_out >= 0;
}

/* With the lock, given up meanwhile. */
static void poke(struct sfi_kafka_consumer *consumer)
{
    const char *name = consumer->poke_name;
    int32_t partition = consumer->poke_partition;
    consumer->is_poke_wanted = false;
    pthread_mutex_unlock(&consumer->lock);
    int64_t end;
    (void)bound(consumer, name, partition, true, &end);
    pthread_mutex_lock(&consumer->lock);
}

/* With the lock, given up meanwhile. Where does the log of a partition that lost its position begin and end? Tried
 * again until there is an answer. */
static void range_answer(struct sfi_kafka_consumer *consumer)
{
    struct sfi_kafka_part *part = NULL;
    for (uint32_t i = 0; i < consumer->part_count && part == NULL; i++)
        if (atomic_load(&consumer->parts[i]->range) == SFI_RANGE_ASKED) part = consumer->parts[i];
    consumer->is_range_wanted = part != NULL;
    if (part == NULL) return;
    struct sf_tp tp = part->tp;
    const char *name = part->name;
    uint32_t generation = part->generation;
    int64_t low = 0, high = 0;
    pthread_mutex_unlock(&consumer->lock);
    bool is_known =
        bound(consumer, name, tp.partition, false, &low) && bound(consumer, name, tp.partition, true, &high);
    pthread_mutex_lock(&consumer->lock);
    if (!is_known) {
        if (!consumer->is_closing) sfi_os_cond_wait(&consumer->news, &consumer->lock, SFI_KAFKA_POKE_MS);
        return;
    }
    part = part_find(consumer, tp, generation);
    if (part == NULL) return;
    part->log_start = low;
    part->log_end = high;
    atomic_store(&part->range, SFI_RANGE_KNOWN);
    sfi_kafka_consumer_wake(consumer);
}

static enum sf_status health_of(const struct rd_kafka_metadata *metadata, const struct sfi_kafka_part *part)
{
    for (int t = 0; t < metadata->topic_cnt; t++) {
        const struct rd_kafka_metadata_topic *topic = &metadata->topics[t];
        if (strcmp(topic->topic, part->name) != 0) continue;
        if (topic->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) return SF_E_AUTH;
        for (int p = 0; p < topic->partition_cnt; p++)
            if (topic->partitions[p].id == part->tp.partition)
                return topic->partitions[p].leader >= 0 ? SF_OK : SF_E_UNAVAILABLE;
        break;
    }
    return (enum sf_status)atomic_load(&part->health); /* not mentioned: the library itself judges, by an error */
}

/* With the lock, given up meanwhile. True while something cannot be read. */
static bool probe(struct sfi_kafka_consumer *consumer)
{
    consumer->is_probe_wanted = false;
    pthread_mutex_unlock(&consumer->lock);
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t err = rd_kafka_metadata(consumer->rk, 0, NULL, &metadata, SFI_KAFKA_QUERY_MS);
    pthread_mutex_lock(&consumer->lock);
    bool is_down = false, is_news = false;
    for (uint32_t i = 0; i < consumer->part_count; i++) {
        struct sfi_kafka_part *part = consumer->parts[i];
        enum sf_status before = (enum sf_status)atomic_load(&part->health);
        if (sf_status_class(before) == SF_CLASS_FATAL) continue;
        enum sf_status now = err != RD_KAFKA_RESP_ERR_NO_ERROR ? SF_E_UNAVAILABLE : health_of(metadata, part);
        is_news = is_news || now != before;
        is_down = is_down || now == SF_E_UNAVAILABLE;
        atomic_store(&part->health, (uint32_t)now);
    }
    if (metadata != NULL) rd_kafka_metadata_destroy(metadata);
    if (is_news) sfi_kafka_consumer_wake(consumer);
    return is_down;
}

static void serve(struct sfi_kafka_consumer *consumer)
{
    int64_t probe_at = sfi_os_now_ms() + consumer->kafka->watch_interval_ms;
    int64_t poke_at = 0;
    while (!consumer->is_closing) {
        int64_t now = sfi_os_now_ms();
        if (consumer->is_range_wanted) {
            range_answer(consumer);
        } else if (consumer->is_poke_wanted && now >= poke_at) {
            poke(consumer);
            poke_at = sfi_os_now_ms() + SFI_KAFKA_POKE_MS;
        } else if (consumer->is_probe_wanted || now >= probe_at) {
            bool is_down = probe(consumer);
            probe_at = sfi_os_now_ms() + (is_down ? SFI_KAFKA_PROBE_MS : consumer->kafka->watch_interval_ms);
        } else {
            int64_t until = consumer->is_poke_wanted && poke_at < probe_at ? poke_at : probe_at;
            sfi_os_cond_wait(&consumer->news, &consumer->lock, until - now);
        }
    }
}

void *sfi_kafka_consumer_side(void *arg)
{
    struct sfi_kafka_consumer *consumer = arg;
    struct sf_prod_kafka *kafka = consumer->kafka;
    pthread_mutex_lock(&consumer->lock);
    serve(consumer);
    pthread_mutex_unlock(&consumer->lock);
    rd_kafka_destroy_flags(consumer->rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    sfi_kafka_consumer_free(consumer);
    sfi_kafka_helper_end(kafka);
    return NULL;
}
