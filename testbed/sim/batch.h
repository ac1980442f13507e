/* Independent simulations on all cores. Each runs in a process of its own: one that fails does not
 * stop the others, and its memory returns to the system. Results do not depend on how many run at
 * once. Starts processes and waits for them; only the calling thread may have children. */
#pragma once

#include "testbed/sim/job_classes.h"
#include "testbed/sim/run_setup.h"
#include "testbed/sim/stats.h"

enum { BATCH_QUANTILES = 101 };

struct batch_row {
    struct stats jct, cct;
    double jct_s[BATCH_QUANTILES]; /* the least, then the values that 1, 2, … 100 % do not exceed */
    struct job_classes classes;
    double bound_s; /* of the mean (bounds.h), */
    bool proven;    /* or an estimate */
    double slot_wait_s, held_slot_s, link_use, device_use, starved, makespan_s;
};

struct batch_item {
    struct run_setup setup;
    struct batch_row row;
    bool done;
    char error[256]; /* why it failed */
};

/* Fills the row of every item; 0, or −errno with the first failure's sentence (the others are
 * filled). Shows progress. The processes end with their parent. */
int batch_run(struct batch_item *const *items, size_t n, struct err *err);

/* The median over `n` rows of a statistic, a double at `offset` in struct batch_row. */
double batch_median(const struct batch_item *const *items, size_t n, size_t offset);

/* Splits "a,b,c" into at most `most` words of at most 31 bytes. Returns their number, or
 * −EINVAL. */
int batch_split(const char *list, char (*ret_words)[32], int most, struct err *err);
