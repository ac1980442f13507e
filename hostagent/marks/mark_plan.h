/* What mark_bpf.c's open would change; for mark_bpf.c only. The programs are loaded as open does,
 * not attached, and unloaded, so the kernel's refusals are known in advance. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/mark.h"

int mark_plan_bpf(const struct mark_config *config, struct changes *changes, struct err *err);
/* The same for its remove. */
int mark_plan_bpf_remove(const struct mark_config *config, struct changes *changes,
                         struct err *err);
