/* The persist task: between commit's edge and a store. */
#include "core/run/persist.h"

#include <stdlib.h>

#include "core/hash.h"
#include "core/note.h"
#include "core/state/changelog.h"
#include "core/state/local_layout.h"
#include "tests/check.h"
#include "tests/unit/fake_store.h"

#define PARTITIONS 2

struct fixture {
    struct fake_store fake;
    struct sf_local_writer *writer;
    struct sf_persist *persist;
    struct sf_task task;
    struct sf_notes notes;
    struct sf_mono_ts now;
    struct sf_step_result result;
    uint32_t budget;
    uint32_t generation;
    uint32_t written_notes;
    uint32_t failed_notes;
    int64_t written_epoch;
    struct sf_targets targets;
    struct sf_target items[2];
    struct sf_edge *commit; /* to persist */
    struct sf_edge *engine;
    struct sf_edge *back;
};

static struct sf_mono_ts mono(void *self)
{
    return ((struct fixture *)self)->now;
}

static struct sf_wall_ts wall(void *self)
{
    (void)self;
    return (struct sf_wall_ts){1};
}

static struct sf_edge *edge_new(uint32_t blocks)
{
    struct sf_edge *edge = aligned_alloc(128, (sizeof *edge + 127) / 128 * 128);
    sf_edge_init(edge, &(struct sf_edge_config){.alloc = sf_alloc_libc(),
                                                .data_blocks = blocks,
                                                .block_bytes = 4096,
                                                .control_slots = 8});
    return edge;
}

static void init(struct fixture *f, uint64_t bytes_max)
{
    static const struct sf_local_log logs[PARTITIONS] = {{.topic = "log", .partition = 0},
                                                         {.topic = "log", .partition = 1}};
    memset(f, 0, sizeof *f);
    fake_store_init(&f->fake);
    f->now = (struct sf_mono_ts){1000000};
    f->budget = 100;
    f->items[0] = (struct sf_target){.kind = SF_TARGET_SINK, .topic = 1};
    f->items[1] =
        (struct sf_target){.kind = SF_TARGET_CHANGELOG, .index = 3, .topic = 5, .partition_count = PARTITIONS};
    f->targets = (struct sf_targets){.items = f->items, .count = 2, .sink_count = 1};
    f->commit = edge_new(4);
    f->engine = edge_new(0);
    f->back = edge_new(0);
    f->writer = sf_local_writer_new(&(struct sf_local_writer_config){.alloc = sf_alloc_libc(),
                                                                    .store = fake_store(&f->fake),
                                                                    .identity = 1,
                                                                    .is_store_empty = true,
                                                                    .store_count = 4,
                                                                    .logs = logs,
                                                                    .log_count = PARTITIONS,
                                                                    .bytes_max = bytes_max});
    f->persist = sf_persist_new(&(struct sf_persist_config){.alloc = sf_alloc_libc(),
                                                            .targets = &f->targets,
                                                            .writer = f->writer,
                                                            .interval_us = 10000,
                                                            .from_commit = f->commit,
                                                            .from_engine = f->engine,
                                                            .to_engine = f->back},
                                &f->task);
}

static void deinit(struct fixture *f)
{
    sf_persist_destroy(f->persist);
    sf_local_writer_destroy(f->writer);
    struct sf_edge *edges[] = {f->commit, f->engine, f->back};
    for (uint32_t i = 0; i < 3; i++) {
        sf_edge_deinit(edges[i]);
        free(edges[i]);
    }
    fake_store_deinit(&f->fake);
}

/* One step that sees at most `limit` messages of commit. */
static void step_seeing(struct fixture *f, uint32_t limit)
{
    static const struct sf_clock_ops ops = {.mono = mono, .wall = wall};
    struct sf_clock clock = {.ops = &ops, .self = f};
    const uint32_t limits[2] = {UINT32_MAX, limit};
    f->result = sf_task_run(&f->task, clock, f->budget, limits, &f->notes);
    for (uint32_t i = 0; i < f->notes.count; i++) {
        if (f->notes.items[i].code == SF_NOTE_STORE_FAILED) f->failed_notes++;
        if (f->notes.items[i].code != SF_NOTE_STORE_WRITTEN) continue;
        f->written_notes++;
        f->written_epoch = f->notes.items[i].args[0];
    }
}

