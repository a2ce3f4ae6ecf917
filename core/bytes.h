/*
 * Bytes: big-endian integers, the one byte order of everything durable. Places need no alignment.
 *
 *     sf_put_be32(p, 258)      p: 00 00 01 02
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_BYTES_H
#define SF_CORE_BYTES_H

#include <stdint.h>

static inline void sf_put_be16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static inline void sf_put_be32(uint8_t *p, uint32_t v)
{
    sf_put_be16(p, (uint16_t)(v >> 16));
    sf_put_be16(p + 2, (uint16_t)v);
}

static inline void sf_put_be64(uint8_t *p, uint64_t v)
{
    sf_put_be32(p, (uint32_t)(v >> 32));
    sf_put_be32(p + 4, (uint32_t)v);
}

static inline uint16_t sf_get_be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t sf_get_be32(const uint8_t *p)
{
    return (uint32_t)sf_get_be16(p) << 16 | sf_get_be16(p + 2);
}

static inline uint64_t sf_get_be64(const uint8_t *p)
{
    return (uint64_t)sf_get_be32(p) << 32 | sf_get_be32(p + 4);
}

#endif
