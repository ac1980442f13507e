/* Workload files (schemas/workload.md), read and written job by job, so that a file may be of any
 * length.
 *
 * What this adds to lib/workload/workload.h is what no single line can know: the header comes
 * first, arrivals never go back, ids are unique. Every sentence begins with FILE:LINE.
 *
 * A reader and a writer own nothing but memory: the stream is the caller's, borrowed until `done`,
 * and may be a pipe. They block as the stream does. Memory: one line, one job, and the ids in
 * ranges (consecutive ones cost nothing; over WORKLOAD_ID_RANGES_MAX scattered ranges are refused).
 * Not for use by two threads at once. */
#pragma once

#include <stdio.h>

#include <bsd/sys/tree.h>

#include "lib/err.h"
#include "lib/workload/workload.h"

enum { WORKLOAD_ID_RANGES_MAX = 1000000 };

struct workload_id_range;
RB_HEAD(workload_ids, workload_id_range);

struct workload_reader {
    FILE *in;         /* borrowed */
    const char *name; /* of the file, for sentences; borrowed */
    uint64_t line;    /* of the line read last, from 1 */
    struct workload_header header;
    uint64_t arrival_ns; /* of the job read last */
    char *text;
    size_t text_size;
    struct workload_ids ids;
    uint32_t n_ids;
};

/* Reads the header. −EINVAL, −EIO or −ENOMEM with a sentence; call workload_reader_done() in any
 * case. */
int workload_reader_init(struct workload_reader *reader, FILE *in, const char *name,
                         struct err *err);

/* The next job: 1 and *ret_job (the caller's, to be ended with workload_job_done()), 0 at the end
 * of the file, or −EINVAL, −EIO, −ENOMEM with a sentence, after which the reader is only good for
 * `done`. Blank lines are skipped. */
int workload_reader_next(struct workload_reader *reader, struct workload_job *ret_job,
                         struct err *err);

/* Frees what the reader owns; NULL and half-built ones are fine. The stream stays open. */
void workload_reader_done(struct workload_reader *reader);

/* Write one line each; −ENOMEM, or −EIO with the system's words. The caller keeps the order and
 * checks the job. */
int workload_write_header(FILE *out, const struct workload_header *header, struct err *err);
int workload_write_job(FILE *out, const struct workload_job *job, struct err *err);
