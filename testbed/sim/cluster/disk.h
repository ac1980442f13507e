/* A host's disk, which all that read share.
 *
 * Readers get equal parts of its rate, each at most the rate at which it would read alone; what one
 * leaves goes to the others. Each reader beyond the first costs a part of the whole, since the head
 * moves between them: with n of them there is bytes_s ÷ (1 + loss · (n − 1)). These are not the
 * formulas of any placement, so that a placement's prediction can be wrong.
 *
 * Pure; O(readers²) a change where they are many and unlike, O(readers) where they are alike. The
 * caller owns disks and readers; times never go back. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#define DISK_NEVER INT64_MAX

struct disk_reader {
    double left_bytes;
    double most_bytes_s; /* > 0; INFINITY: as fast as the disk */
    double bytes_s;      /* that it gets now */
    int64_t end_ns;      /* when it has read all, as things are */
    LIST_ENTRY(disk_reader) of_disk;
};

struct disk {
    double bytes_s; /* > 0 */
    double loss;    /* ≥ 0 */
    uint32_t n;
    int64_t at_ns;   /* left_bytes are as of then */
    int64_t next_ns; /* when the first reader has read all; DISK_NEVER: there is none */
    LIST_HEAD(, disk_reader) readers;
};

void disk_init(struct disk *disk, double bytes_s, double loss);
/* A reader with left_bytes and most_bytes_s comes; goes, whatever it has read. */
void disk_begin(struct disk *disk, struct disk_reader *reader, int64_t now_ns);
void disk_end(struct disk *disk, struct disk_reader *reader, int64_t now_ns);
/* One that has read all by now; NULL: none (more). It is still there. */
struct disk_reader *disk_over(const struct disk *disk, int64_t now_ns);
