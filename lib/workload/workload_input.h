/* Reads a workload for any program: a file of schemas/workload.md (its first character is `{`), or
 * a Facebook Coflow benchmark trace (a digit; lib/workload/workload_fb.h), converted job by
 * job (lib/workload/workload_convert.h).
 *
 * A workload file is read job by job; a trace is held in memory. Opens and reads files, may
 * block. */
#pragma once

#include <stdio.h>

#include "lib/err.h"
#include "lib/workload/workload.h"
#include "lib/workload/workload_convert.h"
#include "lib/workload/workload_file.h"

struct workload_input {
    struct workload_header header;
    bool converted;    /* from a trace */
    uint64_t jobs_max; /* stop after this many; 0: no limit */
    uint64_t jobs;     /* given so far */
    FILE *file;
    struct workload_reader reader;
    struct workload_fb *trace;
    struct workload_converter converter;
};

/* Opens `path` (borrowed until done) and reads its header. `options` say how to convert a trace; of
 * a workload file they limit the number of jobs only (`jobs`, 0: all). 0 or −errno with a sentence;
 * call workload_input_done() in any case. */
int workload_input_open(struct workload_input *input, const char *path,
                        const struct workload_convert *options, struct err *err);

/* The next job: 1 and *ret_job (the caller's), 0 at the end, −errno with a sentence. */
int workload_input_next(struct workload_input *input, struct workload_job *ret_job,
                        struct err *err);

/* Closes and frees; NULL and half-built ones are fine. */
void workload_input_done(struct workload_input *input);
