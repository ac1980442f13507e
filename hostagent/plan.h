/* `duopoly-agent --plan`: what agent_run would change on this host, and why it would refuse;
 * changes nothing.
 *
 * Each part of the agent reports its own changes by looking at the host as it does when it begins:
 * ports and their queues are read; the marking programs are loaded, not attached, and unloaded.
 * After agent_run with the same settings the plan is empty, while the agent runs and after it was
 * killed. Not included: what sessions with a controller and attempts change (an epoch, a stance
 * from the controller, attempts' files and cgroups), and what ends with the process (sockets, what
 * starts attempts, the program that lists sockets). The agent sets no sysctl. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/settings.h"
#include "lib/writer.h"

#include <stdio.h>

/* The caller frees it (changes_free), also after a failure (out of memory, or too many changes). */
int plan_make(const struct agent_settings *settings, const struct settings_resolved *resolved,
              bool replace, struct changes *ret_changes, struct err *err);

/* As plan_make, only for ports in trouble: the reasons are refusals or notes, there are no changes.
 * A switch that cannot be read now has none. */
void plan_look_at_ports(const struct agent_settings *settings,
                        const struct settings_resolved *resolved, bool replace,
                        struct changes *ret_changes);

/* Writes the stance in force, refusals, notes on what will not work, and the changes in order. */
int plan_write(const struct agent_settings *settings, const struct settings_resolved *resolved,
               const struct changes *changes, const struct writer_form *form, FILE *out,
               struct err *err);
