#include "controller/clients/submission.h"

#include "controller/clients/refusal.h"
#include "controller/cost.h"
#include "controller/engine/base/resources.h"
#include "controller/learnt.h"
#include "controller/resources_wire.h"

#include "lib/constraint.h"
#include "lib/fnv1a.h"
#include "lib/grow.h"
#include "lib/log.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a job that a dry run judged. */
#define WOULD_BEGIN "it would begin: a dry run, nothing is changed"

#define TASKS_MAX (sizeof(((duopoly_SubmitTasks *)0)->tasks) / sizeof(duopoly_TaskInput))
/* Looks at tasks: 0.1 ms. */
#define PREPARED_AT_ONCE 512 /* tasks: 0.3 ms where their memory is touched for the first time */
#define PARENTS_MAX      (sizeof(((duopoly_SubmitStage *)0)->parents) / sizeof(duopoly_Edge))

/* Why a complete job cannot begin. */
static void obstacle_answer(const struct conductor *conductor, uint64_t job, enum reason reason,
                            int64_t stage, duopoly_Envelope *answer)
{
    const struct decision rejection = {.reason = reason, .left = stage};
    char text[512];
    struct err err;
    const struct engine *engine = conductor_parts(conductor)->engine;
    if (reason == REASON_NEVER_FITS) {
        engine_say_never_fits(engine, job, (uint32_t)stage, text, sizeof(text));
    } else if (reason == REASON_NOT_KEPT) {
        engine_place_keeps(engine_policy(engine, "place"), (uint32_t)stage, &err);
        wire_copy(text, sizeof(text), err.text);
    } else {
        rejection_answer(conductor_parts(conductor), &rejection, job, answer);
        return;
    }
    refused_answer(answer, reason_on_wire(reason), "%s", text);
}

/* Asks the engine; a rejection becomes the answer. */
static bool asked(const struct submission *submission, struct conductor *conductor,
                  struct event *event, duopoly_Envelope *answer)
{
    struct decision rejection;
    if (conductor_request(conductor, event, &rejection) == 0)
        return true;
    rejection_answer(conductor_parts(conductor), &rejection, submission->job, answer);
    return false;
}

/* The job exists already. One that another client has not finished submitting may still be dropped,
 * so it is not confirmed. */
static bool known_take(struct submission *submission, const struct conductor *conductor,
                       uint64_t job, duopoly_Envelope *answer)
{
    struct job_view view;
    uint32_t i = submission->begun;
    bool arriving = engine_job(conductor_parts(conductor)->engine, job, &view) == 0 &&
                    view.state == JOB_ARRIVING;
    while (arriving && i < submission->end && submission->prepared[i] != job)
        i++;
    if (arriving && i == submission->end) {
        refused_answer(answer, duopoly_Reason_REASON_STATE,
                       "another client is just submitting it, as job %" PRIu64 "; try again", job);
        return false;
    }
    submission->open = submission->known = true;
    submission->job = job;
    return true;
}

static bool begin_take(struct submission *submission, struct conductor *conductor,
                       const duopoly_SubmitBegin *begin, duopoly_Envelope *answer)
{
    struct event event = {.kind = EVENT_JOB_BEGIN};
    struct decision rejection;
    struct err err;
    uint64_t job;
    if (!wire_name_valid(begin->name)) {
        refused_answer(
            answer, duopoly_Reason_REASON_MALFORMED,
            "a job's name has 1 to 63 printable characters without space, slash and quotes");
        return false;
    }
    if (begin->deadline_ns > INT64_MAX || begin->kind > duopoly_JobKind_JOB_UNKNOWN) {
        refused_answer(answer, duopoly_Reason_REASON_MALFORMED,
                       "the deadline or the kind of the job is out of range");
        return false;
    }
    if (epoch_job_number(conductor_parts(conductor)->epoch, &job, &err) < 0) {
        log_error(LOG_FAULT_US, "%s", err.text);
        refused_answer(answer, duopoly_Reason_REASON_STATE, "no job number can be given away: %s",
                       err.text);
        return false;
    }
    event.job_begin.job = job;
    event.job_begin.name = begin->name;
    event.job_begin.content = begin->content;
    event.job_begin.user = begin->user;
    event.job_begin.job_kind = (uint32_t)begin->kind;
    event.job_begin.priority = begin->priority;
    event.job_begin.deadline_ns = (int64_t)begin->deadline_ns;
    event.job_begin.estimate_bytes = begin->estimate_bytes;
    event.job_begin.estimate_ns = begin->estimate_ns;
    event.job_begin.at_most_host = begin->at_most.host;
    event.job_begin.at_most_rack = begin->at_most.rack;
    wire_copy(submission->name, sizeof(submission->name), begin->name);
    submission->job = job;
    submission->parts = 0;
    submission->known = false;
    submission->open = true;
    conductor_submitter(conductor, submission->submitter);
    if (submission->dry_run)
        conductor_try_job(conductor);
    if (conductor_request(conductor, &event, &rejection) == 0)
        return true;
    submission->open = false;
    if (rejection.reason == REASON_SAME_JOB)
        return known_take(submission, conductor, (uint64_t)rejection.left, answer);
    rejection_answer(conductor_parts(conductor), &rejection, job, answer);
    return false;
}

