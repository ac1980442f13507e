/* Waiting at a daemon's start for what a machine may get later: an interface that is made by another
 * service, a link that is still down. WHY the daemon and not its service manager alone: a manager gives
 * up, or starts it again and again and tells nobody for what. */
#pragma once

#include "lib/err.h"

/* Calls `there` now, and each second while it says −ENODEV (no such device), −ENETDOWN (it is not up
 * yet) or −EROFS (a read-only file system; for AWAIT_READ_ONLY_S: a service manager that starts it again
 * then shows it the mounts anew). Each new sentence is logged once; the service manager is told that the daemon runs and what it
 * waits for, and its watchdog is fed. What `there` said at last; −ECANCELED: it was asked to end. */
enum { AWAIT_READ_ONLY_S = 60 };
int await(int (*there)(void *user, struct err *err), void *user, struct err *err);
