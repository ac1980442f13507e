#include "controller/frameworks/frameworks.h"

#include "controller/frameworks/application.h"
#include "controller/frameworks/framework_numbers.h"
#include "lib/container_of.h"
#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000

int frameworks_create(const struct frameworks_config *config, const struct frameworks_hooks *hooks,
                      const struct engine *engine, struct timers *timers,
                      struct frameworks **ret_frameworks)
{
    struct frameworks *frameworks = calloc(1, sizeof(*frameworks));
    if (!frameworks)
        return -ENOMEM;
    frameworks->config = *config;
    frameworks->hooks = *hooks;
    frameworks->engine = engine;
    frameworks->timers = timers;
    application_turns_init(frameworks);
    *ret_frameworks = frameworks;
    return 0;
}

void frameworks_take_forget(struct frameworks *frameworks, int64_t forget_ns)
{
    frameworks->config.forget_ns = forget_ns;
}

static void application_free(struct application *application)
{
    timers_disarm(application->frameworks->timers, &application->beat);
    application_turns_stop(application);
    application_ends_stop(application);
    application_waits_end(application);
    stage_names_clear(&application->names);
    executors_done(application);
    free(application);
}

void frameworks_destroy(struct frameworks *frameworks)
{
    if (!frameworks)
        return;
    for (int i = 0; i < FRAMEWORKS_MAX; i++)
        if (frameworks->applications[i])
            application_free(frameworks->applications[i]);
    executors_rooms_done(frameworks);
    free(frameworks);
}

static struct application *application_of_peer(const struct frameworks *frameworks, uint64_t peer)
{
    for (int i = 0; i < FRAMEWORKS_MAX; i++)
        if (frameworks->applications[i] && frameworks->applications[i]->peer == peer)
            return frameworks->applications[i];
    return NULL;
}

static struct application *application_of_bits(const struct frameworks *frameworks, uint64_t bits)
{
    for (int i = 0; i < FRAMEWORKS_MAX; i++)
        if (frameworks->applications[i] && frameworks->applications[i]->bits == bits)
            return frameworks->applications[i];
    return NULL;
}

static struct application *application_of_job(const struct frameworks *frameworks, uint64_t job)
{
    return job & FRAMEWORK_JOB_BIT
               ? application_of_bits(frameworks, job >> FRAMEWORK_BITS & FRAMEWORK_JOB_MAX)
               : NULL;
}

const char *frameworks_name(const struct frameworks *frameworks, uint64_t number)
{
    const struct application *application =
        application_of_job(frameworks, number << ENGINE_APPLICATION_SHIFT);
    return application ? application->name : "";
}

uint64_t frameworks_application(const struct frameworks *frameworks, uint64_t peer)
{
    const struct application *application = peer ? application_of_peer(frameworks, peer) : NULL;
    return application ? application_number(application) : 0;
}

