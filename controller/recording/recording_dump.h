/* Writes the engine's state as text, by a forked child, while the controller continues: into a
 * file, or for who asks for it.
 *
 * WHY a child: 10⁶ tasks are 140 MB of text. If the loop wrote them, it would renew no mark for 0.2
 * s; slices between steps would have to be consistent with each other; a second engine with the
 * same events would double the cost of deciding; a second thread would need the first to stop. A
 * forked child has the state of one instant and costs the loop the copying of page tables, which
 * recording_pages.h makes small beforehand, and of a page when it is first written.
 *
 * WHY a child without exec may do this although the process has threads and ZeroMQ sockets: it uses
 * neither. It closes all descriptors first, formats memory with recording_text.h (no allocation, no
 * lock), calls write, and ends with _exit. It dies with the controller. */
#pragma once

#include "controller/engine/engine.h"
#include "controller/recording/recording_pages.h"
#include "lib/err.h"

#include <sys/types.h>

/* Memory for the child; allocated beforehand, since it may not allocate. */
struct recording_dump {
    const struct engine *engine;
    void *scratch;
    char *buffer;
    struct recording_pages pages; /* ask whether they are ready before a fork */
    uint64_t fork_ns;             /* the loop's processor time for the last one */
};
/* The engine is borrowed until done. 0 or −errno. */
int recording_dump_init(struct recording_dump *dump, const struct engine *engine);
void recording_dump_done(struct recording_dump *dump);

/* Begins to write a recording's head (schemas/recording.md) into a new file: format, dump, wall
 * clock, and how many steps before it are in no file. Returns the child, for which the caller
 * waits, or −errno. It exits with 0, or with the errno of its failure. */
pid_t recording_dump_fork(struct recording_dump *dump, const char *path, uint64_t dropped);

/* The same of a state, of at_ns on the engine's clock, into an open file: a pipe, for which the
 * child waits where it is full. `fd` stays the caller's. */
pid_t recording_dump_fork_state(struct recording_dump *dump, int fd, int64_t at_ns);

/* Whether the last fork held the loop for longer than a turn should: how long, and why. */
bool recording_dump_was_slow(const struct recording_dump *dump, struct err *err);
