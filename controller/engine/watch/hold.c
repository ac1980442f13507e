#include "controller/engine/watch/hold.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/split.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/gate.h"
#include "controller/engine/watch/locality.h"

static struct sorted_key waiting_key(const struct stage *stage)
{
    return (struct sorted_key){stage->job->turn.a, stage->job->turn.b, stage->index};
}

static struct sorted_key timer_key(int64_t due_ns, const struct stage *stage)
{
    return (struct sorted_key){(uint64_t)due_ns, stage->job->number,
                               (uint64_t)stage->variant << 32 | stage->index};
}

/* Whether only reduce tasks are ready, which a patient policy does not force on a host. */
static bool stays_overdue(const struct engine *engine, const struct stage *stage)
{
    return engine->place->patient && stage->n_ready == stage->ready_reduces.n;
}

static void wait_in(struct engine *engine, struct sorted *set, struct stage *stage)
{
    uint64_t due = stays_overdue(engine, stage) ? UINT64_MAX : (uint64_t)stage->first->hold_due_ns;
    if (!stage->waiting.in)
        TAILQ_INSERT_TAIL(&stage->job->waiting, stage, of_job);
    sorted_place(set, &stage->waiting, waiting_key(stage), due);
}

static void wait_no_more(struct sorted *set, struct stage *stage)
{
    if (stage->waiting.in)
        TAILQ_REMOVE(&stage->job->waiting, stage, of_job);
    sorted_remove(set, &stage->waiting);
}

static void start_timer(struct engine *engine, struct stage *stage)
{
    sorted_place(&engine->hold_timers, &stage->hold_timer, timer_key(hold_end_ns(stage), stage), 0);
}

const struct engine_parameter parameter_start_wait = {
    "start_wait",
    ENGINE_UNIT_NS,
    0,
    INT64_C(86400000000000),
    0,
    "A hold also ends this long after its stage's last start; 0 s: only by the other bounds."};

/* The longest wait from one start to the next. Maps that are spread evenly wait no longer than
 * even_wait, except those that wait for one host. */
static int64_t longest_ns(const struct engine *engine, const struct stage *stage)
{
    int64_t longest = engine->config.hold_max_ns,
            even = policy_value(engine, QUESTION_PLACE, &parameter_even_wait),
            start = policy_value(engine, QUESTION_PLACE, &parameter_start_wait);
    if (start && start < longest)
        longest = start;
    return even && even < longest && !stage->n_edges && !stage->bucket->homed ? even : longest;
}

int64_t hold_end_ns(const struct stage *stage)
{
    int64_t due_ns = stage->first->hold_due_ns;
    return stage->held_until_ns < due_ns ? stage->held_until_ns : due_ns;
}

/* It has waited for hold_max. */
static bool hold_is_late(const struct engine *engine, const struct stage *stage)
{
    int64_t due_ns = stage->first->hold_due_ns;
    return due_ns && due_ns <= engine->now_ns;
}

/* While the policy may leave it until it is late, a step is due when it is. */
static void wait_overdue(struct engine *engine, struct stage *stage)
{
    wait_in(engine, &stage->bucket->queues->overdue, stage);
    if (!engine->place->patient || hold_is_late(engine, stage))
        return;
    sorted_place(&engine->hold_timers, &stage->hold_timer,
                 timer_key(stage->first->hold_due_ns, stage), 0);
}

static void make_overdue(struct engine *engine, struct stage *stage)
{
    stage->overdue = true;
    stage->held_since_ns = stage->first->hold_due_ns - engine->config.hold_max_ns;
    wait_overdue(engine, stage);
}

/* A hold of a stage whose framework starts tasks as it likes is not decided: only our plan for it
 * waits. */
static bool is_told(const struct stage *stage)
{
    return !stage->framework || gate_is_shut(stage);
}

static void count_held(struct engine *engine, struct stage *stage, bool held)
{
    stage->held = held;
    stage->first->n_held += held ? 1 : -1u;
    split_hold(engine, stage, stage->first->n_held && is_told(stage), stage->hold_reason);
    if (stage->first->n_held > held)
        return;
    stage->job->held_stages += held ? 1 : -1u;
    engine->held_stages += held ? 1 : (uint64_t)-1;
}

static void end_hold(struct engine *engine, struct stage *stage, enum reason reason)
{
    if (is_told(stage)) {
        struct decision *decision = engine_decide(engine, DECISION_UNHOLD, reason,
                                                  engine->now_ns - stage->held_since_ns, 0);
        decision->hold.job = stage->job->number;
        decision->hold.stage = stage->index;
        decision->hold.host = ENGINE_NONE;
        decision->hold.until_ns = stage->held_until_ns;
        decision->hold.variant = stage->variant;
    }
    sorted_remove(&engine->hold_timers, &stage->hold_timer);
    count_held(engine, stage, false);
}

static void reorder(struct engine *engine, struct stage *stage)
{
    if (stage->waiting.in)
        wait_in(engine,
                stage->overdue ? &stage->bucket->queues->overdue : &stage->bucket->shape->unheld,
                stage);
}

static void stage_ready(struct engine *engine, struct stage *stage)
{
    if (stage->overdue)
        reorder(engine, stage);
    else if (!stage->held)
        wait_in(engine, &stage->bucket->shape->unheld, stage);
}

