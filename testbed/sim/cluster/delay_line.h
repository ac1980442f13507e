/* Items of one size on their way: they leave in the order in which they came, each at its instant.
 * Carries reports of agents and orders of the controller.
 *
 * Instants must not go back from one push to the next (one line has one delay), so both ends cost
 * O(1), amortised. Memory: the most items on their way at once. Pure; a line with item_bytes and
 * zeros is empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DELAY_LINE_NEVER INT64_MAX

struct delay_line {
    size_t item_bytes;
    int64_t *due_ns; /* owned, as is items: rings of `allocated` places */
    char *items;
    size_t first, n, allocated;
};

/* Copies item_bytes from `item`. 0 or −ENOMEM, which changes nothing. */
int delay_line_push(struct delay_line *line, int64_t due_ns, const void *item);

/* When the next one leaves; DELAY_LINE_NEVER when empty. */
int64_t delay_line_next_ns(const struct delay_line *line);

/* The next one, valid until the next push or take; NULL when empty. */
const void *delay_line_first(const struct delay_line *line);

/* Takes out the next one that is due by now_ns; false if there is none. */
bool delay_line_take(struct delay_line *line, int64_t now_ns, void *ret_item);

void delay_line_done(struct delay_line *line);
