/* duopolyctl top: hosts, links or jobs on a terminal, as they are now, until it is asked to end.
 *
 * It asks the controller once a second, draws at most ten times a second, and waits for nothing but
 * keys, signals, answers and time: what is asked is top_fetch.h's, what keys do top_keys.h's, what
 * is drawn top_screen.h's, and the terminal top_curses.h's. However it is told to end, the terminal
 * is as it was found. */
#pragma once

#include "controller/cli/commands.h"
#include "controller/lists/list.h"

/* −EINVAL: there is no such view, or standard input and output are no terminal. */
int top_check(const struct request *request, struct err *err);
/* The list that --filter is about. */
const struct list *top_list(const struct request *request);

int run_top(struct client *client, const struct request *request, struct writer *writer,
            struct err *err);
