/* Fuzz target of filters of lists (controller/lists/filter.h): what is taken is within its bounds,
 * keeps a row or not the same twice, and keeps none of which its negation keeps all; what is
 * refused has a sentence. The first byte chooses the list. */
#include "controller/lists/filter.h"
#include "controller/lists/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Its only condition, the other way round. */
static void negate(struct filter *filter)
{
    static const enum filter_operator other[] = {
        [FILTER_IS] = FILTER_IS_NOT,     [FILTER_IS_NOT] = FILTER_IS,
        [FILTER_HAS] = FILTER_HAS_NOT,   [FILTER_HAS_NOT] = FILTER_HAS,
        [FILTER_LESS] = FILTER_AT_LEAST, [FILTER_AT_LEAST] = FILTER_LESS,
        [FILTER_MORE] = FILTER_AT_MOST,  [FILTER_AT_MOST] = FILTER_MORE};
    filter->terms[0].op = other[filter->terms[0].op];
}

static void look(const struct list *list, const struct filter *filter, const char *row)
{
    char words[CELL_WORDS];
    struct filter opposite = *filter;
    const bool kept = filter_keeps(filter, row);
    must(filter_keeps(filter, row) == kept && row[list->row_bytes] == '\0');
    if (filter->terms_n != 1)
        return;
    negate(&opposite);
    /* What has no content is neither less nor more. */
    if (filter->terms[0].op < FILTER_LESS ||
        cell_value(filter->terms[0].cell, row, words).kind != VALUE_ABSENT)
        must(filter_keeps(&opposite, row) != kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct list *const lists[] = {&list_of_hosts, &list_of_tasks, &list_of_keys,
                                               &list_of_links, &list_of_jobs};
    struct filter filter;
    struct err err = {0};
    if (!size)
        return 0;
    const struct list *list = lists[data[0] % (sizeof(lists) / sizeof(lists[0]))];
    char *text = calloc(1, size), *row = malloc(list->row_bytes + 1);
    memcpy(text, data + 1, size - 1);
    row[list->row_bytes] = '\0';
    int r = filter_read(text, list->cells, &filter, &err);
    must(r == 0 || (r == -EINVAL && *err.text));
    for (int content = 0; r == 0 && content < 2; content++) {
        must(filter.terms_n <= FILTER_TERMS && filter.values_n <= FILTER_VALUES);
        memset(row, content, list->row_bytes);
        look(list, &filter, row);
    }
    free(text);
    free(row);
    return 0;
}
