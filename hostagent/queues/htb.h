/* Translates a wanted port to HTB classes, and computes the steps from the present classes (pure).
 *
 * Rates (HTB serves guarantees before priorities, and a leaf under its own rate does not ask its
 * parent): all leaves' rates add up to exactly the link. A queue's rate is its floor, or one byte a
 * second without a floor; level 0 gets the rest. Every ceil is the link's rate. HTB has eight
 * `prio` values and silently cuts higher ones to 7: control shares 0 with level 0, unmanaged 7 with
 * level 7.
 *
 * Quanta: classes of one `prio` take turns by quantum. Control's is large and level 0's two
 * packets, so control waits for two packets at most when both borrow.
 *
 * Nothing here allocates or knows the kernel; all functions are O(classes). */
#pragma once

#include "hostagent/queues/leaf.h"
#include "hostagent/queues/qdisc.h"

#define HTB_CLASSES (PORT_TRAFFIC + 1) /* with the root class, which is the first */
#define HTB_STEPS   (1 + 3 * HTB_CLASSES)
#define HTB_ROOT    0xff /* the root class; the others are QDISC_MINOR */

struct htb_class {
    uint16_t minor;
    uint8_t prio; /* 0…7; without meaning for the root class */
    uint64_t rate_bytes_s, ceil_bytes_s;
    uint32_t burst_bytes, cburst_bytes; /* burst after silence, at rate and at ceil */
    uint32_t quantum_bytes;
    struct leaf leaf;
};

/* Classes, wanted or found; wanted ones in order of minors, after the root class. */
struct htb_tree {
    uint32_t default_minor;
    uint32_t classes_n;
    struct htb_class classes[HTB_CLASSES];
};

enum htb_step_kind {
    HTB_STEP_ROOT,         /* replace the root qdisc by ours */
    HTB_STEP_CLASS,        /* add or change `class` */
    HTB_STEP_LEAF,         /* add `class`'s leaf, or change it */
    HTB_STEP_CLASS_DELETE, /* delete class.minor and its leaf */
};

struct htb_step {
    enum htb_step_kind kind;
    uint32_t default_minor; /* HTB_STEP_ROOT */
    struct htb_class class;
};

void htb_tree_of(const struct port *want, struct htb_tree *ret_tree);

/* Returns the number of steps that turn `have` into `want`, 0 if they are equal; a tree is changed
 * class by class, without a gap. `have` NULL: no tree of ours. steps[HTB_STEPS]. */
uint32_t htb_steps(const struct htb_tree *want, const struct htb_tree *have,
                   struct htb_step *steps);