/* Until it waits for something that has not come; what the store says and gives back is seen. */
static void run(struct fixture *f)
{
    for (uint32_t idle = 0; idle < 2;) {
        step_seeing(f, UINT32_MAX);
        if (f->result.next == SF_NEXT_DONE) return;
        idle = f->result.next == SF_NEXT_AGAIN ? 0 : idle + 1;
    }
}

static void push(struct fixture *f, struct sf_msg msg)
{
    msg.generation = f->generation;
    sf_edge_push(f->commit, &msg);
}

static struct sf_block *take(struct fixture *f)
{
    (void)sf_port_latch(&f->commit->back, UINT32_MAX);
    struct sf_block *block = sf_edge_take(f->commit);
    CHECK(block != NULL);
    return block;
}

static void row(struct sf_block *block, int64_t start, const char *key, const char *value)
{
    uint8_t bytes[64];
    uint32_t key_len = sf_row_key_write(bytes, (const uint8_t *)key, (uint32_t)strlen(key), start);
    uint32_t value_len = value == NULL ? SF_WIRE_NULL : (uint32_t)strlen(value);
    struct sf_wire *wire = sf_wire_append(block, key_len, value_len, SF_WIRE_NULL);
    CHECK(wire != NULL);
    wire->target = 1;
    wire->hash = 0;
    memcpy(wire + 1, bytes, key_len);
    if (value != NULL) memcpy((uint8_t *)(wire + 1) + key_len, value, value_len);
}

static void change(struct fixture *f, uint64_t epoch, int64_t start, const char *key, const char *value)
{
    struct sf_block *block = take(f);
    row(block, start, key, value);
    push(f, (struct sf_msg){.kind = SF_MSG_OUT, .flags = SF_OUT_CHANGES, .epoch = epoch, .block = block});
}

static void committed(struct fixture *f, uint64_t epoch, int64_t end)
{
    struct sf_block *block = take(f);
    struct sf_position position = {.tp = {.topic = 5, .partition = 1}, .end = end};
    memcpy(block->data, &position, sizeof position);
    block->used = sizeof position;
    block->count = 1;
    push(f, (struct sf_msg){.kind = SF_MSG_OUT, .flags = SF_OUT_POSITIONS, .epoch = epoch, .block = block});
    push(f, (struct sf_msg){.kind = SF_MSG_COMMITTED, .epoch = epoch, .block = take(f)});
}

static void order(struct fixture *f, struct sf_msg msg)
{
    sf_edge_push(f->engine, &msg);
}

/* The next answer to the engine, -1 if there is none. */
static int answer(struct fixture *f)
{
    (void)sf_port_latch(&f->back->in, UINT32_MAX);
    const struct sf_msg *msg = sf_edge_peek(f->back, 0);
    if (msg == NULL) return -1;
    int kind = msg->kind;
    sf_edge_pop(f->back);
    return kind;
}

static const char *value_of(struct fixture *f, int64_t start, const char *key)
{
    static char value[64];
    uint8_t bytes[128];
    uint32_t key_len = (uint32_t)strlen(key), len = 0;
    uint32_t row_len =
        sf_local_row_key_write(bytes, 3, start, sf_hash64(key, key_len), (const uint8_t *)key, key_len);
    enum sf_status status = sf_store_get(fake_store(&f->fake), (struct sf_store_slice){bytes, row_len},
                                         (uint8_t *)value, sizeof value - 1, &len);
    if (status != SF_OK) return "";
    value[len] = '\0';
    return value;
}

static int64_t position_of(struct fixture *f)
{
    int64_t offset;
    CHECK_EQ(sf_local_position_get(fake_store(&f->fake), "log", 1, &offset), SF_OK);
    return offset;
}

/* ------------------------------------------------------------------ */

static void nothing_is_written_before_its_epoch_has_committed_b8(void **state)
{
    (void)state;
    for (uint32_t budget = 1; budget <= 64; budget *= 8) {
        struct fixture f;
        init(&f, 0);
        f.budget = budget;
        change(&f, 1, 0, "a", "1");
        run(&f);
        f.now.us += 1000000;
        run(&f);
        CHECK_EQ(f.fake.batch_count, 0);
        committed(&f, 1, 17);
        run(&f);
        CHECK_EQ(f.result.next, SF_NEXT_WAIT);
        CHECK_EQ(f.result.wake_at.us, f.now.us + 10000);
        CHECK(f.fake.batch_count == 0); /* it waits for company */
        f.now.us += 10000;
        run(&f);
        CHECK_EQ(f.fake.batch_count, 1);
        CHECK_STR(value_of(&f, 0, "a"), "1");
        CHECK_EQ(position_of(&f), 17);
        CHECK_EQ(f.written_notes, 1);
        CHECK_EQ(f.written_epoch, 1);
        CHECK_EQ(f.result.wake_at.us, f.now.us + SF_PERSIST_SYNC_INTERVAL_US);
        CHECK(sf_persist_is_at_rest(f.persist));
        deinit(&f);
    }
}

