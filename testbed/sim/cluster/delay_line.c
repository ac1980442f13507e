#include "testbed/sim/cluster/delay_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int grow(struct delay_line *l)
{
    size_t allocated = l->allocated ? 2 * l->allocated : 64;
    int64_t *due_ns = calloc(allocated, sizeof(*due_ns));
    char *items = malloc(allocated * l->item_bytes);
    if (!due_ns || !items) {
        free(due_ns);
        free(items);
        return -ENOMEM;
    }
    for (size_t i = 0; i < l->n; i++) {
        size_t at = (l->first + i) % l->allocated;
        due_ns[i] = l->due_ns[at];
        memcpy(items + i * l->item_bytes, l->items + at * l->item_bytes, l->item_bytes);
    }
    free(l->due_ns);
    free(l->items);
    l->due_ns = due_ns;
    l->items = items;
    l->first = 0;
    l->allocated = allocated;
    return 0;
}

int delay_line_push(struct delay_line *l, int64_t due_ns, const void *item)
{
    if (l->n == l->allocated && grow(l))
        return -ENOMEM;
    size_t at = (l->first + l->n++) % l->allocated;
    l->due_ns[at] = due_ns;
    memcpy(l->items + at * l->item_bytes, item, l->item_bytes);
    return 0;
}

int64_t delay_line_next_ns(const struct delay_line *l)
{
    return l->n ? l->due_ns[l->first] : DELAY_LINE_NEVER;
}

const void *delay_line_first(const struct delay_line *l)
{
    return l->n ? l->items + l->first * l->item_bytes : NULL;
}

bool delay_line_take(struct delay_line *l, int64_t now_ns, void *ret_item)
{
    if (!l->n || l->due_ns[l->first] > now_ns)
        return false;
    memcpy(ret_item, l->items + l->first * l->item_bytes, l->item_bytes);
    l->first = (l->first + 1) % l->allocated;
    l->n--;
    return true;
}

void delay_line_done(struct delay_line *l)
{
    free(l->due_ns);
    free(l->items);
    *l = (struct delay_line){.item_bytes = l->item_bytes};
}
