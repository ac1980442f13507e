#include "controller/engine/base/sorted.h"

#include "lib/invariant.h"

static uint64_t least_of(const struct sorted_node *node)
{
    return node ? node->least : UINT64_MAX;
}

/* True when the subtree's least value changed. WHY a case for 0: nothing is less, and most sets
 * have no other value, so no child has to be read, which would be a cache miss. */
static bool refresh(struct sorted_node *node)
{
    uint64_t least = node->value, before = node->least;
    if (least) {
        uint64_t left = least_of(RB_LEFT(node, entry)), right = least_of(RB_RIGHT(node, entry));
        if (left < least)
            least = left;
        if (right < least)
            least = right;
    }
    node->least = least;
    return least != before;
}

static int compare_nodes(const struct sorted_node *x, const struct sorted_node *y)
{
    return sorted_compare(x->key, y->key);
}

static uint32_t count_of(const struct sorted_node *node)
{
    return node ? node->count : 0;
}

/* Its children changed by a rotation. */
static void augment(struct sorted_node *node)
{
    refresh(node);
    if (node->counted)
        node->count = 1 + count_of(RB_LEFT(node, entry)) + count_of(RB_RIGHT(node, entry));
}

#undef RB_AUGMENT
#define RB_AUGMENT(node) augment(node)
RB_GENERATE_INTERNAL(sorted_tree, sorted_node, entry, compare_nodes, __attribute__((unused)) static)

static void refresh_upwards(struct sorted_node *node)
{
    while (node && refresh(node))
        node = RB_PARENT(node, entry);
}

/* WHY not RB_INSERT: it refreshes only the parent and the rotated nodes, not the whole path to the
 * root; on the way down that costs nothing. */
void sorted_insert(struct sorted *set, struct sorted_node *node, struct sorted_key key,
                   uint64_t value)
{
    struct sorted_node **at = &RB_ROOT(&set->tree), *parent = NULL;
    bool first = true;
    assert(!node->in);
    while (*at) {
        parent = *at;
        if (value < parent->least)
            parent->least = value;
        if (set->counted)
            parent->count++;
        bool before = sorted_compare(key, parent->key) < 0;
        first = first && before;
        at = before ? &RB_LEFT(parent, entry) : &RB_RIGHT(parent, entry);
    }
    *at = node;
    RB_SET(node, parent, entry);
    node->key = key;
    node->value = node->least = value;
    node->in = true;
    node->counted = set->counted;
    node->count = 1;
    sorted_tree_RB_INSERT_COLOR(&set->tree, node);
    if (first)
        set->first = node;
    set->n++;
    checked(!sorted_previous(node) || sorted_compare(sorted_previous(node)->key, key) <= 0);
    checked(!sorted_next(node) || sorted_compare(key, sorted_next(node)->key) <= 0);
}

/* Puts `other` (NULL: nothing) in the node's place, below its parent or as the root. */
static void replace(struct sorted *set, const struct sorted_node *node, struct sorted_node *other)
{
    struct sorted_node *parent = RB_PARENT(node, entry);
    if (!parent)
        RB_ROOT(&set->tree) = other;
    else if (RB_LEFT(parent, entry) == node)
        RB_LEFT(parent, entry) = other;
    else
        RB_RIGHT(parent, entry) = other;
    if (other)
        RB_PARENT(other, entry) = parent;
}

/* Puts the next node in the place of a node with two children. ret_parent and ret_child: where the
 * next node was. Returns the colour that was there. */
static int replace_by_next(struct sorted *set, struct sorted_node *node,
                           struct sorted_node **ret_parent, struct sorted_node **ret_child)
{
    struct sorted_node *next = sorted_next(node), *parent = RB_PARENT(next, entry);
    int color = RB_COLOR(next, entry);
    *ret_child = RB_RIGHT(next, entry);
    *ret_parent = parent == node ? next : parent;
    replace(set, next, *ret_child);
    replace(set, node, next);
    next->entry = node->entry;
    next->least = node->least;
    next->count = node->count;
    RB_PARENT(RB_LEFT(next, entry), entry) = next;
    if (RB_RIGHT(next, entry))
        RB_PARENT(RB_RIGHT(next, entry), entry) = next;
    for (node = *ret_parent; node != next && refresh(node);)
        node = RB_PARENT(node, entry);
    return color;
}

/* The node, or the next one that takes its place, will be missing on the way to the root. */
static void uncount(const struct sorted_node *node)
{
    if (RB_LEFT(node, entry) && RB_RIGHT(node, entry))
        node = sorted_next(node);
    for (struct sorted_node *up = RB_PARENT(node, entry); up; up = RB_PARENT(up, entry))
        up->count--;
}

/* WHY not RB_REMOVE: it refreshes the whole path to the root. Removing a node with a neutral value
 * changes the least value only of ancestors between it and the next node. */
void sorted_remove(struct sorted *set, struct sorted_node *node)
{
    if (!node->in)
        return;
    assert(set->n > 0);
    struct sorted_node *left = RB_LEFT(node, entry), *right = RB_RIGHT(node, entry),
                       *child = left ? left : right, *parent = RB_PARENT(node, entry);
    int color = RB_COLOR(node, entry);
    node->value = UINT64_MAX;
    refresh_upwards(node);
    if (set->first == node)
        set->first = sorted_next(node);
    if (node->counted)
        uncount(node);
    if (left && right)
        color = replace_by_next(set, node, &parent, &child);
    else
        replace(set, node, child);
    if (color == RB_BLACK)
        sorted_tree_RB_REMOVE_COLOR(&set->tree, parent, child);
    node->in = false;
    set->n--;
}

/* Whether its key may change without passing a neighbour. */
static bool stays(const struct sorted_node *node, struct sorted_key key)
{
    int moves = sorted_compare(node->key, key);
    if (!moves)
        return true;
    const struct sorted_node *neighbour = moves < 0 ? sorted_next(node) : sorted_previous(node);
    return !neighbour || sorted_compare(key, neighbour->key) * moves > 0;
}

void sorted_place(struct sorted *set, struct sorted_node *node, struct sorted_key key,
                  uint64_t value)
{
    if (node->in && stays(node, key)) {
        node->key = key;
        if (node->value != value) {
            node->value = value;
            refresh_upwards(node);
        }
        return;
    }
    sorted_remove(set, node);
    sorted_insert(set, node, key, value);
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
    struct sorted_node *node = RB_ROOT(&set->tree);
    while (node) {
        int order = sorted_compare(key, node->key);
        if (!order)
            return node;
        node = order < 0 ? RB_LEFT(node, entry) : RB_RIGHT(node, entry);
    }
    return NULL;
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

size_t sorted_rank(const struct sorted_node *node)
{
    assert(node->in && node->counted);
    size_t rank = count_of(RB_LEFT(node, entry));
    for (const struct sorted_node *up = RB_PARENT(node, entry); up;
         node = up, up = RB_PARENT(up, entry))
        if (RB_RIGHT(up, entry) == node)
            rank += 1 + count_of(RB_LEFT(up, entry));
    return rank;
}

struct sorted_node *sorted_at(const struct sorted *set, size_t rank)
{
    assert(set->counted);
    struct sorted_node *node = RB_ROOT(&set->tree);
    while (node) {
        size_t before = count_of(RB_LEFT(node, entry));
        if (rank == before)
            return node;
        const bool left = rank < before;
        node = left ? RB_LEFT(node, entry) : RB_RIGHT(node, entry);
        rank -= left ? 0 : before + 1;
    }
    return NULL;
}
