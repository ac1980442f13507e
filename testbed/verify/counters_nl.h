/* What a port's queues have counted, as our HTB says it (libnl). */
#pragma once

#include "lib/err.h"
#include "testbed/verify/hops.h"

/* `where` as netns_do takes it. −ENODATA: no HTB of ours is there, with a sentence. */
int counters_read(const char *where, struct hops_counters *ret_counters, struct err *err);
