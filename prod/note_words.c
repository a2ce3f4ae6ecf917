#include "prod/note_words.h"

#include <assert.h>
#include <string.h>

#include "core/ops/timestamp.h"

enum sf_prod_level sf_prod_note_level(uint16_t code)
{
    if (code == SF_NOTE_TXN_COMMITTED) return SF_PROD_DEBUG;
    if (code == SF_NOTE_RESTORED) return SF_PROD_INFO;
    switch (sf_note_words(code)->level) {
    case SF_NOTE_POINT: return SF_PROD_TRACE;
    case SF_NOTE_DEBUG: return SF_PROD_DEBUG;
    case SF_NOTE_INFO: return SF_PROD_INFO;
    case SF_NOTE_WARNING: return SF_PROD_WARN;
    }
    assert(false && "no such level");
    return SF_PROD_ERROR;
}

const char *sf_prod_note_event(uint16_t code, char buf[SF_PROD_EVENT_BYTES])
{
    size_t at = 0;
    bool is_inside = false;
    for (const char *name = sf_note_words(code)->name; *name != '\0'; name++) {
        if (*name == '(') is_inside = true;
        if (!is_inside) buf[at++] = *name;
        if (*name == ')') is_inside = false;
        assert(at < SF_PROD_EVENT_BYTES);
    }
    buf[at] = '\0';
    return buf;
}

bool sf_prod_note_has_partition(uint16_t code)
{
    return strstr(sf_note_words(code)->words, "{p}") != NULL;
}

static void add_partition(const struct sf_note *note, const struct sf_prod_note_names *names, struct sf_text *text)
{
    struct sf_tp tp;
    if (names->partition == NULL || !names->partition(names->ctx, note->subject, &tp)) {
        sf_text_add(text, "no partition");
        return;
    }
    sf_text_add(text, names->topic(names->ctx, tp.topic));
    sf_text_add(text, "/");
    sf_text_add_int(text, tp.partition);
}

static void add_time(int64_t ms, struct sf_text *text)
{
    char iso[SF_TIME_ISO_BYTES];
    sf_text_add(text, ms == SF_TIME_UNSET ? "unset" : sf_time_iso(ms, iso));
}

/* One pair of braces: `key` is what stands in them. */
static void add_value(const struct sf_note *note, const struct sf_prod_note_names *names, const char *key,
                      struct sf_text *text)
{
    char last = key[0] != '\0' && key[1] != '}' ? key[1] : key[0];
    uint32_t arg = last >= '0' && last <= '3' ? (uint32_t)(last - '0') : 0;
    switch (key[0]) {
    case 'p': add_partition(note, names, text); break;
    case 's': sf_text_add_uint(text, note->subject); break;
    case 't': add_time(note->args[arg], text); break;
    case 'n': sf_text_add(text, names->topic(names->ctx, (uint32_t)note->args[arg])); break;
    default: sf_text_add_int(text, note->args[arg]); break;
    }
}

void sf_prod_note_fill(const struct sf_note *note, const struct sf_prod_note_names *names, struct sf_text *text)
{
    const char *at = sf_note_words(note->code)->words;
    while (*at != '\0') {
        const char *open = strchr(at, '{');
        const char *close = open != NULL ? strchr(open, '}') : NULL;
        if (close == NULL) {
            sf_text_add(text, at);
            return;
        }
        sf_text_add_bytes(text, at, (size_t)(open - at));
        add_value(note, names, open + 1, text);
        at = close + 1;
    }
}
