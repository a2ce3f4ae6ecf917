#include "sim/kafka_stray.h"

#define RANK_STRAY (UINT64_C(1) << 42)

static void stray_fire(void *ctx)
{
    struct sfi_stray *stray = ctx;
    struct sfi_stray **link = &stray->broker->strays;
    while (*link != stray) link = &(*link)->next;
    *link = stray->next;
    (void)sfi_txn_end(&stray->session, stray->is_commit);
    sf_free(stray->broker->alloc, stray, sizeof *stray);
}

void sfi_stray_send(struct sf_sim_kafka *broker, const struct sfi_session *session, bool is_commit, int64_t delay_us)
{
    struct sfi_stray *stray = sf_malloc(broker->alloc, sizeof *stray);
    *stray = (struct sfi_stray){.next = broker->strays, .broker = broker, .session = *session,
                                .is_commit = is_commit};
    broker->strays = stray;
    stray->event = sf_sim_world_after(broker->world, delay_us, RANK_STRAY, stray_fire, stray);
}

void sfi_strays_free(struct sf_sim_kafka *broker)
{
    while (broker->strays != NULL) {
        struct sfi_stray *stray = broker->strays;
        broker->strays = stray->next;
        (void)sf_sim_world_cancel(broker->world, stray->event);
        sf_free(broker->alloc, stray, sizeof *stray);
    }
}
