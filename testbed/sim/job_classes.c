#include "testbed/sim/job_classes.h"

const char *const job_class_names[JOB_CLASSES] = {"< 1 MB",  "1-10 MB",   "10-100 MB", "0.1-1 GB",
                                                  "1-10 GB", "10-100 GB", ">= 100 GB"};

unsigned job_class_of(uint64_t shuffle_bytes)
{
    unsigned c = 0;
    for (uint64_t bound = 1000000; c + 1 < JOB_CLASSES && shuffle_bytes >= bound; bound *= 10)
        c++;
    return c;
}

void job_classes_of(const struct workload_job *jobs, size_t n, const double *jct_s,
                    struct job_classes *ret_classes)
{
    struct job_classes classes = {0};
    for (size_t i = 0; i < n; i++) {
        unsigned c = job_class_of(workload_job_shuffle_bytes(&jobs[i]));
        classes.jobs[c]++;
        classes.mean_s[c] += jct_s[i];
    }
    for (unsigned c = 0; c < JOB_CLASSES; c++)
        classes.mean_s[c] /= classes.jobs[c] ? (double)classes.jobs[c] : 1;
    *ret_classes = classes;
}
