/* Confines a daemon, so that whoever takes it over gets little of the machine.
 *
 * There are two limits, and both hold for good, also for programs executed later: which files can
 * be reached (landlock, Linux 5.13), and which system calls exist (seccomp). What is open already
 * stays open. Neither lets the process execute or mount anything. They add to what the service
 * manager confines (packaging/) and also work without one. A program built with a sanitizer is not
 * confined: it makes calls of its own and reads its binary to name source lines. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>

struct confine_path {
    const char *path; /* a folder with all below it, or a file */
    bool write;       /* else it is only read */
};

/* Limits file access to these paths and to what every program reads (CONFINE_SYSTEM). Applies to
 * this thread and what it starts: call it before there are other threads. A path that does not
 * exist is skipped. −EOPNOTSUPP: the kernel cannot do this; the sentence says why. Else −errno. */
int confine_files(const struct confine_path *paths, size_t n, struct err *err);

/* Calls that only some daemons need. */
enum confine_call {
    CONFINE_BPF = 1,  /* bpf(2) */
    CONFINE_FORK = 2, /* forks of the same program, and waiting for their ends */
};

/* Applies to all threads. Files, sockets, memory, time and threads stay allowed, and what `more`
 * names. Executing a program, looking into another process or changing the kernel kills the process
 * by SIGSYS; any other call fails with EPERM. −EOPNOTSUPP as above. */
int confine_calls(unsigned more, struct err *err);

/* For callers that continue where confinement is not possible: takes what either function returned,
 * logs an −EOPNOTSUPP with the sentence in `err`, and returns 0 for it. */
int confine_or_say(int r, const struct err *err);
