/* A wanted port in mqprio's terms (pure): traffic classes of transmit queues that the NIC itself
 * serves.
 *
 * Traffic class 0 is the least urgent, as in 802.1Q; there are as many as wanted queues. A packet
 * gets its class in two ways: from the last four bits of its skb->priority, where each kind of
 * traffic has QDISC_MINOR, and, in NICs that trust code points, from the DCB entry of its DSCP,
 * whose priority is the class. */
#pragma once

#include "hostagent/queues/dcb_nl.h"
#include "lib/port/port.h"

#include <linux/pkt_sched.h>

/* The content of TCA_OPTIONS: the options and their padding. */
union mqprio_options {
    struct tc_mqprio_qopt options;
    uint8_t bytes[(sizeof(struct tc_mqprio_qopt) + 3) / 4 * 4];
};

/* 1 to 8 classes; `tx_queues` is at least as many. Classes get equal shares of them, the most
 * urgent one the remainder. */
void mqprio_options(const struct port *want, uint32_t tx_queues,
                    struct tc_mqprio_qopt *ret_options);
/* All 64 code points have an entry; those that are not the site's are unmanaged. */
void mqprio_entries(const struct port *want, struct dcb_table *ret_table);
/* The most urgent traffic that a class serves; −1: none. */
int mqprio_first(const struct tc_mqprio_qopt *options, uint32_t class);
