#include <string.h>

#include "core/app/app.h"
#include "core/app/yaml.h"
#include "driver/command.h"
#include "driver/file.h"

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static int check_file(const struct sf_driver_io *io, const char *path)
{
    struct sf_alloc alloc = sf_alloc_libc();
    struct sf_text text, words;
    const char *why;
    sf_text_init_growing(&text, alloc);
    if (!sf_driver_file_read(path, SF_YAML_BYTES_MAX, &text, &why)) {
        (void)fprintf(io->err, "%s: error: %s\n", path, why);
        (void)fprintf(io->out, "BAD     %s\n", path);
        sf_text_deinit(&text);
        return SF_DRIVER_BAD_INPUT;
    }
    struct sf_findings findings;
    sf_findings_init(&findings, alloc);
    sf_text_init_growing(&words, alloc);
    struct sf_topology *topology = sf_app_load(text.data, text.length, alloc, &findings);
    sf_app_findings_write(&findings, path, &words);
    (void)fwrite(words.data, 1, words.length, io->err);
    (void)fprintf(io->out, "%s  %s", topology != NULL ? "ok    " : "BAD   ", path);
    if (topology != NULL)
        (void)fprintf(io->out, "  %s: %u source%s, %u step%s, %u sink%s, %u warning%s\n", topology->application_id,
                      topology->source_count, plural(topology->source_count), topology->step_count,
                      plural(topology->step_count), topology->sink_count, plural(topology->sink_count),
                      findings.count, plural(findings.count));
    else
        (void)fprintf(io->out, "  %u error%s\n", findings.error_count, plural(findings.error_count));
    int status = topology != NULL ? SF_DRIVER_HELD : SF_DRIVER_BAD_INPUT;
    if (topology != NULL) sf_topology_destroy(topology);
    sf_text_deinit(&words);
    sf_findings_deinit(&findings);
    sf_text_deinit(&text);
    return status;
}

static int check(const struct sf_driver_io *io, int argc, char **argv)
{
    const char *files[SF_DRIVER_FILES_MAX];
    uint32_t count;
    int worst = SF_DRIVER_HELD;
    if (!sf_driver_options_read(io, &sf_driver_command_check, argc, argv, NULL, 0, files, &count))
        return SF_DRIVER_BAD_INPUT;
    if (count == 0) return sf_driver_command_misuse(io, &sf_driver_command_check, "which application?", NULL);
    for (uint32_t i = 0; i < count; i++) worst = sf_driver_worse(worst, check_file(io, files[i]));
    return worst;
}

const struct sf_driver_command sf_driver_command_check = {
    .word = "check",
    .usage = "FILE…",
    .summary = "Check application files without running them: all that is wrong, with file, line and column.",
    .help = "Findings go to stderr, one a line; stdout has one line per file. Exit status 2 where one is refused.\n"
            "Scenario files are checked by `sfsim run`, before anything runs.\n",
    .run = check,
};
