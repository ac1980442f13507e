#include "controller/clients/absent_host.h"
#include "controller/clients/audit_page.h"
#include "controller/clients/config_requests.h"
#include "controller/clients/control_shared.h"
#include "controller/clients/drain_requests.h"
#include "controller/clients/explanation.h"
#include "controller/clients/explanation_thing.h"
#include "controller/clients/if_version.h"
#include "controller/clients/job_requests.h"
#include "controller/clients/key_requests.h"
#include "controller/clients/policy_requests.h"
#include "controller/clients/refusal.h"
#include "controller/clients/stance_requests.h"
#include "controller/clients/status.h"
#include "controller/clients/user_requests.h"
#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Only the end of a submission, accepted or not: its parts change nothing yet. */
static void submission_audit(const struct control *control, const struct requester *requester,
                             pb_size_t request)
{
    const struct submission *submission = &requester->submission;
    char asker[128], what[192];
    struct job_view job;
    bool ends = control->answer.which_body != duopoly_Envelope_submit_credit_tag &&
                (request != duopoly_Envelope_submit_prepare_tag ||
                 control->answer.which_body == duopoly_Envelope_refused_tag);
    if (!ends)
        return;
    control_who(control, requester->client, asker, sizeof(asker));
    bool begun = request == duopoly_Envelope_submit_commit_tag &&
                 engine_job(control->parts->engine, submission->job, &job) == 0;
    int n = snprintf(what, sizeof(what), "submit %s as job %" PRIu64,
                     begun ? job.name : submission->name, submission->job);
    if (begun && submission->last > 1)
        snprintf(what + n, sizeof(what) - (size_t)n, " and %" PRIu32 " before it",
                 submission->last - 1);
    control_audit(control, asker, what);
}

static void part_take(struct control *control, struct requester *requester,
                      const duopoly_Envelope *request)
{
    requester->submission.submitter = control_who_number(control, requester->client);
    submission_part(&requester->submission, control->conductor, request, &control->answer);
    submission_audit(control, requester, request->which_body);
}

static void commit_answer(struct control *control, struct requester *requester,
                          const duopoly_Envelope *request)
{
    submission_commit(&requester->submission, control->conductor, request, &control->answer);
    submission_audit(control, requester, request->which_body);
}

static void cancel_answer(struct control *control, struct requester *requester,
                          const duopoly_Envelope *request)
{
    const uint64_t client = requester->client, job = request->body.cancel_job.job;
    struct decision rejection;
    char asker[128];
    control_who(control, client, asker, sizeof(asker));
    if (conductor_cancel(control->conductor, job, asker, &rejection) < 0) {
        rejection_answer(control->parts, &rejection, job, &control->answer);
        control_log(control, client, "cancel %" PRIu64, job);
        return;
    }
    char what[32];
    snprintf(what, sizeof(what), "cancel %" PRIu64, job);
    accepted_answer(&control->answer, "job %" PRIu64 " is cancelled", job);
    control->answer.body.accepted.job = job;
    /* The log has the client with the job's end. */
    control_audit(control, asker, what);
}

static void order_answer(struct control *control, struct requester *requester,
                         const duopoly_Envelope *request)
{
    const duopoly_OrderJob *order = &request->body.order_job;
    char asker[64], what[64];
    control_who_short(control, requester->client, asker, sizeof(asker));
    order_job_answer(control->conductor, order, asker, what, sizeof(what), &control->answer);
    control_log(control, requester->client, "%s", what);
}

static void drain_answer(struct control *control, struct requester *requester,
                         const duopoly_Envelope *request)
{
    const duopoly_DrainHost *drain = &request->body.drain_host;
    drain_set_answer(control->conductor, drain, &control->answer);
    control_log(control, requester->client, "drain %s%s%s", *drain->rack ? "--rack " : "",
                *drain->rack ? drain->rack : drain->name, drain->undo ? " --undo" : "");
}

