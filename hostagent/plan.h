/* `duopoly-agent --plan`: what agent_run would change on this host, and for what it would be
 * refused; changes nothing.
 *
 * Each part of the agent says it of itself, by looking at the host as it does when it begins: ports
 * and their queues are read, the marking programs are loaded as they would be, hang nowhere and go
 * again. After agent_run with the same settings nothing is left to change, while it runs and when it
 * was killed. Not in it: what sessions with a controller and attempts bring about (an epoch, a
 * stance that is told, attempts' files and cgroups), and what ends with the process (sockets, what
 * starts attempts, the program that lists sockets). The agent sets no sysctl. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/settings.h"
#include "lib/writer.h"

#include <stdio.h>

/* The caller frees (changes_free), also after a failure: out of memory, or too much. */
int plan_make(const struct agent_settings *settings, const struct settings_resolved *resolved,
              bool replace, struct changes *ret_changes, struct err *err);

/* As plan_make, of ports in trouble alone: reasons are refusals or notes; there are no changes. A switch that
 * cannot be looked at now has none. */
void plan_look_at_ports(const struct agent_settings *settings,
                        const struct settings_resolved *resolved, bool replace,
                        struct changes *ret_changes);

/* The stance in force, refusals, notes on what will not work, and changes in their order. */
int plan_write(const struct agent_settings *settings, const struct settings_resolved *resolved,
               const struct changes *changes, const struct writer_form *form, FILE *out,
               struct err *err);
