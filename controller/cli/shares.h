/* `duopolyctl shares`: what each user was to have of the cluster, and what it had over time: as a
 * table, as JSON with each span, and as a picture (--svg). */
#pragma once

#include "controller/cli/commands.h"

#include <stdio.h>

int run_shares(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);

/* What run_shares has read: `all` and each user, in order of their numbers. */
struct shares_read {
    duopoly_SharePage head; /* the last page; its rows are not used */
    duopoly_ShareRow *rows; /* all of them, each with as many spans as `head.all` */
    size_t n, size;
};

/* A user's part of what all had in a span, in millionths; −1: nobody had anything. */
int64_t shares_part_ppm(const struct shares_read *read, const duopoly_ShareRow *row, size_t span);

/* The picture: a line a user, and its right share dashed. */
void shares_picture(const struct shares_read *read, FILE *out);
