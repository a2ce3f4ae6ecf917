#include <string.h>

#include "core/ops/expression_program.h"

bool sf_expression_compile_many(const struct sf_expression_text *texts, uint32_t count, struct sf_alloc alloc,
                                struct sf_expression **expression_out, struct sf_expression_error *error_out)
{
    size_t len = 0;
    assert(count > 0 && count <= SF_EXPRESSION_ROOTS_MAX);
    *error_out = (struct sf_expression_error){0};
    for (uint32_t i = 0; i < count; i++) {
        error_out->root = i;
        error_out->text = "the expression is too long";
        if (texts[i].len > SF_EXPRESSION_TEXT_BYTES_MAX - len) return false;
        len += texts[i].len;
    }
    size_t bytes = sizeof(struct sf_expression) + len;
    struct sf_expression *program = sf_malloc(alloc, bytes);
    memset(program, 0, sizeof *program);
    program->alloc = alloc;
    program->bytes = bytes;
    char *copy = (char *)(program + 1);
    for (uint32_t i = 0; i < count; i++) {
        error_out->root = i;
        if (texts[i].len > 0) memcpy(copy, texts[i].text, texts[i].len);
        if (!sfi_expression_parse(program, copy, texts[i].len, error_out)) {
            sf_expression_destroy(program);
            return false;
        }
        copy += texts[i].len;
    }
    *expression_out = program;
    return true;
}

bool sf_expression_compile(const char *text, size_t len, struct sf_alloc alloc, struct sf_expression **expression_out,
                           struct sf_expression_error *error_out)
{
    struct sf_expression_text one = {.text = text, .len = len};
    return sf_expression_compile_many(&one, 1, alloc, expression_out, error_out);
}

void sf_expression_destroy(struct sf_expression *expression)
{
    if (expression != NULL) sf_free(expression->alloc, expression, expression->bytes);
}

static bool compile_here(const char *text, size_t len, struct sf_expression *program,
                         struct sf_expression_error *error_out)
{
    memset(program, 0, sizeof *program);
    *error_out = (struct sf_expression_error){.text = "the expression is too long"};
    return len <= SF_EXPRESSION_TEXT_BYTES_MAX && sfi_expression_parse(program, text, len, error_out);
}

bool sf_expression_check(const char *text, size_t len, struct sf_expression_error *error_out)
{
    struct sf_expression program;
    return compile_here(text, len, &program, error_out);
}
