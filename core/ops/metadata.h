/*
 * Metadata: what is committed beside a source offset (K7), in Kafka Streams' format, so that its tools and a job that
 * moves from it read and leave the same.
 *
 *     base64( version byte 2 | largest event time of the partition, be64 )      e.g. AgAAAaDIjtkA
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_OPS_METADATA_H
#define SF_CORE_OPS_METADATA_H

#include <stddef.h>
#include <stdint.h>

#include "core/time/event_time.h"

#define SF_METADATA_TEXT_BYTES 12u

/* SF_TIME_UNSET is written as -1, "unknown". Not terminated. */
void sf_metadata_encode(int64_t partition_time_ms, char text_out[SF_METADATA_TEXT_BYTES]);

/* The partition's time, or SF_TIME_UNSET for whatever is not one: no metadata (text NULL or len 0), another version,
 * not base64, -1, a time that T4 refuses. Versions 1 and 2; bytes behind the time are ignored. */
int64_t sf_metadata_decode(const char *text, size_t len);

#endif
