/* What somebody else has put on a port, read from the kernel and written to it (foreign.h says what
 * it is). Blocking: an exchange for each qdisc, class and filter. */
#pragma once

#include "hostagent/queues/foreign.h"
#include "hostagent/queues/raw_nl.h"

/* In the order in which it can be put; nothing where the kernel's default stands. −EOPNOTSUPP, with
 * a sentence, for what could not be put back exactly. foreign_done is the caller's. */
int foreign_look(struct nl_sock *sock, const struct raw_list *list, struct foreign *ret_foreign,
                 struct err *err);

/* In the place of what stands on the interface, which is `list`. It ends at the first failure. */
int foreign_put(struct nl_sock *sock, const struct raw_list *list, const struct foreign *foreign,
                struct err *err);
