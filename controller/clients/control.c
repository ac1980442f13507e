#include "controller/clients/config_requests.h"
#include "controller/clients/control_shared.h"
#include "controller/clients/refusal.h"
#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prepared jobs of a client that disconnected, to be cancelled one by one. */
struct leaving {
    STAILQ_ENTRY(leaving) link;
    struct loop_turn turn; /* of the client that has gone: who is charged */
    struct submission submission;
};

static struct requester *place_of(struct control *control, uint64_t client)
{
    return &control->requesters[client & REMOTE_BIT ? UNIX_CLIENTS + client % REMOTE_CLIENTS
                                                    : client % UNIX_CLIENTS];
}

struct requester *control_find(struct control *control, uint64_t client)
{
    struct requester *requester = place_of(control, client);
    return client && requester->client == client ? requester : NULL;
}

struct requester *control_requester(struct control *control, uint64_t client)
{
    struct requester *requester = place_of(control, client);
    if (requester->client == client)
        return requester;
    *requester = (struct requester){.client = client};
    client_turns_begin(control, requester);
    return requester;
}

/* While the store cannot be written, requests that would last are refused and logged. Stances are
 * accepted all the same, since one is the emergency stop. */
static bool store_refuses(struct control *control, uint64_t client, pb_size_t kind)
{
    struct err err;
    if (!request_lasts(kind) || store_refusal(control->parts->store, &err) == 0)
        return false;
    refused_answer(&control->answer, duopoly_Reason_REASON_LIMIT, "%s", err.text);
    control_log(control, client, "%s", wire_kind_name(kind));
    return true;
}

void control_answer(struct control *control, uint64_t client, uint64_t sequence, pb_size_t request)
{
    if (control->answer.which_body == duopoly_Envelope_refused_tag) {
        control->refused[request % WIRE_KINDS]++;
        control->answer.body.refused.sequence = sequence;
    }
    control->answer.epoch = epoch_number(control->parts->epoch);
    control_send(control, client, &control->answer);
}

/* Commits the request's changes; returns whether its answer must wait for the disk. WHY not at once
 * what only prepares: a file of many jobs would be a commit for each. */
static bool answer_hold(struct control *control, struct requester *requester,
                        const duopoly_Envelope *request)
{
    duopoly_Accepted *accepted = &control->answer.body.accepted;
    struct err err;
    if (request_prepares(request->which_body)) {
        conductor_commit_later(control->conductor);
        return false;
    }
    uint64_t ticket = conductor_commit(control->conductor);
    if (!request_is_kept(request) || control->answer.which_body != duopoly_Envelope_accepted_tag)
        return false;
    if (!request_lasts(request->which_body) && store_refusal(control->parts->store, &err) < 0) {
        size_t used = strlen(accepted->text);
        snprintf(accepted->text + used, sizeof(accepted->text) - used,
                 ", but a restart may undo it: %.120s", err.text);
        return false;
    }
    accepted->durable = true;
    if (store_settled(control->parts->store, ticket))
        return false;
    store_await(control->parts->store);
    requester->answer = (struct held_answer){.held = true,
                                             .ticket = ticket,
                                             .sequence = request->sequence,
                                             .request = request->which_body,
                                             .accepted = *accepted};
    control_hold(control, requester->client, HOLD_ANSWER);
    return true;
}

/* The disk refused them. */
static void held_refuse(struct control *control, struct requester *requester, const struct err *why)
{
    bool begins = requester->answer.request == duopoly_Envelope_submit_end_tag ||
                  requester->answer.request == duopoly_Envelope_submit_commit_tag;
    if (begins)
        submission_undo(&requester->submission, control->conductor);
    refused_answer(&control->answer, duopoly_Reason_REASON_LIMIT,
                   begins ? "%.150s: nothing was begun"
                          : "%.150s: it is in force, but a restart may undo it",
                   why->text);
    conductor_commit(control->conductor);
}

static void held_look(struct control *control, struct requester *requester,
                      const struct err *failure)
{
    struct held_answer *answer = &requester->answer;
    if (store_settled(control->parts->store, answer->ticket))
        wire_begin(&control->answer, duopoly_Envelope_accepted_tag)->body.accepted =
            answer->accepted;
    else if (failure)
        held_refuse(control, requester, failure);
    else
        return;
    answer->held = false;
    control_answer(control, requester->client, answer->sequence, answer->request);
    control_release(control, requester->client, HOLD_ANSWER);
}

/* WHY a client that submits faster than the disk takes is paused: else it would be refused. */
static void behind_look(struct control *control, struct requester *requester, bool failed)
{
    if (!failed && store_is_behind(control->parts->store))
        control_hold(control, requester->client, HOLD_BEHIND);
    else
        control_release(control, requester->client, HOLD_BEHIND);
}

