/* `duopolyctl users`, `debts` and `user`: who jobs belong to, their shares, and who owes whom. */
#pragma once

#include "controller/cli/commands.h"

int run_users(struct client *client, const struct request *request, struct writer *writer,
              struct err *err);
int run_debts(struct client *client, const struct request *request, struct writer *writer,
              struct err *err);
int user_check(const struct request *request, struct err *err);
int run_user(struct client *client, const struct request *request, struct writer *writer,
             struct err *err);
