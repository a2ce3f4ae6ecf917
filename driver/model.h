/*
 * Model: what an application must give, computed the plain way: the records of one committed epoch after the other, in
 * the order in which they were dispatched. It shares no code with the engine's time, state or emission; it has its own
 * floors, frontiers, windows and aggregates. (JSON and expressions are a library, used by both.)
 *
 *     begin(model, is_continued)       floors from the stamps so far; the pass that the last barrier set off (F5)
 *     record(model, source, record)…   filter, map, key, windows: F2 judges each
 *     end(model, stamp, is_flush)      the stamp of the barrier that ended the epoch; a flush passes once more (S4)
 *
 * Only what has committed is ever fed to it, so it never takes anything back: an abort is an epoch that does not come,
 * and `is_continued` false (S2: the pass of the last barrier was lost with it).
 *
 *     stamps 20 30 40 50 | the process dies | begin(false): floor 50, no pass; end(60): the ring is 20 30 40 60
 *                                           | begin(true): frontier 40: what closes in (30, 40] leaves now
 *
 * Rows for sinks go to `emit`, in the order that a single lane would write them.
 *
 * Threading: one owner.
 */
#ifndef SF_DRIVER_MODEL_H
#define SF_DRIVER_MODEL_H

#include "core/ops/expression.h"
#include "core/run/message.h"
#include "core/time/event_time.h"
#include "core/topo/plan.h"

/* A record on its way. All bytes are borrowed for the call. */
struct sfi_model_record {
    struct sf_slice key;
    struct sf_slice value;
    struct sf_slice headers;
    int64_t ts_ms;
    enum sf_serde serde; /* of the value */
};

/* ---------------------------------------------------------------- stamps (F1, F8, S2) */

#define SFI_MODEL_STAMPS_MAX 80u

struct sfi_model_stamp {
    uint64_t epoch;
    int64_t w;
};

/* Stamps that have a place, oldest first, and the newest one, which may have lost its place. */
struct sfi_model_ring {
    struct sfi_model_stamp placed[SFI_MODEL_STAMPS_MAX];
    uint32_t count;
    uint32_t depth; /* 2 h_max + 3 */
    struct sfi_model_stamp newest;
    bool is_flushed;
    bool is_left_out; /* the newest has no place */
};

void sfi_model_ring_init(struct sfi_model_ring *ring, uint32_t hops_max);
void sfi_model_ring_push(struct sfi_model_ring *ring, uint64_t epoch, int64_t w, bool is_flush);
/* A crash or an abort to the newest stamp. Idempotent. */
void sfi_model_ring_leave_out(struct sfi_model_ring *ring);
int64_t sfi_model_ring_floor(const struct sfi_model_ring *ring, uint32_t hops, int64_t delta_ms);
int64_t sfi_model_ring_frontier(const struct sfi_model_ring *ring, uint32_t hops, int64_t delta_ms);

/* ---------------------------------------------------------------- aggregates (O3) */

enum sfi_model_number_kind { SFI_MODEL_NOTHING, SFI_MODEL_INT, SFI_MODEL_DOUBLE };

struct sfi_model_number {
    enum sfi_model_number_kind kind;
    union {
        int64_t integer;
        double real;
    } as;
};

struct sfi_model_aggregates {
    const struct sf_aggregate_spec *specs; /* the topology's */
    uint32_t count;
    uint32_t roots[SF_AGGREGATES_MAX];     /* of the expression; count fields: unused */
    struct sf_expression *expression;      /* NULL: only counts */
};

void sfi_model_aggregates_init(struct sfi_model_aggregates *aggregates, const struct sf_step_spec *step,
                               struct sf_alloc alloc);
void sfi_model_aggregates_deinit(struct sfi_model_aggregates *aggregates);
void sfi_model_aggregates_start(const struct sfi_model_aggregates *aggregates, struct sfi_model_number *numbers);
/* False: a fault, nothing has changed. */
bool sfi_model_aggregates_add(const struct sfi_model_aggregates *aggregates, const struct sf_input_value *input,
                              struct sfi_model_number *numbers, struct sf_fault *fault_out);
/* Length needed; the text is there where it is <= cap. */
size_t sfi_model_result_text(const struct sfi_model_aggregates *aggregates, int64_t start, int64_t end,
                             const struct sfi_model_number *numbers, char *buf, size_t cap);
/* K5: the value of a changelog row. */
size_t sfi_model_row_text(const struct sfi_model_aggregates *aggregates, int64_t ts_ms,
                          const struct sfi_model_number *numbers, char *buf, size_t cap);

/* ---------------------------------------------------------------- windows */

/* One key in one window. The numbers follow the struct. */
struct sfi_model_row {
    uint64_t hash;         /* sf_hash64 of the key */
    int64_t ts_ms;         /* of its latest record (F7) */
    uint64_t changelog;    /* hash of the value that the changelog holds; 0: none */
    const uint8_t *key;
    uint32_t key_len;
    bool is_dirty;         /* touched in the epoch at hand */
};

struct sfi_model_key_chunk;

struct sfi_model_pane {
    int64_t start;
    bool is_closed;        /* its pass has run: it never changes again (X7) */
    bool is_compact;       /* verified; only what the changelog still holds of it is known */
    uint64_t left_count;   /* is_compact: rows that the changelog holds, and the sum of their key hashes */
    uint64_t left_sum;
    uint32_t *left_groups; /* packed changelog: left_count by key group instead of left_sum */
    uint8_t *rows;         /* count x stride */
    uint32_t count;
    uint32_t capacity;
    uint32_t *index;       /* open addressing: row number + 1 */
    uint32_t index_capacity;
    struct sfi_model_key_chunk *keys;
};

