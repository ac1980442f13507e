/* A file that appears whole or not at all: written beside its place and moved there at the end. The
 * former file stays until then, also when the program is stopped (then the beginning of the new one
 * remains as PATH.part). */
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
/* Checks before long work that the file can be written; leaves nothing behind. NULL is fine. 0, or
 * −errno with a sentence. */
int output_try(const char *path, struct err *err);
/* 0, or −errno with a sentence; then the former file stays. */
int output_close(struct output *output, struct err *err);
/* Gives up the file. A zeroed or closed one is fine. */
void output_abandon(struct output *output);
