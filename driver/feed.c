#include "core/app/values.h"
#include "core/bytes.h"
#include "core/hash.h"
#include "core/ops/number.h"
#include "core/ops/serde.h"
#include "core/time/event_time.h"
#include "driver/draw.h"
#include "driver/run_parts.h"
#include "sim/random.h"

#define BATCH_RECORDS 512u
#define LINES_MAX 4u /* records of one entry at one instant that the history shows one by one */

/* One template with its draws, by piece. */
struct filler {
    const struct sf_scenario_template *template;
    struct sf_driver_draw *draws;
    uint64_t *bits;        /* sf_sim_draws of the piece */
    uint32_t domain;
    enum sf_serde serde;
};

struct entry {
    const struct sf_scenario_input *spec;
    uint32_t index;
    uint64_t given;  /* records so far */
    int64_t next_us; /* mono; INT64_MAX: used up */
    struct filler key, value;
    struct sf_driver_draw behind;
    uint32_t topic;  /* the broker's */
};

struct sfi_feed {
    struct sf_alloc alloc;
    struct entry *entries; /* in the order of the file */
    uint32_t count;
    int64_t next_us;       /* the least of all entries */
    struct sf_text bytes;  /* of the batch being made */
};

/* What stands where in feed->bytes. */
struct span {
    bool is_null;
    size_t from, len;
};

struct made {
    struct span key, value;
    int64_t ts_ms;
    int64_t partition;
};

/* ---------------------------------------------------------------- from template to bytes */

static void filler_init(struct filler *filler, const struct sf_scenario_template *template, uint64_t seed,
                        uint32_t entry, uint32_t domain, enum sf_serde serde, struct sf_alloc alloc)
{
    *filler = (struct filler){.template = template, .domain = domain, .serde = serde};
    if (template->piece_count == 0) return;
    filler->draws = sf_calloc(alloc, template->piece_count, sizeof *filler->draws);
    filler->bits = sf_calloc(alloc, template->piece_count, sizeof *filler->bits);
    for (uint32_t i = 0; i < template->piece_count; i++) {
        filler->bits[i] = sf_sim_draws(seed, domain, (uint64_t)entry << 16 | i);
        const struct sf_scenario_draw *draw = template->pieces[i].draw;
        if (draw != NULL) sf_driver_draw_init(&filler->draws[i], draw, alloc);
    }
}

static void filler_deinit(struct filler *filler, struct sf_alloc alloc)
{
    if (filler->draws == NULL) return;
    for (uint32_t i = 0; i < filler->template->piece_count; i++) {
        if (filler->template->pieces[i].draw != NULL) sf_driver_draw_deinit(&filler->draws[i]);
    }
    sf_cfree(alloc, filler->draws, filler->template->piece_count, sizeof *filler->draws);
    sf_cfree(alloc, filler->bits, filler->template->piece_count, sizeof *filler->bits);
}

static void add_draw(struct sf_text *text, const struct sf_scenario_draw *spec, int64_t number)
{
    char digits[SF_TEXT_INT_BYTES];
    size_t len = strlen(sf_text_of_int(digits, number));
    for (; len < spec->width; len++) sf_text_add(text, "0");
    sf_text_add(text, digits);
}

static void fill(const struct filler *filler, uint64_t ordinal, struct sf_text *text)
{
    for (uint32_t i = 0; i < filler->template->piece_count; i++) {
        const struct sf_scenario_piece *piece = &filler->template->pieces[i];
        if (piece->text != NULL) {
            sf_text_add(text, piece->text);
            continue;
        }
        uint64_t bits = sf_sim_draw_nth(filler->bits[i], ordinal);
        add_draw(text, piece->draw, sf_driver_draw_number(&filler->draws[i], bits, ordinal));
    }
}

/* JSON text to the bytes of another serde; what does not fit stays as it is: a value that the application refuses. */
static void convert_value(struct sf_text *text, size_t from, enum sf_serde serde, struct sf_alloc alloc)
{
    struct sf_json_path whole = {.segments = NULL, .count = 0};
    struct sf_value value;
    struct sf_fault fault;
    bool is_null = false;
    size_t bytes = text->length - from + SF_NUMBER_TEXT_BYTES; /* no serde's bytes are more than the JSON's */
    if (!sf_json_extract(text->data + from, text->length - from, &whole, 1, &value, &fault)) return;
    char *made = sf_calloc(alloc, bytes, 1);
    struct sf_json_writer writer = sf_json_writer_init(made, bytes);
    if (sf_serde_write(serde, &value, &writer, &is_null, &fault) && !is_null) {
        assert(sf_json_writer_fits(&writer));
        text->length = from;
        sf_text_add_bytes(text, made, writer.len);
    }
    sf_cfree(alloc, made, bytes, 1);
}

