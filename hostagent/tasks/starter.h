/* The agent's connection to duopoly-task, which starts attempts for it: in a process of its own, so
 * that no start delays the agent, and the agent needs no right to change users (lib/attempt.h has
 * the protocol).
 *
 * If the configuration names its socket, duopoly-task was started by a service manager, and serves
 * each connection in a process of its own. Else the first order starts it. In both cases the next
 * order after it died, or was replaced, reaches a new one. Nothing waits for it: the attempt's
 * socket reports the outcome of an order by "parent" or "failed"; if it ends, the order was lost
 * with duopoly-task. If nothing comes for too long, the caller that gave the order calls
 * starter_replace (TASKS_START_WAIT_MS). At most STARTER_WAITING bytes of orders wait; more is
 * refused. One thread, in the event loop; an order costs two system calls. */
#pragma once

#include "lib/attempt.h"
#include "lib/err.h"

#include <systemd/sd-event.h>

#define STARTER_WAITING (16 << 20)

struct starter_config {
    const char *socket;  /* where it listens; "": we start it */
    const char *program; /* duopoly-task */
    const char *file;    /* the agent's configuration, which it reads */
};

struct starter;

/* The words of `config` are borrowed until closed. */
int starter_open(const struct starter_config *config, sd_event *event, struct starter **ret_starter,
                 struct err *err);

/* A connection more to the one that a service manager started; the caller's. */
int starter_connect(const struct starter_config *config, struct err *err);

/* It hangs: kills or leaves it; the next order goes to a new one. Attempts live on; orders that it
 * has not begun are lost. */
void starter_replace(struct starter *starter);

/* As starter_replace, for good. Takes NULL. */
void starter_close(struct starter *starter);

/* Orders an attempt. Descriptors are borrowed; *ret_socket, non-blocking, is the caller's. */
int starter_start(struct starter *starter, const struct attempt_order *order, int parent_cgroup_fd,
                  int task_cgroup_fd, int *ret_socket, struct err *err);

/* Asks for the removal of the outputs in `folder` that are no longer needed (ATTEMPT_GONE). Does
 * not report when it is done. */
int starter_clear(struct starter *starter, const char *folder, struct err *err);
