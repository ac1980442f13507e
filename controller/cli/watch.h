/* duopolyctl watch: what happens, as it comes, until it is asked to end; duopolyctl record FILE:
 * the same into a file. */
#pragma once

#include "controller/cli/commands.h"

int record_check(const struct request *request, struct err *err);

int run_watch(struct client *client, const struct request *request, struct writer *writer,
              struct err *err);
int run_record(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
