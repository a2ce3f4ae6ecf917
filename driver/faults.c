#include "driver/fault_parts.h"
#include "driver/swarm.h"
#include "driver/time_text.h"
#include "sim/random.h"

/* ---------------------------------------------------------------- planning */

static void place_text(const struct sf_scenario_fault *spec, struct sf_text *text)
{
    sf_text_add(text, "fault in line ");
    sf_text_add_uint(text, spec->place.line);
}

static void plan(struct sfi_faults *faults, const struct sf_scenario_fault *spec, uint32_t swarm)
{
    struct sfi_run *run = faults->run;
    uint32_t index = faults->count++;
    struct sfi_fault *item = &faults->items[index];
    *item = (struct sfi_fault){.run = run, .spec = spec, .swarm = swarm, .begin_us = INT64_MAX, .end_us = INT64_MAX};
    if (spec->is_at_point)
        sf_driver_point_init(&item->point, &spec->point, run->plan,
                             sf_sim_draw(run->seed, SFI_DOMAIN_POINT, index, 0));
    else if (spec->kind != SF_SCENARIO_SWARM)
        item->begin_us = sfi_run_mono_us(run, spec->at_ms);
}

static uint32_t swarms(const struct sf_scenario *scenario)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < scenario->fault_count; i++) count += scenario->faults[i].kind == SF_SCENARIO_SWARM;
    return count;
}

/* Behind the scenario's own, whose draws go by their numbers. */
static void draw_swarms(struct sfi_faults *faults)
{
    struct sfi_run *run = faults->run;
    struct sf_scenario_fault *next = faults->drawn;
    for (uint32_t i = 0; i < run->scenario->fault_count; i++) {
        if (run->scenario->faults[i].kind != SF_SCENARIO_SWARM) continue;
        uint32_t count = sf_driver_swarm_draw(run->scenario, i, run->seed, run->lanes, next);
        for (uint32_t k = 0; k < count; k++) plan(faults, &next[k], i);
        next += SF_DRIVER_SWARM_FAULTS;
    }
}

struct sfi_faults *sfi_faults_new(struct sfi_run *run)
{
    const struct sf_scenario *scenario = run->scenario;
    struct sf_alloc alloc = run->world.alloc;
    struct sfi_faults *faults = sf_calloc(alloc, 1, sizeof *faults);
    faults->run = run;
    faults->drawn_max = swarms(scenario) * SF_DRIVER_SWARM_FAULTS;
    faults->capacity = scenario->fault_count + faults->drawn_max;
    faults->lane_total = run->plan->sub_count * run->lanes;
    faults->items = sf_calloc(alloc, faults->capacity, sizeof *faults->items);
    faults->drawn = sf_calloc(alloc, faults->drawn_max, sizeof *faults->drawn);
    faults->lost = sf_calloc(alloc, faults->capacity, sizeof(struct sf_sim_disk *));
    for (uint32_t i = 0; i < scenario->fault_count; i++) plan(faults, &scenario->faults[i], SFI_NO_SWARM);
    draw_swarms(faults);
    return faults;
}

/* Instances are gone by now. */
void sfi_faults_destroy(struct sfi_run *run, struct sfi_faults *faults)
{
    if (faults == NULL) return;
    for (uint32_t i = 0; i < faults->lost_count; i++) sf_sim_disk_destroy(faults->lost[i]);
    sf_cfree(run->world.alloc, faults->lost, faults->capacity, sizeof(struct sf_sim_disk *));
    sf_cfree(run->world.alloc, faults->drawn, faults->drawn_max, sizeof *faults->drawn);
    sf_cfree(run->world.alloc, faults->items, faults->capacity, sizeof *faults->items);
    sf_cfree(run->world.alloc, faults, 1, sizeof *faults);
}

