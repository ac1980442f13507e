/* What a workload consists of, as a table of size classes and totals. Pure but for printing to the
 * stream it is given. */
#pragma once

#include <stdio.h>

#include "lib/workload/workload.h"

enum { DESCRIBE_CLASSES = 6 };

struct describe {
    struct describe_class {
        uint64_t jobs, maps, reduces, bytes; /* shuffle bytes */
    } classes[DESCRIBE_CLASSES], total;
    uint64_t input_bytes, compute_ns, arrival_ns; /* of the last job */
};

/* Counts a job; its class is that of its shuffle bytes × `scale`, so that scaling moves no job to
 * another class. */
void describe_add(struct describe *describe, const struct workload_job *job, uint32_t scale);

void describe_print(const struct describe *describe, const struct workload_header *header,
                    FILE *out);
