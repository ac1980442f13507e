/* Starts from a backup: replaces the store before it is opened. */
#pragma once

#include "lib/err.h"

#include "controller/store/revival.h"

/* Checks each row of the backup and puts a copy of it at `path`, with the keys of the former store,
 * which is kept as PATH.before-restore; reports first what this revives. All or nothing; the backup
 * is not changed. Nobody may have the store open. −EEXIST: there is a before-restore already. */
int store_restore(const char *backup, const char *path, const struct revival_say *say,
                  struct err *err);
/* Reports what that would revive, and changes nothing. */
int store_restore_look(const char *backup, const char *path, const struct revival_say *say,
                       struct err *err);