static void stance_answer(struct control *control, struct requester *requester,
                          const duopoly_Envelope *request)
{
    char what[192];
    stance_set_answer(control->parts, &request->body.set_stance, what, sizeof(what),
                      &control->answer);
    control_log(control, requester->client, "%s", what);
}

static void forget_answer(struct control *control, struct requester *requester,
                          const duopoly_Envelope *request)
{
    const char *name = request->body.forget_host.name;
    int r = conductor_forget_host(control->conductor, name);
    if (r == -ENOENT)
        absent_host_answer(control->parts->agents, ABSENT_EITHER, name, &control->answer);
    else if (r < 0)
        refused_answer(&control->answer, duopoly_Reason_REASON_STATE,
                       "host %s is up: stop its agent first, and this when it is silent", name);
    else
        accepted_answer(&control->answer,
                        "%s is forgotten; if its agent comes back it is a new host", name);
    control_log(control, requester->client, "host forget %s", name);
}

static void policy_answer(struct control *control, struct requester *requester,
                          const duopoly_Envelope *request)
{
    const duopoly_SetPolicy *set = &request->body.set_policy;
    char values[160] = "";
    for (pb_size_t i = 0; i < set->parameters_count; i++) {
        size_t used = strlen(values);
        snprintf(values + used, sizeof(values) - used, " %s=%s", set->parameters[i].word,
                 set->parameters[i].value);
    }
    policy_set_answer(control->conductor, set, &control->answer);
    control_log(control, requester->client, "policy %s %s%s", set->question, set->name, values);
}

static void user_answer(struct control *control, struct requester *requester,
                        const duopoly_Envelope *request)
{
    const duopoly_SetUser *set = &request->body.set_user;
    user_set_answer(control->conductor, set, &control->answer);
    if (set->leave)
        control_log(control, requester->client, "user leave %s", set->name);
    else if (set->has_share)
        control_log(control, requester->client, "user set %s share=%" PRIu32, set->name,
                    set->share);
    else
        control_log(control, requester->client, "user set %s", set->name);
}

static void log_level_answer(struct control *control, struct requester *requester,
                             const duopoly_Envelope *request)
{
    const char *word = request->body.set_log_level.level;
    const bool back = strcmp(word, "configured") == 0;
    int level = 0;
    while (log_levels[level] && strcmp(log_levels[level], word) != 0)
        level++;
    if (back)
        accepted_answer(&control->answer, "the log has what the configuration says");
    else if (!log_levels[level])
        refused_answer(&control->answer, duopoly_Reason_REASON_MALFORMED,
                       "there is no level '%s'; there are: error, warning, note, debug, configured",
                       word);
    else
        accepted_answer(&control->answer,
                        "the log has %s lines and more urgent ones until the "
                        "controller restarts",
                        word);
    control_log(control, requester->client, "log level %s", word);
    if (request->dry_run)
        return;
    if (back)
        log_everything(false);
    else if (log_levels[level])
        log_level_set((enum log_level)level);
}

static void reload_answer(struct control *control, struct requester *requester,
                          const duopoly_Envelope *request)
{
    (void)request;
    control_reload(control);
    control_log(control, requester->client, "config reload");
    log_reopen((enum log_level)control->parts->settings->log_level);
}

static void watch_answer(struct control *control, struct requester *requester,
                         const duopoly_Envelope *request)
{
    const uint64_t job = request->body.watch.job;
    struct job_view view;
    const struct engine *engine = control->parts->engine;
    /* Its end would never be reported. */
    if (job && (engine_job(engine, job, &view) < 0 || view.state > JOB_ACTIVE)) {
        absent_job_answer(control->parts, job, &control->answer);
        return;
    }
    watchers_add(control->watchers, (uint32_t)(requester - control->requesters), requester->client,
                 job);
    wire_unix_watch(control->server, requester->client); /* others report that they are there */
    if (job)
        accepted_answer(&control->answer, "the end of job %" PRIu64 " will be told", job);
    else
        accepted_answer(&control->answer, "the end of every job will be told");
}

