#include "controller/clients/event_requests.h"

#include "controller/clients/control_shared.h"

#include <stdlib.h>
#include <time.h>

#define ALL_KINDS ((UINT32_C(1) << EVENT_KIND_COUNT) - 1)
#define PAUSE_US  (EVENTS_PAUSE_MS * UINT64_C(1000))

enum { ROWS = sizeof(((duopoly_EventPage *)0)->rows) / sizeof(duopoly_EventRow) };

_Static_assert((int)EVENT_KIND_COUNT <=
                   (int)(sizeof(((duopoly_EventPage *)0)->seen) / sizeof(uint64_t)),
               "a page has room for the place of each kind");

/* Of these the name is not that of a thing, but of who changed it. */
static bool is_by_command(duopoly_EventKind kind)
{
    return kind == duopoly_EventKind_KIND_POLICY || kind == duopoly_EventKind_KIND_STANCE ||
           kind == duopoly_EventKind_KIND_KEY;
}

static void row_fill(const struct notice *notice, duopoly_EventRow *row)
{
    *row = (duopoly_EventRow){.sequence = notice->sequence,
                              .at_ns = notice->at_ns,
                              .kind = notice->kind,
                              .job = notice->job,
                              .attempt = notice->attempt,
                              .has_stage = notice->stage != NOTICE_NONE,
                              .stage = notice->stage,
                              .has_task = notice->task != NOTICE_NONE,
                              .task = notice->task};
    wire_copy(row->what, sizeof(row->what), notice->what);
    wire_copy(row->host, sizeof(row->host), notice->host);
    if (is_by_command(notice->kind))
        wire_copy(row->by, sizeof(row->by), notice->name);
    else
        wire_copy(row->name, sizeof(row->name), notice->name);
    if (notice->reason)
        wire_copy(row->reason, sizeof(row->reason), reason_name((enum reason)notice->reason));
    wire_copy(row->text, sizeof(row->text), notice->text);
}

static duopoly_EventPage *page_fill(struct control *control, struct event_wait *wait)
{
    const struct notices *notices = control->parts->notices;
    const struct notice *found[ROWS];
    duopoly_EventPage *page =
        &wire_begin(&control->answer, duopoly_Envelope_event_page_tag)->body.event_page;
    uint32_t n = notices_read(notices, wait->kinds, &wait->place, found, ROWS, &page->lost);
    page->epoch = epoch_number(control->parts->epoch);
    page->rows_count = (pb_size_t)n;
    for (uint32_t i = 0; i < n; i++)
        row_fill(found[i], &page->rows[i]);
    page->seen_count = EVENT_KIND_COUNT;
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
        page->seen[kind] = wait->place.passed[kind];
    page->more = notices_more(notices, wait->kinds, &wait->place);
    return page;
}

/* Where it goes on; returns how many after `after` are known to be lost. */
static uint64_t place_find(const struct control *control, const duopoly_GetEvents *ask,
                           bool restarted, struct event_wait *wait)
{
    const struct notices *notices = control->parts->notices;
    uint64_t lost = 0;
    notices_begin(notices, &wait->place);
    if (restarted)
        return 0;
    if (ask->seen_count) {
        for (pb_size_t kind = 0; kind < ask->seen_count && kind < EVENT_KIND_COUNT; kind++)
            wait->place.passed[kind] = ask->seen[kind];
        return 0;
    }
    if (ask->coming)
        notices_end(notices, &wait->place);
    if (ask->epoch)
        lost = notices_after(notices, wait->kinds, ask->after, &wait->place);
    if (ask->since_ns)
        notices_since(notices, ask->since_ns, &wait->place);
    if (ask->newest)
        notices_newest(notices, wait->kinds, ask->newest, &wait->place);
    return lost;
}

/* No later than it is armed for already. */
static void arm(const struct event_waits *waits, uint64_t usec)
{
    uint64_t armed;
    if (sd_event_source_get_enabled(waits->timer, NULL) > 0 &&
        sd_event_source_get_time(waits->timer, &armed) >= 0 && armed <= usec)
        return;
    sd_event_source_set_time(waits->timer, usec);
    sd_event_source_set_enabled(waits->timer, SD_EVENT_ONESHOT);
}

