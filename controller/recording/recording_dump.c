#include "controller/recording/recording_dump.h"

#include "controller/recording/recording_text.h"
#include "lib/now.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BUFFER = 1 << 18, NICENESS = 10, SLOW_NS = 5000000 };

struct file {
    char *buffer;
    size_t used;
    int fd;
};

int recording_dump_init(struct recording_dump *dump, const struct engine *engine)
{
    *dump = (struct recording_dump){
        .engine = engine, .scratch = malloc(engine_dump_room(engine)), .buffer = malloc(BUFFER)};
    return dump->scratch && dump->buffer ? recording_pages_init(&dump->pages) : -ENOMEM;
}

void recording_dump_done(struct recording_dump *dump)
{
    recording_pages_done(&dump->pages);
    free(dump->scratch);
    free(dump->buffer);
    *dump = (struct recording_dump){0};
}

static int flush(struct file *file)
{
    for (size_t done = 0; done < file->used;) {
        ssize_t n = write(file->fd, file->buffer + done, file->used - done);
        if (n < 0 && errno != EINTR)
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    file->used = 0;
    return 0;
}

static int put(void *context, const char *bytes, size_t n)
{
    struct file *file = context;
    int r = 0;
    while (n && r == 0) {
        size_t piece = BUFFER - file->used < n ? BUFFER - file->used : n;
        memcpy(file->buffer + file->used, bytes, piece);
        file->used += piece;
        bytes += piece;
        n -= piece;
        if (file->used == BUFFER)
            r = flush(file);
    }
    return r;
}

/* What a child writes, and where. */
struct work {
    const char *path; /* a recording's head, into this new file; NULL: a state, into `fd` */
    uint64_t dropped;
    int fd;
    int64_t now_ns;
    uint64_t wall_ns;
};

/* Drops real-time priority, which the controller may have and its child must not. */
static void be_modest(void)
{
    const struct sched_param none = {0};
    sched_setscheduler(0, SCHED_OTHER, &none);
    setpriority(PRIO_PROCESS, 0, NICENESS);
}

/* Closes all descriptors but the file's, which is returned; −errno. */
static int take_file(const struct work *work)
{
    if (!work->path && dup2(work->fd, STDIN_FILENO) < 0)
        return -errno;
    close_range(work->path ? 0 : STDIN_FILENO + 1, ~0u, 0);
    if (!work->path)
        return STDIN_FILENO;
    int fd = open(work->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    return fd < 0 ? -errno : fd;
}

static int write_all(const struct recording_dump *dump, const struct work *work, int fd)
{
    struct file file = {.buffer = dump->buffer, .fd = fd};
    struct recording_text text = {dump->engine, dump->scratch, work->wall_ns, put, &file};
    int r = work->path ? recording_text_head(&text, work->dropped)
                       : recording_text_state(&text, work->now_ns);
    return r == 0 ? flush(&file) : r;
}

_Noreturn static void child(const struct recording_dump *dump, const struct work *work,
                            pid_t parent)
{
    int r = prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : 0;
    if (getppid() != parent)
        _exit(ESRCH);
    int fd = take_file(work);
    be_modest();
    if (r == 0)
        r = fd < 0 ? fd : write_all(dump, work, fd);
    _exit(-r);
}

static pid_t begin(struct recording_dump *dump, const struct work *work)
{
    sigset_t all, before;
    pid_t parent = getpid();
    /* No handler runs in the child, and SIGXFSZ and SIGPIPE become an errno there. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    /* WHY the processor's time: on a busy machine others' is no cost of ours. */
    const uint64_t before_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    pid_t pid = fork();
    int error = errno;
    if (pid == 0)
        child(dump, work, parent);
    dump->fork_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid < 0 ? -error : pid;
}

pid_t recording_dump_fork(struct recording_dump *dump, const char *path, uint64_t dropped)
{
    const struct work work = {.path = path, .dropped = dropped, .wall_ns = now_ns(CLOCK_REALTIME)};
    return begin(dump, &work);
}

pid_t recording_dump_fork_state(struct recording_dump *dump, int fd, int64_t at_ns)
{
    const struct work work = {.fd = fd, .now_ns = at_ns, .wall_ns = now_ns(CLOCK_REALTIME)};
    return begin(dump, &work);
}

bool recording_dump_was_slow(const struct recording_dump *dump, struct err *err)
{
    if (dump->fork_ns <= SLOW_NS)
        return false;
    err_set(err, EAGAIN, "the fork for writing the state held the controller for %.1f ms%s",
            (double)dump->fork_ns / 1e6, recording_pages_words(&dump->pages));
    return true;
}