/* Further ways to run a stage, in the form of its event. */
struct variants {
    uint64_t demands[(ENGINE_VARIANTS_MAX - 1) * ENGINE_RESOURCES];
    char commands[(ENGINE_VARIANTS_MAX - 1) * ENGINE_NAME_MAX];
    char constraints[(ENGINE_VARIANTS_MAX - 1) * CONSTRAINT_MAX];
    uint64_t profiles[ENGINE_VARIANTS_MAX * PROFILE_NUMBERS];
};

static void line_add(char *lines, size_t size, const char *word, bool first)
{
    size_t used = strlen(lines);
    snprintf(lines + used, size - used, "%s%s", first ? "" : "\n", word);
}

/* False after an answer that refuses it. */
static bool variant_is_good(uint32_t stage, uint32_t variant, const duopoly_Variant *v,
                            duopoly_Envelope *answer)
{
    const struct resources demand = resources_from_wire(&v->demand);
    struct err err = {0};
    if (!resources_are_nothing(&demand) && constraint_check(v->constraint, &err) == 0 &&
        !strchr(v->command, '\n'))
        return true;
    refused_answer(answer, duopoly_Reason_REASON_MALFORMED,
                   "stage %" PRIu32 ", variant %" PRIu32 ": %s", stage, variant,
                   resources_are_nothing(&demand) ? "it demands nothing; let it take at least one "
                                                    "slot or a part of a GPU"
                   : *err.text                    ? err.text
                                                  : "its command has a line end");
    return false;
}

/* The same of its profile; variant 0 is the stage itself. */
static bool profile_take(uint32_t stage, uint32_t variant, const duopoly_Profile *p,
                         struct variants *variants, duopoly_Envelope *answer)
{
    const struct profile profile = {p->read_bytes, p->read_bytes_s, p->before, p->compute_ns};
    uint64_t *at = variants->profiles + (size_t)variant * PROFILE_NUMBERS;
    struct err err = {0};
    if (profile_check(&profile, &err) < 0) {
        refused_answer(answer, duopoly_Reason_REASON_MALFORMED,
                       "stage %" PRIu32 ", variant %" PRIu32 ": by its profile a task %s", stage,
                       variant, err.text);
        return false;
    }
    at[0] = profile.read_bytes;
    at[1] = profile.read_bytes_s;
    at[2] = profile.before;
    at[3] = profile.compute_ns;
    return true;
}

/* Not 0. */
static uint64_t history_of(const char *name)
{
    uint64_t hash = fnv1a(FNV1A_NOTHING, name, strlen(name));
    return hash ? hash : 1;
}

/* What was learnt of such tasks, where it is more than was said. */
static bool profile_correct(const struct learnt *learnt, uint64_t history, uint32_t variant,
                            struct variants *variants)
{
    uint64_t *at = variants->profiles + (size_t)variant * PROFILE_NUMBERS;
    struct profile profile = {at[0], at[1], at[2], at[3]};
    struct learnt_estimate estimate;
    if (!learnt_find(learnt, history, variant, &estimate))
        return false;
    learnt_correct(&estimate, &profile);
    at[0] = profile.read_bytes;
    at[1] = profile.read_bytes_s;
    at[2] = profile.before;
    at[3] = profile.compute_ns;
    return true;
}

