#include "controller/cli/selection.h"

#include "controller/cli/since.h"
#include "controller/lists/instant.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool selection_is_given(const struct request *request)
{
    return request->filter || request->since || request->columns || request->sort || request->limit;
}

/* ---- --since ---- */

static const struct cell *since_cell(const struct list *list)
{
    for (const struct cell *cell = list->cells; cell->key; cell++)
        if (cell->since)
            return cell;
    return NULL;
}

/* As one more condition. A column has the time, or how long ago it was. */
static int since_add(const char *since, struct selection *selection, struct err *err)
{
    const struct cell *cell = since_cell(selection->list);
    const size_t used = strlen(selection->text);
    char *to = selection->text + used, at[INSTANT_WORDS];
    uint64_t ago_ns = 0, ns = 0;
    if (!cell)
        return err_set(err, EINVAL, "'%s' has no time that --since could be about",
                       selection->list->key);
    if (since_parse(since, &ago_ns, &ns, err) < 0)
        return -EINVAL;
    int n = cell->kind == VALUE_TIME ? snprintf(to, FILTER_TEXT - used, "%s%s>=%s", used ? "," : "",
                                                cell->key, instant_words(ns, at))
                                     : snprintf(to, FILTER_TEXT - used, "%s%s<=%" PRIu64,
                                                used ? "," : "", cell->key, ago_ns);
    return (size_t)n < FILTER_TEXT - used
               ? 0
               : err_set(err, EINVAL, "--filter and --since together are too long");
}

/* ---- the others ---- */

/* The next of words between commas, without blanks around it; what follows it, NULL: nothing. */
static const char *word_take(const char *text, char word[64])
{
    text += strspn(text, " ");
    const size_t length = strcspn(text, ", ");
    snprintf(word, 64, "%.*s", (int)(length < 64 ? length : 63), text);
    text += length + strspn(text + length, " ");
    return *text == ',' ? text + 1 : NULL;
}

static int columns_read(const char *text, struct selection *selection, struct err *err)
{
    char word[64];
    while (text) {
        const struct cell *cell;
        text = word_take(text, word);
        if (cell_find(selection->list->cells, word, &cell, err) < 0)
            return err_prefix(err, "--columns");
        for (uint8_t i = 0; i < selection->columns_n; i++)
            if (selection->columns[i] == cell)
                return err_set(err, EINVAL, "--columns has '%s' twice", word);
        selection->columns[selection->columns_n++] = cell; /* each once: there is room */
    }
    return 0;
}

static int sort_read(const char *text, struct selection *selection, struct err *err)
{
    char word[64];
    while (text) {
        struct selection_sort by;
        text = word_take(text, word);
        by.down = *word == '-';
        if (cell_find(selection->list->cells, word + by.down, &by.cell, err) < 0)
            return err_prefix(err, "--sort");
        if (selection->by_n == SELECTION_SORTS)
            return err_set(err, EINVAL, "--sort takes at most %d columns", SELECTION_SORTS);
        selection->by[selection->by_n++] = by;
    }
    return 0;
}

static int filter_take(const struct request *request, struct selection *selection, struct err *err)
{
    const char *text = request->filter ? request->filter : "";
    if (request->filter && !*text)
        return err_set(err, EINVAL, "--filter needs a condition, as state=up");
    /* WHY first alone: a sentence says where in it something is. */
    int r = filter_read(text, selection->list->cells, &selection->filter, err);
    if (r < 0)
        return err_prefix(err, "--filter");
    strcpy(selection->text, text);
    if (request->since && since_add(request->since, selection, err) < 0)
        return -EINVAL;
    return filter_read(selection->text, selection->list->cells, &selection->filter, err);
}

int selection_read(const struct request *request, const struct list *list,
                   struct selection *ret_selection, struct err *err)
{
    struct selection selection = {
        .list = list, .given = selection_is_given(request), .limit = UINT64_MAX};
    int r = filter_take(request, &selection, err);
    if (r == 0 && request->columns)
        r = columns_read(request->columns, &selection, err);
    if (r == 0 && request->sort)
        r = sort_read(request->sort, &selection, err);
    if (r == 0 && request->limit)
        r = number_parse(request->limit, "--limit", &selection.limit, err);
    if (r == 0)
        *ret_selection = selection;
    return r;
}

void selection_schema(const struct selection *selection, struct writer *writer)
{
    const char *key = selection->list->key;
    writer_schema(writer, selection->columns_n ? "selected" : key, key);
    if (selection->columns_n)
        writer_field(writer, "of", NULL, value_text(key));
}
