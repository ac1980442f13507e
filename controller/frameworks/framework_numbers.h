/* Maps a framework's numbers to ours: 30 bits come from the application's name, the rest from its
 * numbers of jobs and task attempts. So they are the same after any restart, need no state, and
 * never collide with ours (job numbers and epochs stay far below). Of two names with the same 30
 * bits only one is accepted (frameworks.h). Pure. */
#pragma once

#include "lib/fnv1a.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FRAMEWORK_BITS 30
#define FRAMEWORK_JOB_BIT                                                                          \
    (UINT64_C(1) << 2 * FRAMEWORK_BITS) /* and all numbers are below twice it */
#define FRAMEWORK_ATTEMPT_BIT (UINT64_C(1) << 63)
#define FRAMEWORK_JOB_MAX     ((1 << FRAMEWORK_BITS) - 1) /* an application's number of a job */

static inline uint64_t framework_bits(const char *application)
{
    return fnv1a(FNV1A_NOTHING, application, strlen(application)) & FRAMEWORK_JOB_MAX;
}
static inline uint64_t framework_job_number(uint64_t bits, uint32_t job)
{
    return FRAMEWORK_JOB_BIT | bits << FRAMEWORK_BITS | job;
}
static inline bool framework_owns_job(uint64_t bits, uint64_t number)
{
    return number >> FRAMEWORK_BITS == (FRAMEWORK_JOB_BIT >> FRAMEWORK_BITS | bits);
}
static inline uint32_t framework_job_of(uint64_t number)
{
    return number & FRAMEWORK_JOB_MAX;
}
static inline uint64_t framework_attempt_number(uint64_t bits, uint32_t attempt)
{
    return FRAMEWORK_ATTEMPT_BIT | bits << 32 | attempt;
}
static inline bool framework_owns_attempt(uint64_t bits, uint64_t number)
{
    return number >> 32 == (FRAMEWORK_ATTEMPT_BIT >> 32 | bits);
}
