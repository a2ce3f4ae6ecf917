/* Points of the protocol, as `when` names them: the notes of level POINT with their arguments filled in. */
#include <string.h>

#include "core/app/spelling.h"
#include "core/app/values.h"
#include "core/note.h"
#include "core/topo/plan.h"
#include "driver/point.h"
#include "driver/scenario_load.h"

#define SFI_ARGUMENT_BYTES 128u

/* What stands in the parentheses at *at, which is moved behind them. */
static bool take_argument(const char **at, char argument[SFI_ARGUMENT_BYTES])
{
    if (**at != '(') return false;
    size_t length = strcspn(*at + 1, ")");
    if ((*at)[length + 1] != ')' || length == 0 || length >= SFI_ARGUMENT_BYTES) return false;
    memcpy(argument, *at + 1, length);
    argument[length] = '\0';
    *at += length + 2;
    return true;
}

static bool read_epoch(const char *argument, struct sf_scenario_point *point)
{
    if (strcmp(argument, "*") == 0) {
        point->is_epoch_any = true;
        return true;
    }
    return sf_value_int(argument, &point->epoch) && point->epoch >= 0;
}

/* `counts.0`, or `0` where there is only one sub-topology; the step's name is kept for later. */
static bool read_lane(const char *argument, struct sf_scenario_point *point, const char **dot_out)
{
    const char *dot = strrchr(argument, '.');
    *dot_out = dot;
    return sf_value_int(dot != NULL ? dot + 1 : argument, &point->lane) && point->lane >= 0 &&
           point->lane < (int64_t)SF_LANES_MAX;
}

/* Matches `barrier(4).stamped` with `barrier(n).stamped`. */
static bool match(const char *text, const char *name, struct sf_scenario_point *point,
                  char step[SFI_ARGUMENT_BYTES])
{
    step[0] = '\0';
    point->epoch = point->step = point->lane = SF_SCENARIO_ANY;
    point->is_epoch_any = false;
    while (*name != '\0') {
        if (*name != '(') {
            if (*text++ != *name++) return false;
            continue;
        }
        char argument[SFI_ARGUMENT_BYTES];
        const char *dot = NULL;
        bool is_epoch = name[1] == 'n';
        if (!take_argument(&text, argument)) return false;
        if (is_epoch ? !read_epoch(argument, point) : !read_lane(argument, point, &dot)) return false;
        if (dot != NULL) {
            memcpy(step, argument, (size_t)(dot - argument));
            step[dot - argument] = '\0';
        }
        name = strchr(name, ')') + 1;
    }
    return *text == '\0';
}

static void refuse(struct sfi_scenario_load *l, const struct sf_yaml_node *when)
{
    struct sf_spelling spelling;
    sf_spelling_init(&spelling, when->text);
    for (uint16_t code = 0; code < SF_NOTE_COUNT; code++)
        if (sf_note_words(code)->level == SF_NOTE_POINT) sf_spelling_offer(&spelling, sf_note_words(code)->name);
    sf_spelling_offer(&spelling, SF_DRIVER_POINT_FRONTIER);
    if (spelling.best != NULL)
        SFI_REFUSE(l, when->place, "`", when->text, "` is no point of the protocol; did you mean `", spelling.best,
                   "`?");
    else
        SFI_REFUSE(l, when->place, "`", when->text, "` is no point of the protocol, such as barrier(4).stamped");
}

/* `lane(0)` says enough where there is one sub-topology. */
static bool is_lane_plain(struct sfi_scenario_load *l, const struct sf_yaml_node *when,
                          const struct sf_scenario_point *point)
{
    struct sf_topology *topology = l->scenario->topology;
    if (point->lane == SF_SCENARIO_ANY || topology == NULL || sf_plan_new(topology)->sub_count == 1) return true;
    SFI_REFUSE(l, when->place, "`", when->text,
               "` does not say of which sub-topology: there are several; name one by a step in it, such as lane(",
               topology->steps[0].name, ".0)");
    return false;
}

bool sfi_scenario_load_point(struct sfi_scenario_load *l, const struct sf_yaml_node *when,
                             struct sf_scenario_point *point_out)
{
    char step[SFI_ARGUMENT_BYTES];
    if (when->kind != SF_YAML_SCALAR) return false;
    if (match(when->text, SF_DRIVER_POINT_FRONTIER, point_out, step)) {
        point_out->text = sfi_scenario_text(l, when, "");
        point_out->note = SF_NOTE_LANE_EMITTED;
        return true;
    }
    for (uint16_t code = 0; code < SF_NOTE_COUNT; code++) {
        const struct sf_note_words *words = sf_note_words(code);
        if (words->level != SF_NOTE_POINT || !match(when->text, words->name, point_out, step)) continue;
        uint32_t index = 0;
        point_out->text = sfi_scenario_text(l, when, "");
        point_out->note = code;
        if (step[0] == '\0') return is_lane_plain(l, when, point_out);
        if (!sfi_scenario_find_step(l, step, strlen(step), when->place, &index)) return false;
        point_out->step = index;
        return true;
    }
    refuse(l, when);
    return false;
}
