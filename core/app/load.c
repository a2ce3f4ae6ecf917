#include "core/app/load.h"

#include <string.h>

#include "core/app/values.h"
#include "core/text.h"

const struct sfi_word sfi_error_words[] = {{"fail", SF_ERROR_FAIL}, {"continue", SF_ERROR_CONTINUE}, {NULL, 0}};

int sfi_read_word(const struct sf_yaml_node *node, const struct sfi_word *words)
{
    for (const struct sfi_word *word = words; word->name != NULL; word++)
        if (sf_yaml_is(node, word->name)) return word->value;
    return words[0].value;
}

int64_t sfi_read_span(const struct sf_yaml_node *node, int64_t fallback_ms)
{
    int64_t ms = 0;
    if (node == NULL || node->kind != SF_YAML_SCALAR || !sf_value_duration(node->text, &ms)) return fallback_ms;
    return ms;
}

bool sfi_read_bool(const struct sf_yaml_node *node, bool fallback)
{
    bool value = fallback;
    if (node != NULL && node->kind == SF_YAML_SCALAR) (void)sf_value_bool(node->text, &value);
    return value;
}

const char *sfi_read_text(struct sfi_loader *l, const struct sf_yaml_node *node, const char *fallback)
{
    if (node != NULL && node->kind == SF_YAML_SCALAR && node->text_length > 0)
        return sf_topology_text(l->topology, node->text, node->text_length);
    return fallback != NULL ? sf_topology_text(l->topology, fallback, strlen(fallback)) : NULL;
}

const char *sfi_read_name(struct sfi_loader *l, const struct sf_yaml_node *node)
{
    if (node == NULL || node->kind != SF_YAML_SCALAR || !sf_topology_is_name(node->text)) return NULL;
    return sfi_read_text(l, node, NULL);
}

const char *sfi_placeholder(struct sfi_loader *l, const char *what, uint32_t number)
{
    char name[64];
    struct sf_text text;
    sf_text_init(&text, name, sizeof name);
    sf_text_add(&text, what);
    sf_text_add(&text, "-");
    sf_text_add_uint(&text, number);
    return sf_topology_text(l->topology, text.data, text.length);
}
