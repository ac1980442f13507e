#include "controller/clients/control.h"

#include "controller/clients/audit_page.h"
#include "controller/clients/explanation.h"
#include "controller/clients/key_requests.h"
#include "controller/clients/listing.h"
#include "controller/clients/policy_requests.h"
#include "controller/clients/refusal.h"
#include "controller/clients/remote.h"
#include "controller/clients/stance_requests.h"
#include "controller/clients/status.h"
#include "controller/clients/submission.h"
#include "controller/clients/watchers.h"
#include "controller/portions.h"
#include "controller/stances_kept.h"
#include "lib/fnv1a.h"
#include "lib/log.h"
#include "lib/wire_unix.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* An answer that waits for the disk. */
struct held_answer {
    bool held;
    bool cared; /* it waits for the store's care instead; accepted.text: the copy's path */
    uint64_t ticket;
    uint64_t sequence;
    pb_size_t request;
    duopoly_Accepted accepted;
};

struct guest {
    uint64_t client; /* 0: free */
    struct submission submission;
    struct held_answer answer;
    /* A job's end that is prepared in portions, then taken; NULL: none. Owned. */
    duopoly_Envelope *late;
    bool behind; /* it is not read until the store has caught up */
};

/* What a client that has gone had prepared, to be cancelled one by one. */
struct leaving {
    STAILQ_ENTRY(leaving) link;
    struct submission submission;
};

#define GUESTS (UNIX_CLIENTS + REMOTE_CLIENTS)

struct control {
    sd_event *loop; /* borrowed */
    struct wire_unix *server;
    struct remote *remote;
    struct conductor *conductor;
    const struct conductor_parts *parts; /* the conductor's */
    struct agents_zmq *door;
    struct guest guests[GUESTS]; /* by the client's place, as in wire_unix.h, then in remote.h */
    uint64_t refused[WIRE_KINDS];
    struct watchers *watchers;
    struct portions *portions;
    STAILQ_HEAD(, leaving) leaving;
    uint64_t carer; /* the client that waits for the store's care */
    duopoly_Envelope answer, event;
};

static struct guest *place_of(struct control *control, uint64_t client)
{
    return &control->guests[client & REMOTE_BIT ? UNIX_CLIENTS + client % REMOTE_CLIENTS
                                                : client % UNIX_CLIENTS];
}

static struct guest *guest_of(struct control *control, uint64_t client)
{
    struct guest *guest = place_of(control, client);
    if (guest->client != client)
        *guest = (struct guest){.client = client};
    return guest;
}

/* Who a client is, in words, and what he may. */
static enum role client_say(const struct control *control, uint64_t client, char *text, size_t size)
{
    static const enum role roles[] = {[UNIX_STRANGER] = ROLE_NOBODY,
                                      [UNIX_READER] = ROLE_READER,
                                      [UNIX_MEMBER] = ROLE_OPERATOR,
                                      [UNIX_ROOT] = ROLE_ADMIN};
    const struct key_holder *who = remote_who(control->remote, client);
    struct wire_unix_peer peer = {0};
    if (who) {
        snprintf(text, size, "key of %s (%s)", who->name, role_name(who->role));
        return who->role;
    }
    if (wire_unix_peer(control->server, client, &peer) < 0)
        snprintf(text, size, "a client that has gone");
    else
        snprintf(text, size, "%suid %" PRIu32 " (process %" PRId32 ")", peer.uid ? "" : "root, ",
                 peer.uid, peer.pid);
    return roles[peer.standing];
}

/* The same as a number: of a key, or of a user of this machine. */
static uint64_t submitter_of(const struct control *control, uint64_t client)
{
    const struct key_holder *who = remote_who(control->remote, client);
    struct wire_unix_peer peer = {0};
    if (who)
        return fnv1a(FNV1A_NOTHING, who->name, strlen(who->name)) | UINT64_C(1) << 63;
    return wire_unix_peer(control->server, client, &peer) < 0 ? 1 : UINT64_C(2) + peer.uid;
}

static int client_send(struct control *control, uint64_t client, const duopoly_Envelope *envelope)
{
    return client & REMOTE_BIT ? remote_send(control->remote, client, envelope)
                               : wire_unix_send(control->server, client, envelope);
}

static void client_hold(struct control *control, uint64_t client, bool hold)
{
    if (client & REMOTE_BIT)
        remote_hold(control->remote, client, hold);
    else
        wire_unix_hold(control->server, client, hold);
}

