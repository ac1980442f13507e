/* What duopolyctl top asks the controller: its status, and the rows of one screen. Pages are
 * bounded by the screen's rows, so the cost grows with the screen, not with the cluster. Nothing
 * here waits; answers are taken as they come. */
#pragma once

#include "controller/cli/top_screen.h"
#include "lib/client.h"

/* Pages that are asked for one screen at most. WHY fewer with a filter: then each may look at some
 * hundred rows that it does not keep. */
enum { TOP_FETCH_PAGES = 48, TOP_FETCH_FILTERED = 12 };

struct top_fetch;

/* The client is borrowed. NULL: out of memory. */
struct top_fetch *top_fetch_create(struct client *client);
void top_fetch_destroy(struct top_fetch *fetch);

/* Asks for the status and, where `rows` ≠ 0, so many rows of what the state looks at. It is not
 * busy. Errors as client_send. */
int top_fetch_begin(struct top_fetch *fetch, const struct top_state *state, unsigned rows,
                    struct err *err);
bool top_fetch_busy(const struct top_fetch *fetch);
/* Whether it was asked for what the state looks at now. */
bool top_fetch_is_of(const struct top_fetch *fetch, const struct top_state *state);
/* What was asked is void: the connection is another one. */
void top_fetch_forget(struct top_fetch *fetch);
/* Takes what came. 1: that was all, and `shown` and `state` have it; 0: more is to come; −errno as
 * client_take, and of the present question nothing more comes. */
int top_fetch_go_on(struct top_fetch *fetch, struct top_state *state, struct top_shown *shown,
                    struct err *err);
