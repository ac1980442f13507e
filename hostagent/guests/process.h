/* Processes of this host as /proc reports them (proc(5)).
 *
 * A process number identifies nothing: it is reused. To know whether a process is still the same,
 * keep its start time too (process_start), and to be told of its end, a descriptor of it
 * (pidfd_open(2)). Blocking, for a few small files; errors are −errno. */
#pragma once

#include "hostagent/files.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Process numbers that process_each reads. */
#define PROCESSES_MOST 65536

struct process {
    pid_t pid, parent;
    uint64_t start;          /* ticks of sysconf(_SC_CLK_TCK) since the boot */
    uid_t user;              /* real */
    bool elsewhere;          /* in another network namespace */
    bool closed;             /* we may not read its descriptors and namespaces */
    char cgroup[FILES_PATH]; /* of version 2, from that hierarchy's root: "/", "/a/b" */
};

/* −ESRCH: there is none, or it is a zombie. */
int process_look(pid_t pid, struct process *ret_process);

/* Whether we can read processes of other users (something may hide them): 0, or −errno and what to
 * do. */
int process_others_seen(struct err *err);

/* When the process with this number started; 0 instead of −ESRCH. */
uint64_t process_start(pid_t pid);

/* Whether `pid` is `above` or a descendant of it. */
bool process_descends(pid_t pid, pid_t above);

/* Seconds since it started. */
double process_age_s(const struct process *process);

/* Its command line into `line`; returns its bytes, 0 for none. */
ssize_t process_line(pid_t pid, char *line, size_t size);

/* Every process that there is, PROCESSES_MOST at most. */
int process_each(void (*each)(void *user, pid_t pid), void *user);
