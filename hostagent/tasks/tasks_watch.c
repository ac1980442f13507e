/* What becomes of an attempt whose process was ordered, as its parent's socket tells it: what the
 * command says, the start, the end. The last part finds the attempts of a former agent again, by
 * their records and their parents' sockets. */
#include "hostagent/tasks/cgroup.h"
#include "hostagent/tasks/tasks_attempt.h"
#include "lib/address.h"
#include "lib/log.h"
#include "lib/now.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS 1000 /* for a parent that lives to listen to a new agent */

/* "LOCAL_ADDRESS LOCAL_PORT PEER_ADDRESS PEER_PORT". */
static bool read_key(const char *words, struct mark_flow_key *ret_key)
{
    char local[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN];
    uint16_t ports[2];
    *ret_key = (struct mark_flow_key){0};
    if (sscanf(words, "%45s %" SCNu16 " %45s %" SCNu16, local, &ports[0], peer, &ports[1]) != 4)
        return false;
    ret_key->local_port = htons(ports[0]);
    ret_key->peer_port = htons(ports[1]);
    return address_parse(local, ret_key->local) == 0 && address_parse(peer, ret_key->peer) == 0;
}

static void on_connection(struct agent_attempt *attempt, const struct attempt_said *said)
{
    struct mark_flow_key key;
    if (!attempt_runs(attempt) || !attempt->cgroup)
        return;
    if (read_key(said->addresses, &key))
        marks_connection(attempt->tasks->config.marks, attempt->cgroup, &key);
    else
        attempt->tasks->counters.ignored_words++;
}

static void on_said(struct agent_attempt *attempt, const char *text)
{
    struct tasks *tasks = attempt->tasks;
    struct attempt_said said;
    if (!attempt_may_say(attempt))
        return;
    if (attempt_parse_said(text, &said) < 0) {
        tasks->counters.ignored_words++;
        return;
    }
    switch (said.word) {
    case ATTEMPT_RECEIVED:
        if (attempt->phase != duopoly_AttemptPhase_PHASE_STARTED)
            return;
        attempt->phase = duopoly_AttemptPhase_PHASE_COMPUTING;
        marks_received(tasks->config.marks, attempt->cgroup, &attempt->received_bytes, NULL);
        attempt_tell(attempt, NULL);
        return;
    case ATTEMPT_MISSING:
        attempt_misses(attempt, &said);
        return;
    case ATTEMPT_CONNECTION:
        on_connection(attempt, &said);
        measurements_line(tasks->config.measurements, "connection %" PRIu64 " %s %" PRIu64,
                          attempt->start.attempt, said.addresses, now_ns(CLOCK_MONOTONIC));
        return;
    case ATTEMPT_STALLED:
    case ATTEMPT_FLOWS:
        attempt_speaks_of_source(attempt, &said);
        return;
    case ATTEMPT_DONE:
        return; /* its exit status follows and counts */
    }
}

/* It was done before it was ended. */
static bool is_done(const struct agent_attempt *attempt)
{
    struct attempt_status status;
    return attempt_store_status(&attempt->tasks->store, attempt->start.attempt, &status, NULL) ==
               0 &&
           status.exit_status == 0;
}

static void read_result(struct agent_attempt *attempt)
{
    struct tasks *tasks = attempt->tasks;
    uint64_t id = attempt->start.attempt;
    bool ended_here = attempt->status.exit_status != 0; /* for the reason that stands there */
    if (ended_here && !(attempt->host_fault && is_done(attempt))) {
        attempt_store_write_status(&tasks->store, id, &attempt->status, NULL);
    } else if (attempt_store_status(&tasks->store, id, &attempt->status, NULL) < 0) {
        attempt->status = (struct attempt_status){.exit_status = -SIGKILL,
                                                  .last_line = "its parent died without a status"};
        attempt_store_write_status(&tasks->store, id, &attempt->status, NULL);
        cgroup_kill(tasks->cgroup, id);
    }
    attempt->phase = attempt->status.exit_status == 0 ? duopoly_AttemptPhase_PHASE_DONE
                     : attempt->host_fault            ? duopoly_AttemptPhase_PHASE_LOST
                     : attempt->stopped               ? duopoly_AttemptPhase_PHASE_KILLED
                                                      : duopoly_AttemptPhase_PHASE_FAILED;
}

void attempt_finish(struct agent_attempt *attempt)
{
    struct tasks *tasks = attempt->tasks;
    attempt_end_reading(attempt);
    read_result(attempt);
    if (attempt->cgroup) {
        marks_received(tasks->config.marks, attempt->cgroup, &attempt->received_bytes, NULL);
        marks_end_task(tasks->config.marks, attempt->cgroup, NULL);
    }
    attempt->holds_output = attempt_store_settle_output(
        &tasks->store, &attempt->start, attempt->phase == duopoly_AttemptPhase_PHASE_DONE);
    log_debug("attempt %016" PRIx64 ": ended with %d, its record and %s wait for the controller",
              attempt->start.attempt, attempt->status.exit_status,
              attempt->holds_output ? "output" : "no output");
    if (attempt->holds_slot)
        slots_give(&tasks->slots, attempt->start.unit, &attempt->start.resources, attempt->devices);
    attempt->holds_slot = false;
    attempt_release(attempt);
    /* The cgroup stands until the result is acknowledged: its count stays where a new agent finds
     * it. */
    attempt_tell(attempt, NULL);
}

