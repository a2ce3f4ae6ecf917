/* The document of M1, as of one instant: JSON with one partition a line. */
#include <assert.h>
#include <string.h>

#include "core/time/event_time.h"
#include "driver/run_parts.h"
#include "driver/time_text.h"

static void add_name(struct sf_text *text, const char *name)
{
    sf_text_add_json(text, name, strlen(name));
    sf_text_add(text, ":");
}

static void add_bool(struct sf_text *text, const char *name, bool value)
{
    add_name(text, name);
    sf_text_add(text, value ? "true," : "false,");
}

/* SF_TIME_UNSET is null. */
static void add_number(struct sf_text *text, const char *name, int64_t value)
{
    add_name(text, name);
    if (value == SF_TIME_UNSET)
        sf_text_add(text, "null");
    else
        sf_text_add_int(text, value);
    sf_text_add(text, ",");
}

/* `name`Ms and `name`Iso. */
static void add_time(struct sf_text *text, const char *name, int64_t value)
{
    char key[32];
    struct sf_text full;
    sf_text_init(&full, key, sizeof key);
    sf_text_add(&full, name);
    sf_text_add(&full, "Ms");
    add_number(text, key, value);
    full.length -= 2;
    sf_text_add(&full, "Iso");
    add_name(text, key);
    if (value == SF_TIME_UNSET) {
        sf_text_add(text, "null,");
        return;
    }
    sf_text_add(text, "\"");
    sf_driver_text_iso(text, value);
    sf_text_add(text, "\",");
}

/* In place of the last comma. */
static void end_object(struct sf_text *text)
{
    assert(text->length > 0 && text->data[text->length - 1] == ',');
    text->length--;
    sf_text_add(text, "}");
}

/* `topic:partition`. */
static void add_partition_name(struct sf_text *text, const struct sfi_process *process, struct sf_tp tp)
{
    char name[280];
    struct sf_text whole;
    sf_text_init(&whole, name, sizeof name);
    sf_text_add(&whole, sf_kafka_topic_name(process->instance.kafka, tp.topic));
    sf_text_add(&whole, ":");
    sf_text_add_int(&whole, tp.partition);
    sf_text_add_json(text, name, whole.length);
}

static void add_partition(struct sf_text *text, const struct sfi_process *process,
                          const struct sf_partition_view *view)
{
    sf_text_add(text, "  ");
    add_partition_name(text, process, view->tp);
    sf_text_add(text, ":{");
    add_time(text, "watermark", view->watermark);
    add_bool(text, "idle", view->is_idle);
    add_time(text, "lastEventTime", view->last_wall_ms);
    sf_text_add(text, "\"alignmentGroup\":null,");
    add_bool(text, "alignmentHeld", false);
    add_number(text, "driftFromGroupMinMs", 0);
    add_number(text, "idlenessTimeoutMs", view->idleness_ms);
    if (view->is_held) {
        add_time(text, "previewWatermark", view->preview);
        add_number(text, "headHeldSinceMs", view->held_since_ms);
    }
    end_object(text);
}

static void add_holding(struct sf_text *text, const struct sfi_process *process, const struct sf_ingest *ingest,
                        const struct sf_watermark_view *view, struct sf_wall_ts wall)
{
    static const char *const whys[] = {[SF_HOLD_NONE] = "", [SF_HOLD_UNSET] = "unset", [SF_HOLD_SLOWEST] = "slowest"};
    struct sf_partition_view holder;
    add_name(text, "holding");
    if (view->why == SF_HOLD_NONE) {
        sf_text_add(text, "null,\n ");
        return;
    }
    sf_ingest_partition_view(ingest, view->holder, wall, &holder);
    sf_text_add(text, "{\"partition\":");
    add_partition_name(text, process, holder.tp);
    sf_text_add(text, ",");
    add_number(text, "sinceMs", view->holder_since_ms);
    sf_text_add(text, "\"why\":\"");
    sf_text_add(text, whys[view->why]);
    sf_text_add(text, "\"},\n ");
}

void sfi_watermarks_show(struct sfi_run *run)
{
    struct sf_text *text = run->history.text;
    const struct sfi_process *process = sfi_process_owner(run);
    const struct sf_ingest *ingest =
        process != NULL && process->engine != NULL ? sf_engine_ingest(process->engine) : NULL;
    if (ingest == NULL) {
        sf_text_add(text, "null\n"); /* no engine runs */
        return;
    }
    struct sf_wall_ts wall = {sf_sim_world_wall_ms(&run->world)};
    struct sf_watermark_view view;
    sf_ingest_view(ingest, wall, &view);
    bool has_age = view.global != SF_TIME_UNSET && view.global != SF_TIME_COMPLETE;
    sf_text_add(text, "{");
    add_time(text, "global", view.global);
    add_number(text, "watermarkAgeMs", has_age ? sf_time_add(wall.ms, -view.global) : SF_TIME_UNSET);
    sf_text_add(text, "\n \"alignmentGroupMins\":{},\"alignmentBinding\":null,\n ");
    add_holding(text, process, ingest, &view, wall);
    sf_text_add(text, "\"partitions\":{\n");
    bool is_first = true;
    for (uint32_t i = 0; i < view.partition_count; i++) {
        struct sf_partition_view partition;
        sf_ingest_partition_view(ingest, i, wall, &partition);
        if (partition.is_taken) continue;
        if (!is_first) sf_text_add(text, ",\n");
        add_partition(text, process, &partition);
        is_first = false;
    }
    sf_text_add(text, "}}\n");
}
