#include "core/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t sf_hash64(const void *data, size_t len)
{
    return XXH3_64bits(len > 0 ? data : "", len);
}

uint32_t sf_murmur2(const void *data, size_t len)
{
    const uint32_t m = 0x5bd1e995u;
    const uint8_t *p = data;
    uint32_t h = 0x9747b28cu ^ (uint32_t)len;
    for (; len >= 4; p += 4, len -= 4) {
        uint32_t k = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        k *= m;
        k ^= k >> 24;
        k *= m;
        h = h * m ^ k;
    }
    if (len == 3) h ^= (uint32_t)p[2] << 16;
    if (len >= 2) h ^= (uint32_t)p[1] << 8;
    if (len >= 1) h = (h ^ p[0]) * m;
    h ^= h >> 13;
    h *= m;
    return h ^ h >> 15;
}
