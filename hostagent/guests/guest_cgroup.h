/* The cgroup by which a guest is told from others (version 2).
 *
 * One that holds nobody but the guest and what it started is the guest's own, and stays as it is.
 * From one that it shares it is moved, with what it started, into a new one right below it:
 * limits, accounts and the end that its service manager gives to the shared one reach it there as
 * before (WHY not below the agent's own: those of the shared one would end there). Moved are
 * processes; sockets stay what they were: those that are older belong to the shared cgroup.
 *
 * All that are used stand in STATE/guests, those that are made before they are: so whoever comes
 * after a kill at any moment can put everybody back, and knows whose levels are nobody's any more.
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
    uint64_t id; /* 0: it was not there yet */
    char path[FILES_PATH];
};

/* Those in use. Zero to begin with. */
struct guest_cgroups {
    const char *state_dir; /* borrowed */
    uint32_t n;
    struct guest_cgroup all[GUEST_CGROUPS];
};

/* What the file says; none where there is none. */
int guest_cgroups_read(const char *state_dir, struct guest_cgroups *ret_cgroups, struct err *err);

/* Whether nobody but the process and what it started is in the cgroup at `path`; never the
 * hierarchy's root. */
bool guest_cgroup_is_own(const char *root, const char *path, pid_t pid);

/* Whether it is among those; whether it was made, too. */
bool guest_cgroup_is_used(const struct guest_cgroups *cgroups, const char *path);
bool guest_cgroup_is_made(const struct guest_cgroups *cgroups, const char *path);

/* Whether one of those stands right below it: then sockets of several may be in it still. */
bool guest_cgroup_was_shared(const struct guest_cgroups *cgroups, const char *path);

/* A new one below `shared`, for this process and what it started of those there; *ret_path is its
 * path. −E2BIG: GUEST_CGROUPS are in use. On failure everything is as it was. */
int guest_cgroup_make(struct guest_cgroups *cgroups, const char *shared,
                      const struct process *process, char ret_path[FILES_PATH], struct err *err);

/* A guest's own is in use; nothing for one that is already. −E2BIG as above. */
int guest_cgroup_keep(struct guest_cgroups *cgroups, const char *path, struct err *err);

/* It is not in use any more: puts all in one that was made back, and removes it. Nothing there is
 * fine. */
int guest_cgroup_leave(struct guest_cgroups *cgroups, const char *path, struct err *err);

/* The same for all of them, and the file. The first failure is told, the rest done all the same. */
int guest_cgroups_leave(const char *state_dir, struct err *err);

/* Its number, as the kernel gives it to eBPF; 0: it is gone. */
uint64_t guest_cgroup_id(const char *path);
