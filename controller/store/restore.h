/* Beginning with a backup: before the store is opened, in the place of what is there. */
#pragma once

#include "lib/err.h"

#include "controller/store/revival.h"

/* Checks the backup (each row) and puts a copy of it at `path`, with the keys of what was there, which
 * stays beside it as PATH.before-restore; says what it revives first. Either all of it or nothing; the
 * backup is not touched. Nobody has the store open. −EEXIST: there is one before-restore already. */
int store_restore(const char *backup, const char *path, const struct revival_say *say,
                  struct err *err);
/* Says what that would revive, and changes nothing. */
int store_restore_look(const char *backup, const char *path, const struct revival_say *say,
                       struct err *err);
