/* An expression and, behind a newline, the JSON that it runs on. What the check takes must compile and run: to a
 * value that can be written, or to a fault inside the text. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops/aggregate.h"
#include "core/ops/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const struct sf_expression *expression, const struct sf_input_value *input, size_t text_len)
{
    struct sf_value value;
    struct sf_fault fault;
    if (!sf_expression_eval(expression, input, &value, &fault)) {
        assert(fault.kind != SF_FAULT_NONE && fault.text != NULL);
        assert(fault.offset <= (fault.kind == SF_FAULT_PROCESSING ? text_len : input->bytes.len));
        return;
    }
    struct sf_json_writer writer = sf_json_writer_init(NULL, 0);
    bool is_null;
    assert(value.kind != SF_VALUE_DOUBLE || value.as.real - value.as.real == 0.0);
    bool is_written = sf_serde_write(SF_SERDE_JSON, &value, &writer, &is_null, &fault);
    assert(is_written || input->serde == SF_SERDE_BYTES);
    assert(!is_written || writer.len > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = size > 0 ? (const char *)data : "";
    const char *line = size > 0 ? memchr(text, '\n', size) : NULL;
    size_t len = line != NULL ? (size_t)(line - text) : size;
    struct sf_expression_error error;
    struct sf_expression *expression;
    bool is_checked = sf_expression_check(text, len, &error);
    bool is_compiled = sf_expression_compile(text, len, sf_alloc_libc(), &expression, &error);
    assert(is_checked == is_compiled);
    if (!is_compiled) {
        assert(error.offset <= len && error.text != NULL);
        return 0;
    }
    struct sf_input_value input = {.serde = SF_SERDE_JSON};
    if (line != NULL)
        input.bytes = (struct sf_slice){.data = (const uint8_t *)line + 1, .len = (uint32_t)(size - len - 1)};
    run(expression, &input, len);
    for (int serde = SF_SERDE_BYTES; serde < SF_SERDE_JSON; serde++) {
        input.serde = (enum sf_serde)serde;
        run(expression, &input, len);
    }
    sf_expression_destroy(expression);
    return 0;
}