static void events_fill(struct control *control, struct requester *requester,
                        const duopoly_Envelope *request)
{
    events_answer(control, requester, &request->body.get_events);
}

static void await_answer(struct control *control, struct requester *requester,
                         const duopoly_Envelope *request)
{
    idle_wait_begin(control, requester, &request->body.await_idle);
}

/* Answered when done; `held` until then. */
static void care_answer(struct control *control, struct requester *requester,
                        const duopoly_Envelope *request)
{
    const duopoly_StoreCare *care = &request->body.store_care;
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
        r = request->dry_run
                ? store_may_care(control->parts->store, to, &err)
                : store_care(control->parts->store, to, control->on_cared, control, &err);
    if (r < 0) {
        refused_answer(&control->answer, duopoly_Reason_REASON_STATE, "%s", err.text);
        return;
    }
    if (request->dry_run) {
        accepted_answer(&control->answer, "the store is %s%s", to ? "copied to " : "checked",
                        to ? to : "");
        return;
    }
    control->carer = requester->client;
    requester->answer = (struct held_answer){
        .held = true, .cared = true, .request = duopoly_Envelope_store_care_tag};
    wire_copy(requester->answer.accepted.text, sizeof(requester->answer.accepted.text),
              to ? to : "");
    control_hold(control, requester->client, HOLD_ANSWER);
}

/* The first one and their number, since names that are made together share a prefix. */
static void keys_log(struct control *control, uint64_t client, const char *what,
                     const duopoly_KeyEntry *keys, pb_size_t n)
{
    if (n > 1)
        control_log(control, client, "%s %s to %s (%u)", what, keys[0].name, keys[n - 1].name, n);
    else
        control_log(control, client, "%s %s", what, n ? keys[0].name : "nobody");
}

static void keys_set(struct control *control, struct requester *requester,
                     const duopoly_Envelope *request)
{
    const duopoly_KeySet *set = &request->body.key_set;
    key_set_answer(control->door, set, request->dry_run, &control->answer);
    keys_log(control, requester->client, set->rotate ? "keys rotate" : "keys make", set->keys,
             set->keys_count);
}

static void keys_revoke(struct control *control, struct requester *requester,
                        const duopoly_Envelope *request)
{
    const duopoly_KeyRevoke *revoke = &request->body.key_revoke;
    key_revoke_answer(control->door, revoke, request->dry_run, &control->answer);
    keys_log(control, requester->client, "keys revoke", revoke->keys, revoke->keys_count);
}

static void keys_rotate(struct control *control, struct requester *requester,
                        const duopoly_Envelope *request)
{
    rotate_controller_answer(control->door, &request->body.rotate_controller, request->dry_run,
                             &control->answer);
    control_log(control, requester->client, "keys rotate controller");
}

static void list_fill(struct control *control, struct requester *requester,
                      const duopoly_Envelope *request)
{
    if (agent_wait_asks(request->body.list.of))
        agent_wait_begin(control, requester, request);
    else
        list_wait_begin(control, requester, request);
}

static void explanation_fill(struct control *control, struct requester *requester,
                             const duopoly_Envelope *request)
{
    (void)requester;
    explanation_answer(control->parts, &request->body.explain, &control->answer);
}

static void thing_fill(struct control *control, struct requester *requester,
                       const duopoly_Envelope *request)
{
    (void)requester;
    explanation_thing(control->parts, &request->body.explain_thing, &control->answer);
}

static void status_fill(struct control *control, struct requester *requester,
                        const duopoly_Envelope *request)
{
    (void)requester, (void)request;
    status_answer(control->parts, &control->answer);
}

static void audit_fill(struct control *control, struct requester *requester,
                       const duopoly_Envelope *request)
{
    (void)requester;
    audit_answer(control->parts->store, &request->body.get_audit, &control->answer);
}

static void controller_keys_fill(struct control *control, struct requester *requester,
                                 const duopoly_Envelope *request)
{
    (void)requester, (void)request;
    controller_keys_answer(control->door, &control->answer);
}

