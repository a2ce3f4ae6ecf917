/*
 * History: what happened in a run as lines of text with virtual times, for people and for golden tests.
 *
 *     +0.000s      input   orders/1@0 key a at 2026-09-22T10:00:00.000Z
 *     +0.200s      ingest  watermark 2026-09-22T09:59:30.000Z, held by orders/2
 *     +12.001s     ingest  orders/2 is idle
 *     +12.500s     ingest  barrier 4 stamped 2026-09-22T10:05:00.000Z
 *     +13.000s     output  order-counts/0 key a {"window":{...},"n":1} at 2026-09-22T10:00:00.000Z
 *
 * The second column is who: a task of the engine, `input`, `output` (a record, when its transaction commits), `world`
 * (a fault, a stop). Tasks of the second process and later ones carry its number: `2:ingest`.
 *
 * Threading: the run's.
 */
#ifndef SF_DRIVER_HISTORY_H
#define SF_DRIVER_HISTORY_H

#include "core/note.h"
#include "core/text.h"
#include "driver/checks.h"

enum sf_driver_history_level {
    SF_DRIVER_HISTORY_NONE,
    SF_DRIVER_HISTORY_PLAIN, /* watermarks, idleness, barriers, commits, windows, records in and out, faults */
    SF_DRIVER_HISTORY_ALL    /* every note */
};

struct sf_driver_history {
    enum sf_driver_history_level level;
    struct sf_text *text; /* growing */
    const struct sf_sim_world *world;
};

static inline bool sf_driver_history_is_on(const struct sf_driver_history *history)
{
    return history->level != SF_DRIVER_HISTORY_NONE;
}

/* Begins a line: time and who; the caller adds the rest to history->text and a "\n". Only while it is on. */
void sf_driver_history_begin(const struct sf_driver_history *history, uint32_t instance_id, const char *who);
void sf_driver_history_line(const struct sf_driver_history *history, const char *who, const char *words);

/* One note of a task; `engine` names partitions (NULL: numbers). */
void sf_driver_history_note(const struct sf_driver_history *history, const struct sf_driver_instance *instance,
                            const char *task, const struct sf_note *note);
/* A record with its place, key, value and time. */
void sf_driver_history_record(const struct sf_driver_history *history, const char *who, const char *topic,
                              int32_t partition, const struct sf_record *record, bool has_value);

/* A note's words with its numbers filled in. */
void sf_driver_note_text(struct sf_text *text, const struct sf_driver_instance *instance, const struct sf_note *note);
/* `orders/2`: a partition by ingest's index. */
void sf_driver_partition_text(struct sf_text *text, const struct sf_driver_instance *instance, uint32_t index);
/* Bytes as text where they are printable UTF-8, else as hexadecimal with 0x before; null: null. */
void sf_driver_bytes_text(struct sf_text *text, const uint8_t *data, uint32_t len);

#endif
