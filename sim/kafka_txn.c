#include "sim/kafka_txn.h"

#include "sim/kafka_group.h"
#include "sim/random.h"

#define RANK_COORD (UINT64_C(1) << 40) /* above all client numbers */

struct sfi_coord *sfi_coord_find(struct sf_sim_kafka *broker, const char *id)
{
    for (struct sfi_coord *coord = broker->coords; coord != NULL; coord = coord->next)
        if (strcmp(coord->id, id) == 0) return coord;
    return NULL;
}

struct sfi_coord *sfi_coord_get(struct sf_sim_kafka *broker, const char *id)
{
    uint32_t number = 0;
    struct sfi_coord **link = &broker->coords;
    for (; *link != NULL; link = &(*link)->next, number++)
        if (strcmp((*link)->id, id) == 0) return *link;
    struct sfi_coord *coord = sf_malloc(broker->alloc, sizeof *coord);
    *coord = (struct sfi_coord){.broker = broker, .id = sfi_strdup(broker->alloc, id), .number = number,
                                .epoch = -1, .ended_epoch = -1, .markers_delay_us = -1};
    *link = coord;
    return coord;
}

static void markers_drop(struct sfi_coord *coord)
{
    while (coord->markers != NULL) {
        struct sfi_marker *marker = coord->markers;
        coord->markers = marker->next;
        (void)sf_sim_world_cancel(coord->broker->world, marker->event);
        sf_free(coord->broker->alloc, marker, sizeof *marker);
    }
}

void sfi_coord_free(struct sfi_coord *coord)
{
    struct sf_alloc alloc = coord->broker->alloc;
    (void)sf_sim_world_cancel(coord->broker->world, coord->timeout_event);
    markers_drop(coord);
    sfi_txn_unref(alloc, coord->txn);
    sf_free(alloc, coord->logs, coord->log_cap * sizeof(struct sfi_log *));
    sfi_strfree(alloc, coord->id);
    sf_free(alloc, coord, sizeof *coord);
}

/* ---------------------------------------------------------------- the end, decided and carried out */

static void complete(struct sfi_coord *coord)
{
    coord->state = SFI_COORD_COMPLETE;
    sfi_txn_unref(coord->broker->alloc, coord->txn);
    coord->txn = NULL;
    coord->log_count = 0;
    coord->has_offsets = false;
    sfi_broker_retry_parked(coord->broker);
}

static void marker_write(struct sfi_marker *marker)
{
    struct sfi_coord *coord = marker->coord;
    struct sfi_log *log = marker->log;
    if (log != NULL && log->mode == SF_SIM_KAFKA_MODE_NO_LEADER) {
        marker->log_next = NULL;
        struct sfi_marker **link = &log->markers;
        while (*link != NULL) link = &(*link)->log_next;
        *link = marker;
        return;
    }
    struct sfi_marker **link = &coord->markers;
    while (*link != marker) link = &(*link)->next;
    *link = marker->next;
    sf_free(coord->broker->alloc, marker, sizeof *marker);
    if (log != NULL)
        sfi_log_mark(log, coord->txn, coord->is_commit, coord->epoch);
    else
        sfi_offsets_end(coord->broker, coord->txn, coord->is_commit);
    if (coord->markers == NULL) complete(coord);
}

static void marker_fire(void *ctx)
{
    struct sfi_marker *marker = ctx;
    marker->event = SF_SIM_EVENT_NONE;
    marker_write(marker);
}

void sfi_txn_leader_back(struct sfi_log *log)
{
    struct sfi_marker *marker = log->markers;
    log->markers = NULL;
    while (marker != NULL) {
        struct sfi_marker *next = marker->log_next;
        marker_write(marker);
        marker = next;
    }
}

static struct sfi_marker *marker_add(struct sfi_coord *coord, struct sfi_log *log)
{
    struct sfi_marker *marker = sf_malloc(coord->broker->alloc, sizeof *marker);
    *marker = (struct sfi_marker){.coord = coord, .log = log};
    struct sfi_marker **link = &coord->markers;
    while (*link != NULL) link = &(*link)->next;
    *link = marker;
    return marker;
}

