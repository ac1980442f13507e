/* Where the fields of a flow stand in the values of a pinned map (pure).
 *
 * The map outlives the agent that made it, and the next agent's struct mark_flow may be another. So
 * who makes a map says in a text, a line "NAME OFFSET BYTES" for each field, where its fields are,
 * and whoever takes it over reads flows field by field, by name. A field that the map has not, or
 * has in another size, is 0. */
#pragma once

#include "hostagent/marks/mark_abi.h"

#include <stdbool.h>
#include <stddef.h>

#define FLOW_LAYOUT_TEXT 1024

/* Of our own struct mark_flow, as a text. */
void flow_layout_text(char text[FLOW_LAYOUT_TEXT]);

/* Lines of nobody's are skipped, and what points beyond `value_bytes` counts as not there. */
void flow_layout_read(const char *text, size_t value_bytes, struct mark_before *ret_layout);

void flow_layout_take(const struct mark_before *layout, const void *value,
                      struct mark_flow *ret_flow);
