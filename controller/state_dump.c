#include "controller/state_dump.h"

#include "controller/recording/recording_dump.h"
#include "lib/log.h"
#include "lib/now.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS_USEC UINT64_C(1000)

struct state_dump {
    sd_event *loop;
    const struct clock *clock;
    struct recording_dump writing;
    void (*ready)(void *user, uint64_t taker);
    void *user;
    uint64_t taker; /* 0: nobody takes it */
    uint64_t taken; /* so many bytes */
    bool awaited;   /* the taker waits for `ready` */
    bool preparing; /* it is not begun yet: memory is not ready for the fork */
    pid_t child;    /* 0: it has ended, with this status */
    int status;
    int pipe, process; /* −1: closed */
    sd_event_source *on_pipe, *on_process, *on_time, *on_pages;
    uint64_t begun_usec, free_usec; /* CLOCK_MONOTONIC: since when, and when the next may begin */
    struct err given_up;            /* code ≠ 0: why, for the taker */
};

static uint64_t now_usec(void)
{
    return now_ns(CLOCK_MONOTONIC) / 1000;
}

static void source_drop(sd_event_source **source)
{
    *source = sd_event_source_disable_unref(*source);
}

static void pipe_close(struct state_dump *dump)
{
    source_drop(&dump->on_pipe);
    if (dump->pipe >= 0)
        close(dump->pipe);
    dump->pipe = -1;
}

static void child_end(struct state_dump *dump)
{
    pipe_close(dump);
    if (dump->child)
        kill(dump->child, SIGKILL);
}

/* Nobody takes it any more. The child's end is waited for by on_child. */
static void forget(struct state_dump *dump)
{
    child_end(dump);
    dump->taker = dump->taken = 0;
    dump->awaited = dump->preparing = false;
    sd_event_source_set_enabled(dump->on_time, SD_EVENT_OFF);
}

static void tell(struct state_dump *dump)
{
    if (!dump->awaited)
        return;
    dump->awaited = false;
    dump->ready(dump->user, dump->taker);
}

static void arm(struct state_dump *dump)
{
    const uint64_t pause = now_usec() + STATE_DUMP_PAUSE_MS * MS_USEC,
                   end = dump->begun_usec + STATE_DUMP_MS * MS_USEC;
    sd_event_source_set_time(dump->on_time, pause < end ? pause : end);
    sd_event_source_set_enabled(dump->on_time, SD_EVENT_ONESHOT);
}

/* ---- what happens ---- */

static int on_bytes(sd_event_source *source, int fd, uint32_t events, void *user)
{
    (void)fd, (void)events;
    sd_event_source_set_enabled(source, SD_EVENT_OFF);
    tell(user);
    return 0;
}

static int on_child(sd_event_source *source, int fd, uint32_t events, void *user)
{
    struct state_dump *dump = user;
    (void)source, (void)events;
    if (waitpid(dump->child, &dump->status, WNOHANG) != dump->child)
        return 0;
    dump->child = 0;
    source_drop(&dump->on_process);
    close(fd);
    dump->process = -1;
    if (dump->pipe < 0)
        tell(dump);
    return 0;
}

static int on_late(sd_event_source *source, uint64_t usec, void *user)
{
    struct state_dump *dump = user;
    (void)source, (void)usec;
    if (!dump->awaited) {
        forget(dump);
        return 0;
    }
    err_set(&dump->given_up, ETIMEDOUT,
            "the child that writes the state was ended, as it wrote nothing for %d s or not all "
            "in %d s: ask again",
            STATE_DUMP_PAUSE_MS / 1000, STATE_DUMP_MS / 1000);
    dump->preparing = false;
    child_end(dump);
    tell(dump);
    return 0;
}

/* ---- its begin ---- */

static int may_begin(const struct state_dump *dump, struct err *err)
{
    const uint64_t now = now_usec();
    if (dump->taker)
        return err_set(err, EBUSY, "the state is being told to somebody else: ask again");
    if (dump->child)
        return err_set(err, EBUSY, "the child that wrote the last state ends: ask again");
    if (now < dump->free_usec)
        return err_set(err, EBUSY,
                       "the state was told just now, and is told again in %" PRIu64 " ms at the "
                       "earliest: ask again",
                       (dump->free_usec - now) / MS_USEC + 1);
    return 0;
}

/* The child is told of by on_child, and its bytes, when somebody waits for them, by on_bytes. */
static int sources_add(struct state_dump *dump)
{
    dump->process = (int)syscall(SYS_pidfd_open, dump->child, 0);
    int r = dump->process < 0 ? -errno
                              : sd_event_add_io(dump->loop, &dump->on_process, dump->process,
                                                EPOLLIN, on_child, dump);
    if (r >= 0)
        r = sd_event_add_io(dump->loop, &dump->on_pipe, dump->pipe, EPOLLIN, on_bytes, dump);
    return r < 0 ? r : sd_event_source_set_enabled(dump->on_pipe, SD_EVENT_OFF);
}

/* WHY it waits: without on_child nobody else would, and a child that is killed at its begin ends at
 * once. */
static void child_undo(struct state_dump *dump)
{
    child_end(dump);
    source_drop(&dump->on_process);
    if (dump->process >= 0)
        close(dump->process);
    dump->process = -1;
    while (dump->child && waitpid(dump->child, NULL, 0) < 0 && errno == EINTR)
        continue;
    dump->child = 0;
}

