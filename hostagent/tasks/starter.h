/* The agent's hold on duopoly-task, which starts attempts for it: in a process of its own, so that
 * no start keeps the agent from obeying (lib/attempt.h says what goes between them).
 *
 * duopoly-task is started by the first order, and again by the next one after it died or was
 * replaced. Nothing waits for it: an attempt's socket tells what becomes of an order. It says
 * "parent" or "failed", or it ends: then the order was lost with duopoly-task. When it says nothing
 * for too long, whoever gave the order calls starter_replace (TASKS_START_WAIT_MS). Bound:
 * STARTER_WAITING bytes of orders that wait, more is refused. One thread, in the event loop; an
 * order costs two system calls. */
#pragma once

#include "lib/attempt.h"
#include "lib/err.h"

#include <systemd/sd-event.h>

#define STARTER_WAITING (16 << 20)

struct starter;

/* `program` is duopoly-task's path, borrowed until closed. */
int starter_open(const char *program, sd_event *event, struct starter **ret_starter,
                 struct err *err);

/* It hangs: it is killed, and the next order starts another. Attempts live on, orders that it has
 * not come to are lost. */
void starter_replace(struct starter *starter);

/* As starter_replace, for good. Takes NULL. */
void starter_close(struct starter *starter);

/* Orders an attempt. Descriptors are borrowed; *ret_socket, non-blocking, is the caller's. */
int starter_start(struct starter *starter, const struct attempt_order *order, int parent_cgroup_fd,
                  int task_cgroup_fd, int *ret_socket, struct err *err);