static bool profiles_take(const struct learnt *learnt, const duopoly_SubmitStage *stage,
                          struct variants *variants, struct event *event, duopoly_Envelope *answer)
{
    bool known = stage->has_profile;
    bool good = profile_take(stage->stage, 0, &stage->profile, variants, answer);
    for (pb_size_t i = 0; good && i < stage->variants_count; i++) {
        known |= stage->variants[i].has_profile;
        good = profile_take(stage->stage, i + 1u, &stage->variants[i].profile, variants, answer);
    }
    event->job_stage.history = *stage->history ? history_of(stage->history) : 0;
    for (uint32_t v = 0; event->job_stage.history && v <= stage->variants_count; v++)
        known |= profile_correct(learnt, event->job_stage.history, v, variants);
    event->job_stage.profiles = (struct u64s){
        variants->profiles, known ? (1u + stage->variants_count) * PROFILE_NUMBERS : 0};
    return good;
}

static bool variants_take(const struct learnt *learnt, const duopoly_SubmitStage *stage,
                          struct variants *variants, struct event *event, duopoly_Envelope *answer)
{
    for (pb_size_t i = 0; i < stage->variants_count; i++) {
        const duopoly_Variant *v = &stage->variants[i];
        const struct resources demand = resources_from_wire(&v->demand);
        if (!variant_is_good(stage->stage, i + 1u, v, answer))
            return false;
        for (uint32_t r = 0; r < ENGINE_RESOURCES; r++)
            variants->demands[i * ENGINE_RESOURCES + r] = (uint64_t)demand.amount[r];
        line_add(variants->commands, sizeof(variants->commands), v->command, i == 0);
        line_add(variants->constraints, sizeof(variants->constraints), v->constraint, i == 0);
    }
    event->job_stage.variant_demands =
        (struct u64s){variants->demands, stage->variants_count * ENGINE_RESOURCES};
    event->job_stage.variant_commands = variants->commands;
    event->job_stage.variant_constraints = variants->constraints;
    return profiles_take(learnt, stage, variants, event, answer);
}

/* A stage's wishes, in the form of its event. */
struct wishes {
    char lines[ENGINE_WISHES_MAX * CONSTRAINT_MAX];
    uint32_t utilities[ENGINE_WISHES_MAX];
};

static bool wishes_take(const duopoly_SubmitStage *stage, struct wishes *wishes,
                        struct event *event, duopoly_Envelope *answer)
{
    for (pb_size_t i = 0; i < stage->prefer_count; i++) {
        const duopoly_Wish *wish = &stage->prefer[i];
        struct err err = {0};
        bool good = constraint_check(wish->constraint, &err) == 0 && *wish->constraint &&
                    wish->utility && wish->utility <= ENGINE_UTILITY_MAX;
        if (!good) {
            refused_answer(answer, duopoly_Reason_REASON_MALFORMED,
                           "stage %" PRIu32 ", wish %u: %s", stage->stage, (unsigned)i,
                           *err.text ? err.text
                                     : "it names what a host should meet, and a utility from 1 to "
                                       "1000");
            return false;
        }
        line_add(wishes->lines, sizeof(wishes->lines), wish->constraint, i == 0);
        wishes->utilities[i] = wish->utility;
    }
    event->job_stage.wishes = wishes->lines;
    event->job_stage.utilities = (struct u32s){wishes->utilities, stage->prefer_count};
    return true;
}

static bool stage_take(struct submission *submission, struct conductor *conductor,
                       const duopoly_SubmitStage *stage, duopoly_Envelope *answer)
{
    struct event event = {.kind = EVENT_JOB_STAGE};
    struct variants variants = {0};
    struct wishes wishes = {0};
    struct err err;
    uint32_t parents[PARENTS_MAX], edges[PARENTS_MAX];
    const struct resources demand = resources_from_wire(&stage->demand);
    if (resources_are_nothing(&demand)) {
        refused_answer(answer, duopoly_Reason_REASON_MALFORMED,
                       "a task of stage %" PRIu32 " demands nothing, so any number would start at "
                       "once; let it take at least one slot",
                       stage->stage);
        return false;
    }
    if (constraint_check(stage->constraint, &err) < 0) {
        refused_answer(answer, duopoly_Reason_REASON_MALFORMED, "stage %" PRIu32 ": %s",
                       stage->stage, err.text);
        return false;
    }
    for (pb_size_t i = 0; i < stage->parents_count; i++) {
        parents[i] = stage->parents[i].parent;
        edges[i] = stage->parents[i].kind == duopoly_EdgeKind_EDGE_PIPELINED ? EDGE_PIPELINED
                                                                             : EDGE_BARRIER;
    }
    event.job_stage.job = submission->job;
    event.job_stage.stage = stage->stage;
    event.job_stage.tasks = stage->tasks;
    event.job_stage.demand = demand;
    event.job_stage.command = stage->command;
    event.job_stage.constraint = stage->constraint;
    event.job_stage.parents = (struct u32s){parents, stage->parents_count};
    event.job_stage.edges = (struct u32s){edges, stage->parents_count};
    event.job_stage.at_most_host = stage->at_most.host;
    event.job_stage.at_most_rack = stage->at_most.rack;
    const struct learnt *learnt = conductor_parts(conductor)->learnt;
    if (!variants_take(learnt, stage, &variants, &event, answer) ||
        !wishes_take(stage, &wishes, &event, answer))
        return false;
    return asked(submission, conductor, &event, answer);
}

