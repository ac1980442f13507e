/* A store that can be read but not written: a start on a full disk, or on a file system that became
 * read-only. The controller works from what is there, and nothing on the disk is changed, not even
 * SQLite's index of the log, until writing works.
 *
 * The file is read by a connection without locks, which is safe since we hold the folder's lock
 * (epoch.h). That connection is closed before one that writes is opened: closing any descriptor of
 * a file ends this process's locks on it. */
#pragma once

#include "controller/store/store_file.h"

/* After store_file_open_whole failed with `why`. −errno with the reason why it cannot be read
 * either. A store of an older version cannot be read this way: it must be migrated first. */
int store_reading_open(const char *path, const struct store_schema *schema,
                       const struct store_commit *known, const struct err *why,
                       struct store_file **ret_file, struct err *err);
/* Why it is only read; NULL: it is writable. */
const struct err *store_reading_why(const struct store_file *file);
/* Opens it for writing; during the call it can be neither read nor written. 0: it is writable. */
int store_reading_end(struct store_file *file, struct err *err);
