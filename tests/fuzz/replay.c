/*
 * The main of a fuzz program where libFuzzer is not: gives the target every file of its corpus, whole and cut short at
 * every length up to REPLAY_CUTS_MAX, so that each ordinary build runs what fuzzing once found. An empty corpus fails.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAY_CUTS_MAX 4096u
#define REPLAY_FILE_BYTES_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of exactly `size` bytes, so that a read past the end is one that the sanitizer sees. */
static void replay_bytes(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int replay_file(const char *path)
{
    static uint8_t data[REPLAY_FILE_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    replay_bytes(data, size);
    for (size_t cut = 0; cut < size && cut < REPLAY_CUTS_MAX; cut++) replay_bytes(data, cut);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 2;
    }
    DIR *dir = opendir(argv[1]);
    if (dir == NULL) {
        fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    unsigned files = 0;
    int failed = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (replay_file(path) != 0) failed = 1;
        files++;
    }
    closedir(dir);
    printf("%u files replayed\n", files);
    return failed != 0 || files == 0 ? 1 : 0;
}
