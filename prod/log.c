#include "prod/log.h"

#include <assert.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/ops/timestamp.h"
#include "core/text.h"
#include "prod/os.h"

static const char *const level_names[] = {"error", "warn", "info", "debug", "trace"};

void sf_prod_log_init(struct sf_prod_log *log, int fd, bool is_json, enum sf_prod_level level)
{
    log->fd = fd;
    log->is_json = is_json;
    log->level = level;
    sfi_os_check(pthread_mutex_init(&log->lock, NULL));
}

void sf_prod_log_deinit(struct sf_prod_log *log)
{
    sfi_os_check(pthread_mutex_destroy(&log->lock));
}

bool sf_prod_level_of(const char *name, enum sf_prod_level *level_out)
{
    for (uint32_t i = 0; i < sizeof level_names / sizeof level_names[0]; i++) {
        if (strcmp(name, level_names[i]) != 0) continue;
        *level_out = (enum sf_prod_level)i;
        return true;
    }
    return false;
}

bool sf_prod_log_is_on(const struct sf_prod_log *log, enum sf_prod_level level)
{
    return level <= log->level;
}

static const char *now_iso(char buf[SF_TIME_ISO_BYTES])
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return sf_time_iso((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, buf);
}

static void add_json(struct sf_text *line, const char *name, const char *value)
{
    sf_text_add(line, line->length == 0 ? "{" : ",");
    sf_text_add_json(line, name, strlen(name));
    sf_text_add(line, ":");
    sf_text_add_json(line, value, strlen(value));
}

static void write_json(struct sf_text *line, const char *time, const char *level, const char *event,
                       const char *message, const struct sf_prod_field *fields, uint32_t field_count)
{
    add_json(line, "time", time);
    add_json(line, "level", level);
    add_json(line, "event", event);
    add_json(line, "message", message);
    for (uint32_t i = 0; i < field_count; i++) {
        if (fields[i].text != NULL) {
            add_json(line, fields[i].name, fields[i].text);
            continue;
        }
        sf_text_add(line, ",");
        sf_text_add_json(line, fields[i].name, strlen(fields[i].name));
        sf_text_add(line, ":");
        sf_text_add_int(line, fields[i].number);
    }
    sf_text_add(line, "}");
}

/* A message of somebody else's may hold line breaks; a line of ours does not. */
static void add_flat(struct sf_text *line, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) sf_text_add_bytes(line, *at == '\n' || *at == '\r' ? " " : at, 1);
}

static void write_text(struct sf_text *line, const char *time, const char *level, const char *event,
                       const char *message, const struct sf_prod_field *fields, uint32_t field_count)
{
    sf_text_add(line, time);
    sf_text_add(line, " ");
    sf_text_add(line, level);
    sf_text_add(line, " ");
    sf_text_add(line, event);
    sf_text_add(line, ": ");
    add_flat(line, message);
    for (uint32_t i = 0; i < field_count; i++) {
        sf_text_add(line, " ");
        sf_text_add(line, fields[i].name);
        sf_text_add(line, "=");
        if (fields[i].text != NULL)
            add_flat(line, fields[i].text);
        else
            sf_text_add_int(line, fields[i].number);
    }
}

void sf_prod_log_say(struct sf_prod_log *log, enum sf_prod_level level, const char *event, const char *message,
                     const struct sf_prod_field *fields, uint32_t field_count)
{
    char buffer[SF_PROD_LOG_LINE_BYTES + 1];
    char iso[SF_TIME_ISO_BYTES];
    struct sf_text line;
    assert(field_count <= SF_PROD_LOG_FIELDS_MAX);
    if (!sf_prod_log_is_on(log, level)) return;
    sf_text_init(&line, buffer, SF_PROD_LOG_LINE_BYTES);
    const char *time = now_iso(iso);
    if (log->is_json)
        write_json(&line, time, level_names[level], event, message, fields, field_count);
    else
        write_text(&line, time, level_names[level], event, message, fields, field_count);
    buffer[line.length] = '\n';
    (void)pthread_mutex_lock(&log->lock);
    ssize_t written = write(log->fd, buffer, line.length + 1);
    (void)written; /* nobody is left to be told */
    (void)pthread_mutex_unlock(&log->lock);
}
