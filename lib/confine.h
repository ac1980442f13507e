/* The fences that a daemon puts around itself, so that who takes it over has little of the machine.
 *
 * Two, and both hold for good, for what is executed later too: which files it reaches (landlock,
 * Linux 5.13), and which system calls there are (seccomp). What is open already stays open. Nothing
 * can be executed or mounted behind either. They stand on top of what a service manager fences off
 * (packaging/), and where none does. A sanitizer makes calls of its own and reads the program to
 * name lines of it: a program built with one is not fenced in. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>

struct confine_path {
    const char *path; /* a folder with all below it, or a file */
    bool write;       /* else it is only read */
};

/* From here on only these and what every program reads (CONFINE_SYSTEM). Binds this thread and what
 * it starts: to be called before there are others. One that is not there is passed over.
 * −EOPNOTSUPP: there can be no such fence, with a sentence that says why; else −errno. */
int confine_files(const struct confine_path *paths, size_t n, struct err *err);

/* What only some need. */
enum confine_call {
    CONFINE_BPF = 1,  /* the call of that name */
    CONFINE_FORK = 2, /* children that are the same program, and their end */
};

/* All threads: files, sockets, memory, time and threads stay, and what `more` says. Who would
 * become another program, look into another process or change the kernel is killed by SIGSYS; any
 * other call fails with EPERM. −EOPNOTSUPP as above. */
int confine_calls(unsigned more, struct err *err);

/* What either returned, for who goes on all the same where there can be no such fence: that is
 * logged, with the sentence in `err`, and becomes 0. */
int confine_or_say(int r, const struct err *err);
