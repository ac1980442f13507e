/* Opening what belongs to another network namespace: a socket stays in the one that it was made in. */
#pragma once

#include "lib/err.h"

/* Where something is: NAME of this network namespace, or NAME@FILE of the one that the file is
 * (/run/netns/…), which takes CAP_SYS_ADMIN. Calls work(NAME, context, err) there and comes back.
 * Its result, or −errno with a sentence. One thread. */
int netns_do(const char *where, int (*work)(const char *name, void *context, struct err *err),
             void *context, struct err *err);