/* Who, what, and what came of it: the answer. */
static void change_audit(const struct control *control, const char *asker, const char *what)
{
    const duopoly_Envelope *answer = &control->answer;
    bool taken = answer->which_body == duopoly_Envelope_accepted_tag;
    char result[300], clean[256];
    fact_words(taken ? answer->body.accepted.text : answer->body.refused.text, clean,
               sizeof(clean));
    snprintf(result, sizeof(result), "%s%s", taken ? "" : "refused, ", clean);
    store_audit(control->parts->store, asker, what, result);
}

/* One line in the log and one of the audit for each request that is to change something. */
__attribute__((format(printf, 3, 4))) static void
change_log(const struct control *control, uint64_t client, const char *format, ...)
{
    const duopoly_Envelope *answer = &control->answer;
    bool taken = answer->which_body == duopoly_Envelope_accepted_tag;
    char asker[128], words[192], what[192];
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof(words), format, ap);
    va_end(ap);
    fact_words(words, what, sizeof(what));
    client_say(control, client, asker, sizeof(asker));
    if (taken)
        log_change("%s: %s: %s", asker, what, answer->body.accepted.text);
    else
        log_of(asker, LOG_LEVEL_NOTE, LOG_FAULT_NONE, "%s: %s: refused, %s", asker, what,
               answer->body.refused.text);
    change_audit(control, asker, what);
}

/* Only what ends a submission, well or not: parts that were taken change nothing yet. */
static void submission_audit(const struct control *control, const struct guest *guest,
                             pb_size_t request)
{
    const struct submission *submission = &guest->submission;
    char asker[128], what[192];
    struct job_view job;
    bool ends = control->answer.which_body != duopoly_Envelope_submit_credit_tag &&
                (request != duopoly_Envelope_submit_prepare_tag ||
                 control->answer.which_body == duopoly_Envelope_refused_tag);
    if (!ends)
        return;
    client_say(control, guest->client, asker, sizeof(asker));
    bool begun = request == duopoly_Envelope_submit_commit_tag &&
                 engine_job(control->parts->engine, submission->job, &job) == 0;
    int n = snprintf(what, sizeof(what), "submit %s as job %" PRIu64,
                     begun ? job.name : submission->name, submission->job);
    if (begun && submission->last > 1)
        snprintf(what + n, sizeof(what) - (size_t)n, " and %" PRIu32 " before it",
                 submission->last - 1);
    change_audit(control, asker, what);
}

static void cancel_answer(struct control *control, uint64_t client, uint64_t job)
{
    struct decision rejection;
    char asker[128];
    client_say(control, client, asker, sizeof(asker));
    if (conductor_cancel(control->conductor, job, asker, &rejection) < 0) {
        rejection_answer(control->parts, &rejection, job, &control->answer);
        change_log(control, client, "cancel %" PRIu64, job);
        return;
    }
    char what[32];
    snprintf(what, sizeof(what), "cancel %" PRIu64, job);
    accepted_answer(&control->answer, "job %" PRIu64 " is cancelled", job);
    control->answer.body.accepted.job = job;
    /* The job's end says in the log by whom. */
    change_audit(control, asker, what);
}

static void drain_try(struct control *control, const duopoly_DrainHost *drain)
{
    struct event event = {.kind = EVENT_HOST_DRAIN};
    struct decision rejection;
    struct agent_view agent;
    if (agents_named(control->parts->agents, drain->name, &agent) < 0) {
        refused_answer(&control->answer, duopoly_Reason_REASON_UNKNOWN, "there is no host %s",
                       drain->name);
        return;
    }
    if (agent.is_switch) {
        refused_answer(&control->answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "%s is a switch: nothing starts there", drain->name);
        return;
    }
    event.host_drain.host = agent.host;
    event.host_drain.undo = drain->undo;
    if (conductor_request(control->conductor, &event, &rejection) < 0) {
        rejection_answer(control->parts, &rejection, 0, &control->answer);
        return;
    }
    store_set(control->parts->store, "drain", drain->name, drain->undo ? NULL : "yes");
    accepted_answer(&control->answer,
                    drain->undo ? "host %s takes tasks again" : "host %s gets no new tasks",
                    drain->name);
}

static void drain_answer(struct control *control, uint64_t client, const duopoly_DrainHost *drain)
{
    drain_try(control, drain);
    change_log(control, client, "drain %s%s", drain->name, drain->undo ? " --undo" : "");
}

