#include "hostagent/task/outputs.h"

#include "hostagent/task/child.h"
#include "hostagent/task/rights.h"
#include "lib/attempt.h"
#include "lib/beneath.h"
#include "lib/log.h"
#include "lib/now.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLEAR_STEPS    (1u << 24) /* entries; the next one goes on */
#define CLEAR_NS       60000000000ull
#define CLEAR_NICENESS 10

static int running = -1; /* the process that clears */
static uint64_t began_ns;
static char asked[ATTEMPT_ORDER];

static bool has_entry(int attempts, const char *name)
{
    return faccessat(attempts, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* WHY the record first: it becomes the other entry. */
static bool is_stray(int attempts, const char *name)
{
    uint64_t job, attempt;
    uint32_t stage, task;
    char record[32];
    if (!attempt_parse_output(name, &job, &stage, &task, &attempt))
        return false;
    snprintf(record, sizeof(record), "%016" PRIx64, attempt);
    return !has_entry(attempts, record) && !has_entry(attempts, name);
}

/* Entries with an output's name that are no outputs: commands may write this folder. */
static void let_strays_go(int outputs)
{
    int attempts = openat(outputs, "../attempts", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = beneath_open(outputs, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = attempts < 0 || fd < 0 ? NULL : fdopendir(fd);
    uint32_t looks = 0;
    for (struct dirent *entry; dir && looks++ < CLEAR_STEPS && (entry = readdir(dir));)
        if (is_stray(attempts, entry->d_name))
            beneath_put_aside(outputs, entry->d_name, ATTEMPT_GONE);
    if (dir)
        closedir(dir);
}

/* Only the agent may write the path to the folder. */
static int clear(const char *folder, const struct task_settings *settings, struct err *err)
{
    int r = rights_become(settings->uid, settings->gid);
    if (r < 0)
        return err_sys(err, -r, "becoming the commands' user");
    int outputs = beneath_root(folder, err);
    if (outputs < 0)
        return outputs;
    if (faccessat(outputs, "../" ATTEMPT_LISTED, F_OK, 0) == 0)
        let_strays_go(outputs);
    r = beneath_clear(outputs, ATTEMPT_GONE, CLEAR_STEPS, err);
    return r < 0 ? err_prefix(err, "clearing %s", folder) : 0;
}

static void begin(const struct task_settings *settings)
{
    struct err err = {0};
    pid_t pid = fork();
    if (pid == 0) {
        child_be_ordinary();
        setpriority(PRIO_PROCESS, 0, CLEAR_NICENESS);
        int r = clear(asked, settings, &err);
        if (r < 0)
            log_error(LOG_FAULT_PEER, "%s", err.text);
        _exit(r < 0);
    }
    running = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    began_ns = now_ns(CLOCK_MONOTONIC);
    if (pid < 0)
        log_error(LOG_FAULT_US, "clearing %s: %s", asked, strerror(errno));
    *asked = 0;
}

void outputs_clear(const char *folder, const struct task_settings *settings)
{
    snprintf(asked, sizeof(asked), "%s", folder);
    if (running < 0)
        begin(settings);
    else if (now_ns(CLOCK_MONOTONIC) - began_ns >= CLEAR_NS)
        syscall(SYS_pidfd_send_signal, running, SIGKILL, NULL, 0);
}

void outputs_await(int fd, const struct task_settings *settings)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.events = POLLIN}};
    do {
        fds[1].fd = running;
        if (poll(fds, 2, -1) < 0 || !fds[1].revents)
            continue;
        close(running);
        running = -1;
        if (*asked)
            begin(settings);
    } while (!fds[0].revents);
}
