/* A group's offsets: committed ones, and those that wait in transactions. */
#include "sim/kafka_group.h"

static struct sfi_offset *list_find(const struct sfi_offset_list *list, struct sf_tp tp, const struct sfi_txn *txn)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct sfi_offset *item = &list->items[i];
        if (item->tp.topic == tp.topic && item->tp.partition == tp.partition && item->txn == txn) return item;
    }
    return NULL;
}

static void item_clear(struct sf_alloc alloc, struct sfi_offset *item)
{
    sf_free(alloc, item->metadata, item->metadata_len + 1u);
    sfi_txn_unref(alloc, item->txn);
    item->metadata = NULL;
    item->txn = NULL;
}

static void list_put(struct sf_alloc alloc, struct sfi_offset_list *list, struct sfi_txn *txn,
                     const struct sf_offset_commit *commit)
{
    struct sfi_offset *item = list_find(list, commit->tp, txn);
    if (item == NULL) {
        if (list->count == list->cap) {
            uint32_t cap = list->cap == 0 ? 8 : list->cap * 2;
            list->items = sf_regrow(alloc, list->items, list->cap * sizeof *list->items,
                                    list->count * sizeof *list->items, cap * sizeof *list->items);
            list->cap = cap;
        }
        item = &list->items[list->count++];
        *item = (struct sfi_offset){.tp = commit->tp};
    }
    if (txn != NULL) sfi_txn_ref(txn);
    item_clear(alloc, item);
    item->txn = txn;
    item->offset = commit->offset;
    if (commit->metadata.data != NULL) {
        item->metadata_len = commit->metadata.len;
        item->metadata = sf_malloc(alloc, item->metadata_len + 1u);
        if (item->metadata_len > 0) memcpy(item->metadata, commit->metadata.data, item->metadata_len);
    }
}

static void commit_and_tell(struct sfi_group *group, const struct sf_offset_commit *commit, uint64_t txn_serial)
{
    list_put(group->broker->alloc, &group->committed, NULL, commit);
    const struct sf_sim_kafka_observer *observer = group->broker->observer;
    if (observer != NULL && observer->offset_committed != NULL)
        observer->offset_committed(observer->ctx, group->name, commit->tp, commit->offset, commit->metadata,
                                   txn_serial);
}

void sfi_offsets_commit(struct sfi_group *group, const struct sf_offset_commit *commit)
{
    commit_and_tell(group, commit, 0);
}

uint32_t sfi_offsets_strip(struct sfi_group *group)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->committed.count; i++) {
        struct sfi_offset *item = &group->committed.items[i];
        if (item->metadata_len == 0) continue;
        item_clear(group->broker->alloc, item);
        item->metadata_len = 0;
        count++;
    }
    return count;
}

void sfi_offsets_pend(struct sfi_group *group, struct sfi_txn *txn, const struct sf_offset_commit *commit)
{
    list_put(group->broker->alloc, &group->pending, txn, commit);
}

void sfi_offsets_end(struct sf_sim_kafka *broker, const struct sfi_txn *txn, bool is_commit)
{
    for (struct sfi_group *group = broker->groups; group != NULL; group = group->next) {
        struct sfi_offset_list *list = &group->pending;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < list->count; i++) {
            struct sfi_offset *item = &list->items[i];
            if (item->txn != txn) {
                list->items[kept++] = *item;
                continue;
            }
            if (is_commit)
                commit_and_tell(group, &(struct sf_offset_commit){
                    .tp = item->tp, .offset = item->offset,
                    .metadata = {.data = item->metadata, .len = item->metadata != NULL ? item->metadata_len : 0}},
                    txn->serial);
            item_clear(broker->alloc, item);
        }
        list->count = kept;
    }
}

const struct sfi_offset *sfi_offsets_find(const struct sfi_offset_list *list, struct sf_tp tp)
{
    for (uint32_t i = list->count; i > 0; i--) {
        const struct sfi_offset *item = &list->items[i - 1];
        if (item->tp.topic == tp.topic && item->tp.partition == tp.partition) return item;
    }
    return NULL;
}

static void list_free(struct sf_alloc alloc, struct sfi_offset_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) item_clear(alloc, &list->items[i]);
    sf_free(alloc, list->items, list->cap * sizeof *list->items);
    *list = (struct sfi_offset_list){0};
}

void sfi_offsets_free(struct sfi_group *group)
{
    list_free(group->broker->alloc, &group->committed);
    list_free(group->broker->alloc, &group->pending);
}
