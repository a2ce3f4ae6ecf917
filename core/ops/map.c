#include "core/ops/map.h"

#include <string.h>

struct prefix {
    const char *text; /* `{"name":` or `,"name":` */
    uint32_t len;
};

struct sf_map {
    struct sf_expression *expression;
    uint32_t field_count; /* 0: one expression, no object */
    struct prefix prefixes[SF_MAP_FIELDS_MAX];
    struct sf_alloc alloc;
    size_t bytes; /* of the block; the prefixes' text follows the struct */
};

static size_t write_prefix(const char *name, bool is_first, char *buf, size_t cap)
{
    struct sf_json_writer writer = sf_json_writer_init(buf, cap);
    sf_json_put_raw(&writer, is_first ? "{" : ",", 1);
    sf_json_put_string(&writer, name, strlen(name));
    sf_json_put_raw(&writer, ":", 1);
    return writer.len;
}

static bool compile(const struct sf_expression_text *texts, uint32_t count, const struct sf_map_field *fields,
                    struct sf_alloc alloc, struct sf_map **map_out, struct sf_expression_error *error_out)
{
    struct sf_expression *expression;
    if (!sf_expression_compile_many(texts, count, alloc, &expression, error_out)) return false;
    size_t bytes = sizeof(struct sf_map);
    for (uint32_t i = 0; fields != NULL && i < count; i++) bytes += write_prefix(fields[i].name, i == 0, NULL, 0);
    struct sf_map *map = sf_malloc(alloc, bytes);
    *map = (struct sf_map){.expression = expression, .field_count = fields == NULL ? 0 : count, .alloc = alloc,
                           .bytes = bytes};
    char *text = (char *)(map + 1);
    for (uint32_t i = 0; i < map->field_count; i++) {
        size_t len = write_prefix(fields[i].name, i == 0, text, SIZE_MAX);
        map->prefixes[i] = (struct prefix){.text = text, .len = (uint32_t)len};
        text += len;
    }
    *map_out = map;
    return true;
}

bool sf_map_compile(const char *expression, struct sf_alloc alloc, struct sf_map **map_out,
                    struct sf_expression_error *error_out)
{
    struct sf_expression_text text = {.text = expression, .len = strlen(expression)};
    return compile(&text, 1, NULL, alloc, map_out, error_out);
}

bool sf_map_compile_fields(const struct sf_map_field *fields, uint32_t count, struct sf_alloc alloc,
                           struct sf_map **map_out, struct sf_expression_error *error_out)
{
    struct sf_expression_text texts[SF_MAP_FIELDS_MAX];
    assert(count > 0 && count <= SF_MAP_FIELDS_MAX);
    for (uint32_t i = 0; i < count; i++)
        texts[i] = (struct sf_expression_text){.text = fields[i].expression, .len = strlen(fields[i].expression)};
    return compile(texts, count, fields, alloc, map_out, error_out);
}

void sf_map_destroy(struct sf_map *map)
{
    if (map == NULL) return;
    sf_expression_destroy(map->expression);
    sf_free(map->alloc, map, map->bytes);
}

bool sf_map_write(const struct sf_map *map, const struct sf_input_value *input, struct sf_json_writer *writer,
                  struct sf_fault *fault_out)
{
    struct sf_value values[SF_MAP_FIELDS_MAX];
    bool is_null;
    if (!sf_expression_eval(map->expression, input, values, fault_out)) return false;
    if (map->field_count == 0) return sf_serde_write(SF_SERDE_JSON, &values[0], writer, &is_null, fault_out);
    for (uint32_t i = 0; i < map->field_count; i++) {
        sf_json_put_raw(writer, map->prefixes[i].text, map->prefixes[i].len);
        if (!sf_serde_write(SF_SERDE_JSON, &values[i], writer, &is_null, fault_out)) return false;
    }
    sf_json_put_raw(writer, "}", 1);
    return true;
}
