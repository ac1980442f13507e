#include "controller/agents/dispatch.h"

#include "controller/resources_wire.h"

#include <stdlib.h>
#include <string.h>

struct gathering {
    const struct agents *agents;
    struct dispatch_room *room;
    uint32_t host; /* where the task runs */
};

uint32_t level_on_wire(uint64_t level)
{
    return level > 7 ? 7 : (uint32_t)level;
}

void dispatch_room_done(struct dispatch_room *room)
{
    free(room->inputs);
    *room = (struct dispatch_room){0};
}

static duopoly_Input *input_add(struct dispatch_room *room)
{
    if (room->n == room->size) {
        uint32_t size = room->size ? 2 * room->size : 64;
        duopoly_Input *inputs = reallocarray(room->inputs, size, sizeof(*inputs));
        if (!inputs) {
            room->failed = true;
            return NULL;
        }
        room->inputs = inputs;
        room->size = size;
    }
    return memset(&room->inputs[room->n++], 0, sizeof(room->inputs[0]));
}

/* A block on the task's own host is read there; map outputs are listed from every host, since the
 * command needs all. */
static void input_gather(void *context, const struct engine_input *input)
{
    struct gathering *gathering = context;
    struct agent_view source;
    duopoly_Input *out;
    if (input->block && input->host == gathering->host)
        return;
    if (agents_of_host(gathering->agents, input->host, &source) < 0 ||
        !(out = input_add(gathering->room)))
        return;
    memcpy(out->address, source.address, sizeof(out->address));
    out->bytes = input->bytes;
    out->block = input->block;
    out->stage = input->stage;
    out->task = input->task;
    out->attempt = input->attempt;
}

static void start_send(const struct engine *engine, struct agents *agents, int64_t now_ns,
                       const struct decision *decision, struct dispatch_room *room)
{
    struct gathering gathering = {agents, room, decision->start.host};
    struct stage_view stage;
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
    };
    if (engine_stage(engine, start.job, start.stage, &stage) == 0)
        wire_copy(start.command, sizeof(start.command), stage.command);
    if (engine_task(engine, start.job, start.stage, start.task, &task) == 0) {
        start.compute_ns = task.compute_ns;
        start.output_bytes = task.output_bytes;
    }
    room->n = 0;
    room->failed = false;
    engine_inputs(engine, start.attempt, input_gather, &gathering);
    agents_start(agents, now_ns, decision->start.host, &start, room->inputs, room->n);
}

void dispatch_decision(const struct engine *engine, struct agents *agents, int64_t now_ns,
                       const struct decision *decision, struct dispatch_room *room)
{
    switch (decision->kind) {
    case DECISION_START:
        start_send(engine, agents, now_ns, decision, room);
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
        agents_mode(agents, decision->mode.mode, decision->mode.sequence);
        break;
    case DECISION_FORGET:
        agents_forget(agents, decision->forget.host, decision->forget.job);
        break;
    default:
        break;
    }
}
