/* Answers to List, page by page (paging.h). One page is in work at a time, and others wait in line
 * for it; each client waits for one at most. After each portion of it everything else that the loop
 * has to do comes first; where there is always something, a page gets a portion a turn. */
#include "controller/clients/control_shared.h"
#include "controller/clients/refusal.h"

#include <poll.h>
#include <string.h>
#include <time.h>

static bool others_wait(const struct control *control)
{
    struct pollfd loop = {sd_event_get_fd(control->loop), POLLIN, 0};
    return poll(&loop, 1, 0) > 0;
}

/* Goes on with the page that is in work until others wait; whether there is more to do. */
static bool go_on(struct control *control)
{
    struct listing_sources sources;
    control_sources(control, &sources);
    while (paging_go_on(&control->lists.paging, &sources))
        if (others_wait(control))
            return true;
    return false;
}

static void await_turn(struct list_waits *waits)
{
    sd_event_source_set_enabled(waits->again, SD_EVENT_ONESHOT);
}

void list_wait_begin(struct control *control, struct requester *requester,
                     const duopoly_Envelope *request)
{
    struct list_waits *waits = &control->lists;
    const bool first = STAILQ_EMPTY(&waits->line);
    if (first)
        paging_begin(&waits->paging, &request->body.list);
    if (first && !go_on(control)) {
        control->answer = waits->paging.page;
        return;
    }
    requester->list = request->body.list;
    requester->answer = (struct held_answer){
        .held = true, .lists = true, .sequence = request->sequence, .request = request->which_body};
    STAILQ_INSERT_TAIL(&waits->line, requester, next_list);
    control_hold(control, requester->client, HOLD_ANSWER);
    await_turn(waits);
}

/* Takes it out of the line; the next one's page is begun if the first one leaves. */
static void leave(struct list_waits *waits, struct requester *requester)
{
    const bool first = STAILQ_FIRST(&waits->line) == requester;
    STAILQ_REMOVE(&waits->line, requester, requester, next_list);
    requester->answer = (struct held_answer){.held = false};
    if (first && !STAILQ_EMPTY(&waits->line))
        paging_begin(&waits->paging, &STAILQ_FIRST(&waits->line)->list);
}

void list_wait_end(struct control *control, struct requester *requester)
{
    if (requester->answer.lists)
        leave(&control->lists, requester);
}

static void page_send(struct control *control, struct requester *requester)
{
    const struct held_answer answer = requester->answer;
    const uint64_t client = requester->client;
    control->answer = control->lists.paging.page;
    leave(&control->lists, requester);
    control_answer(control, client, answer.sequence, answer.request);
    control_release(control, client, HOLD_ANSWER);
}

static int on_again(sd_event_source *source, uint64_t usec, void *user)
{
    struct control *control = user;
    struct list_waits *waits = &control->lists;
    (void)source, (void)usec;
    if (STAILQ_EMPTY(&waits->line))
        return 0;
    if (!go_on(control))
        page_send(control, STAILQ_FIRST(&waits->line));
    if (!STAILQ_EMPTY(&waits->line))
        await_turn(waits);
    return 0;
}

/* WHY a timer that is long overdue: see wire_zmq_edge.c. */
int list_waits_open(struct control *control, struct err *err)
{
    struct list_waits *waits = &control->lists;
    STAILQ_INIT(&waits->line);
    int r =
        sd_event_add_time(control->loop, &waits->again, CLOCK_MONOTONIC, 0, 1, on_again, control);
    if (r >= 0)
        r = sd_event_source_set_enabled(waits->again, SD_EVENT_OFF);
    return r < 0 ? err_sys(err, -r, "the loop") : 0;
}

void list_waits_close(struct control *control)
{
    sd_event_source_disable_unref(control->lists.again);
}
