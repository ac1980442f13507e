/* The counters of the queues of a duopoly-fastpath's ports, from its control socket. */
#pragma once

#include "lib/err.h"
#include "testbed/verify/hops.h"

/* −ENODATA: it has no port of that name; else as client.h. */
int counters_fastpath_read(const char *socket, const char *port, struct hops_counters *ret_counters,
                           struct err *err);
