#include "driver/point.h"

#include <string.h>

#define FRONTIER_BEGIN "frontier("

void sf_driver_point_init(struct sf_driver_point *point, const struct sf_scenario_point *spec,
                          const struct sf_plan *plan, uint64_t draw)
{
    *point = (struct sf_driver_point){.spec = spec, .occurrence = 1, .sub = SF_SCENARIO_ANY};
    point->is_frontier = strncmp(spec->text, FRONTIER_BEGIN, strlen(FRONTIER_BEGIN)) == 0;
    if (spec->is_epoch_any) point->occurrence = 1 + (uint32_t)(draw % SF_DRIVER_POINT_OCCURRENCE_MAX);
    if (spec->step != SF_SCENARIO_ANY) point->sub = plan->steps[spec->step].sub;
}

void sf_driver_point_restart(struct sf_driver_point *point)
{
    point->lanes_passed = 0;
}

static bool fits(int64_t wanted, int64_t actual)
{
    return wanted == SF_SCENARIO_ANY || wanted == actual;
}

static bool is_frontier_complete(struct sf_driver_point *point, int64_t epoch, uint32_t lane_total)
{
    if (point->frontier_epoch != epoch) point->lanes_passed = 0;
    point->frontier_epoch = epoch;
    point->lanes_passed++;
    return point->lanes_passed == lane_total;
}

bool sf_driver_point_reached(struct sf_driver_point *point, const struct sf_note *note, uint32_t lane_total)
{
    uint16_t code = point->is_frontier ? SF_NOTE_LANE_EMITTED : point->spec->note;
    if (note->code != code || !fits(point->spec->epoch, note->args[0])) return false;
    if (!fits(point->sub, note->args[1]) || !fits(point->spec->lane, note->args[2])) return false;
    if (point->is_frontier && !is_frontier_complete(point, note->args[0], lane_total)) return false;
    point->seen++;
    return point->seen == point->occurrence;
}

bool sf_driver_point_describe(uint32_t index, const char **name_out, const char **words_out)
{
    for (uint16_t code = 0; code < SF_NOTE_COUNT; code++) {
        const struct sf_note_words *words = sf_note_words(code);
        if (words->level != SF_NOTE_POINT) continue;
        if (index-- > 0) continue;
        *name_out = words->name;
        *words_out = words->words;
        return true;
    }
    if (index > 0) return false;
    *name_out = SF_DRIVER_POINT_FRONTIER;
    *words_out = "every lane's pass at barrier {0} is complete";
    return true;
}
