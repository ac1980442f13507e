#include "testbed/replay/progress.h"

#include <inttypes.h>

#define NS_PER_S 1000000000u
enum { BAR_WIDTH = 30, DRAW_EVERY_NS = 100000000 };

int64_t progress_left_ns(const struct progress *progress, uint64_t elapsed_ns)
{
    int64_t arrivals = (int64_t)progress->last_arrival_ns - (int64_t)elapsed_ns;
    /* Less than a fiftieth says nothing about the pace. */
    if (progress->bytes_done < progress->bytes / 50 || progress->bytes_done == 0)
        return arrivals > 0 ? arrivals : -1;
    double left = (double)(progress->bytes - progress->bytes_done) / (double)progress->bytes_done;
    int64_t work = (int64_t)((double)elapsed_ns * left);
    int64_t left_ns = work > arrivals ? work : arrivals;
    return left_ns > 0 ? left_ns : 0;
}

void progress_draw(struct progress *progress, uint64_t elapsed_ns)
{
    char bar[BAR_WIDTH + 1];
    if (!progress->terminal ||
        (progress->drawn_ns && elapsed_ns - progress->drawn_ns < DRAW_EVERY_NS))
        return;
    progress->drawn_ns = elapsed_ns;
    double part = progress->bytes ? (double)progress->bytes_done / (double)progress->bytes : 1;
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < (int)(part * BAR_WIDTH) ? '#' : '.';
    bar[BAR_WIDTH] = 0;
    fprintf(progress->out, "\r%-12s [%s] %" PRIu64 "/%" PRIu64 " jobs", progress->label, bar,
            progress->jobs_done, progress->jobs);
    int64_t left_ns = progress_left_ns(progress, elapsed_ns);
    if (left_ns >= 0)
        fprintf(progress->out, ", %" PRId64 " s left", left_ns / NS_PER_S);
    fputs("\033[K", progress->out);
    fflush(progress->out);
}

void progress_finish(struct progress *progress, uint64_t elapsed_ns, uint64_t failed)
{
    fprintf(progress->out, "%s%-12s %" PRIu64 " jobs in %.1f s",
            progress->terminal ? "\r\033[K" : "", progress->label, progress->jobs_done,
            (double)elapsed_ns / NS_PER_S);
    if (failed)
        fprintf(progress->out, ", %" PRIu64 " of them FAILED", failed);
    fputc('\n', progress->out);
    fflush(progress->out);
}
