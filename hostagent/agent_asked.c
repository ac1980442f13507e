#include "hostagent/agent_parts.h"
#include "hostagent/flow_report.h"
#include "hostagent/queue_report.h"
#include "hostagent/uplink/uplink_zmq.h"
#include "lib/now.h"

static void flows_tell(const struct agent_parts *agent, uint64_t cursor, duopoly_AskedPart *part)
{
    const struct flow_report_from from = {agent->marks, agent->tasks, agent->guests,
                                          &agent->asked.rates};
    flow_report(&from, cursor, part);
}

static void queues_tell(const struct agent_parts *agent, uint64_t cursor, duopoly_AskedPart *part)
{
    queue_report(agent->switches, cursor, part);
}

static const struct {
    void (*tell)(const struct agent_parts *agent, uint64_t cursor, duopoly_AskedPart *part);
    bool of_hosts; /* connections end at hosts */
    bool rates;    /* of connections: it needs two readings */
} questions[] = {
    [duopoly_AskOf_ASK_FLOWS] = {.tell = flows_tell, .of_hosts = true, .rates = true},
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

static void answer(struct agent_parts *agent, const duopoly_Ask *ask)
{
    static duopoly_AskedPart part;
    part = (duopoly_AskedPart){.number = ask->number};
    questions[ask->of].tell(agent, ask->cursor, &part);
    uplink_answer(agent->uplink, &part);
}

static int on_ripe(sd_event_source *source, uint64_t usec, void *arg)
{
    struct agent_parts *agent = arg;
    (void)source;
    (void)usec;
    for (uint32_t i = 0; i < agent->asked.n; i++)
        answer(agent, &agent->asked.asks[i]);
    agent->asked.n = 0;
    return 0;
}

static int arm(struct agent_parts *agent, uint64_t wait_ns)
{
    struct agent_asked *asked = &agent->asked;
    asked->ripe = sd_event_source_disable_unref(asked->ripe);
    return sd_event_add_time_relative(agent->event, &asked->ripe, CLOCK_MONOTONIC,
                                      wait_ns / 1000 + 1, 1000, on_ripe, agent);
}

/* Whether it is answered later. Of several parts the first one waits. */
static bool waits(struct agent_parts *agent, const duopoly_Ask *ask)
{
    struct agent_asked *asked = &agent->asked;
    if (!questions[ask->of].rates || ask->cursor || asked->n == AGENT_ASKED)
        return false;
    if (flow_rates_are_old(&asked->rates, now_ns(CLOCK_BOOTTIME)) &&
        flow_report_look(&asked->rates, NULL) < 0)
        return false;
    const uint64_t wait_ns = flow_rates_wait_ns(&asked->rates, now_ns(CLOCK_BOOTTIME));
    if (!wait_ns || (!asked->n && arm(agent, wait_ns) < 0))
        return false;
    asked->asks[asked->n++] = *ask;
    return true;
}

void agent_answer(void *user, const duopoly_Ask *ask)
{
    struct agent_parts *agent = user;
    if ((uint32_t)ask->of >= QUESTIONS || !(agent_asks(agent) >> ask->of & 1))
        return; /* a later controller's; it was told that this agent does not know it */
    if (!waits(agent, ask))
        answer(agent, ask);
}

void agent_close_asked(struct agent_parts *agent)
{
    agent->asked.ripe = sd_event_source_disable_unref(agent->asked.ripe);
    flow_rates_done(&agent->asked.rates);
}
