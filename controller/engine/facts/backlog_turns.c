#include "controller/engine/facts/backlog_turns.h"

#include "controller/engine/base/backlog.h"
#include "controller/engine/base/ground.h"
#include "controller/engine/books/losing.h"
#include "controller/engine/books/outputs.h"
#include "controller/engine/books/removal.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/facts/framework_grow.h"
#include "controller/engine/facts/framework_skip.h"
#include "controller/engine/facts/rooms.h"
#include "controller/engine/watch/framework_sizes.h"
#include "lib/grow.h"

/* One more than the largest number of an application. */
#define APPLICATIONS ((UINT64_MAX >> ENGINE_APPLICATION_SHIFT) + 1)

/* What has one of the two bounds of a step. */
struct portion {
    enum backlog_bound bound;
    const struct sorted *queues[7];
    size_t n_queues;
    const uint64_t *done; /* in this step */
    uint64_t most;        /* 0: no bound */
    void (*go_on)(struct engine *engine);
};

static void look(struct engine *engine)
{
    losing_go_on(engine);
    outputs_go_on(engine);
    rooms_go_on(engine);
    growing_go_on(engine);
    skipping_go_on(engine);
    sizes_go_on(engine);
}

static bool may_go_on(const struct portion *portion)
{
    return !portion->most || *portion->done < portion->most;
}

/* The first application from this number on that has work left; APPLICATIONS: none has. */
static uint64_t next_one(const struct portion *portion, uint64_t from)
{
    const struct sorted_key key = {from << ENGINE_APPLICATION_SHIFT, 0, 0};
    uint64_t next = APPLICATIONS;
    for (size_t i = 0; from < APPLICATIONS && i < portion->n_queues; i++) {
        const struct sorted_node *node =
            from ? sorted_from(portion->queues[i], key) : sorted_first(portion->queues[i]);
        if (node && backlog_application(node) < next)
            next = backlog_application(node);
    }
    return next;
}

static void charge(struct engine *engine, uint64_t application, uint64_t looks, uint64_t decisions)
{
    struct backlog *backlog = &engine->backlog;
    if (!looks && !decisions)
        return;
    if (!array_grow(backlog->charges, backlog->n_charges, backlog->room, 8))
        longjmp(engine->no_memory, 1);
    backlog->charges[backlog->n_charges++] = (struct engine_charge){application, looks, decisions};
}

static uint64_t looks_of_step(const struct engine *engine)
{
    return engine->step_looks + engine->step_ready + engine->step_freed;
}

/* False: it has nothing left. */
static bool serve(struct engine *engine, const struct portion *portion, uint64_t application)
{
    const uint64_t looks = looks_of_step(engine), decisions = engine->out->n;
    engine->backlog.application = application;
    engine->backlog.one = true;
    portion->go_on(engine);
    engine->backlog.one = false;
    charge(engine, application, looks_of_step(engine) - looks, engine->out->n - decisions);
    return next_one(portion, application) == application;
}

/* Those from `from` on and before `until`. Returns whether it is decided who begins in the next
 * step. */
static bool serve_between(struct engine *engine, const struct portion *portion, uint64_t from,
                          uint64_t until, bool decided)
{
    for (uint64_t one = next_one(portion, from); one < until && may_go_on(portion);
         one = next_one(portion, one + 1)) {
        const uint64_t before = *portion->done;
        const bool more = serve(engine, portion, one);
        if (decided || (!more && may_go_on(portion)))
            continue;
        decided = true;
        engine->backlog.turns[portion->bound] = more && before > portion->most / 2 ? one : one + 1;
    }
    return decided;
}

/* WHY 0 where nothing is left: equal states have equal dumps, whoever came last. */
static void by_turns(struct engine *engine, const struct portion *portion)
{
    const uint64_t first = engine->backlog.turns[portion->bound];
    const bool decided = serve_between(engine, portion, first, APPLICATIONS, false);
    serve_between(engine, portion, 0, first, decided);
    if (next_one(portion, 0) == APPLICATIONS)
        engine->backlog.turns[portion->bound] = 0;
}

static void go_on(struct engine *engine, const struct portion *portion)
{
    if (engine_follows(engine, RULE_OWNERS_TURN))
        by_turns(engine, portion);
    else
        portion->go_on(engine);
}

static void look_all(struct engine *engine)
{
    const struct portion portion = {
        .bound = BACKLOG_LOOKS,
        .queues = {&engine->losing, &engine->keeping, &engine->moving, &engine->growing,
                   &engine->skipping, &engine->sizing, &engine->unmeasured},
        .n_queues = 7,
        .done = &engine->step_looks,
        .most = (uint64_t)engine->config.step_tasks_max * LOOKS_OF_CHANGE,
        .go_on = look,
    };
    go_on(engine, &portion);
}

static void open_all(struct engine *engine)
{
    const struct portion portion = {
        .bound = BACKLOG_READY,
        .queues = {&engine->opening},
        .n_queues = 1,
        .done = &engine->step_ready,
        .most = (uint64_t)engine->config.step_ready_max * LOOKS_OF_READYING,
        .go_on = stage_go_on,
    };
    go_on(engine, &portion);
}

void backlog_look(struct engine *engine)
{
    if (engine_has_backlog(engine))
        look_all(engine);
    else
        engine->backlog.turns[BACKLOG_LOOKS] = 0;
}

void backlog_open(struct engine *engine)
{
    if (engine->opening.n)
        open_all(engine);
    else
        engine->backlog.turns[BACKLOG_READY] = 0;
}

void backlog_free(struct engine *engine)
{
    const uint64_t application = engine_tidies(engine), looks = looks_of_step(engine);
    removal_go_on(engine);
    charge(engine, application, looks_of_step(engine) - looks, 0);
}

bool backlog_restore_turns(struct engine *engine, uint64_t looks, uint64_t ready)
{
    engine->backlog.turns[BACKLOG_LOOKS] = looks;
    engine->backlog.turns[BACKLOG_READY] = ready;
    return looks <= APPLICATIONS && ready <= APPLICATIONS;
}

bool engine_has_backlog(const struct engine *engine)
{
    return engine->opening.n || engine->sizing.n || engine->losing.n || engine->skipping.n ||
           engine->growing.n || engine->moving.n || engine->keeping.n || engine->unmeasured.n;
}

struct engine_charges engine_charges(const struct engine *engine)
{
    return (struct engine_charges){engine->backlog.charges, engine->backlog.n_charges,
                                   looks_of_step(engine)};
}