/* WHY later: an answer lets its client's next message in, which may step the engine. */
void control_stepped(void *user)
{
    struct control *control = user;
    if (control->idlers)
        portions_begin(control->portions);
    event_waits_stir(control);
}

static bool waits_for_disk(const struct held_answer *answer)
{
    return answer->held && !answer->cared && !answer->idles && !answer->follows && !answer->asks &&
           !answer->takes && !answer->lists;
}

void control_stored(void *user)
{
    struct control *control = user;
    struct err err;
    bool failed = store_failure(control->parts->store, &err) < 0;
    for (struct requester *requester = control->requesters;
         requester < control->requesters + REQUESTERS; requester++) {
        if (requester->client && waits_for_disk(&requester->answer))
            held_look(control, requester, failed ? &err : NULL);
        if (requester->holds & HOLD_BEHIND)
            behind_look(control, requester, failed);
    }
}

static void on_cared(void *user, const struct err *err, uint64_t rows)
{
    struct control *control = user;
    struct requester *requester = place_of(control, control->carer);
    struct held_answer *answer = &requester->answer;
    if (requester->client != control->carer || !answer->cared)
        return;
    if (err->code)
        refused_answer(&control->answer, duopoly_Reason_REASON_STATE, "%s", err->text);
    else if (*answer->accepted.text)
        accepted_answer(&control->answer, "%s is a copy of the store: %" PRIu64 " rows, all sound",
                        answer->accepted.text, rows);
    else
        accepted_answer(&control->answer, "all %" PRIu64 " rows of the store are sound", rows);
    control_log(control, requester->client, "store %s %s",
                *answer->accepted.text ? "backup" : "check", answer->accepted.text);
    conductor_commit(control->conductor);
    control_answer(control, requester->client, 0, answer->request);
    *answer = (struct held_answer){.held = false};
    control_release(control, requester->client, HOLD_ANSWER);
}

static void message_take(struct control *control, struct requester *requester,
                         const duopoly_Envelope *request)
{
    const uint64_t client = requester->client;
    struct err err;
    control->dry_run = request->dry_run;
    if (request->version < WIRE_VERSION_MIN || request->version > WIRE_VERSION_MAX)
        refused_answer(&control->answer, duopoly_Reason_REASON_VERSION,
                       "this controller speaks version %d, not %" PRIu32, WIRE_VERSION_MAX,
                       request->version);
    else if (!request_is_forbidden(control, client, request->which_body) &&
             !store_refuses(control, client, request->which_body))
        request_answer(control, requester, request);
    if (!requester->answer.held && !answer_hold(control, requester, request))
        control_answer(control, client, request->sequence, request->which_body);
    control->dry_run = false;
    if (requester->client == client && requester->submission.open)
        behind_look(control, requester, store_failure(control->parts->store, &err) < 0);
}

/* The end of a large job: its work is done in portions, and its client's next messages wait. */
static bool late_begin(struct control *control, struct requester *requester,
                       const duopoly_Envelope *request)
{
    bool ends = request->which_body == duopoly_Envelope_submit_end_tag ||
                request->which_body == duopoly_Envelope_submit_prepare_tag;
    if (!ends || !submission_prepare(&requester->submission, control->conductor) ||
        !(requester->late = malloc(sizeof(*request))))
        return false;
    *requester->late = *request;
    control_hold(control, requester->client, HOLD_LATE);
    portions_begin(control->portions);
    return true;
}

static void late_end(struct control *control, struct requester *requester)
{
    const uint64_t client = requester->client;
    duopoly_Envelope *request = requester->late;
    requester->late = NULL;
    message_take(control, requester, request);
    free(request);
    control_release(control, client, HOLD_LATE);
}

static void on_message(void *user, uint64_t client, const duopoly_Envelope *request)
{
    struct control *control = user;
    struct requester *requester = control_requester(control, client);
    const struct charged_work work = conductor_watch(control->conductor);
    if (!late_begin(control, requester, request))
        message_take(control, requester, request);
    client_turns_note_client(control, client, &work);
}

static void late_go_on(struct control *control, struct requester *requester)
{
    const uint64_t client = requester->client;
    const struct charged_work work = conductor_watch(control->conductor);
    if (!submission_prepare(&requester->submission, control->conductor))
        late_end(control, requester);
    client_turns_note_client(control, client, &work);
}