/* What a crash leaves to the changelog is bounded in time: a minute, and what waits for its batch. */
static void what_is_written_is_durable_a_minute_later_k4(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 0);
    int64_t first = f.now.us + 10000;
    for (uint64_t epoch = 1; epoch <= 4; epoch++) {
        change(&f, epoch, 0, "a", "1");
        committed(&f, epoch, (int64_t)epoch);
        run(&f);
        f.now.us += 10000;
        run(&f);
    }
    CHECK_EQ(f.fake.batch_count, 4);
    CHECK_EQ(f.result.wake_at.us, first + SF_PERSIST_SYNC_INTERVAL_US);
    f.now.us = first + SF_PERSIST_SYNC_INTERVAL_US - 1;
    run(&f);
    CHECK_EQ(f.fake.sync_count, 0);
    f.now.us++;
    run(&f);
    CHECK_EQ(f.fake.sync_count, 1);
    CHECK_EQ(f.result.wake_at.us, SF_MONO_NEVER.us); /* nothing more to bring or to keep */
    f.now.us += 10 * SF_PERSIST_SYNC_INTERVAL_US;
    run(&f);
    CHECK_EQ(f.fake.sync_count, 1);
    deinit(&f);
}

static void several_epochs_become_one_batch_and_the_last_write_wins(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 0);
    for (uint64_t epoch = 1; epoch <= 5; epoch++) {
        char value[2] = {(char)('0' + epoch), 0};
        change(&f, epoch, 0, "a", value);
        run(&f);
        committed(&f, epoch, (int64_t)epoch * 10);
        run(&f);
    }
    change(&f, 6, 0, "a", "6"); /* never commits */
    run(&f);
    f.now.us += 10000;
    run(&f);
    CHECK_EQ(f.fake.batch_count, 1);
    CHECK_STR(value_of(&f, 0, "a"), "5");
    CHECK_EQ(position_of(&f), 50);
    CHECK_EQ(f.written_epoch, 5);
    deinit(&f);
}

static void window_that_expired_before_the_batch_is_never_written(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 0);
    change(&f, 1, 10, "a", "1");
    committed(&f, 1, 10);
    run(&f);
    change(&f, 2, 10, "a", NULL);
    committed(&f, 2, 20);
    run(&f);
    f.now.us += 10000;
    run(&f);
    CHECK_EQ(f.fake.batch_count, 1);
    for (uint32_t i = 0; i < f.fake.batches[0].count; i++) CHECK_EQ(f.fake.batches[0].ops[i].row.key[0], 0xff);
    CHECK_EQ(position_of(&f), 20);
    deinit(&f);
}

static void a_batchs_worth_is_written_at_once_and_a_full_writer_takes_nothing(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 1200);
    f.fake.told_max = 0;
    change(&f, 1, 10, "a", "1");
    committed(&f, 1, 10);
    run(&f);
    CHECK_EQ(f.fake.batch_count, 1); /* a chunk is a batch's worth here */
    change(&f, 2, 10, "a", "2");
    committed(&f, 2, 20);
    run(&f);
    CHECK(sf_local_writer_is_full(f.writer));
    change(&f, 3, 10, "a", "3");
    run(&f);
    CHECK_EQ(sf_port_visible(&f.commit->in), 1);
    f.fake.told_max = UINT32_MAX;
    run(&f);
    CHECK_EQ(sf_port_visible(&f.commit->in), 0);
    CHECK_STR(value_of(&f, 10, "a"), "2");
    deinit(&f);
}

