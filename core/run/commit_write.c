#include "core/run/commit_write.h"

#define NO_WIRE UINT32_MAX

/* One (target, partition) of the block at hand. */
struct group {
    uint32_t target;
    uint32_t partition;
    uint32_t first;
    uint32_t last;
};

void sf_commit_write_init(struct sf_commit_write *write, struct sf_alloc alloc, const struct sf_targets *targets,
                          struct sf_edge *to_persist)
{
    memset(write, 0, sizeof *write);
    write->alloc = alloc;
    write->targets = targets;
    write->to_persist = to_persist;
}

void sf_commit_write_deinit(struct sf_commit_write *write)
{
    sf_cfree(write->alloc, write->wires, write->wire_capacity, sizeof *write->wires);
    sf_cfree(write->alloc, write->chains, write->wire_capacity, sizeof *write->chains);
    sf_cfree(write->alloc, write->groups, write->group_capacity, sizeof *write->groups);
    sf_cfree(write->alloc, write->positions, write->position_capacity, sizeof *write->positions);
    memset(write, 0, sizeof *write);
}

void sf_commit_write_clear(struct sf_commit_write *write)
{
    write->is_begun = false;
    write->wire_count = 0;
    write->written = 0;
}

void sf_commit_write_track(const struct sf_commit_write *write, struct sf_producer producer)
{
    if (write->to_persist == NULL) return;
    for (uint32_t i = 0; i < write->targets->count; i++) {
        const struct sf_target *target = &write->targets->items[i];
        if (target->kind != SF_TARGET_CHANGELOG) continue;
        for (int32_t p = 0; p < target->partition_count; p++)
            sf_producer_track(producer, (struct sf_tp){.topic = target->topic, .partition = p});
    }
}

static void reserve(struct sf_commit_write *write, uint32_t wire_count)
{
    if (wire_count <= write->wire_capacity) return;
    uint32_t capacity = wire_count < 1024 ? 1024 : wire_count * 2;
    sf_cfree(write->alloc, write->wires, write->wire_capacity, sizeof *write->wires);
    sf_cfree(write->alloc, write->chains, write->wire_capacity, sizeof *write->chains);
    write->wires = sf_calloc(write->alloc, capacity, sizeof *write->wires);
    write->chains = sf_calloc(write->alloc, capacity, sizeof *write->chains);
    write->wire_capacity = capacity;
}

static struct group *group_of(struct sf_commit_write *write, uint32_t *group_count, const struct sf_wire *wire)
{
    uint32_t partition = (uint32_t)wire->hash;
    /* records of one partition tend to follow each other, and a block has few partitions: newest first */
    for (uint32_t i = *group_count; i > 0; i--) {
        struct group *group = &write->groups[i - 1];
        if (group->target == wire->target && group->partition == partition) return group;
    }
    if (*group_count == write->group_capacity) {
        uint32_t capacity = write->group_capacity == 0 ? 64 : write->group_capacity * 2;
        write->groups = sf_regrow(write->alloc, write->groups, write->group_capacity * sizeof *write->groups,
                                  *group_count * sizeof *write->groups, capacity * sizeof *write->groups);
        write->group_capacity = capacity;
    }
    struct group *group = &write->groups[(*group_count)++];
    *group = (struct group){.target = wire->target, .partition = partition, .first = NO_WIRE, .last = NO_WIRE};
    return group;
}

/* wires := the block's records, group after group, each in block order. */
static void begin_block(struct sf_commit_write *write, const struct sf_block *block)
{
    reserve(write, 2 * block->count);
    const struct sf_wire **flat = write->wires + block->count; /* in block order */
    uint32_t group_count = 0;
    const struct sf_wire *wire = sf_wire_first(block);
    for (uint32_t i = 0; i < block->count; i++, wire = sf_wire_next(wire)) {
        struct group *group = group_of(write, &group_count, wire);
        flat[i] = wire;
        write->chains[i] = NO_WIRE;
        if (group->first == NO_WIRE)
            group->first = i;
        else
            write->chains[group->last] = i;
        group->last = i;
    }
    write->wire_count = 0;
    for (uint32_t g = 0; g < group_count; g++)
        for (uint32_t i = write->groups[g].first; i != NO_WIRE; i = write->chains[i])
            write->wires[write->wire_count++] = flat[i];
    assert(write->wire_count == block->count);
    write->written = 0;
    write->is_begun = true;
}

static struct sf_slice slice(const uint8_t *data, uint32_t len)
{
    if (len == SF_WIRE_NULL) return (struct sf_slice){NULL, 0};
    return (struct sf_slice){data, len};
}