#define ADMIN   ROLE_BIT(ROLE_ADMIN)
#define OPERATE (ROLE_BIT(ROLE_OPERATOR) | ADMIN)
#define WORK    (ROLE_BIT(ROLE_SCHEDULER) | OPERATE)
#define READ    (ROLE_BIT(ROLE_READER) | WORK)

/* What must last. */
#define CHANGE     .lasts = true, .judged = true
#define SUBMISSION .lasts = true, .submits = true

/* The requests of clients, and the roles that may send each. */
static const struct {
    void (*answer)(struct control *control, struct requester *requester,
                   const duopoly_Envelope *request);
    uint8_t roles;
    bool lasts;   /* changes something lasting */
    bool part;    /* continues an earlier request, which was checked like this one */
    bool judged;  /* takes a dry run, in which conductor_judge_only holds, */
    bool submits; /* or which the submission itself takes: a job's parts must come to be judged */
} requests[WIRE_KINDS] = {
    [WIRE_KIND(await_idle)] = {.answer = await_answer, .roles = READ},
    [WIRE_KIND(explain)] = {.answer = explanation_fill, .roles = READ},
    [WIRE_KIND(explain_thing)] = {.answer = thing_fill, .roles = READ},
    [WIRE_KIND(get_audit)] = {.answer = audit_fill, .roles = READ},
    [WIRE_KIND(get_controller_keys)] = {.answer = controller_keys_fill, .roles = READ},
    [WIRE_KIND(get_events)] = {.answer = events_fill, .roles = READ},
    [WIRE_KIND(get_state)] = {.answer = state_wait_begin, .roles = READ},
    [WIRE_KIND(get_status)] = {.answer = status_fill, .roles = READ},
    [WIRE_KIND(list)] = {.answer = list_fill, .roles = READ},
    [WIRE_KIND(watch)] = {.answer = watch_answer, .roles = READ},

    [WIRE_KIND(cancel_job)] = {.answer = cancel_answer, .roles = WORK, CHANGE},
    [WIRE_KIND(submit_begin)] = {.answer = part_take, .roles = WORK, SUBMISSION},
    [WIRE_KIND(submit_bytes)] = {.answer = part_take, .roles = WORK, .part = true, SUBMISSION},
    [WIRE_KIND(submit_commit)] = {.answer = commit_answer, .roles = WORK, SUBMISSION},
    [WIRE_KIND(submit_end)] = {.answer = part_take, .roles = WORK, .part = true, SUBMISSION},
    [WIRE_KIND(submit_prepare)] = {.answer = part_take, .roles = WORK, SUBMISSION},
    [WIRE_KIND(submit_stage)] = {.answer = part_take, .roles = WORK, .part = true, SUBMISSION},
    [WIRE_KIND(submit_tasks)] = {.answer = part_take, .roles = WORK, .part = true, SUBMISSION},

    [WIRE_KIND(order_job)] = {.answer = order_answer, .roles = OPERATE, CHANGE},
    [WIRE_KIND(drain_host)] = {.answer = drain_answer, .roles = OPERATE, CHANGE},
    [WIRE_KIND(forget_host)] = {.answer = forget_answer, .roles = OPERATE, CHANGE},
    [WIRE_KIND(set_policy)] = {.answer = policy_answer, .roles = OPERATE, CHANGE},
    [WIRE_KIND(set_log_level)] = {.answer = log_level_answer, .roles = OPERATE, .judged = true},
    [WIRE_KIND(set_user)] = {.answer = user_answer, .roles = OPERATE, CHANGE},
    [WIRE_KIND(reload_config)] = {.answer = reload_answer, .roles = OPERATE, CHANGE},
    /* Lasts by request_is_kept. */
    [WIRE_KIND(set_stance)] = {.answer = stance_answer, .roles = OPERATE, .judged = true},

    [WIRE_KIND(key_revoke)] = {.answer = keys_revoke, .roles = ADMIN, CHANGE},
    [WIRE_KIND(key_set)] = {.answer = keys_set, .roles = ADMIN, CHANGE},
    [WIRE_KIND(rotate_controller)] = {.answer = keys_rotate, .roles = ADMIN, CHANGE},
    /* Writes a file on the controller's host. */
    [WIRE_KIND(store_care)] = {.answer = care_answer, .roles = ADMIN, .judged = true},
};

