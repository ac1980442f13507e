#include "controller/recording/recording_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    GATHER_NS = 50000000, /* steps wait for each other this long */
    DUMP_NS = 10000000,   /* how often it looks whether a dump is complete */
    PATH_ROOM = PATH_MAX + 32,
    COPY = 1 << 16,
};

/* What the thread waits for: more steps to write together, or any. */
enum nap { AWAKE, GATHERING, EMPTY };

struct recording_writer {
    char folder[PATH_MAX], next[PATH_ROOM];
    uint32_t files;
    struct recording_ring *ring;
    pthread_t thread;
    sem_t wake, done;
    _Atomic int nap; /* enum nap: what the thread waits for */
    _Atomic bool closing;
    bool ending_gap; /* set before `closing` */
    /* The order: the loop's until `ordered`, then the thread's until `done` is posted. */
    _Atomic bool ordered;
    uint64_t position;
    pid_t dump;
    bool gap;
    struct recording_result result;
    _Atomic int failure;
    _Atomic uint64_t dropped;
    /* The thread's alone. */
    int fd;          /* of the file; −1: none */
    bool named;      /* it is a file of the recording, not the one that waits for a dump */
    bool begun;      /* the order's position is reached */
    off_t size, cut; /* of the file, whole steps; and where those after the dump's instant begin */
    char copy[COPY];
};

/* Name of file i, 0 the one that is written. */
static void file_name(const struct recording_writer *writer, uint32_t i, char *ret_path)
{
    if (i)
        snprintf(ret_path, PATH_ROOM, "%s/duopoly.log.%" PRIu32, writer->folder, i);
    else
        snprintf(ret_path, PATH_ROOM, "%s/duopoly.log", writer->folder);
}

static int files_shift(const struct recording_writer *writer)
{
    char from[PATH_ROOM], to[PATH_ROOM];
    for (uint32_t i = writer->files - 1; i > 0; i--) {
        file_name(writer, i - 1, from);
        file_name(writer, i, to);
        if (rename(from, to) < 0 && errno != ENOENT)
            return -errno;
    }
    return 0;
}

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno != EINTR)
            return -errno;
        bytes += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return 0;
}

/* Writes why, and closes. If that cannot be written it is left out: a reader accepts a file that
 * just ends. */
static void file_end(struct recording_writer *writer, const char *reason)
{
    char line[32];
    int n = snprintf(line, sizeof(line), "end %s\n", reason);
    if (writer->fd < 0)
        return;
    if (writer->named && write_all(writer->fd, line, (size_t)n) < 0)
        (void)!ftruncate(writer->fd, writer->size);
    close(writer->fd);
    writer->fd = -1;
}

/* A file without a name, for steps whose dump is not complete. */
static int file_wait(struct recording_writer *writer)
{
    char path[PATH_ROOM + 8];
    snprintf(path, sizeof(path), "%s/duopoly.steps", writer->folder);
    writer->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (writer->fd < 0)
        return -errno;
    unlink(path);
    writer->named = false;
    writer->size = 0;
    return 0;
}

/* How many lines begin a step; `*line_begins` is kept from piece to piece. */
static uint64_t steps_in(const struct iovec *piece, bool *line_begins)
{
    uint64_t steps = 0;
    for (const char *at = piece->iov_base, *end = at + piece->iov_len; at < end;) {
        steps += *line_begins && *at == 's';
        at = memchr(at, '\n', (size_t)(end - at));
        *line_begins = at;
        at = at ? at + 1 : end;
    }
    return steps;
}

static void fail(struct recording_writer *writer, int error)
{
    if (writer->fd >= 0 && writer->named)
        (void)!ftruncate(writer->fd, writer->size);
    file_end(writer, "dropped");
    atomic_store(&writer->failure, -error);
}

static void order_finish(struct recording_writer *writer, int error)
{
    if (error < 0)
        unlink(writer->next);
    else
        atomic_store(&writer->failure, 0);
    writer->result.error = error;
    writer->begun = false;
    atomic_store(&writer->ordered, false);
    sem_post(&writer->done);
}

