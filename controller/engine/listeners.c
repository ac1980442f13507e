/* All listeners, in order of their calls (listener.h). WHY this order: sets of ready tasks are
 * updated before holds look at them, sources let go before an allow's time is checked, and turns
 * come last, since they depend on policies, sizes and what remains. */
#include "controller/engine/base/listener.h"
#include "controller/engine/watch/allow.h"
#include "controller/engine/watch/estimate.h"
#include "controller/engine/watch/failing.h"
#include "controller/engine/watch/framework_sizes.h"
#include "controller/engine/watch/gate.h"
#include "controller/engine/watch/hold.h"
#include "controller/engine/watch/locality.h"
#include "controller/engine/watch/opened.h"
#include "controller/engine/watch/order.h"
#include "controller/engine/watch/queues.h"
#include "controller/engine/watch/refusal.h"
#include "controller/engine/watch/remaining.h"
#include "controller/engine/watch/source.h"
#include "controller/engine/watch/works.h"

const struct listener listener_policies;

const struct listener *const engine_listeners[] = {
    &locality_hears, &queues_hears,   &source_hears,    &failing_hears,
    &allow_hears,    &hold_hears,     &refusal_hears,   &gate_hears,
    &works_hears,    &estimate_hears, &remaining_hears, &listener_policies,
    &sizes_hears,    &order_hears,    &opened_hears,    NULL,
};
