/* The bpf file system of an agent instance, for mark_bpf.c alone: mounted where there is none, and
 * unmounted only by who mounted it, which a file in the state folder says. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/mark.h"

#include <stdbool.h>

bool mark_mount_stands(const struct mark_config *config);
int mark_mount(const struct mark_config *config, struct err *err);
int mark_mount_plan(const struct mark_config *config, struct changes *changes, struct err *err);
int mark_unmount(const struct mark_config *config, struct err *err); /* not ours is fine */
int mark_unmount_plan(const struct mark_config *config, struct changes *changes, struct err *err);
