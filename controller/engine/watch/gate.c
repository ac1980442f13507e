#include "controller/engine/watch/gate.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/watch/opened.h"

bool gate_is_shut(const struct stage *stage)
{
    const struct framework_stage *own = stage->framework;
    return own && (stage->n_edges || own->bound) && !own->ungated && !own->left;
}

bool gate_is_bound(const struct stage *stage)
{
    return gate_is_shut(stage) && !stage->n_edges;
}

static void wait_in_list(struct framework_stage *own, bool wait)
{
    struct shape *shape = own->stage->bucket->shape;
    if (wait == own->waits)
        return;
    own->waits = wait;
    if (wait)
        TAILQ_INSERT_TAIL(&shape->waits, own, of_waits);
    else if (own->of_waits.tqe_prev) /* WHY: stages of a dump that ends early are in no list */
        TAILQ_REMOVE(&shape->waits, own, of_waits);
}

static void set_due(struct engine *engine, struct framework_stage *own, int64_t due_ns)
{
    struct sorted_key key = {(uint64_t)due_ns, own->stage->job->number, own->stage->index};
    wait_in_list(own, false);
    own->due_ns = due_ns;
    if (due_ns)
        sorted_place(&engine->gate_timers, &own->gate_timer, key, 0);
    else
        sorted_remove(&engine->gate_timers, &own->gate_timer);
}

static void begin_to_wait(struct engine *engine, struct stage *stage)
{
    struct framework_stage *own = stage->framework;
    if (!gate_is_shut(stage) || own->due_ns || own->waits)
        return;
    own->ready_ns = engine->now_ns;
    wait_in_list(own, true);
}

/* WHY its time goes on: what leaves the queue may only be allowed. */
static void wait_no_more(struct stage *stage)
{
    wait_in_list(stage->framework, false);
}

void gate_rest(struct engine *engine, struct stage *stage)
{
    if (!stage->n_ready && !stage->framework->allowed)
        set_due(engine, stage->framework, 0);
}

void gate_wasted(struct engine *engine, struct stage *stage, int64_t since_ns)
{
    struct framework_stage *own = stage->framework;
    if (since_ns < engine->idle_since_ns)
        engine->idle_since_ns = since_ns;
    if (gate_is_shut(stage) && stage->n_ready && !own->due_ns)
        set_due(engine, own, since_ns + engine->config.hold_max_ns);
}

void gate_open(struct engine *engine, struct stage *stage, enum reason reason, int64_t left)
{
    struct framework_stage *own = stage->framework;
    if (own->left)
        return;
    struct decision *decision = engine_decide(engine, DECISION_OPEN, reason, left, 0);
    decision->open.job = stage->job->number;
    decision->open.stage = stage->index;
    engine->counters.opens++;
    own->left = true;
    stage_close(engine, stage);
    set_due(engine, own, 0);
    opened_follow(engine, stage);
}

void gate_seen(struct engine *engine, struct stage *stage)
{
    stage->framework->unused = 0;
    gate_rest(engine, stage);
}

void gate_mark(struct engine *engine)
{
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        struct framework_stage *own;
        while ((shape->times > 0 || engine->idle_since_ns != INT64_MAX) &&
               (own = TAILQ_FIRST(&shape->waits))) {
            int64_t since = engine->now_ns;
            engine->counters.visits++;
            if (engine->idle_since_ns < since)
                since = engine->idle_since_ns;
            if (since < own->ready_ns)
                since = own->ready_ns;
            set_due(engine, own, since + engine->config.hold_max_ns);
        }
    }
    engine->idle_since_ns = INT64_MAX;
}

static void expire(struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->gate_timers);
         node && (int64_t)node->key.a <= engine->now_ns;
         node = sorted_first(&engine->gate_timers)) {
        struct framework_stage *own = container_of(node, struct framework_stage, gate_timer);
        gate_open(engine, own->stage, REASON_HOLD_EXPIRED,
                  engine->now_ns - (own->due_ns - engine->config.hold_max_ns));
    }
}

static int64_t deadline_ns(const struct engine *engine)
{
    const struct sorted_node *node = sorted_first(&engine->gate_timers);
    return node ? (int64_t)node->key.a : INT64_MAX;
}

static void gate_forget(struct engine *engine, struct stage *stage)
{
    wait_in_list(stage->framework, false);
    set_due(engine, stage->framework, 0);
}

struct gate_clock gate_stop(struct engine *engine, struct stage *stage)
{
    struct framework_stage *own = stage->framework;
    struct gate_clock clock = {own->waits || own->due_ns, own->ready_ns, own->due_ns,
                               stage->hold_due_ns};
    gate_forget(engine, stage);
    return clock;
}

void gate_go_on(struct engine *engine, struct stage *stage, struct gate_clock clock)
{
    struct framework_stage *own = stage->framework;
    gate_forget(engine, stage);
    if (stage->n_ready && !stage->held && !stage->overdue)
        stage->hold_due_ns = clock.hold_due_ns;
    if (!gate_is_shut(stage) || (!stage->n_ready && !own->allowed))
        return;
    own->ready_ns = clock.stopped ? clock.ready_ns : engine->now_ns;
    if (clock.due_ns)
        set_due(engine, own, clock.due_ns);
    else if (stage->n_ready)
        wait_in_list(own, true);
}

void gate_restore(struct engine *engine, struct stage *stage)
{
    struct framework_stage *own = stage->framework;
    struct gate_clock clock = {own->waits || own->due_ns, own->ready_ns, own->due_ns,
                               stage->hold_due_ns};
    own->waits = false;
    own->due_ns = 0;
    gate_go_on(engine, stage, clock);
}

static void task_ready(struct engine *engine, struct task *task)
{
    if (task->stage->framework)
        begin_to_wait(engine, task->stage);
}

static void stage_empty(struct engine *engine, struct stage *stage)
{
    (void)engine;
    if (stage->framework)
        wait_no_more(stage);
}

static void stage_closed(struct engine *engine, struct stage *stage)
{
    if (stage->framework)
        gate_rest(engine, stage);
}

static void job_gone(struct engine *engine, struct job *job)
{
    for (uint32_t s = 0; job->framework && s < job->n_stages; s++)
        gate_forget(engine, job->stages[s]);
}

void gate_let_bind(struct engine *engine, struct stage *stage, bool may)
{
    struct framework_stage *own = stage->framework;
    own->bindable = may;
    if (!own->bound || may)
        return;
    own->bound = false;
    if (!gate_is_shut(stage))
        gate_forget(engine, stage);
}

void gate_bind(struct engine *engine, struct stage *stage, enum reason reason, int64_t left,
               int64_t right)
{
    struct framework_stage *own = stage->framework;
    if (!own->bindable || own->bound || own->ungated || own->left || stage->n_edges ||
        engine->suspended)
        return;
    struct decision *decision = engine_decide(engine, DECISION_BIND, reason, left, right);
    decision->bind.job = stage->job->number;
    decision->bind.stage = stage->index;
    engine->counters.binds++;
    own->bound = true;
    if (stage->n_ready)
        begin_to_wait(engine, stage);
}

const struct listener gate_hears = {.task_ready = task_ready,
                                    .stage_empty = stage_empty,
                                    .stage_closed = stage_closed,
                                    .job_gone = job_gone,
                                    .expire = expire,
                                    .deadline_ns = deadline_ns};
