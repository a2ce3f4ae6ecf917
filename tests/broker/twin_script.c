/* The script of the twin histories. See twin_script.h. */
#include "tests/broker/twin_script.h"

#include <stdarg.h>
#include <stdio.h>

#include "tests/check.h"

static void say(struct twin_history *history, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct twin_history *history, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int wrote = vsnprintf(history->text + history->used, TWIN_HISTORY_BYTES - history->used, format, args);
    va_end(args);
    CHECK(wrote >= 0 && history->used + (uint32_t)wrote + 2 < TWIN_HISTORY_BYTES);
    history->used += (uint32_t)wrote;
    history->text[history->used++] = '\n';
    history->text[history->used] = '\0';
}

static const char *class_word(enum sf_status status)
{
    static const char *const words[] = {"ok", "retry", "abort", "lost", "fenced", "fatal", "caller"};
    return words[sf_status_class(status)];
}

static const char *outcome_word(enum sf_outcome outcome)
{
    static const char *const words[] = {"committed", "not committed", "unknown"};
    return words[outcome];
}

static void say_end(struct twin_history *history, const char *what, struct sf_producer_event event)
{
    if (event.kind == SF_PRODUCER_COMMITTED)
        say(history, "%s: %s, %s, end %s", what, outcome_word(event.outcome), class_word(event.status),
            event.end_sends > 0 ? "sent" : "never sent");
    else
        say(history, "%s: %s", what, sf_status_name(event.status));
}

static void say_log(struct twin_history *history, const char *what, const struct kafka_reader *reader)
{
    for (uint32_t i = 0; i < reader->seen_count; i++) {
        const struct kafka_seen *seen = &reader->seen[i];
        say(history, "%s: %d@%lld %s=%s%s%s ts %lld", what, (int)seen->tp.partition, (long long)seen->offset,
            seen->is_null_key ? "(null)" : seen->key, seen->is_null_value ? "(null)" : seen->value,
            seen->headers[0] != '\0' ? " " : "", seen->headers, (long long)seen->ts_ms);
    }
    for (uint32_t i = 0; i < reader->part_count; i++)
        say(history, "%s: %d caught up at %lld", what, (int)reader->parts[i].tp.partition,
            (long long)reader->parts[i].caught_up);
}

static void say_committed(struct twin_history *history, const char *what, struct kafka_boss *boss, const char *group,
                          struct sf_tp tp)
{
    struct sf_offset_answer answer = kafka_boss_committed(boss, group, tp);
    if (answer.status != SF_OK) say(history, "%s: %s", what, sf_status_name(answer.status));
    else say(history, "%s: %lld \"%s\"", what, (long long)answer.offset, boss->metadata[0]);
}

static struct kafka_boss *stage(struct kafka_world *world, int32_t partition_count)
{
    struct kafka_boss *boss = kafka_boss_open(world, 0);
    kafka_boss_create(boss, 0, "t", partition_count, NULL, NULL);
    kafka_boss_create(boss, 0, "w", 1, NULL, NULL);
    return boss;
}

static struct kafka_writer *writer(struct kafka_world *world, uint32_t process)
{
    return kafka_writer_open(world, process, "tx", (struct kafka_writer_options){0});
}

static struct kafka_reader *reader(struct kafka_world *world, struct sf_tp tp, bool is_uncommitted)
{
    struct kafka_reader *reader = kafka_reader_open(
        world, 0, (struct kafka_reader_options){.is_read_uncommitted = is_uncommitted, .has_headers = true});
    (void)kafka_reader_add(reader, tp, 0);
    return reader;
}

static const struct sf_member_token outsider = {0};

/* ------------------------------------------------------------------ produce and transactions */

