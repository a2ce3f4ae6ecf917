/* Buffers and the batches under them (D1): order, counts, and that a batch goes back once and only when nothing points
 * into it. */
#include "tests/check.h"

#include "core/ingest/buffer.h"

#define BATCHES 40u

struct releases {
    struct sf_batch *batches[BATCHES];
    uint32_t count;
};

static void release(void *self, struct sf_batch *batch)
{
    struct releases *releases = self;
    for (uint32_t k = 0; k < releases->count; k++) CHECK(releases->batches[k] != batch);
    releases->batches[releases->count] = batch;
    releases->count++;
}

static const struct sf_consumer_ops ops = {.release = release};

struct fixture {
    struct releases releases;
    struct sf_held_pool pool;
    struct sf_buffer buffer;
    struct sf_record records[BATCHES][3];
    struct sf_batch batches[BATCHES];
};

static void set_up(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    sf_held_pool_init(&f->pool, sf_alloc_libc(), (struct sf_consumer){.ops = &ops, .self = &f->releases});
    for (uint32_t b = 0; b < BATCHES; b++) {
        for (uint32_t k = 0; k < 3; k++) f->records[b][k].offset = 3 * b + k;
        f->batches[b] = (struct sf_batch){.count = 3, .records = f->records[b], .bytes = 10};
    }
}

static void tear_down(struct fixture *f)
{
    sf_buffer_deinit(&f->buffer, f->pool.alloc);
    sf_held_pool_deinit(&f->pool);
}

static int64_t next_offset(const struct sf_buffer *buffer)
{
    const struct sf_record *record = sf_buffer_next(buffer);
    return record != NULL ? record->offset : -1;
}

static void records_leave_in_order_and_batches_with_their_last_d3(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f);
    int64_t expected = 0;
    uint32_t pushed = 0;
    CHECK(sf_buffer_next(&f.buffer) == NULL);
    while (pushed < BATCHES || f.buffer.waiting > 0) { /* five in, eight out: the ring turns and grows */
        for (uint32_t k = 0; k < 5 && pushed < BATCHES; k++, pushed++)
            sf_buffer_push(&f.buffer, &f.pool, &f.batches[pushed], pushed);
        for (uint32_t k = 0; k < 8 && f.buffer.waiting > 0; k++) {
            CHECK_EQ(next_offset(&f.buffer), expected);
            CHECK_EQ(sf_buffer_span(&f.buffer)->arrival, expected / 3);
            sf_buffer_advance(&f.buffer, &f.pool);
            expected++;
            CHECK_EQ(f.buffer.waiting, 3 * pushed - (uint32_t)expected);
            CHECK_EQ(f.releases.count, (uint32_t)expected / 3);
        }
    }
    CHECK_EQ(expected, 3 * BATCHES);
    CHECK_EQ(f.pool.held_count, 0);
    CHECK_EQ(f.pool.held_bytes, 0);
    tear_down(&f);
}

static void batch_stays_while_a_block_points_into_it(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f);
    sf_buffer_push(&f.buffer, &f.pool, &f.batches[0], 0);
    struct sf_held *held = sf_buffer_span(&f.buffer)->held;
    held->pins += 2; /* refs in two blocks */
    for (uint32_t k = 0; k < 3; k++) sf_buffer_advance(&f.buffer, &f.pool);
    CHECK_EQ(f.releases.count, 0);
    sf_held_unpin(&f.pool, held);
    CHECK_EQ(f.releases.count, 0);
    CHECK_EQ(f.pool.held_bytes, 10);
    sf_held_unpin(&f.pool, held);
    CHECK_EQ(f.releases.count, 1);
    tear_down(&f);
}

static void what_is_thrown_away_goes_back_unless_pointed_at_b12(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f);
    for (uint32_t b = 0; b < 4; b++) sf_buffer_push(&f.buffer, &f.pool, &f.batches[b], b);
    sf_buffer_advance(&f.buffer, &f.pool);
    struct sf_held *held = sf_buffer_span(&f.buffer)->held;
    held->pins++;
    sf_buffer_clear(&f.buffer, &f.pool);
    CHECK_EQ(f.buffer.waiting, 0);
    CHECK(sf_buffer_next(&f.buffer) == NULL);
    CHECK_EQ(f.releases.count, 3);
    sf_held_unpin(&f.pool, held);
    CHECK_EQ(f.releases.count, 4);
    CHECK(f.releases.batches[3] == &f.batches[0]);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_leave_in_order_and_batches_with_their_last_d3),
        cmocka_unit_test(batch_stays_while_a_block_points_into_it),
        cmocka_unit_test(what_is_thrown_away_goes_back_unless_pointed_at_b12),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
