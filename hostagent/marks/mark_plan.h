/* What mark_bpf.c's open would change, for it alone: the programs are loaded for it, as open does,
 * hang nowhere and go again, so what a kernel would refuse is told now. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/mark.h"

int mark_plan_bpf(const struct mark_config *config, struct changes *changes, struct err *err);
/* And its remove. */
int mark_plan_bpf_remove(const struct mark_config *config, struct changes *changes,
                         struct err *err);
