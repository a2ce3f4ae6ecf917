#include <string.h>

#include "core/app/values.h"
#include "driver/scenario_load.h"

#define SFI_FAULTS_MAX 10000u

enum timing { TIMING_NONE = 0, TIMING_AT = 1, TIMING_WHEN = 2, TIMING_SPAN = 4 };

struct action {
    const char *key;
    unsigned timing; /* what may say when; TIMING_NONE: nothing may */
    const char *hint;
};

static const struct action actions[] = {
    {"crash", TIMING_AT | TIMING_WHEN, "`at` or `when`"},
    {"stop", TIMING_AT | TIMING_WHEN, "`at` or `when`"},
    {"broker", TIMING_AT | TIMING_WHEN, "`at` or `when`"},
    {"partition", TIMING_AT | TIMING_SPAN, "`at`, or `from` and `until`"},
    {"clock", TIMING_AT, "`at`"},
    {"standby", TIMING_AT | TIMING_WHEN, "`at` or `when`"},
    {"offsets", TIMING_AT, "`at`"},
    {"lane", TIMING_SPAN, "`from` and `until`"},
    {"ingest", TIMING_SPAN, "`from` and `until`"},
    {"pause", TIMING_AT, "`at`"},
    {"swarm", TIMING_NONE, "no time of its own"},
};
#define SFI_ACTIONS (sizeof actions / sizeof actions[0])

/* ---- when ---- */

static unsigned timing_of(const struct sf_yaml_node *node)
{
    unsigned timing = 0;
    if (sf_yaml_get(node, "at") != NULL) timing |= TIMING_AT;
    if (sf_yaml_get(node, "when") != NULL) timing |= TIMING_WHEN;
    if (sf_yaml_get(node, "from") != NULL || sf_yaml_get(node, "until") != NULL) timing |= TIMING_SPAN;
    return timing;
}

static void load_timing(struct sfi_scenario_load *l, const struct sf_yaml_node *node, const struct action *action,
                        struct sf_scenario_fault *fault)
{
    const struct sf_yaml_node *at = sf_yaml_get(node, "at"), *when = sf_yaml_get(node, "when");
    const struct sf_yaml_node *from = sf_yaml_get(node, "from"), *until = sf_yaml_get(node, "until");
    unsigned timing = timing_of(node);
    bool is_one = timing == TIMING_AT || timing == TIMING_WHEN || timing == TIMING_SPAN;
    bool is_good = action->timing == TIMING_NONE ? timing == 0 : is_one && (timing & action->timing) != 0;
    fault->until_ms = SF_SCENARIO_UNUSED;
    if (!is_good) {
        SFI_REFUSE(l, node->place, "`", action->key, "` needs ", action->hint);
        return;
    }
    if (at != NULL) fault->at_ms = sfi_scenario_offset(l, at);
    if (from != NULL) fault->at_ms = sfi_scenario_offset(l, from);
    if (timing == TIMING_SPAN && from == NULL) SFI_REFUSE(l, node->place, "`until` needs a `from`");
    if (until != NULL) {
        fault->until_ms = sfi_scenario_offset(l, until);
        if (fault->until_ms <= fault->at_ms) SFI_REFUSE(l, until->place, "`until` must lie behind `from`");
    }
    if (when != NULL) fault->is_at_point = sfi_scenario_load_point(l, when, &fault->point);
}

/* ---- what ---- */

static void add(struct sfi_scenario_load *l, const struct sf_scenario_fault *fault)
{
    struct sf_scenario *scenario = l->scenario;
    if (scenario->fault_count < SFI_FAULTS_MAX)
        scenario->faults[scenario->fault_count++] = *fault;
    else
        SFI_REFUSE(l, fault->place, "more than 10000 faults");
}

/* `{lag: unknown}` or `{log-start: 400}`. */
static enum sf_scenario_fault_kind trouble(struct sfi_scenario_load *l, const struct sf_yaml_node *node,
                                           struct sf_scenario_fault *fault)
{
    const struct sf_yaml_node *lag = sf_yaml_get(node, "lag"), *start = sf_yaml_get(node, "log-start");
    if ((lag == NULL) == (start == NULL))
        SFI_REFUSE(l, node->place, "`", node->key->text, "` needs either `lag` or `log-start`");
    if (start == NULL) return SF_SCENARIO_LAG_UNKNOWN;
    if (start->kind == SF_YAML_SCALAR) (void)sf_value_int(start->text, &fault->offset);
    return SF_SCENARIO_LOG_START;
}

