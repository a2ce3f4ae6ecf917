/*
 * Commit's writing half: one OUT block at a time, its records grouped by (target, partition) in order of first sight,
 * since a producer is much slower on interleaved partitions, and written with as many pauses as the producer's room and
 * the step's budget ask for. Changelog rows are copied on to persist once their block is through.
 *
 *     block  a0 b0 a1 c0 b1    written as  a0 a1 | b0 b1 | c0
 *
 * Threading: the commit task's.
 */
#ifndef SF_CORE_RUN_COMMIT_WRITE_H
#define SF_CORE_RUN_COMMIT_WRITE_H

#include "core/run/message.h"
#include "core/run/target.h"

#define SF_COMMIT_WRITE_RUN 128u /* records handed to the producer in one call */

struct sf_commit_write {
    struct sf_alloc alloc;
    const struct sf_targets *targets;
    struct sf_edge *to_persist; /* NULL: none */

    bool is_begun;               /* a block is being written */
    const struct sf_wire **wires; /* of the block, grouped; as many as its count */
    uint32_t wire_capacity;
    uint32_t wire_count;
    uint32_t written;
    uint32_t *chains;            /* scratch: next wire of the same group */
    struct group *groups;
    uint32_t group_capacity;

    struct sf_position *positions; /* at-least-once: collected over the flushes of an epoch; also handed to persist */
    uint32_t position_count;
    uint32_t position_capacity;
    uint64_t owed_epoch;         /* persist has yet to be told that this epoch is durable; 0: nothing owed */
};

void sf_commit_write_init(struct sf_commit_write *write, struct sf_alloc alloc, const struct sf_targets *targets,
                          struct sf_edge *to_persist);
void sf_commit_write_deinit(struct sf_commit_write *write);
/* Forget a half-written block: the epoch is gone. */
void sf_commit_write_clear(struct sf_commit_write *write);

/* Ask a new producer for the ends of the changelogs, if a local store wants them (K4). */
void sf_commit_write_track(const struct sf_commit_write *write, struct sf_producer producer);

/* Write on with the block of `msg`, at most `budget` records; how many were written. */
uint32_t sf_commit_write_block(struct sf_commit_write *write, struct sf_producer producer, uint32_t generation,
                               const struct sf_msg *msg, uint32_t budget);
/* All of it is written, and persist has its copy. */
bool sf_commit_write_is_block_done(const struct sf_commit_write *write);
void sf_commit_write_next_block(struct sf_commit_write *write);

/* Ends of tracked partitions that a flush reported (at-least-once). */
void sf_commit_write_positions(struct sf_commit_write *write, const struct sf_position *positions, uint32_t count);
/* Tell persist that `epoch` is durable, with these positions and those collected: now, or, where there is no credit,
 * by a later sf_commit_write_settle (COMMITTED of n speaks for all before it). */
void sf_commit_write_committed(struct sf_commit_write *write, uint32_t generation, uint64_t epoch,
                               const struct sf_position *positions, uint32_t count);
void sf_commit_write_settle(struct sf_commit_write *write, uint32_t generation);

#endif
