/* A job's stages by their numbers, which need not follow on each other: of a framework's job only
 * those that were reported are there. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* The place of the first stage with a number ≥ index. O(log n), O(1) where no stage is missing. */
static inline uint32_t job_stage_place(const struct job *job, uint32_t index)
{
    uint32_t from = 0, to = job->n_stages;
    if (index < to && job->stages[index]->index == index)
        return index;
    while (from < to) {
        uint32_t half = from + (to - from) / 2;
        if (job->stages[half]->index < index)
            from = half + 1;
        else
            to = half;
    }
    return from;
}

/* One more than the largest number of its stages. */
static inline uint32_t job_stage_end(const struct job *job)
{
    return job->n_stages ? job->stages[job->n_stages - 1]->index + 1 : 0;
}

/* NULL: no stage has this number. */
static inline struct stage *job_stage_at(const struct job *job, uint32_t index)
{
    uint32_t place = job_stage_place(job, index);
    return place < job->n_stages && job->stages[place]->index == index ? job->stages[place] : NULL;
}
