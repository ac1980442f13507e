#include "controller/store/store_writer.h"

#include "controller/store/store_reading.h"
#include "lib/invariant.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

enum { TOGETHER = 256 };
#define SECOND INT64_C(1000000000)
/* While there is much to prune, it takes one part of so many of the time. */
#define PRUNE_PART 8

struct group {
    STAILQ_ENTRY(group) link;
    uint64_t ticket;
    struct row_bytes changes;
};
STAILQ_HEAD(groups, group);

struct store_writer {
    struct store_file *file;
    struct store_last *last;
    int (*prune)(void *user, struct store_file *file, struct err *err);
    void *user;
    int fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* The loop's: the newest ticket; groups that nobody awaits, since the last one that is. */
    uint64_t handed;
    size_t idle;
    _Atomic uint64_t committed, waiting;
    /* Under the lock. */
    struct groups groups;
    uint64_t awaited; /* everything up to this ticket is committed at once */
    bool closing;
    struct err failure; /* code 0: none */
    struct store_writer_counters counters;
};

static void tell(const struct store_writer *writer)
{
    const uint64_t one = 1;
    (void)!write(writer->fd, &one, sizeof(one));
}

static void group_free(struct group *group)
{
    row_bytes_done(&group->changes);
    free(group);
}

/* The first of the queue, as they are committed together; they stay in it until they are. */
static size_t gather(const struct groups *groups, struct store_piece *ret_pieces,
                     uint64_t *ret_ticket)
{
    size_t n = 0;
    const struct group *group;
    STAILQ_FOREACH (group, groups, link) {
        if (n == TOGETHER)
            break;
        ret_pieces[n++] = (struct store_piece){group->changes.at, group->changes.used};
        *ret_ticket = group->ticket;
    }
    return n;
}

static void committed(struct store_writer *writer, size_t n, uint64_t ticket, int64_t took_ns)
{
    struct groups done = STAILQ_HEAD_INITIALIZER(done);
    struct group *group;
    pthread_mutex_lock(&writer->lock);
    writer->counters.commits++;
    writer->counters.groups += n;
    histogram_add(&writer->counters.times, took_ns);
    writer->failure.code = 0;
    for (; n > 0; n--) {
        group = STAILQ_FIRST(&writer->groups);
        assert(group && atomic_load(&writer->waiting) >= group->changes.used);
        STAILQ_REMOVE_HEAD(&writer->groups, link);
        STAILQ_INSERT_TAIL(&done, group, link);
        writer->counters.bytes += group->changes.used;
        atomic_fetch_sub(&writer->waiting, group->changes.used);
    }
    pthread_mutex_unlock(&writer->lock);
    assert(ticket > atomic_load(&writer->committed));
    atomic_store(&writer->committed, ticket);
    tell(writer);
    while ((group = STAILQ_FIRST(&done))) {
        STAILQ_REMOVE_HEAD(&done, link);
        group_free(group);
    }
}

