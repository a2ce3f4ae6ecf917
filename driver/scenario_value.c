/* Keys and values: pieces of text with draws between them. */
#include <assert.h>
#include <string.h>

#include "core/app/schema_table.h"
#include "core/app/values.h"
#include "core/app/walk.h"
#include "driver/scenario_load.h"

#define SFI_PIECES_MAX 64u
#define SFI_SEQUENCE_DIGITS_MAX 18

struct builder {
    struct sfi_scenario_load *load;
    struct sf_text text; /* of the piece that is being written */
    struct sf_scenario_piece pieces[SFI_PIECES_MAX];
    uint32_t piece_count;
    bool has_draws;
    bool is_json;
};

static void add_piece(struct builder *b, struct sf_place place, struct sf_scenario_piece piece)
{
    if (b->piece_count < SFI_PIECES_MAX)
        b->pieces[b->piece_count++] = piece;
    else
        SFI_REFUSE(b->load, place, "a value has too many draws (31 at most)");
}

static void flush(struct builder *b, struct sf_place place)
{
    if (b->text.length == 0) return;
    const char *text = sf_arena_text(&b->load->scenario->arena, b->text.data, b->text.length);
    add_piece(b, place, (struct sf_scenario_piece){.text = text});
    b->text.length = 0;
}

static void add_draw(struct builder *b, struct sf_place place, struct sf_scenario_draw draw)
{
    struct sf_scenario_draw *copy = sfi_scenario_take(b->load, 1, sizeof *copy);
    *copy = draw;
    flush(b, place);
    add_piece(b, place, (struct sf_scenario_piece){.draw = copy});
}

/* ---- draws ---- */

static bool is_draw(const struct sf_yaml_node *node)
{
    if (node->kind != SF_YAML_MAPPING || node->child_count != 1) return false;
    const char *name = node->first->key->text;
    return strcmp(name, "uniform") == 0 || strcmp(name, "zipf") == 0 || strcmp(name, "sequence") == 0;
}

static void add_part(struct builder *b, const char *text, size_t length)
{
    if (!b->is_json) {
        sf_text_add_bytes(&b->text, text, length);
        return;
    }
    /* As JSON, less its quotes: the pieces of one string. */
    struct sf_text part;
    sf_text_init_growing(&part, b->load->scenario->arena.alloc);
    sf_text_add_json(&part, text, length);
    sf_text_add_bytes(&b->text, part.data + 1, part.length - 2);
    sf_text_deinit(&part);
}

/* `c%06d`: what stands before and behind one `%d` or `%0Nd`. */
static void read_sequence(struct builder *b, const struct sf_yaml_node *node)
{
    const char *percent = strchr(node->text, '%');
    const char *end = percent != NULL ? strchr(percent, 'd') : NULL;
    struct sf_scenario_draw draw = {.kind = SF_SCENARIO_DRAW_SEQUENCE};
    bool is_good = end != NULL && strchr(end, '%') == NULL;
    if (is_good && end != percent + 1) {
        int64_t width = 0;
        const char *digits = percent + 1;
        while (*digits >= '0' && *digits <= '9') {
            if (width <= SFI_SEQUENCE_DIGITS_MAX) width = width * 10 + (*digits - '0');
            digits++;
        }
        is_good = digits == end && percent[1] == '0' && width >= 1 && width <= SFI_SEQUENCE_DIGITS_MAX;
        draw.width = (uint32_t)(is_good ? width : 0);
    }
    if (!is_good) {
        SFI_REFUSE(b->load, node->place, "`", node->text, "` is not a sequence such as c%06d: one %d or %0Nd");
        return;
    }
    if (b->is_json) sf_text_add(&b->text, "\"");
    add_part(b, node->text, (size_t)(percent - node->text));
    add_draw(b, node->place, draw);
    add_part(b, end + 1, strlen(end + 1));
    if (b->is_json) sf_text_add(&b->text, "\"");
}

/* A key's draw has been walked with the file; one inside a value is walked here, since any value may stand there. */
static bool is_good_draw(struct builder *b, const struct sf_yaml_node *node)
{
    if (b->is_json) return sf_walk(node, &sf_schema_draw, "a draw", b->load->findings);
    struct sf_findings known;
    sf_findings_init(&known, b->load->scenario->arena.alloc);
    bool is_good = sf_walk(node, &sf_schema_draw, "", &known);
    sf_findings_deinit(&known);
    return is_good;
}

