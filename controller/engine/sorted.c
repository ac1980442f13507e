#include "controller/engine/sorted.h"

static uint64_t least_of(const struct sorted_node *node)
{
    return node ? node->least : UINT64_MAX;
}

/* True when the subtree's least value changed. */
static bool refresh(struct sorted_node *node)
{
    uint64_t least = node->value;
    uint64_t left = least_of(RB_LEFT(node, entry)), right = least_of(RB_RIGHT(node, entry));
    if (left < least)
        least = left;
    if (right < least)
        least = right;
    bool changed = least != node->least;
    node->least = least;
    return changed;
}

int sorted_compare(struct sorted_key x, struct sorted_key y)
{
    if (x.a != y.a)
        return x.a < y.a ? -1 : 1;
    if (x.b != y.b)
        return x.b < y.b ? -1 : 1;
    return x.c < y.c ? -1 : x.c > y.c;
}

static int compare_nodes(const struct sorted_node *x, const struct sorted_node *y)
{
    return sorted_compare(x->key, y->key);
}

#undef RB_AUGMENT
#define RB_AUGMENT(node) refresh(node)
RB_GENERATE_INTERNAL(sorted_tree, sorted_node, entry, compare_nodes, __attribute__((unused)) static)

static void refresh_upwards(struct sorted_node *node)
{
    while (node && refresh(node))
        node = RB_PARENT(node, entry);
}

void sorted_insert(struct sorted *set, struct sorted_node *node, struct sorted_key key,
                   uint64_t value)
{
    node->key = key;
    node->value = node->least = value;
    RB_INSERT(sorted_tree, &set->tree, node);
    node->in = true;
    set->n++;
    /* WHY: libbsd's insertion refreshes the parent and what it rotates, not the whole path to the
     * root. */
    for (struct sorted_node *up = node; up; up = RB_PARENT(up, entry))
        refresh(up);
}

void sorted_remove(struct sorted *set, struct sorted_node *node)
{
    if (!node->in)
        return;
    /* WHY: with a neutral value its removal changes no ancestor's least value, so that the tree's
     * local refreshes suffice. */
    node->value = UINT64_MAX;
    refresh_upwards(node);
    RB_REMOVE(sorted_tree, &set->tree, node);
    node->in = false;
    set->n--;
}

void sorted_place(struct sorted *set, struct sorted_node *node, struct sorted_key key,
                  uint64_t value)
{
    if (node->in && sorted_compare(node->key, key) == 0) {
        if (node->value != value) {
            node->value = value;
            refresh_upwards(node);
        }
        return;
    }
    sorted_remove(set, node);
    sorted_insert(set, node, key, value);
}

struct sorted_node *sorted_first(const struct sorted *set)
{
    struct sorted_node *node = RB_ROOT(&set->tree);
    while (node && RB_LEFT(node, entry))
        node = RB_LEFT(node, entry);
    return node;
}

struct sorted_node *sorted_last(const struct sorted *set)
{
    struct sorted_node *node = RB_ROOT(&set->tree);
    while (node && RB_RIGHT(node, entry))
        node = RB_RIGHT(node, entry);
    return node;
}

struct sorted_node *sorted_next(const struct sorted_node *node)
{
    return sorted_tree_RB_NEXT((struct sorted_node *)(uintptr_t)node);
}

struct sorted_node *sorted_previous(const struct sorted_node *node)
{
    return sorted_tree_RB_PREV((struct sorted_node *)(uintptr_t)node);
}

struct sorted_node *sorted_from(const struct sorted *set, struct sorted_key key)
{
    struct sorted_node *found = NULL, *node = RB_ROOT(&set->tree);
    while (node) {
        if (sorted_compare(node->key, key) >= 0) {
            found = node;
            node = RB_LEFT(node, entry);
        } else {
            node = RB_RIGHT(node, entry);
        }
    }
    return found;
}

struct sorted_node *sorted_find(const struct sorted *set, struct sorted_key key)
{
    struct sorted_node *node = sorted_from(set, key);
    return node && sorted_compare(node->key, key) == 0 ? node : NULL;
}

static struct sorted_node *first_below(struct sorted_node *node, uint64_t limit)
{
    if (least_of(node) >= limit)
        return NULL;
    for (;;) {
        if (least_of(RB_LEFT(node, entry)) < limit)
            node = RB_LEFT(node, entry);
        else if (node->value < limit)
            return node;
        else
            node = RB_RIGHT(node, entry);
    }
}

struct sorted_node *sorted_first_below(const struct sorted *set, uint64_t limit)
{
    return first_below(RB_ROOT(&set->tree), limit);
}

struct sorted_node *sorted_next_below(const struct sorted_node *node, uint64_t limit)
{
    struct sorted_node *found = first_below(RB_RIGHT(node, entry), limit);
    for (struct sorted_node *up = RB_PARENT(node, entry); up && !found;
         node = up, up = RB_PARENT(node, entry)) {
        if (RB_RIGHT(up, entry) == node)
            continue;
        found = up->value < limit ? up : first_below(RB_RIGHT(up, entry), limit);
    }
    return found;
}

uint64_t sorted_least(const struct sorted *set)
{
    return least_of(RB_ROOT(&set->tree));
}
