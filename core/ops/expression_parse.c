/* Text to program: precedence climbing, straight into postfix. */
#include <string.h>

#include "core/ops/expression_program.h"
#include "core/ops/number.h"
#include "core/ops/utf8.h"

#define NESTING_MAX 100u /* bounds the recursion */

struct compiler {
    struct sf_expression *program;
    const char *text;
    size_t len;
    size_t at;
    uint32_t nesting;
    uint32_t stack; /* values on the stack here */
    struct sf_expression_error *error;
};

enum {
    LEVEL_OR = 1,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_SUM,
    LEVEL_PRODUCT,
    LEVEL_SIGN
};

static bool parse(struct compiler *compiler, int level);

static bool refuse(struct compiler *compiler, size_t at, const char *reason)
{
    compiler->error->offset = (uint32_t)at;
    compiler->error->text = reason;
    return false;
}

/* `pushes`: how the stack changes. */
static bool emit(struct compiler *compiler, enum sfi_op_code code, uint32_t arg, size_t offset, int pushes)
{
    struct sf_expression *program = compiler->program;
    if (program->op_count == SFI_OPS_MAX) return refuse(compiler, offset, "the expression is too long");
    compiler->stack = (uint32_t)((int)compiler->stack + pushes);
    if (compiler->stack > SFI_STACK_MAX) return refuse(compiler, offset, "the expression is nested too deeply");
    program->ops[program->op_count++] =
        (struct sfi_op){.code = (uint16_t)code, .arg = (uint16_t)arg, .offset = (uint32_t)offset};
    return true;
}

/* ------------------------------------------------------------------ words */

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (uint8_t)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_space(struct compiler *compiler)
{
    while (compiler->at < compiler->len && memchr(" \t\r\n", compiler->text[compiler->at], 4) != NULL) compiler->at++;
}

/* The next byte that is not space, or 0 at the end. */
static char peek(struct compiler *compiler)
{
    skip_space(compiler);
    return compiler->at < compiler->len ? compiler->text[compiler->at] : '\0';
}

static bool has_symbol(const struct compiler *compiler, const char *symbol, size_t len)
{
    if (compiler->len - compiler->at < len || memcmp(compiler->text + compiler->at, symbol, len) != 0) return false;
    bool is_word = is_word_byte(symbol[0]);
    return !is_word || compiler->at + len == compiler->len || !is_word_byte(compiler->text[compiler->at + len]);
}

/* ------------------------------------------------------------------ operands */

static bool push_constant(struct compiler *compiler, struct sf_value value, size_t offset)
{
    struct sf_expression *program = compiler->program;
    if (program->constant_count == SFI_CONSTANTS_MAX) return refuse(compiler, offset, "too many constants");
    program->constants[program->constant_count] = value;
    return emit(compiler, SFI_OP_CONSTANT, program->constant_count++, offset, 1);
}

static bool is_same_path(const struct sf_json_path *a, const struct sf_json_segment *segments, uint32_t count)
{
    if (a->count != count) return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct sf_json_segment *x = &a->segments[i], *y = &segments[i];
        if ((x->name == NULL) != (y->name == NULL) || x->name_len != y->name_len || x->index != y->index) return false;
        if (x->name != NULL && memcmp(x->name, y->name, x->name_len) != 0) return false;
    }
    return true;
}

static bool push_path(struct compiler *compiler)
{
    struct sf_expression *program = compiler->program;
    struct sf_json_segment segments[SF_JSON_SEGMENTS_MAX];
    uint32_t count, which = 0;
    size_t offset = compiler->at, len;
    struct sf_fault fault;
    if (!sf_json_path_read(compiler->text + offset, compiler->len - offset, segments, &count, &len, &fault))
        return refuse(compiler, offset + fault.offset, fault.text);
    compiler->at += len;
    if (compiler->at < compiler->len && is_word_byte(compiler->text[compiler->at]))
        return refuse(compiler, compiler->at, "a path goes on with a point or a bracket");
    while (which < program->path_count && !is_same_path(&program->paths[which], segments, count)) which++;
    if (which == program->path_count) {
        if (which == SF_JSON_PATHS_MAX || program->segment_count + count > SFI_SEGMENTS_MAX)
            return refuse(compiler, offset, "too many paths");
        struct sf_json_segment *kept = program->segments + program->segment_count;
        memcpy(kept, segments, count * sizeof segments[0]);
        program->segment_count += count;
        program->paths[program->path_count++] = (struct sf_json_path){.segments = kept, .count = count};
    }
    return emit(compiler, SFI_OP_PATH, which, offset, 1);
}

static size_t skip_digits(const struct compiler *compiler, size_t at)
{
    while (at < compiler->len && is_digit(compiler->text[at])) at++;
    return at;
}

