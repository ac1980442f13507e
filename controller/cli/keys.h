/* duopolyctl keys: make, list, revoke, rotate.
 *
 * A pair is made here, and its secret half goes into a file, NAME.key in the folder --out (or the
 * current one): the controller gets only the public half. The file is named NAME.key.new until the
 * controller has accepted the key, so a refused one replaces nothing. The controller's own key file
 * gets the owner of its folder. */
#pragma once

#include "controller/cli/commands.h"

int keys_check(const struct request *request, struct err *err);

/* Whether it only lists them. */
bool keys_lists(const struct request *request);
/* The controller's own key is made without a controller. */
bool keys_alone(const struct request *request);

/* `client` is NULL if keys_alone. */
int run_keys(struct client *client, const struct request *request, struct writer *writer,
             struct err *err);
