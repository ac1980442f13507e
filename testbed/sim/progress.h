/* A line on standard error with the part done and the time left: on a terminal, from the third
 * second on. Nothing elsewhere. progress_done wipes the line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; /* borrows */
    bool terminal, shown;
    int64_t started_ns, next_ns;
};

void progress_init(struct progress *p, const char *what);
void progress_show(void *progress, double part); /* 0…1; takes a void * to be a callback */
void progress_done(struct progress *p);
