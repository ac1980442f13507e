/* What processes have read from disks, as the kernel counts it in /proc/PID/io: of another user's
 * processes only root may look, and who goes to files as that user. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of a process and the children that it has waited for; false: the text does not say. Other lines
 * are skipped. Pure. */
bool process_io_parse(const char *io, uint64_t *ret_bytes);

enum { PROCESS_IO_MOST = 64 /* of a list that are looked at */ };

/* Of all processes of the list, their numbers in decimal and a newline after each, which live and
 * may be looked at; false: there is none. Of an ended child its parent says it, once it has waited
 * for it. At most UINT64_MAX. O(PROCESS_IO_MOST) small files. */
bool process_io_sum(const char *pids, uint64_t *ret_bytes);