static void stance_answer(struct control *control, uint64_t client, const duopoly_SetStance *set)
{
    char what[192];
    stance_set_answer(control->parts, set, what, sizeof(what), &control->answer);
    change_log(control, client, "%s", what);
}

static void forget_answer(struct control *control, uint64_t client, const char *name)
{
    int r = conductor_forget_host(control->conductor, name);
    if (r == -ENOENT)
        refused_answer(&control->answer, duopoly_Reason_REASON_UNKNOWN, "there is no host %s",
                       name);
    else if (r < 0)
        refused_answer(&control->answer, duopoly_Reason_REASON_STATE,
                       "host %s is up: stop its agent first, and this when it is silent", name);
    else
        accepted_answer(&control->answer,
                        "%s is forgotten; if its agent comes back it is a new host", name);
    change_log(control, client, "host forget %s", name);
}

static void policy_answer(struct control *control, uint64_t client, const duopoly_SetPolicy *set)
{
    policy_set_answer(control->conductor, set, &control->answer);
    change_log(control, client, "policy %s %s", set->question, set->name);
}

static void watch_answer(struct control *control, struct guest *guest, uint64_t job)
{
    struct job_view view;
    const struct engine *engine = control->parts->engine;
    /* Its end would never be told. */
    if (job && (engine_job(engine, job, &view) < 0 || view.state > JOB_ACTIVE)) {
        absent_job_answer(control->parts, job, &control->answer);
        return;
    }
    watchers_add(control->watchers, (uint32_t)(guest - control->guests), guest->client, job);
    wire_unix_watch(control->server, guest->client); /* others say that they are there */
    if (job)
        accepted_answer(&control->answer, "the end of job %" PRIu64 " will be told", job);
    else
        accepted_answer(&control->answer, "the end of every job will be told");
}

static void on_cared(void *user, const struct err *err, uint64_t rows);

/* It is answered when it is done: `held` until then. */
static void care_answer(struct control *control, struct guest *guest, const duopoly_StoreCare *care)
{
    const char *state = control->parts->settings->state;
    char path[sizeof(care->path) + sizeof(control->parts->settings->state)];
    const char *to = !*care->path ? NULL : *care->path == '/' ? care->path : path;
    struct err err;
    int r = 0;
    snprintf(path, sizeof(path), "%s/%s", state, care->path);
    if (*care->path != '/' && strchr(care->path, '/'))
        r = err_set(&err, EINVAL, "%s is neither a path from / on nor a name in %s", care->path,
                    state);
    if (r == 0)
        r = store_care(control->parts->store, to, on_cared, control, &err);
    if (r < 0) {
        refused_answer(&control->answer, duopoly_Reason_REASON_STATE, "%s", err.text);
        return;
    }
    control->carer = guest->client;
    guest->answer = (struct held_answer){
        .held = true, .cared = true, .request = duopoly_Envelope_store_care_tag};
    wire_copy(guest->answer.accepted.text, sizeof(guest->answer.accepted.text), to ? to : "");
    client_hold(control, guest->client, true);
}

/* The first and how many, as names that are made together have a name in common. */
static void keys_log(const struct control *control, uint64_t client, const char *what,
                     const duopoly_KeyEntry *keys, pb_size_t n)
{
    if (n > 1)
        change_log(control, client, "%s %s to %s (%u)", what, keys[0].name, keys[n - 1].name, n);
    else
        change_log(control, client, "%s %s", what, n ? keys[0].name : "nobody");
}

/* One of a stream that began with another request, which was judged like this one. */
static bool follows_another(pb_size_t kind)
{
    return kind > duopoly_Envelope_submit_begin_tag && kind <= duopoly_Envelope_submit_end_tag;
}

/* What his role does not let him do: refused before it is looked at. */
static bool role_refuses(struct control *control, uint64_t client, pb_size_t kind)
{
    char asker[128];
    enum role role = client_say(control, client, asker, sizeof(asker));
    if (role_may_send(role, kind) || strcmp(wire_kind_name(kind), "unknown") == 0 ||
        role_may_send(ROLE_AGENT, kind) || role_may_send(ROLE_CONTROLLER, kind))
        return false; /* what is no request is refused as such */
    refused_answer(&control->answer, duopoly_Reason_REASON_PERMISSION,
                   "'%s' takes another role than %s", wire_kind_name(kind), role_name(role));
    if (!follows_another(kind))
        change_log(control, client, "%s", wire_kind_name(kind));
    return true;
}

