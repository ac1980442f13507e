/* What the disk below a folder does, as /proc/diskstats counts it: looked at every DISK_LOOK_NS.
 *
 * The device is that of the folder's file system. One without a block device of its own (tmpfs,
 * overlay, btrfs with several disks) has none here. A look never waits for the disk. */
#pragma once

#include "hostagent/disk/disk_report.h"
#include "lib/err.h"

#define DISK_LOOK_NS UINT64_C(500000000)

struct disk_watch;

/* −ENODEV with a sentence: no block device is below it. Waits for the disk if the kernel does not
 * know the folder. */
int disk_watch_open(const char *folder, struct disk_watch **ret_watch, struct err *err);
void disk_watch_close(struct disk_watch *watch); /* takes NULL */
/* As it is now, borrowed; of NULL: nothing is known. */
const struct disk_health *disk_watch_look(struct disk_watch *watch, uint64_t now_ns);
