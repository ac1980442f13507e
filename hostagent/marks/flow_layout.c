#include "hostagent/marks/flow_layout.h"

#include <stdio.h>
#include <string.h>

void flow_layout_text(char text[FLOW_LAYOUT_TEXT])
{
    size_t used = 0;
#define LINE(field)                                                                                \
    used += (size_t)snprintf(text + used, FLOW_LAYOUT_TEXT - used, #field " %zu %zu\n",            \
                             offsetof(struct mark_flow, field),                                    \
                             sizeof(((struct mark_flow *)0)->field));
    MARK_FLOW_FIELDS(LINE)
#undef LINE
}

static __u16 find(const char *text, const char *name, size_t bytes, size_t value_bytes)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char word[32];
        size_t at, n;
        if (sscanf(line, "%31s %zu %zu", word, &at, &n) == 3 && strcmp(word, name) == 0)
            return n == bytes && at < MARK_NOWHERE && at + n <= value_bytes ? (__u16)at
                                                                            : MARK_NOWHERE;
    }
    return MARK_NOWHERE;
}

void flow_layout_read(const char *text, size_t value_bytes, struct mark_before *ret_layout)
{
    struct mark_before layout = {.there = 1};
#define FIND(field)                                                                                \
    layout.field = find(text, #field, sizeof(((struct mark_flow *)0)->field), value_bytes);
    MARK_FLOW_FIELDS(FIND)
#undef FIND
    *ret_layout = layout;
}

void flow_layout_take(const struct mark_before *layout, const void *value,
                      struct mark_flow *ret_flow)
{
    struct mark_flow flow = {0};
#define TAKE(field)                                                                                \
    if (layout->field != MARK_NOWHERE)                                                             \
        memcpy(&flow.field, (const char *)value + layout->field, sizeof(flow.field));
    MARK_FLOW_FIELDS(TAKE)
#undef TAKE
    *ret_flow = flow;
}
