#include "sim/sched_digest.h"

#include <xxhash.h>

void sf_sim_digest_buffer_init(struct sf_sim_digest_buffer *buffer, struct sf_alloc alloc)
{
    buffer->alloc = alloc;
    buffer->cap = 4096;
    buffer->bytes = sf_malloc(alloc, buffer->cap);
    buffer->len = sizeof(struct sf_sim_digest); /* the digest so far goes in front */
}

void sf_sim_digest_buffer_deinit(struct sf_sim_digest_buffer *buffer)
{
    sf_free(buffer->alloc, buffer->bytes, buffer->cap);
    buffer->bytes = NULL;
    buffer->len = buffer->cap = 0;
}

void sf_sim_digest_grow(struct sf_sim_digest_buffer *buffer, size_t len)
{
    size_t cap = buffer->cap;
    while (cap - buffer->len < len) cap *= 2;
    buffer->bytes = sf_regrow(buffer->alloc, buffer->bytes, buffer->cap, buffer->len, cap);
    buffer->cap = cap;
}

void sf_sim_digest_append(struct sf_sim_digest_buffer *buffer, const void *bytes, size_t len)
{
    if (len == 0) return;
    if (len > SF_SIM_DIGEST_BYTES_MAX) { /* a large payload counts by its hash */
        sf_sim_digest_append_u64(buffer, XXH3_64bits(bytes, len));
        return;
    }
    if (buffer->cap - buffer->len < len) sf_sim_digest_grow(buffer, len);
    memcpy(buffer->bytes + buffer->len, bytes, len);
    buffer->len += len;
}

void sf_sim_digest_fold(struct sf_sim_digest *digest, struct sf_sim_digest_buffer *buffer)
{
    memcpy(buffer->bytes, digest->bytes, sizeof digest->bytes);
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(buffer->bytes, buffer->len));
    memcpy(digest->bytes, canonical.digest, sizeof digest->bytes);
    buffer->len = sizeof(struct sf_sim_digest);
}
