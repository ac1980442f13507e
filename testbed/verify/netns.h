/* Opens things in another network namespace: a socket stays in the namespace in which it was
 * made. */
#pragma once

#include "lib/err.h"

/* `where`: NAME in this network namespace, or NAME@FILE in the one that the file is (/run/netns/…),
 * which needs CAP_SYS_ADMIN. Calls work(NAME, context, err) there and returns. Its result, or
 * −errno with a sentence. One thread. */
int netns_do(const char *where, int (*work)(const char *name, void *context, struct err *err),
             void *context, struct err *err);
