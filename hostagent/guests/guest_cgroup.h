/* The cgroup that identifies a guest (version 2).
 *
 * A cgroup that contains only the guest and what it started is the guest's own and stays as it is.
 * From a shared cgroup the guest is moved, with what it started, into a new one directly below:
 * limits, accounting and the service manager's kill of the shared one still apply. (WHY not below
 * the agent's own: there they would not.) Only processes move; older sockets still belong to the
 * shared cgroup.
 *
 * STATE/guests lists all cgroups in use, new ones before they are made. So after a kill at any
 * moment, the next agent can move every process back, and knows which levels are obsolete.
 * Blocking, for a few file operations; errors are −errno with a sentence. */
#pragma once

#include "hostagent/files.h"
#include "hostagent/guests/process.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define GUEST_CGROUPS      256
#define GUEST_CGROUPS_FILE "%s/guests" /* in the state folder: "made" or "kept", id, path a line */

struct guest_cgroup {
    bool made;
    uint64_t id; /* 0: it did not exist yet */
    char path[FILES_PATH];
};

/* Those in use. Zero it first. */
struct guest_cgroups {
    const char *state_dir; /* borrowed */
    uint32_t n;
    struct guest_cgroup all[GUEST_CGROUPS];
};

/* Reads the file; empty if there is none. */
int guest_cgroups_read(const char *state_dir, struct guest_cgroups *ret_cgroups, struct err *err);

/* Whether the cgroup at `path` contains only the process and what it started; never true for the
 * hierarchy's root. */
bool guest_cgroup_is_own(const char *root, const char *path, pid_t pid);

/* Whether it is in use; and whether we made it. */
bool guest_cgroup_is_used(const struct guest_cgroups *cgroups, const char *path);
bool guest_cgroup_is_made(const struct guest_cgroups *cgroups, const char *path);

/* Whether one of those is directly below it: then it may still have sockets of several
 * processes. */
bool guest_cgroup_was_shared(const struct guest_cgroups *cgroups, const char *path);

/* Makes a new one below `shared` and moves this process, and what it started of those there, into
 * it; *ret_path is its path. −E2BIG: GUEST_CGROUPS are in use. On failure nothing is changed. */
int guest_cgroup_make(struct guest_cgroups *cgroups, const char *shared,
                      const struct process *process, char ret_path[FILES_PATH], struct err *err);

/* Marks a guest's own cgroup as used; does nothing if it is. −E2BIG as above. */
int guest_cgroup_keep(struct guest_cgroups *cgroups, const char *path, struct err *err);

/* Ends its use: moves all processes of one that we made back, and removes it. Nothing there is
 * fine. */
int guest_cgroup_leave(struct guest_cgroups *cgroups, const char *path, struct err *err);

/* The same for all of them, and removes the file. Returns the first failure, after doing the
 * rest. */
int guest_cgroups_leave(const char *state_dir, struct err *err);

/* Its number, as the kernel gives it to eBPF; 0: it is gone. */
uint64_t guest_cgroup_id(const char *path);
