#include "lib/constraint.h"

#include <errno.h>
#include <string.h>

struct reader {
    const char *text, *at, *end;
    const struct constraint_host *host;
    const char *wrong; /* why it is none; NULL so far */
};

static bool has_label(const char *labels, const char *label, size_t length)
{
    for (const char *at = labels; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (strncmp(at, label, length) == 0 && (at[length] == ',' || at[length] == 0))
            return true;
    return false;
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static bool take(struct reader *r, char operator)
{
    if (r->wrong)
        return false;
    skip_blanks(r);
    if (r->at == r->end || *r->at != operator)
        return false;
    r->at++;
    return true;
}

static bool fail(struct reader *r, const char *why)
{
    r->wrong = r->wrong ? r->wrong : why;
    return false;
}

/* "rack=r1" is `name` = "rack" and the value r1. */
static bool is_named(const char *word, size_t length, const char *name)
{
    size_t n = strlen(name);
    return length > n && memcmp(word, name, n) == 0 && word[n] == '=';
}

static bool is_equal(const char *value, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(value, name, length) == 0;
}

/* A word; both names have 4 letters. */
static bool take_word(struct reader *r)
{
    const char *word = r->at;
    size_t length = 0;
    while (word + length < r->end && !strchr(" \t&|!(),", word[length]))
        length++;
    bool rack = is_named(word, length, "rack"), host = is_named(word, length, "host");
    if (!length)
        return fail(r, "a label, rack=NAME or host=NAME is missing");
    r->at += length;
    if ((rack || host) && length == 5)
        return fail(r, "a name is missing");
    return rack   ? is_equal(word + 5, length - 5, r->host->rack)
           : host ? is_equal(word + 5, length - 5, r->host->name)
                  : has_label(r->host->labels, word, length);
}

static bool take_any(struct reader *r);

static bool take_one(struct reader *r)
{
    if (take(r, '!'))
        return !take_one(r);
    if (!take(r, '('))
        return r->wrong ? false : take_word(r);
    const char *opened = r->at - 1;
    bool met = take_any(r);
    if (!take(r, ')') && !r->wrong) {
        r->at = opened;
        return fail(r, "this bracket is not closed");
    }
    return met;
}

static bool take_all(struct reader *r)
{
    bool met = take_one(r);
    while (take(r, '&'))
        met &= take_one(r);
    return met;
}

static bool take_any(struct reader *r)
{
    bool met = take_all(r);
    while (take(r, '|'))
        met |= take_all(r);
    return met;
}

/* All of it. */
static bool read_all(struct reader *r)
{
    bool met = take_any(r);
    if (r->wrong)
        return false;
    skip_blanks(r);
    if (r->at < r->end)
        return fail(r, *r->at == ')' ? "this bracket was not opened" : "& or | is missing here");
    return met;
}

static struct reader reader_of(const char *text, size_t length, const struct constraint_host *host)
{
    return (struct reader){.text = text, .at = text, .end = text + length, .host = host};
}

int constraint_check(const char *text, struct err *err)
{
    static const struct constraint_host nobody = {"", "", ""};
    struct reader r = reader_of(text, strlen(text), &nobody);
    if (!*text)
        return 0;
    if (strlen(text) >= CONSTRAINT_MAX)
        return err_set(err, EINVAL, "constraint '%.20s...' has %zu bytes, at most %d are taken",
                       text, strlen(text), CONSTRAINT_MAX - 1);
    read_all(&r);
    return r.wrong ? err_set(err, EINVAL, "constraint '%s', column %zu: %s", text,
                             (size_t)(r.at - text) + 1, r.wrong)
                   : 0;
}

bool constraint_part_is_met(const char *text, size_t length, const struct constraint_host *host)
{
    struct reader r = reader_of(text, length, host);
    return read_all(&r) && !r.wrong;
}

bool constraint_is_met(const char *text, const struct constraint_host *host)
{
    size_t length = strlen(text);
    return !length || has_label(host->labels, text, length) ||
           (length < CONSTRAINT_MAX && constraint_part_is_met(text, length, host));
}

static bool is_of_several(const char *text, size_t length)
{
    static const struct constraint_host nobody = {"", "", ""};
    struct reader r = reader_of(text, length, &nobody);
    take_all(&r);
    skip_blanks(&r);
    return !r.wrong && r.at == r.end;
}

bool constraint_part(const char *text, unsigned index, struct constraint_span *ret_span)
{
    static const struct constraint_host nobody = {"", "", ""};
    size_t length = strlen(text);
    struct reader r = reader_of(text, length, &nobody);
    *ret_span = (struct constraint_span){0, length};
    if (!is_of_several(text, length))
        return length && !index;
    for (unsigned i = 0; i <= index; i++) {
        if (i && !take(&r, '&'))
            return false;
        skip_blanks(&r);
        ret_span->begin = (size_t)(r.at - text);
        take_one(&r);
        ret_span->end = (size_t)(r.at - text);
    }
    return true;
}
