/* One small packet of our own to a neighbour, and whether it answers.
 *
 * A datagram of 8 bytes to the discard port (RFC 863), which goes no further than the link: a neighbour
 * without a server there answers that the port is unreachable, one that filters does not. Its priority
 * is MARK_PROBE, by which the marking programs know it; they leave its bytes alone. */
#pragma once

#include "hostagent/marks/neighbours_nl.h"
#include "lib/err.h"

#include <stdbool.h>

/* Out by this interface; *ret_sock is the caller's (close). Does not block. −errno: nothing left. */
int echo_send(const char *port, const struct neighbour *to, int *ret_sock, struct err *err);

/* Whether an answer has come; *ret_lost: the neighbour was not there, so the packet never left. */
bool echo_has_come(int sock, bool *ret_lost);
