#include "lib/port/port_names.h"

#include "lib/number.h"

#include <errno.h>
#include <stddef.h>

struct range {
    uint64_t first, last;
    long width; /* of its first number; as long must be what begins with a zero */
};

/* "[1-10]…": what follows it; NULL: it is none. */
static const char *range_read(const char *text, struct range *ret_range)
{
    const char *dash = number_take(text + 1, UINT32_MAX, &ret_range->first);
    const char *end =
        dash && *dash == '-' ? number_take(dash + 1, UINT32_MAX, &ret_range->last) : NULL;
    if (!end || *end != ']' || ret_range->first > ret_range->last)
        return NULL;
    ret_range->width = text[1] == '0' && dash - text > 2 ? dash - text - 1 : 0;
    return end + 1;
}

int port_pattern_check(const char *pattern, struct err *err)
{
    for (const char *at = pattern; *at;) {
        struct range range;
        const char *after = *at == '[' ? range_read(at, &range) : at + 1;
        if (!after || *at == ']')
            return err_set(err, EINVAL, "\"%s\" is no pattern of ports, such as eth* or swp[1-32]",
                           pattern);
        at = after;
    }
    return 0;
}

/* The rest of `name` behind a number of the range; NULL: it begins with none. */
static const char *number_in(const struct range *range, const char *name)
{
    uint64_t number;
    const char *after = number_take(name, UINT32_MAX, &number);
    if (!after || number < range->first || number > range->last)
        return NULL;
    bool padded = name[0] == '0' && after - name > 1;
    if (range->width ? after - name < range->width || (padded && after - name > range->width)
                     : padded)
        return NULL;
    return after;
}

bool port_pattern_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *tried = NULL;
    struct range range;
    while (*name || *pattern) {
        const char *after = *pattern == '[' ? range_read(pattern, &range) : NULL;
        const char *rest = after ? number_in(&range, name) : NULL;
        if (*pattern == '*') {
            star = pattern++;
            tried = name;
        } else if (rest) {
            pattern = after;
            name = rest;
        } else if (!after && *name && (*pattern == '?' || *pattern == *name)) {
            pattern++;
            name++;
        } else if (star && *tried) {
            pattern = star + 1;
            name = ++tried;
        } else {
            return false;
        }
    }
    return true;
}
