/* Epochs that are dispatched and not yet decided: which records, in which order. */
#include <assert.h>

#include "driver/oracle_parts.h"

struct sfi_oracle_epoch *sfi_oracle_epoch_find(struct sfi_oracle_instance *instance, uint64_t number)
{
    for (struct sfi_oracle_epoch *epoch = instance->epochs; epoch != NULL; epoch = epoch->next)
        if (epoch->number == number) return epoch;
    return NULL;
}

struct sfi_oracle_epoch *sfi_oracle_epoch_get(struct sfi_oracle_instance *instance, uint64_t number)
{
    struct sfi_oracle *oracle = instance->oracle;
    if (instance->newest != NULL && instance->newest->number == number) return instance->newest;
    struct sfi_oracle_epoch *epoch = sfi_oracle_epoch_find(instance, number);
    if (epoch != NULL) return epoch;
    epoch = sf_malloc(oracle->alloc, sizeof *epoch);
    *epoch = (struct sfi_oracle_epoch){.number = number, .run = instance->run};
    epoch->counts = sf_calloc(oracle->alloc, oracle->world.topology->source_count, sizeof *epoch->counts);
    if (instance->newest == NULL)
        instance->epochs = epoch;
    else
        instance->newest->next = epoch;
    instance->newest = epoch;
    return epoch;
}

void sfi_oracle_epoch_add(struct sfi_oracle_instance *instance, struct sfi_oracle_epoch *epoch,
                          struct sfi_oracle_entry entry)
{
    if (epoch->count == epoch->capacity) {
        uint32_t capacity = epoch->capacity == 0 ? 256 : epoch->capacity * 2;
        epoch->entries = sf_regrow(instance->oracle->alloc, epoch->entries, epoch->capacity * sizeof *epoch->entries,
                                   epoch->count * sizeof *epoch->entries, capacity * sizeof *epoch->entries);
        epoch->capacity = capacity;
    }
    if (epoch->count == 0) epoch->begun_us = instance->oracle->world.world->mono_us;
    epoch->bytes += entry.copy->key.len + entry.copy->value.len;
    epoch->entries[epoch->count++] = entry;
}

static void free_epoch(struct sfi_oracle *oracle, struct sfi_oracle_epoch *epoch)
{
    for (uint32_t i = 0; i < epoch->count; i++) sfi_oracle_block_drop(oracle, epoch->entries[i].block, 1);
    sf_free(oracle->alloc, epoch->entries, epoch->capacity * sizeof *epoch->entries);
    sf_cfree(oracle->alloc, epoch->counts, oracle->world.topology->source_count, sizeof *epoch->counts);
    sf_free(oracle->alloc, epoch->offsets, epoch->offset_count * sizeof *epoch->offsets);
    sf_free(oracle->alloc, epoch, sizeof *epoch);
}

void sfi_oracle_epoch_free_first(struct sfi_oracle_instance *instance)
{
    struct sfi_oracle_epoch *epoch = instance->epochs;
    assert(epoch != NULL);
    instance->epochs = epoch->next;
    if (instance->epochs == NULL) instance->newest = NULL;
    free_epoch(instance->oracle, epoch);
}

void sfi_oracle_epochs_drop(struct sfi_oracle_instance *instance)
{
    while (instance->epochs != NULL) sfi_oracle_epoch_free_first(instance);
}
