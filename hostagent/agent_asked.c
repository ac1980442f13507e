#include "hostagent/agent_parts.h"
#include "hostagent/flow_report.h"
#include "hostagent/queue_report.h"
#include "hostagent/uplink/uplink_zmq.h"

static void flows_tell(const struct agent_parts *agent, uint64_t cursor, duopoly_AskedPart *part)
{
    const struct flow_report_from from = {agent->marks, agent->tasks, agent->guests};
    flow_report(&from, cursor, part);
}

static void queues_tell(const struct agent_parts *agent, uint64_t cursor, duopoly_AskedPart *part)
{
    queue_report(agent->switches, cursor, part);
}

static const struct {
    void (*tell)(const struct agent_parts *agent, uint64_t cursor, duopoly_AskedPart *part);
    bool of_hosts; /* connections end at hosts */
} questions[] = {
    [duopoly_AskOf_ASK_FLOWS] = {.tell = flows_tell, .of_hosts = true},
    [duopoly_AskOf_ASK_QUEUES] = {.tell = queues_tell},
};
enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

uint32_t agent_asks(const struct agent_parts *agent)
{
    uint32_t asks = 0;
    for (uint32_t i = 0; i < QUESTIONS; i++)
        if (agent_is_host(agent) || !questions[i].of_hosts)
            asks |= 1u << i;
    return asks;
}

void agent_answer(void *user, const duopoly_Ask *ask)
{
    static duopoly_AskedPart part;
    const struct agent_parts *agent = user;
    if ((uint32_t)ask->of >= QUESTIONS || !(agent_asks(agent) >> ask->of & 1))
        return; /* a later controller's; it was told that this agent does not know it */
    part = (duopoly_AskedPart){.number = ask->number};
    questions[ask->of].tell(agent, ask->cursor, &part);
    uplink_answer(agent->uplink, &part);
}
