#include "sim/sched_rules.h"

#include <assert.h>
#include <string.h>

static void set_name(struct sfi_rule_name *rule, uint32_t instance_id, const char *name)
{
    size_t len = strlen(name);
    assert(len > 0 && len < SF_SIM_RULE_NAME_BYTES);
    rule->instance_id = instance_id;
    memset(rule->text, 0, sizeof rule->text);
    memcpy(rule->text, name, len);
}

static bool names(const struct sfi_rule_name *rule, uint32_t instance_id, const char *task_name)
{
    if (rule->instance_id != 0 && rule->instance_id != instance_id) return false;
    size_t len = strlen(rule->text);
    if (len > 0 && rule->text[len - 1] == '*') return strncmp(rule->text, task_name, len - 1) == 0;
    return strcmp(rule->text, task_name) == 0;
}

uint32_t sfi_rules_add_hold(struct sfi_rules *rules, uint32_t instance_id, const char *name, int64_t from_us,
                            int64_t until_us, int64_t now_us)
{
    assert(from_us <= until_us);
    for (uint32_t i = 0; i < SF_SIM_HOLDS_MAX; i++) {
        struct sfi_hold *hold = &rules->holds[i];
        if (hold->until_us > now_us) continue;
        set_name(&hold->name, instance_id, name);
        hold->from_us = from_us;
        hold->until_us = until_us;
        return i;
    }
    assert(false && "more than SF_SIM_HOLDS_MAX holds at once");
    return SF_SIM_HOLDS_MAX;
}

void sfi_rules_add_cost(struct sfi_rules *rules, uint32_t instance_id, const char *name, int64_t step_ns,
                        int64_t unit_ns)
{
    assert(step_ns >= 0 && unit_ns >= 0);
    assert(rules->cost_count < SF_SIM_COSTS_MAX);
    struct sfi_cost *cost = &rules->costs[rules->cost_count];
    set_name(&cost->name, instance_id, name);
    cost->step_ns = step_ns;
    cost->unit_ns = unit_ns;
    rules->cost_count++;
}

uint64_t sfi_rules_holds_of(const struct sfi_rules *rules, uint32_t instance_id, const char *task_name)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < SF_SIM_HOLDS_MAX; i++)
        if (rules->holds[i].name.text[0] != '\0' && names(&rules->holds[i].name, instance_id, task_name))
            bits |= UINT64_C(1) << i;
    return bits;
}

int64_t sfi_rules_held_until(const struct sfi_rules *rules, uint64_t bits, int64_t now_us)
{
    int64_t until_us = now_us;
    for (uint32_t i = 0; bits != 0; i++, bits >>= 1) {
        if ((bits & 1) == 0) continue;
        const struct sfi_hold *hold = &rules->holds[i];
        if (hold->from_us <= now_us && hold->until_us > until_us) until_us = hold->until_us;
    }
    return until_us;
}

const struct sfi_cost *sfi_rules_cost_of(const struct sfi_rules *rules, uint32_t instance_id, const char *task_name)
{
    for (uint32_t i = rules->cost_count; i-- > 0;)
        if (names(&rules->costs[i].name, instance_id, task_name)) return &rules->costs[i];
    return NULL;
}
