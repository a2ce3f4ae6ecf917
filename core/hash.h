/*
 * Hash: XXH3 (64 bits) is ours and fixed for an application's life (L2: key groups); murmur2 is Kafka's Java
 * clients' and decides partitions (K12, K13). Both depend on the bytes alone.
 *
 *     key "user-7"  ->  sf_hash64 -> key group (0 … 127) -> lane          who works on it here
 *                   ->  sf_murmur2 -> partition                           where a record with it is written
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_HASH_H
#define SF_CORE_HASH_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define SF_KEY_GROUPS 128u

/* XXH3-64 of the bytes; data may be NULL where len is 0. */
uint64_t sf_hash64(const void *data, size_t len);

/* Kafka's Utils.murmur2 (seed 0x9747b28c), as the Java clients compute it. */
uint32_t sf_murmur2(const void *data, size_t len);

/* K12: the partition of a key that is not null. */
static inline int32_t sf_partition_of_key(const void *data, size_t len, int32_t partition_count)
{
    assert(partition_count > 0);
    return (int32_t)((sf_murmur2(data, len) & 0x7fffffffu) % (uint32_t)partition_count);
}

/* L2: the key group of a key hash, and the lane that owns it among `lane_count` <= 128. */
static inline uint32_t sf_key_group(uint64_t hash)
{
    return (uint32_t)(hash % SF_KEY_GROUPS);
}

static inline uint32_t sf_lane_of_hash(uint64_t hash, uint32_t lane_count)
{
    assert(lane_count > 0 && lane_count <= SF_KEY_GROUPS);
    return sf_key_group(hash) % lane_count;
}

#endif
