/*
 * The admin model. Commands are applied in the order given and answered in that order, but one that must wait (for a
 * leader, or for a transaction that holds offsets) does not hold back the others.
 */
#ifndef SF_SIM_KAFKA_ADMIN_H
#define SF_SIM_KAFKA_ADMIN_H

#include "sim/kafka_client.h"

enum sfi_admin_kind {
    SFI_ADMIN_DESCRIBE,
    SFI_ADMIN_CREATE,
    SFI_ADMIN_WATCH,
    SFI_ADMIN_COMMITTED,
    SFI_ADMIN_ENDS,
    SFI_ADMIN_COMMIT,
    SFI_ADMIN_TRUNCATE
};

/* One command, from call to polled event. A watch stays until close. */
struct sfi_admin_op {
    struct sfi_admin_op *next; /* of the admin, in order given; or of what was polled */
    struct sfi_admin *admin;
    enum sfi_admin_kind kind;
    enum sf_sim_fate fate;
    bool is_answered;          /* its event waits to be polled */
    uint32_t topic;            /* broker's */
    int32_t partition_count;
    enum sf_log_end which;
    int64_t before;
    char *name;                /* group, or topic to make */
    struct sf_member_token token;
    uint32_t count;            /* of tps and answers, or settings */
    struct sf_tp *tps;         /* the handle's */
    struct sf_tp *broker_tps;
    struct sf_offset_answer *answers;
    int64_t *offsets;          /* commit */
    struct sf_slice *metadata; /* commit: ours; committed: answers point here */
    struct sf_topic_setting *settings;
    struct sfi_timer request;
    struct sfi_timer answer;
    struct sfi_parked parked;
    struct sf_admin_event event;
};

struct sfi_admin {
    struct sfi_client client; /* first */
    struct sfi_admin_op *ops;
    struct sfi_admin_op *polled;
    uint32_t answered_count;
    int64_t request_last_us;  /* arrival of the last request: one connection keeps its order */
    int64_t answer_last_us;
};

/* kafka_admin_apply.c */
/* What the broker does; false: not now. */
bool sfi_admin_apply(struct sfi_admin_op *op);
void sfi_admin_op_free(struct sfi_admin_op *op);
struct sf_slice sfi_slice_copy(struct sf_alloc alloc, struct sf_slice slice);
struct sf_topic_setting *sfi_settings_dup(struct sf_alloc alloc, const struct sf_topic_setting *settings,
                                          uint32_t count);

#endif