/* `start`: of the number or of the sign in front of it; compiler->at: its first digit. */
static bool push_number(struct compiler *compiler, size_t start)
{
    const char *text = compiler->text;
    size_t first = compiler->at, end = skip_digits(compiler, first);
    bool is_integer = true;
    if (text[first] == '0' && end > first + 1) return refuse(compiler, first, "a number with a leading zero");
    if (end < compiler->len && text[end] == '.') {
        is_integer = false;
        size_t point = end;
        end = skip_digits(compiler, point + 1);
        if (end == point + 1) return refuse(compiler, end, "a digit must stand behind the point");
    }
    if (end < compiler->len && (text[end] == 'e' || text[end] == 'E')) {
        is_integer = false;
        size_t digits = end + 1;
        if (digits < compiler->len && (text[digits] == '-' || text[digits] == '+')) digits++;
        end = skip_digits(compiler, digits);
        if (end == digits) return refuse(compiler, end, "a digit must stand in the exponent");
    }
    if (end < compiler->len && is_word_byte(text[end])) return refuse(compiler, end, "a number ends in front of this");
    struct sf_value value;
    if (!sf_number_read(text + first, end - first, &value)) return refuse(compiler, start, "the number is too large");
    bool is_negative = start != first;
    if (is_negative && is_integer && end - first == 19 && memcmp(text + first, "9223372036854775808", 19) == 0) {
        value = sf_value_of_int(INT64_MIN);
    } else if (is_negative && value.kind == SF_VALUE_INT) {
        value.as.integer = -value.as.integer;
    } else if (is_negative) {
        value.as.real = -value.as.real;
    }
    if (is_integer && value.kind != SF_VALUE_INT) return refuse(compiler, start, "the integer does not fit 64 bits");
    compiler->at = end;
    return push_constant(compiler, value, start);
}

static bool push_string(struct compiler *compiler)
{
    size_t offset = compiler->at, start = offset + 1;
    const char *end = memchr(compiler->text + start, compiler->text[offset], compiler->len - start);
    if (end == NULL) return refuse(compiler, offset, "the text has no closing quote");
    size_t len = (size_t)(end - compiler->text) - start;
    compiler->at = start + len + 1;
    return push_constant(compiler, sf_value_of_string(compiler->text + start, len), offset);
}

static bool push_word(struct compiler *compiler)
{
    size_t offset = compiler->at;
    struct sf_value value = {.kind = SF_VALUE_NULL};
    if (has_symbol(compiler, "null", 4)) {
        compiler->at += 4;
    } else if (has_symbol(compiler, "true", 4)) {
        value = sf_value_of_bool(true);
        compiler->at += 4;
    } else if (has_symbol(compiler, "false", 5)) {
        value = sf_value_of_bool(false);
        compiler->at += 5;
    } else {
        return refuse(compiler, offset, "neither a path ($.name) nor a number, a text in quotes, true, false or null");
    }
    return push_constant(compiler, value, offset);
}

static bool parse_parentheses(struct compiler *compiler)
{
    size_t offset = compiler->at++;
    if (!parse(compiler, LEVEL_OR)) return false;
    if (peek(compiler) != ')') return refuse(compiler, offset, "the parenthesis is not closed");
    compiler->at++;
    return true;
}

static bool parse_operand(struct compiler *compiler)
{
    char c = peek(compiler);
    if (compiler->at == compiler->len) return refuse(compiler, compiler->at, "the expression ends too early");
    if (c == '$') return push_path(compiler);
    if (c == '(') return parse_parentheses(compiler);
    if (c == '\'' || c == '"') return push_string(compiler);
    if (is_digit(c)) return push_number(compiler, compiler->at);
    return push_word(compiler);
}

/* ------------------------------------------------------------------ operators */

struct infix {
    const char *symbol;
    uint8_t len;
    uint8_t level;
    uint8_t code;
};

/* longer symbols first */
static const struct infix infixes[] = {
    {"or", 2, LEVEL_OR, SFI_OP_OR},           {"||", 2, LEVEL_OR, SFI_OP_OR},
    {"and", 3, LEVEL_AND, SFI_OP_AND},        {"&&", 2, LEVEL_AND, SFI_OP_AND},
    {"==", 2, LEVEL_COMPARE, SFI_OP_EQ},      {"!=", 2, LEVEL_COMPARE, SFI_OP_NE},
    {"<=", 2, LEVEL_COMPARE, SFI_OP_LE},      {">=", 2, LEVEL_COMPARE, SFI_OP_GE},
    {"<", 1, LEVEL_COMPARE, SFI_OP_LT},       {">", 1, LEVEL_COMPARE, SFI_OP_GT},
    {"+", 1, LEVEL_SUM, SFI_OP_ADD},          {"-", 1, LEVEL_SUM, SFI_OP_SUBTRACT},
    {"*", 1, LEVEL_PRODUCT, SFI_OP_MULTIPLY}, {"/", 1, LEVEL_PRODUCT, SFI_OP_DIVIDE},
    {"%", 1, LEVEL_PRODUCT, SFI_OP_REMAINDER},
};

static const struct infix *peek_infix(struct compiler *compiler)
{
    skip_space(compiler);
    for (size_t i = 0; i < sizeof infixes / sizeof infixes[0]; i++)
        if (has_symbol(compiler, infixes[i].symbol, infixes[i].len)) return &infixes[i];
    return NULL;
}

