/* `support-bundle FILE`: what somebody needs who is to say what is wrong with a cluster, in one tar
 * file on this machine: its controller's configuration, newest recording and log, what it answers,
 * versions, and what the kernel tells of this machine. No key and no token: none of these files has
 * one. Bounded: each part, and all together. Where no controller answers, the rest is there. */
#pragma once

#include "controller/cli/commands.h"

int bundle_check(const struct request *request, struct err *err);
/* `client` NULL: nobody answers, as request->unreached says. EXIT_PARTIAL where something could not
 * be had; the answer, and the file's README, say what. */
int run_bundle(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
