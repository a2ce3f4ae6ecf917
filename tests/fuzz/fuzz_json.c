/* JSON texts. What is taken must come back: every value that is picked is written as JSON that is taken again and
 * gives the same value; what is refused is refused inside the text. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops/json.h"
#include "core/ops/timestamp.h"

#define PATHS 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sf_json_segment segments[] = {
    {.name = "a", .name_len = 1}, {.index = 1}, {.name = "\xc3\xbc", .name_len = 2}};
static const struct sf_json_path paths[PATHS] = {{NULL, 0}, {segments, 1}, {segments, 2}, {segments + 2, 1}};

static void check_again(const struct sf_value *value)
{
    size_t cap = (size_t)value->len * 6 + 64;
    char *text = malloc(cap);
    assert(text != NULL);
    struct sf_json_writer writer = sf_json_writer_init(text, cap);
    sf_json_put_value(&writer, value);
    assert(sf_json_writer_fits(&writer));
    struct sf_value again;
    struct sf_fault fault;
    bool is_good = sf_json_extract(text, writer.len, paths, 1, &again, &fault);
    assert(is_good);
    assert(again.kind == (value->kind == SF_VALUE_MISSING ? SF_VALUE_NULL : value->kind));
    if (value->kind == SF_VALUE_STRING) assert(sf_value_compare_strings(value, &again) == 0);
    if (value->kind == SF_VALUE_INT) assert(value->as.integer == again.as.integer);
    if (value->kind == SF_VALUE_DOUBLE) assert(memcmp(&value->as.real, &again.as.real, sizeof(double)) == 0);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_value values[PATHS];
    struct sf_fault fault, fault_check;
    const char *text = size > 0 ? (const char *)data : "";
    bool is_good = sf_json_extract(text, size, paths, PATHS, values, &fault);
    bool is_checked = sf_json_check(text, size, &fault_check);
    if (!is_good) {
        assert(fault.offset <= size);
        /* only a number beyond a double makes a difference */
        assert(!is_checked ? fault.offset <= fault_check.offset : strcmp(fault.text, "a number beyond a double") == 0);
        return 0;
    }
    assert(is_checked);
    for (uint32_t i = 0; i < PATHS; i++) {
        check_again(&values[i]);
        int64_t ts = sf_timestamp_of_value(&values[i]);
        char buf[SF_TIME_ISO_BYTES];
        int64_t back;
        if (ts == SF_TIME_UNSET) continue;
        const char *iso = sf_time_iso(ts, buf);
        assert(sf_time_parse(iso, strlen(iso), &back) && back == ts);
    }
    return 0;
}
