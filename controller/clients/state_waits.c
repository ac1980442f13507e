/* Answers with the state, page by page (state_dump.h); those that wait for its next bytes. */
#include "controller/clients/control_shared.h"
#include "controller/clients/refusal.h"
#include "lib/log.h"

#include <errno.h>

/* False: there is nothing to answer yet. */
static bool page_fill(struct control *control)
{
    duopoly_StatePage *page =
        &wire_begin(&control->answer, duopoly_Envelope_state_page_tag)->body.state_page;
    struct err err;
    ssize_t n =
        state_dump_take(control->state_dump, page->part.bytes, sizeof(page->part.bytes), &err);
    if (n == -EAGAIN)
        return false;
    if (n < 0) {
        log_warning(LOG_FAULT_US, "%s", err.text);
        refused_answer(&control->answer, duopoly_Reason_REASON_STATE, "%s", err.text);
        return true;
    }
    page->part.size = (pb_size_t)n;
    page->last = n == 0;
    return true;
}

static void on_ready(void *user, uint64_t client)
{
    struct control *control = user;
    struct requester *requester = control_requester(control, client);
    const uint64_t sequence = requester->answer.sequence;
    const struct charged_work work = conductor_watch(control->conductor);
    if (page_fill(control)) {
        requester->answer = (struct held_answer){.held = false};
        control_answer(control, client, sequence, duopoly_Envelope_get_state_tag);
        control_release(control, client, HOLD_ANSWER);
    }
    client_turns_note_client(control, client, &work);
}

int state_waits_open(struct control *control, struct err *err)
{
    return state_dump_open(control->loop, control->parts->engine, control->parts->clock, on_ready,
                           control, &control->state_dump, err);
}

/* Whether one was begun; else the answer says why not. */
static bool begin(struct control *control, uint64_t client)
{
    struct err err;
    if (agents_resyncing(control->parts->agents)) {
        refused_answer(&control->answer, duopoly_Reason_REASON_STATE,
                       "the controller is starting: hosts that were known before are awaited, and "
                       "nothing is decided without them; ask again in some seconds");
        return false;
    }
    int r = state_dump_begin(control->state_dump, client, &err);
    if (r < 0)
        refused_answer(&control->answer, duopoly_Reason_REASON_LIMIT, "%s", err.text);
    return r == 0;
}

void state_wait_begin(struct control *control, struct requester *requester,
                      const duopoly_Envelope *request)
{
    const uint64_t client = requester->client, from = request->body.get_state.from;
    if (!from && !begin(control, client))
        return;
    if (!state_dump_goes_on(control->state_dump, client, from)) {
        state_dump_leave(control->state_dump, client);
        refused_answer(&control->answer, duopoly_Reason_REASON_STATE,
                       "no state goes on there: it was begun by somebody else, or not taken for "
                       "%d s; ask for it from its beginning",
                       STATE_DUMP_PAUSE_MS / 1000);
        return;
    }
    if (page_fill(control))
        return;
    requester->answer = (struct held_answer){
        .held = true, .takes = true, .sequence = request->sequence, .request = request->which_body};
    control_hold(control, client, HOLD_ANSWER);
}

void state_wait_end(struct control *control, const struct requester *requester)
{
    state_dump_leave(control->state_dump, requester->client);
}
