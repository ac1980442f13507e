/* The event loop of every daemon: sd-event, ended by SIGTERM and SIGINT. On SIGUSR1 it logs
 * everything, on SIGUSR2 what it logged at first (log_everything); a line reports each change. Both
 * are blocked. */
#pragma once

#include "lib/err.h"

#include <systemd/sd-event.h>

/* Makes a loop that ends with code 0 on SIGTERM and SIGINT and feeds the service manager's
 * watchdog, if there is one. Both signals stay blocked in the process. SIGPIPE is ignored from now
 * on: writing to a peer that is gone fails with an error. The caller unrefs `*ret_loop`, also after
 * a failure (it is then NULL, or a loop without its signals). 0 or −errno. */
int loop_open(sd_event **ret_loop, struct err *err);

/* SIGHUP asks a daemon to read its configuration again. A daemon that does not do so calls this
 * before it has other threads. The signal is then blocked, and each one is answered by a line in
 * the log: the configuration is read only at the start, and `how` a change is applied. `how` is
 * borrowed. 0 or −errno. */
int loop_say_reload(sd_event *loop, const char *how, struct err *err);
