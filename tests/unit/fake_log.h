/*
 * A Kafka for unit tests of what reads logs: a few partitions with records, starts and stable ends, and one consumer
 * over them. A batch holds at most `batch_records` records; behind the last one it has passed, the consumer is at the
 * stable end, where trailing markers or nothing at all may stand.
 *
 * Threading: one.
 */
#ifndef SF_TESTS_UNIT_FAKE_LOG_H
#define SF_TESTS_UNIT_FAKE_LOG_H

#include "core/io/kafka.h"

#define FAKE_LOGS_MAX 8u
#define FAKE_RECORDS_MAX 64u

struct fake_log {
    const char *topic;
    int32_t partition;
    int64_t start;
    int64_t stable_end;
    struct sf_record records[FAKE_RECORDS_MAX]; /* offsets rising */
    uint32_t record_count;
    enum sf_status failure; /* SF_OK, or what reading it ends with */
    /* the consumer's */
    bool is_added;
    bool is_told_caught_up;
    int64_t position;
    int64_t added_at;
};

struct fake_kafka {
    struct fake_log logs[FAKE_LOGS_MAX];
    uint32_t log_count;
    uint32_t batch_records;
    uint32_t open_batches;
    uint32_t open_consumers;
    uint32_t next; /* log to look at first */
};

void fake_kafka_init(struct fake_kafka *fake);
struct sf_kafka fake_kafka(struct fake_kafka *fake);
struct fake_log *fake_log_add(struct fake_kafka *fake, const char *topic, int32_t partition, int64_t start,
                              int64_t stable_end);
void fake_log_put(struct fake_log *log, int64_t offset, struct sf_slice key, struct sf_slice value);

#endif
