/* Asks duopoly-task's counter what attempts have read from disks, where this agent may not look
 * itself (lib/attempt.h has the messages). Its connection is made with the first request, and anew
 * with the next one after it was lost; what is asked meanwhile is not answered. One thread, in the
 * event loop; nothing waits. */
#pragma once

#include "hostagent/tasks/starter.h"

struct counting;

/* Borrows the words of `config` until closed. −ENOMEM. `on_count`: so many bytes in all. */
int counting_open(const struct starter_config *config, sd_event *event,
                  void (*on_count)(void *user, uint64_t attempt, uint64_t bytes), void *user,
                  struct counting **ret_counting, struct err *err);
void counting_close(struct counting *counting); /* takes NULL */
/* `pids`: as a cgroup's cgroup.procs says them. A request that cannot be sent now is dropped. */
void counting_ask(struct counting *counting, uint64_t attempt, const char *pids);
