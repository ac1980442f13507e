/* Control groups of attempts (cgroup v2; no controllers are needed, only membership, ids and
 * cgroup.kill).
 *
 * One subtree per agent, outside the agent's own service cgroup:
 *   ROOT/SUBTREE/ATTEMPT       duopoly-task, the attempt's parent
 *   ROOT/SUBTREE/ATTEMPT/task the command and all its descendants: these are marked and counted
 *
 * ATTEMPT is 16 hexadecimal digits. A cgroup's id, as the kernel gives it to eBPF, is its
 * directory's inode. Blocking, for a few file operations. */
#pragma once

#include "hostagent/files.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Where cgroup v2 is mounted, from /proc/mounts. −ENOENT with a sentence if it is not mounted. */
int cgroup_find_root(char ret_path[FILES_PATH], struct err *err);

/* Makes both cgroups of an attempt below `subtree` and opens them: *ret_parent_fd and *ret_task_fd
 * are directories, owned by the caller. Existing ones are used. */
int cgroup_make(const char *subtree, uint64_t attempt, int *ret_parent_fd, int *ret_task_fd,
                uint64_t *ret_id, struct err *err);

/* The id of the subtree itself; 0 if it is gone. */
uint64_t cgroup_subtree_id(const char *subtree);

/* The id of an attempt's command cgroup; 0 if it is gone. */
uint64_t cgroup_id(const char *subtree, uint64_t attempt);

/* Whether a process is in the parent's cgroup. */
bool cgroup_has_parent(const char *subtree, uint64_t attempt);

/* SIGKILL to everything in both cgroups; none is fine. */
void cgroup_kill(const char *subtree, uint64_t attempt);

/* Removes both; false while something is still dying in them: try again. */
bool cgroup_remove(const char *subtree, uint64_t attempt);

/* Calls `each` for every attempt that has a cgroup. */
int cgroup_list(const char *subtree, void (*each)(void *user, uint64_t attempt), void *user,
                struct err *err);