static void fall_back_drops_what_is_held_above_the_cut_b12(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 0);
    change(&f, 1, 0, "a", "1");
    committed(&f, 1, 10);
    run(&f);
    change(&f, 2, 0, "a", "2");
    run(&f);
    order(&f, (struct sf_msg){.kind = SF_MSG_STOP});
    run(&f);
    CHECK_EQ(answer(&f), SF_MSG_STOPPED);
    order(&f, (struct sf_msg){.kind = SF_MSG_RESET, .epoch = 1, .value = 3, .value2 = 1});
    run(&f);
    CHECK_EQ(answer(&f), SF_MSG_RESUMED);
    f.generation = 1;
    change(&f, 3, 0, "b", "3");
    committed(&f, 3, 30);
    run(&f);
    f.now.us += 10000;
    run(&f);
    CHECK_STR(value_of(&f, 0, "a"), "1");
    CHECK_STR(value_of(&f, 0, "b"), "3");
    CHECK_EQ(position_of(&f), 30);
    deinit(&f);
}

/* The two edges are read in any order: blocks of before the fall-back may come up after it. */
static void blocks_that_a_fall_back_overtakes_count_up_to_its_cut_only(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 0);
    change(&f, 1, 0, "a", "1");
    committed(&f, 1, 10);        /* cut 1 */
    change(&f, 2, 0, "a", "2");  /* aborted */
    order(&f, (struct sf_msg){.kind = SF_MSG_STOP});
    order(&f, (struct sf_msg){.kind = SF_MSG_RESET, .epoch = 1, .value = 3, .value2 = 1});
    step_seeing(&f, 0);
    CHECK_EQ(answer(&f), SF_MSG_STOPPED);
    CHECK_EQ(answer(&f), SF_MSG_RESUMED);
    step_seeing(&f, 3); /* the epoch that stands, and credit for what follows */
    f.generation = 1;
    change(&f, 3, 0, "a", "3"); /* aborted by the second */
    order(&f, (struct sf_msg){.kind = SF_MSG_STOP});
    order(&f, (struct sf_msg){.kind = SF_MSG_RESET, .epoch = 1, .value = 5, .value2 = 2});
    step_seeing(&f, 0);
    run(&f);
    f.generation = 2;
    change(&f, 5, 0, "b", "5");
    committed(&f, 5, 50);
    run(&f);
    f.now.us += 10000;
    run(&f);
    CHECK_STR(value_of(&f, 0, "a"), "1");
    CHECK_STR(value_of(&f, 0, "b"), "5");
    CHECK_EQ(position_of(&f), 50);
    deinit(&f);
}

/* Cut 1 is left behind, an epoch commits in the new generation, and only then the old blocks come up. */
static void blocks_older_than_two_fall_backs_count_up_to_the_first_cut(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 0);
    change(&f, 2, 0, "a", "2"); /* aborted by the first */
    order(&f, (struct sf_msg){.kind = SF_MSG_RESET, .epoch = 1, .value = 3, .value2 = 1});
    step_seeing(&f, 0);
    f.generation = 1;
    push(&f, (struct sf_msg){.kind = SF_MSG_COMMITTED, .epoch = 3, .block = take(&f)});
    order(&f, (struct sf_msg){.kind = SF_MSG_RESET, .epoch = 3, .value = 5, .value2 = 2});
    step_seeing(&f, 0);
    f.generation = 2;
    committed(&f, 5, 50);
    run(&f);
    f.now.us += 10000;
    run(&f);
    CHECK_STR(value_of(&f, 0, "a"), "");
    CHECK_EQ(position_of(&f), 50);
    deinit(&f);
}

static void rows_held_at_the_cut_are_kept_though_their_committed_is_still_on_its_way(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 0);
    change(&f, 1, 0, "a", "1");
    run(&f);
    order(&f, (struct sf_msg){.kind = SF_MSG_RESET, .epoch = 1, .value = 3, .value2 = 1}); /* it was in doubt */
    run(&f);
    CHECK_EQ(answer(&f), SF_MSG_RESUMED);
    f.now.us += 10000;
    run(&f);
    CHECK_STR(value_of(&f, 0, "a"), "1");
    deinit(&f);
}

static void graceful_stop_writes_what_is_committed_and_makes_it_durable_s4(void **state)
{
    (void)state;
    for (uint32_t budget = 1; budget <= 64; budget *= 8) {
        struct fixture f;
        init(&f, 0);
        f.budget = budget;
        change(&f, 1, 0, "a", "1");
        committed(&f, 1, 10);
        change(&f, 2, 0, "b", "2"); /* never commits */
        order(&f, (struct sf_msg){.kind = SF_MSG_STOP, .flags = SF_STOP_FOR_GOOD});
        f.fake.told_max = 0;
        run(&f);
        CHECK_EQ(answer(&f), -1); /* not before the store says so */
        f.fake.told_max = UINT32_MAX;
        run(&f);
        CHECK_EQ(f.result.next, SF_NEXT_DONE);
        CHECK_EQ(answer(&f), SF_MSG_STOPPED);
        CHECK_STR(value_of(&f, 0, "a"), "1");
        CHECK_STR(value_of(&f, 0, "b"), "");
        CHECK_EQ(position_of(&f), 10);
        CHECK_EQ(f.fake.sync_count, 1);
        deinit(&f);
    }
}

