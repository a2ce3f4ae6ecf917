#include <string.h>

#include "core/ops/json.h"

struct reader {
    const char *text;
    size_t len;
    size_t at;
    struct sf_fault *error;
};

static bool refuse(struct reader *reader, size_t at, const char *reason)
{
    return sf_fault_set(reader->error, SF_FAULT_PROCESSING, at, reason);
}

static bool is_name_byte(char c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (uint8_t)c >= 0x80 ||
           (!is_first && c >= '0' && c <= '9');
}

static bool read_member(struct reader *reader, struct sf_json_segment *segment_out)
{
    size_t start = ++reader->at;
    while (reader->at < reader->len && is_name_byte(reader->text[reader->at], reader->at == start)) reader->at++;
    if (reader->at == start) return refuse(reader, start, "a name must stand behind the point");
    *segment_out = (struct sf_json_segment){.name = reader->text + start, .name_len = (uint32_t)(reader->at - start)};
    return true;
}

static bool read_quoted(struct reader *reader, struct sf_json_segment *segment_out)
{
    char quote = reader->text[reader->at];
    size_t start = ++reader->at;
    const char *end = memchr(reader->text + start, quote, reader->len - start);
    if (end == NULL) return refuse(reader, start - 1, "the name has no closing quote");
    reader->at = (size_t)(end - reader->text) + 1;
    *segment_out = (struct sf_json_segment){.name = reader->text + start,
                                            .name_len = (uint32_t)(end - reader->text - (ptrdiff_t)start)};
    return true;
}

static bool read_index(struct reader *reader, struct sf_json_segment *segment_out)
{
    size_t start = reader->at;
    uint64_t index = 0;
    for (; reader->at < reader->len && reader->text[reader->at] >= '0' && reader->text[reader->at] <= '9'; reader->at++)
        if (index <= UINT32_MAX) index = index * 10 + (uint64_t)(reader->text[reader->at] - '0');
    if (reader->at == start) return refuse(reader, start, "an index from 0 or a name in quotes must stand here");
    if (index >= UINT32_MAX) return refuse(reader, start, "the index is too large");
    *segment_out = (struct sf_json_segment){.index = (uint32_t)index};
    return true;
}

static bool read_bracket(struct reader *reader, struct sf_json_segment *segment_out)
{
    reader->at++;
    bool is_quoted = reader->at < reader->len && (reader->text[reader->at] == '\'' || reader->text[reader->at] == '"');
    if (!(is_quoted ? read_quoted(reader, segment_out) : read_index(reader, segment_out))) return false;
    if (reader->at == reader->len || reader->text[reader->at] != ']')
        return refuse(reader, reader->at, "a closing bracket must stand here");
    reader->at++;
    return true;
}

bool sf_json_path_read(const char *text, size_t len, struct sf_json_segment *segments_out, uint32_t *count_out,
                       size_t *len_out, struct sf_fault *error_out)
{
    struct reader reader = {.text = text, .len = len, .at = 1, .error = error_out};
    uint32_t count = 0;
    if (len == 0 || text[0] != '$') return refuse(&reader, 0, "a path begins with $");
    while (reader.at < len && (text[reader.at] == '.' || text[reader.at] == '[')) {
        if (count == SF_JSON_SEGMENTS_MAX) return refuse(&reader, reader.at, "the path is too long");
        bool is_member = text[reader.at] == '.';
        if (!(is_member ? read_member : read_bracket)(&reader, &segments_out[count])) return false;
        count++;
    }
    *count_out = count;
    *len_out = reader.at;
    return true;
}
