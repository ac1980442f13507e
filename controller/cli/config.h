/* `config`: what the controller's configuration says and what is in force; whether a file is right,
 * and what it would change; and the order to read it again. */
#pragma once

#include "controller/cli/commands.h"

int config_check(const struct request *request, struct err *err);
/* Whether it needs no controller. */
bool config_alone(const struct request *request);
struct list;
/* The list that it shows; NULL: so asked it shows none. */
const struct list *config_list(const struct request *request);
int run_config(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
