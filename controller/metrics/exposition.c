#include "controller/metrics/exposition.h"

#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX   "duopoly_"
#define NAME_MAX 80
#define SECOND   UINT64_C(1000000000)

struct unit {
    const char *said, *shown; /* at the end of a name */
    uint64_t per;             /* so many are one that is shown: a power of ten */
};
static const struct unit units[] = {
    {"_ns", "_seconds", 1000000000}, {"_us", "_seconds", 1000000}, {"_permille", "_ratio", 1000}};
static const struct unit plain = {"", "", 1};

struct family {
    char key[NAME_MAX]; /* what it was added as */
    char name[NAME_MAX];
    const struct unit *unit;
    struct text text;
};

struct exposition {
    struct family *families;
    size_t n, size;
    size_t next; /* the family after the one of the last sample */
    bool failed;
};

/* As a decimal, without zeros at its end. */
static void text_of(struct text *text, uint64_t value, uint64_t per)
{
    text_number(text, value / per);
    uint64_t rest = value % per;
    if (rest)
        text_add(text, ".", 1);
    while (rest) {
        rest *= 10;
        text_number(text, rest / per);
        rest %= per;
    }
}

static void text_escaped(struct text *text, const char *value)
{
    for (; *value; value++) {
        if (*value == '\\' || *value == '"')
            text_add(text, "\\", 1);
        text_add(text, *value == '\n' ? "\\n" : value, *value == '\n' ? 2 : 1);
    }
}

static const struct unit *unit_of(const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t end = strlen(units[i].said);
        if (length > end && strcmp(name + length - end, units[i].said) == 0)
            return &units[i];
    }
    return &plain;
}

static void family_name(struct family *family, const struct metric *metric)
{
    const struct unit *unit = family->unit = unit_of(metric->name);
    snprintf(family->name, sizeof(family->name), PREFIX "%.*s%s%s",
             (int)(strlen(metric->name) - strlen(unit->said)), metric->name, unit->shown,
             metric->type == METRIC_COUNTER ? "_total" : "");
    for (char *c = family->name; *c; c++)
        if (*c == '.')
            *c = '_';
}

static void family_head(struct family *family, const char *type, const char *what)
{
    struct text *text = &family->text;
    text_word(text, "# HELP ");
    text_word(text, family->name);
    text_word(text, " ");
    text_word(text, what);
    text_word(text, ".\n# TYPE ");
    text_word(text, family->name);
    text_word(text, type);
}

static struct family *family_new(struct exposition *exposition, const char *key)
{
    if (exposition->n == exposition->size) {
        size_t size = exposition->size ? 2 * exposition->size : 64;
        struct family *families = reallocarray(exposition->families, size, sizeof(*families));
        exposition->failed |= !families;
        if (!families)
            return NULL;
        exposition->families = families;
        exposition->size = size;
    }
    struct family *family = &exposition->families[exposition->n++];
    *family = (struct family){.unit = &plain};
    snprintf(family->key, sizeof(family->key), "%s", key);
    return family;
}

static struct family *family_find(struct exposition *exposition, const char *key)
{
    for (size_t i = 0; i < exposition->n; i++) {
        size_t at = (exposition->next + i) % exposition->n;
        if (strcmp(exposition->families[at].key, key) == 0) {
            exposition->next = at + 1;
            return &exposition->families[at];
        }
    }
    return NULL;
}

static struct family *family_of(struct exposition *exposition, const struct metric *metric)
{
    struct family *family = family_find(exposition, metric->name);
    if (family || !(family = family_new(exposition, metric->name)))
        return family;
    family_name(family, metric);
    family_head(family, metric->type == METRIC_COUNTER ? " counter\n" : " gauge\n", metric->what);
    return family;
}

struct exposition *exposition_begin(void)
{
    return calloc(1, sizeof(struct exposition));
}

static void labels_add(struct text *text, const struct label *labels, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        text_word(text, i ? "," : "{");
        text_word(text, labels[i].name);
        text_word(text, "=\"");
        text_escaped(text, labels[i].value);
        text_word(text, "\"");
    }
    text_word(text, n ? "} " : " ");
}

void exposition_add(struct exposition *exposition, const struct metric *metric,
                    const struct label *labels, unsigned n, uint64_t value)
{
    struct family *family = family_of(exposition, metric);
    if (!family)
        return;
    text_word(&family->text, family->name);
    labels_add(&family->text, labels, n);
    text_of(&family->text, value, family->unit->per);
    text_word(&family->text, "\n");
}

static void bucket_add(struct family *family, const uint64_t *bound_ns, uint64_t count)
{
    struct text *text = &family->text;
    text_word(text, family->name);
    text_word(text, "_bucket{le=\"");
    if (bound_ns)
        text_of(text, *bound_ns, SECOND);
    else
        text_word(text, "+Inf");
    text_word(text, "\"} ");
    text_number(text, count);
    text_word(text, "\n");
}

void exposition_histogram(struct exposition *exposition, const char *name, const char *what,
                          const struct histogram *histogram)
{
    struct family *family = family_new(exposition, name);
    uint64_t count = 0;
    if (!family)
        return;
    snprintf(family->name, sizeof(family->name), PREFIX "%s_seconds", name);
    family_head(family, " histogram\n", what);
    for (int i = 0; i <= HISTOGRAM_BOUNDS; i++)
        bucket_add(family, i < HISTOGRAM_BOUNDS ? &histogram_bounds_ns[i] : NULL,
                   count += histogram->counts[i]);
    struct text *text = &family->text;
    text_word(text, family->name);
    text_word(text, "_sum ");
    text_of(text, histogram->sum_ns, SECOND);
    text_word(text, "\n");
    text_word(text, family->name);
    text_word(text, "_count ");
    text_number(text, count);
    text_word(text, "\n");
}

static void text_take(struct text *whole, struct text *part)
{
    text_add(whole, part->at, part->used);
    whole->failed |= part->failed;
    text_done(part);
}

char *exposition_end(struct exposition *exposition, size_t *ret_size)
{
    struct text whole = {.failed = exposition->failed};
    for (size_t i = 0; i < exposition->n; i++)
        text_take(&whole, &exposition->families[i].text);
    free(exposition->families);
    free(exposition);
    if (whole.failed) {
        text_done(&whole);
        return NULL;
    }
    *ret_size = whole.used;
    return whole.at;
}
