#include "controller/recording/recording_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 18, NICENESS = 10 };

struct file {
    char *buffer;
    size_t used;
    int fd;
};

int recording_dump_init(struct recording_dump *dump, const struct engine *engine)
{
    *dump = (struct recording_dump){engine, malloc(engine_dump_room(engine)), malloc(BUFFER)};
    return dump->scratch && dump->buffer ? 0 : -ENOMEM;
}

void recording_dump_done(struct recording_dump *dump)
{
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

static int put(struct file *file, const char *bytes, size_t n)
{
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

static int put_line(struct file *file, const char *word, const char *rest, size_t length)
{
    int r = put(file, word, strlen(word));
    if (r == 0)
        r = put(file, rest, length);
    return r == 0 ? put(file, "\n", 1) : r;
}

static int put_number(struct file *file, const char *word, uint64_t number)
{
    char digits[24], *at = digits + sizeof(digits);
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    return put_line(file, word, at, (size_t)(digits + sizeof(digits) - at));
}

static int on_record(void *context, const char *line, size_t length)
{
    return put_line(context, "dump ", line, length);
}

static int write_head(const struct recording_dump *dump, struct file *file, uint64_t wall_ns,
                      uint64_t dropped)
{
    int r = put_line(file, "duopoly-log 1", "", 0);
    if (r == 0)
        r = engine_dump_in(dump->engine, dump->scratch, on_record, file);
    if (r == 0)
        r = put_number(file, "begin ", wall_ns);
    if (r == 0 && dropped)
        r = put_number(file, "dropped ", dropped);
    return r == 0 ? flush(file) : r;
}

/* Drops real-time priority, which the controller may have and its child must not. */
static void be_modest(void)
{
    const struct sched_param none = {0};
    sched_setscheduler(0, SCHED_OTHER, &none);
    setpriority(PRIO_PROCESS, 0, NICENESS);
}

_Noreturn static void child(const struct recording_dump *dump, const char *path, pid_t parent,
                            uint64_t wall_ns, uint64_t dropped)
{
    struct file file = {.buffer = dump->buffer};
    int r = prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : 0;
    if (getppid() != parent)
        _exit(ESRCH);
    close_range(0, ~0u, 0);
    be_modest();
    if (r == 0)
        file.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (r == 0)
        r = file.fd < 0 ? -errno : write_head(dump, &file, wall_ns, dropped);
    _exit(-r);
}

pid_t recording_dump_fork(const struct recording_dump *dump, const char *path, uint64_t dropped)
{
    struct timespec wall;
    sigset_t all, before;
    clock_gettime(CLOCK_REALTIME, &wall);
    uint64_t wall_ns = (uint64_t)wall.tv_sec * 1000000000 + (uint64_t)wall.tv_nsec;
    pid_t parent = getpid();
    /* No handler runs in the child, and SIGXFSZ becomes an errno there. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    int error = errno;
    if (pid == 0)
        child(dump, path, parent, wall_ns, dropped);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid < 0 ? -error : pid;
}
