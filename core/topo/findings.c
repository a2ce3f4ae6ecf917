#include "core/topo/check.h"

#include <assert.h>

#include "core/text.h"

#define SFI_FINDINGS_START 8u

void sf_findings_init(struct sf_findings *findings, struct sf_alloc alloc)
{
    *findings = (struct sf_findings){.alloc = alloc};
}

void sf_findings_deinit(struct sf_findings *findings)
{
    sf_free(findings->alloc, findings->items, findings->capacity * sizeof findings->items[0]);
    findings->items = NULL;
    findings->count = findings->capacity = findings->error_count = 0;
}

static void make_room(struct sf_findings *findings)
{
    if (findings->count < findings->capacity) return;
    uint32_t capacity = findings->capacity > 0 ? findings->capacity * 2 : SFI_FINDINGS_START;
    findings->items = sf_regrow(findings->alloc, findings->items, findings->capacity * sizeof findings->items[0],
                                findings->count * sizeof findings->items[0], capacity * sizeof findings->items[0]);
    findings->capacity = capacity;
}

void sf_findings_add(struct sf_findings *findings, enum sf_severity severity, const char *rule,
                     struct sf_place place, const char *const *parts)
{
    assert(rule != NULL && parts != NULL);
    if (severity == SF_FINDING_ERROR) findings->error_count++;
    if (findings->count >= SF_FINDINGS_MAX) return;
    make_room(findings);
    struct sf_finding *finding = &findings->items[findings->count++];
    finding->severity = severity;
    finding->rule = rule;
    finding->place = place;
    struct sf_text text;
    sf_text_init(&text, finding->text, sizeof finding->text);
    for (; *parts != NULL; parts++) sf_text_add(&text, *parts);
}

static bool is_after(const struct sf_place *a, const struct sf_place *b)
{
    return a->line != b->line ? a->line > b->line : a->column > b->column;
}

/* Insertion: stable, and the list is short (SF_FINDINGS_MAX) and nearly in order. */
void sf_findings_sort(struct sf_findings *findings)
{
    for (uint32_t i = 1; i < findings->count; i++) {
        struct sf_finding moving = findings->items[i];
        uint32_t at = i;
        for (; at > 0 && is_after(&findings->items[at - 1].place, &moving.place); at--)
            findings->items[at] = findings->items[at - 1];
        findings->items[at] = moving;
    }
}
