#include "prod/settings.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum kind { MILLIS, COUNT, BYTES, PERCENT, BOOL, TEXT, DISPATCH, FORMAT };

struct setting {
    const char *name;
    enum kind kind;
    size_t offset;
};

#define ROW(name, kind, member) {name, kind, offsetof(struct sf_settings, member)}

static const struct setting table[] = {
    ROW("watermark.max-out-of-orderness-ms", MILLIS, max_out_of_orderness_ms),
    ROW("watermark.idleness-timeout-ms", MILLIS, idleness_timeout_ms),
    ROW("watermark.auto-interval-ms", MILLIS, auto_interval_ms),
    ROW("watermark.preview-delay-ms", MILLIS, preview_delay_ms),
    ROW("processing.lanes", COUNT, lanes),
    ROW("processing.buffered-records-per-partition", COUNT, buffered_records_max),
    ROW("processing.max-poll-records", COUNT, poll_records_max),
    ROW("processing.max-task-idle-ms", MILLIS, task_idle_ms_max),
    ROW("processing.uncommitted-bytes-max", BYTES, uncommitted_bytes_max),
    ROW("processing.dispatch", DISPATCH, dispatch),
    ROW("commit-barrier.interval-ms", MILLIS, barrier_interval_ms),
    ROW("commit-barrier.interval-factor", PERCENT, barrier_factor_percent),
    ROW("commit-barrier.min-interval-ms", MILLIS, barrier_interval_ms_min),
    ROW("commit-barrier.max-interval-ms", MILLIS, barrier_interval_ms_max),
    ROW("commit-barrier.timeout-ms", MILLIS, barrier_timeout_ms),
    ROW("transaction-timeout-ms", MILLIS, transaction_timeout_ms),
    ROW("changelog.enabled", BOOL, is_changelog_enabled),
    ROW("changelog.format", FORMAT, is_changelog_packed),
    ROW("instance", TEXT, instance),
    ROW("session-timeout-ms", MILLIS, session_timeout_ms),
    ROW("state.dir", TEXT, state_dir),
    ROW("output.buffer-bytes", BYTES, output_buffer_bytes),
};

uint32_t sf_prod_settings_count(void)
{
    return (uint32_t)(sizeof table / sizeof table[0]);
}

const char *sf_prod_settings_name(uint32_t index)
{
    assert(index < sf_prod_settings_count());
    return table[index].name;
}

static const char *print_unsigned(char buf[SF_PROD_SETTING_BYTES], uint64_t value)
{
    (void)snprintf(buf, SF_PROD_SETTING_BYTES, "%" PRIu64, value);
    return buf;
}

static const char *print_signed(char buf[SF_PROD_SETTING_BYTES], int64_t value)
{
    (void)snprintf(buf, SF_PROD_SETTING_BYTES, "%" PRId64, value);
    return buf;
}

static const char *print_percent(char buf[SF_PROD_SETTING_BYTES], uint32_t percent)
{
    uint32_t hundredths = percent % 100;
    if (hundredths % 10 == 0)
        (void)snprintf(buf, SF_PROD_SETTING_BYTES, "%" PRIu32 ".%" PRIu32, percent / 100, hundredths / 10);
    else
        (void)snprintf(buf, SF_PROD_SETTING_BYTES, "%" PRIu32 ".%02" PRIu32, percent / 100, hundredths);
    return buf;
}

static const char *dispatch_name(enum sf_dispatch dispatch)
{
    switch (dispatch) {
    case SF_DISPATCH_AUTO: return "";
    case SF_DISPATCH_ORDERED: return "ordered";
    case SF_DISPATCH_DIRECT: return "direct";
    }
    assert(false && "no such dispatch");
    return "";
}

const char *sf_prod_settings_text(const struct sf_settings *settings, uint32_t index, char buf[SF_PROD_SETTING_BYTES])
{
    assert(index < sf_prod_settings_count());
    const void *at = (const char *)settings + table[index].offset;
    const char *text = NULL;
    switch (table[index].kind) {
    case MILLIS: return print_signed(buf, *(const int64_t *)at);
    case COUNT: return *(const uint32_t *)at == 0 ? "" : print_unsigned(buf, *(const uint32_t *)at);
    case BYTES: return print_unsigned(buf, *(const uint64_t *)at);
    case PERCENT: return print_percent(buf, *(const uint32_t *)at);
    case BOOL: return *(const bool *)at ? "true" : "false";
    case FORMAT: return *(const bool *)at ? "packed" : "rows";
    case DISPATCH: return dispatch_name(*(const enum sf_dispatch *)at);
    case TEXT: text = *(const char *const *)at; break;
    }
    return text != NULL ? text : "";
}

const char *sf_prod_settings_default(const struct sf_settings *settings, uint32_t index,
                                     char buf[SF_PROD_SETTING_BYTES])
{
    struct sf_topology *fresh = sf_topology_new(sf_alloc_libc());
    struct sf_settings defaults = fresh->settings;
    sf_topology_destroy(fresh);
    /* V8: it follows two others */
    defaults.transaction_timeout_ms = settings->barrier_timeout_ms + settings->barrier_interval_ms_max + 20000;
    return sf_prod_settings_text(&defaults, index, buf);
}
