/* The host's disk: what is asked of it and what it does becomes a part of the reports of load. */
#include "hostagent/agent_parts.h"
#include "lib/log.h"
#include "lib/now.h"

/* WHY a disk that is not found keeps nobody from running: what is asked of it is known all the
 * same. */
int agent_open_disk(struct agent_parts *agent, struct err *err)
{
    const struct agent_settings *settings = agent->settings;
    (void)err;
    struct err why = {0};
    agent->disk_report.disk_bytes_s = (uint64_t)settings->disk_bytes_s;
    if (settings->disk_folder[0] &&
        disk_watch_open(settings->disk_folder, &agent->disk_watch, &why) < 0)
        log_warning(LOG_FAULT_CONFIGURATION,
                    "what the disk does is not watched, nor whether it hangs: %s", why.text);
    return 0;
}

void agent_close_disk(struct agent_parts *agent)
{
    disk_watch_close(agent->disk_watch);
}

/* When it begins and when it ends. */
static void say_hangs(const struct agent_parts *agent, bool before)
{
    const char *folder = agent->settings->disk_folder;
    if (agent->disk_report.now.hangs == before)
        return;
    if (before)
        log_note("the disk below %s answers again", folder);
    else
        log_warning(LOG_FAULT_CONFIGURATION,
                    "the disk below %s has answered nothing for %d s, though it was asked", folder,
                    (int)(DISK_HANGS_NS / 1000000000));
}

bool agent_look_at_disk(struct agent_parts *agent, bool due)
{
    if (!agent->disk_report.disk_bytes_s || !agent->tasks)
        return false;
    if (!due && !tasks_reading_moved(agent->tasks))
        return false;
    if (due)
        tasks_count_reading(agent->tasks);
    const struct disk_asked asked = tasks_asked(agent->tasks);
    bool hung = agent->disk_report.now.hangs;
    bool crossed = disk_report_set(&agent->disk_report, &asked,
                                   disk_watch_look(agent->disk_watch, now_ns(CLOCK_MONOTONIC)));
    say_hangs(agent, hung);
    return crossed;
}

void agent_tell_disk(struct agent_parts *agent, duopoly_Load *load)
{
    struct disk_said said;
    if (!agent->disk_report.disk_bytes_s ||
        !disk_report_tell(&agent->disk_report, now_ns(CLOCK_MONOTONIC), &said))
        return;
    load->has_disk_permille = true;
    load->disk_permille = said.permille;
    load->disk_readers = said.readers;
    load->disk_hangs = said.hangs;
    load->disk_read_bytes_s = said.read_bytes_s;
}
