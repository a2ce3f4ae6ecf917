/*
 * Outbox: the end of an edge where a lane puts the wire records it makes. It fills one block after the other; a record
 * always finds room, since one unit of work must not be cut in the middle: without credit it goes into a spill, which
 * the lane drains before it takes its next unit. So a spill holds at most what one unit makes.
 *
 *     append, append          into the open block; no credit: into the spill
 *     drain                   spill to the edge as credit comes back; false: some is left, take no further unit
 *     close_block, push       the block goes, whether full or not
 *
 * Threading: the lane's, as the producing end of its edge.
 */
#ifndef SF_CORE_RUN_OUTBOX_H
#define SF_CORE_RUN_OUTBOX_H

#include "core/run/message.h"

struct sf_outbox {
    struct sf_edge *edge;
    uint16_t kind;            /* SF_MSG_OUT or SF_MSG_RECORDS */
    uint16_t flags;           /* of the blocks that are filled now */
    uint32_t generation;
    uint64_t epoch;
    struct sf_block *open;
    bool is_open_spilled;     /* `open` is the spill's last block */
    struct sf_spill *spill_first; /* blocks that wait for a credit, in order */
    struct sf_spill *spill_last;
    uint64_t record_count;    /* ever */
};

void sf_outbox_init(struct sf_outbox *outbox, struct sf_edge *edge, enum sf_msg_kind kind);
void sf_outbox_deinit(struct sf_outbox *outbox);

/* Room for a record; the caller fills header and bytes before it calls anything else here. Never NULL. */
struct sf_wire *sf_outbox_append(struct sf_outbox *outbox, uint32_t key_len, uint32_t value_len,
                                 uint32_t headers_len);
/* Send what is in the open block. Blocks filled from now on carry `flags`. */
void sf_outbox_close_block(struct sf_outbox *outbox, uint16_t flags);
/* Send as much of the spill as there is credit for; true when nothing is left of it. */
bool sf_outbox_drain(struct sf_outbox *outbox);
static inline bool sf_outbox_is_clear(const struct sf_outbox *outbox)
{
    return outbox->spill_first == NULL;
}
/* The epoch of what follows. The open block must have been closed. */
void sf_outbox_rotate(struct sf_outbox *outbox, uint64_t epoch);
/* Throw away all that has not been sent (B12). */
void sf_outbox_fall_back(struct sf_outbox *outbox, uint32_t generation, uint64_t epoch);

#endif