bool frameworks_knows(const struct frameworks *frameworks, uint64_t peer)
{
    return frameworks_application(frameworks, peer);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void refuse(struct frameworks *frameworks, int64_t now_ns, uint64_t peer,
                   duopoly_Reason reason, uint64_t sequence, const char *text)
{
    frameworks->counters.refused++;
    if (now_ns - frameworks->refusals_ns >= SECOND_NS) {
        frameworks->refusals_ns = now_ns;
        frameworks->refusals = 0;
    }
    if (frameworks->refusals++ >= FRAMEWORK_REFUSALS)
        return;
    duopoly_Refused *refused =
        &wire_begin(&frameworks->out, duopoly_Envelope_refused_tag)->body.refused;
    frameworks->out.epoch = frameworks->config.epoch;
    refused->reason = reason;
    refused->sequence = sequence;
    wire_copy(refused->text, sizeof(refused->text), text);
    frameworks->hooks.send(frameworks->hooks.user, peer, &frameworks->out);
}

/* The owner, for the engine's accounts. */
static void owner_tell(const struct application *application, enum owner_tells tells)
{
    const struct frameworks *frameworks = application->frameworks;
    struct event event = {.kind = EVENT_FRAMEWORK_OWNER};
    event.framework_owner.application = application_number(application);
    event.framework_owner.tells = tells;
    event.framework_owner.key =
        fnv1a(FNV1A_NOTHING, application->owner, strlen(application->owner));
    event.framework_owner.user =
        application->user < 0 ? event.framework_owner.key : (uint64_t)application->user;
    frameworks->hooks.event(frameworks->hooks.user, &event);
}

static uint64_t parts_of(uint64_t amount, uint64_t most)
{
    uint64_t part = most / FRAMEWORK_KEPT;
    return part && amount > part ? amount / part : 1;
}

/* How long its resources are kept after its session's end. WHY this depends on their amount: others
 * may need the room. */
static int64_t kept_ns(const struct application *application)
{
    const struct frameworks *frameworks = application->frameworks;
    struct account_view account = {0};
    engine_account(frameworks->engine, application_number(application), &account);
    const uint64_t bytes = parts_of(account.bytes, account.bytes_max),
                   jobs = parts_of(account.jobs, account.jobs_max);
    return frameworks->config.forget_ns / (int64_t)(bytes > jobs ? bytes : jobs);
}

void application_end(struct application *application, int64_t now_ns)
{
    struct frameworks *frameworks = application->frameworks;
    application->peer = 0;
    application->replaying = false;
    application->telling.of = TELLS_NOTHING;
    application_ends_stop(application);
    application_waits_end(application);
    memset(&application->next, 0, sizeof(application->next));
    frameworks->counters.ended++;
    application->ended_ns = now_ns;
    application->given_back = false;
    owner_tell(application, OWNER_AWAY);
    application_ends(application, now_ns, ENDS_CLAIMS);
    timers_arm(frameworks->timers, &application->beat,
               now_ns + smaller(frameworks->config.lost_ns, frameworks->config.forget_ns));
}

bool application_send(struct application *application, bool changes_state)
{
    const struct frameworks *frameworks = application->frameworks;
    const uint64_t peer = application->peer;
    if (!peer)
        return false;
    int r = wire_session_stamp(&application->session, &application->frameworks->out, changes_state);
    if (r == 0)
        r = frameworks->hooks.send(frameworks->hooks.user, peer, &frameworks->out);
    if (r < 0) {
        application_end(application, application->heard_ns);
        frameworks->hooks.cut(frameworks->hooks.user, peer);
    }
    return r >= 0;
}

void application_gone(struct application *application)
{
    struct frameworks *frameworks = application->frameworks;
    executors_forget(application);
    owner_tell(application, OWNER_GONE);
    frameworks->counters.forgotten++;
    for (int i = 0; i < FRAMEWORKS_MAX; i++)
        if (frameworks->applications[i] == application)
            frameworks->applications[i] = NULL;
    application_free(application);
}

/* It has not come back. */
static void give_back(struct application *application, int64_t now_ns)
{
    const struct frameworks *frameworks = application->frameworks;
    const int64_t until_ns = application->ended_ns + kept_ns(application);
    if (now_ns >= until_ns) {
        if (until_ns < application->ended_ns + frameworks->config.forget_ns)
            log_note("application %s has had no session for %" PRId64
                     " s and is forgotten: it holds much of what may be kept for frameworks",
                     application->name, (now_ns - application->ended_ns) / SECOND_NS);
        application_ends(application, now_ns, ENDS_ALL);
        return;
    }
    if (!application->given_back)
        application_ends(application, now_ns, ENDS_RUNNING);
    application->given_back = true;
    timers_arm(frameworks->timers, &application->beat, until_ns);
}

static void on_beat(struct timer *timer, int64_t now_ns)
{
    struct application *application = container_of(timer, struct application, beat);
    const struct frameworks *frameworks = application->frameworks;
    const uint64_t peer = application->peer;
    if (!peer) {
        give_back(application, now_ns);
        return;
    }
    if (now_ns - application->heard_ns > frameworks->config.silent_ns) {
        application_end(application, now_ns);
        frameworks->hooks.cut(frameworks->hooks.user, peer);
        return;
    }
    timers_arm(frameworks->timers, timer, now_ns + frameworks->config.heartbeat_ns);
    application->stale = true;
    application_flush(application, now_ns, true);
}

static int64_t hello_user(const duopoly_FrameworkHello *hello)
{
    return hello->has_user ? (int64_t)hello->user : -1;
}

/* Whether another application of this user and key may come: a user may have twice as many places
 * as are left, and a key four times (engine/books/account.h). */
static bool has_place(const struct frameworks *frameworks, const duopoly_FrameworkHello *hello,
                      const char *owner)
{
    int left = 0, of_key = 0, of_user = 0;
    for (int i = 0; i < FRAMEWORKS_MAX; i++) {
        const struct application *application = frameworks->applications[i];
        left += !application;
        of_key += application && strcmp(application->owner, owner) == 0;
        of_user += application && strcmp(application->owner, owner) == 0 &&
                   application->user == hello_user(hello);
    }
    return left && of_user < 2 * left && (!*owner || of_key < 4 * left);
}

/* NULL: there is no place for it. */
static struct application *application_add(struct frameworks *frameworks,
                                           const duopoly_FrameworkHello *hello, const char *owner)
{
    if (!has_place(frameworks, hello, owner))
        return NULL;
    for (int i = 0; i < FRAMEWORKS_MAX; i++) {
        struct application *application =
            frameworks->applications[i] ? NULL : calloc(1, sizeof(*application));
        if (!application)
            continue;
        application->frameworks = frameworks;
        application->bits = framework_bits(hello->name);
        application->beat.fire = on_beat;
        application_waits_begin(application);
        wire_copy(application->name, sizeof(application->name), hello->name);
        wire_copy(application->owner, sizeof(application->owner), owner);
        application->user = hello_user(hello);
        frameworks->applications[i] = application;
        return application;
    }
    return NULL;
}

static uint64_t owner_hash(const char *owner, int64_t user)
{
    return fnv1a(fnv1a(FNV1A_NOTHING, owner, strlen(owner)), &user, sizeof(user)) | 1;
}

/* The remaining credit; if there is no place for one more, the one with the most credit is
 * replaced. */
static struct spender *spender_of(struct frameworks *frameworks, int64_t now_ns, uint64_t owner)
{
    struct spender *best = NULL;
    for (int i = 0; i < FRAMEWORKS_MAX; i++) {
        struct spender *at = &frameworks->spenders[i];
        const int64_t passed_ns = now_ns - at->at_ns, share = frameworks->config.time_permille;
        if (passed_ns > 0) {
            at->credit_ns += passed_ns / 1000 * share;
            at->at_ns = now_ns;
        }
        if (at->credit_ns > FRAMEWORK_BURST_NS || !at->owner)
            at->credit_ns = FRAMEWORK_BURST_NS;
        if (at->owner == owner)
            return at;
        if (!best || at->credit_ns > best->credit_ns)
            best = at;
    }
    *best = (struct spender){owner, FRAMEWORK_BURST_NS, now_ns};
    return best;
}

void application_limit(struct application *application, int64_t now_ns, const char *text)
{
    refuse(application->frameworks, now_ns, application->peer, duopoly_Reason_REASON_LIMIT, 0,
           text);
    application_end(application, now_ns);
}

/* Beyond its share. */
static void time_over(struct application *application, int64_t now_ns)
{
    application->frameworks->counters.slow++;
    log_warning(LOG_FAULT_PEER,
                "application %s takes more of the controller's time than its share "
                "(bounds.framework_time): its session ends, and it goes on without duopoly for "
                "a while",
                application->name);
    application_limit(application, now_ns,
                      "this application takes more of the controller's time than its share; go on "
                      "without, and say HELLO later");
}

void frameworks_spent(struct frameworks *frameworks, int64_t now_ns, uint64_t number,
                      int64_t spent_ns)
{
    struct application *application =
        application_of_job(frameworks, number << ENGINE_APPLICATION_SHIFT);
    if (!application || application_number(application) != number)
        return;
    frameworks->counters.spent_ns += (uint64_t)spent_ns;
    if (!frameworks->config.time_permille)
        return;
    struct spender *spender =
        spender_of(frameworks, now_ns, owner_hash(application->owner, application->user));
    spender->credit_ns -= spent_ns;
    if (spender->credit_ns < 0 && application->peer)
        time_over(application, now_ns);
}

/* NULL: it may have no session. */
static const char *hello_obstacle(const struct application *application,
                                  const duopoly_FrameworkHello *hello, const char *owner,
                                  duopoly_Reason *ret_reason)
{
    *ret_reason = duopoly_Reason_REASON_IDENTITY;
    if (!application)
        return NULL;
    if (strcmp(application->owner, owner) != 0)
        return "this application is another key's; give it another name";
    if (application->user != hello_user(hello))
        return "this application is another user's; give it another name";
    if (strcmp(application->name, hello->name) != 0)
        return "another application's name gives the same numbers; give it another name";
    if (application->peer && hello->boot == application->boot &&
        hello->hello_sequence <= application->hello_sequence)
        return "a newer session of this application stands";
    return NULL;
}

static void welcome(struct application *application, int64_t now_ns, uint32_t version)
{
    struct frameworks *frameworks = application->frameworks;
    duopoly_Welcome *body =
        &wire_begin(&frameworks->out, duopoly_Envelope_welcome_tag)->body.welcome;
    wire_session_init(&application->session, version, frameworks->config.epoch);
    body->version = version;
    body->epoch = frameworks->config.epoch;
    body->heartbeat_ms = (uint32_t)(frameworks->config.heartbeat_ns / 1000000);
    body->silent_ms = (uint32_t)(frameworks->config.silent_ns / 1000000);
    application->heard_ns = now_ns;
    application_ends_stop(application);
    application->replaying = true;
    application->full = false;
    application->over = 0;
    application->taken = 0;
    frameworks->counters.sessions++;
    timers_arm(frameworks->timers, &application->beat, now_ns + frameworks->config.heartbeat_ns);
    if (application_send(application, false))
        application_tell_whole(application, now_ns);
}

static void peer_leave(struct frameworks *frameworks, int64_t now_ns, uint64_t peer)
{
    struct application *before = application_of_peer(frameworks, peer);
    if (before)
        application_end(before, now_ns);
}

static void hello_take(struct frameworks *frameworks, int64_t now_ns, uint64_t peer,
                       const char *identity, const duopoly_FrameworkHello *hello)
{
    const uint32_t version = wire_version_agree(hello->version_min, hello->version_max);
    const char *owner = identity ? identity : "";
    struct application *application;
    duopoly_Reason reason = duopoly_Reason_REASON_MALFORMED;
    const char *obstacle = NULL;
    if (!version) {
        reason = duopoly_Reason_REASON_VERSION;
        obstacle = "no version of the protocol is spoken by both";
    } else if (!wire_name_valid(hello->name)) {
        obstacle = "an application's name is 1 to 63 printable characters without spaces, slashes "
                   "and quotes";
    }
    if (obstacle) {
        refuse(frameworks, now_ns, peer, reason, 0, obstacle);
        return;
    }
    application = application_of_bits(frameworks, framework_bits(hello->name));
    obstacle = hello_obstacle(application, hello, owner, &reason);
    if (!obstacle && frameworks->config.time_permille &&
        spender_of(frameworks, now_ns, owner_hash(owner, hello_user(hello)))->credit_ns <
            FRAMEWORK_BURST_NS / 2 &&
        !(application && application->peer)) {
        reason = duopoly_Reason_REASON_LIMIT;
        obstacle = "its user's applications took more of the controller's time than their share; "
                   "say HELLO later";
    }
    if (!obstacle && !application && !(application = application_add(frameworks, hello, owner))) {
        reason = duopoly_Reason_REASON_LIMIT;
        obstacle = "its user or key has as many applications as it may, beside the others'";
    }
    if (obstacle) {
        refuse(frameworks, now_ns, peer, reason, 0, obstacle);
        return;
    }
    peer_leave(frameworks, now_ns, peer);
    if (application->peer) {
        refuse(frameworks, now_ns, application->peer, duopoly_Reason_REASON_IDENTITY, 0,
               "a newer session of this application has begun");
        frameworks->counters.replaced++;
        application_end(application, now_ns);
    }
    application->peer = peer;
    owner_tell(application, OWNER_THERE);
    application->boot = hello->boot;
    application->hello_sequence = hello->hello_sequence;
    application->holds = hello->holds;
    wire_copy(application->text, sizeof(application->text), hello->text);
    executors_begin(application, hello->executors);
    welcome(application, now_ns, version);
}

void application_take(struct application *application, int64_t now_ns,
                      const duopoly_Envelope *envelope)
{
    struct err err;
    int r = application_fact(application, now_ns, envelope, &err);
    if (r < 0)
        refuse(application->frameworks, now_ns, application->peer, duopoly_Reason_REASON_MALFORMED,
               envelope->sequence, err.text);
    application->stale = true;
    application->taken = envelope->sequence;
}

static void verdict_end(struct application *application, int64_t now_ns, uint64_t sequence,
                        enum wire_verdict verdict)
{
    struct frameworks *frameworks = application->frameworks;
    const uint64_t peer = application->peer;
    const bool epoch = verdict == WIRE_EPOCH;
    refuse(frameworks, now_ns, peer,
           epoch ? duopoly_Reason_REASON_EPOCH : duopoly_Reason_REASON_MALFORMED, sequence,
           epoch                 ? "from an older controller's time; say HELLO"
           : verdict == WIRE_GAP ? "a message before this one is missing; say HELLO"
                                 : "this belongs to no session; say HELLO");
    if (!epoch)
        application_end(application, now_ns);
}

void frameworks_message(struct frameworks *frameworks, int64_t now_ns, uint64_t peer,
                        const char *identity, const duopoly_Envelope *envelope)
{
    struct application *application = application_of_peer(frameworks, peer);
    if (envelope->which_body == duopoly_Envelope_framework_hello_tag) {
        hello_take(frameworks, now_ns, peer, identity, &envelope->body.framework_hello);
        return;
    }
    if (!application) {
        refuse(frameworks, now_ns, peer, duopoly_Reason_REASON_STATE, envelope->sequence,
               "a framework's session begins with HELLO");
        return;
    }
    application->heard_ns = now_ns;
    enum wire_verdict verdict = wire_session_accept(&application->session, envelope);
    if (verdict == WIRE_TAKE)
        application_take_in_order(application, now_ns, envelope);
    else if (verdict != WIRE_DUPLICATE)
        verdict_end(application, now_ns, envelope->sequence, verdict);
}

void frameworks_gone(struct frameworks *frameworks, uint64_t peer)
{
    struct application *application = application_of_peer(frameworks, peer);
    if (peer && application)
        application_end(application, application->heard_ns);
}

/* Its host has the former ones. */
static bool allow_level_take(const struct frameworks *frameworks, int64_t now_ns, uint64_t number)
{
    struct attempt_view allow;
    if (engine_attempt(frameworks->engine, number, &allow) < 0 || !allow.allow)
        return false;
    const struct application *application = application_of_job(frameworks, allow.job);
    if (application && application->peer)
        application_guests_allow(application, now_ns, &allow);
    return true;
}

static bool level_take(struct frameworks *frameworks, int64_t now_ns,
                       const struct decision *decision)
{
    const uint64_t attempt = decision->level.attempt;
    if (!(attempt & FRAMEWORK_ATTEMPT_BIT))
        return allow_level_take(frameworks, now_ns, attempt);
    struct application *application =
        application_of_bits(frameworks, attempt >> 32 & FRAMEWORK_JOB_MAX);
    if (application && application->peer && !application_tells_levels_later(application, attempt))
        application_level(application, attempt, decision->level.coflow_level,
                          decision->level.macroflow_level);
    if (application && application->peer)
        application_guests_level(application, attempt);
    return true;
}

void application_over(struct application *application)
{
    application->frameworks->counters.over++;
    if (application->over++)
        return;
    log_warning(LOG_FAULT_PEER,
                "application %s tells more than its share of what may be kept (bounds: jobs, "
                "tasks, shapes, framework_memory, tasks_per_stage, executors, executor_slots): the "
                "rest is counted and not "
                "kept, and its stages are its own to place",
                application->name);
}

bool frameworks_decision(struct frameworks *frameworks, int64_t now_ns,
                         const struct decision *decision)
{
    struct application *application;
    switch (decision->kind) {
    case DECISION_ALLOW:
        application = application_of_job(frameworks, decision->allow.job);
        if (application && application->peer)
            application_allow(application, now_ns, decision);
        return true;
    case DECISION_ALLOW_END:
        application = application_of_job(frameworks, decision->allow_end.job);
        if (application && application->peer)
            application_end_allow(application, decision);
        return true;
    case DECISION_OPEN:
        application = application_of_job(frameworks, decision->open.job);
        if (application && application->peer &&
            !application_tells_later(application, decision->open.job, decision->open.stage))
            application_open(application, decision->open.job, decision->open.stage);
        if (application && decision->reason == REASON_TABLE_FULL)
            application_over(application);
        return true;
    case DECISION_BIND:
        application = application_of_job(frameworks, decision->bind.job);
        if (application && application->peer &&
            !application_tells_later(application, decision->bind.job, decision->bind.stage))
            application_bind(application, decision->bind.job, decision->bind.stage);
        return true;
    case DECISION_LEVEL:
        return level_take(frameworks, now_ns, decision);
    default:
        return false;
    }
}

void frameworks_settle(struct frameworks *frameworks, int64_t now_ns)
{
    for (int i = 0; i < FRAMEWORKS_MAX; i++) {
        struct application *application = frameworks->applications[i];
        if (!application || !application->peer)
            continue;
        wire_session_effected(&application->session, application->taken);
        application->taken = 0;
        if (application->begun)
            application_guests_level(application, application->begun);
        application->begun = 0;
        application_waits_look(application, now_ns);
        application_flush(application, now_ns, false);
    }
}

static const struct application *session_of(const struct frameworks *frameworks, const char *name)
{
    const struct application *application = application_of_bits(frameworks, framework_bits(name));
    return application && application->peer && strcmp(application->name, name) == 0 ? application
                                                                                    : NULL;
}

int64_t frameworks_user(const struct frameworks *frameworks, const char *name)
{
    const struct application *application = session_of(frameworks, name);
    return application ? application->user : -1;
}

static bool lets_lapse(const struct application *application)
{
    struct account_view account;
    return engine_account(application->frameworks->engine, application_number(application),
                          &account) == 0 &&
           account.allows_max;
}

bool frameworks_gate(const struct frameworks *frameworks, const char *name, bool *ret_holds,
                     const char **ret_text)
{
    const struct application *application = session_of(frameworks, name);
    if (!application)
        return false;
    *ret_holds = application->holds && !application->over;
    *ret_text = application->over
                    ? "it tells more than its share: what is beyond is its own to place"
                : lets_lapse(application)
                    ? "it lets allows lapse, and gets fewer at a time until it uses them"
                    : application->text;
    return true;
}

void frameworks_host_is(struct frameworks *frameworks, uint32_t from, uint32_t to)
{
    executors_move(frameworks, from, to);
}

const struct frameworks_counters *frameworks_counters(const struct frameworks *frameworks)
{
    return &frameworks->counters;
}

bool frameworks_stage_words(const struct frameworks *frameworks, uint64_t job, uint32_t stage,
                            char *ret_text, size_t size)
{
    const struct application *application = application_of_job(frameworks, job);
    const struct stage_name *name =
        application ? stage_names_find(&application->names, job, stage) : NULL;
    if (name)
        snprintf(ret_text, size, "stage %" PRIu32 ".%" PRIu32 "%s%s%s", name->id, name->attempt,
                 *name->text ? " (" : "", name->text, *name->text ? ")" : "");
    return name;
}

bool frameworks_words(const struct frameworks *frameworks, uint64_t job, uint32_t stage,
                      uint32_t task, uint64_t attempt, char *ret_text, size_t size)
{
    const struct application *application = application_of_job(frameworks, job);
    if (!frameworks_stage_words(frameworks, job, stage, ret_text, size))
        return false;
    size_t used = strlen(ret_text);
    int n = snprintf(ret_text + used, size - used, ", partition %" PRIu32, task);
    if (n > 0 && (size_t)n < size - used && framework_owns_attempt(application->bits, attempt))
        snprintf(ret_text + used + (size_t)n, size - used - (size_t)n, ", task %" PRIu32,
                 (uint32_t)attempt);
    return true;
}
