#include "driver/last_words.h"

#include <string.h>

void sf_driver_last_words_set(struct sf_driver_last_words *words, const char *repro)
{
    static const char begin[] = "REPRO: ";
    size_t begin_length = sizeof begin - 1;
    if (words == NULL) return;
    words->length = 0;
    if (repro == NULL || begin_length + strlen(repro) + 1 > sizeof words->line) return;
    size_t length = strlen(repro);
    memcpy(words->line, begin, begin_length);
    memcpy(words->line + begin_length, repro, length);
    words->line[begin_length + length] = '\n';
    words->length = (sig_atomic_t)(begin_length + length + 1);
}
