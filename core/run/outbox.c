#include "core/run/outbox.h"

/* A message that is complete but for its credit. */
struct sf_spill {
    struct sf_spill *next;
    struct sf_msg msg;
};

void sf_outbox_init(struct sf_outbox *outbox, struct sf_edge *edge, enum sf_msg_kind kind)
{
    memset(outbox, 0, sizeof *outbox);
    outbox->edge = edge;
    outbox->kind = (uint16_t)kind;
}

void sf_outbox_deinit(struct sf_outbox *outbox)
{
    if (outbox->edge != NULL) sf_outbox_fall_back(outbox, 0, 0);
    memset(outbox, 0, sizeof *outbox);
}

static struct sf_msg message_of(const struct sf_outbox *outbox, struct sf_block *block)
{
    return (struct sf_msg){.kind = outbox->kind,
                           .flags = outbox->flags,
                           .generation = outbox->generation,
                           .epoch = outbox->epoch,
                           .block = block};
}

static struct sf_block *spill_block(struct sf_outbox *outbox, uint32_t bytes)
{
    struct sf_spill *spill = sf_malloc(outbox->edge->alloc, sizeof *spill);
    *spill = (struct sf_spill){.msg = message_of(outbox, sf_edge_make_extra(outbox->edge, bytes))};
    if (outbox->spill_last != NULL)
        outbox->spill_last->next = spill;
    else
        outbox->spill_first = spill;
    outbox->spill_last = spill;
    return spill->msg.block;
}

static void open_block(struct sf_outbox *outbox, uint32_t bytes)
{
    uint32_t at_least = bytes > outbox->edge->block_bytes ? bytes : outbox->edge->block_bytes;
    outbox->is_open_spilled = false;
    if (outbox->spill_first == NULL)
        outbox->open = bytes > outbox->edge->block_bytes ? sf_edge_take_extra(outbox->edge, at_least)
                                                         : sf_edge_take(outbox->edge);
    if (outbox->open == NULL) {
        outbox->open = spill_block(outbox, at_least);
        outbox->is_open_spilled = true;
    }
}

struct sf_wire *sf_outbox_append(struct sf_outbox *outbox, uint32_t key_len, uint32_t value_len, uint32_t headers_len)
{
    struct sf_wire *wire = NULL;
    if (outbox->open != NULL) wire = sf_wire_append(outbox->open, key_len, value_len, headers_len);
    if (wire == NULL) {
        sf_outbox_close_block(outbox, outbox->flags);
        open_block(outbox, sf_wire_bytes(key_len, value_len, headers_len));
        wire = sf_wire_append(outbox->open, key_len, value_len, headers_len);
    }
    assert(wire != NULL);
    outbox->record_count++;
    return wire;
}

void sf_outbox_close_block(struct sf_outbox *outbox, uint16_t flags)
{
    struct sf_block *block = outbox->open;
    outbox->open = NULL;
    if (block != NULL && !outbox->is_open_spilled) {
        struct sf_msg msg = message_of(outbox, block);
        sf_edge_push(outbox->edge, &msg);
    }
    outbox->is_open_spilled = false;
    outbox->flags = flags;
}

bool sf_outbox_drain(struct sf_outbox *outbox)
{
    while (outbox->spill_first != NULL) {
        struct sf_spill *spill = outbox->spill_first;
        if (!sf_edge_pay(outbox->edge, spill->msg.block)) return false;
        if (outbox->is_open_spilled && spill == outbox->spill_last) {
            outbox->open = NULL;
            outbox->is_open_spilled = false;
        }
        sf_edge_push(outbox->edge, &spill->msg);
        outbox->spill_first = spill->next;
        if (outbox->spill_first == NULL) outbox->spill_last = NULL;
        sf_free(outbox->edge->alloc, spill, sizeof *spill);
    }
    return true;
}

void sf_outbox_rotate(struct sf_outbox *outbox, uint64_t epoch)
{
    assert(outbox->open == NULL || outbox->is_open_spilled);
    outbox->open = NULL;
    outbox->is_open_spilled = false;
    outbox->epoch = epoch;
}

void sf_outbox_fall_back(struct sf_outbox *outbox, uint32_t generation, uint64_t epoch)
{
    if (outbox->open != NULL && !outbox->is_open_spilled) sf_edge_untake(outbox->edge, outbox->open);
    outbox->open = NULL;
    outbox->is_open_spilled = false;
    while (outbox->spill_first != NULL) {
        struct sf_spill *spill = outbox->spill_first;
        outbox->spill_first = spill->next;
        sf_edge_untake(outbox->edge, spill->msg.block);
        sf_free(outbox->edge->alloc, spill, sizeof *spill);
    }
    outbox->spill_last = NULL;
    outbox->generation = generation;
    outbox->epoch = epoch;
    outbox->flags = 0;
}
