/* Small files of the agent's state: whole, or not there.
 *
 * A file is written beside its place and renamed, so a reader finds the old or the new contents,
 * also after a crash of the program. (Not of the machine: nothing is synced, since to the
 * controller a rebooted host is a new generation.) Blocking; no state. */
#pragma once

#include "lib/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FILES_PATH 512 /* bytes of a path, with its NUL */
/* The result of files_path for a longer path: a path that cannot exist and names the reason. A cut
 * path would be another file's. */
#define FILES_TOO_LONG "/dev/null/a-path-is-longer-than-511-bytes"

/* Formats a path; a longer one is cut, so its use fails with ENOENT or ENAMETOOLONG. */
__attribute__((format(printf, 2, 3))) void files_path(char path[FILES_PATH], const char *format,
                                                      ...);

int files_write(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err);

/* The same, but if files_write gave `twin` these contents, makes a second name of that file,
 * provided it still exists and the file system can: on ext4 many new files cost far more than many
 * names. */
int files_write_twin(const char *path, const char *twin, const void *bytes, size_t n, mode_t mode,
                     struct err *err);

/* The same for a few bytes, always as many: overwrites them in place, so it also works on a full
 * file system. One write: after a crash of the program the old or the new bytes are there, or an
 * empty file the first time. */
int files_overwrite(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err);

/* Reads at most size − 1 bytes and ends them with NUL; −EFBIG when the file is longer. `ret_n` may
 * be NULL. */
int files_read(const char *path, char *buffer, size_t size, size_t *ret_n, struct err *err);

/* All of a file of at most `most` bytes, ended with NUL; the caller owns it (free). −EFBIG when it
 * is longer. */
int files_read_whole(const char *path, size_t most, char **ret_text, struct err *err);

/* Makes the directory and what is missing above it, with `mode`; one that exists stays as it is. */
int files_make_dirs(const char *path, mode_t mode, struct err *err);

/* −EROFS with a sentence: nothing can be written in the directory, or in the nearest existing one
 * above it, since its file system is read-only or its disk fails. Leaves nothing there. */
int files_check_writable(const char *path, struct err *err);

/* Calls `each` for every entry whose name is an attempt: 16 hexadecimal digits. A missing directory
 * is −ENOENT, with `err` filled. */
int files_each_attempt(const char *directory, void (*each)(void *user, uint64_t attempt),
                       void *user, struct err *err);
