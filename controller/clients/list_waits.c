/* Answers to List, page by page (paging.h). One page is in work at a time, and others wait in line
 * for it: the next one is of whoever has most left of its share (loop_shares.h), then the one that
 * came first. Each client waits for one at most. After each portion of it everything else that the
 * loop has to do comes first; where there is always something, a page gets a portion a turn. */
#include "controller/clients/control_shared.h"
#include "controller/clients/refusal.h"
#include "lib/invariant.h"

#include <string.h>
#include <sys/epoll.h>
#include <time.h>

bool control_others_wait(const struct control *control, int n)
{
    struct epoll_event events[2];
    assert(n <= 2);
    return epoll_wait(sd_event_get_fd(control->loop), events, n, 0) >= n;
}

/* Goes on with the page that is in work until others wait; whether there is more to do. */
static bool go_on(struct control *control)
{
    struct listing_sources sources;
    control_sources(control, &sources);
    while (paging_go_on(&control->lists.paging, &sources))
        if (control_others_wait(control, 1))
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

/* WHY not the one that came first: one who asks over many connections would have as many turns. */
static void next_begin(struct control *control)
{
    struct list_waits *waits = &control->lists;
    struct requester *best = STAILQ_FIRST(&waits->line), *one;
    STAILQ_FOREACH (one, &waits->line, next_list)
        if (client_turns_credit(control, one) > client_turns_credit(control, best))
            best = one;
    STAILQ_REMOVE(&waits->line, best, requester, next_list);
    STAILQ_INSERT_HEAD(&waits->line, best, next_list);
    paging_begin(&waits->paging, &best->list);
}

/* Takes it out of the line; the next one's page is begun if the first one leaves. */
static void leave(struct control *control, struct requester *requester)
{
    struct list_waits *waits = &control->lists;
    const bool first = STAILQ_FIRST(&waits->line) == requester;
    STAILQ_REMOVE(&waits->line, requester, requester, next_list);
    requester->answer = (struct held_answer){.held = false};
    if (first && !STAILQ_EMPTY(&waits->line))
        next_begin(control);
}

void list_wait_end(struct control *control, struct requester *requester)
{
    if (requester->answer.lists)
        leave(control, requester);
}

static void page_send(struct control *control, struct requester *requester)
{
    const struct held_answer answer = requester->answer;
    const uint64_t client = requester->client;
    control->answer = control->lists.paging.page;
    leave(control, requester);
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
    struct requester *first = STAILQ_FIRST(&waits->line);
    const uint64_t client = first->client;
    const struct charged_work work = conductor_watch(control->conductor);
    if (!go_on(control))
        page_send(control, first);
    client_turns_note_client(control, client, &work);
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
