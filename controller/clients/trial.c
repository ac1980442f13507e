#include "controller/clients/trial.h"

#include "controller/clients/control_shared.h"
#include "controller/clients/policy_requests.h"
#include "controller/clients/refusal.h"
#include "controller/stances_kept.h"
#include "lib/container_of.h"
#include "lib/fnv1a.h"
#include "lib/grow.h"
#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_S 3600
#define KIND   "trial"
#define UNDO   "undo "
#define SECOND INT64_C(1000000000)

static const struct {
    pb_size_t request;
    const char *settings[2];
} kinds[] = {
    {duopoly_Envelope_set_policy_tag, {"policy", "parameter"}},
    {duopoly_Envelope_drain_host_tag, {"drain", NULL}},
    {duopoly_Envelope_set_stance_tag, {"stance", NULL}},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* The one that lasts, as the store has it. */
struct lasting {
    int64_t due_s, length_s; /* wall clock, since 1970 */
    uint64_t hash;           /* of its request */
    unsigned request;        /* the request's kind */
};

static bool lasting_get(const struct store *store, struct lasting *ret)
{
    const char *due = store_setting(store, KIND, "due");
    return due && sscanf(due, "%" SCNd64 " %" SCNd64 " %" SCNu64 " %u", &ret->due_s, &ret->length_s,
                         &ret->hash, &ret->request) == 4;
}

static const char *word_get(const struct store *store, const char *name)
{
    const char *word = store_setting(store, KIND, name);
    return word ? word : "?";
}

/* WHY at most its length: the wall clock may have been set back. */
static int64_t left_s(const struct lasting *lasting)
{
    int64_t left = lasting->due_s - (int64_t)time(NULL);
    return left < 0 ? 0 : left < lasting->length_s ? left : lasting->length_s;
}

void trial_say(const struct store *store, char *text, size_t size)
{
    struct lasting lasting;
    *text = '\0';
    if (lasting_get(store, &lasting))
        snprintf(text, size, "%s by %s is undone in %" PRId64 " s unless it is confirmed",
                 word_get(store, "what"), word_get(store, "who"), left_s(&lasting));
}

static bool is_triable(pb_size_t request)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].request == request)
            return true;
    return false;
}

static bool is_tried(const char *kind)
{
    for (size_t i = 0; i < KINDS; i++)
        for (size_t j = 0; j < 2 && kinds[i].settings[j]; j++)
            if (strcmp(kinds[i].settings[j], kind) == 0)
                return true;
    return false;
}

/* Of what it asks for, whoever asks and for how long. */
static uint64_t hash_of(struct control *control, const duopoly_Envelope *request)
{
    uint8_t bytes[8192];
    size_t length = 0;
    duopoly_Envelope *bare = wire_begin(&control->event, request->which_body);
    bare->body = request->body;
    return wire_encode(bare, bytes, sizeof(bytes), &length, NULL) == 0
               ? fnv1a(FNV1A_NOTHING, bytes, length)
               : 0;
}

/* ---- what it was before ---- */

struct row {
    char kind[16], name[STORE_NAME_MAX];
    char *value; /* owned; NULL: it was not set */
};

struct rows {
    struct row *at;
    size_t n, size;
    bool failed;
};

/* "undo KIND NAME" is "=VALUE", or "-". */
static void row_read(void *context, const char *name, const char *value)
{
    struct rows *rows = context;
    struct row row = {.value = NULL};
    if (sscanf(name, UNDO "%15s %127[^\n]", row.kind, row.name) != 2)
        return;
    if (*value == '=')
        row.value = strdup(value + 1);
    if ((*value == '=' && !row.value) || !array_grow(rows->at, rows->n, rows->size, 16)) {
        free(row.value);
        rows->failed = true;
        return;
    }
    rows->at[rows->n++] = row;
}

static void rows_done(struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        free(rows->at[i].value);
    free(rows->at);
}

static void on_set(void *user, const char *kind, const char *name, const char *before)
{
    const struct trial *trial = user;
    struct store *store = trial->control->parts->store;
    char undo[STORE_NAME_MAX + 32], value[STORE_VALUE_MAX + 1];
    if (!trial->seconds || !is_tried(kind))
        return;
    snprintf(undo, sizeof(undo), UNDO "%s %s", kind, name);
    snprintf(value, sizeof(value), "%s%s", before ? "=" : "-", before ? before : "");
    if (!store_setting(store, KIND, undo))
        store_set(store, KIND, undo, value);
}

