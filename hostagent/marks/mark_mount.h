/* The bpf file system of an agent instance, for mark_bpf.c only. It is mounted if there is none,
 * and unmounted only by the instance that mounted it, which a file in the state folder records. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/mark.h"

#include <stdbool.h>

bool mark_mount_stands(const struct mark_config *config);
int mark_mount(const struct mark_config *config, struct err *err);
int mark_mount_plan(const struct mark_config *config, struct changes *changes, struct err *err);
/* does nothing if it is not ours */
int mark_unmount(const struct mark_config *config, struct err *err);
int mark_unmount_plan(const struct mark_config *config, struct changes *changes, struct err *err);
