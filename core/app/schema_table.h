/*
 * Schema table: the one description of application and scenario files. The walker (core/app/walk.h) checks a file
 * against it, the JSON Schemas (core/app/schema_json.h) are generated from it, the loaders read only what it lists. A
 * key that is to come stands here as SF_KEY_LATER, so that a file that uses it is told "not yet supported".
 *
 *     sources:            MAP of OBJECT
 *       orders:
 *         topic: orders   NAME, required
 *         start: latest   WORD of earliest, latest
 *
 * Constant data; shared by all threads.
 */
#ifndef SF_CORE_APP_SCHEMA_TABLE_H
#define SF_CORE_APP_SCHEMA_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum sf_schema_type {
    SF_SCHEMA_NAME,       /* letters, digits, . _ - */
    SF_SCHEMA_TEXT,       /* any scalar but an empty one */
    SF_SCHEMA_WORD,       /* one of `words` */
    SF_SCHEMA_BOOL,       /* true, false */
    SF_SCHEMA_INT,        /* min ... max */
    SF_SCHEMA_DECIMAL,    /* min ... max in millionths */
    SF_SCHEMA_DURATION,   /* min ... max in ms: 250ms, 30s, 1m30s, 1h, 7d */
    SF_SCHEMA_TIME,       /* ISO 8601 or epoch milliseconds */
    SF_SCHEMA_MOMENT,     /* a TIME, `+90s` from the scenario's start, or `10:05` on its day */
    SF_SCHEMA_STAMP,      /* a MOMENT, or any integer: an event time that may be invalid (T4) */
    SF_SCHEMA_WATERMARK,  /* a MOMENT, `unset` or `complete` (T1) */
    SF_SCHEMA_PATH,       /* $.field.inner */
    SF_SCHEMA_EXPRESSION, /* core/ops/expression.h */
    SF_SCHEMA_AGGREGATE,  /* count, sum(expression), min(...), max(...) */
    SF_SCHEMA_ANY,
    SF_SCHEMA_OBJECT,     /* a mapping with the keys listed; where it has an `item`, others with a `/` are such */
    SF_SCHEMA_MAP,        /* a mapping of names to `item` */
    SF_SCHEMA_LIST,       /* a list of `item`, min ... max of them (max 0: any number) */
    SF_SCHEMA_CHOICE,     /* by what stands there: `scalar`, `list` or `object`; NULL: not allowed */
    SF_SCHEMA_APPLICATION, /* an application inline: the loader of applications walks it */
    SF_SCHEMA_ENGINE      /* `stoatflow:`, its keys nested or dotted; `keys` have full dotted names */
};

#define SF_KEY_REQUIRED 1u
#define SF_KEY_LATER 2u /* recognised, not yet supported */

struct sf_schema;

struct sf_schema_key {
    const char *name;
    const struct sf_schema *type;
    unsigned flags;
    const char *doc;
};

struct sf_schema_word {
    const char *name;
    unsigned flags; /* 0 or SF_KEY_LATER */
};

struct sf_schema {
    enum sf_schema_type type;
    const char *rule; /* cited where a value is out of range; NULL: V8 */
    int64_t min, max;
    const struct sf_schema_word *words;
    uint32_t word_count;
    const struct sf_schema_key *keys;
    uint32_t key_count;
    const struct sf_schema_key *engine; /* OBJECT: its ENGINE section, to which dotted `stoatflow.` keys belong */
    const struct sf_schema *item;
    const struct sf_schema *scalar, *list, *object;
};

/* The roots. */
extern const struct sf_schema sf_schema_application;
extern const struct sf_schema sf_schema_scenario;

/* A part of scenarios that stands inside values, where anything may stand: {uniform: [1, 9]}. */
extern const struct sf_schema sf_schema_draw;

#endif
