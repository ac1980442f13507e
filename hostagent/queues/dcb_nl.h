/* Maps code points to priorities: the "dscp-prio" entries of a port's DCB application table (IEEE
 * 802.1Qaz; rtnetlink's RTM_GETDCB and RTM_SETDCB, Linux 3.1; libnl has none of it).
 *
 * Messages are those of `dcb app`, byte for byte. Functions that talk to the kernel block for one
 * exchange. −EOPNOTSUPP: the port's driver has no such table. */
#pragma once

#include "lib/err.h"

#include <netlink/netlink.h>
#include <stdbool.h>
#include <stdint.h>

#define DCB_CODE_POINTS 64
#define DCB_PRIORITIES  8
#define DCB_NONE        0xff

struct dcb_table {
    uint8_t priority_of[DCB_CODE_POINTS]; /* 0…7; DCB_NONE: there is no entry */
};

int dcb_read(struct nl_sock *sock, const char *port, struct dcb_table *ret_table, struct err *err);

/* Removes the entries that differ or are superfluous, then adds the missing ones. */
int dcb_write(struct nl_sock *sock, const char *port, const struct dcb_table *want,
              const struct dcb_table *have, struct err *err);

/* The message that sets (or removes) the entries of `table`; the caller owns it (nlmsg_free). NULL:
 * no memory. */
struct nl_msg *dcb_message(const char *port, bool remove, const struct dcb_table *table);
/* Reads entries from an answer. */
void dcb_take(struct nl_msg *answer, struct dcb_table *table);
