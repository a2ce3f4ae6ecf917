/*
 * The program of an expression: postfix operations over a small stack, all in one block of memory. Private to
 * expression*.c.
 *
 *     $.a > 1 and not $.b     PATH 0, CONST 0, GT, AND -> 7, PATH 1, NOT, BOOL
 *
 * AND and OR jump to their target, leaving a boolean, where the left side decides; else they drop it.
 *
 * Invariant: the compiler bounds the stack, so that running needs no check.
 */
#ifndef SF_CORE_OPS_EXPRESSION_PROGRAM_H
#define SF_CORE_OPS_EXPRESSION_PROGRAM_H

#include "core/ops/expression.h"

#define SFI_OPS_MAX 512u
#define SFI_CONSTANTS_MAX 64u
#define SFI_SEGMENTS_MAX 128u
#define SFI_STACK_MAX 32u

enum sfi_op_code {
    SFI_OP_CONSTANT, /* arg: which */
    SFI_OP_PATH,     /* arg: which */
    SFI_OP_NEGATE,
    SFI_OP_ADD,
    SFI_OP_SUBTRACT,
    SFI_OP_MULTIPLY,
    SFI_OP_DIVIDE,
    SFI_OP_REMAINDER,
    SFI_OP_EQ,
    SFI_OP_NE,
    SFI_OP_LT,
    SFI_OP_LE,
    SFI_OP_GT,
    SFI_OP_GE,
    SFI_OP_IS_NULL,
    SFI_OP_IS_NOT_NULL,
    SFI_OP_NOT,
    SFI_OP_BOOL, /* the top as a condition */
    SFI_OP_AND,  /* arg: the operation to go on with where the top is false */
    SFI_OP_OR    /* … where the top is true */
};

struct sfi_op {
    uint16_t code;
    uint16_t arg;
    uint32_t offset; /* in its root's text */
};

struct sf_expression {
    uint32_t root_count;
    uint32_t op_count;
    uint32_t path_count;
    uint32_t constant_count;
    uint32_t segment_count;
    uint32_t root_ends[SF_EXPRESSION_ROOTS_MAX]; /* where the operations of a root end */
    struct sfi_op ops[SFI_OPS_MAX];
    struct sf_json_path paths[SF_JSON_PATHS_MAX];
    struct sf_value constants[SFI_CONSTANTS_MAX];
    struct sf_json_segment segments[SFI_SEGMENTS_MAX];
    struct sf_alloc alloc;
    size_t bytes; /* of the block; the texts follow the struct */
};

/* Appends one root to the program, whose constants and paths point into `text`. False: offset and text of the error
 * are set. */
bool sfi_expression_parse(struct sf_expression *program, const char *text, size_t len,
                          struct sf_expression_error *error_out) SF_MUST_USE;

#endif
