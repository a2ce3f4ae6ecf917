/* Hashes depend on the bytes alone, not on where they lie, and what is derived from them is in range (L2, K12). */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/hash.h"

#define SHIFTED_BYTES_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t shifted[SHIFTED_BYTES_MAX + 8];
    if (size > SHIFTED_BYTES_MAX) return 0;
    for (size_t shift = 0; shift < 8; shift++) {
        memcpy(shifted + shift, data, size);
        assert(sf_murmur2(shifted + shift, size) == sf_murmur2(data, size));
        assert(sf_hash64(shifted + shift, size) == sf_hash64(data, size));
    }
    for (int32_t count = 1; count <= 64; count++) {
        int32_t partition = sf_partition_of_key(data, size, count);
        assert(partition >= 0 && partition < count);
        assert(sf_lane_of_hash(sf_hash64(data, size), (uint32_t)count) < (uint32_t)count);
    }
    return 0;
}
