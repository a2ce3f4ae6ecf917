/*
 * A consumer of partitions given by hand: what its task (kafka_consumer.c) and its helper thread
 * (kafka_consumer_side.c) share.
 *
 * Each partition has a queue of the library of its own. A queue that becomes non-empty sets the partition's
 * `is_ready` and wakes the task; poll goes round the ready ones. A queue is read to its end at once, into batches that
 * wait here until poll has handed them out, and not again before: the library counts what is in its queues, and frees
 * its messages all the sooner. Holding a partition back means not reading its queue: nothing that was fetched is
 * thrown away.
 *
 * The stall. The library (2.0.2) drops a partition whose queue is full from its fetch requests and does not look
 * again before other traffic of that broker, or a second, has passed. So the task notes when a queue may have been
 * full, and the helper then asks the broker for a watermark, at most every POKE_MS: any answer makes the library
 * look. With other partitions fetching, fetch.wait.max.ms (10) bounds the stall by itself.
 *
 * The beginning of a log is looked for at 0 first: where it begins elsewhere the broker says so, and only then is the
 * library asked to find it, which takes it half a second.
 *
 * The instance is made at the first poll, when the number of partitions is known: the library bounds each queue on
 * its own, so fetch_bytes_max is shared out among those added by then.
 */
#ifndef SF_PROD_KAFKA_CONSUMER_H
#define SF_PROD_KAFKA_CONSUMER_H

#include "prod/kafka_batch.h"
#include "prod/kafka_impl.h"

#define SFI_KAFKA_POKE_MS 4
#define SFI_KAFKA_PROBE_MS 500 /* while something cannot be read */
#define SFI_KAFKA_QUERY_MS 1000

enum sfi_kafka_range { SFI_RANGE_OK, SFI_RANGE_ASKED, SFI_RANGE_KNOWN, SFI_RANGE_TOLD };

/* One partition. Linked by: consumer.parts. Fields without a note are the task's alone. */
struct sfi_kafka_part {
    struct sf_tp tp;
    const char *name;         /* of the topic; lives as long as the factory */
    rd_kafka_queue_t *queue;  /* NULL before the first poll */
    struct sfi_kafka_consumer *consumer;
    _Atomic bool is_ready;    /* its queue has become non-empty since it was last drained; any thread */
    _Atomic uint32_t health;  /* enum sf_status as the helper last saw it: SF_OK, SF_E_UNAVAILABLE, FATAL class */
    _Atomic uint32_t range;   /* enum sfi_kafka_range: OK -> ASKED by the task -> KNOWN by the helper -> TOLD */
    int64_t log_start, log_end; /* written before KNOWN */
    struct sfi_kafka_block *first, *last; /* read, not yet polled; by `behind` */
    bool is_paused;
    bool is_fresh;            /* nothing read in this generation yet */
    bool is_due;              /* CAUGHT_UP waits to be reported */
    bool is_guess;            /* reads from 0 for SF_OFFSET_BEGINNING; not with an answer before its start is known */
    bool is_guess_wrong;      /* there is nothing at 0 any more */
    enum sf_status told;      /* last PARTITION event's status */
    uint32_t generation;      /* guarded by consumer.lock for writing */
    int64_t position;         /* next offset to be read; SF_OFFSET_BEGINNING before it is known */
    int64_t known_end;
    int64_t caught_up_at;     /* position last reported as caught up; -1 */
    uint64_t read_bytes;      /* in the reading under way */
    uint64_t read_count;
};

struct sfi_kafka_consumer {
    struct sfi_kafka_link link;
    struct sf_prod_kafka *kafka;
    rd_kafka_t *rk; /* NULL before the first poll */
    rd_kafka_queue_t *main_queue;
    struct sf_waker waker;
    char *group, *purpose;
    bool is_read_committed, has_headers;
    uint32_t batch_records_max;
    uint64_t fetch_bytes_max;
    uint64_t part_bytes_max, part_count_max; /* of one queue, as the library was told */
    struct sfi_kafka_part **parts;           /* changed by the task under `lock` */
    uint32_t part_count, part_cap, cursor;
    uint32_t generation_last;
    struct sfi_kafka_pool pool;
    _Atomic bool is_main_ready;
    bool is_failed, is_failure_told;
    struct sf_error failure;

    pthread_mutex_t lock; /* guards what follows, and parts and generations against the helper */
    pthread_cond_t news;
    bool is_closing;
    bool is_poke_wanted, is_probe_wanted, is_range_wanted;
    const char *poke_name;
    int32_t poke_partition;
};

void sfi_kafka_consumer_wake(struct sfi_kafka_consumer *consumer);
/* Body of the helper thread. Destroys the instance and frees the client at the end. */
void *sfi_kafka_consumer_side(void *consumer);
void sfi_kafka_consumer_free(struct sfi_kafka_consumer *consumer);

#endif