static void request_answer(struct control *control, struct guest *guest,
                           const duopoly_Envelope *request)
{
    const struct listing_sources sources = {control->parts, control->door,
                                            wire_unix_counters(control->server), control->refused};
    switch (request->which_body) {
    case duopoly_Envelope_submit_begin_tag:
    case duopoly_Envelope_submit_stage_tag:
    case duopoly_Envelope_submit_tasks_tag:
    case duopoly_Envelope_submit_bytes_tag:
    case duopoly_Envelope_submit_end_tag:
    case duopoly_Envelope_submit_prepare_tag:
        guest->submission.submitter = submitter_of(control, guest->client);
        submission_part(&guest->submission, control->conductor, request, &control->answer);
        submission_audit(control, guest, request->which_body);
        break;
    case duopoly_Envelope_submit_commit_tag:
        submission_commit(&guest->submission, control->conductor, request->body.submit_commit.most,
                          &control->answer);
        submission_audit(control, guest, request->which_body);
        break;
    case duopoly_Envelope_cancel_job_tag:
        cancel_answer(control, guest->client, request->body.cancel_job.job);
        break;
    case duopoly_Envelope_drain_host_tag:
        drain_answer(control, guest->client, &request->body.drain_host);
        break;
    case duopoly_Envelope_forget_host_tag:
        forget_answer(control, guest->client, request->body.forget_host.name);
        break;
    case duopoly_Envelope_set_stance_tag:
        stance_answer(control, guest->client, &request->body.set_stance);
        break;
    case duopoly_Envelope_set_policy_tag:
        policy_answer(control, guest->client, &request->body.set_policy);
        break;
    case duopoly_Envelope_list_tag:
        listing_page(&sources, &request->body.list, &control->answer);
        break;
    case duopoly_Envelope_explain_tag:
        explanation_answer(control->parts, &request->body.explain, &control->answer);
        break;
    case duopoly_Envelope_get_status_tag:
        status_answer(control->parts, &control->answer);
        break;
    case duopoly_Envelope_get_audit_tag:
        audit_answer(control->parts->store, request->body.get_audit.after, &control->answer);
        break;
    case duopoly_Envelope_store_care_tag:
        care_answer(control, guest, &request->body.store_care);
        break;
    case duopoly_Envelope_key_set_tag:
        key_set_answer(control->door, &request->body.key_set, &control->answer);
        keys_log(control, guest->client, request->body.key_set.rotate ? "keys rotate" : "keys make",
                 request->body.key_set.keys, request->body.key_set.keys_count);
        break;
    case duopoly_Envelope_key_revoke_tag:
        key_revoke_answer(control->door, &request->body.key_revoke, &control->answer);
        keys_log(control, guest->client, "keys revoke", request->body.key_revoke.keys,
                 request->body.key_revoke.keys_count);
        break;
    case duopoly_Envelope_rotate_controller_tag:
        rotate_controller_answer(control->door, &request->body.rotate_controller, &control->answer);
        change_log(control, guest->client, "keys rotate controller");
        break;
    case duopoly_Envelope_get_controller_keys_tag:
        controller_keys_answer(control->door, &control->answer);
        break;
    case duopoly_Envelope_watch_tag:
        watch_answer(control, guest, request->body.watch.job);
        break;
    default:
        refused_answer(&control->answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "clients cannot ask with a message of kind '%s'",
                       wire_kind_name(request->which_body));
    }
}

/* A stance that has to be confirmed is a trial, and not kept. */
static bool is_kept(const duopoly_Envelope *request)
{
    return request_changes(request->which_body) ||
           (request->which_body == duopoly_Envelope_set_stance_tag &&
            !request->body.set_stance.confirm_s);
}

/* While the store cannot be written nothing new is taken; who asked is kept when it can. Stances are
 * taken all the same: the emergency stop is one. */
static bool store_refuses(struct control *control, uint64_t client, pb_size_t kind)
{
    struct err err;
    if (!request_changes(kind) || store_refusal(control->parts->store, &err) == 0)
        return false;
    refused_answer(&control->answer, duopoly_Reason_REASON_LIMIT, "%s", err.text);
    change_log(control, client, "%s", wire_kind_name(kind));
    return true;
}

static void answer_send(struct control *control, uint64_t client, uint64_t sequence,
                        pb_size_t request)
{
    if (control->answer.which_body == duopoly_Envelope_refused_tag) {
        control->refused[request % WIRE_KINDS]++;
        control->answer.body.refused.sequence = sequence;
    }
    control->answer.epoch = epoch_number(control->parts->epoch);
    client_send(control, client, &control->answer);
}