/* Whether there is more to do. */
static bool leaving_go_on(struct control *control)
{
    struct leaving *leaving = STAILQ_FIRST(&control->leaving);
    if (!leaving)
        return false;
    const struct charged_work work = conductor_watch(control->conductor);
    const bool more = submission_close(&leaving->submission, control->conductor);
    client_turns_note(control, &leaving->turn, &work);
    if (more)
        return true;
    STAILQ_REMOVE_HEAD(&control->leaving, link);
    loop_turn_end(&control->turns.shares, &leaving->turn);
    free(leaving);
    return !STAILQ_EMPTY(&control->leaving);
}

/* One portion for each that waits for one. */
static bool on_portion(void *user)
{
    struct control *control = user;
    bool more = false;
    idle_waits_look(control);
    agent_waits_release(control);
    for (struct requester *requester = control->requesters;
         requester < control->requesters + REQUESTERS; requester++) {
        if (!requester->late)
            continue;
        more = true;
        late_go_on(control, requester);
    }
    return leaving_go_on(control) || more;
}

static void submission_leave(struct control *control, struct requester *requester)
{
    const struct charged_work work = conductor_watch(control->conductor);
    const struct loop_owner *owner = requester->turn.owner;
    bool more = submission_close(&requester->submission, control->conductor);
    struct leaving *leaving = more ? calloc(1, sizeof(*leaving)) : NULL;
    if (leaving) {
        leaving->submission = requester->submission;
        if (owner)
            loop_turn_begin(&control->turns.shares, &leaving->turn, owner->number, owner->name,
                            owner->first, owner->account.at_ns);
        STAILQ_INSERT_TAIL(&control->leaving, leaving, link);
        portions_begin(control->portions);
    } else if (more) {
        while (submission_close(&requester->submission, control->conductor))
            ;
    }
    client_turns_note(control, &requester->turn, &work);
}

static void on_close(void *user, uint64_t client)
{
    struct control *control = user;
    struct requester *requester = control_find(control, client);
    if (!requester)
        return; /* it never asked */
    submission_leave(control, requester);
    loop_turn_end(&control->turns.shares, &requester->turn);
    free(requester->late);
    idle_wait_end(control, requester);
    event_wait_end(control, requester);
    agent_wait_end(control, requester);
    list_wait_end(control, requester);
    state_wait_end(control, requester);
    watchers_remove(control->watchers, (uint32_t)(requester - control->requesters));
    *requester = (struct requester){.client = 0};
}

static void job_event_fill(const struct job_fact *fact, duopoly_JobEvent *ret)
{
    const struct job_ending *ending = &fact->ending;
    ret->job = ending->job;
    ret->attempt = ending->attempt;
    wire_copy(ret->name, sizeof(ret->name), fact->job.name);
    wire_copy(ret->state, sizeof(ret->state), job_state_name(ending->state));
    wire_copy(ret->text, sizeof(ret->text), ending->reason);
    wire_copy(ret->host, sizeof(ret->host), ending->host);
    ret->submitted_ns = (uint64_t)fact->submitted_ns;
    ret->finished_ns = (uint64_t)fact->finished_ns;
    ret->slot_wait_ns = (uint64_t)fact->slot_wait_ns;
}

static void on_room(void *user, uint64_t client)
{
    const struct control *control = user;
    (void)client;
    watchers_room(control->watchers);
}

void control_job_over(void *user, const struct job_fact *fact)
{
    const struct control *control = user;
    duopoly_JobEvent event = duopoly_JobEvent_init_zero;
    job_event_fill(fact, &event);
    watchers_job_ended(control->watchers, &event);
}

static bool watcher_has_room(void *user, uint64_t client)
{
    const struct control *control = user;
    return client & REMOTE_BIT ? remote_has_room(control->remote, client)
                               : wire_unix_has_room(control->server, client);
}

static void watcher_send(void *user, uint64_t client, const duopoly_JobEvent *event)
{
    struct control *control = user;
    wire_begin(&control->event, duopoly_Envelope_job_event_tag)->body.job_event = *event;
    control->event.epoch = epoch_number(control->parts->epoch);
    control_send(control, client, &control->event);
}

static void watcher_missed(void *user, uint64_t client, uint64_t ends)
{
    const struct control *control = user;
    char asker[128];
    control_who(control, client, asker, sizeof(asker));
    log_of(asker, LOG_LEVEL_NOTE, LOG_FAULT_PEER,
           "%s: watches jobs and was behind by more than %d ends: %" PRIu64
           " of them are not told to it",
           asker, WATCHERS_ENDS, ends);
}

