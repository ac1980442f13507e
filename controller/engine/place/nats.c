/* nats, the network-aware task scheduler: Tian et al., section 5, algorithms 1–4, and what they
 * leave open.
 *
 * "One call returns one (task, server) pair or nothing." The literal loops walk over jobs and
 * servers; here each question is one look into an index whose least value says whether any entry
 * passes (sorted_first_below). Settled here:
 *  - maps of other jobs follow reduce tasks in the uncongested slot-rich mode ("reduce first", not
 *    "reduce only");
 *  - even_wait: maps of every job, the first too, run next to their blocks on the host with the
 *    fewest of the job's maps, and wait for a slot on hosts that have not had their even part
 *    (locality.h). The source says that placing maps next to their blocks "balances the servers as
 *    far as possible and so relieves congestion" (5.2) and that delay scheduling makes over 99 % of
 *    them local; algorithm 2 alone does neither: maps of a waiting job gather wherever slots happen
 *    to be free, and the fullest uplink then paces the whole shuffle, for hundreds of seconds where
 *    a map takes one. Off is the source's text;
 *  - a stage whose hold ends goes first, anywhere (hold.h); the only runnable work of an idle
 *    cluster is never held;
 *  - where users divide the cluster, "the first job" is the first of the user that is asked for. */
#include "controller/engine/base/ground.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/users.h"
#include "controller/engine/network/network.h"
#include "controller/engine/place/place.h"
#include "controller/engine/watch/order.h"
#include "controller/engine/watch/queues.h"

#define REASON_LINK_UNUSED   ((enum reason)4)
#define REASON_FIRST_ON_LINK ((enum reason)5)
#define REASON_IDLE_CLUSTER  ((enum reason)7)
#define REASON_WOULD_STALL   ((enum reason)12)
#define REASON_CONGESTED     ((enum reason)13)
#define REASON_NOT_FIRST     ((enum reason)14)

/* The size below which a transfer would be first on the downlink of a host with a free slot. */
static uint64_t passing_limit(const struct engine *engine, const struct shape *shape,
                              enum transfer_order order)
{
    return engine->asked_host ? ~place_fit(engine, shape)->by_receivers[order].value
                              : ~sorted_least(&shape->by_receivers[order]);
}

/* The first of the shape's hosts with room, in order of receivers, where a transfer of less than
 * `limit` would be first; or the host that is asked for, if it is one. NULL: none. */
static struct sorted_node *first_receiver(const struct engine *engine, const struct shape *shape,
                                          enum transfer_order order, uint64_t limit)
{
    if (!engine->asked_host)
        return sorted_first_below(&shape->by_receivers[order], limit);
    struct sorted_node *node = &place_fit(engine, shape)->by_receivers[order];
    return node->value < limit ? node : NULL;
}

static uint64_t own_bytes(const struct task *task, enum transfer_order order)
{
    return order == ORDER_COFLOW ? stage_coflow_bytes(task->stage) : task->bytes;
}

/* Algorithm 2, SelectServerForTask: a server with a free slot where nothing is received; else, of
 * those where every received transfer is longer than the task's own, one with the fewest receiving
 * tasks. False: hold. */
static bool select_server(struct engine *engine, struct task *task, struct claim *ret_claim)
{
    enum transfer_order order = engine->network->order(engine->mode);
    uint64_t own = own_bytes(task, order);
    struct sorted_node *node = first_receiver(engine, task->stage->bucket->shape, order, ~own);
    if (!node)
        return false;
    struct fit *fit = container_of(node, struct fit, by_receivers[order]);
    bool unused = node->key.a == 0;
    *ret_claim = (struct claim){task, fit, unused ? REASON_LINK_UNUSED : REASON_FIRST_ON_LINK,
                                clamp_i64(own), unused ? 0 : clamp_i64(~node->value)};
    return true;
}

/* The stage's largest or smallest ready Macroflow that would pass. WHY one look is enough: all
 * tasks of a stage have one Coflow, and of Macroflows only those below the limit pass; a second try
 * of the literal loop would fail, too. */
static struct task *candidate(const struct stage *stage, enum transfer_order order, bool largest,
                              uint64_t limit)
{
    const struct sorted *ready = &stage->ready_reduces;
    if (order == ORDER_COFLOW && stage_coflow_bytes(stage) >= limit)
        return NULL;
    struct sorted_node *node = sorted_first(ready);
    if (order == ORDER_MACROFLOW && node->key.a >= limit)
        return NULL;
    if (largest) {
        struct sorted_node *beyond =
            order == ORDER_MACROFLOW ? sorted_from(ready, (struct sorted_key){limit, 0, 0}) : NULL;
        struct sorted_node *last = beyond ? sorted_previous(beyond) : sorted_last(ready);
        node = sorted_from(ready, (struct sorted_key){last->key.a, 0, 0});
    }
    return container_of(node, struct task, ready);
}