/* Hands over what the request put; whether its answer has to wait for the disk. */
static bool answer_hold(struct control *control, struct guest *guest,
                        const duopoly_Envelope *request)
{
    uint64_t ticket = conductor_commit(control->conductor);
    duopoly_Accepted *accepted = &control->answer.body.accepted;
    struct err err;
    if (!is_kept(request) || control->answer.which_body != duopoly_Envelope_accepted_tag)
        return false;
    if (!request_changes(request->which_body) && store_refusal(control->parts->store, &err) < 0) {
        size_t used = strlen(accepted->text);
        snprintf(accepted->text + used, sizeof(accepted->text) - used,
                 ", but a restart may undo it: %.120s", err.text);
        return false;
    }
    accepted->durable = true;
    if (store_settled(control->parts->store, ticket))
        return false;
    guest->answer = (struct held_answer){.held = true,
                                         .ticket = ticket,
                                         .sequence = request->sequence,
                                         .request = request->which_body,
                                         .accepted = *accepted};
    client_hold(control, guest->client, true);
    return true;
}

/* The disk does not take it. */
static void held_refuse(struct control *control, struct guest *guest, const struct err *why)
{
    bool submitted = guest->answer.request == duopoly_Envelope_submit_end_tag ||
                     guest->answer.request == duopoly_Envelope_submit_commit_tag;
    if (submitted)
        submission_undo(&guest->submission, control->conductor);
    refused_answer(&control->answer, duopoly_Reason_REASON_LIMIT,
                   submitted ? "%.150s: nothing was begun"
                             : "%.150s: it is in force, but a restart may undo it",
                   why->text);
    conductor_commit(control->conductor);
}

static void held_look(struct control *control, struct guest *guest, const struct err *failure)
{
    struct held_answer *answer = &guest->answer;
    if (store_settled(control->parts->store, answer->ticket))
        wire_begin(&control->answer, duopoly_Envelope_accepted_tag)->body.accepted =
            answer->accepted;
    else if (failure)
        held_refuse(control, guest, failure);
    else
        return;
    answer->held = false;
    answer_send(control, guest->client, answer->sequence, answer->request);
    client_hold(control, guest->client, false);
}

/* Who submits faster than the disk takes it waits, and is not refused. */
static void behind_look(struct control *control, struct guest *guest, bool failed)
{
    bool behind = !failed && store_is_behind(control->parts->store);
    if (behind == guest->behind)
        return;
    guest->behind = behind;
    client_hold(control, guest->client, behind);
}

void control_stored(void *user)
{
    struct control *control = user;
    struct err err;
    bool failed = store_failure(control->parts->store, &err) < 0;
    for (struct guest *guest = control->guests; guest < control->guests + GUESTS; guest++)
        if (guest->client && guest->answer.held && !guest->answer.cared)
            held_look(control, guest, failed ? &err : NULL);
        else if (guest->behind)
            behind_look(control, guest, failed);
}

static void on_cared(void *user, const struct err *err, uint64_t rows)
{
    struct control *control = user;
    struct guest *guest = place_of(control, control->carer);
    struct held_answer *answer = &guest->answer;
    if (guest->client != control->carer || !answer->cared)
        return;
    if (err->code)
        refused_answer(&control->answer, duopoly_Reason_REASON_STATE, "%s", err->text);
    else if (*answer->accepted.text)
        accepted_answer(&control->answer, "%s is a copy of the store: %" PRIu64 " rows, all sound",
                        answer->accepted.text, rows);
    else
        accepted_answer(&control->answer, "all %" PRIu64 " rows of the store are sound", rows);
    change_log(control, guest->client, "store %s %s", *answer->accepted.text ? "backup" : "check",
               answer->accepted.text);
    conductor_commit(control->conductor);
    answer_send(control, guest->client, 0, answer->request);
    *answer = (struct held_answer){.held = false};
    client_hold(control, guest->client, false);
}

static void message_take(struct control *control, struct guest *guest,
                         const duopoly_Envelope *request)
{
    const uint64_t client = guest->client;
    struct err err;
    if (request->version < WIRE_VERSION_MIN || request->version > WIRE_VERSION_MAX)
        refused_answer(&control->answer, duopoly_Reason_REASON_VERSION,
                       "this controller speaks version %d, not %" PRIu32, WIRE_VERSION_MAX,
                       request->version);
    else if (!role_refuses(control, client, request->which_body) &&
             !store_refuses(control, client, request->which_body))
        request_answer(control, guest, request);
    if (!guest->answer.held && !answer_hold(control, guest, request))
        answer_send(control, client, request->sequence, request->which_body);
    if (guest->client == client && guest->submission.open)
        behind_look(control, guest, store_failure(control->parts->store, &err) < 0);
}

