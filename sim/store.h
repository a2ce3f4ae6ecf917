/*
 * Store of the simulated world: core/io/store.h over a disk that outlives processes.
 *
 *     disk  "counts"   rows, as of batch …  9  10  11  12
 *                      synced up to 9          (the caller was told)
 *                      durable up to 10        (drawn: a flush of its own accord)
 *                      applied up to 12        (reads see it)
 *     the process dies: the map is as of 10, 11 or 12, by a draw
 *
 * A disk belongs to a machine: a process that starts again gets the factory of the same disk, a standby elsewhere that
 * of another. A store that a living instance has open is SF_E_EXISTS for everybody else; a killed instance lets go at
 * once, a frozen one does not.
 *
 * Commands are carried out one after the other, each after its delay, and only between steps; so an iterator, which
 * lives within one step, could do with the map as it is. It keeps its version all the same: the contract does not
 * depend on when a batch is applied.
 *
 * In the middle of a step in which its instance died, reads find nothing and iterators end.
 *
 * Faults stand until they are cleared:
 *
 *     OPEN_CORRUPT   opening says SF_E_CORRUPT until the store is set aside or destroyed
 *     READ_IO        get and iterators say SF_E_IO
 *     WRITE_IO       write, sync and checkpoint events say SF_E_IO; the store takes no more writes
 *     LYING          a sync says yes and makes nothing durable: a crash may then lose what was synced. Breaks the
 *                    contract on purpose; only where a scenario asks for it
 *
 * Threading: one thread.
 */
#ifndef SF_SIM_STORE_H
#define SF_SIM_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/io/store.h"
#include "sim/world.h"

#define SF_SIM_DOMAIN_STORE_DELAY 32u
#define SF_SIM_DOMAIN_STORE_FLUSH 33u
#define SF_SIM_DOMAIN_STORE_CRASH 34u

#define SF_SIM_STORE_NAME_BYTES 128u
#define SF_SIM_STORE_COMMANDS_MAX 16u /* given and not yet polled; at most 4 of them writes */
#define SF_SIM_STORE_UNDURABLE_MAX 1024u /* batches; then a flush of its own accord, */
#define SF_SIM_STORE_UNDURABLE_BYTES (1u << 20) /* or so many bytes of keys and values */

enum sf_sim_disk_fault {
    SF_SIM_DISK_OPEN_CORRUPT = 1,
    SF_SIM_DISK_READ_IO = 2,
    SF_SIM_DISK_WRITE_IO = 4,
    SF_SIM_DISK_LYING = 8
};

struct sf_sim_disk_config {
    int64_t write_us_min, write_us_max; /* delay of a write, without its operations */
    int64_t op_ns;                      /* and per operation */
    int64_t sync_us_min, sync_us_max;   /* delay of a sync or checkpoint */
    uint32_t flush_per_million;         /* per batch: everything applied becomes durable by itself */
};

/* No delay, no flush but those asked for. A crash keeps a drawn prefix all the same. */
struct sf_sim_disk_config sf_sim_disk_config_exact(void);
/* Every knob drawn from the seed. */
struct sf_sim_disk_config sf_sim_disk_config_drawn(uint64_t seed);

struct sf_sim_disk;

/* Memory is the world's. */
struct sf_sim_disk *sf_sim_disk_new(struct sf_sim_world *world, const struct sf_sim_disk_config *config);
/* The instances that used it must have been destroyed. */
void sf_sim_disk_destroy(struct sf_sim_disk *disk);

/* The disk as `instance` sees it; valid until the instance is destroyed. Repeating it gives the same handle. */
struct sf_store_factory sf_sim_disk_factory(struct sf_sim_disk *disk, struct sf_sim_instance *instance);

/* Of every store of the disk; faults is a set of enum sf_sim_disk_fault, 0 clears all. */
void sf_sim_disk_set_faults(struct sf_sim_disk *disk, uint32_t faults);

/* For checks (X9): the rows of store `name` as reads see them, in order; false if there is no such store. A store
 * whose process died is taken back to what survived first. `on_row` must not touch the store. */
bool sf_sim_disk_each(struct sf_sim_disk *disk, const char *name,
                      void (*on_row)(void *ctx, struct sf_store_slice key, struct sf_store_slice value), void *ctx);

#endif
