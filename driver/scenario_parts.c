#include <string.h>

#include "core/app/spelling.h"
#include "core/app/values.h"
#include "core/time/event_time.h"
#include "driver/scenario_load.h"

#define SFI_DAY_MS INT64_C(86400000)

void *sfi_scenario_take(struct sfi_scenario_load *l, size_t count, size_t bytes)
{
    return sf_arena_take(&l->scenario->arena, (count > 0 ? count : 1) * bytes);
}

const char *sfi_scenario_text(struct sfi_scenario_load *l, const struct sf_yaml_node *node, const char *fallback)
{
    if (node == NULL || node->kind != SF_YAML_SCALAR) return fallback;
    return sf_arena_text(&l->scenario->arena, node->text, node->text_length);
}

int64_t sfi_scenario_duration(const struct sf_yaml_node *node)
{
    int64_t ms = 0;
    if (node != NULL && node->kind == SF_YAML_SCALAR) (void)sf_value_duration(node->text, &ms);
    return ms;
}

int64_t sfi_scenario_instant(struct sfi_scenario_load *l, const struct sf_yaml_node *node)
{
    enum sf_moment_kind kind = SF_MOMENT_TIME;
    int64_t ms = 0, start_ms = l->scenario->start_ms;
    if (node == NULL || node->kind != SF_YAML_SCALAR) return start_ms;
    if (sf_value_int(node->text, &ms)) return ms;
    if (!sf_value_moment(node->text, &kind, &ms)) return start_ms;
    if (kind == SF_MOMENT_OFFSET) return sf_time_add(start_ms, ms);
    if (kind == SF_MOMENT_OF_DAY) return start_ms - start_ms % SFI_DAY_MS + ms;
    return ms;
}

int64_t sfi_scenario_offset(struct sfi_scenario_load *l, const struct sf_yaml_node *node)
{
    int64_t instant_ms = sfi_scenario_instant(l, node);
    if (instant_ms >= l->scenario->start_ms) return instant_ms - l->scenario->start_ms;
    if (instant_ms >= 0) /* what is not a moment has been reported */
        SFI_REFUSE(l, node->place, "`", node->text, "` lies before the scenario's start");
    return 0;
}

static int64_t read_watermark(struct sfi_scenario_load *l, const struct sf_yaml_node *node)
{
    if (sf_yaml_is(node, "unset")) return SF_TIME_UNSET;
    if (sf_yaml_is(node, "complete")) return SF_TIME_COMPLETE;
    return sfi_scenario_instant(l, node);
}

struct sf_scenario_bounds sfi_scenario_bounds(struct sfi_scenario_load *l, const struct sf_yaml_node *node)
{
    struct sf_scenario_bounds bounds = {
        .is_given = node != NULL, .at_least_ms = SF_TIME_UNSET, .at_most_ms = SF_TIME_COMPLETE};
    if (node == NULL) return bounds;
    if (node->kind == SF_YAML_SCALAR) {
        bounds.at_least_ms = bounds.at_most_ms = read_watermark(l, node);
        return bounds;
    }
    const struct sf_yaml_node *least = sf_yaml_get(node, "at-least"), *most = sf_yaml_get(node, "at-most");
    if (least == NULL && most == NULL) SFI_REFUSE(l, node->place, "give a time, at-least or at-most");
    if (least != NULL) bounds.at_least_ms = read_watermark(l, least);
    if (most != NULL) bounds.at_most_ms = read_watermark(l, most);
    return bounds;
}

static int64_t read_span(const struct sf_yaml_node *node)
{
    int64_t ms = sfi_scenario_duration(node);
    return ms > 0 ? ms : 0;
}