static void dump_kill(struct recording_writer *writer)
{
    kill(writer->dump, SIGKILL);
    while (waitpid(writer->dump, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* Everything before the dump's instant is in the file. */
static void order_begin(struct recording_writer *writer)
{
    int r = 0;
    if (writer->gap)
        file_end(writer, "dropped");
    if (writer->fd < 0)
        r = file_wait(writer);
    if (r < 0) {
        dump_kill(writer);
        fail(writer, r);
        order_finish(writer, r);
        return;
    }
    if (writer->gap)
        atomic_store(&writer->failure, 0);
    writer->cut = writer->size;
    writer->begun = true;
}

static int steps_copy(struct recording_writer *writer, int to, off_t *size)
{
    for (off_t from = writer->cut; from < writer->size;) {
        ssize_t n = pread(writer->fd, writer->copy, COPY, from);
        int r = n <= 0 ? (n < 0 ? -errno : -EIO) : write_all(to, writer->copy, (size_t)n);
        if (r < 0)
            return r;
        from += n;
        *size += n;
    }
    return 0;
}

/* The dump is complete: its file takes over. On failure the previous file continues. */
static int file_take_over(struct recording_writer *writer)
{
    char path[PATH_ROOM];
    struct stat status;
    int fd = open(writer->next, O_RDWR | O_APPEND | O_CLOEXEC);
    int r = fd < 0 || fstat(fd, &status) < 0 ? -errno : 0;
    if (r == 0) {
        writer->result.dump_bytes = (uint64_t)status.st_size;
        r = steps_copy(writer, fd, &status.st_size);
    }
    if (r == 0)
        r = files_shift(writer);
    file_name(writer, 0, path);
    if (r == 0 && rename(writer->next, path) < 0)
        r = -errno;
    if (r < 0) {
        if (fd >= 0)
            close(fd);
        return r;
    }
    (void)!ftruncate(writer->fd, writer->cut);
    writer->size = writer->cut;
    file_end(writer, "rotated");
    writer->fd = fd;
    writer->named = true;
    writer->size = status.st_size;
    return 0;
}

static void order_look(struct recording_writer *writer, bool wait)
{
    int status;
    pid_t pid = waitpid(writer->dump, &status, wait ? 0 : WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return;
    int r = pid < 0 ? -errno : WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
    if (r == 0)
        r = file_take_over(writer);
    /* Without the dump, steps that wait for it are of no use. */
    if (r < 0 && !writer->named)
        fail(writer, r);
    order_finish(writer, r);
}

static void on_failed_write(struct recording_writer *writer, int error)
{
    if (writer->begun)
        dump_kill(writer);
    fail(writer, error);
    if (writer->begun)
        order_finish(writer, error);
}

/* Whole steps. */
static void batch_write(struct recording_writer *writer, const struct iovec pieces[2])
{
    bool line_begins = true;
    int r = 0;
    for (int i = 0; i < 2 && writer->fd >= 0 && r == 0; i++)
        r = write_all(writer->fd, pieces[i].iov_base, pieces[i].iov_len);
    if (r < 0)
        on_failed_write(writer, r);
    if (writer->fd >= 0)
        writer->size += (off_t)(pieces[0].iov_len + pieces[1].iov_len);
    else
        for (int i = 0; i < 2; i++)
            atomic_fetch_add(&writer->dropped, steps_in(&pieces[i], &line_begins));
}

static void steps_write(struct recording_writer *writer)
{
    struct iovec pieces[2];
    /* In this order: what lies behind an order's position was published after the order. */
    uint64_t until = recording_ring_end(writer->ring);
    bool beginning = atomic_load(&writer->ordered) && !writer->begun;
    if (beginning && until > writer->position)
        until = writer->position;
    recording_ring_look(writer->ring, until, pieces);
    batch_write(writer, pieces);
    recording_ring_take(writer->ring, until);
    if (beginning && until == writer->position)
        order_begin(writer);
}

/* Until there is something to write, and then a little longer. */
static void nap(struct recording_writer *writer)
{
    struct timespec until;
    bool ordered = atomic_load(&writer->ordered);
    atomic_store(&writer->nap, EMPTY);
    if (!ordered && !recording_ring_waiting(writer->ring) && !atomic_load(&writer->ordered) &&
        !atomic_load(&writer->closing))
        while (sem_wait(&writer->wake) < 0 && errno == EINTR)
            continue;
    atomic_store(&writer->nap, GATHERING);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ordered ? DUMP_NS : GATHER_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (!atomic_load(&writer->closing))
        sem_clockwait(&writer->wake, CLOCK_MONOTONIC, &until);
    atomic_store(&writer->nap, AWAKE);
}

static void *run(void *argument)
{
    struct recording_writer *writer = argument;
    while (!atomic_load(&writer->closing)) {
        nap(writer);
        steps_write(writer);
        if (writer->begun)
            order_look(writer, false);
    }
    steps_write(writer);
    if (writer->begun && !writer->named)
        order_look(writer, true);
    if (writer->begun) {
        dump_kill(writer);
        order_finish(writer, -ECANCELED);
    }
    steps_write(writer);
    file_end(writer, writer->ending_gap ? "dropped" : "stopped");
    return NULL;
}

/* Without signals, and not before all others where the controller is. */
static int thread_start(struct recording_writer *writer)
{
    const struct sched_param none = {0};
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);
    if (error)
        return -error;
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
    pthread_attr_setschedparam(&attributes, &none);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&writer->thread, &attributes, run, writer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return -error;
}

int recording_writer_open(const char *folder, uint32_t files, struct recording_ring *ring,
                          struct recording_writer **ret_writer, struct err *err)
{
    struct recording_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return err_sys(err, ENOMEM, "the recording in %s", folder);
    snprintf(writer->folder, sizeof(writer->folder), "%s", folder);
    snprintf(writer->next, sizeof(writer->next), "%s/duopoly.next", folder);
    unlink(writer->next); /* of a controller that was killed meanwhile */
    writer->files = files;
    writer->ring = ring;
    writer->fd = -1;
    sem_init(&writer->wake, 0, 0);
    sem_init(&writer->done, 0, 0);
    int r = thread_start(writer);
    if (r < 0) {
        free(writer);
        return err_sys(err, -r, "the recording's thread");
    }
    *ret_writer = writer;
    return 0;
}

void recording_writer_close(struct recording_writer *writer, bool gap)
{
    if (!writer)
        return;
    writer->ending_gap = gap;
    atomic_store(&writer->closing, true);
    sem_post(&writer->wake);
    pthread_join(writer->thread, NULL);
    sem_destroy(&writer->wake);
    sem_destroy(&writer->done);
    free(writer);
}

const char *recording_writer_next(const struct recording_writer *writer)
{
    return writer->next;
}

void recording_writer_wake(struct recording_writer *writer)
{
    int nap = atomic_load(&writer->nap);
    bool much = recording_ring_waiting(writer->ring) > writer->ring->size / 2;
    if (nap == EMPTY || (nap == GATHERING && much))
        if (atomic_exchange(&writer->nap, AWAKE) != AWAKE)
            sem_post(&writer->wake);
}

void recording_writer_order(struct recording_writer *writer, pid_t dump, bool gap)
{
    writer->position = recording_ring_end(writer->ring);
    writer->dump = dump;
    writer->gap = gap;
    atomic_store(&writer->ordered, true);
    sem_post(&writer->wake);
}

bool recording_writer_result(struct recording_writer *writer, bool wait,
                             struct recording_result *ret_result)
{
    int r = wait ? sem_wait(&writer->done) : sem_trywait(&writer->done);
    for (; r < 0 && wait; r = sem_wait(&writer->done))
        continue;
    if (r < 0)
        return false;
    *ret_result = writer->result;
    return true;
}

int recording_writer_failure(const struct recording_writer *writer)
{
    return atomic_load(&writer->failure);
}

uint64_t recording_writer_dropped(const struct recording_writer *writer)
{
    return atomic_load(&writer->dropped);
}