int64_t sfi_faults_next_us(const struct sfi_faults *faults)
{
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < faults->count; i++) {
        if (faults->items[i].begin_us < next) next = faults->items[i].begin_us;
        if (faults->items[i].end_us < next) next = faults->items[i].end_us;
    }
    return next;
}

void sfi_faults_started(struct sfi_faults *faults)
{
    for (uint32_t i = 0; i < faults->count; i++) {
        if (faults->items[i].spec->is_at_point) sf_driver_point_restart(&faults->items[i].point);
    }
}

void sfi_faults_due(struct sfi_run *run, struct sfi_faults *faults)
{
    for (uint32_t i = 0; i < faults->count; i++) {
        struct sfi_fault *item = &faults->items[i];
        if (item->end_us <= run->world.mono_us) {
            item->end_us = INT64_MAX;
            sfi_fault_end(faults, item);
        }
        if (item->begin_us > run->world.mono_us) continue;
        item->begin_us = INT64_MAX;
        item->is_begun = sfi_fault_begin(faults, item, sfi_process_owner(run));
        if (item->is_begun && sfi_fault_has_end(item->spec)) item->end_us = sfi_run_mono_us(run, item->spec->until_ms);
    }
}

void sfi_faults_note(struct sfi_run *run, struct sfi_faults *faults, struct sf_sim_instance *instance,
                     const struct sf_note *note)
{
    for (uint32_t i = 0; i < faults->count; i++) {
        struct sfi_fault *item = &faults->items[i];
        if (!item->spec->is_at_point || item->is_begun) continue;
        if (!sf_driver_point_reached(&item->point, note, faults->lane_total)) continue;
        item->is_begun = sfi_fault_begin(faults, item, sfi_process_of(run, instance));
        if (!item->is_begun) item->point.seen--; /* the process is dying already: the next time, then */
    }
}

/* A swarm has, if anything of it has. */
static bool has_fired(const struct sfi_faults *faults, uint32_t index)
{
    if (faults->items[index].spec->kind != SF_SCENARIO_SWARM) return sfi_fault_has_fired(&faults->items[index]);
    for (uint32_t i = 0; i < faults->count; i++)
        if (faults->items[i].swarm == index && sfi_fault_has_fired(&faults->items[i])) return true;
    return false;
}

void sfi_faults_judge(struct sfi_run *run, const struct sfi_faults *faults)
{
    for (uint32_t i = 0; i < faults->count; i++) {
        const struct sfi_fault *item = &faults->items[i];
        if (item->swarm != SFI_NO_SWARM || has_fired(faults, i)) continue;
        char subject[SF_DRIVER_SUBJECT_BYTES], expected[SF_DRIVER_VALUE_BYTES], actual[SF_DRIVER_VALUE_BYTES];
        struct sf_text text;
        sf_text_init(&text, subject, sizeof subject);
        place_text(item->spec, &text);
        sf_text_init(&text, expected, sizeof expected);
        sf_text_add(&text, item->spec->kind == SF_SCENARIO_SWARM ? "something of it happens" : "it happens at ");
        if (item->spec->kind == SF_SCENARIO_SWARM) {
            sf_text_add(&text, " in the run");
        } else if (item->spec->is_at_point) {
            sf_text_add(&text, item->spec->point.text);
        } else {
            char time[SF_DRIVER_TIME_BYTES];
            sf_text_add(&text, sf_driver_elapsed_of(time, item->spec->at_ms * 1000));
        }
        sf_text_init(&text, actual, sizeof actual);
        sf_text_add(&text, item->is_left ? "no request met it" : "it never did");
        if (!item->is_begun && item->spec->is_at_point && item->spec->point.is_epoch_any) {
            sf_text_add(&text, ": the point came ");
            sf_text_add_uint(&text, item->point.seen);
            sf_text_add(&text, " times, and the seed chose number ");
            sf_text_add_uint(&text, item->point.occurrence);
        }
        sfi_run_fail(run, "fault", subject, expected, actual);
    }
}
