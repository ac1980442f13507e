#include "testbed/sim/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 30 };
static const int64_t PATIENCE_NS = 2000000000, PAUSE_NS = 200000000;

static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void progress_init(struct progress *p, const char *what)
{
    *p = (struct progress){.what = what, .terminal = isatty(STDERR_FILENO)};
    if (p->terminal)
        p->started_ns = clock_ns();
    p->next_ns = p->started_ns + PATIENCE_NS;
}

void progress_show(void *progress, double part)
{
    struct progress *p = progress;
    int64_t now_ns = p->terminal ? clock_ns() : 0;
    if (!p->terminal || now_ns < p->next_ns)
        return;
    p->next_ns = now_ns + PAUSE_NS;
    p->shown = true;
    double spent_s = (double)(now_ns - p->started_ns) * 1e-9;
    fprintf(stderr, "\r%s [", p->what);
    for (int i = 0; i < WIDTH; i++)
        fputc(i < part * WIDTH ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f %%", part * 100);
    if (part > 0)
        fprintf(stderr, ", %.0f s left ", spent_s / part - spent_s);
    fprintf(stderr, "\033[K");
}

void progress_done(struct progress *p)
{
    if (p->shown)
        fprintf(stderr, "\r\033[K");
}
