#include "hostagent/cgroup.h"
#include "hostagent/tasks_attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS 1000 /* a parent's first word to a new agent */

/* ---- what the parent says ---- */

static void on_missing(struct attempt *attempt, const struct attempt_said *said)
{
    struct tasks *tasks = attempt->tasks;
    const duopoly_OutputLost lost = {.job = attempt->start.job,
                                     .stage = said->stage,
                                     .task = said->task,
                                     .attempt = said->attempt};
    if (attempt->lost_n < ATTEMPT_LOST)
        attempt->lost[attempt->lost_n++] = lost;
    tasks->handler.on_output_lost(tasks->handler.user, &lost);
}

static void on_said(struct attempt *attempt, const char *text)
{
    struct tasks *tasks = attempt->tasks;
    struct attempt_said said;
    if (attempt_parse_said(text, &said) < 0) {
        tasks->counters.ignored_words++;
        return;
    }
    switch (said.word) {
    case ATTEMPT_RECEIVED:
        if (attempt->phase != duopoly_AttemptPhase_PHASE_STARTED)
            return;
        attempt->phase = duopoly_AttemptPhase_PHASE_COMPUTING;
        tasks->config.mark_driver->received(tasks->config.mark, attempt->cgroup,
                                            &attempt->received_bytes, NULL);
        attempt_tell(attempt, NULL);
        return;
    case ATTEMPT_MISSING:
        on_missing(attempt, &said);
        return;
    case ATTEMPT_CONNECTION:
        journal_line(tasks->config.journal, "connection %" PRIu64 " %s %" PRIu64,
                     attempt->start.attempt, said.addresses, journal_now_ns());
        return;
    case ATTEMPT_DONE:
        return; /* its exit status follows and counts */
    }
}

/* One datagram; false at the end of the connection. */
static bool read_parent(struct attempt *attempt)
{
    char text[ATTEMPT_MESSAGE];
    ssize_t n = recv(attempt->socket, text, sizeof(text) - 1, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    text[n] = 0;
    if (strncmp(text, "said ", 5) == 0)
        on_said(attempt, text + 5);
    return true;
}

static int on_socket(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    (void)fd;
    (void)events;
    if (!read_parent(arg))
        sd_event_source_set_enabled(source, SD_EVENT_OFF); /* the pidfd tells the rest */
    return 0;
}

/* ---- the end ---- */

static void read_result(struct attempt *attempt)
{
    struct tasks *tasks = attempt->tasks;
    uint64_t id = attempt->start.attempt;
    if (attempt_store_status(&tasks->store, id, &attempt->status, NULL) < 0) {
        attempt->status = (struct attempt_status){.exit_status = -SIGKILL,
                                                  .last_line = "its parent died without a status"};
        attempt_store_write_status(&tasks->store, id, &attempt->status, NULL);
        cgroup_kill(tasks->cgroup, id);
    }
    attempt->stopped = attempt->stopped || attempt_store_stopped(&tasks->store, id);
    attempt->phase = attempt->status.exit_status == 0 ? duopoly_AttemptPhase_PHASE_DONE
                     : attempt->stopped               ? duopoly_AttemptPhase_PHASE_KILLED
                                                      : duopoly_AttemptPhase_PHASE_FAILED;
}

void attempt_finish(struct attempt *attempt)
{
    struct tasks *tasks = attempt->tasks;
    const struct mark_driver *driver = tasks->config.mark_driver;
    uint64_t id = attempt->start.attempt;
    read_result(attempt);
    if (attempt->cgroup) {
        driver->received(tasks->config.mark, attempt->cgroup, &attempt->received_bytes, NULL);
        driver->task_end(tasks->config.mark, attempt->cgroup, NULL);
        nudge_forget(tasks->config.nudge, attempt->cgroup);
    }
    attempt_store_settle_output(&tasks->store, &attempt->start,
                                attempt->phase == duopoly_AttemptPhase_PHASE_DONE);
    if (attempt->holds_slot)
        slots_give(&tasks->slots, attempt->start.unit, &attempt->start.resources);
    attempt->holds_slot = false;
    attempt_tell(attempt, NULL);
    /* What only the next agent needs is done while the message is on its way. As long as the cgroup
     * stands, another agent would count and tell again. */
    if (attempt->cgroup)
        attempt_store_write_counted(&tasks->store, id, attempt->cgroup, attempt->received_bytes);
    attempt->cgroup_left = !cgroup_remove(tasks->cgroup, id);
    attempt_release(attempt);
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct attempt *attempt = arg;
    struct tasks *tasks = attempt->tasks;
    siginfo_t info;
    (void)source;
    (void)events;
    journal_line(tasks->config.journal, "end %" PRIu64 " %" PRIu64, attempt->start.attempt,
                 journal_now_ns());
    waitid(P_PIDFD, (id_t)fd, &info,
           WEXITED | WNOHANG); /* fails for a former agent's child, which init reaps */
    while (attempt->socket >= 0 &&
           recv(attempt->socket, &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT) > 0 &&
           read_parent(attempt))
        ;
    attempt_finish(attempt);
    tasks_run_queued(tasks);
    return 0;
}

int attempt_watch(struct attempt *attempt, int pidfd, int socket_fd, struct err *err)
{
    sd_event *event = attempt->tasks->event;
    attempt->pidfd = pidfd;
    attempt->socket = socket_fd;
    int r = sd_event_add_io(event, &attempt->end_source, pidfd, EPOLLIN, on_end, attempt);
    if (r >= 0)
        r = sd_event_add_io(event, &attempt->socket_source, socket_fd, EPOLLIN, on_socket, attempt);
    return r < 0 ? err_sys(err, -r, "watching an attempt") : 0;
}

/* ---- taking over ---- */

static int connect_parent(struct attempt *attempt)
{
    char directory[FILES_PATH];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    attempt_store_path(&attempt->tasks->store, attempt->start.attempt, "", directory);
    int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir,
             ATTEMPT_SOCKET_FILE);
    int r = dir < 0 || fd < 0 ? -1 : connect(fd, (void *)&address, sizeof(address));
    if (dir >= 0)
        close(dir);
    if (r < 0 && fd >= 0)
        close(fd);
    return r < 0 ? -1 : fd;
}