struct sfi_model_dirty {
    struct sfi_model_pane *pane;
    uint32_t row;
};

struct sfi_model_windows {
    struct sf_alloc alloc;
    uint32_t stride;
    struct sfi_model_pane **panes; /* by start */
    uint32_t count;
    uint32_t capacity;
    struct sfi_model_pane *last;   /* the one found last */
    struct sfi_model_dirty *dirty;
    uint32_t dirty_count;
    uint32_t dirty_capacity;
    uint64_t row_count;
    bool is_packed;                /* the changelog's format (K5) */
};

void sfi_model_windows_init(struct sfi_model_windows *windows, struct sf_alloc alloc, uint32_t number_count);
void sfi_model_windows_deinit(struct sfi_model_windows *windows);
/* NULL: there is none. */
struct sfi_model_pane *sfi_model_pane_find(struct sfi_model_windows *windows, int64_t start);
struct sfi_model_pane *sfi_model_pane_get(struct sfi_model_windows *windows, int64_t start);
/* By the hash of the key alone: what the changelog says. NULL: none. Not of a compact pane. */
struct sfi_model_row *sfi_model_row_by_hash(const struct sfi_model_windows *windows, const struct sfi_model_pane *pane,
                                            uint64_t hash);
/* Made if absent, with count numbers zeroed. Marked dirty. *is_new_out. Pointer until the next call. */
struct sfi_model_row *sfi_model_row_touch(struct sfi_model_windows *windows, struct sfi_model_pane *pane, uint64_t hash,
                                          struct sf_slice key, bool *is_new_out);
/* Takes back a touch that made a row. */
void sfi_model_row_untouch(struct sfi_model_windows *windows, struct sfi_model_pane *pane);
static inline struct sfi_model_row *sfi_model_row_at(const struct sfi_model_windows *windows,
                                                     const struct sfi_model_pane *pane, uint32_t row)
{
    return (struct sfi_model_row *)(void *)(pane->rows + (size_t)row * windows->stride);
}
static inline struct sfi_model_number *sfi_model_row_numbers(struct sfi_model_row *row)
{
    return (struct sfi_model_number *)(void *)(row + 1);
}
/* The epoch has been verified: nothing is dirty, closed panes become compact, empty ones go. */
void sfi_model_windows_settle(struct sfi_model_windows *windows);
/* All rows go. */
void sfi_model_windows_clear(struct sfi_model_windows *windows);

/* ---------------------------------------------------------------- the application */

struct sfi_model_step {
    const struct sf_step_spec *spec;
    const struct sf_plan_step *plan;
    struct sf_expression *expression; /* FILTER, KEY_BY, MAP_VALUES */
    struct sfi_model_aggregates aggregates;
    struct sfi_model_windows windows;
    int64_t floor;          /* of the epoch at hand */
    int64_t emitted;        /* the emit frontier (K2) */
    bool is_raised;         /* in the epoch at hand */
    int64_t expiry;         /* the clock that expiry has run to (K6) */
    struct sf_step_counts counts; /* M6, of all committed epochs */
};

/* A row for a sink. Bytes are borrowed until return. */
typedef void(sfi_model_emit_fn)(void *ctx, uint32_t sink, const struct sfi_model_record *record);

struct sfi_model {
    const struct sf_topology *topology;
    const struct sf_plan *plan;
    struct sf_alloc alloc;
    struct sfi_model_step *steps; /* by topology index */
    struct sfi_model_ring ring;
    sfi_model_emit_fn *emit;
    void *ctx;
    uint64_t result_count; /* finals of the epoch at hand */
    bool is_work_due;      /* B3: finals were due, or left, when the epoch began */
    uint32_t failed_step;  /* a record met a fault under policy `fail`; UINT32_MAX: none */
    char *text[SF_TOPOLOGY_STEPS_MAX]; /* by step: values under way; grow */
    size_t text_bytes[SF_TOPOLOGY_STEPS_MAX];
};

/* Borrowed: topology and plan. */
void sfi_model_init(struct sfi_model *model, const struct sf_topology *topology, const struct sf_plan *plan,
                    struct sf_alloc alloc, sfi_model_emit_fn *emit, void *ctx);
void sfi_model_deinit(struct sfi_model *model);

/* An epoch begins. `is_continued`: by the process, and without a fall-back, that crossed the last barrier. */
void sfi_model_begin(struct sfi_model *model, bool is_continued);
void sfi_model_record(struct sfi_model *model, uint32_t source, const struct sfi_model_record *record);
/* A flush passes, up to its stamp less δ. */
void sfi_model_end(struct sfi_model *model, uint64_t epoch, int64_t stamp, bool is_flush);
/* After all checks of the epoch. */
void sfi_model_settle(struct sfi_model *model);
/* Close of the window that starts at `start` (F3). */
int64_t sfi_model_close(const struct sf_step_spec *spec, int64_t start);

/* model_pass.c: F5 of one sub-topology up to each operator's frontier, or up to a final barrier's stamp. */
void sfi_model_pass(struct sfi_model *model, uint32_t sub, int64_t flush_stamp);
bool sfi_model_has_due(struct sfi_model *model);
/* model.c: a record leaves along routes; room for a text of step `step`. */
void sfi_model_forward(struct sfi_model *model, const struct sf_route *routes, uint32_t count,
                       const struct sfi_model_record *record);
void sfi_model_result(struct sfi_model *model, struct sfi_model_step *step, int64_t start, struct sfi_model_row *row);

#endif
