/* What the drivers of the kernel's queues share: a routing socket, the kernel's abilities, what was
 * on a port before, leaves, counters.
 *
 * The kernel's abilities are tried once, when a port's facts are first asked for, on an interface
 * that is made for it and removed at once (scratch_nl.h): neither a version nor a list of modules
 * shows them. A root qdisc is ours by its handle and kind, whichever of our drivers made it.
 *
 * Functions that talk to the kernel block for one exchange each and return libnl's errors if they
 * take no `err`. */
#pragma once

#include "hostagent/queues/leaf.h"
#include "hostagent/queues/qdisc.h"
#include "hostagent/queues/raw_nl.h"

#define KERNEL_HOLD 0x0d0f /* "d0f:": the tbf above a scheduler that does not shape */

/* The state of each of these drivers. */
struct qdisc {
    struct raw raw;
    struct qdisc_site site;
    bool tried;
    uint32_t can; /* bits of enum kernel_kind */
};

/* Qdiscs that drivers need from the kernel. */
enum kernel_kind {
    KERNEL_HTB = 1,
    KERNEL_PRIO = 2,
    KERNEL_ETS = 4,
    KERNEL_TBF = 8,
    KERNEL_MQPRIO = 32,
    KERNEL_RED = 16, /* with ECN, and without dropping what cannot carry it */
};

int kernel_open(struct qdisc **ret_qdisc, struct err *err);
void kernel_close(struct qdisc *qdisc);

void kernel_tell(struct qdisc *qdisc, const struct qdisc_site *site);

/* Bits of enum kernel_kind: what this kernel supports. */
int kernel_can(struct qdisc *qdisc, uint32_t *ret_kinds, struct err *err);

/* −EOPNOTSUPP, naming the modules, if this kernel lacks one of `kinds`. */
int kernel_needs(struct qdisc *qdisc, uint32_t kinds, struct err *err);

/* Facts of a port with queues in software: any number, strict, marking if the kernel has red. */
int kernel_facts(struct qdisc *qdisc, const char *port, struct port_facts *ret_facts,
                 struct err *err);

bool kernel_is_ours(const struct raw_qdisc *root);

bool kernel_is_own(const struct qdisc *qdisc, uint32_t port_id);
int kernel_look(struct qdisc *qdisc, struct err *err);
void kernel_look_away(struct qdisc *qdisc);
int kernel_record(struct qdisc *qdisc, const char *port, char **ret_text, struct err *err);
void kernel_clean(struct qdisc *qdisc);
int kernel_restore(struct qdisc *qdisc, const char *port, const char *text, bool begun,
                   struct err *err);

/* By class: all schedulers use the same minors. */
int kernel_stats(struct qdisc *qdisc, const char *port, struct qdisc_stats *ret_stats,
                 struct err *err);
/* By the reds below the classes. */
int kernel_marks(struct qdisc *qdisc, const char *port, struct qdisc_stats *stats, struct err *err);

/* What all drivers of the kernel's schedulers have alike. */
#define KERNEL_DRIVER                                                                              \
    .open = kernel_open, .close = kernel_close, .is_own = kernel_is_own, .look = kernel_look,      \
    .look_away = kernel_look_away, .clean = kernel_clean

struct kernel_place {
    int ifindex;
    uint32_t parent, handle;
};

/* Adds a qdisc, or changes the one with this handle, which must be of the same kind. */
int kernel_put(struct qdisc *qdisc, const struct kernel_place *place, const char *kind,
               const void *options, size_t bytes);
/* The same with the attributes that a message contains; borrowed. */
int kernel_put_attrs(struct qdisc *qdisc, const struct kernel_place *place, const char *kind,
                     struct nl_msg *attrs);
/* The root qdisc of the driver htb. */
int htb_put_root(struct qdisc *qdisc, int ifindex, uint32_t default_minor);
int kernel_delete_root(struct qdisc *qdisc, int ifindex);

/* Puts the leaf below a class, replacing what is there. */
int kernel_put_leaf(struct qdisc *qdisc, int ifindex, uint32_t class, const struct leaf *leaf);
/* Zeros if there is no leaf of ours. */
struct leaf kernel_leaf_below(const struct raw_list *list, uint32_t class);
