#include "hostagent/disk/disk_text.h"

#include "lib/number.h"

#include <stddef.h>
#include <string.h>

enum { SECTOR = 512 };

/* The number behind blanks; returns what follows it, or NULL: there is none. */
static const char *take(const char *at, uint64_t *ret_number)
{
    return number_take(at + strspn(at, " "), UINT64_MAX, ret_number);
}

/* NULL: it was the last one. */
static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : NULL;
}

/* The kernel's Documentation/admin-guide/iostats.rst: reads, merged ones, sectors, ms; the same of
 * writes; in flight. */
static bool take_counters(const char *at, struct disk_counters *ret_counters)
{
    uint64_t fields[9];
    for (int i = 0; i < 9; i++)
        if (!(at = take(at, &fields[i])))
            return false;
    uint64_t sectors = fields[2] < UINT64_MAX / SECTOR ? fields[2] : UINT64_MAX / SECTOR;
    *ret_counters = (struct disk_counters){.reads = fields[0],
                                           .writes = fields[4],
                                           .read_bytes = sectors * SECTOR,
                                           .in_flight = fields[8]};
    return true;
}

bool disk_text_stats(const char *diskstats, uint32_t major, uint32_t minor,
                     struct disk_counters *ret_counters)
{
    for (const char *line = diskstats; line; line = next_line(line)) {
        uint64_t numbers[2];
        const char *at = take(line, &numbers[0]);
        if (!at || !(at = take(at, &numbers[1])) || numbers[0] != major || numbers[1] != minor)
            continue;
        at += strspn(at, " ");
        return take_counters(at + strcspn(at, " \n"), ret_counters); /* behind its name */
    }
    return false;
}

uint64_t disk_text_cgroup_read(const char *io_stat)
{
    static const char word[] = " rbytes=";
    uint64_t most = 0, bytes;
    for (const char *at = io_stat; (at = strstr(at, word));) {
        at += sizeof(word) - 1;
        if (number_take(at, UINT64_MAX, &bytes) && bytes > most)
            most = bytes;
    }
    return most;
}