/* Whether a message of this kind is handled: other kinds are refused as no request. */
static bool role_may_ask(enum role role, pb_size_t kind)
{
    return requests[kind].answer ? (requests[kind].roles & ROLE_BIT(role)) != 0
                                 : !frameworks_take(kind) || agents_take(kind);
}

bool request_is_forbidden(struct control *control, uint64_t client, pb_size_t kind)
{
    char asker[128];
    enum role role = control_who(control, client, asker, sizeof(asker));
    if (role_may_ask(role, kind))
        return false;
    refused_answer(&control->answer, duopoly_Reason_REASON_PERMISSION,
                   "'%s' takes another role than %s", wire_kind_name(kind), role_name(role));
    if (!requests[kind].part)
        control_log(control, client, "%s", wire_kind_name(kind));
    return true;
}

/* What only looks takes one as it is. */
static bool dry_run_is_refused(struct control *control, pb_size_t kind)
{
    if (!requests[kind].answer || requests[kind].roles == READ || requests[kind].judged ||
        requests[kind].submits)
        return false;
    refused_answer(&control->answer, duopoly_Reason_REASON_UNSUPPORTED,
                   "'%s' cannot be judged without being done: ask without --dry-run",
                   wire_kind_name(kind));
    return true;
}

static void dry_run_say(duopoly_Envelope *answer)
{
    duopoly_Accepted *accepted = &answer->body.accepted;
    char text[sizeof(accepted->text)];
    if (answer->which_body != duopoly_Envelope_accepted_tag)
        return;
    snprintf(text, sizeof(text), "a dry run, nothing is changed: %.200s", accepted->text);
    wire_copy(accepted->text, sizeof(accepted->text), text);
}

static void request_handle(struct control *control, struct requester *requester,
                           const duopoly_Envelope *request)
{
    const pb_size_t kind = request->which_body;
    conductor_judge_only(control->conductor, request->dry_run && !requests[kind].submits);
    trial_before(&control->trial, request);
    if (requests[kind].answer)
        requests[kind].answer(control, requester, request);
    else
        refused_answer(&control->answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "clients cannot ask with a message of kind '%s'", wire_kind_name(kind));
    conductor_judge_only(control->conductor, false);
    trial_after(&control->trial, requester->client, request);
}

void request_answer(struct control *control, struct requester *requester,
                    const duopoly_Envelope *request)
{
    const pb_size_t kind = request->which_body;
    if (request->dry_run && dry_run_is_refused(control, kind))
        return;
    bool looks = requests[kind].roles == READ;
    if ((looks || !if_version_refuses(control, requester->client, request)) &&
        !trial_answers(&control->trial, requester->client, request))
        request_handle(control, requester, request);
    if (request->dry_run && !requests[kind].submits && !requester->answer.held)
        dry_run_say(&control->answer);
}

bool request_lasts(pb_size_t kind)
{
    return requests[kind].lasts;
}

bool request_prepares(pb_size_t kind)
{
    return requests[kind].submits && kind != duopoly_Envelope_submit_end_tag &&
           kind != duopoly_Envelope_submit_commit_tag;
}

/* A stance that has to be confirmed is a trial, and not kept. */
bool request_is_kept(const duopoly_Envelope *request)
{
    bool stance = request->which_body == duopoly_Envelope_set_stance_tag &&
                  !request->body.set_stance.confirm_s;
    return !request->dry_run && !request_prepares(request->which_body) &&
           (request_lasts(request->which_body) || stance);
}
