/*
 * At-least-once after a crash or a fall-back: rows may come twice and hold records twice, but none is missing (X6).
 *
 *     identity of a row   topic, key, and its window where its value begins with one, else its value
 *     seen                identities that were written, ever
 *     owed                identities that the model gave and that had not been written by then: judged at the end
 */
#include <string.h>

#include "core/hash.h"
#include "driver/oracle_parts.h"

#define WINDOW_TEXT "{\"window\":{"

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

uint64_t sfi_oracle_identity(uint32_t topic, const struct sfi_oracle_content *content)
{
    struct sf_slice value = content->value;
    size_t prefix = sizeof WINDOW_TEXT - 1;
    if (value.len > prefix && memcmp(value.data, WINDOW_TEXT, prefix) == 0) {
        const uint8_t *end = memchr(value.data, '}', value.len);
        if (end != NULL) value.len = (uint32_t)(end - value.data);
    }
    uint64_t hash = mix(topic + 1, content->key.data != NULL ? sf_hash64(content->key.data, content->key.len) : 1);
    hash = mix(hash, value.data != NULL ? sf_hash64(value.data, value.len) : 1);
    return hash != 0 ? hash : 1;
}

static uint32_t find(const struct sfi_oracle_set *set, uint64_t item)
{
    uint32_t at = (uint32_t)(item >> 16) & (set->capacity - 1);
    while (set->items[at] != 0 && set->items[at] != item) at = (at + 1) & (set->capacity - 1);
    return at;
}

static bool has(const struct sfi_oracle_set *set, uint64_t item)
{
    return set->capacity > 0 && set->items[find(set, item)] == item;
}

static void add(struct sfi_oracle *oracle, struct sfi_oracle_set *set, uint64_t item)
{
    if ((set->count + 1) * 2 > set->capacity) {
        struct sfi_oracle_set grown = {.capacity = set->capacity == 0 ? 256 : set->capacity * 2};
        grown.items = sf_calloc(oracle->alloc, grown.capacity, sizeof *grown.items);
        for (uint32_t i = 0; i < set->capacity; i++)
            if (set->items[i] != 0) grown.items[find(&grown, set->items[i])] = set->items[i];
        grown.count = set->count;
        sf_free(oracle->alloc, set->items, set->capacity * sizeof *set->items);
        *set = grown;
    }
    uint32_t at = find(set, item);
    set->count += set->items[at] == 0;
    set->items[at] = item;
}

void sfi_oracle_loose_seen(struct sfi_oracle *oracle, uint32_t topic, const struct sfi_oracle_content *content)
{
    if (!oracle->is_exactly_once) add(oracle, &oracle->seen, sfi_oracle_identity(topic, content));
}

void sfi_oracle_loose_expected(struct sfi_oracle *oracle, uint32_t topic, const struct sfi_oracle_content *content)
{
    if (!oracle->is_loose || !oracle->sinks[topic].is_exact) return;
    uint64_t item = sfi_oracle_identity(topic, content);
    if (!has(&oracle->seen, item)) add(oracle, &oracle->owed, item);
}

void sfi_oracle_loose_check(struct sfi_oracle *oracle)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < oracle->owed.capacity; i++)
        missing += oracle->owed.items[i] != 0 && !has(&oracle->seen, oracle->owed.items[i]);
    char words[SF_TEXT_INT_BYTES];
    if (missing > 0)
        sfi_oracle_say(oracle, "X6", "at-least-once, the whole run", "no row of the model is missing",
                       sf_text_of_int(words, missing));
}

void sfi_oracle_loose_deinit(struct sfi_oracle *oracle)
{
    sf_free(oracle->alloc, oracle->seen.items, oracle->seen.capacity * sizeof *oracle->seen.items);
    sf_free(oracle->alloc, oracle->owed.items, oracle->owed.capacity * sizeof *oracle->owed.items);
}
