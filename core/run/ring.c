#include "core/run/ring.h"

#include <assert.h>
#include <string.h>

#include "core/bytes.h"
#include "core/time/event_time.h"

#define ROW_VERSION 1u
#define ROW_FLUSHED 1u
#define ROW_HEAD 20u
#define ROW_STAMP 16u

void sf_ring_init(struct sf_ring *ring, uint32_t hops_max)
{
    memset(ring, 0, sizeof *ring);
    ring->places = 2 * hops_max + 3;
    assert(ring->places <= SF_RING_PLACES_MAX);
}

static uint32_t placed_count(const struct sf_ring *ring)
{
    uint32_t placed = 0;
    for (uint32_t i = 0; i < ring->count; i++) placed += !ring->stamps[i].is_left_out;
    return placed;
}

static void drop(struct sf_ring *ring, uint32_t at)
{
    memmove(ring->stamps + at, ring->stamps + at + 1, (ring->count - at - 1) * sizeof ring->stamps[0]);
    ring->count--;
}

static void append(struct sf_ring *ring, uint64_t epoch, int64_t w)
{
    /* A fall-back goes to one of the two newest stamps: until then a stamp that is left out is kept, as the newest one
     * to come back to, and there are two places more than needed. */
    for (uint32_t i = 0; i + 2 <= ring->count;)
        if (ring->stamps[i].is_left_out && i + 2 < ring->count)
            drop(ring, i);
        else
            i++;
    while (placed_count(ring) >= ring->places + 2) drop(ring, 0);
    assert(ring->count < sizeof ring->stamps / sizeof ring->stamps[0]);
    ring->stamps[ring->count] = (struct sf_stamp){.epoch = epoch, .w = w};
    ring->count++;
}

/* The newest stamp in every place. */
static void fill(struct sf_ring *ring, uint64_t epoch, int64_t w)
{
    ring->count = 0;
    for (uint32_t i = 0; i < ring->places; i++) append(ring, epoch, w);
}

void sf_ring_push(struct sf_ring *ring, uint64_t epoch, int64_t w, bool is_flush)
{
    assert(ring->count == 0 || ring->stamps[ring->count - 1].epoch < epoch);
    /* what was before a flush is kept until the next stamp: a flush that is aborted falls back to it */
    if (ring->is_flushed) fill(ring, ring->stamps[ring->count - 1].epoch, ring->stamps[ring->count - 1].w);
    append(ring, epoch, w);
    ring->is_flushed = is_flush;
}

void sf_ring_fall_back(struct sf_ring *ring, uint64_t epoch)
{
    while (ring->count > 0 && ring->stamps[ring->count - 1].epoch > epoch) {
        ring->count--;
        ring->is_flushed = false;
    }
    if (ring->count > 0 && !ring->is_flushed && ring->stamps[ring->count - 1].epoch == epoch)
        ring->stamps[ring->count - 1].is_left_out = true;
}

int64_t sf_ring_newest(const struct sf_ring *ring)
{
    return ring->count > 0 ? ring->stamps[ring->count - 1].w : SF_TIME_UNSET;
}

/* The stamp `back` places before the newest place. */
static int64_t place(const struct sf_ring *ring, uint32_t back)
{
    if (ring->is_flushed) return sf_ring_newest(ring);
    for (uint32_t i = ring->count; i > 0; i--) {
        if (ring->stamps[i - 1].is_left_out) continue;
        if (back == 0) return ring->stamps[i - 1].w;
        back--;
    }
    return SF_TIME_UNSET;
}

int64_t sf_ring_floor(const struct sf_ring *ring, uint32_t hops, int64_t delta_ms)
{
    int64_t w = hops == 0 ? sf_ring_newest(ring) : place(ring, 2 * hops);
    return sf_time_add(w, -delta_ms);
}

int64_t sf_ring_frontier(const struct sf_ring *ring, uint32_t hops, int64_t delta_ms)
{
    return sf_time_add(place(ring, 1 + 2 * hops), -delta_ms);
}

uint32_t sf_ring_encode(const struct sf_ring *ring, uint64_t incarnation, uint8_t *out, uint32_t cap)
{
    assert(ring->count > 0 && !ring->stamps[ring->count - 1].is_left_out);
    if (ring->is_flushed) {
        struct sf_ring filled = *ring;
        filled.is_flushed = false;
        fill(&filled, ring->stamps[ring->count - 1].epoch, ring->stamps[ring->count - 1].w);
        uint32_t filled_bytes = sf_ring_encode(&filled, incarnation, out, cap);
        out[1] = ROW_FLUSHED;
        return filled_bytes;
    }
    uint32_t skip = placed_count(ring) > ring->places ? placed_count(ring) - ring->places : 0;
    uint32_t placed = placed_count(ring) - skip;
    uint32_t bytes = ROW_HEAD + ROW_STAMP * placed;
    assert(cap >= bytes);
    out[0] = ROW_VERSION;
    out[1] = 0;
    sf_put_be16(out + 2, (uint16_t)placed);
    sf_put_be64(out + 4, incarnation);
    sf_put_be64(out + 12, ring->stamps[ring->count - 1].epoch);
    uint8_t *at = out + ROW_HEAD;
    for (uint32_t i = 0; i < ring->count; i++) {
        if (ring->stamps[i].is_left_out) continue;
        if (skip > 0) {
            skip--;
            continue;
        }
        sf_put_be64(at, ring->stamps[i].epoch);
        sf_put_be64(at + 8, (uint64_t)ring->stamps[i].w);
        at += ROW_STAMP;
    }
    return bytes;
}

/* Epochs rise (a flush repeats its own) up to that of the row. */
static bool has_good_epochs(const uint8_t *stamps, uint32_t count, uint64_t epoch)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = sf_get_be64(stamps + i * ROW_STAMP);
        if (at < before) return false;
        before = at;
    }
    return before == epoch && epoch < INT64_MAX;
}

bool sf_ring_decode(struct sf_ring *ring, uint32_t hops_max, const uint8_t *data, uint32_t len,
                    uint64_t *incarnation_out, uint64_t *epoch_out)
{
    sf_ring_init(ring, hops_max);
    if (len < ROW_HEAD || data[0] != ROW_VERSION) return false;
    uint32_t count = sf_get_be16(data + 2);
    if (count == 0 || len != ROW_HEAD + ROW_STAMP * count) return false;
    const uint8_t *at = data + ROW_HEAD;
    bool is_flushed = (data[1] & ROW_FLUSHED) != 0;
    uint64_t epoch = sf_get_be64(data + 12);
    if (!has_good_epochs(at, count, epoch)) return false;
    for (uint32_t i = 0; i < count; i++, at += ROW_STAMP) append(ring, sf_get_be64(at), (int64_t)sf_get_be64(at + 8));
    /* a topology whose deepest h has grown since gets the flush's stamp in all of its places */
    if (is_flushed) fill(ring, epoch, sf_ring_newest(ring));
    ring->is_flushed = is_flushed;
    *incarnation_out = sf_get_be64(data + 4);
    *epoch_out = epoch;
    return true;
}
