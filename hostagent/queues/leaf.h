/* The qdisc that holds one queue's packets, below the scheduler (pure).
 *
 * A queue that marks is a red with ECN; one that does not is a pfifo. The red marks by the current
 * length, as DCTCP needs it (its paper, 3.4): no average, no probability, one threshold. Packets
 * that cannot carry ECN wait as in a pfifo (TC_RED_NODROP, Linux 5.7). Its length is in bytes: the
 * queue's packets at the MTU, or a millisecond of the link if that is more, since a host's own
 * packets are up to 64 KiB. */
#pragma once

#include "lib/port/port.h"

#include <stddef.h>

#define LEAF_STAB 256 /* bytes of a red's table of idle times */

struct leaf {
    uint32_t limit;      /* packets of a pfifo, bytes of a red; 0: no leaf of ours */
    uint32_t mark_bytes; /* a red marks above this; 0: a pfifo */
};

struct leaf leaf_of(const struct port *port, const struct port_queue *queue);
/* In words: "pfifo of 100 packets". */
void leaf_say(const struct leaf *leaf, char *text, size_t size);
bool leaf_equal(const struct leaf *a, const struct leaf *b);

/* A red's options, as written to and read from the kernel (linux/pkt_sched.h). */
struct tc_red_qopt;
void leaf_red_options(const struct leaf *leaf, struct tc_red_qopt *ret_options,
                      uint8_t ret_stab[LEAF_STAB]);
/* Zeros if it marks differently from ours. */
struct leaf leaf_of_red(const struct tc_red_qopt *options);
