/*
 * Ring: the stamps of the last barriers, from which every floor and every frontier is read (F1, F8, S2, K1).
 *
 *     floor of an operator with h, δ, for all records of the epoch after the newest stamp
 *         h = 0: the newest stamp - δ          h > 0: the stamp 2h places before it in the ring - δ
 *     frontier at a crossing, once W(N) is pushed: the stamp 1 + 2h places before it - δ
 *
 * After a crash or an abort to cut c the stamp W(c) is *left out*: it stays the newest (what was late stays late) but
 * is no place in the ring any more, so that the next barrier repeats the pass that was lost. After a flush the ring
 * is W(N) alone, as often as it has places, and nothing is left out. A flush that is aborted (B9) falls back like any
 * other barrier: what the ring held before it is forgotten only when the next stamp comes.
 *
 *     stamps 20 30 40 50, crash after 50:  ring 20 30 40, newest 50;  push 60: frontier(0) = 40;  push 70: 60
 *
 * Ingest keeps one (it writes the stamps), every lane keeps one; they are equal at equal epochs.
 *
 * Threading: one owner.
 */
#ifndef SF_CORE_RUN_RING_H
#define SF_CORE_RUN_RING_H

#include <stdbool.h>
#include <stdint.h>

#define SF_RING_PLACES_MAX 64u
#define SF_RING_ROW_BYTES_MAX (64u + 24u * (SF_RING_PLACES_MAX + 1u))

struct sf_stamp {
    uint64_t epoch;
    int64_t w;
    bool is_left_out;
};

struct sf_ring {
    struct sf_stamp stamps[SF_RING_PLACES_MAX + 4]; /* oldest first; ones left out stay while they are newest */
    uint32_t count;
    uint32_t places; /* 2 h_max + 3 */
    bool is_flushed; /* the newest stamp was a flush */
};

/* Empty; hops_max as in the plan. */
void sf_ring_init(struct sf_ring *ring, uint32_t hops_max);
/* Barrier `epoch` with stamp `w` was crossed (or fixed). Epochs rise. */
void sf_ring_push(struct sf_ring *ring, uint64_t epoch, int64_t w, bool is_flush);
/* Back to cut `epoch` (B12, S2): later stamps go, W(epoch) is left out unless it was a flush. Idempotent. */
void sf_ring_fall_back(struct sf_ring *ring, uint64_t epoch);

/* The newest stamp, SF_TIME_UNSET if there is none. */
int64_t sf_ring_newest(const struct sf_ring *ring);
/* F1, F8. SF_TIME_UNSET where the ring does not reach that far. */
int64_t sf_ring_floor(const struct sf_ring *ring, uint32_t hops, int64_t delta_ms);
int64_t sf_ring_frontier(const struct sf_ring *ring, uint32_t hops, int64_t delta_ms);

/*
 * The row of the watermark topic (K1): { version u8 = 1, flags u8 (1: flushed), count u16, incarnation u64, epoch u64,
 * count x { epoch u64, w i64 } }, big-endian, the stamps that have a place in the ring, oldest first; the last one is
 * the newest.
 */
uint32_t sf_ring_encode(const struct sf_ring *ring, uint64_t incarnation, uint8_t *out, uint32_t cap);
/* False where the bytes are no such row: `ring` is then empty. */
bool sf_ring_decode(struct sf_ring *ring, uint32_t hops_max, const uint8_t *data, uint32_t len,
                    uint64_t *incarnation_out, uint64_t *epoch_out);

#endif
