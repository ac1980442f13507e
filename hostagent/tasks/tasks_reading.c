/* What attempts read from the host's disk: counted in turn, and summed up.
 *
 * An attempt's cgroup counts it where the io controller is on (hostagent/tasks/cgroup.h enables no
 * controller; where the subtree has it, its attempts do); else its processes do. Their counters may
 * be read by root, or by duopoly-task's counter where a service manager started that
 * (hostagent/tasks/counting.h). Where nothing is so its profile alone says what it asks. */
#include "hostagent/tasks/tasks_attempt.h"
#include "lib/now.h"
#include "lib/process_io.h"

#include <inttypes.h>

/* WHY that: a counter takes as many. */
enum { TEXT = ATTEMPT_COUNT_REQUEST - 32 };

static bool read_text(const struct agent_attempt *attempt, const char *below, char text[TEXT])
{
    char path[FILES_PATH];
    files_path(path, "%s/%016" PRIx64 "%s", attempt->tasks->cgroup, attempt->start.attempt, below);
    return files_read(path, text, TEXT, NULL, NULL) >= 0;
}

static void look(struct agent_attempt *attempt, uint64_t now)
{
    char text[TEXT];
    uint64_t bytes;
    if (read_text(attempt, "/io.stat", text))
        disk_reading_count(&attempt->reading, now, disk_text_cgroup_read(text));
    else if (!read_text(attempt, "/task/cgroup.procs", text) || !*text)
        return; /* nobody is there */
    else if (process_io_sum(text, &bytes))
        disk_reading_count(&attempt->reading, now, bytes);
    else
        counting_ask(attempt->tasks->counting, attempt->start.attempt, text);
}

void tasks_take_count(void *user, uint64_t id, uint64_t bytes)
{
    struct agent_attempt *attempt = tasks_find_attempt(user, id);
    if (attempt && attempt_runs(attempt))
        disk_reading_count(&attempt->reading, now_ns(CLOCK_MONOTONIC), bytes);
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
