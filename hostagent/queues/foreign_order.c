/* The order in which the parts of a tree can be restored, so that the kernel reports the same
 * afterwards. */
#include "hostagent/queues/foreign.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#define U32_TABLE_BITS 20
#define U32_MADE       0x800 /* tables from this number on are the kernel's own */

struct place {
    const struct foreign_part *part;
    uint32_t told;             /* the how-manieth */
    uint32_t qdisc;            /* place of the one that it belongs to */
    uint32_t root, rank, turn; /* of a filter: its priority's table; within that; within equals */
};

struct order {
    const struct foreign *from;
    bool *placed;         /* of each part of `from` */
    struct place *places; /* in order */
    uint32_t n;
};

static uint32_t major_of(uint32_t handle)
{
    return TC_H_MAJ(handle);
}

static void put(struct order *order, uint32_t i, uint32_t qdisc)
{
    order->places[order->n++] =
        (struct place){.part = &order->from->parts[i], .told = i, .qdisc = qdisc};
    order->placed[i] = true;
}

static int by_handle(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->part->handle != y->part->handle)
        return x->part->handle < y->part->handle ? -1 : 1;
    return x->told < y->told ? -1 : x->told > y->told;
}

static void sort_from(struct order *order, uint32_t first)
{
    qsort(order->places + first, order->n - first, sizeof(order->places[0]), by_handle);
}

/* Those of one depth after those of the one before, each in order of handles. */
static void put_classes(struct order *order, uint32_t qdisc)
{
    const struct foreign_part *parts = order->from->parts;
    uint32_t handle = order->places[qdisc].part->handle, first = order->n, level = order->n;
    for (uint32_t i = 0; i < order->from->n; i++)
        if (!order->placed[i] && parts[i].what == FOREIGN_CLASS &&
            major_of(parts[i].handle) == handle &&
            (parts[i].parent == TC_H_ROOT || parts[i].parent == handle))
            put(order, i, qdisc);
    sort_from(order, first);
    while (level < order->n) {
        uint32_t end = order->n;
        for (uint32_t above = level; above < end; above++)
            for (uint32_t i = 0; i < order->from->n; i++)
                if (!order->placed[i] && parts[i].what == FOREIGN_CLASS &&
                    parts[i].parent == order->places[above].part->handle)
                    put(order, i, qdisc);
        level = end;
        sort_from(order, level);
    }
}

static void put_qdiscs(struct order *order, uint32_t parent)
{
    const struct foreign_part *parts = order->from->parts;
    uint32_t first = order->n;
    for (uint32_t i = 0; i < order->from->n; i++)
        if (!order->placed[i] && parts[i].what == FOREIGN_QDISC &&
            (parts[i].parent == TC_H_ROOT ? parent == TC_H_ROOT
                                          : major_of(parts[i].parent) == parent))
            put(order, i, order->n);
    sort_from(order, first);
}

static bool is_u32(const struct foreign_part *part)
{
    return part->what == FOREIGN_FILTER && strcmp(part->kind, "u32") == 0;
}

static bool is_table(const struct foreign_part *part)
{
    return is_u32(part) && !(part->handle & ((1u << U32_TABLE_BITS) - 1));
}

static bool same_priority(const struct foreign_part *a, const struct foreign_part *b)
{
    return a->parent == b->parent && a->chain == b->chain && a->info >> 16 == b->info >> 16;
}

static int number_of(const struct foreign_part *table)
{
    uint32_t number = table->handle >> U32_TABLE_BITS;
    return number >= U32_MADE ? (int)(number - U32_MADE) : -1;
}

int foreign_u32_root(const struct foreign *foreign, uint32_t i)
{
    const struct foreign_part *part = &foreign->parts[i];
    bool first = !i || !same_priority(part, part - 1) || part[-1].what != FOREIGN_FILTER;
    return first && is_table(part) ? number_of(part) : -1;
}

/* The kernel reports the table that it made with a priority after the priority's other tables; −1:
 * none. */
static int root_of(const struct foreign *from, const struct foreign_part *part)
{
    for (uint32_t i = from->n; i-- > 0;)
        if (is_table(&from->parts[i]) && same_priority(&from->parts[i], part))
            return number_of(&from->parts[i]);
    return -1;
}

static uint32_t link_of(const struct foreign_part *part)
{
    uint32_t link = 0;
    for (uint32_t at = 0; at + sizeof(struct nlattr) <= part->options_bytes;) {
        const struct nlattr *attr = (const void *)(part->options + at);
        if (attr->nla_len < sizeof(*attr))
            break;
        if (attr->nla_type == TCA_U32_LINK && at + sizeof(*attr) + 4 <= part->options_bytes)
            memcpy(&link, attr + 1, sizeof(link));
        at += (uint32_t)NLA_ALIGN(attr->nla_len);
    }
    return link;
}