static void failed(struct store_writer *writer, const struct err *err)
{
    pthread_mutex_lock(&writer->lock);
    writer->failure = *err;
    writer->counters.failures++;
    pthread_mutex_unlock(&writer->lock);
    tell(writer);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

/* Sleeps with the lock until then, or until it is woken; `rest`: until then even so. */
static void doze(struct store_writer *writer, int64_t until_ns, bool rest)
{
    const struct timespec until = {until_ns / SECOND, until_ns % SECOND};
    while (pthread_cond_timedwait(&writer->wake, &writer->lock, &until) == 0 && rest &&
           !writer->closing)
        ;
}

/* WHY a second at most: groups that nobody awaits may come meanwhile, and pruning may pause for
 * longer. */
static int64_t doze_until_ns(int64_t next_ns)
{
    const int64_t most_ns = now_ns() + SECOND;
    return next_ns < most_ns ? next_ns : most_ns;
}

/* Whether the first of the queue must be committed at once. */
static bool is_awaited(const struct store_writer *writer)
{
    const struct group *first = STAILQ_FIRST(&writer->groups);
    return first && first->ticket <= writer->awaited;
}

/* 0 when `n` pieces are committed. */
static int commit(struct store_writer *writer, const struct store_piece *pieces, size_t n,
                  uint64_t ticket)
{
    struct err err = {0};
    const int64_t began_ns = now_ns();
    int r = store_file_apply(writer->file, pieces, n, &err);
    if (r < 0) {
        failed(writer, &err);
        return r;
    }
    store_last_write(writer->last, store_file_newest(writer->file));
    committed(writer, n, ticket, now_ns() - began_ns);
    return 0;
}

/* Prunes some; when to do so next. WHY not after each commit: each job that ends makes one row too
 * many, and a transaction for each row takes the disk from those who wait for a commit. What cannot
 * be pruned now is tried again later. */
static int64_t prune(struct store_writer *writer)
{
    struct err err;
    int64_t began = now_ns();
    int r = writer->prune ? writer->prune(writer->user, writer->file, &err) : 0;
    int64_t ended = now_ns();
    if (r > 0) {
        store_last_write(writer->last, store_file_newest(writer->file));
        pthread_mutex_lock(&writer->lock);
        writer->counters.pruned += (uint64_t)r;
        pthread_mutex_unlock(&writer->lock);
    }
    if (r >= STORE_PRUNE_MOST)
        return ended + (PRUNE_PART - 1) * (ended - began);
    store_last_sync(writer->last);
    return ended + SECOND;
}

/* A file that could only be read at the start is opened for writing: otherwise rows would wait for
 * ever. */
static int writing_begin(struct store_writer *writer)
{
    struct err err = {0};
    if (!store_reading_why(writer->file))
        return 0;
    int r = store_reading_end(writer->file, &err);
    if (r < 0) {
        failed(writer, &err);
        return r;
    }
    pthread_mutex_lock(&writer->lock);
    writer->failure.code = 0;
    pthread_mutex_unlock(&writer->lock);
    tell(writer);
    return 0;
}

static void *write_on(void *user)
{
    struct store_writer *writer = user;
    struct store_piece pieces[TOGETHER];
    uint64_t ticket = 0;
    bool closing = false;
    int64_t prune_ns = 0; /* when to prune */
    int r = 0;
    for (;;) {
        pthread_mutex_lock(&writer->lock);
        if (!writer->closing && (r < 0 || !is_awaited(writer)))
            doze(writer, doze_until_ns(r < 0 ? INT64_MAX : prune_ns), r < 0);
        bool last_try = closing;
        closing = writer->closing;
        size_t n = gather(&writer->groups, pieces, &ticket);
        pthread_mutex_unlock(&writer->lock);
        if (closing && (n == 0 || (r < 0 && last_try)))
            return NULL;
        r = writing_begin(writer);
        if (r == 0 && n)
            r = commit(writer, pieces, n, ticket);
        /* After a failure, too, for that may make the room that is missing. */
        if (!store_reading_why(writer->file) && !closing && (r < 0 || now_ns() >= prune_ns))
            prune_ns = prune(writer);
    }
}

int store_thread_begin(pthread_t *ret_thread, void *(*runs)(void *user), void *user)
{
    const struct sched_param ordinary = {0};
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
    pthread_attr_setschedparam(&attributes, &ordinary);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(ret_thread, &attributes, runs, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return -r;
}

int store_writer_open(struct store_file *file, struct store_last *last,
                      int (*prune_some)(void *user, struct store_file *file, struct err *err),
                      void *user, struct store_writer **ret_writer, struct err *err)
{
    struct store_writer *writer = calloc(1, sizeof(*writer));
    pthread_condattr_t monotonic;
    if (!writer)
        return err_sys(err, ENOMEM, "the store's writer");
    writer->file = file;
    writer->last = last;
    writer->prune = prune_some;
    writer->user = user;
    STAILQ_INIT(&writer->groups);
    pthread_mutex_init(&writer->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&writer->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    const struct err *why = store_reading_why(file);
    if (why)
        writer->failure = *why;
    writer->fd = eventfd(why ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    int code = writer->fd < 0 ? errno : -store_thread_begin(&writer->thread, write_on, writer);
    if (code) {
        if (writer->fd >= 0)
            close(writer->fd);
        free(writer);
        return err_sys(err, code, "the store's writer");
    }
    *ret_writer = writer;
    return 0;
}

int store_writer_close(struct store_writer *writer, struct err *err)
{
    struct group *group;
    if (!writer)
        return 0;
    pthread_mutex_lock(&writer->lock);
    writer->closing = true;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
    pthread_join(writer->thread, NULL);
    int r = STAILQ_EMPTY(&writer->groups) ? 0 : store_writer_failure(writer, err);
    while ((group = STAILQ_FIRST(&writer->groups))) {
        STAILQ_REMOVE_HEAD(&writer->groups, link);
        group_free(group);
    }
    store_file_close(writer->file);
    close(writer->fd);
    pthread_cond_destroy(&writer->wake);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
    return r;
}

void store_writer_await(struct store_writer *writer)
{
    if (!writer->idle)
        return;
    writer->idle = 0;
    pthread_mutex_lock(&writer->lock);
    writer->awaited = writer->handed;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
}

uint64_t store_writer_hand(struct store_writer *writer, struct row_bytes *changes, bool awaited)
{
    struct group *group = changes->failed ? NULL : malloc(sizeof(*group));
    if (!group) {
        row_bytes_done(changes);
        return 0;
    }
    *group = (struct group){.ticket = ++writer->handed, .changes = *changes};
    *changes = (struct row_bytes){0};
    atomic_fetch_add(&writer->waiting, group->changes.used);
    pthread_mutex_lock(&writer->lock);
    STAILQ_INSERT_TAIL(&writer->groups, group, link);
    pthread_mutex_unlock(&writer->lock);
    /* The group may be gone already. */
    writer->idle++;
    if (awaited || writer->idle == TOGETHER || store_writer_is_behind(writer))
        store_writer_await(writer);
    return writer->handed;
}

int store_writer_fd(const struct store_writer *writer)
{
    return writer->fd;
}

void store_writer_seen(struct store_writer *writer)
{
    uint64_t count;
    (void)!read(writer->fd, &count, sizeof(count));
}

uint64_t store_writer_handed(const struct store_writer *writer)
{
    return writer->handed;
}

uint64_t store_writer_committed(const struct store_writer *writer)
{
    return atomic_load(&writer->committed);
}

bool store_writer_full(const struct store_writer *writer)
{
    return atomic_load(&writer->waiting) > STORE_WAITING;
}

bool store_writer_is_behind(const struct store_writer *writer)
{
    return atomic_load(&writer->waiting) > STORE_WAITING / 8;
}

int store_writer_failure(struct store_writer *writer, struct err *err)
{
    pthread_mutex_lock(&writer->lock);
    int code = writer->failure.code;
    if (code && err)
        *err = writer->failure;
    pthread_mutex_unlock(&writer->lock);
    return -code;
}

void store_writer_counters(struct store_writer *writer, struct store_writer_counters *ret_counters)
{
    pthread_mutex_lock(&writer->lock);
    *ret_counters = writer->counters;
    pthread_mutex_unlock(&writer->lock);
}
