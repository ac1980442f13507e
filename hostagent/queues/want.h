/* What a port's queues should be, and the steps from what they are (pure).
 *
 * An egress port has ten queues in this order: control, levels 0 to 7 (0 most urgent), unmanaged.
 * They are described as a tree of classes in HTB's terms, since HTB is the first driver (qdisc.h);
 * a driver that knows no rates reads priorities and lengths only.
 *
 * Rates (HTB serves guarantees before priorities, and a leaf under its own rate does not ask its
 * parent): all leaves' rates add up to exactly the link. Every level but the first is guaranteed a
 * floor, so that a starved flow's packets keep trickling and its acknowledgements can carry a new
 * mark; level 0 gets what control, floors and the unmanaged share leave. Every ceil is the link.
 * HTB has eight `prio` values and silently cuts higher ones to 7: control shares 0 with level 0,
 * unmanaged shares 7 with level 7.
 *
 * Quanta: classes of one `prio` take turns by quantum. Control's is large and level 0's two
 * packets, so control waits for two packets at most when both borrow.
 *
 * Nothing here allocates or knows the kernel; all functions are O(classes). */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define WANT_LEVELS    8
#define WANT_QUEUES    (WANT_LEVELS + 2)
#define WANT_CLASSES   (WANT_QUEUES + 1) /* with the root class, which is the first */
#define WANT_STEPS     (1 + 3 * WANT_CLASSES)
#define WANT_MAJOR     0x0d00 /* our root qdisc is "d00:" on every port */
#define WANT_ROOT      0x1    /* minors */
#define WANT_CONTROL   0x10
#define WANT_LEVEL(l)  (0x20u + (l))
#define WANT_UNMANAGED 0x30

enum want_queue { QUEUE_CONTROL = 0, QUEUE_LEVEL0 = 1, QUEUE_UNMANAGED = WANT_QUEUES - 1 };

/* What the configuration says of a port. */
struct port_plan {
    uint64_t link_bps; /* > 0: what we shape to */
    uint32_t levels; /* 1…8. 1: all managed traffic in one queue as long as the eight together */
    uint32_t leaf_packets;       /* ≥ 1: length of each queue */
    uint32_t floor_permille;     /* of the link, for each level but the first */
    uint32_t unmanaged_permille; /* guaranteed to unmanaged traffic */
    uint32_t control_permille;
    uint32_t mtu_bytes; /* of the interface, without its Ethernet header */
};

struct port_class {
    uint16_t minor;
    uint8_t prio; /* 0…7; without meaning for the root class */
    uint64_t rate_bytes_s, ceil_bytes_s;
    uint32_t burst_bytes,
        cburst_bytes; /* how much may go at once after silence, at rate and at ceil */
    uint32_t quantum_bytes;
    uint32_t limit_packets; /* of the leaf's pfifo; 0: no leaf of ours */
};

enum port_root {
    PORT_EMPTY,   /* the kernel's default, which returns by itself */
    PORT_OURS,    /* our HTB */
    PORT_FOREIGN, /* somebody's */
};

/* A port's queues, wanted or found. Classes in order of minors, except that the root class is the
 * first. */
struct port_tree {
    enum port_root root;
    char kind[16]; /* of the root qdisc as the kernel calls it; "" when empty */
    uint32_t default_minor;
    uint32_t classes_n;
    struct port_class classes[WANT_CLASSES];
};

enum step_kind {
    STEP_ROOT,         /* put our root qdisc in the place of what is there */
    STEP_CLASS,        /* add or change `class` */
    STEP_LEAF,         /* give `class` a pfifo of limit_packets, or change its length */
    STEP_CLASS_DELETE, /* of class.minor, with its leaf */
};

struct port_step {
    enum step_kind kind;
    uint32_t default_minor; /* STEP_ROOT */
    struct port_class class;
};

/* Fills the tree that `plan` asks for. −EINVAL when shares leave less than a floor to level 0, or a
 * number is out of its range. */
int want_tree(const struct port_plan *plan, struct port_tree *ret_want, struct err *err);

/* The minor of the class that serves `queue` in a port with `levels` levels (higher levels share
 * the last). */
uint16_t want_minor(enum want_queue queue, uint32_t levels);

/* The steps that turn `have` into `want`, none when it is so already; a tree of ours is changed
 * class by class, without a gap. −EBUSY when a foreign qdisc stands there and `replace` is false:
 * nothing may be done then. `port` is for the sentence. steps[WANT_STEPS]. */
int want_steps(const char *port, const struct port_tree *want, const struct port_tree *have,
               bool replace, struct port_step *steps, uint32_t *ret_n, struct err *err);
