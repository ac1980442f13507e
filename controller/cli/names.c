#include "controller/cli/names.h"

#include "lib/number.h"
#include "lib/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 128

struct range {
    uint64_t first, last;
    int width;
};

static int name_add(struct names *names, const char *before, const struct range *range,
                    uint64_t number, const char *after, struct err *err)
{
    char name[2 * WORD_MAX + 32];
    if (range)
        snprintf(name, sizeof(name), "%s%0*" PRIu64 "%s", before, range->width, number, after);
    else
        snprintf(name, sizeof(name), "%s", before);
    if (!wire_name_valid(name) || strpbrk(name, "[],"))
        return err_set(err, EINVAL, "'%s' cannot be a name", name);
    if (names->n == NAMES_MAX)
        return err_set(err, EINVAL, "at most %d names at once", NAMES_MAX);
    strcpy(names->at[names->n++], name);
    return 0;
}

/* "[1-10]…": the range, and what follows its bracket; NULL: no range. */
static const char *range_read(const char *text, struct range *ret_range)
{
    const char *dash = number_take(text + 1, UINT32_MAX, &ret_range->first);
    const char *end =
        dash && *dash == '-' ? number_take(dash + 1, UINT32_MAX, &ret_range->last) : NULL;
    if (!end || *end != ']' || ret_range->first > ret_range->last)
        return NULL;
    ret_range->width = text[1] == '0' ? (int)(dash - text - 1) : 1;
    return end + 1;
}

static int word_add(struct names *names, char *word, struct err *err)
{
    struct range range;
    char *bracket = strchr(word, '[');
    const char *after = bracket ? range_read(bracket, &range) : NULL;
    if (!bracket)
        return name_add(names, word, NULL, 0, "", err);
    if (!after)
        return err_set(err, EINVAL, "'%s' is no range of names, such as w[1-100]", word);
    *bracket = '\0';
    int r = 0;
    for (uint64_t i = range.first; r == 0 && i <= range.last; i++)
        r = name_add(names, word, &range, i, after, err);
    return r;
}

int names_expand(const char *text, struct names *ret_names, struct err *err)
{
    struct names names = {calloc(NAMES_MAX, sizeof(*names.at)), 0};
    int r = names.at ? 0 : err_sys(err, ENOMEM, "names");
    while (r == 0) {
        char word[WORD_MAX];
        size_t length = strcspn(text, ",");
        if (length >= sizeof(word)) {
            r = err_set(err, EINVAL, "'%s' cannot be a name", text);
            break;
        }
        memcpy(word, text, length);
        word[length] = '\0';
        r = word_add(&names, word, err);
        if (!text[length])
            break;
        text += length + 1;
    }
    if (r < 0)
        names_free(&names);
    else
        *ret_names = names;
    return r;
}

void names_free(struct names *names)
{
    free(names->at);
    *names = (struct names){0};
}