/* The commit point. The markers go out, those without delay at once. */
static void decide(struct sfi_coord *coord, bool is_commit)
{
    struct sf_sim_kafka *broker = coord->broker;
    (void)sf_sim_world_cancel(broker->world, coord->timeout_event);
    coord->timeout_event = SF_SIM_EVENT_NONE;
    coord->state = SFI_COORD_PREPARING;
    coord->is_commit = is_commit;
    coord->txn->state = is_commit ? SF_SIM_KAFKA_COMMITTED : SF_SIM_KAFKA_ABORTED;
    const struct sf_sim_kafka_observer *observer = broker->observer;
    if (observer != NULL && observer->decided != NULL)
        observer->decided(observer->ctx, coord->id, coord->producer_id, coord->txn->producer_epoch,
                          coord->txn->serial, is_commit);
    for (uint32_t i = 0; i < coord->log_count; i++) (void)marker_add(coord, coord->logs[i]);
    if (coord->has_offsets) (void)marker_add(coord, NULL);
    int64_t extra_us = coord->markers_delay_us > 0 ? coord->markers_delay_us : 0;
    coord->markers_delay_us = -1;
    struct sfi_marker *next = coord->markers;
    if (next == NULL) complete(coord);
    for (struct sfi_marker *marker = next; marker != NULL; marker = next) {
        next = marker->next;
        uint64_t draw = sf_sim_draw(broker->world->seed, SF_SIM_DOMAIN_KAFKA_MARKER, coord->number,
                                    coord->marker_ordinal++);
        int64_t delay_us = extra_us + sf_sim_range(draw, broker->config.marker.lo_us, broker->config.marker.hi_us);
        if (delay_us == 0)
            marker_write(marker);
        else
            marker->event = sf_sim_world_after(broker->world, delay_us, RANK_COORD + coord->number, marker_fire,
                                               marker);
    }
}

void sfi_txn_fence(struct sfi_coord *coord)
{
    assert(coord->state == SFI_COORD_ONGOING);
    coord->epoch++;
    coord->ended_epoch = -1;
    decide(coord, false);
}

static void timeout_fire(void *ctx)
{
    struct sfi_coord *coord = ctx;
    coord->timeout_event = SF_SIM_EVENT_NONE;
    sfi_txn_fence(coord);
}

enum sfi_result sfi_txn_end(struct sfi_session *session, bool is_commit)
{
    struct sfi_coord *coord = session->coord;
    bool is_v2 = coord->broker->config.is_v2;
    bool is_ended = coord->state == SFI_COORD_COMPLETE || coord->state == SFI_COORD_PREPARING;
    if (is_v2 && is_ended && session->epoch == coord->ended_epoch && coord->epoch == session->epoch + 1) {
        if (coord->is_commit != is_commit) return SFI_INVALID;
        if (coord->state == SFI_COORD_PREPARING) return SFI_WAIT;
        session->epoch = coord->epoch;
        return SFI_OK;
    }
    if (session->epoch != coord->epoch || session->producer_id != coord->producer_id) return SFI_FENCED;
    switch (coord->state) {
    case SFI_COORD_ONGOING:
        if (is_v2) {
            coord->ended_epoch = coord->epoch++;
            session->epoch = coord->epoch;
        }
        decide(coord, is_commit);
        return SFI_OK;
    case SFI_COORD_PREPARING: return coord->is_commit == is_commit ? SFI_WAIT : SFI_INVALID;
    case SFI_COORD_COMPLETE: return coord->is_commit == is_commit ? SFI_OK : SFI_INVALID;
    case SFI_COORD_EMPTY: break;
    }
    return SFI_INVALID;
}

/* ---------------------------------------------------------------- begin, add */

enum sfi_result sfi_txn_init(struct sfi_coord *coord, int64_t timeout_us, struct sfi_session *session_out)
{
    if (coord->state == SFI_COORD_ONGOING) sfi_txn_fence(coord);
    if (coord->state == SFI_COORD_PREPARING) return SFI_WAIT;
    if (coord->producer_id == 0) coord->producer_id = ++coord->broker->producer_id_last;
    coord->epoch++;
    coord->ended_epoch = -1;
    coord->state = SFI_COORD_EMPTY;
    coord->timeout_us = timeout_us;
    *session_out = (struct sfi_session){.coord = coord, .producer_id = coord->producer_id, .epoch = coord->epoch};
    return SFI_OK;
}

