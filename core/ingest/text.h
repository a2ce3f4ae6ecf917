/*
 * Text: words and numbers put one behind the other into a fixed buffer, since core has no stdio. What does not fit is
 * cut off; there is always a NUL at the end.
 */
#ifndef SF_CORE_INGEST_TEXT_H
#define SF_CORE_INGEST_TEXT_H

#include <stdint.h>

struct sf_text {
    char *at;
    uint32_t len;
    uint32_t capacity; /* with the NUL; > 0 */
};

struct sf_text sf_text_in(char *buffer, uint32_t capacity);
void sf_text_words(struct sf_text *text, const char *words);
void sf_text_number(struct sf_text *text, int64_t number);

#endif