/* A node leads to a table of its own priority, and no two priorities have one together. */
static bool is_apart(const struct foreign *from, const struct foreign_part *part)
{
    uint32_t link = is_table(part) ? 0 : link_of(part);
    bool found = !link;
    for (uint32_t i = 0; i < from->n; i++) {
        const struct foreign_part *other = &from->parts[i];
        if (!is_table(other) || major_of(other->parent) != major_of(part->parent))
            continue;
        if (other->handle == link && same_priority(other, part))
            found = true;
        if (is_table(part) && other->handle == part->handle && !same_priority(other, part))
            return false;
    }
    return found;
}

static int place_u32(struct order *order, struct place *place, struct err *err)
{
    int root = root_of(order->from, place->part);
    if (root < 0 || !is_apart(order->from, place->part))
        return err_set(err, EOPNOTSUPP,
                       "the u32 filters below %x:%x cannot be put back exactly: their tables "
                       "cannot be told apart",
                       place->part->parent >> 16, place->part->parent & 0xffff);
    bool table = is_table(place->part);
    place->root = (uint32_t)root;
    place->rank = !table ? 2 : number_of(place->part) == root ? 0 : 1;
    place->turn = table ? UINT32_MAX - place->told : place->told;
    return 0;
}

static bool newest_first(const struct foreign_part *part)
{
    return strcmp(part->kind, "basic") == 0 || strcmp(part->kind, "fw") == 0;
}

static int put_filters(struct order *order, uint32_t qdisc, struct err *err)
{
    const struct foreign_part *parts = order->from->parts;
    uint32_t handle = order->places[qdisc].part->handle;
    for (uint32_t i = 0; i < order->from->n; i++) {
        if (order->placed[i] || parts[i].what != FOREIGN_FILTER ||
            major_of(parts[i].parent) != handle)
            continue;
        put(order, i, qdisc);
        struct place *place = &order->places[order->n - 1];
        place->root = UINT32_MAX;
        place->turn = newest_first(&parts[i]) ? UINT32_MAX - i : i;
        int r = is_u32(&parts[i]) ? place_u32(order, place, err) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int compare(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

/* Tables of u32 in the order of their numbers: the kernel counts them under each qdisc. */
static int by_priority(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int r = compare(x->qdisc, y->qdisc);
    if (!r)
        r = compare(x->root, y->root);
    if (!r)
        r = compare(x->part->parent, y->part->parent);
    if (!r)
        r = compare(x->part->chain, y->part->chain);
    if (!r)
        r = compare(x->part->info, y->part->info);
    if (!r)
        r = compare(x->rank, y->rank);
    return r ? r : compare(x->turn, y->turn);
}

static int place_all(struct order *order, struct err *err)
{
    put_qdiscs(order, TC_H_ROOT);
    for (uint32_t i = 0; i < order->n; i++)
        if (order->places[i].part->what == FOREIGN_QDISC) {
            put_classes(order, i);
            put_qdiscs(order, order->places[i].part->handle);
        }
    uint32_t qdiscs = order->n;
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < qdiscs; i++)
        if (order->places[i].part->what == FOREIGN_QDISC)
            r = put_filters(order, i, err);
    if (r < 0)
        return r;
    qsort(order->places + qdiscs, order->n - qdiscs, sizeof(order->places[0]), by_priority);
    if (order->n == order->from->n)
        return 0;
    uint32_t lost = 0;
    while (order->placed[lost])
        lost++;
    const struct foreign_part *part = &order->from->parts[lost];
    return err_set(err, EOPNOTSUPP,
                   "the %s %x:%x cannot be put back exactly: it stands below nothing", part->kind,
                   part->handle >> 16, part->handle & 0xffff);
}

int foreign_order(struct foreign *foreign, struct err *err)
{
    struct order order = {.from = foreign,
                          .placed = calloc(foreign->n + 1, sizeof(*order.placed)),
                          .places = calloc(foreign->n + 1, sizeof(*order.places))};
    struct foreign_part *parts = calloc(foreign->n + 1, sizeof(*parts));
    int r = order.placed && order.places && parts ? place_all(&order, err)
                                                  : err_sys(err, ENOMEM, "what stands on a port");
    for (uint32_t i = 0; r >= 0 && i < order.n; i++)
        parts[i] = *order.places[i].part;
    if (r >= 0) {
        free(foreign->parts);
        foreign->parts = parts;
        foreign->allocated = foreign->n;
    } else {
        free(parts);
    }
    free(order.placed);
    free(order.places);
    return r;
}
