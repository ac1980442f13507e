/* Confines the controller (lib/confine.h): it reads and writes its state, its log, its keys and the
 * folder of its socket, and reads that of its configuration; its children are forks of itself
 * (recording_dump.h), and it inspects no process. If the kernel cannot do this, that is logged
 * once, and it continues. */
#pragma once

#include "controller/settings.h"
#include "lib/err.h"

/* Call it when these folders exist, and before there are other threads. `config`: the path of the
 * configuration's file, NULL: there is none. */
int confinement_limit_files(const struct settings *settings, const char *config, struct err *err);

/* Call it when everything is open. */
int confinement_limit_calls(struct err *err);
