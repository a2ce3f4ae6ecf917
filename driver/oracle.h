/*
 * Oracle: judges a run by the invariants of spec.md (X1–X13, X15), step by step, as a set of checks (driver/checks.h).
 *
 *     options.checks = sf_driver_oracle();
 *
 * What it goes by is not what the engine believes but what the world saw: what each instance was given and dispatched,
 * in which order (observer), which transactions the coordinator decided, which bytes lie in the logs (the broker).
 *
 *     buffered ──> dispatched ──> fixed ─────────> decided ──────────────> model
 *     against      against D2,    against B1, B3   whose epoch is it,      rows, changelog, stamps, offsets and
 *     the log      T4, own W      own W (X2)       X12, X15                frontiers of that one transaction
 *
 * An epoch is fed to the model (driver/model.h) when its transaction is decided, never before; a crash, an abort or a
 * take-over leaves nothing to undo. So what a transaction must contain is computed from committed epochs alone.
 *
 * Verified history is dropped: memory is what is open (windows, undecided epochs, buffers).
 *
 * Under at-least-once there is no transaction: an epoch is committed with the group's offsets. After a crash or a fall
 * back only "no row is missing" is judged.
 *
 * Threading: one run, one thread. Nothing of the run is changed.
 */
#ifndef SF_DRIVER_ORACLE_H
#define SF_DRIVER_ORACLE_H

#include "driver/checks.h"

/* Static; stateless: each run's state comes from `open`. */
const struct sf_driver_checks_ops *sf_driver_oracle(void);

#endif