struct names {
    char (*at)[STORE_NAME_MAX];
    size_t n, size;
};

static void name_read(void *context, const char *name, const char *value)
{
    struct names *names = context;
    (void)value;
    if (array_grow(names->at, names->n, names->size, 16))
        snprintf(names->at[names->n++], STORE_NAME_MAX, "%s", name);
}

static void forget(struct trial *trial)
{
    struct store *store = trial->control->parts->store;
    struct names names = {0};
    timers_disarm(trial->control->parts->timers, &trial->timer);
    store_settings(store, KIND, name_read, &names);
    for (size_t i = 0; i < names.n; i++)
        store_set(store, KIND, names.at[i], NULL);
    free(names.at);
}

/* ---- undoing it ---- */

/* Events of policies and drains, in the order in which they are taken. */
static size_t events_of(const struct conductor_parts *parts, const struct rows *rows,
                        const struct engine_config *configured, struct event *ret_events)
{
    struct agent_view agent;
    size_t n = 0;
    for (int policies = 0; policies < 2; policies++)
        for (size_t i = 0; i < rows->n; i++) {
            const struct row *row = &rows->at[i];
            struct event event = {.kind = EVENT_KINDS};
            if (policies && strcmp(row->kind, "policy") == 0) {
                event.kind = EVENT_POLICY_SET;
                event.policy_set.question = row->name;
                event.policy_set.name =
                    row->value ? row->value : policy_of_config(configured, row->name);
            } else if (!policies && strcmp(row->kind, "parameter") == 0) {
                event.kind = EVENT_POLICY_PARAMETER;
                event.policy_parameter.word = row->name;
                event.policy_parameter.value = row->value
                                                   ? strtoll(row->value, NULL, 10)
                                                   : engine_config_value(configured, row->name);
            } else if (!policies && strcmp(row->kind, "drain") == 0 &&
                       agents_named(parts->agents, row->name, &agent) == 0) {
                event.kind = EVENT_HOST_DRAIN;
                event.host_drain.host = agent.host;
                event.host_drain.undo = !row->value;
            }
            if (event.kind != EVENT_KINDS)
                ret_events[n++] = event;
        }
    return n;
}

static bool has_stance(const struct rows *rows)
{
    bool has = false;
    for (size_t i = 0; i < rows->n; i++)
        has = has || strcmp(rows->at[i].kind, "stance") == 0;
    return has;
}

/* 0; −EPERM: the engine refuses to go back; −ENOMEM. */
static int rows_undo(struct control *control, const struct rows *rows)
{
    const struct conductor_parts *parts = control->parts;
    struct event *events = calloc(rows->n + 1, sizeof(*events));
    struct engine_config configured;
    struct decision rejection;
    if (!events || rows->failed) {
        free(events);
        return -ENOMEM;
    }
    settings_engine(parts->settings, 1, &configured);
    size_t n = events_of(parts, rows, &configured, events);
    int r = n ? conductor_requests(control->conductor, events, n, &rejection) : 0;
    free(events);
    if (r < 0)
        return r;
    for (size_t i = 0; i < rows->n; i++)
        store_set(parts->store, rows->at[i].kind, rows->at[i].name, rows->at[i].value);
    return has_stance(rows) ? stances_kept_read(parts->store, parts->agents) : 0;
}

static void undo(struct trial *trial, const char *why)
{
    struct control *control = trial->control;
    struct store *store = control->parts->store;
    struct rows rows = {0};
    char what[256], who[80];
    snprintf(who, sizeof(who), "%s", word_get(store, "who"));
    snprintf(what, sizeof(what), "undo %s", word_get(store, "what"));
    store_settings(store, KIND, row_read, &rows);
    int r = rows_undo(control, &rows);
    rows_done(&rows);
    forget(trial);
    if (r < 0)
        log_warning(LOG_FAULT_CONFIGURATION,
                    "%s of %s: it cannot be undone, since something else depends on it now: set "
                    "it by hand",
                    what, who);
    else
        log_change("%s of %s: %s", what, who, why);
    store_audit(store, "the controller", what, r < 0 ? "refused, something depends on it" : why);
    if (r == 0)
        control_note(control, "the controller", what, why);
}

static void on_due(struct timer *timer, int64_t now_ns)
{
    struct trial *trial = container_of(timer, struct trial, timer);
    (void)now_ns;
    undo(trial, "it was not confirmed in time");
}

