#include "core/note.h"

static const struct sf_note_words words[SF_NOTE_COUNT] = {
#define SF_NOTE_ROW(code, level, name, text) [code] = {level, name, text},
    SF_NOTE_LIST(SF_NOTE_ROW)
#undef SF_NOTE_ROW
};

const struct sf_note_words *sf_note_words(uint16_t code)
{
    assert(code < SF_NOTE_COUNT);
    return &words[code];
}
