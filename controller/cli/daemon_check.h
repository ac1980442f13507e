/* What the installed duopolyd thinks of a configuration: it is run with --check, so that a file is
 * judged by the code that would read it, for this machine, and without a controller. */
#pragma once

#include "lib/conf_keys.h"
#include "lib/err.h"

/* Waits for it. The keys have no names; the caller calls conf_keys_done. −ENOENT: there is no such
 * file, or no duopolyd beside this program; −EACCES: the file cannot be read; −EBADMSG with
 * FILE:LINE:COLUMN: it is wrong. */
int daemon_check(const char *path, struct conf_keys *ret_keys, struct err *err);
