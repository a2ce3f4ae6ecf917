/*
 * Any bytes as a scenario file with its application inside: it loads, or lines say why not. An application beside it is
 * read where one is named; nothing is ever written. Words: `-dict=tests/fuzz/scenario.dict`.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml"; /* it loses memory on some malformed files */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_text text;
    sf_text_init_growing(&text, sf_alloc_libc());
    struct sf_scenario *scenario =
        sf_driver_scenario_parse((const char *)data, size, "tests/data/none/f", sf_alloc_libc(), &text);
    assert(scenario != NULL || text.length > 0);
    if (scenario != NULL) {
        for (uint32_t i = 0; i < scenario->input_count; i++) {
            const struct sf_scenario_input *input = &scenario->inputs[i];
            assert(input->at_ms >= 0 && input->topic < scenario->topic_count);
            assert(input->kind != SF_SCENARIO_GENERATOR || (input->every_ms > 0 && input->until_ms > input->at_ms));
        }
        for (uint32_t i = 0; i < scenario->fault_count; i++)
            assert(scenario->faults[i].at_ms >= 0 && scenario->faults[i].lane < SF_LANES_MAX);
        for (uint32_t i = 1; i < scenario->barrier_count; i++)
            assert(scenario->barriers[i] > scenario->barriers[i - 1]);
    }
    sf_driver_scenario_destroy(scenario);
    sf_text_deinit(&text);
    return 0;
}
