/* The counters of a port's queues, from our HTB (libnl). */
#pragma once

#include "lib/err.h"
#include "testbed/verify/hops.h"

/* `where` as in netns_do. −ENODATA, with a sentence: there is no HTB of ours. */
int counters_read(const char *where, struct hops_counters *ret_counters, struct err *err);