static void run_produce(struct kafka_world *world, struct twin_history *history)
{
    struct kafka_boss *boss = stage(world, 2);
    struct sf_tp a = kafka_tp(world, 0, "t", 0), b = kafka_tp(world, 0, "t", 1);
    struct kafka_writer *plain = kafka_writer_open(world, 0, NULL, (struct kafka_writer_options){0});
    sf_producer_track(plain->client, a);
    sf_producer_track(plain->client, b);
    kafka_writer_put(plain, a, "k1", "one");
    kafka_writer_put(plain, a, NULL, "two");
    kafka_writer_put(plain, b, "k3", NULL);
    say_end(history, "produce: flush", kafka_writer_flush(plain));
    for (uint32_t i = 0; i < plain->position_count; i++)
        say(history, "produce: position %d %lld", (int)plain->positions[i].tp.partition,
            (long long)plain->positions[i].end);
    struct kafka_reader *log = reader(world, a, false);
    (void)kafka_reader_add(log, b, 0);
    kafka_reader_wait_caught_up(log, a, 2);
    kafka_reader_wait_caught_up(log, b, 1);
    kafka_reader_close(log);
    for (uint32_t p = 0; p < 2; p++) { /* one after the other: partitions have no order between them */
        log = reader(world, p == 0 ? a : b, false);
        kafka_reader_wait_caught_up(log, p == 0 ? a : b, p == 0 ? 2 : 1);
        say_log(history, "produce: read", log);
        kafka_reader_close(log);
    }
    say(history, "produce: ends %lld %lld", (long long)kafka_boss_end(boss, a, SF_LOG_END),
        (long long)kafka_boss_end(boss, b, SF_LOG_STABLE_END));
}

static void run_transactions(struct kafka_world *world, struct twin_history *history)
{
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_reader *log = reader(world, tp, true), *committed = reader(world, tp, false);
    struct kafka_writer *tx = writer(world, 0);
    sf_producer_track(tx->client, tp);
    say_end(history, "txn: init", kafka_writer_init(tx));
    kafka_writer_begin(tx);
    say_end(history, "txn: empty commit", kafka_writer_commit(tx));
    kafka_writer_begin(tx);
    say_end(history, "txn: empty abort", kafka_writer_abort(tx));
    kafka_writer_begin(tx);
    kafka_writer_put(tx, tp, "k", "a");
    kafka_writer_put(tx, tp, "k", "b");
    say_end(history, "txn: commit", kafka_writer_commit(tx));
    say(history, "txn: position %lld", tx->position_count > 0 ? (long long)tx->positions[0].end : -1LL);
    kafka_writer_begin(tx);
    kafka_writer_put(tx, tp, "k", "aborted");
    kafka_reader_wait_seen(log, 3);
    say_end(history, "txn: abort", kafka_writer_abort(tx));
    kafka_writer_begin(tx);
    kafka_writer_put(tx, tp, "k", "open");
    kafka_reader_wait_seen(log, 4);
    kafka_reader_wait_caught_up(committed, tp, 5);
    say_log(history, "txn: committed reader", committed);
    say(history, "txn: stable end %lld, end %lld", (long long)kafka_boss_end(boss, tp, SF_LOG_STABLE_END),
        (long long)kafka_boss_end(boss, tp, SF_LOG_END));
    say_end(history, "txn: commit", kafka_writer_commit(tx));
    kafka_reader_wait_caught_up(committed, tp, 7);
    kafka_reader_wait_caught_up(log, tp, 7);
    say_log(history, "txn: committed reader", committed);
    say_log(history, "txn: log", log);
}

