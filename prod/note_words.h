/*
 * Note words: a note becomes a log line: which level and event it has there, and core/note.h's words filled in.
 *
 *     {p: orders/2, args: 41, 1790071200123, 90000}
 *     -> warn future-head: orders/2 offset 41: stamped 2026-09-22T10:00:00.123Z, 90000 ms ahead of now
 *
 * Threading: pure functions; the names are asked on the caller's thread.
 */
#ifndef SF_PROD_NOTE_WORDS_H
#define SF_PROD_NOTE_WORDS_H

#include "core/io/kafka.h"
#include "core/note.h"
#include "core/text.h"
#include "prod/log.h"

/* What notes are about, by the numbers that notes have. */
struct sf_prod_note_names {
    void *ctx;
    bool (*partition)(void *ctx, uint32_t subject, struct sf_tp *tp_out); /* {p}; false: no such */
    const char *(*topic)(void *ctx, uint32_t topic);
};

#define SF_PROD_EVENT_BYTES 64u

enum sf_prod_level sf_prod_note_level(uint16_t code);
/* The note's name without what stands in parentheses: "txn(n).committed" is "txn.committed". Returns `buf`. */
const char *sf_prod_note_event(uint16_t code, char buf[SF_PROD_EVENT_BYTES]);
void sf_prod_note_fill(const struct sf_note *note, const struct sf_prod_note_names *names, struct sf_text *text);
/* The words name a partition. */
bool sf_prod_note_has_partition(uint16_t code);

#endif
