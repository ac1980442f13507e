#include "controller/lists/filter.h"

#include "controller/lists/instant.h"
#include "lib/conf.h"
#include "lib/number.h"

#include <errno.h>
#include <string.h>

#define BLANKS " \t"
#define SIGNS  "=!<>~,|\"" /* end a word */

static const struct {
    const char *sign;
    enum filter_operator op;
} operators[] = {
    {"!=", FILTER_IS_NOT}, {"!~", FILTER_HAS_NOT}, {"<=", FILTER_AT_MOST}, {">=", FILTER_AT_LEAST},
    {"=", FILTER_IS},      {"~", FILTER_HAS},      {"<", FILTER_LESS},     {">", FILTER_MORE},
};
#define OPERATORS "=, !=, ~, !~, <, <=, > or >="

struct reader {
    const char *text, *at;
    const struct cell *cells;
    struct filter *filter;
    size_t used; /* of the filter's words */
    struct err *err;
};

static bool is_about_text(enum filter_operator op)
{
    return op == FILTER_HAS || op == FILTER_HAS_NOT;
}

static bool is_order(enum filter_operator op)
{
    return op >= FILTER_LESS;
}

/* Puts where it is before the sentence. */
static int fail_at(const struct reader *reader, const char *at)
{
    return err_prefix(reader->err, "filter:%zu", (size_t)(at - reader->text) + 1);
}

static void blanks_pass(struct reader *reader)
{
    reader->at += strspn(reader->at, BLANKS);
}

/* ---- values ---- */

static enum conf_type conf_type_of(enum value_kind kind)
{
    switch (kind) {
    case VALUE_BYTES:
        return CONF_BYTES;
    case VALUE_DURATION:
        return CONF_DURATION;
    case VALUE_PERMILLE:
        return CONF_SHARE;
    case VALUE_BIT_RATE:
        return CONF_RATE;
    default:
        return CONF_INT;
    }
}

static int yes_or_no(const char *text, __int128 *ret_number, struct err *err)
{
    static const char *const words[] = {"no", "yes", "false", "true"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(text, words[i]) == 0) {
            *ret_number = i % 2;
            return 0;
        }
    return err_set(err, EINVAL, "'%s' is neither yes nor no", text);
}

static int instant(const char *text, __int128 *ret_number, struct err *err)
{
    uint64_t ns;
    if (!instant_read(text, &ns))
        return err_set(err, EINVAL,
                       "'%s' is no day or instant in UTC: 2026-01-31, 2026-01-31T12:00:00Z", text);
    *ret_number = ns;
    return 0;
}

/* A bare number is in the unit that the column's key ends with. */
static int amount(enum value_kind kind, const char *text, __int128 *ret_number, struct err *err)
{
    uint64_t digits;
    int64_t number;
    const bool minus = *text == '-';
    if (number_read(text + minus, 0, UINT64_MAX, &digits) == 0) {
        *ret_number = minus ? -(__int128)digits : (__int128)digits;
        return 0;
    }
    int r = conf_number(conf_type_of(kind), text, &number, err);
    if (r == 0)
        *ret_number = number;
    return r;
}

static int number_of(const struct cell *cell, const char *text, __int128 *ret_number,
                     struct err *err)
{
    int r = cell->kind == VALUE_BOOL   ? yes_or_no(text, ret_number, err)
            : cell->kind == VALUE_TIME ? instant(text, ret_number, err)
                                       : amount(cell->kind, text, ret_number, err);
    return r < 0 ? err_prefix(err, "%s", cell->key) : 0;
}

/* ---- reading ---- */

static int between_marks(struct reader *reader, char *word)
{
    const char *begin = reader->at++;
    for (; *reader->at && *reader->at != '"'; reader->at++) {
        if (*reader->at == '\\' && reader->at[1])
            reader->at++;
        *word++ = *reader->at;
    }
    *word = '\0';
    if (!*reader->at) {
        err_set(reader->err, EINVAL, "a quotation mark is not closed");
        return fail_at(reader, begin);
    }
    reader->at++;
    return 0;
}

static int bare_word(struct reader *reader, char *word)
{
    size_t length = strcspn(reader->at, ",|\"");
    const char *next = reader->at + length;
    while (length && strchr(BLANKS, reader->at[length - 1]))
        length--;
    if (!length || strchr("=~<>", *reader->at)) {
        if (length)
            err_set(reader->err, EINVAL, "between a column and its value stands one of " OPERATORS);
        else
            err_set(reader->err, EINVAL, "a value is missing; no content is written -");
        return fail_at(reader, reader->at);
    }
    memcpy(word, reader->at, length);
    word[length] = '\0';
    reader->at = next;
    return 0;
}