static void stage_empty(struct engine *engine, struct stage *stage)
{
    if (stage->held)
        end_hold(engine, stage, REASON_NONE);
    wait_no_more(stage->overdue ? &stage->bucket->queues->overdue : &stage->bucket->shape->unheld,
                 stage);
    if (stage->overdue)
        sorted_remove(&engine->hold_timers, &stage->hold_timer);
    stage->overdue = false;
    stage->first->hold_due_ns = 0;
}

static void end_overdue(struct engine *engine, struct stage *stage)
{
    if (!stage->overdue || stays_overdue(engine, stage))
        return;
    sorted_remove(&engine->hold_timers, &stage->hold_timer);
    wait_no_more(&stage->bucket->queues->overdue, stage);
    stage->overdue = false;
    if (stage->n_ready)
        wait_in(engine, &stage->bucket->shape->unheld, stage);
}

static void serve(struct engine *engine, struct stage *stage)
{
    if (stage->held) {
        stage->held_until_ns = engine->now_ns + longest_ns(engine, stage);
        start_timer(engine, stage);
    }
    end_overdue(engine, stage);
}

void hold_stage_served(struct engine *engine, struct stage *stage)
{
    struct stage *way;
    VARIANT_FOREACH (way, stage)
        serve(engine, way);
    /* Maps of another stage of its job that started in its place took the slot that was left. */
    if (engine->late)
        end_overdue(engine, engine->late);
    engine->late = NULL;
}

static void begin_hold(struct engine *engine, struct stage *stage)
{
    stage->held_since_ns = engine->now_ns;
    stage->held_until_ns = engine->now_ns + longest_ns(engine, stage);
    if (!stage->first->hold_due_ns)
        stage->first->hold_due_ns = engine->now_ns + engine->config.hold_max_ns;
    struct policy_why why = engine->place->held(engine, stage, NULL);
    stage->hold_reason = why.reason;
    stage->hold_left = why.left;
    stage->hold_right = why.right;
    if (is_told(stage)) {
        struct decision *decision = engine_decide(engine, DECISION_HOLD, stage->hold_reason,
                                                  stage->hold_left, stage->hold_right);
        decision->hold.job = stage->job->number;
        decision->hold.stage = stage->index;
        decision->hold.host = ENGINE_NONE;
        decision->hold.until_ns = hold_end_ns(stage);
        decision->hold.variant = stage->variant;
        engine->counters.holds++;
    }
    count_held(engine, stage, true);
    start_timer(engine, stage);
}

bool hold_mark(struct engine *engine)
{
    if (!engine->place->held || (engine->place->full && engine->place->full(engine)))
        return false;
    engine->late = NULL;
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        if (shape_times(engine, shape) <= 0)
            continue;
        for (struct sorted_node *node = sorted_first(&shape->unheld); node;
             node = sorted_first(&shape->unheld)) {
            struct stage *stage = container_of(node, struct stage, waiting);
            engine->counters.visits++;
            wait_no_more(&shape->unheld, stage);
            if (hold_is_late(engine, stage)) {
                make_overdue(engine, stage);
                engine->late = stage;
                return true;
            }
            begin_hold(engine, stage);
        }
    }
    return false;
}

static void expire(struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->hold_timers);
         node && node->key.a <= (uint64_t)engine->now_ns;
         node = sorted_first(&engine->hold_timers)) {
        struct stage *stage = container_of(node, struct stage, hold_timer);
        if (stage->overdue) {
            sorted_remove(&engine->hold_timers, node);
            continue;
        }
        stage->held_until_ns = hold_end_ns(stage);
        end_hold(engine, stage, REASON_HOLD_EXPIRED);
        engine->counters.holds_expired++;
        make_overdue(engine, stage);
    }
}

static int64_t deadline_ns(const struct engine *engine)
{
    const struct sorted_node *node = sorted_first(&engine->hold_timers);
    return node ? (int64_t)node->key.a : INT64_MAX;
}

void hold_restore(struct engine *engine, struct stage *stage)
{
    wait_no_more(&stage->bucket->shape->unheld, stage);
    if (stage->overdue) {
        wait_overdue(engine, stage);
    } else {
        /* WHY: older dumps, where hold_max was counted per stage, lack this instant. */
        if (!stage->first->hold_due_ns)
            stage->first->hold_due_ns = stage->held_until_ns;
        count_held(engine, stage, true);
        start_timer(engine, stage);
    }
}

void hold_reorder_job(struct engine *engine, struct job *job)
{
    struct stage *stage;
    TAILQ_FOREACH (stage, &job->waiting, of_job) {
        engine->counters.visits++;
        reorder(engine, stage);
    }
}

static void turn_moved(struct engine *engine, struct job *job, bool passed)
{
    (void)passed;
    hold_reorder_job(engine, job);
}

static void task_ready(struct engine *engine, struct task *task)
{
    stage_ready(engine, task->stage);
}

const struct listener hold_hears = {.task_ready = task_ready,
                                    .stage_empty = stage_empty,
                                    .turn_moved = turn_moved,
                                    .expire = expire,
                                    .deadline_ns = deadline_ns};