/* Whether the operations from `start` on are just the constant null. */
static bool is_null_constant(const struct sf_expression *program, uint32_t start, uint32_t end)
{
    return end == start + 1 && program->ops[start].code == SFI_OP_CONSTANT &&
           program->constants[program->ops[start].arg].kind == SF_VALUE_NULL;
}

static bool finish_infix(struct compiler *compiler, const struct infix *infix, size_t offset, uint32_t left,
                         uint32_t right)
{
    struct sf_expression *program = compiler->program;
    bool is_equality = infix->code == SFI_OP_EQ || infix->code == SFI_OP_NE;
    enum sfi_op_code test = infix->code == SFI_OP_EQ ? SFI_OP_IS_NULL : SFI_OP_IS_NOT_NULL;
    if (is_equality && is_null_constant(program, right, program->op_count)) {
        program->op_count--;
        compiler->stack--;
        return emit(compiler, test, 0, offset, 0);
    }
    if (is_equality && is_null_constant(program, left, right)) {
        memmove(program->ops + left, program->ops + left + 1, (program->op_count - right) * sizeof program->ops[0]);
        program->op_count--;
        for (uint32_t i = left; i < program->op_count; i++)
            if (program->ops[i].code == SFI_OP_AND || program->ops[i].code == SFI_OP_OR) program->ops[i].arg--;
        compiler->stack--;
        return emit(compiler, test, 0, offset, 0);
    }
    return emit(compiler, (enum sfi_op_code)infix->code, 0, offset, -1);
}

static bool parse_infix(struct compiler *compiler, const struct infix *infix, uint32_t left)
{
    struct sf_expression *program = compiler->program;
    size_t offset = compiler->at;
    compiler->at += infix->len;
    uint32_t right = program->op_count;
    if (infix->level > LEVEL_AND) {
        if (!parse(compiler, infix->level + 1)) return false;
        return finish_infix(compiler, infix, offset, left, right);
    }
    if (!emit(compiler, (enum sfi_op_code)infix->code, 0, offset, -1)) return false;
    if (!parse(compiler, infix->level + 1)) return false;
    if (!emit(compiler, SFI_OP_BOOL, 0, offset, 0)) return false;
    program->ops[right].arg = (uint16_t)program->op_count;
    return true;
}

/* `not` takes the whole comparison behind it, `!` only the operand. */
static bool parse_not(struct compiler *compiler, bool is_bang)
{
    size_t offset = compiler->at;
    compiler->at += is_bang ? 1 : 3;
    return parse(compiler, is_bang ? LEVEL_SIGN : LEVEL_NOT) && emit(compiler, SFI_OP_NOT, 0, offset, 0);
}

static bool parse_sign(struct compiler *compiler)
{
    size_t offset = compiler->at++;
    if (is_digit(peek(compiler))) return push_number(compiler, offset);
    return parse(compiler, LEVEL_SIGN) && emit(compiler, SFI_OP_NEGATE, 0, offset, 0);
}

static bool parse_prefix(struct compiler *compiler, int level)
{
    char c = peek(compiler);
    bool is_bang = c == '!';
    if (is_bang || has_symbol(compiler, "not", 3)) {
        if (level > LEVEL_NOT && !is_bang)
            return refuse(compiler, compiler->at, "put `not` and what follows in parentheses");
        return parse_not(compiler, is_bang);
    }
    if (c == '-') return parse_sign(compiler);
    return parse_operand(compiler);
}

/* An expression of operators that bind at least as tightly as `level`. */
static bool parse(struct compiler *compiler, int level)
{
    uint32_t left = compiler->program->op_count;
    if (++compiler->nesting > NESTING_MAX)
        return refuse(compiler, compiler->at, "the expression is nested too deeply");
    if (!parse_prefix(compiler, level)) return false;
    bool is_compared = false;
    for (;;) {
        const struct infix *infix = peek_infix(compiler);
        if (infix == NULL || infix->level < level) break;
        if (infix->level == LEVEL_COMPARE && is_compared)
            return refuse(compiler, compiler->at, "a comparison of a comparison needs parentheses");
        is_compared = infix->level == LEVEL_COMPARE;
        if (!parse_infix(compiler, infix, left)) return false;
    }
    compiler->nesting--;
    return true;
}

bool sfi_expression_parse(struct sf_expression *program, const char *text, size_t len,
                          struct sf_expression_error *error_out)
{
    struct compiler compiler = {.program = program, .text = text, .len = len, .error = error_out};
    const char *bad = sfi_utf8_check(text, text + len);
    if (bad != text + len) return refuse(&compiler, (size_t)(bad - text), "not UTF-8");
    if (!parse(&compiler, LEVEL_OR)) return false;
    skip_space(&compiler);
    if (compiler.at == len) {
        assert(compiler.stack == 1);
        program->root_ends[program->root_count++] = program->op_count;
        return true;
    }
    bool is_assignment = text[compiler.at] == '=';
    return refuse(&compiler, compiler.at, is_assignment ? "equality is written ==" : "an operator must stand here");
}
