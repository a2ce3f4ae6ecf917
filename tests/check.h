/*
 * cmocka with asserts that show the expression and both values in decimal (cmocka prints hexadecimal), and its
 * headers in the order it wants. Include this instead of <cmocka.h>.
 */
#ifndef SF_TESTS_CHECK_H
#define SF_TESTS_CHECK_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) fail_msg("%s", #cond);                                                        \
    } while (0)

#define CHECK_EQ(actual, expected)                                                                 \
    do {                                                                                           \
        int64_t actual_ = (int64_t)(actual), expected_ = (int64_t)(expected);                      \
        if (actual_ != expected_)                                                                  \
            fail_msg("%s is %" PRId64 ", expected %" PRId64 " (%s)", #actual, actual_, expected_,  \
                     #expected);                                                                   \
    } while (0)

#define CHECK_STR(actual, expected)                                                                \
    do {                                                                                           \
        const char *actual_ = (actual), *expected_ = (expected);                                   \
        if (strcmp(actual_, expected_) != 0)                                                       \
            fail_msg("%s is\n%s\nexpected\n%s", #actual, actual_, expected_);                      \
    } while (0)

#endif
