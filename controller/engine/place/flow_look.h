/* What people see of the graph of placement: its arcs in words, and what was weighed for a task.
 * Private to controller/engine; flow.c asks it. */
#pragma once

#include "controller/engine/place/flow_view.h"

/* The arc with the least number above `after` of the last optimum; false: no more. Arcs that can
 * carry nothing are left out. */
bool flow_look_arc(const struct engine *engine, const struct flow_view *view, uint64_t after,
                   struct arc_view *ret_arc);

/* Adds the task's ways and what they cost by these weights, what it costs to wait, and who would
 * have its slot, and what was stopped for it. O(arcs of the graph, jobs, and tasks that were
 * evicted). */
void flow_look_explain(const struct engine *engine, const struct flow_view *view,
                       const struct flow_weights *weights, const struct task *task,
                       struct engine_explanation *e);
