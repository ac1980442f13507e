/* The layout of a flow's fields in the values of a pinned map (pure).
 *
 * The map outlives the agent that made it, and the next agent's struct mark_flow may differ. So the
 * agent that makes a map also writes its layout as text, a line "NAME OFFSET BYTES" for each field,
 * and the agent that takes it over reads flows field by field, by name. A field that the map lacks,
 * or has in another size, is 0. */
#pragma once

#include "hostagent/marks/mark_abi.h"

#include <stddef.h>

#define FLOW_LAYOUT_TEXT 1024

/* Of our own struct mark_flow, as a text. */
void flow_layout_text(char text[FLOW_LAYOUT_TEXT]);

/* Unknown lines are skipped; a field that ends beyond `value_bytes` counts as missing. */
void flow_layout_read(const char *text, size_t value_bytes, struct mark_before *ret_layout);

void flow_layout_take(const struct mark_before *layout, const void *value,
                      struct mark_flow *ret_flow);
