/*
 * Inside the flow: what flow_walk.c (records along steps) and flow.c (passes, sealing, epochs, life) share.
 */
#ifndef SF_CORE_RUN_FLOW_IMPL_H
#define SF_CORE_RUN_FLOW_IMPL_H

#include "core/run/flow.h"

static inline uint32_t sfi_len_or_null(struct sf_slice slice)
{
    return slice.data == NULL ? SF_WIRE_NULL : slice.len;
}

/* The row of a window leaves the step as a result (F7). `cause`: the record that made it (on update), or NULL: a final.
 * False: a step behind it failed. */
bool sfi_flow_result(struct sf_flow *flow, struct sf_flow_step *step, int64_t start, const struct sf_window_row *row,
                     const struct sf_flow_record *cause);

#endif