struct sf_scenario_draw sfi_scenario_span_draw(struct sfi_scenario_load *l, const struct sf_yaml_node *node)
{
    struct sf_scenario_draw draw = {.kind = SF_SCENARIO_DRAW_CONSTANT};
    const struct sf_yaml_node *uniform = sf_yaml_get(node, "uniform"), *mean = sf_yaml_get(node, "exponential");
    if (node == NULL) return draw;
    if (node->kind == SF_YAML_SCALAR) draw.a = read_span(node);
    if (node->kind == SF_YAML_MAPPING && node->child_count != 1)
        SFI_REFUSE(l, node->place, "a draw has one form: uniform or exponential");
    if (mean != NULL) draw = (struct sf_scenario_draw){.kind = SF_SCENARIO_DRAW_EXPONENTIAL, .a = read_span(mean)};
    if (uniform == NULL || uniform->kind != SF_YAML_SEQUENCE || uniform->child_count != 2) return draw;
    draw.kind = SF_SCENARIO_DRAW_UNIFORM;
    draw.a = read_span(uniform->first);
    draw.b = read_span(uniform->first->next);
    if (draw.a > draw.b) {
        SFI_REFUSE(l, uniform->place, "the first of the two is the smaller one");
        draw.b = draw.a;
    }
    return draw;
}

bool sfi_scenario_find_topic(struct sfi_scenario_load *l, const char *name, size_t length, struct sf_place place,
                             uint32_t *index_out)
{
    const struct sf_scenario *scenario = l->scenario;
    const char *wanted = sf_arena_text(&l->scenario->arena, name, length);
    struct sf_spelling spelling;
    sf_spelling_init(&spelling, wanted);
    for (uint32_t i = 0; i < scenario->topic_count; i++) {
        if (strcmp(scenario->topics[i].name, wanted) == 0) {
            *index_out = i;
            return true;
        }
        sf_spelling_offer(&spelling, scenario->topics[i].name);
    }
    if (spelling.best != NULL)
        SFI_REFUSE(l, place, "there is no topic `", wanted, "`; did you mean `", spelling.best, "`?");
    else
        SFI_REFUSE(l, place, "there is no topic `", wanted, "`; list it under `topics`");
    return false;
}

bool sfi_scenario_split_any(struct sfi_scenario_load *l, const char *text, struct sf_place place, uint32_t *topic_out,
                            int64_t *partition_out)
{
    const struct sf_scenario *scenario = l->scenario;
    const char *slash = strrchr(text, '/');
    for (uint32_t i = 0; slash != NULL && i < scenario->internal_count; i++) {
        const char *name = scenario->topics[scenario->topic_count + i].name;
        bool is_it = strlen(name) == (size_t)(slash - text) && strncmp(name, text, strlen(name)) == 0;
        if (!is_it || !sf_value_int(slash + 1, partition_out)) continue;
        if (*partition_out < 0 || *partition_out >= SF_SCENARIO_PARTITIONS_MAX) continue;
        *topic_out = scenario->topic_count + i;
        return true;
    }
    return sfi_scenario_split(l, text, place, false, topic_out, partition_out);
}

bool sfi_scenario_split(struct sfi_scenario_load *l, const char *text, struct sf_place place, bool has_default,
                        uint32_t *topic_out, int64_t *partition_out)
{
    const char *slash = strrchr(text, '/');
    int64_t partition = SF_SCENARIO_ANY;
    bool is_good = slash != NULL ? sf_value_int(slash + 1, &partition) && partition >= 0 &&
                                       partition < SF_SCENARIO_PARTITIONS_MAX
                                 : has_default;
    if (!is_good) {
        SFI_REFUSE(l, place, "`", text, "` is not a topic and a partition, such as orders/0");
        return false;
    }
    *partition_out = partition;
    size_t length = slash != NULL ? (size_t)(slash - text) : strlen(text);
    return sfi_scenario_find_topic(l, text, length, place, topic_out);
}

bool sfi_scenario_find_step(struct sfi_scenario_load *l, const char *name, size_t length, struct sf_place place,
                            uint32_t *index_out)
{
    const struct sf_topology *topology = l->scenario->topology;
    const char *wanted = sf_arena_text(&l->scenario->arena, name, length);
    struct sf_spelling spelling;
    *index_out = 0;
    if (topology == NULL) return true;
    sf_spelling_init(&spelling, wanted);
    for (uint32_t i = 0; i < topology->step_count; i++) {
        if (strcmp(topology->steps[i].name, wanted) == 0) {
            *index_out = i;
            return true;
        }
        sf_spelling_offer(&spelling, topology->steps[i].name);
    }
    if (spelling.best != NULL)
        SFI_REFUSE(l, place, "there is no step `", wanted, "`; did you mean `", spelling.best, "`?");
    else
        SFI_REFUSE(l, place, "there is no step `", wanted, "` in the application");
    return false;
}
