/* What a task reads from its host's disk: bytes of a file there, which stands for its blocks.
 *
 * The kernel's cache is by-passed (O_DIRECT); where the file system cannot, what is read is dropped
 * from it first. A chunk is asked for when the one before has come, and no sooner than the task's
 * lone rate allows. So of several that read each has one chunk in the disk's queue, and all get
 * equal parts, each at most its lone rate.
 *
 * The disk's own rate is limited elsewhere: by the kernel's block-I/O controller, or by a meter, a
 * file that all tasks of a host share (schemas/devices.md). Blocking; one thread. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { BLOCKS_UNIT = 4096 /* bytes; only whole ones are read */ };

struct blocks;

/* `meter`: its file, NULL: none; `bytes_s`: the lone rate, > 0; `place`: any number, of which the
 * place where it begins to read follows. The caller closes it. −errno with a sentence. */
int blocks_open(const char *path, const char *meter, uint64_t bytes_s, uint64_t place,
                struct blocks **ret_blocks, struct err *err);
void blocks_close(struct blocks *blocks); /* takes NULL */

/* Reads on until `until` bytes have been read in all; 0 or −errno with a sentence. */
int blocks_read(struct blocks *blocks, uint64_t until, struct err *err);

/* Writes a line into that file: what was read, and what the kernel counted of it. */
int blocks_write_down(int fd, const struct blocks *blocks, struct err *err);
