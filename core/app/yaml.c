#include "core/app/yaml.h"

#include <assert.h>
#include <string.h>

#include <libfyaml.h>

#include "core/app/yaml_bytes.h"
#include "core/arena.h"
#include "core/hash.h"
#include "core/text.h"

#define SFI_PAIRWISE_MAX 8u /* mappings up to this size are searched for duplicates without a table */

#define REFUSE(findings, place, ...)                                                                                   \
    sf_findings_add((findings), SF_FINDING_ERROR, "yaml", (place), (const char *const[]){__VA_ARGS__, NULL})

struct sf_yaml_tree {
    struct sf_arena arena;
    struct sf_yaml_node *root;
};

struct anchor {
    const char *name;
    const struct sf_yaml_node *node; /* NULL while it is being read */
};

/* A collection that is being read. */
struct level {
    struct sf_yaml_node *node;
    struct sf_yaml_node *last;
    struct sf_yaml_node *key; /* read, its value is not yet */
    int anchor;               /* index, -1: none */
};

struct reader {
    struct sf_yaml_tree *tree;
    struct sf_findings *findings;
    struct fy_parser *parser;
    struct sf_place place; /* of the last event that had one */
    struct level levels[SF_YAML_DEPTH_MAX];
    uint32_t depth;
    uint32_t node_count;
    uint32_t document_count;
    struct anchor anchors[SF_YAML_ANCHORS_MAX];
    uint32_t anchor_count;
};

/* ---- nodes ---- */

static struct sf_yaml_node *new_node(struct reader *r, enum sf_yaml_kind kind)
{
    if (r->node_count >= SF_YAML_NODES_MAX) {
        REFUSE(r->findings, r->place, "the file holds, with its aliases expanded, more than 500000 values");
        return NULL;
    }
    r->node_count++;
    struct sf_yaml_node *node = sf_arena_take(&r->tree->arena, sizeof *node);
    node->kind = kind;
    node->place = r->place;
    node->text = "";
    return node;
}

static bool set_text(struct reader *r, struct sf_yaml_node *node, struct fy_token *token)
{
    size_t length = 0;
    const char *text = fy_token_get_text(token, &length);
    if (text == NULL) length = 0;
    enum fy_scalar_style style = fy_token_scalar_style(token);
    node->is_quoted = style != FYSS_PLAIN;
    bool is_marked_inside = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED; /* behind its quote */
    if (is_marked_inside && node->place.column > 1) node->place.column--;
    if (length > SF_YAML_BYTES_MAX || (length > 0 && memchr(text, '\0', length) != NULL)) {
        REFUSE(r->findings, node->place, "a text holds a NUL (an escape such as \\0)");
        return false;
    }
    node->text = sf_arena_text(&r->tree->arena, text, length);
    node->text_length = (uint32_t)length;
    return true;
}

/* Hangs a complete or still open node into what is being read. */
static bool attach(struct reader *r, struct sf_yaml_node *node)
{
    if (r->depth == 0) {
        assert(r->tree->root == NULL);
        r->tree->root = node;
        return true;
    }
    struct level *level = &r->levels[r->depth - 1];
    if (level->node->kind == SF_YAML_MAPPING && level->key == NULL) {
        if (node->kind != SF_YAML_SCALAR) {
            REFUSE(r->findings, node->place, "a key must be a single word or text, not a list or a mapping");
            return false;
        }
        level->key = node;
        return true;
    }
    node->key = level->key;
    level->key = NULL;
    if (level->last != NULL)
        level->last->next = node;
    else
        level->node->first = node;
    level->last = node;
    level->node->child_count++;
    return true;
}

/* ---- anchors and aliases ---- */

static int find_anchor(const struct reader *r, const char *name, size_t length)
{
    for (uint32_t i = r->anchor_count; i > 0; i--) {
        const char *known = r->anchors[i - 1].name;
        if (strlen(known) == length && memcmp(known, name, length) == 0) return (int)(i - 1);
    }
    return -1;
}

