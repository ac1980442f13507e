/* The engine's state into a file, by a forked child, while the controller goes on.
 *
 * WHY a child: 10⁶ tasks are 140 MB of text. Written by the loop, they are 0.2 s in which no mark
 * is renewed; in slices between steps, the slices would have to agree with each other; a second
 * engine that is fed the same events doubles what deciding costs; a second thread needs the first
 * to stand still. A forked child has the state of one instant and costs the loop the copying of
 * page tables: 6 ms for 10⁶ tasks (400 MB), and a page's copying when it is first written.
 *
 * WHY a child without exec may do this although the process has threads and ZeroMQ sockets: it uses
 * neither. It closes all descriptors first, formats memory with engine_dump_in (no allocation, no
 * lock), calls write, and ends with _exit. It dies with the controller. */
#pragma once

#include "controller/engine/engine.h"

#include <sys/types.h>

/* What the child works in; made beforehand, for it may not allocate. */
struct recording_dump {
    const struct engine *engine;
    void *room;
    char *buffer;
};
/* The engine is borrowed until done. 0 or −ENOMEM. */
int recording_dump_init(struct recording_dump *dump, const struct engine *engine);
void recording_dump_done(struct recording_dump *dump);

/* Begins to write a recording's head (schemas/recording.md) into a new file: format, dump, wall
 * clock, and how many steps before it are in no file. Returns the child, which the caller waits for, or
 * −errno. It exits with 0, or with the errno of what it could not do. */
pid_t recording_dump_fork(const struct recording_dump *dump, const char *path, uint64_t dropped);