static int child_begin(struct state_dump *dump)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    pid_t child = recording_dump_fork_state(&dump->writing, ends[1], clock_now_ns(dump->clock));
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return child;
    }
    dump->pipe = ends[0];
    dump->child = child;
    dump->free_usec = now_usec() + STATE_DUMP_SHARE * dump->writing.fork_ns / 1000;
    return sources_add(dump);
}

static int child_try(struct state_dump *dump)
{
    struct err slow;
    int r = child_begin(dump);
    if (r < 0)
        child_undo(dump);
    else if (recording_dump_was_slow(&dump->writing, &slow))
        log_warning(LOG_FAULT_US, "%s", slow.text);
    return r;
}

/* The taker may be gone; who comes next finds memory ready. */
static int on_pages(sd_event_source *source, int fd, uint32_t events, void *user)
{
    struct state_dump *dump = user;
    (void)source, (void)fd, (void)events;
    if (!recording_pages_ready(&dump->writing.pages) || !dump->preparing)
        return 0;
    dump->preparing = false;
    int r = child_try(dump);
    if (r < 0)
        err_sys(&dump->given_up, -r, "the state cannot be written");
    arm(dump);
    tell(dump);
    return 0;
}

int state_dump_begin(struct state_dump *dump, uint64_t taker, struct err *err)
{
    state_dump_leave(dump, taker);
    int r = may_begin(dump, err);
    if (r < 0)
        return r;
    dump->preparing = !recording_pages_ready(&dump->writing.pages);
    if (!dump->preparing && (r = child_try(dump)) < 0)
        return err_sys(err, -r, "the state cannot be written");
    dump->taker = taker;
    dump->given_up.code = 0;
    dump->begun_usec = now_usec();
    arm(dump);
    return 0;
}

int state_dump_open(sd_event *loop, const struct engine *engine, const struct clock *clock,
                    void (*ready)(void *user, uint64_t taker), void *user,
                    struct state_dump **ret_dump, struct err *err)
{
    struct state_dump *dump = calloc(1, sizeof(*dump));
    if (!dump)
        return err_sys(err, ENOMEM, "the state");
    dump->loop = loop;
    dump->clock = clock;
    dump->ready = ready;
    dump->user = user;
    dump->pipe = dump->process = -1;
    /* A parent may have set it to ignored, and then a child could not be waited for. */
    signal(SIGCHLD, SIG_DFL);
    int r = recording_dump_init(&dump->writing, engine);
    if (r == 0)
        r = sd_event_add_io(loop, &dump->on_pages, dump->writing.pages.ended, EPOLLIN, on_pages,
                            dump);
    if (r >= 0)
        r = sd_event_add_time(loop, &dump->on_time, CLOCK_MONOTONIC, 0, MS_USEC, on_late, dump);
    if (r >= 0)
        r = sd_event_source_set_enabled(dump->on_time, SD_EVENT_OFF);
    if (r < 0) {
        state_dump_close(dump);
        return err_sys(err, -r, "the state");
    }
    *ret_dump = dump;
    return 0;
}

/* ---- its pieces ---- */

bool state_dump_goes_on(const struct state_dump *dump, uint64_t taker, uint64_t taken)
{
    return dump->taker == taker && dump->taken == taken;
}

/* > 0, 0: the pipe has been read to its end, or −EAGAIN. */
static ssize_t pipe_read(struct state_dump *dump, uint8_t *buffer, size_t size)
{
    if (dump->pipe < 0)
        return 0;
    ssize_t n = read(dump->pipe, buffer, size);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        sd_event_source_set_enabled(dump->on_pipe, SD_EVENT_ON);
        return -EAGAIN;
    }
    if (n > 0)
        return n;
    pipe_close(dump);
    return 0;
}

static int ending_say(const struct state_dump *dump, struct err *err)
{
    if (dump->given_up.code)
        return err_set(err, dump->given_up.code, "%s", dump->given_up.text);
    if (WIFSIGNALED(dump->status))
        return err_set(err, EIO,
                       "the child that writes the state was ended by signal %d, and it is not "
                       "whole: ask again",
                       WTERMSIG(dump->status));
    return WEXITSTATUS(dump->status)
               ? err_sys(err, WEXITSTATUS(dump->status), "the state cannot be written")
               : 0;
}

ssize_t state_dump_take(struct state_dump *dump, uint8_t *buffer, size_t size, struct err *err)
{
    ssize_t n = dump->preparing ? -EAGAIN : pipe_read(dump, buffer, size);
    dump->awaited = n == -EAGAIN || (n == 0 && dump->child && !dump->given_up.code);
    if (n > 0) {
        dump->taken += (uint64_t)n;
        arm(dump);
    }
    if (n != 0 || dump->awaited)
        return dump->awaited ? -EAGAIN : n;
    int r = ending_say(dump, err);
    forget(dump);
    return r;
}

void state_dump_leave(struct state_dump *dump, uint64_t taker)
{
    if (taker && dump->taker == taker)
        forget(dump);
}

void state_dump_close(struct state_dump *dump)
{
    if (!dump)
        return;
    child_undo(dump);
    source_drop(&dump->on_time);
    source_drop(&dump->on_pages);
    recording_dump_done(&dump->writing);
    free(dump);
}
