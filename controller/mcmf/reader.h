/* Reads minimum-cost flow problems and changes of them from text, line by line.
 *
 * Both formats are lines of a letter and numbers, separated by blanks; empty lines and lines that
 * start with 'c' are comments. DIMACS: `p min NODES ARCS`, `n ID SUPPLY`, `a U V LO CAP COST`; arcs
 * are numbered from 1 in file order. Changes: `r`, `n ID SUPPLY`, `x ID`, `a ARC U V LO CAP COST`,
 * `m ARC LO CAP COST`, `d ARC`.
 *
 * Every error names file and line. Lines longer than READER_LINE_MAX are refused. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/err.h"

struct mincost;
struct mincost_change;

enum { READER_LINE_MAX = 1024 };

enum { READER_NUMBERS_MAX = 6 };

/* One line as read. */
struct reader_line {
    char kind;
    int count;
    int64_t numbers[READER_NUMBERS_MAX];
};

struct reader {
    const char *name; /* for messages, borrowed */
    FILE *file;       /* owned */
    unsigned long line;
    char text[READER_LINE_MAX + 1];
    struct mincost_change *round; /* of the last reader_read_round; owned, freed by reader_done */
    unsigned long *lines;         /* the line of each; as `round` */
    size_t round_count, round_allocated;
};

/* Adds the whole problem of a DIMACS file. 0 or −errno with the sentence. */
int reader_load_dimacs(struct reader *reader, struct mincost *problem, struct err *err);

/* Reads the changes up to the next `r` or the end, so that applying them can be timed without
 * reading. *ret_more says whether a round follows. 0 or −errno. */
int reader_read_round(struct reader *reader, bool *ret_more, struct err *err);

/* Applies what was read. 0 or −errno. */
int reader_apply_round(struct reader *reader, struct mincost *problem, struct err *err);

/* Closes the file; a reader that was never opened must be zeroed. */
void reader_done(struct reader *reader);
