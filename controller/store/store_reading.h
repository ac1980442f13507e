/* A store that can be read but not written: a start on a full disk, or on a file system that became
 * read-only. What runs is served from what is there, and nothing on the disk is touched, not even
 * SQLite's index of the log, until writing works.
 *
 * The file is read by a connection without locks, which is safe while the folder is locked by us alone
 * (epoch.h), and is closed before one that writes is opened: closing any descriptor of a file ends this
 * process's locks on it. */
#pragma once

#include "controller/store/store_file.h"

/* After store_file_open_whole failed with `why`: −errno with why it cannot be read either. A store of
 * an older version cannot be read so: it has to be brought up to date first. */
int store_reading_open(const char *path, const struct store_schema *schema,
                       const struct store_commit *known, const struct err *why,
                       struct store_file **ret_file, struct err *err);
/* Why it is only read; NULL: it is written. */
const struct err *store_reading_why(const struct store_file *file);
/* Opens it for writing; until then it can be neither read nor written any more. 0: it is written. */
int store_reading_end(struct store_file *file, struct err *err);
