#include "controller/metrics/exposition.h"

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
    struct family **families;
    size_t n, size;
    size_t next; /* the family after the one that was found last */
    bool failed;
    struct text whole;
    size_t joined, taken; /* families that are in `whole`; bytes of the next one that are */
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

void labels_add(struct text *text, const struct label *labels, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        text_word(text, i ? "," : "");
        text_word(text, labels[i].name);
        text_word(text, "=\"");
        text_escaped(text, labels[i].value);
        text_word(text, "\"");
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
        struct family **families = reallocarray(exposition->families, size, sizeof(*families));
        exposition->failed |= !families;
        if (!families)
            return NULL;
        exposition->families = families;
        exposition->size = size;
    }
    struct family *family = calloc(1, sizeof(*family));
    exposition->failed |= !family;
    if (!family)
        return NULL;
    exposition->families[exposition->n++] = family;
    family->unit = &plain;
    snprintf(family->key, sizeof(family->key), "%s", key);
    return family;
}

static struct family *family_find(struct exposition *exposition, const char *key)
{
    for (size_t i = 0; i < exposition->n; i++) {
        size_t at = (exposition->next + i) % exposition->n;
        if (strcmp(exposition->families[at]->key, key) == 0) {
            exposition->next = at + 1;
            return exposition->families[at];
        }
    }
    return NULL;
}

struct family *exposition_family(struct exposition *exposition, const struct metric *metric)
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

static void sample_end(struct family *family, uint64_t value)
{
    text_add(&family->text, " ", 1);
    text_of(&family->text, value, family->unit->per);
    text_add(&family->text, "\n", 1);
}

void family_add(struct family *family, const struct text *labels, const char *more, uint64_t value)
{
    if (!family)
        return;
    struct text *text = &family->text;
    text->failed |= labels->failed;
    text_word(text, family->name);
    text_add(text, "{", 1);
    text_add(text, labels->at, labels->used);
    text_word(text, more);
    text_add(text, "}", 1);
    sample_end(family, value);
}

void exposition_add(struct exposition *exposition, const struct metric *metric,
                    const struct label *labels, unsigned n, uint64_t value)
{
    struct family *family = exposition_family(exposition, metric);
    if (!family)
        return;
    text_word(&family->text, family->name);
    text_word(&family->text, n ? "{" : "");
    labels_add(&family->text, labels, n);
    text_word(&family->text, n ? "}" : "");
    sample_end(family, value);
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

/* Room for all of it, so that it is never copied to where there is more. */
static void whole_begin(struct exposition *exposition)
{
    size_t size = 0;
    for (size_t i = 0; i < exposition->n; i++)
        size += exposition->families[i]->text.used;
    exposition->whole = (struct text){.at = malloc(size), .size = size};
    exposition->whole.failed = !exposition->whole.at;
}

static void family_free(struct family *family)
{
    text_done(&family->text);
    free(family);
}

bool exposition_join(struct exposition *exposition)
{
    struct text *whole = &exposition->whole;
    if (!whole->at && !whole->failed)
        whole_begin(exposition);
    if (whole->failed || exposition->joined == exposition->n)
        return false;
    struct family *family = exposition->families[exposition->joined];
    const struct text *part = &family->text;
    const size_t left = part->used - exposition->taken;
    const size_t n = left < EXPOSITION_AT_ONCE ? left : EXPOSITION_AT_ONCE;
    text_add(whole, part->at + exposition->taken, n);
    whole->failed |= part->failed;
    exposition->taken += n;
    if (n == left) {
        exposition->joined++;
        exposition->taken = 0;
        family_free(family);
    }
    return exposition->joined < exposition->n;
}

void exposition_drop(struct exposition *exposition)
{
    for (size_t i = exposition->joined; i < exposition->n; i++)
        family_free(exposition->families[i]);
    text_done(&exposition->whole);
    free(exposition->families);
    free(exposition);
}

char *exposition_end(struct exposition *exposition, size_t *ret_size)
{
    while (exposition_join(exposition))
        ;
    struct text whole = exposition->whole;
    whole.failed |= exposition->failed;
    exposition->whole = (struct text){.at = NULL};
    exposition_drop(exposition);
    if (whole.failed) {
        text_done(&whole);
        return NULL;
    }
    *ret_size = whole.used;
    return whole.at;
}