int control_open(sd_event *loop, const struct settings *settings, struct control **ret_control,
                 struct err *err)
{
    struct control *control = calloc(1, sizeof(*control));
    if (!control)
        return err_sys(err, ENOMEM, "%s", settings->socket);
    const struct wire_unix_handler handler = {.on_message = on_message,
                                              .on_close = on_close,
                                              .on_room = on_room,
                                              .user = control,
                                              .on_ready = client_turns_take};
    const struct watchers_hooks watching = {watcher_has_room, watcher_send, watcher_missed,
                                            control};
    const struct wire_unix_groups groups = {settings->group, settings->readers};
    STAILQ_INIT(&control->leaving);
    control->loop = loop;
    control->on_cared = on_cared;
    int r = portions_open(loop, on_portion, control, &control->portions, err);
    if (r == 0)
        r = watchers_open(loop, REQUESTERS, &watching, &control->watchers, err);
    if (r == 0)
        r = event_waits_open(control, err);
    if (r == 0)
        r = list_waits_open(control, err);
    if (r == 0)
        r = client_turns_open(control, settings, err);
    if (r == 0)
        r = wire_unix_listen(loop, settings->socket, &groups,
                             (uint64_t)settings->timers.client_idle_ns, &handler, &control->server,
                             err);
    if (r < 0) {
        client_turns_close(control);
        list_waits_close(control);
        event_waits_close(control);
        watchers_close(control->watchers);
        portions_close(control->portions);
        free(control);
        return r;
    }
    *ret_control = control;
    return 0;
}

int control_attach(struct control *control, struct conductor *conductor, struct agents_zmq *door)
{
    const struct remote_hooks hooks = {.send = agents_zmq_send,
                                       .cut = agents_zmq_cut,
                                       .send_user = door,
                                       .on_message = on_message,
                                       .on_close = on_close,
                                       .on_room = on_room,
                                       .on_ready = client_turns_take,
                                       .user = control};
    control->conductor = conductor;
    control->parts = conductor_parts(conductor);
    control->door = door;
    int r = remote_create(control->loop, &hooks, agents_zmq_most(door), &control->remote);
    agent_waits_open(control);
    if (r == 0)
        r = state_waits_open(control, NULL);
    if (r == 0)
        trial_open(&control->trial, control);
    return r;
}

void control_reload(struct control *control)
{
    config_reload_answer(control->conductor, &control->answer);
    if (control->answer.which_body == duopoly_Envelope_accepted_tag && !control->parts->judging)
        wire_unix_take_idle(control->server,
                            (uint64_t)control->parts->settings->timers.client_idle_ns);
}

void control_hangup(struct control *control, uint32_t process)
{
    const duopoly_Envelope *answer = &control->answer;
    char asker[64];
    struct err err;
    snprintf(asker, sizeof(asker), "SIGHUP of process %" PRIu32, process);
    if (store_refusal(control->parts->store, &err) < 0)
        refused_answer(&control->answer, duopoly_Reason_REASON_LIMIT, "%s", err.text);
    else
        control_reload(control);
    if (answer->which_body == duopoly_Envelope_accepted_tag)
        log_change("%s: config reload: %s", asker, answer->body.accepted.text);
    else
        log_warning(LOG_FAULT_CONFIGURATION, "%s: config reload: refused, %s", asker,
                    answer->body.refused.text);
    log_reopen((enum log_level)control->parts->settings->log_level);
    control_audit(control, asker, "config reload");
    conductor_commit(control->conductor);
}

void control_sources(const struct control *control, struct listing_sources *ret_sources)
{
    *ret_sources =
        (struct listing_sources){control->parts, control->door, wire_unix_counters(control->server),
                                 control->refused, &control->turns.shares};
}

void control_remote_message(void *user, uint64_t peer, const struct key_holder *who,
                            const duopoly_Envelope *envelope)
{
    const struct control *control = user;
    remote_message(control->remote, peer, who, envelope);
}

void control_remote_gone(void *user, uint64_t peer)
{
    const struct control *control = user;
    remote_gone(control->remote, peer);
}

void control_close(struct control *control)
{
    struct leaving *leaving;
    if (!control)
        return;
    trial_close(&control->trial);
    questions_done(&control->questions);
    state_dump_close(control->state_dump);
    wire_unix_close(control->server);
    remote_destroy(control->remote);
    client_turns_close(control);
    list_waits_close(control);
    event_waits_close(control);
    watchers_close(control->watchers);
    portions_close(control->portions);
    for (struct requester *requester = control->requesters;
         requester < control->requesters + REQUESTERS; requester++) {
        submission_free(&requester->submission);
        free(requester->late);
    }
    while ((leaving = STAILQ_FIRST(&control->leaving))) {
        STAILQ_REMOVE_HEAD(&control->leaving, link);
        submission_free(&leaving->submission);
        free(leaving);
    }
    free(control);
}