enum sfi_result sfi_txn_touch(const struct sfi_session *session)
{
    struct sfi_coord *coord = session->coord;
    if (session->epoch != coord->epoch || session->producer_id != coord->producer_id) return SFI_FENCED;
    if (coord->state == SFI_COORD_PREPARING) return SFI_WAIT;
    if (coord->state == SFI_COORD_ONGOING) return SFI_OK;
    struct sf_sim_kafka *broker = coord->broker;
    coord->state = SFI_COORD_ONGOING;
    coord->txn = sfi_broker_txn_new(broker, coord->producer_id, coord->epoch);
    coord->timeout_event = sf_sim_world_after(broker->world, coord->timeout_us, RANK_COORD + coord->number,
                                              timeout_fire, coord);
    return SFI_OK;
}

static bool coord_has_log(const struct sfi_coord *coord, const struct sfi_log *log)
{
    for (uint32_t i = 0; i < coord->log_count; i++)
        if (coord->logs[i] == log) return true;
    return false;
}

static void coord_add_log(struct sfi_coord *coord, struct sfi_log *log)
{
    if (coord_has_log(coord, log)) return;
    if (coord->log_count == coord->log_cap) {
        uint32_t cap = coord->log_cap == 0 ? 8 : coord->log_cap * 2;
        coord->logs = sf_regrow(coord->broker->alloc, coord->logs, coord->log_cap * sizeof(struct sfi_log *),
                                coord->log_count * sizeof(struct sfi_log *), cap * sizeof(struct sfi_log *));
        coord->log_cap = cap;
    }
    coord->logs[coord->log_count++] = log;
}

/* The transaction that the request's records belong to, counted; NULL with *result_out when it is refused. The
 * leader of the old protocol trusts a client that says it added the partition before: if the coordinator has ended
 * that transaction meanwhile, the records open a range that nobody will close. */
static struct sfi_txn *produce_txn(struct sfi_log *log, const struct sfi_produce *produce, enum sfi_result *result_out)
{
    struct sfi_coord *coord = produce->session.coord;
    *result_out = SFI_OK;
    if (produce->is_first || coord->broker->config.is_v2) {
        *result_out = sfi_txn_touch(&produce->session);
        if (*result_out != SFI_OK) return NULL;
        coord_add_log(coord, log);
        sfi_txn_ref(coord->txn);
        return coord->txn;
    }
    const struct sfi_open *open = sfi_log_open_of(log, produce->session.producer_id);
    if (open != NULL) {
        sfi_txn_ref(open->txn);
        return open->txn;
    }
    if (coord->state == SFI_COORD_ONGOING && coord->epoch == produce->session.epoch && coord_has_log(coord, log)) {
        sfi_txn_ref(coord->txn);
        return coord->txn;
    }
    return sfi_broker_txn_new(log->broker, produce->session.producer_id, produce->session.epoch);
}

enum sfi_result sfi_txn_produce(struct sfi_log *log, const struct sfi_produce *produce, int64_t *end_out)
{
    if (log->mode == SF_SIM_KAFKA_MODE_NO_LEADER) return SFI_WAIT;
    const struct sfi_session *session = &produce->session;
    const struct sfi_writer *known = sfi_log_writer(log, session->producer_id);
    if (session->epoch < known->producer_epoch) return SFI_FENCED;
    if (session->epoch == known->producer_epoch && known->request == produce->number) {
        assert(produce->chunks == NULL);
        *end_out = known->request_end;
        return SFI_OK;
    }
    uint32_t bytes_max = log->record_bytes_max;
    for (const struct sfi_chunk *chunk = produce->chunks; chunk != NULL; chunk = chunk->next)
        for (uint32_t i = 0; i < chunk->count; i++) {
            const struct sf_record *record = &chunk->records[i];
            if ((uint64_t)record->key.len + record->value.len + record->headers.len > bytes_max) return SFI_TOO_LARGE;
        }
    struct sfi_txn *txn = NULL;
    if (session->coord != NULL) {
        enum sfi_result result;
        txn = produce_txn(log, produce, &result);
        if (txn == NULL) return result;
    }
    for (struct sfi_chunk *chunk = produce->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        chunk->next = NULL;
        chunk->producer_id = session->producer_id;
        chunk->producer_epoch = session->epoch;
        chunk->txn = txn;
        if (txn != NULL) sfi_txn_ref(txn);
        (void)sfi_log_append(log, chunk);
    }
    sfi_txn_unref(log->broker->alloc, txn);
    struct sfi_writer *writer = sfi_log_writer(log, session->producer_id);
    *writer = (struct sfi_writer){.producer_id = session->producer_id, .producer_epoch = session->epoch,
                                  .request = produce->number, .request_end = log->end};
    *end_out = log->end;
    return SFI_OK;
}