/* Its parent has gone, and with it all of the attempt. */
static void on_end(struct agent_attempt *attempt)
{
    struct tasks *tasks = attempt->tasks;
    if (attempt->phase == duopoly_AttemptPhase_PHASE_SENT) {
        attempt_on_no_start(attempt, "duopoly-task died before it came to this start");
        return;
    }
    measurements_line(tasks->config.measurements, "end %" PRIu64 " %" PRIu64,
                      attempt->start.attempt, now_ns(CLOCK_MONOTONIC));
    attempt_finish(attempt);
    tasks_run_queued(tasks);
}

/* One datagram of the parent; returns whether the attempt is still in the table. */
static bool on_parent(struct agent_attempt *attempt, const char *text)
{
    uint64_t before_ns, after_ns;
    bool waits = attempt->phase == duopoly_AttemptPhase_PHASE_SENT;
    if (strncmp(text, "said ", 5) == 0) {
        on_said(attempt, text + 5);
    } else if (waits && sscanf(text, "parent %" SCNu64 " %" SCNu64, &before_ns, &after_ns) == 2) {
        attempt_on_start(attempt, before_ns, after_ns);
    } else if (waits && strncmp(text, "failed ", 7) == 0) {
        attempt_on_no_start(attempt, text + 7);
        return false;
    }
    return true;
}

/* What has come by now, a turn of it; then perhaps the end. */
static int on_socket(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct agent_attempt *attempt = arg;
    char text[ATTEMPT_MESSAGE];
    ssize_t n = 1;
    (void)source;
    (void)events;
    for (int i = 0; i < WORDS_A_TURN; i++) {
        n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
        if (n <= 0)
            break;
        text[n] = 0;
        if (!on_parent(attempt, text))
            return 0;
    }
    if (n > 0)
        return 0;
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        on_end(attempt);
    return 0;
}

int attempt_watch(struct agent_attempt *attempt, int socket_fd, struct err *err)
{
    attempt->socket = socket_fd;
    int r = sd_event_add_io(attempt->tasks->event, &attempt->socket_source, socket_fd, EPOLLIN,
                            on_socket, attempt);
    return r < 0 ? err_sys(err, -r, "watching an attempt") : 0;
}

static int connect_parent(const char *record)
{
    char directory[FILES_PATH];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = strrchr(record, '/') + 1;
    files_path(directory, "%.*s", (int)(name - record), record);
    int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof(address.sun_path),
             "/proc/self/fd/%d/%.64s" ATTEMPT_SOCKET_END, dir, name);
    int r = dir < 0 || fd < 0 ? -1 : connect(fd, (void *)&address, sizeof(address));
    if (dir >= 0)
        close(dir);
    if (r < 0 && fd >= 0)
        close(fd);
    return r < 0 ? -1 : fd;
}

/* It listens as soon as it has seen that its agent went. */
static int find_parent(const struct agent_attempt *attempt)
{
    const struct tasks *tasks = attempt->tasks;
    const struct timespec pause = {.tv_nsec = 2000000};
    char record[FILES_PATH];
    uint64_t id = attempt->start.attempt;
    attempt_store_path(&tasks->store, id, record);
    int fd = connect_parent(record);
    for (int waited_ms = 0; fd < 0 && cgroup_has_parent(tasks->cgroup, id) && waited_ms < ANSWER_MS;
         waited_ms += 2) {
        nanosleep(&pause, NULL);
        fd = connect_parent(record);
    }
    return fd;
}

static void resume(struct agent_attempt *attempt, const struct attempt_place *place)
{
    struct tasks *tasks = attempt->tasks;
    const struct device *missing;
    char why[DEVICE_WHY];
    int fd = find_parent(attempt);
    attempt->phase = duopoly_AttemptPhase_PHASE_STARTED;
    attempt_begin_reading(attempt, true);
    if (attempt->cgroup)
        attempt_mark(attempt, NULL);
    if (fd < 0 || attempt_watch(attempt, fd, NULL) < 0) {
        attempt_finish(attempt); /* with its status if it has one, else as lost with its parent */
        return;
    }
    attempt_find_place(attempt, place, &missing);
    slots_take_found(&tasks->slots, attempt->start.unit, &attempt->start.resources,
                     attempt->devices);
    attempt->holds_slot = true;
    if (!missing && !attempt->host_fault)
        return;
    if (missing)
        snprintf(why, sizeof(why), "the device %s is not in the configuration any more",
                 missing->name);
    else
        snprintf(why, sizeof(why), "a device that it has is gone");
    attempt->host_fault = false;
    attempt_lose(attempt, why);
}

void attempt_take_over(struct tasks *tasks, uint64_t id)
{
    duopoly_Start start;
    struct attempt_place place;
    struct attempt_status status;
    enum attempt_stopped stopped;
    uint64_t cgroup = cgroup_id(tasks->cgroup, id);
    /* Its making was interrupted, so nothing ever ran; or it has no cgroup, which an attempt of
     * this boot keeps for as long as its record: it is of another boot, and nobody's any more. */
    if (attempt_store_read(&tasks->store, id, &start, &place, &stopped, NULL) < 0 || !cgroup) {
        attempt_store_remove(&tasks->store, id);
        return;
    }
    struct agent_attempt *attempt = attempt_add(tasks, &start);
    if (!attempt)
        return;
    attempt->begun = true;
    attempt->stopped = stopped == ATTEMPT_STOPPED;
    attempt->host_fault = stopped == ATTEMPT_STOPPED_BY_HOST;
    attempt->cgroup = cgroup;
    if (attempt_store_status(&tasks->store, id, &status, NULL) < 0)
        resume(attempt, &place);
    else
        attempt_finish(attempt); /* its result waits for the controller */
}