/* The records from `written` on that share a partition, at most `cap`; how many were taken. */
static uint32_t write_run(struct sf_commit_write *write, struct sf_producer producer, uint32_t cap)
{
    struct sf_out outs[SF_COMMIT_WRITE_RUN];
    const struct sf_wire *head = write->wires[write->written];
    uint32_t count = 0;
    if (cap > SF_COMMIT_WRITE_RUN) cap = SF_COMMIT_WRITE_RUN;
    while (count < cap && write->written + count < write->wire_count) {
        const struct sf_wire *wire = write->wires[write->written + count];
        if (wire->target != head->target || wire->hash != head->hash) break;
        outs[count++] = (struct sf_out){.key = slice(sf_wire_key(wire), wire->key_len),
                                        .value = slice(sf_wire_value(wire), wire->value_len),
                                        .headers = slice(sf_wire_headers(wire), wire->headers_len),
                                        .ts_ms = wire->ts_ms};
    }
    struct sf_tp tp = {.topic = write->targets->items[head->target].topic, .partition = (int32_t)head->hash};
    return sf_producer_write(producer, tp, outs, count);
}

static bool copy_to_persist(struct sf_commit_write *write, uint32_t generation, const struct sf_msg *msg)
{
    if (write->to_persist == NULL || msg->flags != SF_OUT_CHANGES) return true;
    struct sf_block *copy = msg->block->used > write->to_persist->block_bytes
                                ? sf_edge_take_extra(write->to_persist, msg->block->used)
                                : sf_edge_take(write->to_persist);
    if (copy == NULL) return false;
    memcpy(copy->data, msg->block->data, msg->block->used);
    copy->used = msg->block->used;
    copy->count = msg->block->count;
    sf_edge_push(write->to_persist, &(struct sf_msg){.kind = SF_MSG_OUT,
                                                     .flags = SF_OUT_CHANGES,
                                                     .generation = generation,
                                                     .epoch = msg->epoch,
                                                     .block = copy});
    return true;
}

uint32_t sf_commit_write_block(struct sf_commit_write *write, struct sf_producer producer, uint32_t generation,
                               const struct sf_msg *msg, uint32_t budget)
{
    uint32_t used = 0;
    if (!write->is_begun) {
        if (!copy_to_persist(write, generation, msg)) return 0;
        begin_block(write, msg->block);
    }
    while (used < budget && write->written < write->wire_count) {
        uint32_t taken = write_run(write, producer, budget - used);
        if (taken == 0) break;
        write->written += taken;
        used += taken;
    }
    return used;
}

bool sf_commit_write_is_block_done(const struct sf_commit_write *write)
{
    return write->is_begun && write->written == write->wire_count;
}

void sf_commit_write_next_block(struct sf_commit_write *write)
{
    sf_commit_write_clear(write);
}

void sf_commit_write_positions(struct sf_commit_write *write, const struct sf_position *positions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 0;
        while (at < write->position_count && (write->positions[at].tp.topic != positions[i].tp.topic ||
                                              write->positions[at].tp.partition != positions[i].tp.partition))
            at++;
        if (at == write->position_count) {
            if (write->position_count == write->position_capacity) {
                uint32_t capacity = write->position_capacity == 0 ? 16 : write->position_capacity * 2;
                size_t old = write->position_capacity * sizeof *write->positions;
                write->positions = sf_regrow(write->alloc, write->positions, old, old,
                                             capacity * sizeof *write->positions);
                write->position_capacity = capacity;
            }
            write->position_count++;
        }
        write->positions[at] = positions[i];
    }
}

static void send_positions(struct sf_commit_write *write, uint32_t generation, uint64_t epoch)
{
    uint32_t at_most = write->to_persist->block_bytes / (uint32_t)sizeof(struct sf_position);
    uint32_t sent = 0;
    while (sent < write->position_count) {
        struct sf_block *block = sf_edge_take(write->to_persist);
        if (block == NULL) break;
        uint32_t count = write->position_count - sent < at_most ? write->position_count - sent : at_most;
        block->used = count * (uint32_t)sizeof(struct sf_position);
        block->count = count;
        memcpy(block->data, write->positions + sent, block->used);
        sent += count;
        sf_edge_push(write->to_persist, &(struct sf_msg){.kind = SF_MSG_OUT,
                                                         .flags = SF_OUT_POSITIONS,
                                                         .generation = generation,
                                                         .epoch = epoch,
                                                         .block = block});
    }
    memmove(write->positions, write->positions + sent, (write->position_count - sent) * sizeof *write->positions);
    write->position_count -= sent;
}

void sf_commit_write_settle(struct sf_commit_write *write, uint32_t generation)
{
    if (write->to_persist == NULL || write->owed_epoch == 0) return;
    if (write->position_count > 0) send_positions(write, generation, write->owed_epoch);
    struct sf_block *carrier = sf_edge_take(write->to_persist); /* bounds how many COMMITTED are under way */
    if (carrier == NULL) return;
    sf_edge_push(write->to_persist, &(struct sf_msg){.kind = SF_MSG_COMMITTED,
                                                     .generation = generation,
                                                     .epoch = write->owed_epoch,
                                                     .block = carrier});
    write->owed_epoch = 0;
}

void sf_commit_write_committed(struct sf_commit_write *write, uint32_t generation, uint64_t epoch,
                               const struct sf_position *positions, uint32_t count)
{
    if (write->to_persist == NULL) return;
    sf_commit_write_positions(write, positions, count);
    write->owed_epoch = epoch;
    sf_commit_write_settle(write, generation);
}