static void convert_key(struct sf_text *text, size_t from, enum sf_serde serde)
{
    int64_t number;
    uint8_t bytes[8];
    if (serde != SF_SERDE_INT64 || !sf_value_int(text->data + from, &number)) return;
    sf_put_be64(bytes, (uint64_t)number);
    text->length = from;
    sf_text_add_bytes(text, (const char *)bytes, sizeof bytes);
}

static struct span add_span(struct sfi_feed *feed, const struct filler *filler, uint64_t ordinal)
{
    struct span span = {.is_null = filler->template->piece_count == 0, .from = feed->bytes.length};
    if (span.is_null) return span;
    fill(filler, ordinal, &feed->bytes);
    if (filler->domain == SFI_DOMAIN_INPUT_KEY)
        convert_key(&feed->bytes, span.from, filler->serde);
    else if (filler->serde != SF_SERDE_JSON)
        convert_value(&feed->bytes, span.from, filler->serde, feed->alloc);
    span.len = feed->bytes.length - span.from;
    return span;
}

/* ---------------------------------------------------------------- entries */

static const struct sf_source_spec *source_of(const struct sf_topology *topology, const char *topic)
{
    for (uint32_t i = 0; i < topology->source_count; i++) {
        if (strcmp(topology->sources[i].topic, topic) == 0) return &topology->sources[i];
    }
    return NULL;
}

static void entry_init(struct sfi_run *run, struct sfi_feed *feed, uint32_t index)
{
    const struct sf_scenario_input *spec = &run->scenario->inputs[index];
    const char *topic = run->scenario->topics[spec->topic].name;
    const struct sf_source_spec *source = source_of(run->topology, topic);
    struct entry *entry = &feed->entries[index];
    *entry = (struct entry){.spec = spec, .index = index, .topic = sf_sim_kafka_topic(run->broker, topic)};
    entry->next_us = sfi_run_mono_us(run, spec->at_ms);
    bool is_empty = spec->kind == SF_SCENARIO_GENERATOR ? spec->at_ms >= spec->until_ms : spec->count == 0;
    if (is_empty) entry->next_us = INT64_MAX;
    filler_init(&entry->key, &spec->key, run->seed, index, SFI_DOMAIN_INPUT_KEY,
                source != NULL ? source->key : SF_SERDE_STRING, feed->alloc);
    filler_init(&entry->value, &spec->value, run->seed, index, SFI_DOMAIN_INPUT_VALUE,
                source != NULL ? source->value : SF_SERDE_JSON, feed->alloc);
    if (spec->stamp == SF_SCENARIO_STAMP_BEHIND) sf_driver_draw_init(&entry->behind, &spec->behind, feed->alloc);
}

static int64_t earliest(const struct sfi_feed *feed)
{
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < feed->count; i++) {
        if (feed->entries[i].next_us < next) next = feed->entries[i].next_us;
    }
    return next;
}

struct sfi_feed *sfi_feed_new(struct sfi_run *run)
{
    struct sf_alloc alloc = run->world.alloc;
    struct sfi_feed *feed = sf_calloc(alloc, 1, sizeof *feed);
    feed->alloc = alloc;
    feed->count = run->scenario->input_count;
    feed->entries = sf_calloc(alloc, feed->count, sizeof *feed->entries);
    sf_text_init_growing(&feed->bytes, alloc);
    for (uint32_t i = 0; i < feed->count; i++) entry_init(run, feed, i);
    feed->next_us = earliest(feed);
    return feed;
}

void sfi_feed_destroy(struct sfi_run *run, struct sfi_feed *feed)
{
    (void)run;
    if (feed == NULL) return;
    struct sf_alloc alloc = feed->alloc;
    for (uint32_t i = 0; i < feed->count; i++) {
        struct entry *entry = &feed->entries[i];
        filler_deinit(&entry->key, alloc);
        filler_deinit(&entry->value, alloc);
        if (entry->spec->stamp == SF_SCENARIO_STAMP_BEHIND) sf_driver_draw_deinit(&entry->behind);
    }
    sf_cfree(alloc, feed->entries, feed->count, sizeof *feed->entries);
    sf_text_deinit(&feed->bytes);
    sf_cfree(alloc, feed, 1, sizeof *feed);
}

int64_t sfi_feed_next_us(const struct sfi_feed *feed)
{
    return feed->next_us;
}

/* The clock of those who write is right, whatever happens to the engine's. */
static int64_t stamp_of(struct sfi_run *run, const struct entry *entry, uint64_t ordinal)
{
    int64_t now_ms = run->scenario->start_ms + sf_sim_world_elapsed_us(&run->world) / 1000;
    switch (entry->spec->stamp) {
    case SF_SCENARIO_STAMP_TIME:
        return entry->spec->ts_ms;
    case SF_SCENARIO_STAMP_BEHIND: {
        uint64_t bits = sf_sim_draw(run->seed, SFI_DOMAIN_INPUT_TIME, entry->index, ordinal);
        return sf_time_add(now_ms, -sf_driver_draw_number(&entry->behind, bits, ordinal));
    }
    case SF_SCENARIO_STAMP_ARRIVAL:
        break;
    }
    return now_ms;
}

