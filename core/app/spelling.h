/*
 * Spelling: what someone who wrote `toppic` probably meant.
 *
 *     sf_spelling_init(&spelling, "toppic");
 *     sf_spelling_offer(&spelling, "topic");      one letter too many: near
 *     sf_spelling_offer(&spelling, "window");     spelling.best stays "topic"
 *
 * Threading: none; a struct sf_spelling belongs to whoever inits it.
 */
#ifndef SF_CORE_APP_SPELLING_H
#define SF_CORE_APP_SPELLING_H

#include <stdint.h>

/* Takes candidates one by one; the first of the nearest wins. */
struct sf_spelling {
    const char *wrong;
    const char *best; /* NULL: none is near */
    uint32_t distance;
};

void sf_spelling_init(struct sf_spelling *spelling, const char *wrong);
/* `candidate` is kept, not copied. Distance counts letters put in, left out, changed or swapped with their neighbour,
 * case and `_` for `-` aside; near is up to a third of the length, and one at least. Over 64 characters nothing is
 * near. O(length squared). */
void sf_spelling_offer(struct sf_spelling *spelling, const char *candidate);

#endif
