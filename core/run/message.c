#include "core/run/message.h"

struct sf_wire *sf_wire_append(struct sf_block *block, uint32_t key_len, uint32_t value_len, uint32_t headers_len)
{
    uint32_t bytes = sf_wire_bytes(key_len, value_len, headers_len);
    if (bytes > block->capacity - block->used) return NULL;
    struct sf_wire *wire = (struct sf_wire *)(void *)(block->data + block->used);
    memset((uint8_t *)wire + bytes - 8, 0, 8); /* padding is hashed */
    wire->key_len = key_len;
    wire->value_len = value_len;
    wire->headers_len = headers_len;
    block->used += bytes;
    block->count++;
    return wire;
}