static void store_that_fails_is_told_of_once_and_ends_nothing(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 0);
    f.fake.write_status = SF_E_IO;
    for (uint64_t epoch = 1; epoch <= 4; epoch++) {
        change(&f, epoch, 0, "a", "1");
        committed(&f, epoch, 10);
        run(&f);
        f.now.us += 10000;
        run(&f);
        CHECK_EQ(f.result.next, SF_NEXT_WAIT);
    }
    CHECK_EQ(f.failed_notes, 1);
    CHECK_EQ(f.written_notes, 0);
    CHECK_EQ(f.result.wake_at.us, SF_MONO_NEVER.us);
    CHECK_EQ(sf_local_writer_bytes(f.writer), 0);
    order(&f, (struct sf_msg){.kind = SF_MSG_STOP, .flags = SF_STOP_FOR_GOOD});
    run(&f);
    CHECK_EQ(answer(&f), SF_MSG_STOPPED);
    deinit(&f);
}

/* At every batch the store holds the rows of its positions, of nothing more and nothing less (K4, X9). */
static void every_batch_is_the_changelog_up_to_its_positions_x9(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 0);
    uint32_t draw = 1;
    int64_t end = 0;
    char values[200][4][2]; /* by position, key */
    memset(values, 0, sizeof values);
    static const char *keys[] = {"a", "b", "c", "d"};
    uint32_t seen = 0;
    for (uint64_t epoch = 1; epoch < 100; epoch++) {
        uint32_t rows = 1 + (draw = draw * 1103515245 + 12345) / 65536 % 3;
        memcpy(values[end + rows], values[end], sizeof values[end]);
        struct sf_block *block = take(&f);
        for (uint32_t i = 0; i < rows; i++) {
            uint32_t k = (draw = draw * 1103515245 + 12345) / 65536 % 4;
            char value[2] = {(char)('A' + (draw >> 8) % 26), 0};
            row(block, 0, keys[k], value);
            memcpy(values[end + rows][k], value, 2);
        }
        push(&f, (struct sf_msg){.kind = SF_MSG_OUT, .flags = SF_OUT_CHANGES, .epoch = epoch, .block = block});
        end += rows;
        if (end >= 196) break;
        f.budget = 1 + draw / 65536 % 4;
        step_seeing(&f, draw / 65536 % 2);
        f.now.us += draw / 65536 % 9000;
        committed(&f, epoch, end);
        for (uint32_t i = 0; i < 40; i++) {
            step_seeing(&f, UINT32_MAX);
            if (f.fake.batch_count == seen) continue;
            seen = f.fake.batch_count;
            int64_t position = position_of(&f);
            for (uint32_t k = 0; k < 4; k++) CHECK_STR(value_of(&f, 0, keys[k]), values[position][k]);
        }
    }
    CHECK(seen > 10);
    deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_written_before_its_epoch_has_committed_b8),
        cmocka_unit_test(what_is_written_is_durable_a_minute_later_k4),
        cmocka_unit_test(several_epochs_become_one_batch_and_the_last_write_wins),
        cmocka_unit_test(window_that_expired_before_the_batch_is_never_written),
        cmocka_unit_test(a_batchs_worth_is_written_at_once_and_a_full_writer_takes_nothing),
        cmocka_unit_test(fall_back_drops_what_is_held_above_the_cut_b12),
        cmocka_unit_test(blocks_that_a_fall_back_overtakes_count_up_to_its_cut_only),
        cmocka_unit_test(blocks_older_than_two_fall_backs_count_up_to_the_first_cut),
        cmocka_unit_test(rows_held_at_the_cut_are_kept_though_their_committed_is_still_on_its_way),
        cmocka_unit_test(graceful_stop_writes_what_is_committed_and_makes_it_durable_s4),
        cmocka_unit_test(store_that_fails_is_told_of_once_and_ends_nothing),
        cmocka_unit_test(every_batch_is_the_changelog_up_to_its_positions_x9),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
