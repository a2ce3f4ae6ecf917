#include "core/app/spelling.h"

#include <string.h>

#define SFI_SPELLING_MAX 64u

static char fold(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return c == '_' ? '-' : c;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment, three rows at a time. */
static uint32_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    uint32_t rows[3][SFI_SPELLING_MAX + 1];
    for (uint32_t k = 0; k <= b_length; k++) rows[0][k] = k;
    for (uint32_t i = 1; i <= a_length; i++) {
        uint32_t *row = rows[i % 3];
        const uint32_t *above = rows[(i + 2) % 3], *over = rows[(i + 1) % 3];
        row[0] = i;
        for (uint32_t k = 1; k <= b_length; k++) {
            uint32_t change = fold(a[i - 1]) == fold(b[k - 1]) ? 0 : 1;
            row[k] = smaller(above[k - 1] + change, smaller(above[k], row[k - 1]) + 1);
            if (i > 1 && k > 1 && fold(a[i - 1]) == fold(b[k - 2]) && fold(a[i - 2]) == fold(b[k - 1]))
                row[k] = smaller(row[k], over[k - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

void sf_spelling_init(struct sf_spelling *spelling, const char *wrong)
{
    *spelling = (struct sf_spelling){.wrong = wrong, .distance = UINT32_MAX};
}

void sf_spelling_offer(struct sf_spelling *spelling, const char *candidate)
{
    size_t wrong_length = strlen(spelling->wrong), length = strlen(candidate);
    if (wrong_length > SFI_SPELLING_MAX || length > SFI_SPELLING_MAX || length == 0) return;
    uint32_t near = (uint32_t)(length / 3 > 0 ? length / 3 : 1);
    uint32_t found = distance(spelling->wrong, wrong_length, candidate, length);
    if (found > near || found >= length || found >= spelling->distance) return;
    spelling->best = candidate;
    spelling->distance = found;
}
