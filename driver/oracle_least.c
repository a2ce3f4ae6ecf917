/*
 * At-least-once after a crash or a fall-back: rows may come twice, and what a window holds may have been counted twice,
 * so nothing is known of its values and of how often a row comes. But none may be missing (X6): what an epoch that has
 * committed gives is among all rows that were ever written, by its topic, key and window; one that is no window's
 * result by its topic, key and value, where the model knows the value.
 */
#include <string.h>

#include "core/hash.h"
#include "driver/oracle_parts.h"

#define WINDOW "{\"window\":{"

static bool is_window(struct sf_slice value)
{
    size_t head = sizeof WINDOW - 1;
    return value.data != NULL && value.len >= head && memcmp(value.data, WINDOW, head) == 0;
}

/* Not 0. */
static uint64_t hash_of(uint32_t topic, struct sf_slice key, struct sf_slice value)
{
    const uint8_t *end = is_window(value) ? memchr(value.data, '}', value.len) : NULL;
    if (end != NULL) value.len = (uint32_t)(end - value.data);
    uint64_t words[] = {topic, key.data != NULL ? sf_hash64(key.data, key.len) : 1,
                        value.data != NULL ? sf_hash64(value.data, value.len) : 1};
    uint64_t hash = sf_hash64(words, sizeof words);
    return hash != 0 ? hash : 1;
}

static bool find(const struct sfi_oracle_least *least, uint64_t hash, uint32_t *at_out)
{
    uint32_t at = (uint32_t)(hash >> 20) & (least->seen_capacity - 1);
    while (least->seen[at] != 0 && least->seen[at] != hash) at = (at + 1) & (least->seen_capacity - 1);
    *at_out = at;
    return least->seen[at] == hash;
}

static void grow_seen(struct sfi_oracle *oracle)
{
    struct sfi_oracle_least old = oracle->least;
    struct sfi_oracle_least *least = &oracle->least;
    least->seen_capacity = old.seen_capacity == 0 ? 256 : old.seen_capacity * 2;
    least->seen = sf_calloc(oracle->alloc, least->seen_capacity, sizeof *least->seen);
    for (uint32_t i = 0; i < old.seen_capacity; i++) {
        uint32_t at;
        if (old.seen[i] == 0) continue;
        (void)find(least, old.seen[i], &at);
        least->seen[at] = old.seen[i];
    }
    sf_free(oracle->alloc, old.seen, old.seen_capacity * sizeof *old.seen);
}

void sfi_oracle_least_wrote(struct sfi_oracle *oracle, uint32_t topic, const struct sfi_oracle_content *content)
{
    struct sfi_oracle_least *least = &oracle->least;
    uint64_t hash = hash_of(topic, content->key, content->value);
    uint32_t at;
    if (oracle->is_exactly_once) return;
    if ((least->seen_count + 1) * 2 > least->seen_capacity) grow_seen(oracle);
    if (find(least, hash, &at)) return;
    least->seen[at] = hash;
    least->seen_count++;
}

void sfi_oracle_least_owe(struct sfi_oracle *oracle, uint32_t topic, const struct sfi_oracle_content *content)
{
    struct sfi_oracle_least *least = &oracle->least;
    uint64_t hash = hash_of(topic, content->key, content->value);
    uint32_t at;
    if (!oracle->is_loose || (!is_window(content->value) && !oracle->sinks[topic].is_exact)) return;
    if (least->seen_capacity > 0 && find(least, hash, &at)) return;
    if (least->owed_count == least->owed_capacity) {
        uint32_t capacity = least->owed_capacity == 0 ? 64 : least->owed_capacity * 2;
        size_t item = sizeof *least->owed;
        least->owed = sf_regrow(oracle->alloc, least->owed, least->owed_capacity * item, least->owed_count * item,
                                capacity * item);
        least->owed_capacity = capacity;
    }
    struct sfi_oracle_owed *owed = &least->owed[least->owed_count++];
    struct sf_text text;
    owed->hash = hash;
    sf_text_init(&text, owed->words, sizeof owed->words);
    sf_text_add_json(&text, (const char *)content->key.data, content->key.len);
    sf_text_add(&text, " ");
    sf_text_add_bytes(&text, (const char *)content->value.data, content->value.len);
}

void sfi_oracle_least_check(struct sfi_oracle *oracle)
{
    const struct sfi_oracle_least *least = &oracle->least;
    for (uint32_t i = 0; i < least->owed_count && !oracle->is_broken; i++) {
        uint32_t at;
        if (least->seen_capacity == 0 || !find(least, least->owed[i].hash, &at))
            sfi_oracle_say(oracle, "X6", "at-least-once: no row is missing", least->owed[i].words,
                           "no row of this key and window, or value");
    }
}

void sfi_oracle_least_deinit(struct sfi_oracle *oracle)
{
    struct sfi_oracle_least *least = &oracle->least;
    sf_free(oracle->alloc, least->seen, least->seen_capacity * sizeof *least->seen);
    sf_free(oracle->alloc, least->owed, least->owed_capacity * sizeof *least->owed);
    *least = (struct sfi_oracle_least){0};
}
