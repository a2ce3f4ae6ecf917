/*
 * Edge: a bounded queue of messages from one task to one other, with the memory that travels on it.
 *
 *      producer                                     consumer
 *      take() -> block, fill, push(msg) ---ring---> peek(), pop() ... give_back(block)
 *          ^                                                              |
 *          +------------------- return ring <-----------------------------+
 *
 * Credit is a free block: `data_blocks` of them at most are made, each when none that was made before is free, and
 * circulate, so a data message that finds no block waits with its producer (back-pressure, L5), and nothing grows
 * beyond that; an edge on which little travels keeps little memory. Control messages carry no block; the
 * protocol bounds how many can be under way, and the ring keeps `control_slots` places for them, so they never
 * wait. A message too large for a block travels in an *extra* block, made for it alone and freed when it comes
 * back; it counts as one message in a data slot all the same, and takes a credit.
 *
 * A block that comes back wakes its producer only if half of the credit or more was out when the block was pushed
 * (sf_block.is_awaited): a producer with credit has nothing to do with more of it, and collects at its next step.
 * Whoever finds none is woken all the same: the last block that it could take was pushed when there was none left. So
 * it may go to sleep without credit only when every block that it took is pushed.
 *
 *     4 blocks    push, 3 left    push, 2 left: awaited    push, 1 left: awaited    push, none left: awaited
 *
 * Waiting for a barrier is simply not reading: a consumer peeks, and leaves the message where it is.
 *
 * A step sees an edge only through the counts that were latched before it (core/io/sched.h): `in` is the
 * consumer's port, `back` the producer's.
 *
 * Generations. Every message carries its producer's generation. After an abort (core/run/recover.c) a
 * task raises its own; older messages are dropped as they come up (sf_edge_peek does that and gives the blocks
 * back), newer ones wait until the reader has fallen back too.
 *
 * Threading: producer functions by one task, consumer functions by one task; the two rings' indices are the only
 * shared words, release on write and acquire in the latch.
 */
#ifndef SF_CORE_RUN_EDGE_H
#define SF_CORE_RUN_EDGE_H

#include <stdalign.h>

#include "core/io/sched.h"
#include "core/mem.h"

#define SF_EDGE_SLOTS_MAX 4096u

enum sf_msg_kind {
    /* data */
    SF_MSG_RUN,       /* ingest -> lane: block of struct sf_ref */
    SF_MSG_RECORDS,   /* lane -> lane: block of wire records */
    SF_MSG_OUT,       /* lane -> commit: block of wire records with targets, outputs and changelog rows */
    /* control */
    SF_MSG_BARRIER,   /* ingest -> lane -> lane: epoch, value: stamp, flags: SF_BARRIER_FLUSH */
    SF_MSG_CUT,       /* ingest -> commit: epoch, ptr: struct sf_cut, ingest's until COMMITTED */
    SF_MSG_CROSSED,   /* lane -> commit: epoch, ptr: struct sf_lane_counts, the lane's until COMMITTED */
    SF_MSG_WORK,      /* lane -> ingest: epoch that has work (B3) */
    SF_MSG_COMMITTED, /* commit -> ingest, lanes, engine: epoch; engine: the newest, with a block */
    SF_MSG_FAULT,     /* any -> engine: what went wrong, core/run/message.h */
    SF_MSG_STOP,      /* engine -> any: finish the unit, do no more, answer STOPPED */
    SF_MSG_STOPPED,
    SF_MSG_RESET,     /* engine -> any: fall back to cut `epoch`, number the next epoch `value`, take generation
                         `value2`; flags: SF_RESET_… */
    SF_MSG_RESUMED,
    SF_MSG_FINISH,    /* host -> engine -> ingest: graceful stop: a final barrier with flush (S4) */
    SF_MSG_FIX,       /* driver -> ingest: fix a barrier now (scenarios that list their barriers) */
    SF_MSG_SESSION,   /* engine -> commit: SF_SESSION_…; commit -> engine: done, value: status */
    SF_MSG_OWNER,     /* commit -> engine: flags: SF_OWNER_… */
    SF_MSG_PAUSE,     /* host -> ingest: nothing is dispatched (value 1), or all is as before (0) */
    SF_MSG_TAKE,      /* host -> ingest: it gives the partition up (value: topic, value2: partition) in order (S8) */
    SF_MSG_GIVE,      /* host -> ingest: and has it again */
    SF_MSG_GROW,      /* engine -> ingest: ptr: struct sf_ingest_growth, the engine's until GROWN */
    SF_MSG_GROWN      /* ingest -> engine: the partitions of GROW are read */
};