/* The end of a large job: what it would have to do at once is done in portions, while nothing more is read of
 * its client. */
static bool late_begin(struct control *control, struct guest *guest,
                       const duopoly_Envelope *request)
{
    bool ends = request->which_body == duopoly_Envelope_submit_end_tag ||
                request->which_body == duopoly_Envelope_submit_prepare_tag;
    if (!ends || !submission_prepare(&guest->submission, control->conductor) ||
        !(guest->late = malloc(sizeof(*request))))
        return false;
    *guest->late = *request;
    client_hold(control, guest->client, true);
    portions_begin(control->portions);
    return true;
}

static void late_end(struct control *control, struct guest *guest)
{
    const uint64_t client = guest->client;
    duopoly_Envelope *request = guest->late;
    guest->late = NULL;
    message_take(control, guest, request);
    free(request);
    if (guest->client == client && !guest->answer.held && !guest->behind)
        client_hold(control, client, false);
}

static void on_message(void *user, uint64_t client, const duopoly_Envelope *request)
{
    struct control *control = user;
    struct guest *guest = guest_of(control, client);
    if (!late_begin(control, guest, request))
        message_take(control, guest, request);
}

/* One portion for everybody who waits for one. */
static bool on_portion(void *user)
{
    struct control *control = user;
    struct leaving *leaving = STAILQ_FIRST(&control->leaving);
    bool more = false;
    for (struct guest *guest = control->guests; guest < control->guests + GUESTS; guest++) {
        if (!guest->late)
            continue;
        more = true;
        if (!submission_prepare(&guest->submission, control->conductor))
            late_end(control, guest);
    }
    if (leaving && !submission_close(&leaving->submission, control->conductor)) {
        STAILQ_REMOVE_HEAD(&control->leaving, link);
        free(leaving);
    }
    return more || leaving;
}

static void on_close(void *user, uint64_t client)
{
    struct control *control = user;
    struct guest *guest = guest_of(control, client);
    bool more = submission_close(&guest->submission, control->conductor);
    struct leaving *leaving = more ? malloc(sizeof(*leaving)) : NULL;
    if (leaving) {
        leaving->submission = guest->submission;
        STAILQ_INSERT_TAIL(&control->leaving, leaving, link);
        portions_begin(control->portions);
    } else if (more) {
        while (submission_close(&guest->submission, control->conductor))
            ;
    }
    free(guest->late);
    watchers_remove(control->watchers, (uint32_t)(guest - control->guests));
    *guest = (struct guest){.client = 0};
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
    client_send(control, client, &control->event);
}

static void watcher_missed(void *user, uint64_t client, uint64_t ends)
{
    const struct control *control = user;
    char asker[128];
    client_say(control, client, asker, sizeof(asker));
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
    const struct wire_unix_handler handler = {
        .on_message = on_message, .on_close = on_close, .on_room = on_room, .user = control};
    const struct watchers_hooks watching = {watcher_has_room, watcher_send, watcher_missed,
                                            control};
    const struct wire_unix_groups groups = {settings->group, settings->readers};
    STAILQ_INIT(&control->leaving);
    control->loop = loop;
    int r = portions_open(loop, on_portion, control, &control->portions, err);
    if (r == 0)
        r = watchers_open(loop, GUESTS, &watching, &control->watchers, err);
    if (r == 0)
        r = wire_unix_listen(loop, settings->socket, &groups,
                             (uint64_t)settings->timers.client_idle_ns, &handler, &control->server,
                             err);
    if (r < 0) {
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
                                       .user = control};
    control->conductor = conductor;
    control->parts = conductor_parts(conductor);
    control->door = door;
    return remote_create(control->loop, &hooks, agents_zmq_most(door), &control->remote);
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
    wire_unix_close(control->server);
    remote_destroy(control->remote);
    watchers_close(control->watchers);
    portions_close(control->portions);
    for (struct guest *guest = control->guests; guest < control->guests + GUESTS; guest++) {
        submission_free(&guest->submission);
        free(guest->late);
    }
    while ((leaving = STAILQ_FIRST(&control->leaving))) {
        STAILQ_REMOVE_HEAD(&control->leaving, link);
        submission_free(&leaving->submission);
        free(leaving);
    }
    free(control);
}
