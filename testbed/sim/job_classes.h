/* Mean completion time by job size: the source's seven groups (Tian et al., fig. 6 b and c). The
 * source gives no bounds; here they are powers of ten of the job's shuffle bytes. Pure. */
#pragma once

#include "lib/workload/workload.h"

enum { JOB_CLASSES = 7 };

/* "< 1 MB", …, "≥ 100 GB" (10⁶, 10⁹). */
extern const char *const job_class_names[JOB_CLASSES];

struct job_classes {
    size_t jobs[JOB_CLASSES];
    double mean_s[JOB_CLASSES]; /* 0 where there are no jobs */
};

unsigned job_class_of(uint64_t shuffle_bytes);
/* O(tasks). jct_s has one entry per job. */
void job_classes_of(const struct workload_job *jobs, size_t n, const double *jct_s,
                    struct job_classes *ret_classes);