static void run_offsets(struct kafka_world *world, struct twin_history *history)
{
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_writer *tx = writer(world, 0);
    say_end(history, "offsets: init", kafka_writer_init(tx));
    say_committed(history, "offsets: before", boss, "g", tp);
    kafka_writer_begin(tx);
    say_end(history, "offsets: put", kafka_writer_offsets(tx, outsider, tp, 11, "eleven"));
    kafka_boss_ask_committed(boss, "g", tp);
    kafka_writer_put(tx, tp, "k", "v");
    say(history, "offsets: answered while open: %s", boss->has_event ? "yes" : "no");
    say_end(history, "offsets: commit", kafka_writer_commit(tx));
    (void)kafka_boss_wait(boss, "committed");
    say(history, "offsets: after %lld \"%s\"", (long long)boss->answers[0].offset, boss->metadata[0]);
    kafka_writer_begin(tx);
    say_end(history, "offsets: put", kafka_writer_offsets(tx, outsider, tp, 22, NULL));
    say_end(history, "offsets: put again", kafka_writer_offsets(tx, outsider, tp, 23, NULL));
    say_end(history, "offsets: abort", kafka_writer_abort(tx));
    say_committed(history, "offsets: after the abort", boss, "g", tp);
    kafka_writer_begin(tx);
    (void)kafka_writer_offsets(tx, outsider, tp, 5, "back");
    say_end(history, "offsets: commit backwards", kafka_writer_commit(tx));
    say_committed(history, "offsets: after going back", boss, "g", tp);
    say_committed(history, "offsets: another group", boss, "h", tp);
}

static void run_undeliverable(struct kafka_world *world, struct twin_history *history)
{
    struct kafka_boss *boss = kafka_boss_open(world, 0);
    kafka_boss_create(boss, 0, "t", 1, "max.message.bytes", "2000");
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    static char large[5001];
    for (uint32_t i = 0; i < 5000; i++) large[i] = (char)('a' + (i * 7919u + i / 13u) % 26u);
    struct kafka_writer *tx = writer(world, 0);
    say_end(history, "undeliverable: init", kafka_writer_init(tx));
    kafka_writer_begin(tx);
    kafka_writer_put(tx, tp, "k", large);
    say_end(history, "undeliverable: commit", kafka_writer_commit(tx));
    say_end(history, "undeliverable: abort", kafka_writer_abort(tx));
    kafka_writer_begin(tx);
    kafka_writer_put(tx, tp, "k", "small");
    struct sf_producer_event event = kafka_writer_commit(tx);
    say_end(history, "undeliverable: next commit", event);
    if (event.outcome != SF_OUTCOME_COMMITTED) {
        say_end(history, "undeliverable: next abort", kafka_writer_abort(tx));
        kafka_writer_begin(tx);
        kafka_writer_put(tx, tp, "k", "small");
        say_end(history, "undeliverable: commit after that", kafka_writer_commit(tx));
    }
    struct kafka_reader *committed = reader(world, tp, false);
    kafka_reader_wait_seen(committed, 1);
    say(history, "undeliverable: read %s", committed->seen[0].value);
}

/* ------------------------------------------------------------------ fencing, crash, time-out */

static void run_fence(struct kafka_world *world, struct twin_history *history)
{
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0), tp1 = kafka_tp(world, 1, "t", 0);
    struct kafka_reader *log = reader(world, tp, true), *committed = reader(world, tp, false);
    struct kafka_writer *old = writer(world, 0), *new = writer(world, 1);
    say_end(history, "fence: old init", kafka_writer_init(old));
    kafka_writer_begin(old);
    kafka_writer_put(old, tp, "k", "old");
    (void)kafka_writer_offsets(old, outsider, tp, 9, NULL);
    kafka_reader_wait_seen(log, 1);
    say_end(history, "fence: new init", kafka_writer_init(new));
    say_committed(history, "fence: settled offsets", boss, "g", tp);
    say(history, "fence: settled end %lld", (long long)kafka_boss_end(boss, tp, SF_LOG_STABLE_END));
    say_end(history, "fence: old commit", kafka_writer_commit(old));
    kafka_writer_begin(new);
    kafka_writer_put(new, tp1, "k", "new");
    say_end(history, "fence: new commit", kafka_writer_commit(new));
    kafka_reader_wait_caught_up(committed, tp, 4);
    say_log(history, "fence: committed reader", committed);
}

