/* Waits, when a daemon starts, for what the machine may get later: an interface that another
 * service makes, a link that is still down. WHY in the daemon: a service manager gives up, or
 * restarts the daemon again and again without saying what it waits for. */
#pragma once

#include "lib/err.h"

/* Calls `there` now, and again each second while it returns −ENODEV (no such device), −ENETDOWN
 * (not up yet) or −EROFS (read-only file system). It waits at most AWAIT_READ_ONLY_S for −EROFS: a
 * restart by the service manager may then bring new mounts. Each new sentence is logged once. The
 * service manager is told that the daemon runs and what it waits for, and its watchdog is fed.
 * Returns what `there` returned last; −ECANCELED if the daemon was asked to end. */
enum { AWAIT_READ_ONLY_S = 60 };
int await(int (*there)(void *user, struct err *err), void *user, struct err *err);
