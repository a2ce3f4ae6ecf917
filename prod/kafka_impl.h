/*
 * What the parts of the Kafka adapter share: the factory, the link (log and connections of one library instance),
 * membership tokens, the table of error codes. Private to prod/kafka*.c.
 *
 *   struct client { struct sfi_kafka_link link; … }     the link comes first: it is the library's opaque pointer
 *
 * Life of a client: open makes it and its library instance; close marks it, cuts the link if nothing more may be
 * sent, and lets the helper thread destroy the instance and free the client. The factory counts helpers.
 */
#ifndef SF_PROD_KAFKA_IMPL_H
#define SF_PROD_KAFKA_IMPL_H

#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/io/kafka.h"
#include "prod/kafka.h"
#include "prod/os.h"

#define SFI_KAFKA_TOKENS_MAX 64u /* newest kept; an older one counts as stale */

/* ---------------------------------------------------------------- link: one library instance's way out */

/* First member of every client. Linked by: sf_prod_kafka.links, while the client's helper or instance lives. */
struct sfi_kafka_link {
    struct sf_prod_kafka *kafka;
    struct sfi_kafka_link *prev, *next;
    pthread_mutex_t lock; /* guards fds, fd_count, is_cut */
    int *fds;             /* open sockets of the instance */
    uint32_t fd_count, fd_cap;
    bool is_cut;
};

void sfi_kafka_link_init(struct sfi_kafka_link *link, struct sf_prod_kafka *kafka);
/* Nothing leaves or arrives any more; idempotent; any thread. */
void sfi_kafka_link_cut(struct sfi_kafka_link *link);
/* After the instance is destroyed. */
void sfi_kafka_link_deinit(struct sfi_kafka_link *link);
/* Instead of that, for an instance that is cut and left running: the factory forgets it, the link's memory stays. */
void sfi_kafka_link_abandon(struct sfi_kafka_link *link);

/* ---------------------------------------------------------------- settings */

/* A configuration with the file's settings, log and link in place; `purpose` goes into the client id. Never NULL:
 * the settings were checked when the factory was made. */
rd_kafka_conf_t *sfi_kafka_conf_new(struct sfi_kafka_link *link, const char *purpose);
/* Ours: a refusal is a bug (assert), apart from values out of the library's range, which the caller clamps. */
void sfi_kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value);
void sfi_kafka_conf_set_int(rd_kafka_conf_t *conf, const char *name, int64_t value);
/* Takes conf. NULL: error says why. */
rd_kafka_t *sfi_kafka_instance_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, struct sf_error *error);

/* ---------------------------------------------------------------- membership tokens */

/* A member's instance as others may use it: taken away under the lock when the member closes. Counted. */
struct sfi_kafka_member {
    pthread_mutex_t lock; /* held while `rk` is used from another client's thread */
    rd_kafka_t *rk;       /* NULL once closed */
    _Atomic uint32_t refs;
};

struct sfi_kafka_token {
    uint64_t id;
    rd_kafka_consumer_group_metadata_t *metadata;
    struct sfi_kafka_member *member;
    uint32_t refs; /* guarded by the factory's lock */
};

struct sfi_kafka_member *sfi_kafka_member_new(void);
void sfi_kafka_member_release(struct sfi_kafka_member *member);

/* The id for `metadata` (taken) of `member`: the newest token's where nothing has changed, else a new one. */
uint64_t sfi_kafka_token_put(struct sf_prod_kafka *kafka, struct sfi_kafka_member *member,
                             rd_kafka_consumer_group_metadata_t *metadata);
/* NULL: never given, or too old to be current. Release it. */
struct sfi_kafka_token *sfi_kafka_token_get(struct sf_prod_kafka *kafka, struct sf_member_token token);
void sfi_kafka_token_release(struct sf_prod_kafka *kafka, struct sfi_kafka_token *token);
bool sfi_kafka_metadata_is_equal(const rd_kafka_consumer_group_metadata_t *a,
                                 const rd_kafka_consumer_group_metadata_t *b);

/* ---------------------------------------------------------------- factory */

struct sf_prod_kafka {
    pthread_mutex_t lock; /* guards names, tokens, links, helper_count */
    pthread_cond_t idle;  /* helper_count fell */
    struct sf_prod_kafka_setting *settings;
    uint32_t setting_count;
    char *client_id;
    int64_t watch_interval_ms;
    void (*log)(void *ctx, int level, const char *text);
    void (*answered)(void *ctx); /* of log_ctx, too */
    void *log_ctx;
    char **names; /* by topic number */
    uint32_t name_count, name_cap;
    struct sfi_kafka_token *tokens[SFI_KAFKA_TOKENS_MAX]; /* ring */
    uint64_t token_last;
    struct sfi_kafka_link *links;
    uint32_t helper_count;
};

const char *sfi_kafka_topic_name(struct sf_prod_kafka *kafka, uint32_t topic);
/* The number of a name that the library gave; UINT32_MAX: never numbered. */
uint32_t sfi_kafka_topic_find(struct sf_prod_kafka *kafka, const char *name);

/* Starts the client's only helper thread; the helper calls sfi_kafka_helper_end last of all. */
void sfi_kafka_helper_start(struct sf_prod_kafka *kafka, void *(*run)(void *client), void *client);
void sfi_kafka_helper_end(struct sf_prod_kafka *kafka);

enum sf_status sfi_kafka_consumer_open(void *self, const struct sf_consumer_config *config,
                                       struct sf_consumer *consumer_out, struct sf_error *error);
enum sf_status sfi_kafka_member_open(struct sf_prod_kafka *kafka, const struct sf_consumer_config *config,
                                     struct sf_consumer *consumer_out, struct sf_error *error);
enum sf_status sfi_kafka_producer_open(void *self, const struct sf_producer_config *config,
                                       struct sf_producer *producer_out, struct sf_error *error);
enum sf_status sfi_kafka_admin_open(void *self, struct sf_waker waker, struct sf_admin *admin_out,
                                    struct sf_error *error);

/* ---------------------------------------------------------------- small things */

/* The one table from the library's codes to ours; what is not in it is SF_E_UNSUPPORTED. */
enum sf_status sfi_kafka_status(rd_kafka_resp_err_t err);

enum sf_status sfi_kafka_fail(struct sf_error *error, enum sf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Never NULL: memory that runs out ends the process (core/mem.h). */
void *sfi_kafka_alloc(size_t bytes);  /* zeroed */
void *sfi_kafka_grow(void *ptr, size_t bytes);
char *sfi_kafka_strdup(const char *text);

/* The first (or, `is_end`, the last) offset of each partition of `list`, as a reader of the instance's isolation sees
 * it, into its `offset`; partitions that have none get an error of their own. Not by the library's watermark query:
 * that one does not keep its time-out while no broker answers. */
rd_kafka_resp_err_t sfi_kafka_log_bounds(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, bool is_end,
                                         int64_t timeout_ms);

/* A list for the library from commits; metadata copied as the C strings it must be (no NUL inside, K7). */
rd_kafka_topic_partition_list_t *sfi_kafka_offsets_new(struct sf_prod_kafka *kafka,
                                                       const struct sf_offset_commit *commits, uint32_t count);

#endif
