/* What counts how much in the optimum: the parameters of the placement `flow`. */
#include "controller/engine/place/flow_view.h"
#include "controller/engine/policy/policy.h"
#include "controller/engine/watch/hold.h"

/* Weights by their names, in order of the words of `objective`. */
static const char *const objectives[] = {"weights", "quincy", "borg", "duopoly", "alsched"};
static const struct engine_choice parameter_objective = {
    {"objective", ENGINE_UNIT_CHOICE, 0, 4, 0,
     "What the optimum is of: the weights that follow, or quincy, borg, duopoly or alsched."},
    objectives};
static const struct flow_weights weights_of[] = {
    [1] = {.locality = 8, .load = 1, .turn = 1, .wait = 1, .prefer = 1, .fair = true},
    [2] = {.locality = 1, .load = 4, .turn = 1, .wait = 1, .prefer = 1, .priority = true},
    [3] = {.locality = 4, .load = 1, .turn = 8, .prefer = 1, .stalls = true},
    [4] = {.locality = 1, .load = 1, .turn = 1, .wait = 1, .prefer = 4}};
static const struct engine_parameter parameter_locality = {
    "weight.locality",
    ENGINE_UNIT_COUNT,
    0,
    8,
    4,
    "What it costs to run a task away from its block, beside the other weights."};
static const struct engine_parameter parameter_load = {
    "weight.load", ENGINE_UNIT_COUNT, 0, 8, 1, "What it costs to run a task on a loaded host."};
static const struct engine_parameter parameter_turn = {
    "weight.turn", ENGINE_UNIT_COUNT, 0, 8, 8, "What the order of turns counts: who waits."};
static const struct engine_parameter parameter_wait = {
    "weight.wait",
    ENGINE_UNIT_COUNT,
    0,
    8,
    0,
    "How much dearer it gets for a job to wait as that lasts twice as long."};
static const struct engine_parameter parameter_prefer = {
    "weight.prefer",
    ENGINE_UNIT_COUNT,
    0,
    4,
    1,
    "What a utility of 1 counts, of the hosts that a stage prefers."};
static const struct engine_parameter parameter_stalls = {
    "hold_stalls",
    ENGINE_UNIT_YES,
    0,
    1,
    1,
    "A task waits rather than receive where a transfer of its length or a shorter one is."};
static const struct engine_parameter parameter_remote = {
    "hold_remote",
    ENGINE_UNIT_YES,
    0,
    1,
    0,
    "A map waits rather than read its block from a host that its stage does not prefer."};
static const struct engine_parameter parameter_fair = {
    "fair_parts",
    ENGINE_UNIT_YES,
    0,
    1,
    0,
    "No job runs more than its max-min part of the slots while others could."};
static const struct engine_parameter parameter_priority = {
    "weight.priority",
    ENGINE_UNIT_YES,
    0,
    1,
    0,
    "A job of a higher priority gets each slot before all others."};
static const struct engine_parameter parameter_preempt = {
    "preempt",
    ENGINE_UNIT_YES,
    0,
    1,
    0,
    "Where priorities count: a running task is stopped for a ready one of a higher priority."};
static const struct engine_parameter parameter_migrate = {
    "migrate",
    ENGINE_UNIT_YES,
    0,
    1,
    0,
    "A running task is stopped to run where it costs less, by more than what it loses by it."};
static const struct engine_parameter parameter_lost = {
    "weight.lost",
    ENGINE_UNIT_COUNT,
    0,
    8,
    1,
    "What each second counts that a task had run which is stopped."};

const struct engine_parameter *const flow_parameters[] = {&parameter_objective.parameter,
                                                          &parameter_locality,
                                                          &parameter_load,
                                                          &parameter_turn,
                                                          &parameter_priority,
                                                          &parameter_stalls,
                                                          &parameter_prefer,
                                                          &parameter_wait,
                                                          &parameter_fair,
                                                          &parameter_preempt,
                                                          &parameter_migrate,
                                                          &parameter_lost,
                                                          &parameter_remote,
                                                          &parameter_start_wait,
                                                          NULL};

bool flow_may_stop(const struct engine *engine)
{
    return policy_value(engine, QUESTION_PLACE, &parameter_preempt) ||
           policy_value(engine, QUESTION_PLACE, &parameter_migrate);
}

static struct flow_weights weights_said(const struct engine *engine)
{
    return (struct flow_weights){
        .locality = policy_value(engine, QUESTION_PLACE, &parameter_locality),
        .load = policy_value(engine, QUESTION_PLACE, &parameter_load),
        .turn = policy_value(engine, QUESTION_PLACE, &parameter_turn),
        .wait = policy_value(engine, QUESTION_PLACE, &parameter_wait),
        .prefer = policy_value(engine, QUESTION_PLACE, &parameter_prefer),
        .fair = policy_value(engine, QUESTION_PLACE, &parameter_fair),
        .priority = policy_value(engine, QUESTION_PLACE, &parameter_priority),
        .stalls = policy_value(engine, QUESTION_PLACE, &parameter_stalls)};
}

struct flow_weights flow_weights_now(const struct engine *engine)
{
    int64_t objective = policy_value(engine, QUESTION_PLACE, &parameter_objective.parameter);
    struct flow_weights weights = objective ? weights_of[objective] : weights_said(engine);
    weights.preempt = weights.priority && policy_value(engine, QUESTION_PLACE, &parameter_preempt);
    weights.migrate = policy_value(engine, QUESTION_PLACE, &parameter_migrate);
    weights.lost = policy_value(engine, QUESTION_PLACE, &parameter_lost);
    weights.remote = policy_value(engine, QUESTION_PLACE, &parameter_remote);
    return weights;
}

bool flow_waits_count(const struct engine *engine)
{
    int64_t objective = policy_value(engine, QUESTION_PLACE, &parameter_objective.parameter);
    return objective ? weights_of[objective].wait
                     : policy_value(engine, QUESTION_PLACE, &parameter_wait);
}
