/*
 * Log: one line per event on a file descriptor, as text or as JSON.
 *
 *     2026-09-22T10:00:00.123Z info started: running from epoch 1, watermark UNSET lanes=2 workers=1
 *     {"time":"2026-09-22T10:00:00.123Z","level":"info","event":"started","message":"running …","lanes":2,"workers":1}
 *
 * Events have names that do not change (docs/operating.md lists them); messages are for people and may.
 *
 * Threading: any thread. A line is written whole, by one write; a line that cannot be written is lost.
 */
#ifndef SF_PROD_LOG_H
#define SF_PROD_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum sf_prod_level { SF_PROD_ERROR, SF_PROD_WARN, SF_PROD_INFO, SF_PROD_DEBUG, SF_PROD_TRACE };

#define SF_PROD_LOG_LINE_BYTES 4096u
#define SF_PROD_LOG_FIELDS_MAX 16u

struct sf_prod_log {
    int fd;
    bool is_json;
    enum sf_prod_level level; /* lines above it are not written */
    pthread_mutex_t lock;
};

/* `text` NULL: the number. */
struct sf_prod_field {
    const char *name;
    const char *text;
    int64_t number;
};

/* Borrows the descriptor. */
void sf_prod_log_init(struct sf_prod_log *log, int fd, bool is_json, enum sf_prod_level level);
void sf_prod_log_deinit(struct sf_prod_log *log);

/* "error" … "trace"; false: no such level. */
bool sf_prod_level_of(const char *name, enum sf_prod_level *level_out);

bool sf_prod_log_is_on(const struct sf_prod_log *log, enum sf_prod_level level);
/* Too long a line is cut. */
void sf_prod_log_say(struct sf_prod_log *log, enum sf_prod_level level, const char *event, const char *message,
                     const struct sf_prod_field *fields, uint32_t field_count);

#endif
