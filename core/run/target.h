/*
 * Targets: every topic that the engine writes, as a small table that lanes and commit share read-only. A wire record
 * on its way out names a target and a partition.
 *
 *     sinks first, by sink index; then for each aggregate its changelog and its emit-frontier topic (K2)
 *
 * Threading: constant while tasks run.
 */
#ifndef SF_CORE_RUN_TARGET_H
#define SF_CORE_RUN_TARGET_H

#include "core/io/kafka.h"
#include "core/topo/plan.h"

#define SF_TARGET_NONE UINT32_MAX
#define SF_MESSAGE_BYTES_DEFAULT 1048588u /* max.message.bytes where nobody has set it */
#define SF_RECORD_FRAME_BYTES 128u        /* at most, of a batch with one record around its key, value and headers */

enum sf_target_kind { SF_TARGET_SINK, SF_TARGET_CHANGELOG, SF_TARGET_FRONTIER };

struct sf_target {
    enum sf_target_kind kind;
    uint32_t index;          /* sink index, or topology step index */
    uint32_t topic;          /* number at the factory */
    int32_t partition_count; /* 0 until the start has asked */
    uint32_t record_bytes_max; /* key, value and headers of one record, as the topic's max.message.bytes leaves room */
    uint32_t first_position; /* changelogs: index of partition 0 in the flat table of tracked partitions */
};

struct sf_targets {
    struct sf_alloc alloc;
    struct sf_target *items;
    uint32_t count;
    uint32_t sink_count;
    uint32_t *changelog_of_step; /* by topology step; SF_TARGET_NONE */
    uint32_t *frontier_of_step;
    uint32_t step_count;
    uint32_t watermark_topic;    /* K1 */
};

void sf_targets_init(struct sf_targets *targets, struct sf_alloc alloc, const struct sf_plan *plan,
                     struct sf_kafka kafka);
void sf_targets_deinit(struct sf_targets *targets);

/* The largest, or smallest, record_bytes_max. */
uint32_t sf_targets_record_bytes(const struct sf_targets *targets, bool is_smallest);

/* K13: partitions of the changelogs of a sub-topology, from the partition counts of all sources (by index). */
int32_t sf_targets_changelog_partitions(const struct sf_plan *plan, uint32_t sub, const int32_t *source_partitions);

#endif
