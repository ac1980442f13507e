/* Whose turn it is among clients (loop_shares.h), and what each is charged for: the edge between
 * those accounts, the loop, and the sockets. A client that is put off is held: its message stays
 * where it is, in the kernel or in remote.c. */
#include "controller/clients/control_shared.h"
#include "lib/container_of.h"

#include <time.h>

#define BURST_NS INT64_C(100000000)

static int64_t now_ns(const struct control *control)
{
    uint64_t usec = 0;
    sd_event_now(control->loop, CLOCK_MONOTONIC, &usec);
    return (int64_t)usec * 1000;
}

/* No later than it is armed for already. WHY not for the exact time: that moves with each message,
 * and a timer that comes too early costs less than to move it each time. */
static void arm(struct control *control)
{
    struct client_turns *turns = &control->turns;
    uint64_t armed;
    if (!turns->shares.waiting)
        return;
    const uint64_t usec = (uint64_t)loop_shares_due_ns(&turns->shares, now_ns(control)) / 1000 + 1;
    sd_event_source_set_enabled(turns->idle, SD_EVENT_ONESHOT);
    if (sd_event_source_get_enabled(turns->due, NULL) > 0 &&
        sd_event_source_get_time(turns->due, &armed) >= 0 && armed <= usec)
        return;
    sd_event_source_set_time(turns->due, usec);
    sd_event_source_set_enabled(turns->due, SD_EVENT_ONESHOT);
}

/* One of those that were put off; whether there is one. */
static bool give(struct control *control, bool idle)
{
    struct loop_turn *turn = loop_shares_next(&control->turns.shares, now_ns(control), idle);
    if (!turn)
        return false;
    const uint64_t client = container_of(turn, struct requester, turn)->client;
    control_release(control, client, HOLD_TURN);
    if (!(client & REMOTE_BIT))
        wire_unix_take(control->server, client);
    return true;
}

static int64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* One after the other until something else comes: those that are put off are not read, so what the
 * loop's descriptor shows is others'. */
static int on_idle(sd_event_source *source, void *user)
{
    struct control *control = user;
    const int64_t until_ns = wall_ns() + PORTION_NS;
    (void)source;
    while (give(control, true) && !control_others_wait(control, 1) && wall_ns() < until_ns)
        ;
    arm(control);
    return 0;
}

static int on_due(sd_event_source *source, uint64_t usec, void *user)
{
    (void)source, (void)usec;
    give(user, false);
    arm(user);
    return 0;
}

/* Its own message is what the loop's descriptor shows, besides others'. Of remote clients the loop
 * does not show who else waits. */
static bool is_alone(const struct control *control, uint64_t client)
{
    return !(client & REMOTE_BIT) && !control->turns.shares.waiting &&
           !control_others_wait(control, 2);
}

bool client_turns_take(void *user, uint64_t client)
{
    struct control *control = user;
    struct requester *requester = control_requester(control, client);
    struct loop_shares *shares = &control->turns.shares;
    if ((loop_turn_is_over(shares, &requester->turn, now_ns(control)) &&
         is_alone(control, client)) ||
        loop_turn_take(shares, &requester->turn, now_ns(control)))
        return true;
    control_hold(control, client, HOLD_TURN);
    arm(control);
    return false;
}

void client_turns_begin(struct control *control, struct requester *requester)
{
    char name[96];
    bool first;
    const uint64_t number = control_owner(control, requester->client, name, sizeof(name), &first);
    loop_turn_begin(&control->turns.shares, &requester->turn, number, name, first, now_ns(control));
}

void client_turns_note(struct control *control, struct loop_turn *turn,
                       const struct charged_work *work)
{
    loop_turn_note(&control->turns.shares, turn, conductor_watched(control->conductor, work));
}

void client_turns_note_client(struct control *control, uint64_t client,
                              const struct charged_work *work)
{
    struct requester *requester = control_find(control, client);
    struct loop_turn nobody = {.owner = NULL};
    client_turns_note(control, requester ? &requester->turn : &nobody, work);
}

void control_charged(void *user, const struct loop_spent *spent)
{
    struct control *control = user;
    const struct loop_spent here = {now_ns(control), spent->spent_ns, spent->noted_ns};
    loop_shares_charge(&control->turns.shares, &here);
}

int64_t client_turns_credit(const struct control *control, struct requester *requester)
{
    return loop_turn_credit(&control->turns.shares, &requester->turn, now_ns(control));
}

int client_turns_open(struct control *control, const struct settings *settings, struct err *err)
{
    struct client_turns *turns = &control->turns;
    turns->shares.share = (struct loop_share){settings->bounds.client_time_permille, BURST_NS};
    int r = sd_event_add_defer(control->loop, &turns->idle, on_idle, control);
    if (r >= 0)
        r = sd_event_source_set_priority(turns->idle, SD_EVENT_PRIORITY_IDLE);
    if (r >= 0)
        r = sd_event_source_set_enabled(turns->idle, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(control->loop, &turns->due, CLOCK_MONOTONIC, 0, 1, on_due, control);
    if (r >= 0)
        r = sd_event_source_set_enabled(turns->due, SD_EVENT_OFF);
    return r < 0 ? err_sys(err, -r, "the loop") : 0;
}

void client_turns_close(struct control *control)
{
    sd_event_source_disable_unref(control->turns.idle);
    sd_event_source_disable_unref(control->turns.due);
}