static void run_fence_abort(struct kafka_world *world, struct twin_history *history)
{
    (void)stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_reader *log = reader(world, tp, true);
    struct kafka_writer *old = writer(world, 0), *new = writer(world, 1);
    (void)kafka_writer_init(old);
    kafka_writer_begin(old);
    kafka_writer_put(old, tp, "k", "old");
    kafka_reader_wait_seen(log, 1);
    (void)kafka_writer_init(new);
    say_end(history, "fence-abort: old abort", kafka_writer_abort(old));
}

static void run_fence_offsets(struct kafka_world *world, struct twin_history *history)
{
    (void)stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_writer *old = writer(world, 0), *new = writer(world, 1);
    (void)kafka_writer_init(old);
    (void)kafka_writer_init(new);
    kafka_writer_begin(old);
    say_end(history, "fence-offsets: old put", kafka_writer_offsets(old, outsider, tp, 1, NULL));
}

static void run_crash(struct kafka_world *world, struct twin_history *history)
{
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_reader *log = reader(world, tp, true), *committed = reader(world, tp, false);
    struct kafka_writer *tx = writer(world, 0);
    say_end(history, "crash: init", kafka_writer_init(tx));
    kafka_writer_begin(tx);
    kafka_writer_put(tx, tp, "k", "left behind");
    (void)kafka_writer_offsets(tx, outsider, tp, 3, NULL);
    kafka_reader_wait_seen(log, 1);
    kafka_writer_close(tx);
    kafka_reader_wait_caught_up(committed, tp, 0);
    say(history, "crash: stable end %lld", (long long)kafka_boss_end(boss, tp, SF_LOG_STABLE_END));
    tx = writer(world, 1);
    say_end(history, "crash: init of the next", kafka_writer_init(tx));
    say_committed(history, "crash: offsets", boss, "g", tp);
    say(history, "crash: stable end %lld", (long long)kafka_boss_end(boss, tp, SF_LOG_STABLE_END));
    kafka_writer_begin(tx);
    kafka_writer_put(tx, kafka_tp(world, 1, "t", 0), "k", "again");
    say_end(history, "crash: commit", kafka_writer_commit(tx));
    kafka_reader_wait_caught_up(committed, tp, 4);
    say_log(history, "crash: committed reader", committed);
}

static void run_timeout(struct kafka_world *world, struct twin_history *history)
{
    (void)stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_reader *log = reader(world, tp, true), *committed = reader(world, tp, false);
    struct kafka_writer *tx = kafka_writer_open(world, 0, "tx", (struct kafka_writer_options){.txn_timeout_ms = 1000});
    say_end(history, "timeout: init", kafka_writer_init(tx));
    kafka_writer_begin(tx);
    kafka_writer_put(tx, tp, "k", "late");
    kafka_reader_wait_seen(log, 1);
    kafka_reader_wait_caught_up(committed, tp, 2);
    say_log(history, "timeout: committed reader", committed);
    say_end(history, "timeout: commit", kafka_writer_commit(tx));
    kafka_writer_close(tx);
    tx = writer(world, 0);
    say_end(history, "timeout: init of a new session", kafka_writer_init(tx));
    kafka_writer_begin(tx);
    kafka_writer_put(tx, tp, "k", "anew");
    say_end(history, "timeout: commit", kafka_writer_commit(tx));
    kafka_reader_wait_caught_up(committed, tp, 4);
    say_log(history, "timeout: committed reader", committed);
}

/* ------------------------------------------------------------------ membership */

static void say_owner(struct twin_history *history, const char *what, struct kafka_owner *owner)
{
    say(history, "%s: %s, granted %u, revoking %u, revoked %u, token %s", what, owner->is_owner ? "owner" : "member",
        owner->granted_count, owner->revoking_count, owner->revoked_count,
        kafka_owner_token(owner).id != 0 ? "yes" : "none");
}

