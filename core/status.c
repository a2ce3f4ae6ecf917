#include "core/status.h"

#include <assert.h>
#include <stddef.h>

struct row {
    enum sf_class class_;
    const char *name;
    const char *text;
};

static const struct row rows[SF_STATUS_COUNT] = {
#define SF_STATUS_ROW(code, class_, text) [code] = {class_, #code, text},
    SF_STATUS_LIST(SF_STATUS_ROW)
#undef SF_STATUS_ROW
};

static const struct row *row_of(enum sf_status status)
{
    assert((unsigned)status < (unsigned)SF_STATUS_COUNT);
    return &rows[status];
}

enum sf_class sf_status_class(enum sf_status status)
{
    return row_of(status)->class_;
}

const char *sf_status_name(enum sf_status status)
{
    return row_of(status)->name;
}

const char *sf_status_text(enum sf_status status)
{
    return row_of(status)->text;
}
