/* Listens on a Unix socket at a path. */
#pragma once

#include "lib/err.h"

#include <sys/stat.h>
#include <sys/types.h>

/* Listens at `path` with `type` (SOCK_SEQPACKET or SOCK_STREAM), replacing a socket file without a
 * listener; −EADDRINUSE if there is one. The file gets `mode` and `group` ((gid_t)-1: unchanged).
 * *ret_fd does not block; whoever closes it removes the file. */
int unix_listen(const char *path, int type, gid_t group, mode_t mode, int *ret_fd, struct err *err);

/* Returns (gid_t)-1 if no group has this name. */
gid_t unix_group(const char *name);
