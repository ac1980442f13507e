/* Applications of guests, executors that agents did not start: how far each is reached, and why not
 * further. `duopolyctl hosts` shows them by hosts below the hosts, `jobs` whole below the jobs. */
#pragma once

#include "controller/cli/commands.h"

/* Either writes one table, if there are any; a controller that knows no guests has none. */
int guests_write(struct client *client, struct writer *writer, struct err *err);
/* Of an application on several hosts the lowest rung counts, and why. */
int guests_write_applications(struct client *client, struct writer *writer, struct err *err);
