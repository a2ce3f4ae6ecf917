/*
 * The simulated world: seed, virtual time, events, memory, and the instances (processes) that live in it.
 *
 * Time. `mono` starts far from 0 at a seeded value, advances only here and never goes back (clock.h); `wall` is mono
 * plus an offset that a fault may move. Nothing polls: the world jumps to the next event.
 *
 *     while (there is something to do) {
 *         sf_sim_world_run_due(world);                    // what is due at this instant
 *         ... run the tasks that are runnable ...
 *         sf_sim_world_advance(world, next deadline of a task);  // at most to the next event
 *     }
 *
 * Instances. All that a process does to the outside is a *command*, numbered per instance from 1 (sf_sim_command):
 * the places where a crash can fall. A crash plan names one command and how far it gets:
 *
 *     GIVEN    it is swallowed like all later ones
 *     SENT     it is on the wire when the process dies; no answer is read
 *     APPLIED  it took effect, then the process dies before the answer
 *
 * The client models and the simulated store ask for the fate of each command and call sf_sim_instance_kill at the
 * moment it says. A kill may also come from anywhere else, a note hook for one. After it the instance is a corpse:
 * every command of it is swallowed, its clients report nothing; its memory stays until sf_sim_instance_destroy.
 * A frozen instance (SIGSTOP, a long pause of a virtual machine) sends nothing and hears nothing until it thaws.
 *
 * Threading: one thread.
 */
#ifndef SF_SIM_WORLD_H
#define SF_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/io/clock.h"
#include "core/mem.h"
#include "sim/events.h"
#include "sim/heap.h"

#define SF_SIM_INSTANCE_HOOKS_MAX 8u
#define SF_SIM_COMMAND_NONE 0u

/* code, word: the effect boundaries of an instance. */
#define SF_SIM_COMMAND_LIST(X)                                                                     \
    X(SF_SIM_COMMAND_INIT, "init")                                                                 \
    X(SF_SIM_COMMAND_WRITE, "write")                                                               \
    X(SF_SIM_COMMAND_OFFSETS, "offsets")                                                           \
    X(SF_SIM_COMMAND_COMMIT, "commit")                                                             \
    X(SF_SIM_COMMAND_ABORT, "abort")                                                               \
    X(SF_SIM_COMMAND_FLUSH, "flush")                                                               \
    X(SF_SIM_COMMAND_JOIN, "join")                                                                 \
    X(SF_SIM_COMMAND_YIELD, "yield")                                                               \
    X(SF_SIM_COMMAND_LEAVE, "leave")                                                               \
    X(SF_SIM_COMMAND_ADMIN_CREATE, "admin create")                                                 \
    X(SF_SIM_COMMAND_ADMIN_COMMIT, "admin commit")                                                 \
    X(SF_SIM_COMMAND_ADMIN_TRUNCATE, "admin truncate")                                             \
    X(SF_SIM_COMMAND_STORE_WRITE, "store write")                                                   \
    X(SF_SIM_COMMAND_STORE_OTHER, "store other")

enum sf_sim_command_kind {
#define SF_SIM_COMMAND_ENUM(code, word) code,
    SF_SIM_COMMAND_LIST(SF_SIM_COMMAND_ENUM)
#undef SF_SIM_COMMAND_ENUM
    SF_SIM_COMMAND_COUNT
};

const char *sf_sim_command_word(enum sf_sim_command_kind kind);

/* What becomes of one command. */
enum sf_sim_fate {
    SF_SIM_FATE_NORMAL,
    SF_SIM_FATE_SWALLOW,     /* the instance is dead: do nothing, answer nothing */
    SF_SIM_FATE_DIE_SENT,    /* kill the instance when this is sent; the effect still comes */
    SF_SIM_FATE_DIE_APPLIED  /* kill the instance right after the effect */
};

enum sf_sim_crash_stage { SF_SIM_CRASH_GIVEN, SF_SIM_CRASH_SENT, SF_SIM_CRASH_APPLIED };

struct sf_sim_instance;

/* What models do when an instance dies, freezes or is destroyed. Members may be NULL. */
struct sf_sim_instance_ops {
    void (*killed)(void *ctx, struct sf_sim_instance *instance);
    void (*frozen)(void *ctx, struct sf_sim_instance *instance, bool is_frozen);
    /* Free what is kept for it. */
    void (*destroyed)(void *ctx, struct sf_sim_instance *instance);
};

struct sf_sim_instance_hook {
    const struct sf_sim_instance_ops *ops;
    void *ctx;
};