/* Index of the new anchor, -1: none, -2: too many. */
static int add_anchor(struct reader *r, struct fy_token *token)
{
    if (token == NULL) return -1;
    if (r->anchor_count >= SF_YAML_ANCHORS_MAX) {
        REFUSE(r->findings, r->place, "the file has more than 256 anchors");
        return -2;
    }
    size_t length = 0;
    const char *text = fy_token_get_text(token, &length);
    r->anchors[r->anchor_count] = (struct anchor){.name = sf_arena_text(&r->tree->arena, text, length)};
    return (int)r->anchor_count++;
}

/* Recursion is bounded: what is copied has been read within SF_YAML_DEPTH_MAX, and so has where it goes. */
static struct sf_yaml_node *copy_node(struct reader *r, const struct sf_yaml_node *from, uint32_t depth)
{
    if (depth > SF_YAML_DEPTH_MAX) {
        REFUSE(r->findings, from->place, "values are nested more than 64 deep");
        return NULL;
    }
    struct sf_yaml_node *copy = new_node(r, from->kind);
    if (copy == NULL) return NULL;
    copy->is_quoted = from->is_quoted;
    copy->place = from->place;
    copy->text = from->text;
    copy->text_length = from->text_length;
    copy->child_count = from->child_count;
    struct sf_yaml_node **link = &copy->first;
    for (const struct sf_yaml_node *child = from->first; child != NULL; child = child->next) {
        *link = copy_node(r, child, depth + 1);
        if (*link == NULL) return NULL;
        (*link)->key = child->key; /* keys are never changed, hence shared */
        link = &(*link)->next;
    }
    return copy;
}

static bool read_alias(struct reader *r, struct fy_token *token)
{
    if (r->place.column > 1) r->place.column--; /* libfyaml's mark is behind the `*` */
    size_t length = 0;
    const char *text = fy_token_get_text(token, &length);
    int index = text != NULL ? find_anchor(r, text, length) : -1;
    if (index < 0 || r->anchors[index].node == NULL) {
        char name[64] = {0};
        if (text != NULL) memcpy(name, text, length < sizeof name ? length : 0);
        REFUSE(r->findings, r->place, "the alias *", name,
               index < 0 ? " has no anchor before it" : " stands inside what it names");
        return false;
    }
    struct sf_yaml_node *copy = copy_node(r, r->anchors[index].node, r->depth + 1);
    return copy != NULL && attach(r, copy);
}

/* ---- duplicate keys ---- */

static bool is_same_key(const struct sf_yaml_node *a, const struct sf_yaml_node *b)
{
    return a->key->text_length == b->key->text_length && memcmp(a->key->text, b->key->text, a->key->text_length) == 0;
}

static const struct sf_yaml_node *find_pairwise(const struct sf_yaml_node *map, const struct sf_yaml_node *until)
{
    const struct sf_yaml_node *node = map->first;
    while (node != until && !is_same_key(node, until)) node = node->next;
    return node == until ? NULL : node;
}

static const struct sf_yaml_node *find_hashed(const struct sf_yaml_node **table, size_t size,
                                              const struct sf_yaml_node *node)
{
    size_t at = sf_hash64(node->key->text, node->key->text_length) & (size - 1);
    while (table[at] != NULL && !is_same_key(table[at], node)) at = (at + 1) & (size - 1);
    if (table[at] != NULL) return table[at];
    table[at] = node;
    return NULL;
}

static void report_duplicate(struct reader *r, const struct sf_yaml_node *node, const struct sf_yaml_node *first)
{
    char line[SF_TEXT_INT_BYTES];
    sf_text_of_int(line, first->key->place.line);
    sf_findings_add(r->findings, SF_FINDING_ERROR, "V8", node->key->place,
                    (const char *const[]){"`", node->key->text,
                                          "` stands here for the second time; the first is in line ", line, NULL});
}

