/*
 * JSON text, normalised for comparison: no blanks outside strings, and, at the top, members by name and without those
 * that are left out.
 *
 *     {"window":{"start":0,"end":9}, "total": 5, "n":1}   without "window"   ->   {"n":1,"total":5}
 *
 * Everything below the top keeps its order; numbers and strings keep their spelling.
 *
 * Threading: pure functions.
 */
#ifndef SF_DRIVER_JSON_TEXT_H
#define SF_DRIVER_JSON_TEXT_H

#include "core/text.h"

#define SF_DRIVER_JSON_MEMBERS_MAX 128u

/* `without` NULL: nothing is left out. What is not JSON, or has more members, is appended as it stands. */
void sf_driver_json_normal(struct sf_text *text, const char *json, size_t len, const char *without);

#endif
