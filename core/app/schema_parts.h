/* Pieces that both halves of the schema table are written with. Private to core/app. */
#ifndef SF_CORE_APP_SCHEMA_PARTS_H
#define SF_CORE_APP_SCHEMA_PARTS_H

#include "core/app/schema_table.h"
#include "core/time/event_time.h"

#define SFI_MS_MAX SF_TIME_VALID_MAX /* spans that reach beyond T4's last time mean nothing */
#define SFI_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define SFI_OBJECT(key_array) {.type = SF_SCHEMA_OBJECT, .keys = (key_array), .key_count = SFI_COUNT(key_array)}
#define SFI_WORDS(...)                                                                                                 \
    {.type = SF_SCHEMA_WORD,                                                                                           \
     .words = (const struct sf_schema_word[]){__VA_ARGS__},                                                            \
     .word_count = (uint32_t)(sizeof((const struct sf_schema_word[]){__VA_ARGS__}) / sizeof(struct sf_schema_word))}

extern const struct sf_schema sfi_schema_any;
extern const struct sf_schema sfi_schema_bool;
extern const struct sf_schema sfi_schema_expression;
extern const struct sf_schema sfi_schema_name;
extern const struct sf_schema sfi_schema_path;
extern const struct sf_schema sfi_schema_span; /* a duration of zero or more */
extern const struct sf_schema sfi_schema_text;

#endif