/* The hosts that hold a block, folded onto the known ones, each once. */
static void replicas_fold(const struct agents *agents, const duopoly_TaskInput *task,
                          uint32_t per_task, uint32_t *ret_hosts)
{
    uint32_t hosts = agents_hosts(agents), n = 0;
    for (pb_size_t i = 0; i < task->replicas_count && hosts; i++) {
        uint32_t host = agents_host_at(agents, task->replicas[i] % hosts), j = 0;
        while (j < n && ret_hosts[j] != host)
            j++;
        if (j == n)
            ret_hosts[n++] = host;
    }
    while (n < per_task)
        ret_hosts[n++] = ENGINE_NONE;
}

static bool tasks_take(struct submission *submission, struct conductor *conductor,
                       const duopoly_SubmitTasks *tasks, duopoly_Envelope *answer)
{
    uint32_t replicas[TASKS_MAX * ENGINE_REPLICAS_MAX];
    uint64_t input_bytes[TASKS_MAX], compute_ns[TASKS_MAX];
    struct event event = {.kind = EVENT_JOB_TASKS};
    uint32_t per_task = 0;
    for (pb_size_t i = 0; i < tasks->tasks_count; i++)
        per_task =
            tasks->tasks[i].replicas_count > per_task ? tasks->tasks[i].replicas_count : per_task;
    for (pb_size_t i = 0; i < tasks->tasks_count; i++) {
        input_bytes[i] = tasks->tasks[i].input_bytes;
        compute_ns[i] = tasks->tasks[i].compute_ns;
        replicas_fold(conductor_parts(conductor)->agents, &tasks->tasks[i], per_task,
                      &replicas[i * per_task]);
    }
    event.job_tasks.job = submission->job;
    event.job_tasks.stage = tasks->stage;
    event.job_tasks.first = tasks->first;
    event.job_tasks.compute_ns = (struct u64s){compute_ns, tasks->tasks_count};
    event.job_tasks.variant = tasks->variant;
    if (!tasks->variant) {
        event.job_tasks.replicas_per_task = per_task;
        event.job_tasks.replicas = (struct u32s){replicas, tasks->tasks_count * per_task};
        event.job_tasks.input_bytes = (struct u64s){input_bytes, tasks->tasks_count};
    }
    return asked(submission, conductor, &event, answer);
}

static bool bytes_take(struct submission *submission, struct conductor *conductor,
                       const duopoly_SubmitBytes *bytes, duopoly_Envelope *answer)
{
    struct event event = {.kind = EVENT_JOB_BYTES};
    event.job_bytes.job = submission->job;
    event.job_bytes.stage = bytes->stage;
    event.job_bytes.parent = bytes->parent;
    event.job_bytes.first = bytes->first;
    event.job_bytes.matrix = bytes->matrix;
    event.job_bytes.bytes = (struct u64s){bytes->bytes, bytes->bytes_count};
    return asked(submission, conductor, &event, answer);
}

static bool parts_counted(const struct submission *submission, uint32_t sent,
                          duopoly_Envelope *answer)
{
    if (sent == submission->parts)
        return true;
    refused_answer(answer, duopoly_Reason_REASON_STATE,
                   "%" PRIu32 " part%s of the job came, %" PRIu32 " %s sent", submission->parts,
                   plural(submission->parts), sent, sent == 1 ? "was" : "were");
    return false;
}

/* The state of a job that existed before. */
static void known_answer(const struct conductor *conductor, uint64_t job, duopoly_Accepted *ret)
{
    char state[HISTORY_WORDS + 64], text[sizeof(state) + 64];
    struct job_view view;
    if (engine_job(conductor_parts(conductor)->engine, job, &view) < 0)
        return;
    ret->before = true;
    wire_copy(ret->state, sizeof(ret->state), job_state_name(view.state));
    fact_say_state(conductor_parts(conductor)->history, &view, state, sizeof(state));
    snprintf(text, sizeof(text), "is job %" PRIu64 ", %s", job,
             view.state == JOB_ARRIVING ? "submitted with it" : state);
    wire_copy(ret->text, sizeof(ret->text), text);
}

