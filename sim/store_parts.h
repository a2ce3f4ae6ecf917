/*
 * What the two halves of the simulated store share: sim/store.c (disks, opening, crashes) and sim/store_run.c (one open
 * store). Private to sim; the model is in sim/store.h.
 */
#ifndef SF_SIM_STORE_PARTS_H
#define SF_SIM_STORE_PARTS_H

#include "sim/store.h"
#include "sim/store_map.h"

struct sfi_store;

/* A store on the disk, open or not. Linked by: sf_sim_disk.entries, by age. */
struct sfi_store_entry {
    struct sfi_store_entry *next;
    struct sf_sim_disk *disk;
    char name[SF_SIM_STORE_NAME_BYTES];
    uint64_t entity; /* key of draws: the name it was made with */
    struct sfi_map map;
    uint64_t applied; /* batches ever */
    uint64_t durable; /* <= applied */
    uint64_t undurable_bytes; /* of what came since */
    uint64_t command_count;
    uint64_t crash_count;
    struct sfi_store *holder; /* NULL: nobody has it open */
    bool is_crashed; /* the holder died: what survived is decided when it is asked for */
    bool is_corrupt;
    bool is_sweep_owed; /* an open iterator kept a sweep from going as far as it could */
    bool is_aside;
};

/* What one instance has open on one disk. Linked by: sf_sim_disk.seats. */
struct sfi_store_seat {
    struct sfi_store_seat *next;
    struct sf_sim_disk *disk;
    struct sf_sim_instance *instance;
    struct sfi_store *stores;
};

struct sf_sim_disk {
    struct sf_sim_world *world;
    struct sf_sim_disk_config config;
    uint32_t faults;
    struct sfi_store_entry *entries;
    struct sfi_store_seat *seats;
};

struct sfi_store_command {
    enum sf_store_event_kind kind;
    uint64_t tag;
    const struct sf_store_op *ops; /* the caller's until the event */
    uint32_t count;
    char name[SF_SIM_STORE_NAME_BYTES]; /* of a checkpoint */
    bool is_last;                       /* the instance dies right after its effect */
};

/* Linked by: sfi_store.iters. */
struct sfi_store_iter {
    struct sfi_store_iter *next;
    struct sfi_store *store;
    struct sf_store_range range;
    uint64_t batch; /* sees the map as of this one */
    struct sfi_row *row;
    bool is_started;
    bool is_ended;
};

/* An open store. Linked by: sfi_store_seat.stores. Stays until closed or until its instance is destroyed. */
struct sfi_store {
    struct sfi_store *next;
    struct sfi_store_seat *seat;
    struct sfi_store_entry *entry; /* NULL: its instance is dead */
    struct sf_waker waker;
    uint64_t event_id;             /* of the world: when the first command is carried out */
    bool is_deferred;              /* its time came while the instance was frozen */
    bool is_failed;                /* no more writes */
    uint32_t command_first, command_count;
    struct sfi_store_command commands[SF_SIM_STORE_COMMANDS_MAX];
    uint32_t event_first, event_count;
    struct sf_store_event events[SF_SIM_STORE_COMMANDS_MAX];
    struct sfi_store_iter *iters;
};

extern const struct sf_store_ops sfi_store_ops;

/* A frozen instance goes on. */
void sfi_store_thaw(struct sfi_store *store);
/* Takes the store out of its seat and frees it with its iterators. */
void sfi_store_free(struct sfi_store *store);

struct sfi_store_entry *sfi_disk_find(struct sf_sim_disk *disk, const char *name);
struct sfi_store_entry *sfi_disk_add(struct sf_sim_disk *disk, const char *name);
/* Everything applied is durable from here on. */
void sfi_entry_harden(struct sfi_store_entry *entry);
void sfi_entry_sweep(struct sfi_store_entry *entry);

#endif
