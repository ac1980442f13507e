/* Sends one small packet to a neighbour and sees whether it answers.
 *
 * The packet is a datagram of 8 bytes to the discard port (RFC 863), which does not leave the link.
 * A neighbour without a server on that port answers "port unreachable"; one that filters does not.
 * The packet's priority is MARK_PROBE, by which the marking programs recognize it; they leave its
 * bytes alone. */
#pragma once

#include "hostagent/marks/neighbours_nl.h"
#include "lib/err.h"

#include <stdbool.h>

/* Sends through this interface; the caller owns *ret_sock (close). Does not block. −errno: nothing
 * was sent. */
int echo_send(const char *port, const struct neighbour *to, int *ret_sock, struct err *err);

/* Whether an answer has come; *ret_lost: the neighbour did not resolve, so the packet was never
 * sent. */
bool echo_has_come(int sock, bool *ret_lost);