static void accepted_fill(struct submission *submission, const struct conductor *conductor,
                          const char *text, duopoly_Envelope *answer)
{
    duopoly_Accepted *accepted = &wire_begin(answer, duopoly_Envelope_accepted_tag)->body.accepted;
    accepted->job = submission->job;
    accepted->left = submission->end - submission->begun;
    wire_copy(accepted->text, sizeof(accepted->text), text);
    if (submission->known)
        known_answer(conductor, submission->job, accepted);
    submission->open = false;
}

static bool startable(const struct conductor *conductor, uint64_t job, duopoly_Envelope *answer)
{
    uint32_t stage = 0;
    enum reason reason = engine_job_obstacle(conductor_parts(conductor)->engine, job, &stage);
    if (reason != REASON_NONE)
        obstacle_answer(conductor, job, reason, stage, answer);
    return reason == REASON_NONE;
}

static void arriving_cancel(struct conductor *conductor, uint64_t job)
{
    struct decision rejection;
    conductor_cancel(conductor, job, "", &rejection);
}

/* The end of a job of a dry run. */
static bool end_judge(struct submission *submission, struct conductor *conductor,
                      duopoly_Envelope *answer)
{
    if (!submission->known && !startable(conductor, submission->job, answer))
        return false;
    if (!submission->known)
        arriving_cancel(conductor, submission->job);
    accepted_fill(submission, conductor, WOULD_BEGIN, answer);
    return true;
}

static bool end_take(struct submission *submission, struct conductor *conductor,
                     const duopoly_SubmitEnd *end, duopoly_Envelope *answer)
{
    struct event event = {.kind = EVENT_JOB_END};
    struct decision rejection;
    event.job_end.job = submission->job;
    if (!parts_counted(submission, end->parts, answer))
        return false;
    if (submission->dry_run)
        return end_judge(submission, conductor, answer);
    if (!submission->known && conductor_request(conductor, &event, &rejection) < 0) {
        obstacle_answer(conductor, submission->job, rejection.reason, rejection.left, answer);
        return false;
    }
    submission->last = !submission->known;
    accepted_fill(submission, conductor, "accepted", answer);
    return true;
}

static bool prepared_add(struct submission *submission)
{
    if (submission->begun == submission->end)
        submission->begun = submission->end = 0;
    if (!array_grow(submission->prepared, submission->end, submission->room, 16))
        return false;
    submission->prepared[submission->end++] = submission->job;
    return true;
}

static bool prepare_take(struct submission *submission, struct conductor *conductor,
                         const duopoly_SubmitPrepare *prepare, duopoly_Envelope *answer)
{
    if (!parts_counted(submission, prepare->parts, answer))
        return false;
    if (!submission->known && !startable(conductor, submission->job, answer))
        return false;
    if (!submission->known && !prepared_add(submission)) {
        refused_answer(answer, duopoly_Reason_REASON_LIMIT, "the controller is out of memory");
        return false;
    }
    accepted_fill(submission, conductor, "checked", answer);
    return true;
}

/* Real and dry: then nothing of it is taken. */
static bool is_mixed(const struct submission *submission, bool dry_run, duopoly_Envelope *answer)
{
    bool there = submission->open || submission->begun < submission->end;
    if (!there || submission->dry_run == dry_run)
        return false;
    refused_answer(answer, duopoly_Reason_REASON_STATE,
                   "a dry run and a submission are mixed on one connection; use two");
    return true;
}

/* Prepared jobs of a dry run, which can begin. */
static void commit_judge(struct submission *submission, struct conductor *conductor, uint32_t n,
                         duopoly_Envelope *answer)
{
    for (; n > 0; n--)
        arriving_cancel(conductor, submission->prepared[submission->begun++]);
    submission->known = false;
    accepted_fill(submission, conductor, WOULD_BEGIN, answer);
}