/* Reports every entry whose key was there before, and takes it out. */
static void drop_duplicates(struct reader *r, struct sf_yaml_node *map)
{
    size_t size = 16;
    while (size < 2 * (size_t)map->child_count) size *= 2;
    bool is_hashed = map->child_count > SFI_PAIRWISE_MAX;
    const struct sf_yaml_node **table = is_hashed ? sf_calloc(r->tree->arena.alloc, size, sizeof(void *)) : NULL;
    struct sf_yaml_node **link = &map->first;
    while (*link != NULL) {
        const struct sf_yaml_node *before = is_hashed ? find_hashed(table, size, *link) : find_pairwise(map, *link);
        if (before == NULL) {
            link = &(*link)->next;
            continue;
        }
        report_duplicate(r, *link, before);
        *link = (*link)->next;
        map->child_count--;
    }
    if (is_hashed) sf_cfree(r->tree->arena.alloc, table, size, sizeof(void *));
}

/* ---- events ---- */

static bool refuse_tag(struct reader *r, struct fy_token *tag)
{
    if (tag == NULL) return false;
    REFUSE(r->findings, r->place, "tags (!, !!) are not used in these files; leave it out");
    return true;
}

static bool read_scalar(struct reader *r, const struct fy_event *event)
{
    if (refuse_tag(r, event->scalar.tag)) return false;
    int anchor = add_anchor(r, event->scalar.anchor);
    struct sf_yaml_node *node = anchor == -2 ? NULL : new_node(r, SF_YAML_SCALAR);
    if (node == NULL || !set_text(r, node, event->scalar.value) || !attach(r, node)) return false;
    if (anchor >= 0) r->anchors[anchor].node = node;
    return true;
}

static bool open_collection(struct reader *r, enum sf_yaml_kind kind, struct fy_token *anchor_token,
                            struct fy_token *tag)
{
    if (refuse_tag(r, tag)) return false;
    if (r->depth >= SF_YAML_DEPTH_MAX) {
        REFUSE(r->findings, r->place, "values are nested more than 64 deep");
        return false;
    }
    int anchor = add_anchor(r, anchor_token);
    struct sf_yaml_node *node = anchor == -2 ? NULL : new_node(r, kind);
    if (node == NULL || !attach(r, node)) return false;
    r->levels[r->depth++] = (struct level){.node = node, .anchor = anchor};
    return true;
}

static void close_collection(struct reader *r)
{
    assert(r->depth > 0);
    struct level *level = &r->levels[--r->depth];
    if (level->node->kind == SF_YAML_MAPPING) drop_duplicates(r, level->node);
    if (level->anchor >= 0) r->anchors[level->anchor].node = level->node;
}

/* False: stop reading, a finding says why. */
static bool read_event(struct reader *r, struct fy_event *event)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    if (mark != NULL) r->place = (struct sf_place){(uint32_t)mark->line + 1, (uint32_t)mark->column + 1};
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (r->document_count++ == 0) return true;
        REFUSE(r->findings, r->place, "a second document begins here; a file holds one");
        return false;
    case FYET_SCALAR:
        return read_scalar(r, event);
    case FYET_ALIAS:
        return read_alias(r, event->alias.anchor);
    case FYET_MAPPING_START:
        return open_collection(r, SF_YAML_MAPPING, event->mapping_start.anchor, event->mapping_start.tag);
    case FYET_SEQUENCE_START:
        return open_collection(r, SF_YAML_SEQUENCE, event->sequence_start.anchor, event->sequence_start.tag);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        close_collection(r);
        return true;
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
    case FYET_DOCUMENT_END:
    default:
        return true;
    }
}

/* libfyaml's own first complaint, or ours where it has none. */
static void report_syntax(struct reader *r, struct fy_diag *diag)
{
    void *iterator = NULL;
    const struct fy_diag_error *error = fy_diag_errors_iterate(diag, &iterator);
    if (error == NULL || error->msg == NULL) {
        REFUSE(r->findings, r->place, "this is not YAML");
        return;
    }
    struct sf_place place = r->place;
    uint32_t column = error->column > 0 ? (uint32_t)error->column : 1;
    if (error->line > 0) place = (struct sf_place){(uint32_t)error->line, column};
    REFUSE(r->findings, place, error->msg);
}

