/*
 * Local layout: how rows, positions and the format stand in the one local store of an instance (core/io/store.h).
 *
 *     unit      store be16 | window start be64 | key group u8, then
 *       row     00 | record key                     value as in the changelog (K5: a row's)
 *       trace   01 | kind u8 | slot be32            count of entries be32
 *     meta      FF FF "format"                      version u8 | identity be64
 *               FF FF "pos" topic 00 partition be32     next offset of that changelog partition, be64
 *
 *     store 3, window 256, key "a" of group 5:     00 03  00 00 00 00 00 00 01 00  05  00  61
 *     its slot 2, of 7 entries:                    00 03  00 00 00 00 00 00 01 00  05  01  00  00 00 00 02
 *
 * Time first: windows that open and close together lie together, and starts are in order because they are big-endian
 * (case 107). Everything in front of a record key has a fixed length, so a key that is a prefix of another disturbs
 * nobody (K10, case 106): a row is found by its whole key, and ranges end on fixed parts only.
 *
 * Traces are those of the packed changelog (core/state/packed.h): one for each of a unit's records that the log holds,
 * which is every record that no null has followed. They say what a lane needs to write on where the log stands: the
 * next slot, the oldest one that no image covers, the parts of the image. Written and taken away as the records are,
 * they are at any position what replaying the log up to there would have given. A unit's rows stand before its traces.
 *
 * The identity is a hash of what gives the rows their meaning: a store of another application, or of the same one with
 * other windows or fields, is recognised and rebuilt, never read.
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_STATE_LOCAL_LAYOUT_H
#define SF_CORE_STATE_LOCAL_LAYOUT_H

#include "core/io/kafka.h"
#include "core/io/store.h"
#include "core/state/packed.h"
#include "core/topo/topology.h"

#define SF_LOCAL_VERSION 2u
#define SF_LOCAL_STORES_MAX 0xfffeu
#define SF_LOCAL_UNIT_BYTES 11u     /* what all keys of a unit begin with */
#define SF_LOCAL_ROW_HEAD_BYTES 12u /* before the record key */
#define SF_LOCAL_TRACE_KEY_BYTES 17u
#define SF_LOCAL_TRACE_BYTES 4u
#define SF_LOCAL_KEY_BYTES_MAX (SF_STORE_KEY_BYTES_MAX - SF_LOCAL_ROW_HEAD_BYTES) /* longest record key */
#define SF_LOCAL_FORMAT_BYTES 9u
#define SF_LOCAL_POSITION_KEY_BYTES_MAX 272u /* topic names have 249 bytes at most */

struct sf_local_row {
    uint32_t store;
    int64_t start;
    uint32_t group;
    bool is_trace;
    struct sf_slice record_key;      /* a row's; data never NULL */
    struct sf_packed_key packed_key; /* a trace's: of its record */
};

/* Into SF_LOCAL_ROW_HEAD_BYTES + key_len bytes; how many. The group is that of `hash`, the record key's. */
uint32_t sf_local_row_key_write(uint8_t *out, uint32_t store, int64_t start, uint64_t hash, const uint8_t *record_key,
                                uint32_t key_len);
/* The trace of a packed record. */
void sf_local_trace_key_write(uint8_t out[SF_LOCAL_TRACE_KEY_BYTES], uint32_t store, const struct sf_packed_key *key);
/* False: neither row nor trace (meta, or damaged). */
bool sf_local_row_key_read(struct sf_store_slice key, struct sf_local_row *out);

/* A range, exclusive at its end. */
struct sf_local_range {
    uint8_t from[SF_LOCAL_UNIT_BYTES];
    uint8_t until[SF_LOCAL_UNIT_BYTES];
    uint32_t len; /* of both */
};

/* All of a store; of one window of it; of one unit, that is one key group of that window. */
struct sf_local_range sf_local_store_range(uint32_t store);
struct sf_local_range sf_local_window_range(uint32_t store, int64_t start);
struct sf_local_range sf_local_group_range(uint32_t store, int64_t start, uint32_t group);

/* Into SF_LOCAL_POSITION_KEY_BYTES_MAX bytes; how many. */
uint32_t sf_local_position_key_write(uint8_t *out, const char *topic, int32_t partition);
void sf_local_position_write(uint8_t out[8], int64_t offset);
/* The stored position of a changelog partition, SF_OFFSET_UNKNOWN if there is none. SF_E_CORRUPT, SF_E_IO. */
enum sf_status sf_local_position_get(struct sf_store store, const char *topic, int32_t partition,
                                     int64_t *offset_out);

struct sf_store_slice sf_local_format_key(void);
void sf_local_format_write(uint8_t out[SF_LOCAL_FORMAT_BYTES], uint64_t identity);
/* SF_OK: ours. SF_NOT_FOUND: an empty store. SF_E_EXISTS: of another application or format. SF_E_CORRUPT: rows without
 * a format. SF_E_IO. */
enum sf_status sf_local_format_check(struct sf_store store, uint64_t identity);

/* Of the application's id, the changelog format, and the stores: number, name, window size, fields. */
uint64_t sf_local_identity(const struct sf_topology *topology);

#endif