static void run_members(struct kafka_world *world, struct twin_history *history)
{
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_owner *a = kafka_owner_open(world, 0, "g", "w", NULL);
    kafka_owner_wait_granted(a);
    say_owner(history, "members: first", a);
    struct kafka_writer *tx = writer(world, 0);
    (void)kafka_writer_init(tx);
    struct sf_member_token old = kafka_owner_token(a);
    kafka_writer_begin(tx);
    say_end(history, "members: put as owner", kafka_writer_offsets(tx, old, tp, 1, NULL));
    say_end(history, "members: commit", kafka_writer_commit(tx));
    struct kafka_owner *b = kafka_owner_open(world, 1, "g", "w", NULL);
    kafka_owner_wait_token(a, old);
    say_owner(history, "members: first after the second came", a);
    say_owner(history, "members: second", b);
    say(history, "members: commit outside, old token: %s", class_word(kafka_boss_commit(boss, "g", old, tp, 2)));
    say(history, "members: commit outside, none: %s", class_word(kafka_boss_commit(boss, "g", outsider, tp, 2)));
    say(history, "members: commit outside: %s",
        class_word(kafka_boss_commit(boss, "g", kafka_owner_token(a), tp, 3)));
    kafka_writer_begin(tx);
    say(history, "members: put with the old token: %s",
        class_word(kafka_writer_offsets(tx, old, tp, 4, NULL).status));
    say_end(history, "members: commit after that", kafka_writer_commit(tx));
    say_end(history, "members: abort", kafka_writer_abort(tx));
    kafka_writer_begin(tx);
    say_end(history, "members: put with the new token", kafka_writer_offsets(tx, kafka_owner_token(a), tp, 5, NULL));
    say_end(history, "members: commit", kafka_writer_commit(tx));
    struct sf_member_token last = kafka_owner_token(a);
    kafka_writer_begin(tx);
    kafka_owner_close(a);
    kafka_owner_wait_granted(b);
    say_owner(history, "members: second after the first left", b);
    say(history, "members: put of the former owner: %s",
        class_word(kafka_writer_offsets(tx, last, tp, 6, NULL).status));
    say_committed(history, "members: offsets", boss, "g", tp);
}

static void run_static(struct kafka_world *world, struct twin_history *history)
{
    (void)stage(world, 1);
    struct kafka_owner *a = kafka_owner_open(world, 0, "g", "w", "one");
    kafka_owner_wait_granted(a);
    struct sf_member_token old = kafka_owner_token(a);
    struct kafka_owner *standby = kafka_owner_open(world, 1, "g", "w", "two");
    kafka_owner_wait_token(a, old);
    kafka_owner_close(a);
    a = kafka_owner_open(world, 2, "g", "w", "one");
    kafka_owner_wait_granted(a);
    say_owner(history, "static: back", a);
    say_owner(history, "static: standby", standby);
    struct kafka_owner *later = kafka_owner_open(world, 3, "g", "w", "one");
    kafka_owner_wait_granted(later);
    kafka_owner_wait_lost(a);
    say_owner(history, "static: later holder", later);
    say(history, "static: earlier holder: %s, told %s", a->is_owner ? "owner" : "member", class_word(a->lost));
    kafka_owner_close(later);
    kafka_owner_wait_granted(standby);
    say_owner(history, "static: standby when the session has run out", standby);
}

/* ------------------------------------------------------------------ fetch */

