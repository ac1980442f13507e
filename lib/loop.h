/* The event loop of every daemon: sd-event, ended by SIGTERM and SIGINT. SIGUSR1 has it log
 * everything, SIGUSR2 what it logged at first (log_everything); a line says each. Both are blocked. */
#pragma once

#include "lib/err.h"

#include <systemd/sd-event.h>

/* A new loop that ends with code 0 on SIGTERM and SIGINT, and feeds the service manager's watchdog where
 * there is one. Both signals stay blocked in the process, and SIGPIPE is ignored from here on: a
 * peer that goes is an error of the write. The caller unrefs `*ret_loop`, also on failure (NULL
 * then, or a loop without its signals). 0 or −errno. */
int loop_open(sd_event **ret_loop, struct err *err);

/* SIGHUP asks a daemon to read its configuration again. One that does not calls this before there are
 * other threads: the signal is blocked from then on, and each one has a line of the log: that the
 * configuration is read at the start alone, and `how` it is taken. `how` is borrowed. 0 or −errno. */
int loop_say_reload(sd_event *loop, const char *how, struct err *err);