void submission_commit(struct submission *submission, struct conductor *conductor,
                       const duopoly_Envelope *commit, duopoly_Envelope *answer)
{
    const uint32_t most = commit->body.submit_commit.most;
    uint32_t left = submission->end - submission->begun;
    uint32_t n = most && most < SUBMISSION_COMMIT ? most : SUBMISSION_COMMIT;
    const int64_t until_ns = cost_now_ns() + SUBMISSION_COMMIT_NS;
    struct decision rejection;
    if (is_mixed(submission, commit->dry_run, answer))
        return;
    /* An open one could neither end nor be cancelled once the others have begun. */
    if (submission->open) {
        refused_answer(answer, duopoly_Reason_REASON_STATE,
                       "a job is still being submitted here; end it first");
        return;
    }
    n = n < left ? n : left;
    submission->last = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!startable(conductor, submission->prepared[submission->begun + i], answer))
            return;
    if (submission->dry_run) {
        commit_judge(submission, conductor, n, answer);
        return;
    }
    for (; n > 0 && (most || cost_now_ns() < until_ns); n--) {
        struct event event = {.kind = EVENT_JOB_END};
        event.job_end.job = submission->job = submission->prepared[submission->begun];
        if (conductor_request(conductor, &event, &rejection) < 0) {
            rejection_answer(conductor_parts(conductor), &rejection, submission->job, answer);
            return;
        }
        submission->begun++;
        submission->last++;
    }
    submission->known = false;
    accepted_fill(submission, conductor, "accepted", answer);
}

static bool part_take(struct submission *submission, struct conductor *conductor,
                      const duopoly_Envelope *part, duopoly_Envelope *answer)
{
    switch (part->which_body) {
    case duopoly_Envelope_submit_begin_tag:
        return begin_take(submission, conductor, &part->body.submit_begin, answer);
    case duopoly_Envelope_submit_end_tag:
        return end_take(submission, conductor, &part->body.submit_end, answer);
    case duopoly_Envelope_submit_prepare_tag:
        return prepare_take(submission, conductor, &part->body.submit_prepare, answer);
    case duopoly_Envelope_submit_stage_tag:
        return submission->known ||
               stage_take(submission, conductor, &part->body.submit_stage, answer);
    case duopoly_Envelope_submit_tasks_tag:
        return submission->known ||
               tasks_take(submission, conductor, &part->body.submit_tasks, answer);
    default:
        return submission->known ||
               bytes_take(submission, conductor, &part->body.submit_bytes, answer);
    }
}

/* Drops the open job. */
static void submission_drop(struct submission *submission, struct conductor *conductor)
{
    if (submission->open && !submission->known)
        arriving_cancel(conductor, submission->job);
    submission->open = false;
}

void submission_part(struct submission *submission, struct conductor *conductor,
                     const duopoly_Envelope *part, duopoly_Envelope *answer)
{
    bool begins = part->which_body == duopoly_Envelope_submit_begin_tag;
    if (is_mixed(submission, part->dry_run, answer))
        return;
    submission->dry_run = part->dry_run;
    if (begins)
        submission_drop(submission, conductor);
    else if (!submission->open) {
        refused_answer(answer, duopoly_Reason_REASON_STATE,
                       "no job is being submitted here; begin one");
        return;
    }
    if (!part_take(submission, conductor, part, answer)) {
        submission_drop(submission, conductor);
        return;
    }
    submission->parts++;
    if (submission->open)
        wire_begin(answer, duopoly_Envelope_submit_credit_tag)->body.submit_credit.parts =
            submission->parts;
}

/* One job that ended by itself, or the last prepared ones. */
void submission_undo(struct submission *submission, struct conductor *conductor)
{
    struct decision rejection;
    static const char asker[] = "the controller, for the store cannot be written";
    bool prepared = submission->begun >= submission->last && submission->begun &&
                    submission->prepared[submission->begun - 1] == submission->job;
    for (uint32_t i = 0; i < submission->last; i++)
        conductor_cancel(
            conductor, prepared ? submission->prepared[submission->begun - 1 - i] : submission->job,
            asker, &rejection);
    submission->last = 0;
}

bool submission_prepare(const struct submission *submission, struct conductor *conductor)
{
    return submission->open && !submission->known &&
           conductor_prepare(conductor, submission->job, PREPARED_AT_ONCE) > 0;
}

bool submission_close(struct submission *submission, struct conductor *conductor)
{
    if (submission->open)
        submission_drop(submission, conductor);
    else if (submission->begun < submission->end)
        arriving_cancel(conductor, submission->prepared[submission->begun++]);
    if (submission->begun < submission->end)
        return true;
    submission_free(submission);
    return false;
}

void submission_free(struct submission *submission)
{
    free(submission->prepared);
    *submission = (struct submission){.open = false};
}
