/* What attempts read from the host's disk: counted in turn, and summed up.
 *
 * An attempt's cgroup counts it where the io controller is on (hostagent/tasks/cgroup.h enables no
 * controller; where the subtree has it, its attempts do); else its processes do, if their counters
 * may be read, as root may. Where neither is so its profile alone says what it asks. */
#include "hostagent/tasks/tasks_attempt.h"
#include "lib/now.h"
#include "lib/number.h"

#include <inttypes.h>

enum { TEXT = 4096, PROCESSES = 64 /* of one attempt that are looked at */ };

static bool read_text(const struct agent_attempt *attempt, const char *below, char text[TEXT])
{
    char path[FILES_PATH];
    files_path(path, "%s/%016" PRIx64 "%s", attempt->tasks->cgroup, attempt->start.attempt, below);
    return files_read(path, text, TEXT, NULL, NULL) >= 0;
}

static bool count_process(uint64_t pid, uint64_t *ret_bytes)
{
    char path[FILES_PATH], text[TEXT];
    files_path(path, "/proc/%" PRIu64 "/io", pid);
    return files_read(path, text, sizeof(text), NULL, NULL) >= 0 &&
           disk_text_process_read(text, ret_bytes);
}

/* Of those that live: what an ended child has read its parent has, once it has waited for it. */
static bool count_processes(const char *pids, uint64_t *ret_bytes)
{
    uint64_t sum = 0, pid, bytes;
    bool any = false;
    for (int i = 0; i < PROCESSES && (pids = number_take(pids, UINT32_MAX, &pid)); i++) {
        if (count_process(pid, &bytes)) {
            sum = bytes < UINT64_MAX - sum ? sum + bytes : UINT64_MAX;
            any = true;
        }
        pids += *pids == '\n';
    }
    *ret_bytes = sum;
    return any;
}

/* False: nobody counts, or nobody may look. */
static bool count(const struct agent_attempt *attempt, uint64_t *ret_bytes)
{
    char text[TEXT];
    if (read_text(attempt, "/io.stat", text)) {
        *ret_bytes = disk_text_cgroup_read(text);
        return true;
    }
    return read_text(attempt, "/task/cgroup.procs", text) && count_processes(text, ret_bytes);
}

static void look(struct agent_attempt *attempt, uint64_t now)
{
    uint64_t bytes;
    if (count(attempt, &bytes))
        disk_reading_count(&attempt->reading, now, bytes);
}

void attempt_begin_reading(struct agent_attempt *attempt, bool found)
{
    const duopoly_Profile *said = &attempt->start.profile;
    struct profile profile = {said->read_bytes, said->read_bytes_s, said->before, said->compute_ns};
    if (!attempt->start.has_profile || profile_check(&profile, NULL) < 0)
        profile = (struct profile){0};
    disk_reading_begin(&attempt->reading, &profile, now_ns(CLOCK_MONOTONIC), found);
    attempt->tasks->reading_moved = true;
}

void attempt_end_reading(struct agent_attempt *attempt)
{
    uint64_t now = now_ns(CLOCK_MONOTONIC);
    if (!attempt->reading.began_ns)
        return; /* it was over when this agent began */
    if (attempt->tasks->config.counts_disk)
        look(attempt, now);
    disk_reading_end(&attempt->reading, now);
    attempt->tasks->reading_moved = true;
}

void tasks_count_reading(struct tasks *tasks)
{
    struct agent_attempt key = {.start.attempt = tasks->read_next};
    struct agent_attempt *attempt = RB_NFIND(attempt_tree, &tasks->attempts, &key);
    uint64_t now = now_ns(CLOCK_MONOTONIC);
    uint32_t looks = 0;
    for (uint32_t steps = 0; steps < tasks->attempts_n && looks < TASKS_READ_LOOKS; steps++) {
        if (!attempt)
            attempt = RB_MIN(attempt_tree, &tasks->attempts);
        if (attempt_runs(attempt)) {
            look(attempt, now);
            looks++;
        }
        attempt = RB_NEXT(attempt_tree, &tasks->attempts, attempt);
    }
    tasks->read_next = attempt ? attempt->start.attempt : 0;
}

bool tasks_reading_moved(const struct tasks *tasks)
{
    return tasks->reading_moved;
}

struct disk_asked tasks_asked(struct tasks *tasks)
{
    struct disk_asked asked = {0};
    uint64_t now = now_ns(CLOCK_MONOTONIC), bytes_s;
    struct agent_attempt *attempt;
    RB_FOREACH (attempt, attempt_tree, &tasks->attempts)
        if (attempt_runs(attempt) && disk_reading_asks(&attempt->reading, now, &bytes_s))
            disk_asked_add(&asked, bytes_s);
    tasks->reading_moved = false;
    return asked;
}
