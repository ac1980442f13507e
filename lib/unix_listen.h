/* A Unix socket that is listened on at a path. */
#pragma once

#include "lib/err.h"

#include <sys/stat.h>
#include <sys/types.h>

/* Listens at `path` with `type` (SOCK_SEQPACKET or SOCK_STREAM), replacing a socket there that nobody
 * listens on; −EADDRINUSE if somebody does. The file gets `mode` and, but for (gid_t)-1, `group`.
 * Nothing blocks on *ret_fd; who closes it removes the file. */
int unix_listen(const char *path, int type, gid_t group, mode_t mode, int *ret_fd, struct err *err);

/* (gid_t)-1: there is no group of this name. */
gid_t unix_group(const char *name);
