/*
 * A stray: a request for the end of a transaction that is still on the wire when its sender has given it up and sent
 * it again on a new connection. It arrives late and is applied to whatever it then meets; nobody reads its answer.
 */
#ifndef SF_SIM_KAFKA_STRAY_H
#define SF_SIM_KAFKA_STRAY_H

#include "sim/kafka_txn.h"

struct sfi_stray {
    struct sfi_stray *next;
    struct sf_sim_kafka *broker;
    struct sfi_session session;
    bool is_commit;
    uint64_t event;
};

void sfi_stray_send(struct sf_sim_kafka *broker, const struct sfi_session *session, bool is_commit, int64_t delay_us);
void sfi_strays_free(struct sf_sim_kafka *broker);

#endif
