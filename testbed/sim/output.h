/* A file that is there whole or not at all: written beside its place, moved there at the end. What
 * stood there before stays until then, also when the program is stopped in between (then the
 * beginning of the new one stays beside it, as PATH.part). */
#pragma once

#include "lib/err.h"

#include <stdio.h>

struct output {
    FILE *file;
    const char *path; /* borrowed until it is closed */
    char part[4096];
};

/* 0, or −errno with a sentence. */
int output_open(struct output *output, const char *path, struct err *err);
/* Whether that can be written, before long work; leaves nothing. NULL is fine. 0, or −errno with a
 * sentence. */
int output_try(const char *path, struct err *err);
/* 0, or −errno with a sentence; then the place is as it was. */
int output_close(struct output *output, struct err *err);
/* Gives it up. A zeroed or closed one is fine. */
void output_abandon(struct output *output);
