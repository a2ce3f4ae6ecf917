/* Stamps: the clocks of the model (F1, F8, S2). */
#include <assert.h>
#include <string.h>

#include "driver/model.h"

void sfi_model_ring_init(struct sfi_model_ring *ring, uint32_t hops_max)
{
    *ring = (struct sfi_model_ring){.depth = 2 * hops_max + 3, .newest = {.w = SF_TIME_UNSET}};
    assert(ring->depth < SFI_MODEL_STAMPS_MAX);
}

static void place(struct sfi_model_ring *ring, struct sfi_model_stamp stamp)
{
    if (ring->count == SFI_MODEL_STAMPS_MAX) {
        memmove(ring->placed, ring->placed + 1, (ring->count - 1) * sizeof ring->placed[0]);
        ring->count--;
    }
    ring->placed[ring->count++] = stamp;
}

void sfi_model_ring_push(struct sfi_model_ring *ring, uint64_t epoch, int64_t w, bool is_flush)
{
    ring->newest = (struct sfi_model_stamp){.epoch = epoch, .w = w};
    ring->is_left_out = false;
    ring->is_flushed = is_flush;
    if (is_flush) ring->count = 0;
    for (uint32_t i = 0; i < (is_flush ? ring->depth : 1); i++) place(ring, ring->newest);
}

void sfi_model_ring_leave_out(struct sfi_model_ring *ring)
{
    if (ring->is_flushed || ring->is_left_out || ring->count == 0) return;
    ring->is_left_out = true;
    ring->count--;
}

static int64_t back(const struct sfi_model_ring *ring, uint32_t places)
{
    return places < ring->count ? ring->placed[ring->count - 1 - places].w : SF_TIME_UNSET;
}

int64_t sfi_model_ring_floor(const struct sfi_model_ring *ring, uint32_t hops, int64_t delta_ms)
{
    return sf_time_add(hops == 0 ? ring->newest.w : back(ring, 2 * hops), -delta_ms);
}

int64_t sfi_model_ring_frontier(const struct sfi_model_ring *ring, uint32_t hops, int64_t delta_ms)
{
    return sf_time_add(back(ring, 1 + 2 * hops), -delta_ms);
}
