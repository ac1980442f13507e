/* Processes of this host as /proc tells of them (proc(5)).
 *
 * A number alone is nobody: it is given again. Who has to know whether it is still the same process
 * keeps its start with it (process_start), and a descriptor of it (pidfd_open(2)) to hear its end.
 * Blocking, for a few small files; errors are −errno. */
#pragma once

#include "hostagent/files.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Process numbers that are looked at by process_each. */
#define PROCESSES_MOST 65536

struct process {
    pid_t pid, parent;
    uint64_t start;          /* ticks of sysconf(_SC_CLK_TCK) since the boot */
    uid_t user;              /* real */
    bool elsewhere;          /* it has a network namespace of its own */
    bool closed;             /* its descriptors and namespaces may not be looked at */
    char cgroup[FILES_PATH]; /* of version 2, from that hierarchy's root on: "/", "/a/b" */
};

/* −ESRCH: there is none, or it has ended and waits to be reaped. */
int process_look(pid_t pid, struct process *ret_process);

/* Whether processes of other users can be looked at, whatever hides them: 0, or −errno and what to do. */
int process_others_seen(struct err *err);

/* When the process with this number started; 0: as −ESRCH. */
uint64_t process_start(pid_t pid);

/* Whether `pid` is `above` or was started by it, or by one that it started, and so on. */
bool process_descends(pid_t pid, pid_t above);

/* Seconds since it started. */
double process_age_s(const struct process *process);

/* Its command line into `line`; returns its bytes, 0 for none. */
ssize_t process_line(pid_t pid, char *line, size_t size);

/* Every process that there is, PROCESSES_MOST at most. */
int process_each(void (*each)(void *user, pid_t pid), void *user);
