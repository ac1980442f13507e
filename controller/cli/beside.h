/* Programs of ours that are installed beside this one: run without a shell and without a search in
 * PATH, and waited for. */
#pragma once

#include "lib/err.h"

#include <limits.h>
#include <stdio.h>

/* The first of `places` (NULL at the end), as seen from this program's folder, that can be run:
 * where the tree builds it, and where packages put it. −ENOENT, without a sentence. */
int beside_find(const char *const *places, char ret_program[PATH_MAX]);

struct beside_files {
    FILE *in; /* is read from its beginning; NULL: it reads what this program does */
    FILE *out, *complaints;
};

/* A file in memory; NULL: errno says why there is none. */
FILE *beside_file(const char *name);

/* Its exit status, 128 and its number for a signal; −errno with a sentence. `words` end with NULL.
 * What it writes is in `out` and `complaints`, at their beginning. */
int beside_run(const char *program, const char *const *words, const struct beside_files *files,
               struct err *err);

/* The last line of what it complained of, cut to `size`; "": there is none. */
void beside_complaint(FILE *complaints, char *line, size_t size);
