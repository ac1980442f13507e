#include "controller/recording/recording_pages.h"

#include "lib/now.h"
#include "lib/sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/* Since Linux 6.1, and in no C library of then. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define MS_NS UINT64_C(1000000)

enum {
    SMALL = 4096,
    HUGE_PAGE = 2 << 20,
    WORTH = 32 << 20, /* with fewer bytes a fork takes 1.5 ms */
    TOGETHER = 16,    /* ranges; each call first waits for every processor, mapping nothing */
    REFUSED_MAX = 8,  /* calls; each may make the kernel move pages of others in vain */
    REST_MAX_NS = 10000000,
    STACK = 1 << 17
};

int recording_pages_init(struct recording_pages *pages)
{
    *pages = (struct recording_pages){.ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    pages->open = pages->ended >= 0;
    return pages->open ? 0 : -errno;
}

/* Of this process; without what it shares with others. 0: not known. */
static uint64_t own_bytes(void)
{
    char text[128];
    uint64_t there, shared;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%*u %" SCNu64 " %" SCNu64, &there, &shared) != 2 || shared > there)
        return 0;
    return (there - shared) * SMALL;
}

/* ---- the thread ---- */

static bool goes_on(const struct recording_pages *pages)
{
    return !atomic_load(&pages->stop) && pages->refused < REFUSED_MAX &&
           now_ns(CLOCK_MONOTONIC) < pages->until_ns;
}

static bool is_whole(void *range)
{
    unsigned char there[HUGE_PAGE / SMALL];
    bool whole = mincore(range, HUGE_PAGE, there) == 0;
    for (size_t i = 0; whole && i < sizeof(there); i++)
        whole = there[i] & 1;
    return whole;
}

/* WHY a rest: whoever touches several ranges shall not wait for each. */
static void rest(uint64_t ns)
{
    const struct timespec time = {.tv_nsec = (long)(ns < REST_MAX_NS ? ns : REST_MAX_NS)};
    nanosleep(&time, NULL);
}

/* How many of the next ranges are whole, of those that are moved together. */
static size_t whole_from(uintptr_t at, uintptr_t to)
{
    size_t n = 0;
    while (n < TOGETHER && at + HUGE_PAGE <= to && is_whole((void *)at)) {
        at += HUGE_PAGE;
        n++;
    }
    return n;
}

static void ranges_move(struct recording_pages *pages, uintptr_t at, size_t n)
{
    const uint64_t since_ns = now_ns(CLOCK_MONOTONIC);
    if (madvise((void *)at, n * HUGE_PAGE, MADV_COLLAPSE) == 0) {
        pages->moved++;
    } else {
        pages->refused++;
        pages->error = errno;
    }
    rest(now_ns(CLOCK_MONOTONIC) - since_ns);
}

/* A line of /proc/self/maps. WHY it may be about memory that is gone, or another's by now: nothing
 * is written there, and what is whole may lie in a huge page, whosever it is. */
static void region_move(struct recording_pages *pages, const char *line)
{
    uintptr_t from, to;
    uint64_t file;
    char may[5];
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*s %" SCNu64, &from, &to, may, &file) !=
            4 ||
        strcmp(may, "rw-p") != 0 || file)
        return;
    uintptr_t at = (from + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    while (at + HUGE_PAGE <= to && goes_on(pages)) {
        size_t n = whole_from(at, to);
        if (n)
            ranges_move(pages, at, n);
        at += (n ? n : 1) * HUGE_PAGE;
    }
}

static void *run(void *argument)
{
    struct recording_pages *pages = argument;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        pages->error = errno;
    while (maps && goes_on(pages) && fgets(line, sizeof(line), maps))
        region_move(pages, line);
    if (maps)
        fclose(maps);
    eventfd_write(pages->ended, 1);
    return NULL;
}

/* ---- the loop's side ---- */

/* Without signals. */
static int thread_start(struct recording_pages *pages)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    pthread_attr_setstacksize(&attributes, STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&pages->thread, &attributes, run, pages);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

bool recording_pages_ready(struct recording_pages *pages)
{
    eventfd_t n;
    if (pages->begun) {
        if (eventfd_read(pages->ended, &n) < 0)
            return false;
        pthread_join(pages->thread, NULL);
        pages->begun = false;
        return true;
    }
    pages->moved = pages->refused = 0;
    pages->error = 0;
    if (SANITIZED || sysconf(_SC_PAGESIZE) != SMALL || own_bytes() < WORTH)
        return true;
    pages->until_ns = now_ns(CLOCK_MONOTONIC) + RECORDING_PAGES_MS * MS_NS;
    pages->error = thread_start(pages);
    pages->begun = !pages->error;
    return !pages->begun;
}

const char *recording_pages_words(const struct recording_pages *pages)
{
    if (pages->error == EINVAL && !pages->moved)
        return ", as this kernel moves no memory into huge pages: that takes Linux 6.1 with "
               "transparent huge pages";
    if (pages->error)
        return ", as the kernel had no huge page for some of its memory: this machine's is full "
               "or fragmented";
    return "";
}

void recording_pages_done(struct recording_pages *pages)
{
    if (pages->begun) {
        atomic_store(&pages->stop, true);
        pthread_join(pages->thread, NULL);
    }
    if (pages->open)
        close(pages->ended);
    *pages = (struct recording_pages){0};
}
