/*
 * Rules about tasks by name: who is held when, and what steps cost. Private to the simulated scheduler; the model is
 * in sim/sched.h.
 *
 * A task keeps a bit for each hold that names it (`sfi_holds_of`), so that the loop compares no strings.
 */
#ifndef SF_SIM_SCHED_RULES_H
#define SF_SIM_SCHED_RULES_H

#include <stdbool.h>
#include <stdint.h>

#define SF_SIM_HOLDS_MAX 64u
#define SF_SIM_COSTS_MAX 256u
#define SF_SIM_RULE_NAME_BYTES 96u

struct sfi_rule_name {
    uint32_t instance_id;               /* 0: any */
    char text[SF_SIM_RULE_NAME_BYTES]; /* with or without '*' at its end */
};

struct sfi_hold {
    struct sfi_rule_name name;
    int64_t from_us;  /* inclusive */
    int64_t until_us; /* exclusive; <= now: the place is free */
};

struct sfi_cost {
    struct sfi_rule_name name;
    int64_t step_ns;
    int64_t unit_ns;
};

/* All zero: no rules. */
struct sfi_rules {
    struct sfi_hold holds[SF_SIM_HOLDS_MAX];
    struct sfi_cost costs[SF_SIM_COSTS_MAX];
    uint32_t cost_count;
};

/* Returns the place it took, whose former hold has ended by now_us. */
uint32_t sfi_rules_add_hold(struct sfi_rules *rules, uint32_t instance_id, const char *name, int64_t from_us,
                            int64_t until_us, int64_t now_us);
void sfi_rules_add_cost(struct sfi_rules *rules, uint32_t instance_id, const char *name, int64_t step_ns,
                        int64_t unit_ns);

/* Bits of the places whose hold names the task. */
uint64_t sfi_rules_holds_of(const struct sfi_rules *rules, uint32_t instance_id, const char *task_name);
/* When the holds of `bits` that stand at now_us let go: the latest end; now_us if none stands. */
int64_t sfi_rules_held_until(const struct sfi_rules *rules, uint64_t bits, int64_t now_us);

/* The last cost that names the task, or NULL. */
const struct sfi_cost *sfi_rules_cost_of(const struct sfi_rules *rules, uint32_t instance_id, const char *task_name);

#endif
