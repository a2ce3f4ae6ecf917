#include "tests/unit/oracle_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/app/app.h"
#include "core/topo/check.h"
#include "tests/check.h"

/* ---------------------------------------------------------------- lies */

/* Is this event the one to lie about? */
static bool lies(struct oracle_world *w, enum oracle_lie lie)
{
    if (w->lie != lie) return false;
    w->lie_seen++;
    if (w->lie_seen != w->lie_at) return false;
    w->is_told = true;
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

struct appended {
    struct sf_tp tp;
    struct sf_record record;
    uint64_t producer_id;
    int32_t producer_epoch;
    uint64_t serial;
};

static void tell(struct oracle_world *w, const struct appended *a)
{
    w->broker_checks->appended(w->broker_checks->ctx, a->tp, &a->record, 1, a->producer_id, a->producer_epoch,
                               a->serial);
}

static void appended_row(struct oracle_world *w, struct appended a)
{
    static const uint8_t other[] = "{\"other\":1}";
    static struct appended kept;
    if (w->lie == LIE_ROWS_SWAPPED && w->lie_seen == w->lie_at && !w->is_told) {
        w->is_told = true;
        tell(w, &a);
        tell(w, &kept);
        return;
    }
    if (w->lie == LIE_ROWS_SWAPPED && ++w->lie_seen == w->lie_at) {
        kept = a;
        return;
    }
    if (lies(w, LIE_ROW_VALUE)) a.record.value = (struct sf_slice){other, sizeof other - 1};
    if (lies(w, LIE_ROW_TIME)) a.record.ts_ms++;
    if (lies(w, LIE_ROW_PARTITION)) a.tp.partition = 1 - a.tp.partition;
    if (lies(w, LIE_ROW_OUTSIDE)) a.serial = 0;
    if (lies(w, LIE_ROW_LOST)) return;
    if (lies(w, LIE_ROW_TWICE)) tell(w, &a);
    tell(w, &a);
}

static void appended_change(struct oracle_world *w, struct appended a)
{
    static const uint8_t other[] = "\0\0\0\0\0\0\0\1{\"n\":77}";
    if (a.record.value.data != NULL && lies(w, LIE_CHANGE_VALUE))
        a.record.value = (struct sf_slice){other, sizeof other - 1};
    static uint8_t kept[2][256];
    static struct sf_record first;
    if (w->lie == LIE_CHANGE_AGAIN && ++w->lie_seen == 1) {
        first = a.record;
        memcpy(kept[0], a.record.key.data, a.record.key.len);
        memcpy(kept[1], a.record.value.data, a.record.value.len);
        first.key.data = kept[0];
        first.value.data = kept[1];
    }
    if (w->lie == LIE_CHANGE_AGAIN && w->lie_seen == w->lie_at) {
        struct appended again = a;
        w->is_told = true;
        again.record = first;
        tell(w, &again);
    }
    if (lies(w, LIE_CHANGE_LOST)) return;
    if (a.record.value.data == NULL && lies(w, LIE_TOMBSTONE_LOST)) return;
    if (lies(w, LIE_CHANGE_GONE)) a.record.value = (struct sf_slice){NULL, 0};
    tell(w, &a);
}

static void appended_stamp(struct oracle_world *w, struct appended a)
{
    uint8_t row[512];
    if (lies(w, LIE_STAMP_LOST)) return;
    if (lies(w, LIE_STAMP)) {
        memcpy(row, a.record.value.data, a.record.value.len);
        row[a.record.value.len - 1] ^= 1;
        a.record.value.data = row;
    }
    tell(w, &a);
}

static void appended_frontier(struct oracle_world *w, struct appended a)
{
    uint8_t row[8];
    if (lies(w, LIE_FRONTIER_LOST)) return;
    if (lies(w, LIE_FRONTIER)) {
        memcpy(row, a.record.value.data, sizeof row);
        row[7] ^= 1;
        a.record.value.data = row;
    }
    tell(w, &a);
}

static void on_appended(void *ctx, struct sf_tp tp, const struct sf_record *records, uint32_t count,
                        uint64_t producer_id, int32_t producer_epoch, uint64_t serial)
{
    struct oracle_world *w = ctx;
    const char *topic = sf_sim_kafka_topic_name(w->broker, tp.topic);
    for (uint32_t i = 0; i < count; i++) {
        struct appended a = {tp, records[i], producer_id, producer_epoch, serial};
        if (strcmp(topic, "out") == 0) appended_row(w, a);
        else if (ends_with(topic, "-emitfrontier-changelog")) appended_frontier(w, a);
        else if (ends_with(topic, "-watermark-changelog")) appended_stamp(w, a);
        else if (ends_with(topic, "-changelog")) appended_change(w, a);
        else tell(w, &a);
    }
}

static void on_decided(void *ctx, const char *id, uint64_t producer_id, int32_t producer_epoch, uint64_t serial,
                       bool is_commit)
{
    struct oracle_world *w = ctx;
    if (is_commit && lies(w, LIE_ABORTED)) is_commit = false;
    if (is_commit && lies(w, LIE_PRODUCER_EPOCH)) producer_epoch--;
    w->broker_checks->decided(w->broker_checks->ctx, id, producer_id, producer_epoch, serial, is_commit);
}

static void on_offset(void *ctx, const char *group, struct sf_tp tp, int64_t offset, struct sf_slice metadata,
                      uint64_t serial)
{
    struct oracle_world *w = ctx;
    uint8_t text[64];
    if (lies(w, LIE_OFFSET_LOST)) return;
    if (lies(w, LIE_OFFSET)) offset--;
    if (lies(w, LIE_OFFSET_AHEAD)) offset++;
    if (lies(w, LIE_METADATA)) {
        memcpy(text, metadata.data, metadata.len);
        text[metadata.len - 2] = text[metadata.len - 2] == 'A' ? 'B' : 'A';
        metadata.data = text;
    }
    w->broker_checks->offset_committed(w->broker_checks->ctx, group, tp, offset, metadata, serial);
}

static void on_assigned(void *ctx, struct sf_tp tp, int64_t offset, int64_t time_max)
{
    struct oracle_world *w = ctx;
    if (lies(w, LIE_ASSIGNED)) offset++;
    w->engine_checks->assigned(w->engine_checks->ctx, tp, offset, time_max);
}

static void on_buffered(void *ctx, const struct sf_batch *batch)
{
    struct oracle_world *w = ctx;
    if (lies(w, LIE_BUFFERED_LOST)) return;
    struct sf_settings settings = w->topology->settings;
    if (lies(w, LIE_BUFFERED_MANY))
        w->topology->settings.buffered_records_max = w->topology->settings.poll_records_max = 1;
    w->engine_checks->buffered(w->engine_checks->ctx, batch);
    w->topology->settings = settings;
}

static void on_dispatched(void *ctx, uint64_t epoch, const struct sf_ref *refs, const struct sf_tp *tps, uint32_t count,
                          int64_t watermark)
{
    struct oracle_world *w = ctx;
    struct sf_ref told[64];
    struct sf_tp told_tps[64];
    assert_true(count <= 64);
    memcpy(told, refs, count * sizeof *refs);
    memcpy(told_tps, tps, count * sizeof *tps);
    if (lies(w, LIE_DISPATCH_TIME)) told[0].ts_ms++;
    if (lies(w, LIE_DISPATCH_HASH)) told[0].hash++;
    if (lies(w, LIE_DISPATCH_LATE)) watermark += 1000000;
    if (count > 1 && lies(w, LIE_DISPATCH_SWAPPED)) {
        told[0] = refs[1];
        told_tps[0] = tps[1];
        told[1] = refs[0];
        told_tps[1] = tps[0];
    }
    int64_t jump_us = lies(w, LIE_DELIVERED) ? -1000000 : 0;
    sf_sim_world_wall_jump(&w->world, jump_us);
    w->engine_checks->dispatched(w->engine_checks->ctx, epoch, told, told_tps, count, watermark);
    sf_sim_world_wall_jump(&w->world, -jump_us);
}

static void on_skipped(void *ctx, uint64_t epoch, struct sf_tp tp, int64_t offset, enum sf_drop reason)
{
    struct oracle_world *w = ctx;
    if (lies(w, LIE_SKIPPED)) reason = SF_DROP_PROCESSING;
    w->engine_checks->skipped(w->engine_checks->ctx, epoch, tp, offset, reason);
}

static void on_watermark(void *ctx, int64_t value, enum sf_watermark_why why)
{
    struct oracle_world *w = ctx;
    if (value > 0 && lies(w, LIE_WATERMARK_LOW)) value -= 1000;
    if (value > 0 && lies(w, LIE_WATERMARK_HIGH)) value++;
    if (value > 0 && lies(w, LIE_WATERMARK_LOST)) return;
    w->engine_checks->watermark(w->engine_checks->ctx, value, why);
}

static void on_fixed(void *ctx, const struct sf_cut *cut)
{
    struct oracle_world *w = ctx;
    struct sf_cut told = *cut;
    struct sf_source_counts counts = cut->sources[0];
    if (lies(w, LIE_STAMPED)) told.stamp++;
    if (lies(w, LIE_COUNTED)) {
        counts.dispatched++;
        told.sources = &counts; /* of the one source */
    }
    w->engine_checks->fixed(w->engine_checks->ctx, &told);
    if (lies(w, LIE_FIXED_TWICE)) {
        told.epoch++;
        w->engine_checks->fixed(w->engine_checks->ctx, &told);
    }
}

static void on_taken(void *ctx, uint32_t sub, uint32_t lane, uint64_t epoch, const struct sf_ref *refs, uint32_t count)
{
    struct oracle_world *w = ctx;
    if (lies(w, LIE_TAKEN_LOST)) return;
    w->engine_checks->taken(w->engine_checks->ctx, sub, lane, epoch, refs, count);
    if (lies(w, LIE_TAKEN_TWICE)) w->engine_checks->taken(w->engine_checks->ctx, sub, lane, epoch, refs, count);
}

static void on_crossed(void *ctx, uint32_t sub, uint32_t lane, uint64_t epoch)
{
    struct oracle_world *w = ctx;
    w->engine_checks->crossed(w->engine_checks->ctx, sub, lane, epoch);
    if (lies(w, LIE_CROSSED_TWICE)) w->engine_checks->crossed(w->engine_checks->ctx, sub, lane, epoch);
}

static void on_passed(void *ctx, uint32_t sub, uint32_t lane, uint64_t epoch, uint64_t results)
{
    struct oracle_world *w = ctx;
    if (!lies(w, LIE_NOT_PASSED)) w->engine_checks->passed(w->engine_checks->ctx, sub, lane, epoch, results);
}

static void on_committed(void *ctx, uint64_t epoch)
{
    struct oracle_world *w = ctx;
    if (lies(w, LIE_COMMITTED)) epoch++;
    w->engine_checks->committed(w->engine_checks->ctx, epoch);
}

static void on_fell_back(void *ctx, uint64_t epoch)
{
    struct oracle_world *w = ctx;
    if (lies(w, LIE_FELL_BACK)) epoch--;
    w->engine_checks->fell_back(w->engine_checks->ctx, epoch);
}

static void on_lag(void *ctx, struct sf_tp tp, bool is_known, bool is_caught_up)
{
    struct oracle_world *w = ctx;
    if (is_caught_up && lies(w, LIE_LAG)) is_caught_up = false;
    if (w->engine_checks->lag != NULL) w->engine_checks->lag(w->engine_checks->ctx, tp, is_known, is_caught_up);
}

/* ---------------------------------------------------------------- the world */

static void on_report(void *ctx, const struct sf_driver_violation *violation)
{
    struct oracle_world *w = ctx;
    if (w->violation_count++ == 0) w->violation = *violation;
}

static void on_step(void *ctx, const struct sf_sim_step_record *record)
{
    struct oracle_world *w = ctx;
    if (w->checks->stepped != NULL) w->checks->stepped(w->oracle, record);
}

static void on_note(void *ctx, struct sf_sim_instance *instance, const struct sf_task *task, const struct sf_note *note)
{
    struct oracle_world *w = ctx;
    if (w->checks->noted != NULL) w->checks->noted(w->oracle, instance, task, note);
    if (w->crash_code == note->code && w->crash_epoch == note->args[0]) {
        w->crash_code = -1;
        sf_sim_instance_kill(instance);
    }
}

static void on_ended(void *ctx, enum sf_end end, const struct sf_error *error)
{
    struct oracle_world *w = ctx;
    (void)error;
    w->has_ended = true;
    w->end = end;
}

static void load(struct oracle_world *w, const char *app)
{
    struct sf_findings findings;
    sf_findings_init(&findings, sf_alloc_libc());
    w->topology = sf_app_load(app, strlen(app), sf_alloc_libc(), &findings);
    for (uint32_t i = 0; i < findings.count; i++)
        if (findings.items[i].severity == SF_FINDING_ERROR)
            fail_msg("app.yaml:%u:%u: %s", findings.items[i].place.line, findings.items[i].place.column,
                     findings.items[i].text);
    sf_findings_deinit(&findings);
    w->plan = sf_plan_new(w->topology);
}

static void open_checks(struct oracle_world *w)
{
    struct sf_driver_world view = {.topology = w->topology,
                                   .plan = w->plan,
                                   .lanes = w->lanes,
                                   .is_exact = true,
                                   .is_barrier_manual = !w->is_cadenced,
                                   .world = &w->world,
                                   .broker = w->broker,
                                   .sched = w->sched,
                                   .report = on_report,
                                   .report_ctx = w};
    w->checks = sf_driver_oracle();
    w->oracle = w->checks->open(&view);
    w->broker_checks = w->checks->broker(w->oracle);
    w->liar = *w->broker_checks;
    w->liar.appended = on_appended;
    w->liar.decided = on_decided;
    w->liar.offset_committed = on_offset;
    w->liar.marked = NULL;
    w->liar.owner = NULL;
    w->liar.ctx = w;
    sf_sim_kafka_observe(w->broker, &w->liar);
    w->engine_liar = (struct sf_observer){w,          on_assigned, on_buffered, on_lag,    on_dispatched,
                                          on_skipped, on_watermark, on_fixed,   on_taken,  on_crossed,
                                          on_passed,  on_committed, on_fell_back};
}

static void init(struct oracle_world *w, const char *app, int32_t partitions, uint32_t lanes)
{
    w->crash_code = -1;
    w->lanes = lanes;
    struct sf_sim_world_config world = {.seed = 7, .wall_start_ms = 1000000000000, .is_fifo = true};
    sf_sim_world_init(&w->world, &world);
    struct sf_sim_sched_config sched = sf_sim_sched_config_exact();
    sched.on_note = on_note;
    sched.on_step = on_step;
    sched.ctx = w;
    w->sched = sf_sim_sched_new(&w->world, &sched);
    struct sf_sim_kafka_config kafka = sf_sim_kafka_config_exact();
    w->broker = sf_sim_kafka_new(&w->world, &kafka);
    struct sf_sim_disk_config disk = sf_sim_disk_config_exact();
    w->disk = sf_sim_disk_new(&w->world, &disk);
    CHECK_EQ(sf_sim_kafka_create(w->broker, "in", partitions, NULL, 0), SF_OK);
    CHECK_EQ(sf_sim_kafka_create(w->broker, "more", partitions, NULL, 0), SF_OK);
    CHECK_EQ(sf_sim_kafka_create(w->broker, "out", 2, NULL, 0), SF_OK);
    load(w, app);
    open_checks(w);
    oracle_world_start(w, SF_DRIVER_START_FIRST);
}

void oracle_world_init(struct oracle_world *w, const char *app, int32_t partitions, uint32_t lanes)
{
    memset(w, 0, sizeof *w);
    init(w, app, partitions, lanes);
}

void oracle_world_init_cadenced(struct oracle_world *w, const char *app, int32_t partitions, uint32_t lanes)
{
    memset(w, 0, sizeof *w);
    w->is_cadenced = true;
    init(w, app, partitions, lanes);
}

static int64_t now_ms(const struct oracle_world *w)
{
    return sf_sim_world_elapsed_us(&w->world) / 1000;
}

void oracle_world_start(struct oracle_world *w, enum sf_driver_start start)
{
    struct sf_sim_instance *instance = sf_sim_instance_new(&w->world);
    w->has_ended = false;
    w->info = (struct sf_driver_instance){.process = instance,
                                          .kafka = sf_sim_kafka_handle(w->broker, instance),
                                          .disk = w->disk,
                                          .start = start,
                                          .incarnation = ++w->incarnation * 1000};
    w->engine_checks = w->checks->started(w->oracle, &w->info);
    struct sf_engine_config config = {.topology = w->topology,
                                      .plan = w->plan,
                                      .alloc = sf_sim_instance_alloc(instance),
                                      .sched = sf_sim_sched_handle(w->sched, instance),
                                      .kafka = w->info.kafka,
                                      .stores = sf_sim_disk_factory(w->disk, instance),
                                      .observer = &w->engine_liar,
                                      .is_barrier_manual = true,
                                      .incarnation = w->info.incarnation,
                                      .lanes = w->lanes,
                                      .home_count = 1,
                                      .ended = on_ended,
                                      .ended_ctx = w};
    w->engine = sf_engine_new(&config);
    w->info.engine = w->engine;
    w->checks->made(w->oracle, &w->info);
    oracle_world_at(w, now_ms(w));
}

/* ---------------------------------------------------------------- what a crash leaves of the disk */

static void write_row(struct oracle_world *w, const struct sf_store_op *op)
{
    struct sf_sim_instance *vandal = sf_sim_instance_new(&w->world);
    struct sf_store_config config = {.name = "state"};
    struct sf_store store;
    struct sf_error error;
    CHECK_EQ(sf_store_open(sf_sim_disk_factory(w->disk, vandal), &config, &store, &error), SF_OK);
    sf_store_write(store, 1, op, 1);
    CHECK_EQ(sf_store_close(store, &error), SF_OK);
    sf_sim_instance_kill(vandal);
    sf_sim_instance_destroy(vandal);
}

struct vandalism {
    struct oracle_world *w;
    uint8_t key[64];
    uint32_t key_len; /* 0: not found yet */
};

static void find_row(void *ctx, struct sf_store_slice key, struct sf_store_slice value)
{
    struct vandalism *v = ctx;
    bool wants_position = v->w->lie == LIE_LOCAL_AHEAD || v->w->lie == LIE_LOCAL_BEYOND;
    bool is_position = key.len > 5 && memcmp(key.data, "\xff\xffpos", 5) == 0;
    (void)value;
    if (v->key_len > 0 || is_position != wants_position || (!is_position && key.data[0] == 0xff)) return;
    assert_true(key.len < sizeof v->key);
    memcpy(v->key, key.data, key.len);
    v->key_len = key.len;
}

static void vandalise(struct oracle_world *w)
{
    static const uint8_t other[] = "\0\0\0\0\0\0\0\1{\"n\":77}";
    struct vandalism v = {.w = w};
    uint8_t offset[8] = {0};
    if (w->lie < LIE_LOCAL_VALUE) return;
    CHECK(sf_sim_disk_each(w->disk, "state", find_row, &v));
    CHECK(v.key_len > 0);
    w->is_told = true;
    struct sf_store_op op = {.kind = SF_STORE_PUT, .key = {v.key, v.key_len}, .value = {other, sizeof other - 1}};
    if (w->lie == LIE_LOCAL_LOST) op.kind = SF_STORE_DELETE;
    if (w->lie == LIE_LOCAL_EXTRA) v.key[9] = 230; /* a window start that nobody has */
    if (w->lie == LIE_LOCAL_FORMAT) op.key.len = 4;
    if (w->lie == LIE_LOCAL_AHEAD || w->lie == LIE_LOCAL_BEYOND) {
        struct sf_tp tp = {sf_sim_kafka_topic(w->broker, "app-counts-changelog"), 0};
        int64_t end = sf_sim_kafka_log_end(w->broker, tp, SF_LOG_STABLE_END);
        offset[7] = (uint8_t)(end + (w->lie == LIE_LOCAL_BEYOND ? 9 : 0));
        op.value = (struct sf_store_slice){offset, sizeof offset};
    }
    write_row(w, &op);
}

static void release(struct oracle_world *w, enum sf_driver_ending ending)
{
    w->checks->ended(w->oracle, &w->info, ending);
    sf_engine_destroy(w->engine);
    w->engine = NULL;
    sf_sim_instance_destroy(w->info.process);
}

void oracle_world_crash(struct oracle_world *w)
{
    sf_sim_instance_kill(w->info.process);
    oracle_world_at(w, now_ms(w));
    vandalise(w);
    release(w, SF_DRIVER_ENDED_CRASHED);
}

void oracle_world_finish(struct oracle_world *w)
{
    struct sf_driver_end end = {.is_stopped = w->is_stopped, .is_settled = true};
    w->checks->finish(w->oracle, &end);
}

void oracle_world_deinit(struct oracle_world *w)
{
    if (w->engine != NULL) {
        sf_sim_instance_kill(w->info.process);
        oracle_world_at(w, now_ms(w));
        release(w, SF_DRIVER_ENDED_CUT);
    }
    w->checks->close(w->oracle);
    sf_sim_kafka_observe(w->broker, NULL);
    sf_sim_kafka_destroy(w->broker);
    sf_sim_disk_destroy(w->disk);
    sf_sim_sched_destroy(w->sched);
    sf_sim_world_deinit(&w->world);
    sf_topology_destroy(w->topology);
}

void oracle_world_append_to(struct oracle_world *w, const char *topic, int32_t partition, const char *key, int64_t ts,
                            const char *value)
{
    struct sf_out out = {.key = {(const uint8_t *)key, key != NULL ? (uint32_t)strlen(key) : 0},
                         .value = {(const uint8_t *)value, value != NULL ? (uint32_t)strlen(value) : 0},
                         .ts_ms = ts};
    struct sf_tp tp = {.topic = sf_sim_kafka_topic(w->broker, topic), .partition = partition};
    (void)sf_sim_kafka_append(w->broker, tp, &out, 1);
}

void oracle_world_append(struct oracle_world *w, int32_t partition, const char *key, int64_t ts, const char *value)
{
    oracle_world_append_to(w, "in", partition, key, ts, value);
}

void oracle_world_at(struct oracle_world *w, int64_t ms)
{
    if (!sf_sim_sched_run_until(w->sched, w->world.start_us + ms * 1000))
        fail_msg("stuck on %s", sf_sim_sched_stuck_on(w->sched));
}

void oracle_world_barrier(struct oracle_world *w)
{
    oracle_world_at(w, now_ms(w));
    sf_engine_fix(w->engine);
    oracle_world_at(w, now_ms(w));
}

void oracle_world_stop(struct oracle_world *w)
{
    oracle_world_at(w, now_ms(w));
    sf_engine_finish(w->engine);
    oracle_world_at(w, now_ms(w));
    CHECK(w->has_ended);
    w->is_stopped = w->end == SF_END_STOPPED;
    release(w, w->is_stopped ? SF_DRIVER_ENDED_STOPPED : SF_DRIVER_ENDED_FAILED);
}

void oracle_world_check(struct oracle_world *w, const char *rule)
{
    if (w->lie != LIE_NONE && !w->is_told) fail_msg("the lie was never told");
    const char *found = w->violation_count > 0 ? w->violation.rule : "";
    if (strcmp(found, rule) != 0)
        fail_msg("expected \"%s\", found %s %s: expected %s, actual %s", rule, found, w->violation.subject,
                 w->violation.expected, w->violation.actual);
}
