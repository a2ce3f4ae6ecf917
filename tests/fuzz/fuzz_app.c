/*
 * Any bytes as an application file: it loads, or findings say why not; what loads has a plan. The corpus holds one file
 * per part of the format, tests/fuzz/app.dict the words (`-dict=tests/fuzz/app.dict`).
 *
 * libfyaml loses memory on some malformed files; its leaks are left out, ours are not.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "core/app/app.h"
#include "core/topo/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_alloc alloc = sf_alloc_libc();
    struct sf_findings findings;
    struct sf_text text;
    sf_findings_init(&findings, alloc);
    sf_text_init_growing(&text, alloc);
    struct sf_topology *topology = sf_app_load((const char *)data, size, alloc, &findings);
    assert((topology != NULL) == (findings.error_count == 0));
    if (topology != NULL) {
        struct sf_plan *plan = sf_plan_new(topology);
        assert(plan->sub_count > 0);
    }
    for (uint32_t i = 1; i < findings.count; i++)
        assert(findings.items[i - 1].place.line <= findings.items[i].place.line);
    sf_app_findings_write(&findings, "f", &text);
    sf_text_deinit(&text);
    sf_findings_deinit(&findings);
    sf_topology_destroy(topology);
    return 0;
}