static bool is_before(const struct task *a, const struct task *b, bool largest)
{
    if (a->bytes != b->bytes)
        return largest ? a->bytes > b->bytes : a->bytes < b->bytes;
    return a->stage->index < b->stage->index;
}

static bool pick_reduce(struct engine *engine, struct job *job, bool largest,
                        struct claim *ret_claim)
{
    enum transfer_order order = engine->network->order(engine->mode);
    struct task *best = NULL;
    for (uint32_t i = 0; i < job->n_buckets; i++) {
        struct bucket *bucket = job->buckets[i];
        bool room = place_has_room(engine, bucket->shape);
        uint64_t limit = room ? passing_limit(engine, bucket->shape, order) : 0;
        struct stage *stage;
        TAILQ_FOREACH (stage, &bucket->reduce_stages, of_bucket) {
            engine->counters.visits++;
            struct task *task = room ? candidate(stage, order, largest, limit) : NULL;
            if (task && (!best || is_before(task, best, largest)))
                best = task;
        }
    }
    return best && select_server(engine, best, ret_claim);
}

/* The first job: its maps, then its smallest (slot-starved) or largest (slot-rich) reduce task. */
static bool pick_of_first(struct engine *engine, struct job *first, struct claim *ret_claim)
{
    return place_pair_of_job(engine, first, false, ret_claim) ||
           pick_reduce(engine, first, engine->mode == MODE_SLOT_RICH, ret_claim);
}

static struct bucket *earlier(struct bucket *a, struct bucket *b)
{
    if (!a || !b)
        return a ? a : b;
    return bucket_is_sooner(b, a) ? b : a;
}

static struct bucket *first_map(struct engine *engine)
{
    struct bucket *best = NULL;
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        struct sorted_node *node =
            place_has_room(engine, shape) ? sorted_first(&users_asked(engine, shape)->maps) : NULL;
        best = earlier(best, node ? container_of(node, struct bucket, by_turn_maps) : NULL);
    }
    return best;
}

/* Algorithm 4, lines 20–28: the first job whose reduce tasks would be first on some downlink. */
static bool pick_others_reduce(struct engine *engine, struct claim *ret_claim)
{
    enum transfer_order order = engine->network->order(engine->mode);
    struct bucket *best = NULL;
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        if (!place_has_room(engine, shape))
            continue;
        struct sorted_node *node = sorted_first_below(&users_asked(engine, shape)->reduces,
                                                      passing_limit(engine, shape, order));
        best = earlier(best, node ? container_of(node, struct bucket, by_turn_reduces) : NULL);
    }
    return best && pick_reduce(engine, best->job, true, ret_claim);
}

static bool pick_others(struct engine *engine, struct claim *ret_claim)
{
    if (!engine->congested && pick_others_reduce(engine, ret_claim))
        return true;
    bool local_only =
        engine->congested || policy_value(engine, QUESTION_PLACE, &parameter_even_wait);
    struct bucket *bucket = local_only ? place_first_local(engine) : first_map(engine);
    return bucket && place_pair_of_job(engine, bucket->job, local_only, ret_claim);
}

/* On the host with the fewest receivers. */
static bool place_anywhere(struct engine *engine, struct task *task, enum reason reason,
                           int64_t left, struct claim *ret_claim)
{
    enum transfer_order order = engine->network->order(engine->mode);
    const struct shape *shape = task->stage->bucket->shape;
    struct sorted_node *node = engine->asked_host ? &place_fit(engine, shape)->by_receivers[order]
                                                  : sorted_first(&shape->by_receivers[order]);
    if (!node)
        return false;
    *ret_claim =
        (struct claim){task, container_of(node, struct fit, by_receivers[order]), reason, left, 0};
    return true;
}

static bool pick_overdue(struct engine *engine, struct claim *ret_claim)
{
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        struct sorted_node *node = sorted_first(&users_asked(engine, shape)->overdue);
        if (!node || !place_has_room(engine, shape))
            continue;
        struct stage *stage = container_of(node, struct stage, waiting);
        if (!stage->ready_reduces.n)
            return place_pair(engine, stage->bucket, false, ret_claim);
        struct task *task = container_of(sorted_last(&stage->ready_reduces), struct task, ready);
        return place_anywhere(engine, task, REASON_HOLD_EXPIRED,
                              engine->now_ns - stage->held_since_ns, ret_claim);
    }
    return false;
}

