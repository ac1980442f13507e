/* Confines the controller (lib/confine.h): it reads and writes its state, its log, its keys and the
 * folder of its socket; its children are forks of itself (recording_dump.h), and it inspects no
 * process. If the kernel cannot do this, that is logged once, and it continues. */
#pragma once

#include "controller/settings.h"
#include "lib/err.h"

/* Call it when these folders exist, and before there are other threads. */
int confinement_limit_files(const struct settings *settings, struct err *err);

/* Call it when everything is open. */
int confinement_limit_calls(struct err *err);