static uint64_t now_usec(const struct control *control)
{
    uint64_t now = 0;
    sd_event_now(control->loop, CLOCK_MONOTONIC, &now);
    return now;
}

static void hold(struct control *control, struct requester *requester, uint32_t wait_ms)
{
    struct event_wait *wait = &requester->events;
    const uint64_t most_ms = wait_ms < EVENTS_WAIT_MS ? wait_ms : EVENTS_WAIT_MS;
    wait->until_usec = now_usec(control) + most_ms * 1000;
    requester->answer = (struct held_answer){
        .held = true, .follows = true, .request = duopoly_Envelope_get_events_tag};
    control->event_waits.n++;
    control_hold(control, requester->client, HOLD_ANSWER);
    arm(&control->event_waits, wait->until_usec);
}

void events_answer(struct control *control, struct requester *requester,
                   const duopoly_GetEvents *ask)
{
    struct event_wait *wait = &requester->events;
    bool restarted = ask->epoch && ask->epoch != epoch_number(control->parts->epoch);
    wait->kinds = ask->kinds ? ask->kinds & ALL_KINDS : ALL_KINDS;
    uint64_t lost = place_find(control, ask, restarted, wait);
    if (ask->wait_ms && !restarted && !lost &&
        !notices_more(control->parts->notices, wait->kinds, &wait->place)) {
        hold(control, requester, ask->wait_ms);
        return;
    }
    duopoly_EventPage *page = page_fill(control, wait);
    page->lost += lost;
    page->restarted = restarted;
}

void event_waits_stir(struct control *control)
{
    struct event_waits *waits = &control->event_waits;
    if (!waits->n || waits->stirred)
        return;
    waits->stirred = true;
    arm(waits, now_usec(control) + PAUSE_US);
}

void event_wait_end(struct control *control, struct requester *requester)
{
    if (!requester->answer.follows)
        return;
    requester->answer = (struct held_answer){.held = false};
    control->event_waits.n--;
}

static void wait_answer(struct control *control, struct requester *requester)
{
    const uint64_t client = requester->client;
    const struct charged_work work = conductor_watch(control->conductor);
    event_wait_end(control, requester);
    page_fill(control, &requester->events);
    control_answer(control, client, 0, duopoly_Envelope_get_events_tag);
    control_release(control, client, HOLD_ANSWER);
    client_turns_note_client(control, client, &work);
}

/* Sends one page that is due. */
static bool on_portion(void *user)
{
    struct control *control = user;
    struct event_waits *waits = &control->event_waits;
    while (waits->n && waits->next < REQUESTERS) {
        struct requester *requester = &control->requesters[waits->next++];
        const struct event_wait *wait = &requester->events;
        if (!requester->answer.follows)
            continue;
        if (notices_more(control->parts->notices, wait->kinds, &wait->place) ||
            now_usec(control) >= wait->until_usec) {
            wait_answer(control, requester);
            return true;
        }
        arm(waits, wait->until_usec);
    }
    return false;
}

static int on_time(sd_event_source *source, uint64_t usec, void *user)
{
    struct event_waits *waits = &((struct control *)user)->event_waits;
    (void)source, (void)usec;
    waits->stirred = false;
    waits->next = 0;
    portions_begin(waits->portions);
    return 0;
}

int event_waits_open(struct control *control, struct err *err)
{
    struct event_waits *waits = &control->event_waits;
    int r = portions_open(control->loop, on_portion, control, &waits->portions, err);
    if (r < 0)
        return r;
    r = sd_event_add_time(control->loop, &waits->timer, CLOCK_MONOTONIC, 0, 1000, on_time, control);
    if (r >= 0)
        r = sd_event_source_set_enabled(waits->timer, SD_EVENT_OFF);
    return r < 0 ? err_sys(err, -r, "the loop") : 0;
}

void event_waits_close(struct control *control)
{
    sd_event_source_disable_unref(control->event_waits.timer);
    portions_close(control->event_waits.portions);
}