static bool pick_for_idle_cluster(struct engine *engine, struct claim *ret_claim)
{
    struct bucket *bucket = engine->attempts.n ? NULL : place_first_bucket(engine);
    if (!bucket)
        return false;
    if (bucket->n_maps)
        return place_pair(engine, bucket, false, ret_claim);
    return place_anywhere(engine, bucket_largest(engine, bucket), REASON_IDLE_CLUSTER, 0,
                          ret_claim);
}

static bool nats_pick(struct engine *engine, struct claim *ret_claim)
{
    struct job *first = order_first_asked(engine);
    if (!first || !engine->n_ready)
        return false;
    if (pick_overdue(engine, ret_claim) || pick_of_first(engine, first, ret_claim))
        return true;
    if (engine->mode == MODE_SLOT_RICH && pick_others(engine, ret_claim))
        return true;
    return pick_for_idle_cluster(engine, ret_claim);
}

/* The rule that holds the stage. */
static struct policy_why held(const struct engine *engine, const struct stage *stage,
                              const struct task *task)
{
    const struct job *first = order_first_beside(engine, stage->job);
    const struct sorted_node *smallest = sorted_first(&stage->ready_reduces);
    enum transfer_order order = engine->network->order(engine->mode);
    if (engine->mode == MODE_SLOT_STARVED && stage->job != first)
        return (struct policy_why){REASON_NOT_FIRST, clamp_i64(first->number), 0};
    if (engine->congested && stage->job != first)
        return (struct policy_why){REASON_CONGESTED, (int64_t)engine->warm.n, 0};
    if (!smallest || (task && !task->bytes))
        return (struct policy_why){REASON_NO_LOCAL_SLOT, clamp_i64(stage->n_ready), 0};
    uint64_t own = order == ORDER_COFLOW ? stage_coflow_bytes(stage)
                   : task                ? task->bytes
                                         : smallest->key.a;
    return (struct policy_why){REASON_WOULD_STALL, clamp_i64(own),
                               clamp_i64(passing_limit(engine, stage->bucket->shape, order))};
}

static const struct policy_reason reasons[] = {
    PLACE_PAIR_REASONS,
    {DECISION_START, REASON_LINK_UNUSED, "link-unused", "bytes of its own transfer", NULL,
     "Runs on {host} because nobody received over its downlink (rule \"link unused\", algorithm "
     "2). "},
    {DECISION_START, REASON_FIRST_ON_LINK, "first-on-link", "bytes of its own transfer",
     "bytes of the smallest transfer there",
     "Runs on {host} because it is first on its downlink: its own transfer of {left} bytes is "
     "smaller "
     "than the smallest one that received there, {right} bytes. "},
    {DECISION_START, REASON_HOLD_EXPIRED, NULL, "ns since slots were kept from its stage", NULL,
     "Runs on {host} because slots had been kept from its stage for {left.1s} s: after hold_max "
     "any host takes it. "},
    {DECISION_START, REASON_IDLE_CLUSTER, "idle-cluster", NULL, NULL,
     "Runs on {host} because nothing else ran: the only work of an idle cluster is never held. "},
    {DECISION_HOLD, REASON_NOT_FIRST, "not-first", "the first job's number", NULL,
     "the mode is slot-starved, so only the first job ({left}) is served, and the free slots are "
     "kept for it."},
    {DECISION_HOLD, REASON_CONGESTED, "congested", "uplinks that are still busy", NULL,
     "while the network is congested other jobs than the first ({first_job}) start only tasks next "
     "to "
     "their blocks. {uplinks}."},
    {DECISION_HOLD, REASON_NO_LOCAL_SLOT, NULL, "ready tasks of the stage", NULL,
     "it waits for a slot next to its block, on a host that has not had its even part of the job's "
     "maps."},
    {DECISION_HOLD, REASON_WOULD_STALL, "would-stall", "bytes of its own transfer",
     "the size below which a transfer would be first on some downlink with a free slot",
     "its {transfer} of {left} bytes would be first on no downlink with a free slot: on each, one "
     "that "
     "is not larger receives (the largest of these: {right} bytes)."},
    {0}};

const struct place_policy place_nats = {
    .policy = {.name = "nats",
               .state[POLICY_JOB] = {.size = sizeof(struct locality_job),
                                     .init = locality_job_init},
               .parameters = place_held_parameters,
               .reasons = reasons,
               .hears.job_grew = locality_job_grew,
               .by_mode = "nats: only the first job is served while slot-starved"},
    .pick = nats_pick,
    .one_host = true,
    .pure = true,
    .first_local = true,
    .even = true,
    .orders = HOSTS_BY_RECEIVERS,
    .held = held,
};
