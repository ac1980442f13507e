/* Applications of guests, executors that agents did not start: the rung of each, and why it is no
 * higher. `duopolyctl hosts` lists them by host below the hosts, `jobs` in total below the jobs. */
#pragma once

#include "controller/cli/commands.h"

/* Each writes one table if there are any; a controller without guests lists none. */
int guests_write(struct client *client, struct writer *writer, struct err *err);
/* For an application on several hosts: the lowest rung, and why. */
int guests_write_applications(struct client *client, struct writer *writer, struct err *err);