static void arm(struct trial *trial, int64_t seconds)
{
    const struct conductor_parts *parts = trial->control->parts;
    timers_arm(parts->timers, &trial->timer, clock_now_ns(parts->clock) + seconds * SECOND);
}

void trial_open(struct trial *trial, struct control *control)
{
    struct lasting lasting;
    trial->control = control;
    trial->timer.fire = on_due;
    store_watch(control->parts->store, on_set, trial);
    if (!lasting_get(control->parts->store, &lasting))
        return;
    arm(trial, left_s(&lasting));
    conductor_run(control->conductor);
}

/* WHY the store is told: settings are stored after clients have gone, too. */
void trial_close(struct trial *trial)
{
    if (!trial->control)
        return;
    timers_disarm(trial->control->parts->timers, &trial->timer);
    store_watch(trial->control->parts->store, NULL, NULL);
}

/* ---- requests ---- */

static void confirm(struct trial *trial, uint64_t client, const duopoly_Envelope *request)
{
    struct control *control = trial->control;
    char what[192];
    snprintf(what, sizeof(what), "%s", word_get(control->parts->store, "what"));
    if (!request->dry_run)
        forget(trial);
    accepted_answer(&control->answer, "%s is confirmed", what);
    control_log(control, client, "confirm %s", what);
}

static void lasts_refuse(struct control *control, uint64_t client, const duopoly_Envelope *request)
{
    char says[sizeof(control->answer.body.refused.text)];
    trial_say(control->parts->store, says, sizeof(says));
    refused_answer(&control->answer, duopoly_Reason_REASON_STATE,
                   "%.150s: confirm it by the same command without --confirm, or wait", says);
    control_log(control, client, "%s", wire_kind_name(request->which_body));
}

/* Whether it may not be on trial at all. */
static bool is_untriable(struct control *control, const duopoly_Envelope *request)
{
    if (!request->confirm_s || (is_triable(request->which_body) && request->confirm_s <= MOST_S))
        return false;
    refused_answer(&control->answer, duopoly_Reason_REASON_MALFORMED,
                   "a policy, a drain or a stance can be on trial, for 1 to %d s", MOST_S);
    return true;
}

bool trial_answers(struct trial *trial, uint64_t client, const duopoly_Envelope *request)
{
    struct control *control = trial->control;
    struct lasting lasting;
    if (is_untriable(control, request))
        return true;
    if (!is_triable(request->which_body) || !lasting_get(control->parts->store, &lasting))
        return false;
    bool of_kind = lasting.request == request->which_body;
    bool confirms = of_kind && !request->confirm_s && lasting.hash == hash_of(control, request);
    bool stance =
        of_kind && !request->confirm_s && request->which_body == duopoly_Envelope_set_stance_tag;
    if (confirms)
        confirm(trial, client, request);
    else if (stance && !request->dry_run)
        undo(trial, "another stance was set");
    else if (request->confirm_s || (of_kind && !stance))
        lasts_refuse(control, client, request);
    return confirms || request->confirm_s || (of_kind && !stance);
}

void trial_before(struct trial *trial, const duopoly_Envelope *request)
{
    trial->seconds = request->dry_run ? 0 : request->confirm_s;
}

void trial_after(struct trial *trial, uint64_t client, const duopoly_Envelope *request)
{
    struct control *control = trial->control;
    struct store *store = control->parts->store;
    duopoly_Accepted *accepted = &control->answer.body.accepted;
    char due[96], who[128];
    bool begins = trial->seconds && control->answer.which_body == duopoly_Envelope_accepted_tag;
    trial->seconds = 0;
    if (!begins)
        return;
    snprintf(due, sizeof(due), "%" PRId64 " %" PRIu32 " %" PRIu64 " %u",
             (int64_t)time(NULL) + request->confirm_s, request->confirm_s,
             hash_of(control, request), (unsigned)request->which_body);
    control_who_short(control, client, who, sizeof(who));
    store_set(store, KIND, "due", due);
    store_set(store, KIND, "who", who);
    store_set(store, KIND, "what", control->what);
    arm(trial, request->confirm_s);
    size_t used = strlen(accepted->text);
    snprintf(accepted->text + used, sizeof(accepted->text) - used,
             "; undone in %" PRIu32 " s unless it is confirmed by the same command without "
             "--confirm",
             request->confirm_s);
}
