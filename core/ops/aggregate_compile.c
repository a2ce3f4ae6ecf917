#include <string.h>

#include "core/ops/aggregate_fields.h"

_Static_assert(SF_AGGREGATES_MAX <= SF_EXPRESSION_ROOTS_MAX, "an aggregation is one program");
_Static_assert(SF_AGGREGATES_MAX <= SF_JSON_PATHS_MAX, "a stored row is read in one pass");

static size_t prefix_len(const char *name)
{
    struct sf_json_writer writer = sf_json_writer_init(NULL, 0);
    sf_json_put_string(&writer, name, strlen(name));
    return writer.len + 2;
}

/* Lays prefix and name down at `text`; the place behind them. */
static char *lay_field(struct sf_aggregates *aggregates, uint32_t i, const struct sf_aggregate_spec *spec, char *text)
{
    size_t len = prefix_len(spec->name), name_len = strlen(spec->name);
    struct sf_json_writer writer = sf_json_writer_init(text, len);
    sf_json_put_raw(&writer, ",", 1);
    sf_json_put_string(&writer, spec->name, name_len);
    sf_json_put_raw(&writer, ":", 1);
    aggregates->fields[i].prefix = text;
    aggregates->fields[i].prefix_len = (uint32_t)len;
    text += len;
    memcpy(text, spec->name, name_len);
    aggregates->segments[i] = (struct sf_json_segment){.name = text, .name_len = (uint32_t)name_len};
    aggregates->paths[i] = (struct sf_json_path){.segments = &aggregates->segments[i], .count = 1};
    return text + name_len;
}

static bool compile_expressions(struct sf_aggregates *aggregates, const struct sf_aggregate_spec *specs,
                                struct sf_expression_error *error_out)
{
    struct sf_expression_text texts[SF_AGGREGATES_MAX];
    uint32_t owners[SF_AGGREGATES_MAX], roots = 0;
    for (uint32_t i = 0; i < aggregates->count; i++) {
        aggregates->fields[i].kind = specs[i].kind;
        if (specs[i].kind == SF_AGGREGATE_COUNT) continue;
        assert(specs[i].expression != NULL);
        texts[roots] = (struct sf_expression_text){.text = specs[i].expression, .len = strlen(specs[i].expression)};
        owners[roots] = i;
        aggregates->fields[i].root = roots++;
    }
    if (roots == 0) return true;
    if (!sf_expression_compile_many(texts, roots, aggregates->alloc, &aggregates->expression, error_out)) {
        error_out->root = owners[error_out->root];
        return false;
    }
    return true;
}

bool sf_aggregates_compile(const struct sf_aggregate_spec *specs, uint32_t count, struct sf_alloc alloc,
                           struct sf_aggregates **aggregates_out, struct sf_expression_error *error_out)
{
    size_t bytes = sizeof(struct sf_aggregates);
    assert(count > 0 && count <= SF_AGGREGATES_MAX);
    for (uint32_t i = 0; i < count; i++) bytes += prefix_len(specs[i].name) + strlen(specs[i].name);
    struct sf_aggregates *aggregates = sf_malloc(alloc, bytes);
    memset(aggregates, 0, sizeof *aggregates);
    aggregates->count = count;
    aggregates->alloc = alloc;
    aggregates->bytes = bytes;
    char *text = (char *)(aggregates + 1);
    for (uint32_t i = 0; i < count; i++) text = lay_field(aggregates, i, &specs[i], text);
    if (!compile_expressions(aggregates, specs, error_out)) {
        sf_aggregates_destroy(aggregates);
        return false;
    }
    *aggregates_out = aggregates;
    return true;
}

void sf_aggregates_destroy(struct sf_aggregates *aggregates)
{
    if (aggregates == NULL) return;
    sf_expression_destroy(aggregates->expression);
    sf_free(aggregates->alloc, aggregates, aggregates->bytes);
}
