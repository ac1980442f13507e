/* Answers that wait for an agent's. */
#include "controller/clients/absent_host.h"
#include "controller/clients/control_shared.h"
#include "controller/clients/listing_asked.h"
#include "controller/clients/refusal.h"

#include <errno.h>
#include <string.h>

/* What an agent is asked for a list. */
static const struct question_of {
    bool asks, of_switches;
    duopoly_AskOf of;
} questions_of[] = {
    [duopoly_ListOf_LIST_FLOWS] = {.asks = true, .of = duopoly_AskOf_ASK_FLOWS},
    [duopoly_ListOf_LIST_QUEUES] = {.asks = true,
                                    .of_switches = true,
                                    .of = duopoly_AskOf_ASK_QUEUES},
};

bool agent_wait_asks(duopoly_ListOf list)
{
    return (size_t)list < sizeof(questions_of) / sizeof(questions_of[0]) && questions_of[list].asks;
}

/* WHY its next message waits: an agent's message is being taken, or a timer fires, and that message
 * may step the engine. */
static void answer_send(struct control *control, uint64_t client)
{
    struct requester *requester = control_requester(control, client);
    const pb_size_t request = requester->answer.request;
    const uint64_t sequence = requester->answer.sequence;
    requester->answer = (struct held_answer){.held = false};
    requester->answered = true;
    control_answer(control, client, sequence, request);
    portions_begin(control->portions);
}

void agent_waits_release(struct control *control)
{
    for (struct requester *requester = control->requesters;
         requester < control->requesters + REQUESTERS; requester++) {
        if (!requester->answered)
            continue;
        requester->answered = false;
        control_release(control, requester->client, HOLD_ANSWER);
    }
}

static void on_late(void *user, uint64_t client, const char *host)
{
    struct control *control = user;
    listing_unanswered(&control->answer, "%s did not answer within %d s", host,
                       (int)(QUESTIONS_WAIT_NS / 1000000000));
    answer_send(control, client);
}

void agent_waits_open(struct control *control)
{
    questions_init(&control->questions, control->parts->timers, on_late, control);
}

bool control_asked(void *user, const char *name, const duopoly_AskedPart *part)
{
    struct control *control = user;
    const uint64_t client = questions_answered(&control->questions, name, part->number);
    if (!client)
        return false;
    listing_asked(control->parts, name, part, &control->answer);
    answer_send(control, client);
    return true;
}

/* Whether the agent can be asked; else the answer says why not. */
static bool may_ask(struct control *control, const char *name, bool of_switches)
{
    struct agent_view agent;
    char gone[64];
    if (agents_named(control->parts->agents, name, &agent) < 0)
        absent_host_answer(control->parts->agents, of_switches ? ABSENT_EITHER : ABSENT_HOST, name,
                           &control->answer);
    else if (agent.is_switch && !of_switches)
        refused_answer(&control->answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "%s is a switch: connections end at hosts", name);
    else if (listing_gone(&agent, clock_now_ns(control->parts->clock), gone, sizeof(gone)))
        listing_unanswered(&control->answer, "%s cannot be asked: %s", name, gone);
    else if (agent.state == AGENT_UNMARKED)
        listing_unanswered(&control->answer, "%s cannot be asked: it has no agent", name);
    else
        return true;
    return false;
}

/* −errno with the answer; 0: it waits. */
static int ask(struct control *control, struct requester *requester, const duopoly_List *list)
{
    const int64_t now_ns = clock_now_ns(control->parts->clock);
    duopoly_Ask ask = {.of = questions_of[list->of].of, .cursor = list->cursor};
    ask.number = questions_begin(&control->questions, now_ns, requester->client, list->name);
    if (!ask.number) {
        refused_answer(&control->answer, duopoly_Reason_REASON_LIMIT,
                       "too many wait for answers of agents: ask again");
        return -EBUSY;
    }
    int r = agents_ask(control->parts->agents, list->name, &ask);
    if (r == 0)
        return 0;
    questions_drop(&control->questions, requester->client);
    if (r == -EOPNOTSUPP)
        listing_unanswered(&control->answer,
                           "%s cannot be asked: its agent is older than this command", list->name);
    else
        listing_unanswered(&control->answer, "%s cannot be asked: it has no session", list->name);
    return r;
}

void agent_wait_begin(struct control *control, struct requester *requester,
                      const duopoly_Envelope *request)
{
    const duopoly_List *list = &request->body.list;
    if (*list->filter) {
        refused_answer(&control->answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "this list takes no filter");
        return;
    }
    if (!may_ask(control, list->name, questions_of[list->of].of_switches) ||
        ask(control, requester, list) < 0)
        return;
    requester->answer = (struct held_answer){
        .held = true, .asks = true, .sequence = request->sequence, .request = request->which_body};
    control_hold(control, requester->client, HOLD_ANSWER);
    conductor_commit(control->conductor); /* for the timer */
}

void agent_wait_end(struct control *control, const struct requester *requester)
{
    questions_drop(&control->questions, requester->client);
}
