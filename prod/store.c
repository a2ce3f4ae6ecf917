#include "prod/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prod/os.h"
#include "prod/store_parts.h"

#define WRITE_BUFFER_BYTES (16u << 20)
#define WRITE_BUFFERS 2
#define BLOCK_BYTES (16u << 10)
#define BACKGROUND_JOBS 2
#define LOG_LEVEL_WARN 2
#define ASIDE_COUNT_MAX 1000u
#define PATH_BYTES (SF_PROD_STORE_PATH_BYTES + SF_PROD_STORE_NAME_BYTES)

/* ---------------------------------------------------------------- errors */

static bool is_text_with(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* RocksDB tells classes apart by the beginning of its text. A file that should be there and is not is damage. */
enum sf_status sfi_rocks_error(char *rocks_error, char *text_out, size_t cap)
{
    text_out[0] = '\0';
    if (rocks_error == NULL) return SF_OK;
    (void)snprintf(text_out, cap, "%s", rocks_error);
    enum sf_status status = SF_E_IO;
    if (is_text_with(rocks_error, "lock hold by") || is_text_with(rocks_error, "While lock file"))
        status = SF_E_EXISTS;
    else if (is_text_with(rocks_error, "Directory exists"))
        status = SF_E_EXISTS;
    else if (is_text_with(rocks_error, "Corruption") || is_text_with(rocks_error, "No such file"))
        status = SF_E_CORRUPT;
    else if (is_text_with(rocks_error, "Permission denied"))
        status = SF_E_AUTH;
    free(rocks_error);
    return status;
}

static enum sf_status fail(struct sf_error *error, enum sf_status status, const char *name, const char *why)
{
    error->status = status;
    (void)snprintf(error->text, sizeof error->text, "store %.60s: %.170s", name, why);
    return status;
}

static enum sf_status fail_os(struct sf_error *error, const char *name, int number)
{
    return fail(error, number == EACCES || number == EPERM ? SF_E_AUTH : SF_E_IO, name, strerror(number));
}

/* ---------------------------------------------------------------- directories */

enum sf_status sf_prod_store_dir_init(struct sf_prod_store_dir *dir, struct sf_alloc alloc, const char *path,
                                      struct sf_error *error)
{
    dir->alloc = alloc;
    if (path[0] == '\0' || strlen(path) >= sizeof dir->path) return fail(error, SF_E_ARG, path, "not a directory name");
    (void)snprintf(dir->path, sizeof dir->path, "%s", path);
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return fail_os(error, path, errno);
    struct stat info;
    if (stat(path, &info) != 0) return fail_os(error, path, errno);
    if (!S_ISDIR(info.st_mode)) return fail(error, SF_E_IO, path, "it is not a directory");
    dir->open = NULL;
    int rc = pthread_mutex_init(&dir->lock, NULL);
    return rc == 0 ? SF_OK : fail_os(error, path, rc);
}

void sf_prod_store_dir_deinit(struct sf_prod_store_dir *dir)
{
    assert(dir->open == NULL);
    sfi_os_check(pthread_mutex_destroy(&dir->lock));
}

static void list_open(struct sfi_rocks *store)
{
    sfi_os_check(pthread_mutex_lock(&store->dir->lock));
    store->next = store->dir->open;
    store->dir->open = store;
    sfi_os_check(pthread_mutex_unlock(&store->dir->lock));
}

void sfi_rocks_unlist(struct sfi_rocks *store)
{
    sfi_os_check(pthread_mutex_lock(&store->dir->lock));
    struct sfi_rocks **link = &store->dir->open;
    while (*link != store) link = &(*link)->next;
    *link = store->next;
    sfi_os_check(pthread_mutex_unlock(&store->dir->lock));
}

static bool is_open_here(struct sf_prod_store_dir *dir, const char *name)
{
    sfi_os_check(pthread_mutex_lock(&dir->lock));
    const struct sfi_rocks *store = dir->open;
    while (store != NULL && strcmp(store->name, name) != 0) store = store->next;
    sfi_os_check(pthread_mutex_unlock(&dir->lock));
    return store != NULL;
}

static bool is_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL && strlen(name) < SF_PROD_STORE_NAME_BYTES;
}

static void path_of(const struct sf_prod_store_dir *dir, const char *name, char path_out[PATH_BYTES])
{
    (void)snprintf(path_out, PATH_BYTES, "%s/%s", dir->path, name);
}

static void sync_dir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return; /* the rename stands; a power cut right now may undo it, and then it is done again */
    (void)fsync(fd);
    (void)close(fd);
}

/* Asks for RocksDB's lock. Never of a store that is open here: closing any descriptor of the file lets go of the
 * process's lock on it. */