static int value_take(struct reader *reader, const struct filter_term *term)
{
    struct filter *filter = reader->filter;
    blanks_pass(reader);
    const char *begin = reader->at;
    char *word = filter->words + reader->used;
    if (filter->values_n == FILTER_VALUES) {
        err_set(reader->err, EINVAL, "more than %d values are too many", FILTER_VALUES);
        return fail_at(reader, begin);
    }
    int r = *begin == '"' ? between_marks(reader, word) : bare_word(reader, word);
    if (r < 0)
        return r;
    struct filter_value *value = &filter->values[filter->values_n++];
    *value = (struct filter_value){.text = (uint16_t)reader->used,
                                   .absent = *begin != '"' && strcmp(word, "-") == 0 &&
                                             !is_about_text(term->op)};
    reader->used += strlen(word) + 1;
    if (value->absent && is_order(term->op)) {
        err_set(reader->err, EINVAL, "no content is neither less nor more: %s=- or %s!=-",
                term->cell->key, term->cell->key);
        return fail_at(reader, begin);
    }
    r = value->absent || term->cell->kind == VALUE_TEXT
            ? 0
            : number_of(term->cell, word, &value->number, reader->err);
    return r < 0 ? fail_at(reader, begin) : 0;
}

static int values_take(struct reader *reader, struct filter_term *term)
{
    const char *begin = reader->at;
    term->first = reader->filter->values_n;
    for (;;) {
        int r = value_take(reader, term);
        if (r < 0)
            return r;
        term->n++;
        blanks_pass(reader);
        if (*reader->at != '|')
            break;
        reader->at++;
    }
    if (term->n == 1 || !is_order(term->op))
        return 0;
    err_set(reader->err, EINVAL, "less and more take one value");
    return fail_at(reader, begin);
}

static int operator_take(struct reader *reader, struct filter_term *term)
{
    const bool text = term->cell->kind == VALUE_TEXT;
    blanks_pass(reader);
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        size_t length = strlen(operators[i].sign);
        if (strncmp(reader->at, operators[i].sign, length) != 0)
            continue;
        term->op = operators[i].op;
        if (text ? is_order(term->op) : is_about_text(term->op)) {
            err_set(reader->err, EINVAL,
                    text ? "'%s' is a text: it takes =, !=, ~ or !~"
                         : "'%s' is no text: it takes =, !=, <, <=, > or >=",
                    term->cell->key);
            return fail_at(reader, reader->at);
        }
        reader->at += length;
        return 0;
    }
    err_set(reader->err, EINVAL, "after '%s' comes one of " OPERATORS ", then a value",
            term->cell->key);
    return fail_at(reader, reader->at);
}

static int column_take(struct reader *reader, const struct cell **ret_cell)
{
    char key[64];
    const char *begin = reader->at;
    size_t length = strcspn(begin, BLANKS SIGNS);
    if (!length)
        err_set(reader->err, EINVAL, "a condition begins with a column, as in state=up");
    else if (length >= sizeof(key))
        err_set(reader->err, EINVAL, "there is no column '%.*s…'", (int)sizeof(key) - 1, begin);
    if (!length || length >= sizeof(key))
        return fail_at(reader, begin);
    memcpy(key, begin, length);
    key[length] = '\0';
    reader->at += length;
    return cell_find(reader->cells, key, ret_cell, reader->err) < 0 ? fail_at(reader, begin) : 0;
}

static int term_take(struct reader *reader)
{
    struct filter *filter = reader->filter;
    struct filter_term term = {0};
    blanks_pass(reader);
    if (filter->terms_n == FILTER_TERMS) {
        err_set(reader->err, EINVAL, "more than %d conditions are too many", FILTER_TERMS);
        return fail_at(reader, reader->at);
    }
    int r = column_take(reader, &term.cell);
    if (r == 0)
        r = operator_take(reader, &term);
    if (r == 0)
        r = values_take(reader, &term);
    if (r < 0)
        return r;
    filter->terms[filter->terms_n++] = term;
    if (!*reader->at || *reader->at == ',')
        return 0;
    err_set(reader->err, EINVAL, "between two conditions stands a comma, and between values |");
    return fail_at(reader, reader->at);
}

