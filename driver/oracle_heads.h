/*
 * Heads: the oldest record of each partition that waits at an instance, smallest first: D2 as the oracle sees it.
 *
 *     heads   orders/0 @10   orders/1 @10   clicks/0 @12      first: orders/0 (time, topic bytes, partition)
 *
 * Threading: the oracle's.
 */
#ifndef SF_DRIVER_ORACLE_HEADS_H
#define SF_DRIVER_ORACLE_HEADS_H

#include "driver/oracle_parts.h"

/* D4: false where records leave in order of arrival. */
bool sfi_oracle_is_ordered(const struct sfi_oracle *oracle);
/* The head of partition `p` is now one of `ts_ms`, or it has none. O(log n). */
void sfi_oracle_heads_set(struct sfi_oracle_instance *instance, uint32_t p, bool has_head, int64_t ts_ms);

#endif