static void read_draw(struct builder *b, const struct sf_yaml_node *node)
{
    const struct sf_yaml_node *form = node->first;
    struct sf_scenario_draw draw = {.kind = SF_SCENARIO_DRAW_UNIFORM};
    if (!is_good_draw(b, node)) return;
    if (strcmp(form->key->text, "sequence") == 0) {
        read_sequence(b, form);
        return;
    }
    if (strcmp(form->key->text, "zipf") == 0) {
        draw.kind = SF_SCENARIO_DRAW_ZIPF;
        (void)sf_value_int(sf_yaml_get(form, "n")->text, &draw.a);
        (void)sf_value_decimal(sf_yaml_get(form, "s")->text, &draw.b);
    } else {
        (void)sf_value_int(form->first->text, &draw.a);
        (void)sf_value_int(form->first->next->text, &draw.b);
        if (draw.a > draw.b) SFI_REFUSE(b->load, sf_yaml_place(form), "the first of the two is the smaller one");
    }
    add_draw(b, node->place, draw);
}

/* ---- JSON ---- */

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789");
}

/* A number as JSON writes it; anything else that is plain is a text. */
static bool is_json_number(const char *text)
{
    if (*text == '-') text++;
    size_t whole = digits_at(text);
    if (whole == 0 || (whole > 1 && text[0] == '0')) return false;
    text += whole;
    if (*text == '.') {
        size_t fraction = digits_at(++text);
        if (fraction == 0) return false;
        text += fraction;
    }
    if (*text == 'e' || *text == 'E') {
        text++;
        if (*text == '+' || *text == '-') text++;
        size_t exponent = digits_at(text);
        if (exponent == 0) return false;
        text += exponent;
    }
    return *text == '\0';
}

static void write_scalar(struct builder *b, const struct sf_yaml_node *node)
{
    bool is_plain_json = !node->is_quoted && (sf_yaml_is(node, "true") || sf_yaml_is(node, "false") ||
                                              is_json_number(node->text));
    if (sf_yaml_is_null(node))
        sf_text_add(&b->text, "null");
    else if (is_plain_json)
        sf_text_add(&b->text, node->text);
    else
        sf_text_add_json(&b->text, node->text, node->text_length);
}

static void write_json(struct builder *b, const struct sf_yaml_node *node)
{
    if (node->kind == SF_YAML_SCALAR) {
        write_scalar(b, node);
        return;
    }
    if (b->has_draws && is_draw(node)) {
        read_draw(b, node);
        return;
    }
    bool is_map = node->kind == SF_YAML_MAPPING;
    sf_text_add(&b->text, is_map ? "{" : "[");
    for (const struct sf_yaml_node *child = node->first; child != NULL; child = child->next) {
        if (child != node->first) sf_text_add(&b->text, ",");
        if (is_map) {
            sf_text_add_json(&b->text, child->key->text, child->key->text_length);
            sf_text_add(&b->text, ":");
        }
        write_json(b, child);
    }
    sf_text_add(&b->text, is_map ? "}" : "]");
}

static struct sf_scenario_template finish(struct builder *b, struct sf_place place)
{
    flush(b, place);
    sf_text_deinit(&b->text);
    struct sf_scenario_piece *pieces = sfi_scenario_take(b->load, b->piece_count, sizeof *pieces);
    if (b->piece_count > 0) memcpy(pieces, b->pieces, b->piece_count * sizeof *pieces);
    return (struct sf_scenario_template){.pieces = pieces, .piece_count = b->piece_count};
}

struct sf_scenario_template sfi_scenario_value(struct sfi_scenario_load *l, const struct sf_yaml_node *node,
                                               bool has_draws)
{
    struct builder b = {.load = l, .has_draws = has_draws, .is_json = true};
    if (node == NULL || sf_yaml_is_null(node)) return (struct sf_scenario_template){0};
    sf_text_init_growing(&b.text, l->scenario->arena.alloc);
    write_json(&b, node);
    return finish(&b, node->place);
}

struct sf_scenario_template sfi_scenario_key(struct sfi_scenario_load *l, const struct sf_yaml_node *node)
{
    struct builder b = {.load = l, .has_draws = true};
    if (node == NULL || sf_yaml_is_null(node)) return (struct sf_scenario_template){0};
    sf_text_init_growing(&b.text, l->scenario->arena.alloc);
    if (node->kind == SF_YAML_MAPPING && is_draw(node))
        read_draw(&b, node);
    else if (node->kind == SF_YAML_SCALAR && node->text_length == 0)
        add_piece(&b, node->place, (struct sf_scenario_piece){.text = ""});
    else if (node->kind == SF_YAML_SCALAR)
        sf_text_add(&b.text, node->text);
    else
        SFI_REFUSE(l, node->place, "a key is a scalar or one draw: uniform, zipf or sequence");
    return finish(&b, node->place);
}