static bool read_events(struct reader *r, struct fy_diag *diag)
{
    bool is_ended = false;
    while (!is_ended) {
        struct fy_event *event = fy_parser_parse(r->parser);
        if (event == NULL) break;
        is_ended = event->type == FYET_STREAM_END;
        bool is_read = read_event(r, event);
        fy_parser_event_free(r->parser, event);
        if (!is_read) return false;
    }
    if (!is_ended || fy_parser_get_stream_error(r->parser)) {
        report_syntax(r, diag);
        return false;
    }
    return true;
}

static void write_nothing(struct fy_diag *diag, void *user, const char *text, size_t length)
{
    (void)diag;
    (void)user;
    (void)text;
    (void)length;
}

static bool parse(struct reader *r, const char *text, size_t length)
{
    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL;
    diag_cfg.output_fn = write_nothing;
    diag_cfg.colorize = false;
    struct fy_diag *diag = fy_diag_create(&diag_cfg);
    assert(diag != NULL);
    fy_diag_set_collect_errors(diag, true);
    const struct fy_parse_cfg cfg = {
        .search_path = "", .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_JSON_NONE, .diag = diag};
    r->parser = fy_parser_create(&cfg);
    assert(r->parser != NULL);
    bool is_read = fy_parser_set_string(r->parser, text, length) == 0 && read_events(r, diag);
    fy_parser_destroy(r->parser);
    fy_diag_destroy(diag);
    return is_read;
}

struct sf_yaml_tree *sf_yaml_parse(const char *text, size_t length, struct sf_alloc alloc,
                                   struct sf_findings *findings)
{
    struct sf_place place = {1, 1};
    const char *why = NULL;
    if (length > SF_YAML_BYTES_MAX) {
        REFUSE(findings, place, "the file is larger than 4 MiB");
        return NULL;
    }
    if (!sfi_yaml_bytes_check(text, length, &place, &why)) {
        REFUSE(findings, place, "the file holds ", why);
        return NULL;
    }
    struct sf_yaml_tree *tree = sf_malloc(alloc, sizeof *tree);
    *tree = (struct sf_yaml_tree){.root = NULL};
    sf_arena_init(&tree->arena, alloc);
    struct reader *reader = sf_calloc(alloc, 1, sizeof *reader);
    *reader = (struct reader){.tree = tree, .findings = findings, .place = place};
    bool is_read = length > 0 && parse(reader, text, length);
    if (length == 0 || (is_read && tree->root == NULL)) {
        REFUSE(findings, place, "the file is empty");
        is_read = false;
    }
    sf_cfree(alloc, reader, 1, sizeof *reader);
    if (is_read) return tree;
    sf_yaml_destroy(tree);
    return NULL;
}

void sf_yaml_destroy(struct sf_yaml_tree *tree)
{
    if (tree == NULL) return;
    struct sf_alloc alloc = tree->arena.alloc;
    sf_arena_deinit(&tree->arena);
    sf_free(alloc, tree, sizeof *tree);
}

const struct sf_yaml_node *sf_yaml_root(const struct sf_yaml_tree *tree)
{
    return tree->root;
}

const struct sf_yaml_node *sf_yaml_get(const struct sf_yaml_node *map, const char *key)
{
    if (map == NULL || map->kind != SF_YAML_MAPPING) return NULL;
    for (const struct sf_yaml_node *node = map->first; node != NULL; node = node->next)
        if (strcmp(node->key->text, key) == 0) return node;
    return NULL;
}

struct sf_place sf_yaml_place(const struct sf_yaml_node *node)
{
    return node->key != NULL ? node->key->place : node->place;
}

bool sf_yaml_is(const struct sf_yaml_node *node, const char *text)
{
    return node != NULL && node->kind == SF_YAML_SCALAR && strcmp(node->text, text) == 0;
}

bool sf_yaml_is_null(const struct sf_yaml_node *node)
{
    if (node == NULL || node->kind != SF_YAML_SCALAR || node->is_quoted) return false;
    return node->text_length == 0 || sf_yaml_is(node, "~") || sf_yaml_is(node, "null");
}
