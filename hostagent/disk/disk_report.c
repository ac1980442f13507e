#include "hostagent/disk/disk_report.h"

__extension__ typedef unsigned __int128 wide;

#define SECOND UINT64_C(1000000000)

void disk_asked_add(struct disk_asked *asked, uint64_t bytes_s)
{
    asked->bytes_s = bytes_s < UINT64_MAX - asked->bytes_s ? asked->bytes_s + bytes_s : UINT64_MAX;
    asked->readers++;
}

/* The read rate of the last second. */
static void follow_rate(struct disk_health *health, uint64_t now_ns, uint64_t read_bytes)
{
    uint64_t ns = now_ns - health->window_ns;
    if (ns < SECOND && health->known)
        return;
    if (health->known && read_bytes >= health->window_bytes)
        health->read_bytes_s = (uint64_t)((wide)(read_bytes - health->window_bytes) * SECOND / ns);
    health->window_ns = now_ns;
    health->window_bytes = read_bytes;
}

void disk_health_add(struct disk_health *health, uint64_t now_ns,
                     const struct disk_counters *counters)
{
    const struct disk_counters *last = &health->last;
    bool answers = !health->known || !counters->in_flight || counters->reads != last->reads ||
                   counters->writes != last->writes;
    follow_rate(health, now_ns, counters->read_bytes);
    if (answers)
        health->answered_ns = now_ns;
    health->hangs = now_ns - health->answered_ns >= DISK_HANGS_NS;
    health->last = *counters;
    health->known = true;
}

static uint32_t permille_of(uint64_t asked_bytes_s, uint64_t disk_bytes_s)
{
    wide permille = (wide)asked_bytes_s * 1000 / disk_bytes_s;
    return permille < UINT32_MAX ? (uint32_t)permille : UINT32_MAX;
}

bool disk_report_set(struct disk_report *report, const struct disk_asked *asked,
                     const struct disk_health *health)
{
    bool congested = report->congested, hangs = report->now.hangs;
    report->now = (struct disk_said){permille_of(asked->bytes_s, report->disk_bytes_s),
                                     asked->readers, health->hangs, health->read_bytes_s};
    report->congested =
        report->now.permille > (congested ? DISK_CLEARED_PERMILLE : DISK_CONGESTED_PERMILLE);
    return report->congested != congested || report->now.hangs != hangs;
}

bool disk_report_tell(struct disk_report *report, uint64_t now_ns, struct disk_said *ret_said)
{
    const struct disk_said *now = &report->now, *told = &report->told;
    bool news = !report->told_ns || now->permille != told->permille ||
                now->readers != told->readers || now->hangs != told->hangs ||
                now_ns - report->told_ns >= DISK_TELL_NS;
    if (!news)
        return false;
    report->told = *ret_said = *now;
    report->told_ns = now_ns;
    return true;
}

void disk_report_forget(struct disk_report *report)
{
    report->told_ns = 0;
}
