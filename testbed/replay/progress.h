/* Progress of a replay for people: on a terminal one line that is redrawn, with a bar and the time
 * left; elsewhere only the last line.
 *
 * The time left is a guess: the work left at the pace so far, but at least the time of the
 * remaining arrivals. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *out;                             /* borrowed */
    bool terminal;                         /* draw the bar */
    const char *label;                     /* of the run; borrowed */
    uint64_t jobs, bytes, last_arrival_ns; /* of the whole workload */
    uint64_t jobs_done, bytes_done;
    uint64_t drawn_ns; /* when the bar was last drawn */
};

/* How long it may still take, `elapsed_ns` after the start; −1: no guess yet. Pure. */
int64_t progress_left_ns(const struct progress *progress, uint64_t elapsed_ns);

/* Draws the bar, at most ten times a second. */
void progress_draw(struct progress *progress, uint64_t elapsed_ns);

/* Removes the bar and prints the last line: jobs, how many of them failed, time. */
void progress_finish(struct progress *progress, uint64_t elapsed_ns, uint64_t failed);
