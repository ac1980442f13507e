/* Ordered sets with intrusive nodes: a key of three numbers, a value, and per subtree the least
 * value in it.
 *
 * For things that are walked in order; table.h is for those that are only found. The keys alone
 * give the order, so that equal states iterate equally whatever their history; keys in one set must
 * differ. The least value answers "the first in order whose value is below x" without a scan, so
 * the engine finds the first job that fits without looking at the jobs that do not.
 *
 * A node is in at most one set; its owner embeds it and finds itself with container_of(). The set
 * never allocates. A zeroed set and a zeroed node are valid and empty. All operations O(log n)
 * except where said. Balanced by libbsd's red-black tree (tree(3bsd)). */
#pragma once

#include "lib/container_of.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/tree.h>

struct sorted_key {
    uint64_t a, b, c; /* compared in this order */
};

/* WHY this order: a search reads key, least value and children of each node that it passes. */
struct sorted_node {
    struct sorted_key key;
    uint64_t least; /* of the values in this node's subtree */
    RB_ENTRY(sorted_node) entry;
    uint64_t value;
    bool in;        /* it is in a set, */
    bool counted;   /* which counts its places: */
    uint32_t count; /* of the nodes in this node's subtree */
};

RB_HEAD(sorted_tree, sorted_node);
struct sorted {
    struct sorted_tree tree;
    struct sorted_node *first;
    size_t n;
    bool counted; /* it answers sorted_rank and sorted_at: set while it is empty */
};

/* The node must not be in a set. */
void sorted_insert(struct sorted *set, struct sorted_node *node, struct sorted_key key,
                   uint64_t value);
/* The node may be in no set (then nothing happens), but not in another one. */
void sorted_remove(struct sorted *set, struct sorted_node *node);
/* Inserts the node, or changes key and value of one in the set; O(1) when it passes no
 * neighbour. */
void sorted_place(struct sorted *set, struct sorted_node *node, struct sorted_key key,
                  uint64_t value);

/* NULL when there is none. The first: O(1). */
static inline struct sorted_node *sorted_first(const struct sorted *set)
{
    return set->first;
}
struct sorted_node *sorted_last(const struct sorted *set);
struct sorted_node *sorted_next(const struct sorted_node *node);
struct sorted_node *sorted_previous(const struct sorted_node *node);
struct sorted_node *sorted_find(const struct sorted *set, struct sorted_key key);
/* The first with a key ≥ `key`. */
struct sorted_node *sorted_from(const struct sorted *set, struct sorted_key key);
/* The first in order whose value is < limit. */
struct sorted_node *sorted_first_below(const struct sorted *set, uint64_t limit);
/* The next after the node whose value is < limit. */
struct sorted_node *sorted_next_below(const struct sorted_node *node, uint64_t limit);
/* How many stand before the node; it is in a set that counts. WHY not all sets: keeping counts
 * writes to each node on the way to one that is inserted or removed. */
size_t sorted_rank(const struct sorted_node *node);
/* The node before which so many stand; NULL: there are no more than `rank`. The set counts. */
struct sorted_node *sorted_at(const struct sorted *set, size_t rank);
/* The least value in the set, UINT64_MAX when empty. O(1). */
uint64_t sorted_least(const struct sorted *set);

/* < 0, 0, > 0. */
static inline int sorted_compare(struct sorted_key x, struct sorted_key y)
{
    if (x.a != y.a)
        return x.a < y.a ? -1 : 1;
    if (x.b != y.b)
        return x.b < y.b ? -1 : 1;
    return x.c < y.c ? -1 : x.c > y.c;
}
