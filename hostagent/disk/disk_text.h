/* What the kernel writes of disks: /proc/diskstats and a cgroup's io.stat (version 2).
 *
 * Other lines and fields than expected are skipped, since kernels add some. Pure; O(length of the
 * text). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of a disk or partition; but for in_flight they only grow. */
struct disk_counters {
    uint64_t reads, writes; /* that it has answered */
    uint64_t read_bytes;
    uint64_t in_flight; /* asked, and not answered */
};

/* Of the device with this number; false: it is not there, or its line is cut. */
bool disk_text_stats(const char *diskstats, uint32_t major, uint32_t minor,
                     struct disk_counters *ret_counters);
/* What a cgroup has read: the most of all devices. WHY not their sum: a stack of devices counts the
 * same bytes on each. */
uint64_t disk_text_cgroup_read(const char *io_stat);
