#include "driver/oracle_heads.h"

bool sfi_oracle_is_ordered(const struct sfi_oracle *oracle)
{
    return oracle->world.plan->is_event_time || oracle->world.topology->settings.dispatch == SF_DISPATCH_ORDERED;
}

static bool is_before(const struct sfi_oracle_head *a, const struct sfi_oracle_head *b)
{
    return a->ts_ms != b->ts_ms ? a->ts_ms < b->ts_ms : a->tie < b->tie;
}

static void put(struct sfi_oracle_instance *instance, uint32_t at, struct sfi_oracle_head head)
{
    instance->heads[at] = head;
    instance->live[head.partition].heap_at = at;
}

static void rise(struct sfi_oracle_instance *instance, uint32_t at)
{
    struct sfi_oracle_head head = instance->heads[at];
    while (at > 0 && is_before(&head, &instance->heads[(at - 1) / 2])) {
        put(instance, at, instance->heads[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(instance, at, head);
}

static void sink(struct sfi_oracle_instance *instance, uint32_t at)
{
    struct sfi_oracle_head head = instance->heads[at];
    for (uint32_t child = 2 * at + 1; child < instance->head_count; child = 2 * at + 1) {
        bool is_right = child + 1 < instance->head_count &&
                        is_before(&instance->heads[child + 1], &instance->heads[child]);
        if (is_right) child++;
        if (!is_before(&instance->heads[child], &head)) break;
        put(instance, at, instance->heads[child]);
        at = child;
    }
    put(instance, at, head);
}

static void take_out(struct sfi_oracle_instance *instance, uint32_t at)
{
    instance->live[instance->heads[at].partition].heap_at = SFI_ORACLE_NONE;
    instance->head_count--;
    if (at == instance->head_count) return;
    put(instance, at, instance->heads[instance->head_count]);
    rise(instance, at);
    sink(instance, instance->live[instance->heads[at].partition].heap_at);
}

void sfi_oracle_heads_set(struct sfi_oracle_instance *instance, uint32_t p, bool has_head, int64_t ts_ms)
{
    uint32_t at = instance->live[p].heap_at;
    if (!has_head) {
        if (at != SFI_ORACLE_NONE) take_out(instance, at);
        return;
    }
    struct sfi_oracle_head head = {.ts_ms = ts_ms, .tie = instance->oracle->partitions[p].tie, .partition = p};
    if (at == SFI_ORACLE_NONE) {
        if (instance->head_count == instance->head_capacity) {
            uint32_t capacity = instance->head_capacity == 0 ? 16 : instance->head_capacity * 2;
            size_t item = sizeof *instance->heads;
            instance->heads = sf_regrow(instance->oracle->alloc, instance->heads, instance->head_capacity * item,
                                        instance->head_count * item, capacity * item);
            instance->head_capacity = capacity;
        }
        at = instance->head_count++;
    }
    put(instance, at, head);
    rise(instance, at);
    sink(instance, instance->live[p].heap_at);
}
