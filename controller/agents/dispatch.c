#include "controller/agents/dispatch.h"

#include "controller/resources_wire.h"
#include "lib/grow.h"

#include <stdlib.h>
#include <string.h>

struct gathering {
    const struct agents *agents;
    struct dispatch_scratch *scratch;
    uint32_t host; /* where the task runs */
};

uint32_t level_on_wire(uint64_t level)
{
    return level > 7 ? 7 : (uint32_t)level;
}

void dispatch_scratch_done(struct dispatch_scratch *scratch)
{
    free(scratch->inputs);
    *scratch = (struct dispatch_scratch){0};
}

static duopoly_Input *input_add(struct dispatch_scratch *scratch)
{
    if (!array_grow(scratch->inputs, scratch->n, scratch->size, 64)) {
        scratch->failed = true;
        return NULL;
    }
    return memset(&scratch->inputs[scratch->n++], 0, sizeof(scratch->inputs[0]));
}

/* A block on the task's own host is read there; map outputs are listed from every host, since the
 * command needs all. */
static void input_gather(void *context, const struct engine_input *input)
{
    struct gathering *gathering = context;
    duopoly_Input *out;
    if (input->block && input->host == gathering->host)
        return;
    const uint8_t *address = agents_host_address(gathering->agents, input->host);
    if (!address || !(out = input_add(gathering->scratch)))
        return;
    memcpy(out->address, address, sizeof(out->address));
    out->bytes = input->bytes;
    out->block = input->block;
    out->stage = input->stage;
    out->task = input->task;
    out->attempt = input->attempt;
}

static void start_describe(duopoly_Start *start, const struct variant_view *way)
{
    const struct profile *profile = &way->profile;
    wire_copy(start->command, sizeof(start->command), way->command);
    start->has_profile = profile_is_known(profile);
    start->profile = (duopoly_Profile){.read_bytes = profile->read_bytes,
                                       .read_bytes_s = profile->read_bytes_s,
                                       .before = profile->before != 0,
                                       .compute_ns = profile->compute_ns};
}

static void start_send(const struct engine *engine, struct agents *agents, int64_t now_ns,
                       const struct decision *decision, struct dispatch_scratch *scratch)
{
    struct gathering gathering = {agents, scratch, decision->start.host};
    struct variant_view variant;
    struct task_view task;
    duopoly_Start start = {
        .attempt = decision->start.attempt,
        .job = decision->start.job,
        .stage = decision->start.stage,
        .task = decision->start.task,
        .unit = decision->start.unit,
        .has_resources = true,
        .resources = resources_to_wire(&decision->start.resources),
        .coflow_level = level_on_wire(decision->start.coflow_level),
        .macroflow_level = level_on_wire(decision->start.macroflow_level),
        .queue = decision->start.queue != 0,
        .variant = decision->start.variant,
    };
    if (engine_variant(engine, start.job, start.stage, start.variant, &variant) == 0)
        start_describe(&start, &variant);
    if (engine_task(engine, start.job, start.stage, start.task, &task) == 0) {
        start.compute_ns =
            engine_compute_ns(engine, start.job, start.stage, start.task, start.variant);
        start.output_bytes = task.output_bytes;
    }
    scratch->n = 0;
    scratch->failed = false;
    engine_inputs(engine, start.attempt, input_gather, &gathering);
    agents_start(agents, now_ns, decision->start.host, &start, scratch->inputs, scratch->n);
}

void dispatch_decision(const struct engine *engine, struct agents *agents, int64_t now_ns,
                       const struct decision *decision, struct dispatch_scratch *scratch)
{
    switch (decision->kind) {
    case DECISION_START:
        start_send(engine, agents, now_ns, decision, scratch);
        break;
    case DECISION_STOP:
        agents_stop(agents, decision->stop.host, decision->stop.attempt,
                    reason_name(decision->reason), (uint32_t)(decision->stop.grace_ns / 1000000),
                    decision->stop.requeue != 0);
        break;
    case DECISION_LEVEL:
        agents_level(agents, decision->level.host, decision->level.attempt,
                     level_on_wire(decision->level.coflow_level),
                     level_on_wire(decision->level.macroflow_level));
        break;
    case DECISION_MODE:
        agents_mode(agents, now_ns, decision->mode.mode, decision->mode.sequence);
        break;
    case DECISION_FORGET:
        agents_forget(agents, decision->forget.host, decision->forget.job);
        break;
    default:
        break;
    }
}
