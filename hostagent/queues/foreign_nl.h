/* Reads what somebody else has configured on a port from the kernel, and restores it (foreign.h).
 * Blocking: one exchange for each qdisc, class and filter. */
#pragma once

#include "hostagent/queues/foreign.h"
#include "hostagent/queues/raw_nl.h"

/* In the order in which it can be restored; empty if the kernel's default is there. −EOPNOTSUPP,
 * with a sentence, for what could not be restored exactly. The caller calls foreign_done. */
int foreign_look(struct nl_sock *sock, const struct raw_list *list, struct foreign *ret_foreign,
                 struct err *err);

/* Replaces what is on the interface, which is `list`. Stops at the first failure. */
int foreign_put(struct nl_sock *sock, const struct raw_list *list, const struct foreign *foreign,
                struct err *err);
