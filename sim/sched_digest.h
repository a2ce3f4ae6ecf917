/*
 * Digest: a rolling 128-bit hash over what a task was given and what it did (X14).
 *
 *     digest(n+1) = XXH3-128(digest(n), everything appended since)
 *
 * What is appended is written field by field in little-endian order, so that neither padding nor the machine's byte
 * order counts. Times go in as differences: where virtual time starts does not count either. Compared per task, two
 * runs that differ show the first task and step where they do.
 *
 * Threading: none.
 */
#ifndef SF_SIM_SCHED_DIGEST_H
#define SF_SIM_SCHED_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "core/mem.h"

#define SF_SIM_DIGEST_BYTES_MAX (1u << 16) /* longer pieces count by their 64-bit hash */

struct sf_sim_digest {
    uint8_t bytes[16];
};

/* What is appended until the next fold. */
struct sf_sim_digest_buffer {
    struct sf_alloc alloc;
    uint8_t *bytes;
    size_t len;
    size_t cap;
};

void sf_sim_digest_buffer_init(struct sf_sim_digest_buffer *buffer, struct sf_alloc alloc);
void sf_sim_digest_buffer_deinit(struct sf_sim_digest_buffer *buffer);

void sf_sim_digest_append(struct sf_sim_digest_buffer *buffer, const void *bytes, size_t len);
/* Makes room for `len` bytes behind what there is. */
void sf_sim_digest_grow(struct sf_sim_digest_buffer *buffer, size_t len);

/* Several times per step: in place. */
static inline void sf_sim_digest_append_u64(struct sf_sim_digest_buffer *buffer, uint64_t value)
{
    if (buffer->cap - buffer->len < 8) sf_sim_digest_grow(buffer, 8);
    uint8_t *at = buffer->bytes + buffer->len;
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
    at[2] = (uint8_t)(value >> 16);
    at[3] = (uint8_t)(value >> 24);
    at[4] = (uint8_t)(value >> 32);
    at[5] = (uint8_t)(value >> 40);
    at[6] = (uint8_t)(value >> 48);
    at[7] = (uint8_t)(value >> 56);
    buffer->len += 8;
}

/* Folds what was appended into `digest` and empties the buffer. */
void sf_sim_digest_fold(struct sf_sim_digest *digest, struct sf_sim_digest_buffer *buffer);

#endif