/* One process. World-owned. Read the members; change them through functions. */
struct sf_sim_instance {
    struct sf_sim_world *world;
    struct sf_sim_instance *next; /* of the world, by id */
    uint32_t id;                  /* from 1, never reused */
    bool is_dead;
    bool is_frozen;
    int64_t frozen_at_us;
    uint64_t command_count;
    uint64_t crash_command; /* SF_SIM_COMMAND_NONE: no plan */
    enum sf_sim_crash_stage crash_stage;
    struct sf_sim_heap heap;      /* the engine's memory */
    uint32_t hook_count;
    struct sf_sim_instance_hook hooks[SF_SIM_INSTANCE_HOOKS_MAX];
};

struct sf_sim_world_config {
    uint64_t seed;
    int64_t wall_start_ms;
    bool is_fifo; /* an exact world: no seeded order of what falls on one instant */
    /* Sees each command before it is carried out, with its number; NULL for none. */
    void (*on_command)(void *ctx, const struct sf_sim_instance *instance, uint64_t number,
                       enum sf_sim_command_kind kind);
    void *on_command_ctx;
};

struct sf_sim_world {
    struct sf_sim_world_config config;
    uint64_t seed;
    int64_t start_us; /* mono at the first instant */
    int64_t mono_us;
    int64_t wall_offset_us; /* wall = mono + this */
    struct sf_sim_heap heap; /* the models' memory */
    struct sf_alloc alloc;
    struct sf_sim_events events;
    struct sf_sim_instance *instances;
    uint32_t instance_count; /* ever */
};

/* Caller's memory; not to be moved. */
void sf_sim_world_init(struct sf_sim_world *world, const struct sf_sim_world_config *config);
/* Models must have been destroyed before; instances that are left are destroyed. Asserts that no model leaks. */
void sf_sim_world_deinit(struct sf_sim_world *world);

/* Reads of virtual time. */
struct sf_clock sf_sim_world_clock(struct sf_sim_world *world);
static inline int64_t sf_sim_world_wall_ms(const struct sf_sim_world *world)
{
    int64_t us = world->mono_us + world->wall_offset_us;
    return us >= 0 ? us / 1000 : -((-us + 999) / 1000);
}
/* Microseconds since the first instant. */
static inline int64_t sf_sim_world_elapsed_us(const struct sf_sim_world *world)
{
    return world->mono_us - world->start_us;
}

/* T3: the wall clock alone. */
void sf_sim_world_wall_jump(struct sf_sim_world *world, int64_t delta_us);

/* `delay_us` >= 0 from now. */
uint64_t sf_sim_world_after(struct sf_sim_world *world, int64_t delay_us, uint64_t rank_key, sf_sim_event_fn *fn,
                            void *ctx);
bool sf_sim_world_cancel(struct sf_sim_world *world, uint64_t event_id);
int64_t sf_sim_world_next_us(const struct sf_sim_world *world);
/* Run what is due now; how many events. */
uint64_t sf_sim_world_run_due(struct sf_sim_world *world);
/* Move mono to the next event or to `limit_us`, whichever is first; runs nothing. False if that is no move. */
bool sf_sim_world_advance(struct sf_sim_world *world, int64_t limit_us);
/* Run every event up to and including `until_us` at its time and stop there. For tests without tasks. */
void sf_sim_world_run_until(struct sf_sim_world *world, int64_t until_us);

/* ---------------------------------------------------------------- instances */

struct sf_sim_instance *sf_sim_instance_new(struct sf_sim_world *world);
/* Also kills it. Frees what the models keep for it, then all of its own heap. */
void sf_sim_instance_destroy(struct sf_sim_instance *instance);
void sf_sim_instance_hook(struct sf_sim_instance *instance, const struct sf_sim_instance_ops *ops, void *ctx);
/* `ctx` is no more. */
void sf_sim_instance_unhook(struct sf_sim_instance *instance, const void *ctx);
struct sf_alloc sf_sim_instance_alloc(struct sf_sim_instance *instance);

/* From this moment nothing it does has an effect. Idempotent. May be called in the middle of a step. */
void sf_sim_instance_kill(struct sf_sim_instance *instance);
void sf_sim_instance_freeze(struct sf_sim_instance *instance, bool is_frozen);
/* One plan at a time; command numbers that have passed never come. */
void sf_sim_instance_crash_at(struct sf_sim_instance *instance, uint64_t command, enum sf_sim_crash_stage stage);
/* Number the command and say what becomes of it. */
enum sf_sim_fate sf_sim_command(struct sf_sim_instance *instance, enum sf_sim_command_kind kind);

#endif
