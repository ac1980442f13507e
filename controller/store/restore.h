/* Beginning with a backup: before the store is opened, in the place of what is there. */
#pragma once

#include "lib/err.h"

/* Checks the backup (each row) and puts a copy of it at `path`; what was there stays beside it as
 * PATH.before-restore. Either all of it or nothing; the backup is not touched. Nobody has the store
 * open. −EEXIST: there is one before-restore already. */
int store_restore(const char *backup, const char *path, struct err *err);
