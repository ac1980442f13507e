/* Writes a tar file (POSIX.1-1988, ustar): a new one, which only its owner may read, of a bounded
 * size.
 *
 * WHY not libarchive: every run of duopolyctl would load it, and what it needs, for one command;
 * what is written here is files of plain names, which is one header of 512 bytes. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_NAME_MAX 99

struct tar;

/* −EEXIST: there is something at `path`. `most_bytes`: of all contents together. */
int tar_create(const char *path, uint64_t most_bytes, struct tar **ret_tar, struct err *err);

/* How many bytes of contents there is still room for. */
uint64_t tar_room(const struct tar *tar);

/* Adds a file of this name (at most TAR_NAME_MAX bytes), whole, whatever room there is. */
int tar_add(struct tar *tar, const char *name, const char *bytes, size_t n, struct err *err);
/* The same, of what `fd` has from its beginning, at most `most_bytes` of it, and no more than there
 * is room for: *ret_bytes, which is less than `fd` has (*ret_cut) where that was more. What becomes
 * shorter meanwhile is filled with zeros. */
int tar_add_file(struct tar *tar, const char *name, int fd, uint64_t most_bytes,
                 uint64_t *ret_bytes, bool *ret_cut, struct err *err);

/* Ends it: it is on the disk then; or removes it (`keep` false, or after an error). */
int tar_close(struct tar *tar, bool keep, struct err *err);
