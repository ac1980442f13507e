/* The answer to a what-if, for people and as JSON. */
#pragma once

#include "testbed/sim/whatif/whatif.h"

enum { WHATIF_DIFFERENCES = 10 }; /* that an answer shows */

struct whatif_answer {
    const char *what;           /* is otherwise: a clause */
    struct engine_status state; /* at its instant */
    const struct state *end;    /* after a run: it knows the hosts' names */
    int64_t at_ns;              /* the state's instant */
    const struct present_jobs *present;
    const struct whatif_change *change;
    struct whatif_side as_it_is, changed;
    struct whatif_difference differences[WHATIF_DIFFERENCES];
    long n_differences;
};

/* How jobs of the state fare. */
struct whatif_sums {
    size_t both; /* end in both runs; of these: */
    size_t gain, lose, same;
    double as_it_is_s, changed_s; /* mean JCT */
    size_t worst;                 /* the job that loses most; SIZE_MAX: none does */
    size_t never_as_it_is, never_changed, failed_as_it_is, failed_changed;
};
void whatif_sum(const struct whatif_answer *answer, struct whatif_sums *ret_sums);

void whatif_print(const struct whatif_answer *answer);
/* 0, −ENOMEM or −EIO. */
int whatif_print_json(const struct whatif_answer *answer);