struct sf_block {
    struct sf_block *next; /* in a free list; the list's owner's */
    uint32_t capacity;     /* bytes of data */
    uint32_t used;         /* bytes filled */
    uint32_t count;        /* items in it */
    uint32_t index;        /* among the edge's data blocks; extra ones: 0 */
    bool is_extra;         /* made for one message: freed when it comes back */
    bool is_paid;          /* extra: it holds a credit */
    bool is_awaited;       /* credit was running low when it was pushed: its return wakes the producer */
    alignas(16) uint8_t data[];
};

/* 56 bytes. Unused fields are 0: messages are hashed. */
struct sf_msg {
    uint16_t kind; /* enum sf_msg_kind */
    uint16_t flags;
    uint32_t generation;
    uint64_t epoch;
    int64_t value;
    int64_t value2;
    const void *ptr;        /* borrowed as the kind says; not hashed */
    struct sf_block *block; /* data: the consumer's until given back; NULL for control */
};

struct sf_edge_config {
    struct sf_alloc alloc;
    uint32_t data_blocks;   /* 0: control only */
    uint32_t block_bytes;
    uint32_t control_slots; /* most control messages that the protocol can have under way */
};

struct sf_edge {
    /* producer's */
    struct sf_msg *ring;
    uint32_t mask;
    uint32_t pushed;
    struct sf_block *free_blocks;
    uint32_t free_count; /* credits; where extra blocks hold none, free blocks and those not made yet */
    uint32_t made_count;
    struct sf_block **blocks; /* [data_blocks], the first made_count of them */
    struct sf_port back; /* how many blocks have come back */
    struct sf_waker to_consumer;
    /* consumer's */
    struct sf_block **return_ring;
    uint32_t given_back;
    struct sf_port in;
    struct sf_waker to_producer;
    /* both, read only */
    struct sf_alloc alloc;
    uint32_t data_blocks;
    uint32_t block_bytes;
    uint32_t control_slots;
    /* shared */
    alignas(128) _Atomic uint32_t written;
    alignas(128) _Atomic uint32_t returned;
    _Atomic uint32_t popped; /* the consumer's progress: only asserted on, never decides */
};

/* Caller's memory, 128-byte aligned. */
void sf_edge_init(struct sf_edge *edge, const struct sf_edge_config *config);
/* Both tasks must be gone. Frees whatever still travels. */
void sf_edge_deinit(struct sf_edge *edge);

/* --- producer */

/* Collects blocks that the latched return path shows. Once per step, or when credit runs out. */
void sf_edge_collect(struct sf_edge *edge);
/* A free block, used and count 0, or NULL: no credit now. */
struct sf_block *sf_edge_take(struct sf_edge *edge);
/* An extra block of any size, made at once, credit or not. It may be pushed once sf_edge_pay has found it a credit;
 * freed when it comes back. */
struct sf_block *sf_edge_make_extra(struct sf_edge *edge, uint32_t bytes);
/* False: no credit now. */
bool sf_edge_pay(struct sf_edge *edge, struct sf_block *extra);
/* Both in one: NULL if there is no credit. */
struct sf_block *sf_edge_take_extra(struct sf_edge *edge, uint32_t bytes);
/* A block that was taken or made, and is not needed. */
void sf_edge_untake(struct sf_edge *edge, struct sf_block *block);
/* Publish; wakes the consumer. There is always room: data has taken a block, control has its slots (asserted). A
 * control message that finds no room is a protocol with no bound: a bug of ours. */
void sf_edge_push(struct sf_edge *edge, const struct sf_msg *msg);

static inline uint32_t sf_edge_credit(const struct sf_edge *edge)
{
    return edge->free_count;
}

/* --- consumer */

/* The next message of `generation` that this step may see; older ones on the way are dropped and their blocks given
 * back. NULL: nothing visible, or the next is of a newer generation. Valid until pop. */
const struct sf_msg *sf_edge_peek(struct sf_edge *edge, uint32_t generation);
/* Take the message that peek showed. A data block is now the caller's until given back. */
void sf_edge_pop(struct sf_edge *edge);
/* In any order. Wakes the producer if it awaits the block. */
void sf_edge_give_back(struct sf_edge *edge, struct sf_block *block);

#endif
