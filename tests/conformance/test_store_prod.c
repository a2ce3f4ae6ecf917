/* The store's conformance suite against RocksDB. The crash test runs this very program with "crash <directory>". */
/* ctest: threads */
#include "tests/conformance/store_suite.h"

#if defined(SF_HAVE_PROD)

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "prod/store.h"

#define PATIENCE_S 60

extern char **environ;

struct machine {
    struct sf_prod_store_dir dir;
    sem_t news;
};

static void post_news(void *self, uint32_t task_id)
{
    struct machine *machine = self;
    (void)task_id;
    (void)sem_post(&machine->news);
}

static struct store_world world_of(struct machine *machine)
{
    return (struct store_world){.factory = sf_prod_store_factory(&machine->dir),
                                .waker = {.wake = post_news, .self = machine},
                                .self = machine};
}

static struct machine *make_machine(const char *path)
{
    struct machine *machine = calloc(1, sizeof(*machine));
    struct sf_error error;
    CHECK(machine != NULL);
    CHECK_EQ(sem_init(&machine->news, 0, 0), 0);
    CHECK_EQ(sf_prod_store_dir_init(&machine->dir, sf_alloc_libc(), path, &error), SF_OK);
    return machine;
}

static struct store_world open_world(void)
{
    char path[256];
    const char *base = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/sf-store-XXXXXX", base != NULL ? base : P_tmpdir);
    CHECK(mkdtemp(path) != NULL);
    return world_of(make_machine(path));
}

static bool let_happen(void *self)
{
    struct machine *machine = self;
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    int rc;
    do {
        rc = sem_timedwait(&machine->news, &until);
    } while (rc != 0 && errno == EINTR);
    return rc == 0;
}

static void remove_tree(const char *path, int depth)
{
    DIR *listing = opendir(path);
    CHECK(listing != NULL);
    for (const struct dirent *file = readdir(listing); file != NULL; file = readdir(listing)) {
        char below[1024];
        struct stat info;
        if (file->d_name[0] == '.' && strlen(file->d_name) <= 2) continue;
        (void)snprintf(below, sizeof below, "%.500s/%.500s", path, file->d_name);
        CHECK_EQ(lstat(below, &info), 0);
        if (S_ISDIR(info.st_mode) && depth > 0)
            remove_tree(below, depth - 1);
        else
            CHECK_EQ(unlink(below), 0);
    }
    (void)closedir(listing);
    CHECK_EQ(rmdir(path), 0);
}

static void close_world(void *self)
{
    struct machine *machine = self;
    remove_tree(machine->dir.path, 1);
    sf_prod_store_dir_deinit(&machine->dir);
    (void)sem_destroy(&machine->news);
    free(machine);
}

static struct store_suite suite; /* the child needs it too */

/* ---------------------------------------------------------------- the crash */

static int run_child(const char *path)
{
    struct store_world world = world_of(make_machine(path));
    struct sf_store store = store_open(world, "crash");
    for (uint32_t batch = 1;; batch++)
        if (store_crash_script_batch(&suite, world, store, batch))
            if (write(STDOUT_FILENO, &batch, sizeof batch) != (ssize_t)sizeof batch) return 1;
}

static uint32_t crash(void *self, uint32_t synced)
{
    const struct machine *machine = self;
    char path[SF_PROD_STORE_PATH_BYTES], word[] = "crash", program[1024];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    CHECK(len > 0);
    program[len] = '\0';
    (void)snprintf(path, sizeof path, "%s", machine->dir.path);
    char *args[] = {program, word, path, NULL};
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(fcntl(ends[0], F_SETFD, FD_CLOEXEC), 0);
    CHECK_EQ(fcntl(ends[1], F_SETFD, FD_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    CHECK_EQ(posix_spawn_file_actions_init(&actions), 0);
    CHECK_EQ(posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO), 0);
    pid_t child;
    CHECK_EQ(posix_spawn(&child, program, &actions, NULL, args, environ), 0);
    CHECK_EQ(posix_spawn_file_actions_destroy(&actions), 0);
    (void)close(ends[1]);
    uint32_t sure = 0;
    while (sure < synced) CHECK_EQ(read(ends[0], &sure, sizeof sure), sizeof sure);
    CHECK_EQ(kill(child, SIGKILL), 0);
    uint32_t more;
    while (read(ends[0], &more, sizeof more) == (ssize_t)sizeof more) sure = more;
    (void)close(ends[0]);
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    return sure;
}

/* ---------------------------------------------------------------- what only files can show */

static void damaged_files_are_corrupt_and_can_be_set_aside_k8(void **state)
{
    (void)state;
    struct store_world world = open_world();
    const struct machine *machine = world.self;
    struct sf_store store = store_open(world, "rows");
    struct sf_error error = {SF_OK, ""};
    (void)store_crash_script_batch(&suite, world, store, 1);
    CHECK_EQ(sf_store_close(store, &error), SF_OK);
    char path[SF_PROD_STORE_PATH_BYTES + 32];
    (void)snprintf(path, sizeof path, "%s/rows/CURRENT", machine->dir.path);
    FILE *current = fopen(path, "w");
    CHECK(current != NULL);
    (void)fputs("nonsense", current);
    (void)fclose(current);
    struct sf_store_config config = {.name = "rows", .waker = world.waker};
    CHECK_EQ(sf_store_open(world.factory, &config, &store, &error), SF_E_CORRUPT);
    CHECK_EQ(sf_store_set_aside(world.factory, "rows", "corrupt", &error), SF_OK);
    (void)snprintf(path, sizeof path, "%s/rows.corrupt-1", machine->dir.path);
    CHECK_EQ(access(path, R_OK), 0);
    CHECK_EQ(sf_store_open(world.factory, &config, &store, &error), SF_OK);
    CHECK_EQ(sf_store_close(store, &error), SF_OK);
    close_world(world.self);
}

static void names_that_lead_out_of_the_directory_are_refused(void **state)
{
    (void)state;
    struct store_world world = open_world();
    struct sf_store store;
    struct sf_error error = {SF_OK, ""};
    static const char *const names[] = {"", "..", "a/b", ".hidden"};
    for (uint32_t i = 0; i < 4; i++) {
        struct sf_store_config config = {.name = names[i], .waker = world.waker};
        CHECK_EQ(sf_store_open(world.factory, &config, &store, &error), SF_E_ARG);
        CHECK_EQ(sf_store_destroy(world.factory, names[i], &error), SF_E_ARG);
        CHECK_EQ(sf_store_set_aside(world.factory, names[i], "x", &error), SF_E_ARG);
    }
    close_world(world.self);
}

int main(int argc, char **argv)
{
    suite = (struct store_suite){
        .open = open_world, .let_happen = let_happen, .crash = crash, .close = close_world, .crash_rounds = 3};
    if (argc == 3 && strcmp(argv[1], "crash") == 0) return run_child(argv[2]);
    const struct CMUnitTest tests[] = {
        SF_STORE_SUITE(&suite),
        cmocka_unit_test(damaged_files_are_corrupt_and_can_be_set_aside_k8),
        cmocka_unit_test(names_that_lead_out_of_the_directory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77;
}

#endif
