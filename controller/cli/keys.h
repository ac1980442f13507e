/* duopolyctl keys: make, list, revoke, rotate.
 *
 * A pair is made here and its secret half goes into a file, NAME.key in the folder --out (or here):
 * the controller is told the public half only. The file is beside its place, as NAME.key.new, until
 * the controller has taken the key, so one that is refused replaces nothing. The controller's own
 * belongs to who owns the folder that it lies in. */
#pragma once

#include "controller/cli/commands.h"

int keys_check(const struct request *request, struct err *err);

/* The controller's own key is made before there is a controller. */
bool keys_alone(const struct request *request);

/* `client` is NULL where keys_alone. */
int run_keys(struct client *client, const struct request *request, struct writer *writer,
             struct err *err);