static void run_fetch(struct kafka_world *world, struct twin_history *history)
{
    struct kafka_boss *boss = stage(world, 2);
    struct sf_tp a = kafka_tp(world, 0, "t", 0), b = kafka_tp(world, 0, "t", 1);
    struct kafka_writer *tx = writer(world, 0);
    (void)kafka_writer_init(tx);
    char text[16];
    kafka_writer_begin(tx);
    for (uint32_t i = 0; i < 20; i++) {
        (void)snprintf(text, sizeof text, "%u", i);
        kafka_writer_put(tx, i % 2 == 0 ? a : b, "k", text);
    }
    say_end(history, "fetch: commit", kafka_writer_commit(tx));
    struct kafka_reader *committed = reader(world, a, false);
    kafka_reader_wait_caught_up(committed, a, 11);
    (void)kafka_reader_seek(committed, a, 6);
    kafka_reader_wait_caught_up(committed, a, 11);
    sf_consumer_pause(committed->client, a);
    (void)kafka_reader_add(committed, b, 8);
    kafka_reader_wait_caught_up(committed, b, 11);
    say_log(history, "fetch: read", committed);
    say(history, "fetch: truncate %s", sf_status_name(kafka_boss_truncate(boss, a, 4)));
    say(history, "fetch: truncate beyond the end %s", class_word(kafka_boss_truncate(boss, a, 99)));
    say(history, "fetch: start %lld", (long long)kafka_boss_end(boss, a, SF_LOG_START));
    struct kafka_reader *lost = kafka_reader_open(world, 0, (struct kafka_reader_options){0});
    (void)kafka_reader_add(lost, a, 2);
    kafka_reader_wait_out_of_range(lost, a);
    say(history, "fetch: out of range at %lld, log %lld to %lld", (long long)lost->parts[0].lost_position,
        (long long)lost->parts[0].log_start, (long long)lost->parts[0].log_end);
    (void)kafka_reader_seek(lost, a, 1000);
    kafka_reader_wait_out_of_range(lost, a);
    say(history, "fetch: out of range at %lld, log %lld to %lld", (long long)lost->parts[0].lost_position,
        (long long)lost->parts[0].log_start, (long long)lost->parts[0].log_end);
    (void)kafka_reader_seek(lost, a, SF_OFFSET_BEGINNING);
    kafka_reader_wait_caught_up(lost, a, 11);
    say_log(history, "fetch: from the beginning", lost);
}

static void run_topics(struct kafka_world *world, struct twin_history *history)
{
    struct kafka_boss *boss = kafka_boss_open(world, 0);
    say(history, "topics: describe none: %s", sf_status_name(kafka_boss_describe(boss, 0, "t").status));
    say(history, "topics: create: %s", sf_status_name(kafka_boss_create_try(boss, 0, "t", 2)));
    say(history, "topics: create again: %s", sf_status_name(kafka_boss_create_try(boss, 0, "t", 2)));
    say(history, "topics: create otherwise: %s", sf_status_name(kafka_boss_create_try(boss, 0, "t", 3)));
    struct sf_admin_event event = kafka_boss_describe(boss, 0, "t");
    say(history, "topics: describe: %s, %d", sf_status_name(event.status), (int)event.partition_count);
    char name[KAFKA_NAME_BYTES];
    kafka_boss_watch(boss, 0, "t");
    kafka_boss_wait_watched(boss, 2);
    world->ops->grow(world->ctx, kafka_name(world, "t", name), 4);
    kafka_boss_wait_watched(boss, 4);
    say(history, "topics: watched 2, then 4");
    struct sf_tp tps[2] = {kafka_tp(world, 0, "t", 3), kafka_tp(world, 0, "t", 9)};
    boss->has_event = false;
    boss->tag += 2;
    sf_admin_ends(boss->client, boss->tag, SF_LOG_END, tps, 2);
    (void)kafka_boss_wait(boss, "ends");
    say(history, "topics: ends: %s, %s %lld, %s", sf_status_name(boss->event.status),
        sf_status_name(boss->answers[0].status), (long long)boss->answers[0].offset,
        sf_status_name(boss->answers[1].status));
}

const struct twin_section twin_sections[] = {{"produce", run_produce},
                                             {"txn", run_transactions},
                                             {"offsets", run_offsets},
                                             {"undeliverable", run_undeliverable},
                                             {"fence", run_fence},
                                             {"fence-abort", run_fence_abort},
                                             {"fence-offsets", run_fence_offsets},
                                             {"crash", run_crash},
                                             {"timeout", run_timeout},
                                             {"members", run_members},
                                             {"static", run_static},
                                             {"fetch", run_fetch},
                                             {"topics", run_topics}};
const uint32_t twin_section_count = sizeof twin_sections / sizeof twin_sections[0];
