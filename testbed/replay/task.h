/* A map or reduce task of the replay: fetches what its input file names, computes by waiting on a
 * timer (it uses no processor time), leaves an output that this host's replay server then holds,
 * and reports each step over the task socket (schemas/task.md). Map and reduce differ in their
 * input only: a map on a replica of its block has none. What its profile reads it reads before it
 * computes, and behind what it fetches, or by turns with its computing. */
#pragma once

#include <stdint.h>

#include "lib/err.h"

struct task_options {
    uint16_t port;       /* of every host's replay server */
    const char *ports;   /* directory for schemas/ports.md; NULL: nothing is recorded */
    const char *devices; /* it computes on the devices that it was given, which are here
                            (schemas/devices.md); NULL: on none */
    const char *uses;    /* directory where it says when; NULL: nowhere */
    const char *blocks;  /* the file of which it reads what its profile says (blocks.h); NULL: it
                            reads nothing, and only its computing is waited for */
    const char *meter;   /* of the disk below that; NULL: others limit it */
    const char *reads;   /* directory for what it read (schemas/devices.md); NULL: nowhere */
};

/* Does the task that the environment describes (DUOPOLY_TASK_…) from beginning to end; blocks. 0 or
 * −errno with the sentence that a failed job shows. */
int replay_task_run(const struct task_options *options, struct err *err);
