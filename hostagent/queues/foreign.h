/* Saves what somebody else has configured on a port (qdiscs, classes and filters) as text, and
 * restores it so that the kernel reports it as before (pure; foreign_nl.h talks to the kernel).
 *
 * A part is kept as the bytes of its options, without counters, and restored from the same bytes.
 * That works only for some kinds, and not where options refer to something by number (a filter's
 * action, an eBPF program): foreign_add refuses these, and the caller leaves the port as it is.
 * What the kernel does not report is lost: counters, and the distribution table of a netem.
 *
 * Parts are in the order in which they can be restored: a qdisc, its classes (parents first), then
 * what is below them, and filters last. The text has a line for each:
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
    struct foreign_part *parts; /* in the order in which they were read, or can be restored */
    uint32_t n, allocated;
};

/* Zeros are an empty tree. Frees what foreign_look and foreign_read filled. */
void foreign_done(struct foreign *foreign);

/* Appends a copy of `part`, without its counters. A class that its qdisc makes by itself is left
 * out. −EOPNOTSUPP, saying which part and why it could not be restored; −E2BIG: too many. */
int foreign_add(struct foreign *foreign, const struct foreign_part *part, struct err *err);

/* Whether the part's options are attributes that must be flagged when they are written
 * (NLA_F_NESTED; the kernel reports them without it): otherwise ets refuses them (Linux 5.6). */
bool foreign_has_attributes(const struct foreign_part *part);

/* Whether others configure classes of this kind of qdisc, with filters of their own. */
bool foreign_has_classes(const char *kind);

/* Sorts the parts into the order in which they can be restored. −EOPNOTSUPP: there is none. */
int foreign_order(struct foreign *foreign, struct err *err);

/* The caller owns the text (free). */
int foreign_write(const struct foreign *foreign, char **ret_text, struct err *err);
/* −EINVAL: this is not such a text. */
int foreign_read(const char *text, struct foreign *ret_foreign, struct err *err);

/* Converts a qdisc's options as the kernel reports them to options that make it report the same
 * again: CoDel's times are rounded down in both directions (net/codel.h, Linux 3.5 and later). In
 * place. */
void foreign_options_to_put(struct foreign_part *part);

/* Part `i` in order: the number of the u32 table that the kernel makes with its priority, which
 * depends on how many it has made before below that qdisc; −1: it is not such a table, but a part
 * to restore. */
int foreign_u32_root(const struct foreign *foreign, uint32_t i);
