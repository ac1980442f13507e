/* What the controller fences off from itself (lib/confine.h): it reads and writes its state, its
 * log, its keys and the folder of its socket; its children are itself (recording_dump.h), and it looks into
 * nobody. Where the kernel has no such fence, that is said once and it goes on without. */
#pragma once

#include "controller/settings.h"
#include "lib/err.h"

/* When these folders are there, and no other thread is. */
int fence_files(const struct settings *settings, struct err *err);

/* When all is open. */
int fence_calls(struct err *err);
