#include <string.h>

#include "core/app/schema_json.h"
#include "driver/command.h"

static int schema(const struct sf_driver_io *io, int argc, char **argv)
{
    const struct sf_driver_command *command = &sf_driver_command_schema;
    const char *words[SF_DRIVER_FILES_MAX];
    uint32_t count;
    if (!sf_driver_options_read(io, command, argc, argv, NULL, 0, words, &count)) return SF_DRIVER_BAD_INPUT;
    if (count != 1) return sf_driver_command_misuse(io, command, "of one kind of file: application or scenario", NULL);
    bool is_scenario = strcmp(words[0], "scenario") == 0;
    if (!is_scenario && strcmp(words[0], "application") != 0)
        return sf_driver_command_misuse(io, command, "there are application and scenario files, and no", words[0]);
    struct sf_text text;
    sf_text_init_growing(&text, sf_alloc_libc());
    sf_app_schema_write(is_scenario ? SF_APP_SCHEMA_SCENARIO : SF_APP_SCHEMA_APPLICATION, &text);
    (void)fwrite(text.data, 1, text.length, io->out);
    sf_text_deinit(&text);
    return SF_DRIVER_HELD;
}

const struct sf_driver_command sf_driver_command_schema = {
    .word = "schema",
    .usage = "application|scenario",
    .summary = "Print the JSON Schema of application or scenario files, for editors that complete and check them.",
    .help = "The schema is made from the table that the loader uses. In a file, for the YAML language server:\n"
            "  # yaml-language-server: $schema=scenario.schema.json\n",
    .run = schema,
};
