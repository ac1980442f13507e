/* A line on standard error that says how far something is and how long it still takes: on a
 * terminal, from its third second on. Elsewhere nothing. The line is wiped by progress_done. */
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
