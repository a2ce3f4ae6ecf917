/*
 * What the two halves of the simulated scheduler share: sim/sched.c (who is there) and sim/sched_run.c (who steps).
 * Private to sim; the model is in sim/sched.h.
 */
#ifndef SF_SIM_SCHED_PARTS_H
#define SF_SIM_SCHED_PARTS_H

#include "sim/sched.h"
#include "sim/sched_rules.h"

struct sfi_seat;

/* Tasks of one home run one after the other: the home is busy for the cost of each step. Linked by: seat. */
struct sfi_home {
    struct sfi_home *next;
    uint32_t number;
    int64_t busy_until_us;
    int64_t carried_ns; /* 0 … 999: cost that was less than a microsecond */
};

/* A live task. Linked by: sf_sim_sched.live in spawn order, sf_sim_sched.by_index. */
struct sfi_task_slot {
    struct sf_task *task;
    struct sfi_seat *seat;
    struct sfi_home *home;
    uint32_t index;  /* in by_index */
    char name[SF_SIM_RULE_NAME_BYTES]; /* a copy, cut to what fits: the task may be gone when somebody asks */
    uint64_t entity; /* key of draws: instance, name, how many of that name before */
    uint64_t order_draws; /* sf_sim_draws of the entity, by what is drawn */
    uint64_t budget_draws;
    uint64_t late_draws;
    uint64_t *limit_draws; /* by port, limit_count of them; none where no limits are drawn */
    uint32_t limit_count;
    uint64_t step_count;
    bool is_ready;   /* has news or a deadline that came */
    uint64_t rank;   /* while ready: smallest runs first */
    uint64_t priority;
    int64_t wake_us; /* INT64_MAX: no deadline */
    uint64_t hold_bits;
    int64_t step_ns, unit_ns;
    int64_t last_us, last_wall_ms; /* of its step before; for the digest */
    struct sf_sim_digest digest;
};

/* What one instance has here. Linked by: sf_sim_sched.seats. */
struct sfi_seat {
    struct sfi_seat *next;
    struct sf_sim_sched *sched; /* NULL: destroyed before the instance was */
    struct sf_sim_instance *instance;
    struct sf_alloc alloc;
    struct sfi_home *homes;
};

struct sf_sim_sched {
    struct sf_sim_world *world;
    struct sf_sim_sched_config config;
    struct sf_alloc alloc;
    struct sfi_rules rules;
    struct sfi_seat *seats;
    struct sfi_task_slot *live[SF_TASK_COUNT_MAX]; /* spawn order */
    uint32_t live_count;
    struct sfi_task_slot *by_index[SF_TASK_COUNT_MAX];
    uint32_t generations[SF_TASK_COUNT_MAX];
    uint32_t index_hint;
    uint64_t spawn_count;
    uint64_t ready_count;
    uint64_t step_count;
    uint64_t change_at[SF_SIM_SCHED_DEPTH_MAX]; /* PRIORITY: at which step a priority drops */
    struct sfi_task_slot *running;
    bool is_in_step; /* false in on_step, while `running` is still set */
    struct sfi_task_slot *last;             /* who stepped last; NULL: gone, or nobody yet */
    char last_name[SF_SIM_RULE_NAME_BYTES]; /* its name, if it is gone */
    uint32_t budget; /* of the running step */
    uint32_t limits[SF_SIM_SCHED_PORTS_MAX];
    struct sf_notes notes;
    struct sf_sim_digest_buffer buffer;
    struct sf_sim_digest ended; /* tasks that are gone */
};

/* The task has news or its deadline has come; ranks it among those that are ready. Idempotent. */
void sfi_sched_make_ready(struct sf_sim_sched *sched, struct sfi_task_slot *slot);
/* Forgets live[position]. Does not touch the task: its memory may be gone. */
void sfi_sched_drop(struct sf_sim_sched *sched, uint32_t position);
void sfi_sched_drop_all_of(struct sf_sim_sched *sched, const struct sfi_seat *seat);

#endif