/* K12: by the key's bytes; null keys in turn. */
static int64_t partition_of(struct sfi_run *run, const struct entry *entry, const struct sfi_feed *feed,
                            const struct span *key, uint64_t ordinal)
{
    if (entry->spec->partition != SF_SCENARIO_ANY) return entry->spec->partition;
    int32_t count = sf_sim_kafka_partition_count(run->broker, entry->topic);
    if (key->is_null) return (int64_t)(ordinal % (uint64_t)count);
    return sf_partition_of_key(feed->bytes.data + key->from, key->len, count);
}

static struct sf_slice slice_of(const struct sfi_feed *feed, const struct span *span)
{
    if (span->is_null) return (struct sf_slice){NULL, 0};
    return (struct sf_slice){(const uint8_t *)feed->bytes.data + span->from, (uint32_t)span->len};
}

static void show(struct sfi_run *run, struct sf_tp tp, const struct sf_out *out, int64_t offset)
{
    struct sf_record record = {.key = out->key,
                               .value = out->value,
                               .offset = offset,
                               .ts_ms = out->ts_ms,
                               .ts_kind = out->ts_ms == -1 ? SF_TS_NONE : SF_TS_CREATE};
    sf_driver_history_record(&run->history, "input", sf_sim_kafka_topic_name(run->broker, tp.topic), tp.partition,
                             &record, false);
}

/* Runs of records for one partition go in one append. */
static void append(struct sfi_run *run, const struct sfi_feed *feed, const struct entry *entry,
                   const struct made *made, uint32_t count, bool is_shown)
{
    struct sf_out outs[BATCH_RECORDS];
    uint32_t from = 0;
    while (from < count) {
        uint32_t run_len = 0;
        struct sf_tp tp = {entry->topic, (int32_t)made[from].partition};
        while (from + run_len < count && made[from + run_len].partition == made[from].partition) {
            const struct made *one = &made[from + run_len];
            outs[run_len] = (struct sf_out){
                .key = slice_of(feed, &one->key), .value = slice_of(feed, &one->value), .ts_ms = one->ts_ms};
            run_len++;
        }
        int64_t offset = sf_sim_kafka_append(run->broker, tp, outs, run_len);
        for (uint32_t i = 0; is_shown && i < run_len; i++) show(run, tp, &outs[i], offset + i);
        from += run_len;
    }
    run->report->input_count += count;
}

static void give(struct sfi_run *run, struct sfi_feed *feed, struct entry *entry, uint64_t count)
{
    struct made made[BATCH_RECORDS];
    bool is_shown = sf_driver_history_is_on(&run->history) && count <= LINES_MAX;
    uint64_t left = count;
    while (left > 0) {
        uint32_t batch = left < BATCH_RECORDS ? (uint32_t)left : BATCH_RECORDS;
        feed->bytes.length = 0;
        for (uint32_t i = 0; i < batch; i++) {
            uint64_t ordinal = entry->given + i;
            made[i].key = add_span(feed, &entry->key, ordinal);
            made[i].value = add_span(feed, &entry->value, ordinal);
            made[i].ts_ms = stamp_of(run, entry, ordinal);
            made[i].partition = partition_of(run, entry, feed, &made[i].key, ordinal);
        }
        append(run, feed, entry, made, batch, is_shown);
        entry->given += batch;
        left -= batch;
    }
    if (is_shown || !sf_driver_history_is_on(&run->history)) return;
    sf_driver_history_begin(&run->history, 0, "input");
    sf_text_add(run->history.text, run->scenario->topics[entry->spec->topic].name);
    sf_text_add(run->history.text, ": ");
    sf_text_add_uint(run->history.text, count);
    sf_text_add(run->history.text, " records\n");
}

static void entry_due(struct sfi_run *run, struct sfi_feed *feed, struct entry *entry)
{
    const struct sf_scenario_input *spec = entry->spec;
    if (spec->kind != SF_SCENARIO_GENERATOR) {
        entry->next_us = INT64_MAX;
        give(run, feed, entry, spec->count);
        return;
    }
    int64_t next_ms = spec->at_ms + (int64_t)(entry->given + 1) * spec->every_ms;
    give(run, feed, entry, 1);
    entry->next_us = next_ms < spec->until_ms ? sfi_run_mono_us(run, next_ms) : INT64_MAX;
}

void sfi_feed_due(struct sfi_run *run, struct sfi_feed *feed)
{
    if (feed->next_us > run->world.mono_us) return;
    for (uint32_t i = 0; i < feed->count; i++) {
        struct entry *entry = &feed->entries[i];
        while (entry->next_us <= run->world.mono_us) entry_due(run, feed, entry);
    }
    feed->next_us = earliest(feed);
}