/* One fault per partition that the mapping names. */
static void add_partitions(struct sfi_scenario_load *l, const struct sf_yaml_node *node,
                           struct sf_scenario_fault *fault)
{
    for (const struct sf_yaml_node *child = node->first; child != NULL; child = child->next) {
        int64_t partition = 0;
        bool is_span = fault->until_ms != SF_SCENARIO_UNUSED;
        fault->place = child->key->place;
        fault->kind = child->kind == SF_YAML_MAPPING ? trouble(l, child, fault) : SF_SCENARIO_UNAVAILABLE;
        if (sf_yaml_is(child, "added")) fault->kind = SF_SCENARIO_ADDED;
        if (sf_yaml_is(child, "revoked")) fault->kind = SF_SCENARIO_REVOKED;
        if (sf_yaml_is(child, "assigned")) fault->kind = SF_SCENARIO_ASSIGNED;
        if (sf_yaml_is(child, "truncated")) fault->kind = SF_SCENARIO_TRUNCATED;
        bool is_lasting = fault->kind == SF_SCENARIO_LAG_UNKNOWN || fault->kind == SF_SCENARIO_UNAVAILABLE;
        if (is_span && !is_lasting)
            SFI_REFUSE(l, child->place, "`", child->kind == SF_YAML_SCALAR ? child->text : "log-start",
                       "` happens `at` an instant");
        if (!sfi_scenario_split_any(l, child->key->text, child->key->place, &fault->topic, &partition)) continue;
        fault->partition = (uint32_t)partition;
        add(l, fault);
    }
}

static void add_lanes(struct sfi_scenario_load *l, const struct sf_yaml_node *node, struct sf_scenario_fault *fault)
{
    for (const struct sf_yaml_node *child = node->first; child != NULL; child = child->next) {
        const char *name = child->key->text, *slash = strrchr(name, '/');
        int64_t lane = 0;
        fault->place = child->key->place;
        fault->kind = SF_SCENARIO_LANE_STOPPED;
        if (slash == NULL || !sf_value_int(slash + 1, &lane) || lane < 0 || lane >= (int64_t)SF_LANES_MAX) {
            SFI_REFUSE(l, fault->place, "`", name, "` is not a step and a lane, such as counts/0");
            continue;
        }
        fault->lane = (uint32_t)lane;
        if (sfi_scenario_find_step(l, name, (size_t)(slash - name), fault->place, &fault->step)) add(l, fault);
    }
}

/* One of three: `answer` with `outcome`, `markers`, `request` perhaps with `of`. */
static void load_broker(struct sfi_scenario_load *l, const struct sf_yaml_node *what, struct sf_scenario_fault *fault)
{
    static const char *const requests[] = {[SF_SCENARIO_REQUEST_INIT] = "init",
                                           [SF_SCENARIO_REQUEST_WRITE] = "write",
                                           [SF_SCENARIO_REQUEST_OFFSETS] = "offsets",
                                           [SF_SCENARIO_REQUEST_COMMIT] = "commit",
                                           [SF_SCENARIO_REQUEST_ABORT] = "abort"};
    const struct sf_yaml_node *answer = sf_yaml_get(what, "answer"), *outcome = sf_yaml_get(what, "outcome");
    const struct sf_yaml_node *markers = sf_yaml_get(what, "markers");
    const struct sf_yaml_node *request = sf_yaml_get(what, "request"), *of = sf_yaml_get(what, "of");
    bool is_answer = answer != NULL && outcome != NULL && markers == NULL && request == NULL && of == NULL;
    bool is_markers = markers != NULL && answer == NULL && outcome == NULL && request == NULL && of == NULL;
    bool is_request = request != NULL && answer == NULL && outcome == NULL && markers == NULL;
    if (!is_answer && !is_markers && !is_request)
        SFI_REFUSE(l, sf_yaml_place(what),
                   "`broker` has `answer` with `outcome`, or `markers`, or `request` (perhaps with `of`)");
    fault->kind = is_markers ? SF_SCENARIO_MARKERS : is_request ? SF_SCENARIO_REQUEST_LOST : SF_SCENARIO_BROKER;
    fault->is_answer_lost = sf_yaml_is(answer, "lost");
    fault->is_late = sf_yaml_is(answer, "late");
    fault->is_committed = sf_yaml_is(outcome, "committed");
    fault->span_ms = sfi_scenario_duration(markers);
    fault->request = SF_SCENARIO_REQUEST_COMMIT;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        if (sf_yaml_is(of, requests[i])) fault->request = (enum sf_scenario_request)i;
}