static enum sf_status check_unlocked(struct sf_prod_store_dir *dir, const char *path, const char *name,
                                     struct sf_error *error)
{
    if (is_open_here(dir, name)) return fail(error, SF_E_EXISTS, name, "it is open");
    char lock_path[PATH_BYTES + 8];
    (void)snprintf(lock_path, sizeof lock_path, "%s/LOCK", path);
    int fd = open(lock_path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return SF_OK;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool is_locked = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    (void)close(fd);
    return is_locked ? fail(error, SF_E_EXISTS, name, "another process has it") : SF_OK;
}

static enum sf_status dir_set_aside(void *self, const char *name, const char *reason, struct sf_error *error)
{
    struct sf_prod_store_dir *dir = self;
    char from[PATH_BYTES], to[PATH_BYTES + 64], word[32];
    if (!is_name(name)) return fail(error, SF_E_ARG, name, "not a store's name");
    path_of(dir, name, from);
    enum sf_status status = check_unlocked(dir, from, name, error);
    if (status != SF_OK) return status;
    size_t len = 0;
    for (; reason[len] != '\0' && len + 1 < sizeof word; len++) {
        char c = reason[len];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        word[len] = is_plain ? c : '-';
    }
    word[len] = '\0';
    for (uint32_t i = 1; i <= ASIDE_COUNT_MAX; i++) {
        (void)snprintf(to, sizeof to, "%s.%s-%u", from, word, i);
        struct stat info;
        if (lstat(to, &info) == 0) continue;
        if (rename(from, to) != 0)
            return errno == ENOENT ? fail(error, SF_NOT_FOUND, name, "there is none") : fail_os(error, name, errno);
        sync_dir(dir->path);
        return SF_OK;
    }
    return fail(error, SF_E_IO, name, "too many of this name were set aside");
}

static enum sf_status dir_destroy(void *self, const char *name, struct sf_error *error)
{
    struct sf_prod_store_dir *dir = self;
    char path[PATH_BYTES];
    if (!is_name(name)) return fail(error, SF_E_ARG, name, "not a store's name");
    path_of(dir, name, path);
    enum sf_status status = check_unlocked(dir, path, name, error);
    if (status != SF_OK) return status;
    DIR *listing = opendir(path);
    if (listing == NULL) return errno == ENOENT ? SF_OK : fail_os(error, name, errno);
    int failed = 0;
    for (const struct dirent *file = readdir(listing); file != NULL; file = readdir(listing)) {
        if (strcmp(file->d_name, ".") == 0 || strcmp(file->d_name, "..") == 0) continue;
        if (unlinkat(dirfd(listing), file->d_name, 0) != 0) failed = errno;
    }
    (void)closedir(listing);
    if (failed != 0) return fail_os(error, name, failed);
    if (rmdir(path) != 0) return fail_os(error, name, errno);
    sync_dir(dir->path);
    return SF_OK;
}

/* ---------------------------------------------------------------- opening */

static rocksdb_options_t *make_options(uint64_t cache_bytes)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_paranoid_checks(options, 1);
    rocksdb_options_set_write_buffer_size(options, WRITE_BUFFER_BYTES);
    rocksdb_options_set_max_write_buffer_number(options, WRITE_BUFFERS);
    rocksdb_options_set_max_background_jobs(options, BACKGROUND_JOBS);
    rocksdb_options_set_compression(options, rocksdb_lz4_compression);
    rocksdb_options_set_info_log_level(options, LOG_LEVEL_WARN);
    rocksdb_options_set_keep_log_file_num(options, 2);
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_size(table, BLOCK_BYTES);
    if (cache_bytes > 0) {
        rocksdb_cache_t *cache = rocksdb_cache_create_lru((size_t)cache_bytes);
        rocksdb_block_based_options_set_block_cache(table, cache);
        rocksdb_cache_destroy(cache); /* our reference; the table options keep theirs */
    }
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);
    return options;
}

void sfi_rocks_free(struct sfi_rocks *store)
{
    if (store->db != NULL) rocksdb_close(store->db);
    if (store->batch != NULL) rocksdb_writebatch_destroy(store->batch);
    rocksdb_flushoptions_destroy(store->flush_options);
    rocksdb_writeoptions_destroy(store->write_options);
    rocksdb_readoptions_destroy(store->read_options);
    rocksdb_options_destroy(store->options);
    sf_cfree(store->alloc, store, 1, sizeof *store);
}

static enum sf_status dir_open(void *self, const struct sf_store_config *config, struct sf_store *store_out,
                               struct sf_error *error)
{
    struct sf_prod_store_dir *dir = self;
    char path[PATH_BYTES];
    if (!is_name(config->name)) return fail(error, SF_E_ARG, config->name, "not a store's name");
    path_of(dir, config->name, path);
    struct sfi_rocks *store = sf_calloc(dir->alloc, 1, sizeof *store);
    store->alloc = dir->alloc;
    store->waker = config->waker;
    atomic_init(&store->iter_count, 0);
    store->dir = dir;
    (void)snprintf(store->name, sizeof store->name, "%s", config->name);
    store->options = make_options(config->cache_bytes);
    store->read_options = rocksdb_readoptions_create();
    store->write_options = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(store->write_options, 1);
    store->flush_options = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(store->flush_options, 1);
    char *rocks_error = NULL;
    char text[SFI_ROCKS_TEXT_BYTES];
    store->db = rocksdb_open(store->options, path, &rocks_error);
    enum sf_status status = sfi_rocks_error(rocks_error, text, sizeof text);
    if (status == SF_OK) {
        store->batch = rocksdb_writebatch_create();
        status = sfi_rocks_start(store);
        (void)snprintf(text, sizeof text, "no thread to write with");
    }
    if (status != SF_OK) {
        sfi_rocks_free(store);
        return fail(error, status, config->name, text);
    }
    list_open(store);
    *store_out = (struct sf_store){.ops = &sfi_rocks_ops, .self = store};
    return SF_OK;
}

struct sf_store_factory sf_prod_store_factory(struct sf_prod_store_dir *dir)
{
    static const struct sf_store_factory_ops ops = {
        .open = dir_open, .set_aside = dir_set_aside, .destroy = dir_destroy};
    return (struct sf_store_factory){.ops = &ops, .self = dir};
}
