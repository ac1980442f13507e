/* What somebody else has put on a port, whole: qdiscs, classes and filters, kept as text and put
 * back so that the kernel tells of them what it told before (pure; foreign_nl.h talks to it).
 *
 * A part is kept as the bytes of its options, without what only counts, and put back by the same
 * bytes. That makes the same part again only for some kinds, and not where it names what is told
 * by number alone (a filter's action, an eBPF program): foreign_add refuses the others, and whoever
 * asked leaves the port as it is. What the kernel never tells is lost: counters, and the table of a
 * netem's distribution.
 *
 * Parts stand in the order in which they can be put: a qdisc, its classes, parents first, then what
 * stands below them, and filters last. The text has a line for each:
 *
 *     KIND HANDLE PARENT OPTIONS                     a qdisc
 *     class KIND HANDLE PARENT OPTIONS
 *     filter KIND HANDLE PARENT INFO CHAIN OPTIONS
 *
 * Numbers and options are hexadecimal, "-" stands for no options. Bounds: FOREIGN_PARTS parts of
 * FOREIGN_OPTIONS bytes. O(parts²) at worst in ordering, for a tree of one port. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define FOREIGN_PARTS   8192
#define FOREIGN_OPTIONS 4096
#define FOREIGN_KIND    16

enum foreign_what { FOREIGN_QDISC, FOREIGN_CLASS, FOREIGN_FILTER };

struct foreign_part {
    enum foreign_what what;
    char kind[FOREIGN_KIND];
    uint32_t handle, parent;
    uint32_t info, chain; /* of a filter: its priority and protocol as the kernel has them */
    uint32_t options_bytes;
    uint8_t *options; /* owned by the tree */
};

struct foreign {
    struct foreign_part *parts; /* in the order in which they were told, or can be put */
    uint32_t n, room;
};

/* Zeros are an empty tree. Takes what foreign_look and foreign_read filled. */
void foreign_done(struct foreign *foreign);

/* Copies `part` behind the others, without its counters. A class that its qdisc makes by itself is
 * left out. −EOPNOTSUPP with what it is and why it could not be put back; −E2BIG: too many. */
int foreign_add(struct foreign *foreign, const struct foreign_part *part, struct err *err);

/* Whether the part's options are attributes and must say so when they are put (NLA_F_NESTED; the
 * kernel tells of them without): ets refuses them else (Linux 5.6). */
bool foreign_has_attributes(const struct foreign_part *part);

/* Whether classes of this kind of qdisc are somebody's work, with filters of their own. */
bool foreign_has_classes(const char *kind);

/* The order in which they can be put. −EOPNOTSUPP: there is none. */
int foreign_order(struct foreign *foreign, struct err *err);

/* The caller owns the text (free). */
int foreign_write(const struct foreign *foreign, char **ret_text, struct err *err);
/* −EINVAL: it is none. */
int foreign_read(const char *text, struct foreign *ret_foreign, struct err *err);

/* Turns what the kernel told of a qdisc's options into what makes it tell that again: CoDel's times
 * are rounded down on both ways (net/codel.h, Linux 3.5 and later). In place. */
void foreign_options_to_put(struct foreign_part *part);

/* Part `i` in the order of putting: the number of the u32 table that the kernel makes with its
 * priority, which depends on how many it has made before below that qdisc; −1: it is no such
 * table, but one part more to be put. */
int foreign_u32_root(const struct foreign *foreign, uint32_t i);