/* The parent's process: who listens there, and answers as the parent of a process that is the one
 * it says. */
static int ask_parent(int fd, int *ret_pidfd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char text[ATTEMPT_MESSAGE];
    int pid;
    uint64_t ticks;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return -errno;
    int pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
    if (pidfd < 0)
        return -errno;
    ssize_t n =
        poll(&wait, 1, ANSWER_MS) == 1 ? recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) : -1;
    text[n > 0 ? n : 0] = 0;
    /* The command itself may have ended meanwhile; if its number lives, it must be the same
     * process. */
    if (sscanf(text, "parent %d %" SCNu64, &pid, &ticks) != 2 ||
        (attempt_start_ticks(pid) != 0 && attempt_start_ticks(pid) != ticks)) {
        close(pidfd);
        return -ESRCH;
    }
    *ret_pidfd = pidfd;
    return 0;
}

static void resume(struct attempt *attempt)
{
    int pidfd = -1, fd = connect_parent(attempt);
    struct tasks *tasks = attempt->tasks;
    attempt->phase = duopoly_AttemptPhase_PHASE_STARTED;
    if (attempt->cgroup)
        attempt_mark(attempt, NULL);
    if (fd < 0 || ask_parent(fd, &pidfd) < 0 || attempt_watch(attempt, pidfd, fd, NULL) < 0) {
        if (fd >= 0 && attempt->socket < 0)
            close(fd);
        attempt_finish(attempt); /* with its status if it has one, else as lost with its parent */
        return;
    }
    slots_take(&tasks->slots, attempt->start.unit, &attempt->start.resources);
    attempt->holds_slot = true;
    attempt->stopped = attempt_store_stopped(&tasks->store, attempt->start.attempt);
}

/* An end that the agent before us saw: its result waits for the controller. */
static void take_over_ended(struct attempt *attempt)
{
    struct tasks *tasks = attempt->tasks;
    uint64_t id = attempt->start.attempt;
    read_result(attempt);
    attempt_store_read_counted(&tasks->store, id, &attempt->cgroup, &attempt->received_bytes);
    attempt->cgroup_left = !cgroup_remove(tasks->cgroup, id);
}

void attempt_take_over(struct tasks *tasks, uint64_t id)
{
    duopoly_Start start;
    struct attempt_status status;
    if (attempt_store_read_start(&tasks->store, id, &start, NULL) < 0) {
        attempt_store_remove(&tasks->store, id); /* its making was interrupted: nothing ever ran */
        return;
    }
    struct attempt *attempt = attempt_add(tasks, &start);
    if (!attempt)
        return;
    attempt->cgroup = cgroup_id(tasks->cgroup, id);
    if (attempt_store_status(&tasks->store, id, &status, NULL) < 0)
        resume(attempt);
    else if (attempt->cgroup)
        attempt_finish(attempt);
    else
        take_over_ended(attempt);
}
