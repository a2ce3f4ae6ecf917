#include <string.h>

#include "driver/command.h"
#include "driver/point.h"

/* The words of a note with n, s and i for its numbers. */
static void print_words(FILE *out, const char *words)
{
    static const struct {
        const char *braces, *letter;
    } letters[] = {{"{0}", "n"}, {"{1}", "s"}, {"{2}", "i"}, {"{3}", "some"}, {"{t1}", "with a watermark"}};
    while (*words != '\0') {
        bool is_replaced = false;
        for (size_t i = 0; i < sizeof letters / sizeof letters[0] && !is_replaced; i++) {
            size_t len = strlen(letters[i].braces);
            is_replaced = strncmp(words, letters[i].braces, len) == 0;
            if (!is_replaced) continue;
            (void)fputs(letters[i].letter, out);
            words += len;
        }
        if (!is_replaced) (void)fputc(*words++, out);
    }
}

static int points(const struct sf_driver_io *io, int argc, char **argv)
{
    const char *words[SF_DRIVER_FILES_MAX];
    uint32_t word_count;
    if (!sf_driver_options_read(io, &sf_driver_command_points, argc, argv, NULL, 0, words, &word_count))
        return SF_DRIVER_BAD_INPUT;
    if (word_count > 0) return sf_driver_command_misuse(io, &sf_driver_command_points, "no use for", words[0]);
    const char *name, *meaning;
    for (uint32_t i = 0; sf_driver_point_describe(i, &name, &meaning); i++) {
        (void)fprintf(io->out, "%-28s ", name);
        print_words(io->out, meaning);
        (void)fputs("\n", io->out);
    }
    return SF_DRIVER_HELD;
}

const struct sf_driver_command sf_driver_command_points = {
    .word = "points",
    .usage = "",
    .summary = "List the points of the protocol that `when:` in a scenario can name.",
    .help = "n is the number of a barrier and of its epoch and transaction, or `*`: then the seed chooses which.\n"
            "s names a sub-topology by any step in it, i is the lane: lane(counts.0).crossed(3). `lane(0)` will do\n"
            "where there is one sub-topology.\n",
    .run = points,
};