int filter_read(const char *text, const struct cell *cells, struct filter *ret_filter,
                struct err *err)
{
    struct err unread;
    struct filter filter = {0};
    struct reader reader = {text, text, cells, &filter, 0, err ? err : &unread};
    int r = 0;
    if (strlen(text) >= FILTER_TEXT)
        return err_set(err, EINVAL, "a filter of more than %d bytes is too long", FILTER_TEXT - 1);
    while (*text && (r = term_take(&reader)) == 0 && *reader.at)
        reader.at++;
    if (r == 0)
        *ret_filter = filter;
    return r;
}

/* ---- looking ---- */

static bool number_holds(const struct value *value, enum filter_operator op, __int128 wanted)
{
    const bool is_signed = value->kind == VALUE_SIGNED || value->kind == VALUE_DURATION;
    const __int128 number = is_signed ? (__int128)value->signed_number : (__int128)value->number;
    switch (op) {
    case FILTER_LESS:
        return number < wanted;
    case FILTER_AT_MOST:
        return number <= wanted;
    case FILTER_MORE:
        return number > wanted;
    case FILTER_AT_LEAST:
        return number >= wanted;
    default:
        return number == wanted;
    }
}

static bool value_holds(const struct filter *filter, const struct filter_term *term,
                        const struct value *value, const struct filter_value *wanted)
{
    const char *text = filter->words + wanted->text;
    if (wanted->absent || value->kind == VALUE_ABSENT)
        return wanted->absent && value->kind == VALUE_ABSENT;
    if (value->kind == VALUE_TEXT)
        return is_about_text(term->op) ? strstr(value->text, text) != NULL
                                       : strcmp(value->text, text) == 0;
    return number_holds(value, term->op, wanted->number);
}

static bool term_holds(const struct filter *filter, const struct filter_term *term, const void *row)
{
    char words[CELL_WORDS];
    const bool negates = term->op == FILTER_IS_NOT || term->op == FILTER_HAS_NOT;
    const struct value value = cell_value(term->cell, row, words);
    for (uint8_t i = term->first; i < term->first + term->n; i++)
        if (value_holds(filter, term, &value, &filter->values[i]))
            return !negates;
    return negates;
}

bool filter_keeps(const struct filter *filter, const void *row)
{
    for (uint8_t i = 0; i < filter->terms_n; i++)
        if (!term_holds(filter, &filter->terms[i], row))
            return false;
    return true;
}

/* A cell may look at other members than its own only by its functions. */
static bool is_known(const struct cell *cell, size_t known)
{
    return !cell->value && !cell->lacks && cell->offset < known;
}

bool filter_may_keep(const struct filter *filter, const void *row, size_t known)
{
    for (uint8_t i = 0; i < filter->terms_n; i++)
        if (is_known(filter->terms[i].cell, known) && !term_holds(filter, &filter->terms[i], row))
            return false;
    return true;
}

static uint64_t clamp_u64(__int128 number)
{
    return number < 0 ? 0 : number > UINT64_MAX ? UINT64_MAX : (uint64_t)number;
}

/* Narrows it to what one condition keeps. */
static void narrow(const struct filter_term *term, __int128 wanted, __int128 *least, __int128 *most)
{
    const bool is = term->op == FILTER_IS && term->n == 1;
    const __int128 from = wanted + (term->op == FILTER_MORE),
                   to = wanted - (term->op == FILTER_LESS);
    if ((is || term->op == FILTER_MORE || term->op == FILTER_AT_LEAST) && from > *least)
        *least = from;
    if ((is || term->op == FILTER_LESS || term->op == FILTER_AT_MOST) && to < *most)
        *most = to;
}

void filter_range(const struct filter *filter, const char *key, uint64_t *ret_least,
                  uint64_t *ret_most)
{
    __int128 least = 0, most = UINT64_MAX;
    for (uint8_t i = 0; i < filter->terms_n; i++) {
        const struct filter_term *term = &filter->terms[i];
        const struct filter_value *value = &filter->values[term->first];
        if (!value->absent && strcmp(term->cell->key, key) == 0)
            narrow(term, value->number, &least, &most);
    }
    *ret_least = least > most ? 1 : clamp_u64(least);
    *ret_most = least > most ? 0 : clamp_u64(most);
}
