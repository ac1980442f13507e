/* Small files of the agent's state: whole, or not there.
 *
 * A file is written beside its place and renamed into it, so a reader finds the old or the new
 * contents, also after a crash of the program (not of the machine: nothing is synced, since a host
 * that boots again is a new generation to the controller). Blocking; no state. */
#pragma once

#include "lib/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FILES_PATH 512 /* bytes of a path, with its NUL */
/* What files_path makes of one that is longer: no file, and words where its name is said. A cut path
 * would be another file's. */
#define FILES_TOO_LONG "/dev/null/a-path-is-longer-than-511-bytes"

/* Formats a path; a longer one is cut, so its use fails with ENOENT or ENAMETOOLONG. */
__attribute__((format(printf, 2, 3))) void files_path(char path[FILES_PATH], const char *format,
                                                      ...);

int files_write(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err);

/* The same, where `twin` has these contents by files_write already: then as a second name of it, if
 * it still stands there and the file system can; many new files cost far more than many names (ext4). */
int files_write_twin(const char *path, const char *twin, const void *bytes, size_t n, mode_t mode,
                     struct err *err);

/* The same for a few bytes, always as many: in their place, so that a full file system takes them where
 * they stood before. One write: a crash of the program leaves the old or the new ones, or an empty
 * file the first time. */
int files_overwrite(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err);

/* Reads at most size − 1 bytes and ends them with NUL; −EFBIG when the file is longer. `ret_n` may
 * be NULL. */
int files_read(const char *path, char *buffer, size_t size, size_t *ret_n, struct err *err);

/* All of a file of at most `most` bytes, ended with NUL; the caller owns it (free). −EFBIG when it is
 * longer. */
int files_read_whole(const char *path, size_t most, char **ret_text, struct err *err);

/* Makes the directory and what is missing above it, with `mode`; one that exists stays as it is. */
int files_make_dirs(const char *path, mode_t mode, struct err *err);

/* −EROFS with a sentence: in the directory, or in what is there above it, nothing can be written, since its
 * file system is read-only or its disk fails. Leaves nothing there. */
int files_check_writable(const char *path, struct err *err);

/* Calls `each` for every entry whose name is an attempt: 16 hexadecimal digits. A missing directory
 * is −ENOENT, with `err` filled. */
int files_each_attempt(const char *directory, void (*each)(void *user, uint64_t attempt),
                       void *user, struct err *err);
