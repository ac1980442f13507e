/* The agent's hold on duopoly-task, which starts attempts for it: in a process of its own, so that
 * no start keeps the agent from obeying, and the agent needs no right to change users
 * (lib/attempt.h says what goes between them).
 *
 * Where the configuration names its socket, duopoly-task has been started by somebody else, and
 * each connection is served by a process of its own there. Else it is ours: started by the first
 * order. Either way the next order after it died, or was replaced, finds a new one. Nothing waits for it: an attempt's socket tells what becomes of an order. It says
 * "parent" or "failed", or it ends: then the order was lost with duopoly-task. When it says nothing
 * for too long, whoever gave the order calls starter_replace (TASKS_START_WAIT_MS). Bound:
 * STARTER_WAITING bytes of orders that wait, more is refused. One thread, in the event loop; an
 * order costs two system calls. */
#pragma once

#include "lib/attempt.h"
#include "lib/err.h"

#include <systemd/sd-event.h>

#define STARTER_WAITING (16 << 20)

struct starter_config {
    const char *socket;  /* where it listens; "": it is started here */
    const char *program; /* duopoly-task */
    const char *file;    /* the agent's configuration, which it reads */
};

struct starter;

/* The words of `config` are borrowed until closed. */
int starter_open(const struct starter_config *config, sd_event *event, struct starter **ret_starter,
                 struct err *err);

/* It hangs: it is killed or left, and the next order goes to another. Attempts live on, orders that it has
 * not come to are lost. */
void starter_replace(struct starter *starter);

/* As starter_replace, for good. Takes NULL. */
void starter_close(struct starter *starter);

/* Orders an attempt. Descriptors are borrowed; *ret_socket, non-blocking, is the caller's. */
int starter_start(struct starter *starter, const struct attempt_order *order, int parent_cgroup_fd,
                  int task_cgroup_fd, int *ret_socket, struct err *err);

/* Has the outputs in `folder` that nobody wants any more removed (ATTEMPT_GONE). It is not told
 * when. */
int starter_clear(struct starter *starter, const char *folder, struct err *err);
