#include "driver/swarm.h"

#include <string.h>

#include "sim/random.h"

#define DOMAIN_SWARM 52u /* beside those of run_parts.h */
#define TAIL_MS 2000     /* behind the last thing that is listed */

enum kind { CRASH, STOP, ANSWER, REQUEST, MARKERS, AWAY, LAG, TAKEN, CLOCK, LANE, INGEST, PAUSE, STANDBY, KIND_COUNT };

struct drawing {
    const struct sf_scenario *scenario;
    uint64_t seed;
    uint32_t index;
    uint64_t ordinal;
    uint32_t lanes;
    struct sf_scenario_fault *faults;
    uint32_t count;
};

/* Both ends included. */
static int64_t between(struct drawing *d, int64_t lo, int64_t hi)
{
    return sf_sim_range(sf_sim_draw(d->seed, DOMAIN_SWARM, d->index, d->ordinal++), lo, hi);
}

static void later(int64_t *ms, int64_t other_ms)
{
    if (other_ms > *ms) *ms = other_ms;
}

static int64_t horizon_ms(const struct sf_scenario *scenario)
{
    int64_t ms = 0;
    if (scenario->stop_ms != SF_SCENARIO_UNUSED) return scenario->stop_ms;
    for (uint32_t i = 0; i < scenario->input_count; i++) {
        const struct sf_scenario_input *input = &scenario->inputs[i];
        later(&ms, input->kind == SF_SCENARIO_GENERATOR ? input->until_ms : input->at_ms);
    }
    for (uint32_t i = 0; i < scenario->fault_count; i++)
        if (!scenario->faults[i].is_at_point) later(&ms, scenario->faults[i].at_ms);
    return ms + TAIL_MS;
}

static struct sf_scenario_fault *add(struct drawing *d, enum sf_scenario_fault_kind kind, int64_t at_ms)
{
    struct sf_scenario_fault *fault = &d->faults[d->count++];
    *fault = (struct sf_scenario_fault){.kind = kind,
                                        .at_ms = at_ms,
                                        .until_ms = SF_SCENARIO_UNUSED,
                                        .place = d->scenario->faults[d->index].place};
    return fault;
}

/* Of a source, one of those that are there from the start. */
static void draw_partition(struct drawing *d, struct sf_scenario_fault *fault)
{
    const struct sf_scenario *scenario = d->scenario;
    const struct sf_topology *topology = scenario->topology;
    const char *topic = topology->sources[between(d, 0, (int64_t)topology->source_count - 1)].topic;
    while (strcmp(scenario->topics[fault->topic].name, topic) != 0) fault->topic++; /* the loader found it there */
    fault->partition = (uint32_t)between(d, 0, (int64_t)scenario->topics[fault->topic].partition_count - 1);
}

static void draw_answer(struct drawing *d, struct sf_scenario_fault *fault)
{
    fault->is_answer_lost = between(d, 0, 3) > 0;
    fault->is_late = !fault->is_answer_lost;
    fault->is_committed = fault->is_late || between(d, 0, 1) == 0;
}

static void draw_one(struct drawing *d, enum kind kind, int64_t at_ms)
{
    struct sf_scenario_fault *fault, *back;
    const struct sf_topology *topology = d->scenario->topology;
    int64_t span_ms = between(d, 50, 4000);
    switch (kind) {
    case CRASH:
        fault = add(d, SF_SCENARIO_CRASH, at_ms);
        fault->restart_after_ms = span_ms;
        fault->is_store_lost = between(d, 0, 3) == 0;
        break;
    case STOP: add(d, SF_SCENARIO_STOP, at_ms)->restart_after_ms = span_ms; break;
    case ANSWER: draw_answer(d, add(d, SF_SCENARIO_BROKER, at_ms)); break;
    case REQUEST:
        add(d, SF_SCENARIO_REQUEST_LOST, at_ms)->request =
            (enum sf_scenario_request)between(d, SF_SCENARIO_REQUEST_INIT, SF_SCENARIO_REQUEST_ABORT);
        break;
    case MARKERS: add(d, SF_SCENARIO_MARKERS, at_ms)->span_ms = span_ms; break;
    case AWAY:
    case LAG:
        fault = add(d, kind == AWAY ? SF_SCENARIO_UNAVAILABLE : SF_SCENARIO_LAG_UNKNOWN, at_ms);
        fault->until_ms = at_ms + span_ms;
        draw_partition(d, fault);
        break;
    case TAKEN:
        fault = add(d, SF_SCENARIO_REVOKED, at_ms);
        draw_partition(d, fault);
        back = add(d, SF_SCENARIO_ASSIGNED, at_ms + span_ms);
        back->topic = fault->topic;
        back->partition = fault->partition;
        break;
    case CLOCK: add(d, SF_SCENARIO_CLOCK_JUMP, at_ms)->jump_ms = between(d, -3600000, 3600000); break;
    case LANE:
        fault = add(d, SF_SCENARIO_LANE_STOPPED, at_ms);
        fault->until_ms = at_ms + span_ms;
        fault->step = (uint32_t)between(d, 0, (int64_t)topology->step_count - 1);
        fault->lane = (uint32_t)between(d, 0, (int64_t)d->lanes - 1);
        break;
    case INGEST: add(d, SF_SCENARIO_INGEST_STOPPED, at_ms)->until_ms = at_ms + span_ms; break;
    case PAUSE:
        add(d, SF_SCENARIO_PAUSE, at_ms)->is_paused = true;
        (void)add(d, SF_SCENARIO_PAUSE, at_ms + span_ms);
        break;
    case STANDBY:
        (void)add(d, SF_SCENARIO_JOIN, at_ms);
        (void)add(d, between(d, 0, 1) == 0 ? SF_SCENARIO_TAKE_OVER : SF_SCENARIO_HAND_OVER, at_ms + span_ms);
        break;
    case KIND_COUNT: break;
    }
}

/* A name of its own is no use to a standby; a lane needs a step. */
static bool is_possible(const struct sf_topology *topology, enum kind kind)
{
    if (kind == STANDBY) return topology->settings.instance == NULL;
    return kind != LANE || topology->step_count > 0;
}

uint32_t sf_driver_swarm_draw(const struct sf_scenario *scenario, uint32_t index, uint64_t seed, uint32_t lanes,
                              struct sf_scenario_fault faults_out[SF_DRIVER_SWARM_FAULTS])
{
    struct drawing d = {.scenario = scenario, .seed = seed, .index = index, .lanes = lanes, .faults = faults_out};
    int64_t end_ms = horizon_ms(scenario);
    int64_t wanted = between(&d, SF_DRIVER_SWARM_LEAST, SF_DRIVER_SWARM_MOST);
    for (int64_t i = 0; i < wanted; i++) {
        enum kind kind = i == 0 ? CRASH : (enum kind)between(&d, 0, KIND_COUNT - 1);
        int64_t at_ms = between(&d, 0, end_ms);
        if (is_possible(scenario->topology, kind)) draw_one(&d, kind, at_ms);
    }
    return d.count;
}
