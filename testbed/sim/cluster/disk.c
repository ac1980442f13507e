#include "testbed/sim/cluster/disk.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

void disk_init(struct disk *disk, double bytes_s, double loss)
{
    *disk = (struct disk){.bytes_s = bytes_s, .loss = loss, .next_ns = DISK_NEVER};
    LIST_INIT(&disk->readers);
}

static void pass(struct disk *disk, int64_t now_ns)
{
    double passed_s = (double)(now_ns - disk->at_ns) * 1e-9;
    struct disk_reader *reader;
    LIST_FOREACH (reader, &disk->readers, of_disk)
        reader->left_bytes = fmax(0, reader->left_bytes - reader->bytes_s * passed_s);
    disk->at_ns = now_ns;
}

/* Gives those that read no faster than an equal part what they read; true: there were some. */
static bool give_slow(struct disk *disk, double *left_bytes_s, uint32_t *left)
{
    double part = *left_bytes_s / *left;
    bool some = false;
    struct disk_reader *reader;
    LIST_FOREACH (reader, &disk->readers, of_disk) {
        if (reader->bytes_s > 0 || reader->most_bytes_s > part)
            continue;
        reader->bytes_s = reader->most_bytes_s;
        *left_bytes_s -= reader->bytes_s;
        some = true;
        if (!--*left)
            break;
    }
    return some;
}

static int64_t end_of(const struct disk_reader *reader, int64_t now_ns)
{
    double ns = ceil(reader->left_bytes / reader->bytes_s * 1e9);
    return ns < 0x1p62 ? now_ns + (int64_t)ns : DISK_NEVER - 1;
}

static void share(struct disk *disk)
{
    double left_bytes_s = disk->n ? disk->bytes_s / (1 + disk->loss * (disk->n - 1)) : 0;
    uint32_t left = disk->n;
    struct disk_reader *reader;
    LIST_FOREACH (reader, &disk->readers, of_disk)
        reader->bytes_s = 0;
    while (left && give_slow(disk, &left_bytes_s, &left))
        ;
    disk->next_ns = DISK_NEVER;
    LIST_FOREACH (reader, &disk->readers, of_disk) {
        if (reader->bytes_s <= 0)
            reader->bytes_s = left_bytes_s / left;
        reader->end_ns = end_of(reader, disk->at_ns);
        if (reader->end_ns < disk->next_ns)
            disk->next_ns = reader->end_ns;
    }
}

void disk_begin(struct disk *disk, struct disk_reader *reader, int64_t now_ns)
{
    pass(disk, now_ns);
    LIST_INSERT_HEAD(&disk->readers, reader, of_disk);
    disk->n++;
    share(disk);
}

void disk_end(struct disk *disk, struct disk_reader *reader, int64_t now_ns)
{
    pass(disk, now_ns);
    LIST_REMOVE(reader, of_disk);
    disk->n--;
    share(disk);
}

struct disk_reader *disk_over(const struct disk *disk, int64_t now_ns)
{
    struct disk_reader *reader;
    LIST_FOREACH (reader, &disk->readers, of_disk)
        if (reader->end_ns <= now_ns)
            return reader;
    return NULL;
}
