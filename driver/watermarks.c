#include "driver/run_parts.h"
#include "driver/time_text.h"

static void add_field(struct sf_text *text, const char *name, const char *value)
{
    sf_text_add(text, "  ");
    sf_text_add(text, name);
    sf_text_add(text, " ");
    sf_text_add(text, value);
}

static void show_partition(struct sfi_run *run, const struct sfi_process *process, const struct sf_ingest *ingest,
                           uint32_t index)
{
    struct sf_text *text = run->history.text;
    char time[SF_DRIVER_TIME_BYTES], number[SF_TEXT_INT_BYTES];
    struct sf_partition_view view;
    sf_ingest_partition_view(ingest, index, (struct sf_wall_ts){sf_sim_world_wall_ms(&run->world)}, &view);
    sf_text_add(text, "  ");
    sf_driver_partition_text(text, &process->instance, index);
    add_field(text, "watermark", sf_driver_time_of(time, view.watermark));
    add_field(text, "next offset", sf_text_of_int(number, view.next_offset));
    add_field(text, "buffered", sf_text_of_int(number, view.buffered));
    if (view.is_idle) sf_text_add(text, "  idle");
    if (view.is_paused) sf_text_add(text, "  paused");
    if (view.is_held) add_field(text, "held, preview", sf_driver_time_of(time, view.preview));
    sf_text_add(text, "\n");
}

void sfi_watermarks_show(struct sfi_run *run)
{
    static const char *const whys[] = {
        [SF_HOLD_NONE] = "", [SF_HOLD_UNSET] = ", which has claimed nothing yet", [SF_HOLD_SLOWEST] = ", the slowest"};
    struct sf_text *text = run->history.text;
    const struct sfi_process *process = sfi_process_owner(run);
    const struct sf_ingest *ingest =
        process != NULL && process->engine != NULL ? sf_engine_ingest(process->engine) : NULL;
    sf_driver_history_begin(&run->history, 0, "world");
    if (ingest == NULL) {
        sf_text_add(text, "watermarks: no engine is running\n");
        return;
    }
    char time[SF_DRIVER_TIME_BYTES];
    struct sf_watermark_view view;
    sf_ingest_view(ingest, (struct sf_wall_ts){sf_sim_world_wall_ms(&run->world)}, &view);
    sf_text_add(text, "watermark ");
    sf_text_add(text, sf_driver_time_of(time, view.global));
    sf_text_add(text, ", held by ");
    sf_driver_partition_text(text, &process->instance, view.holder);
    sf_text_add(text, whys[view.why]);
    sf_text_add(text, "\n");
    for (uint32_t i = 0; i < view.partition_count; i++) show_partition(run, process, ingest, i);
}