static void load_action(struct sfi_scenario_load *l, const struct sf_yaml_node *what, const char *key,
                        struct sf_scenario_fault *fault)
{
    if (strcmp(key, "partition") == 0 || strcmp(key, "lane") == 0) {
        if (what->kind != SF_YAML_MAPPING) return;
        if (key[0] == 'p')
            add_partitions(l, what, fault);
        else
            add_lanes(l, what, fault);
        return;
    }
    if (strcmp(key, "crash") == 0) {
        fault->kind = SF_SCENARIO_CRASH;
        fault->restart_after_ms = sfi_scenario_duration(sf_yaml_get(what, "restart-after"));
        fault->is_store_lost = sf_yaml_is(sf_yaml_get(what, "store"), "lost");
    }
    if (strcmp(key, "stop") == 0) {
        fault->kind = SF_SCENARIO_STOP;
        fault->restart_after_ms = sfi_scenario_duration(sf_yaml_get(what, "restart-after"));
    }
    if (strcmp(key, "broker") == 0) load_broker(l, what, fault);
    if (strcmp(key, "clock") == 0) {
        fault->kind = SF_SCENARIO_CLOCK_JUMP;
        fault->jump_ms = sfi_scenario_duration(sf_yaml_get(what, "jump"));
    }
    if (strcmp(key, "standby") == 0) {
        fault->kind = sf_yaml_is(what, "join")        ? SF_SCENARIO_JOIN
                      : sf_yaml_is(what, "hand-over") ? SF_SCENARIO_HAND_OVER
                                                      : SF_SCENARIO_TAKE_OVER;
    }
    if (strcmp(key, "offsets") == 0) fault->kind = SF_SCENARIO_METADATA_LOST;
    if (strcmp(key, "ingest") == 0) fault->kind = SF_SCENARIO_INGEST_STOPPED;
    if (strcmp(key, "swarm") == 0) fault->kind = SF_SCENARIO_SWARM;
    if (strcmp(key, "pause") == 0) {
        fault->kind = SF_SCENARIO_PAUSE;
        fault->is_paused = sf_yaml_is(what, "true");
    }
    add(l, fault);
}

static void load_fault(struct sfi_scenario_load *l, const struct sf_yaml_node *node)
{
    const struct action *found = NULL;
    if (node->kind != SF_YAML_MAPPING) return;
    for (size_t i = 0; i < SFI_ACTIONS; i++) {
        const struct sf_yaml_node *what = sf_yaml_get(node, actions[i].key);
        if (what == NULL) continue;
        if (found != NULL)
            SFI_REFUSE(l, sf_yaml_place(what), "a fault has both `", found->key, "` and `", actions[i].key,
                       "`; make them two");
        else
            found = &actions[i];
    }
    if (found == NULL) {
        SFI_REFUSE(l, node->place, "a fault does nothing: give it crash, stop, broker, partition, clock, standby, "
                                   "offsets, lane, ingest, pause or swarm");
        return;
    }
    struct sf_scenario_fault fault = {.place = node->place};
    load_timing(l, node, found, &fault);
    load_action(l, sf_yaml_get(node, found->key), found->key, &fault);
}

void sfi_scenario_load_faults(struct sfi_scenario_load *l, const struct sf_yaml_node *faults)
{
    if (faults == NULL || faults->kind != SF_YAML_SEQUENCE) return;
    size_t count = 0;
    for (const struct sf_yaml_node *node = faults->first; node != NULL; node = node->next) {
        const struct sf_yaml_node *partition = sf_yaml_get(node, "partition"), *lane = sf_yaml_get(node, "lane");
        count += 1 + (partition != NULL ? partition->child_count : 0) + (lane != NULL ? lane->child_count : 0);
    }
    if (count > SFI_FAULTS_MAX) count = SFI_FAULTS_MAX;
    l->scenario->faults = sfi_scenario_take(l, count, sizeof *l->scenario->faults);
    for (const struct sf_yaml_node *node = faults->first; node != NULL; node = node->next) load_fault(l, node);
}
