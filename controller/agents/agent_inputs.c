/* Inputs of starts, on their way to the agents: agent_attempts.h. */
#include "controller/agents/agent.h"

#include "lib/container_of.h"

#include <stdlib.h>
#include <string.h>

/* WHY: a message takes 0.2 ms, and a task may have 10⁵ inputs, which are 391. */
enum {
    MESSAGES = 2,
    PER_MESSAGE = sizeof(((duopoly_StartInputs *)0)->inputs) / sizeof(duopoly_Input)
};
#define PAUSE_NS 200000

/* Sends a portion from *sent on. */
static int portion_send(struct agent *agent, uint64_t attempt, const duopoly_Input *inputs,
                        uint32_t n, uint32_t *sent)
{
    struct agents *agents = agent->agents;
    int r = 0;
    for (int i = 0; i < MESSAGES && *sent < n && r == 0; i++) {
        duopoly_StartInputs *body =
            &wire_begin(&agents->out, duopoly_Envelope_start_inputs_tag)->body.start_inputs;
        body->attempt = attempt;
        body->part = *sent / PER_MESSAGE;
        body->inputs_count = (pb_size_t)(n - *sent < PER_MESSAGE ? n - *sent : PER_MESSAGE);
        memcpy(body->inputs, inputs + *sent, body->inputs_count * sizeof(inputs[0]));
        *sent += body->inputs_count;
        r = agent_send(agent, &agents->out, true);
    }
    return r;
}

static void answer_await(struct agents *agents, struct placed_attempt *placed, int64_t now_ns)
{
    placed->sent_ns = now_ns;
    timers_arm(agents->timers, &placed->timer, now_ns + agents->config.start_timeout_ns);
}

static void portion_arm(struct agents *agents, int64_t now_ns)
{
    struct agents_attempts *attempts = &agents->attempts;
    if (!TAILQ_EMPTY(&attempts->sending) && !attempts->portion.armed)
        timers_arm(agents->timers, &attempts->portion, now_ns + PAUSE_NS);
}

void agent_inputs_drop(struct agents *agents, struct placed_attempt *placed)
{
    if (!placed->inputs)
        return;
    TAILQ_REMOVE(&agents->attempts.sending, placed, of_sending);
    free(placed->inputs);
    placed->inputs = NULL;
    if (TAILQ_EMPTY(&agents->attempts.sending))
        timers_disarm(agents->timers, &agents->attempts.portion);
}

void agent_inputs_cut(struct agent *agent)
{
    struct placed_attempt *placed, *next;
    for (placed = TAILQ_FIRST(&agent->agents->attempts.sending); placed; placed = next) {
        next = TAILQ_NEXT(placed, of_sending);
        if (placed->agent != agent)
            continue;
        placed->cut = true;
        agent_inputs_drop(agent->agents, placed);
    }
}

/* Without memory for them all are sent at once. */
static int rest_keep(struct agent *agent, struct placed_attempt *placed,
                     const duopoly_Input *inputs, uint32_t n, uint32_t sent)
{
    struct agents *agents = agent->agents;
    int r = 0;
    placed->inputs = malloc(n * sizeof(*inputs));
    while (!placed->inputs && r == 0 && sent < n)
        r = portion_send(agent, placed->attempt, inputs, n, &sent);
    if (!placed->inputs)
        return r;
    memcpy(placed->inputs, inputs, n * sizeof(*inputs));
    placed->n_inputs = n;
    placed->inputs_sent = sent;
    TAILQ_INSERT_TAIL(&agents->attempts.sending, placed, of_sending);
    return 0;
}

int agent_inputs_send(struct agent *agent, struct placed_attempt *placed, int64_t now_ns,
                      const duopoly_Input *inputs, uint32_t n)
{
    uint32_t sent = 0;
    int r = portion_send(agent, placed->attempt, inputs, n, &sent);
    if (r == 0 && sent < n)
        r = rest_keep(agent, placed, inputs, n, sent);
    if (r == 0 && !placed->inputs)
        answer_await(agent->agents, placed, now_ns);
    portion_arm(agent->agents, now_ns);
    return r;
}

/* WHY the one that had its portion goes behind the others: few inputs do not wait for many. */
static void portion_fire(struct timer *timer, int64_t now_ns)
{
    struct agents *agents = container_of(timer, struct agents, attempts.portion);
    struct sending_attempts *sending = &agents->attempts.sending;
    struct placed_attempt *placed = TAILQ_FIRST(sending);
    /* A session that ends meanwhile cuts it. */
    const int r = portion_send(placed->agent, placed->attempt, placed->inputs, placed->n_inputs,
                               &placed->inputs_sent);
    if (r == 0 && placed->inputs_sent == placed->n_inputs) {
        agent_inputs_drop(agents, placed);
        answer_await(agents, placed, now_ns);
    } else if (r == 0) {
        TAILQ_REMOVE(sending, placed, of_sending);
        TAILQ_INSERT_TAIL(sending, placed, of_sending);
    }
    portion_arm(agents, now_ns);
}

void agents_inputs_begin(struct agents_attempts *attempts)
{
    TAILQ_INIT(&attempts->sending);
    attempts->portion.fire = portion_fire;
}
