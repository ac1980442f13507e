#include "controller/clients/listing.h"

#include "controller/agents/dispatch.h"
#include "controller/clients/key_requests.h"
#include "controller/clients/listing_arcs.h"
#include "controller/clients/listing_combinations.h"
#include "controller/clients/listing_config.h"
#include "controller/clients/listing_counters.h"
#include "controller/clients/listing_guests.h"
#include "controller/clients/listing_history.h"
#include "controller/clients/listing_links.h"
#include "controller/clients/listing_modes.h"
#include "controller/clients/listing_place.h"
#include "controller/clients/listing_sieve.h"
#include "controller/clients/listing_switches.h"
#include "controller/clients/listing_transfers.h"
#include "controller/clients/listing_units.h"
#include "controller/clients/listing_users.h"
#include "controller/clients/refusal.h"
#include "controller/learning.h"
#include "controller/resources_wire.h"
#include "lib/join.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST(rows) (sizeof(rows) / sizeof((rows)[0]))

/* Why it ended; for an active job, its last failure. */
static void job_row_reason(const struct conductor_parts *parts, duopoly_JobRow *row)
{
    const struct history *history = parts->history;
    const struct job_ending *end = history_job(history, row->job);
    const struct ending *failure = end ? NULL : history_failure(history, row->job);
    struct host_view host;
    if (end) {
        wire_copy(row->reason, sizeof(row->reason), end->reason);
        wire_copy(row->failed_host, sizeof(row->failed_host), end->host);
        row->failed_attempt = end->attempt;
        row->failed_stage = end->attempt ? end->stage : 0;
        row->failed_task = end->attempt ? end->task : 0;
    } else if (failure) {
        wire_copy(row->reason, sizeof(row->reason), failure->words);
        if (engine_host(parts->engine, failure->host, &host) == 0)
            wire_copy(row->failed_host, sizeof(row->failed_host), host.name);
        row->failed_attempt = failure->attempt;
        row->failed_stage = failure->stage;
        row->failed_task = failure->task;
    }
}

/* What is left, and how long what was done took. */
static void job_row_work(const struct conductor_parts *parts, duopoly_JobRow *row)
{
    uint64_t ns, bytes;
    struct spent spent;
    bool goes_on = engine_job_left(parts->engine, row->job, &ns, &bytes) == 0;
    row->left_ns = goes_on && ns && ns <= INT64_MAX ? (int64_t)ns : -1;
    row->left_bytes = goes_on && bytes <= INT64_MAX ? (int64_t)bytes : -1;
    if (!history_spent(parts->history, row->job, &spent, &row->measured))
        return;
    row->receive_ns = spent.receive_ns;
    row->compute_ns = spent.compute_ns;
    row->received_bytes = spent.received_bytes;
}

static void job_row(const struct conductor_parts *parts, const struct job_view *job, uint64_t place,
                    duopoly_JobRow *ret_row)
{
    bool finished = job->state > JOB_ACTIVE;
    ret_row->job = job->job;
    wire_copy(ret_row->name, sizeof(ret_row->name), job->name);
    ret_row->user = job->user;
    wire_copy(ret_row->state, sizeof(ret_row->state), job_state_name(job->state));
    ret_row->tasks = (uint32_t)job->tasks;
    ret_row->ready = (uint32_t)(job->ready + job->allowed);
    ret_row->running = (uint32_t)(job->running - job->allowed);
    ret_row->done = (uint32_t)job->done;
    ret_row->held = job->held_stages;
    ret_row->age_ns =
        (finished ? job->finished_ns : clock_now_ns(parts->clock)) - job->submitted_ns;
    ret_row->key_ns = job->key;
    ret_row->place = (uint32_t)place;
    ret_row->shuffle_bytes = job->shuffle_bytes;
    ret_row->slot_wait_ns = job->slot_wait_ns;
    ret_row->evictions = job->evictions;
    ret_row->evicted_ns = job->evicted_ns;
    ret_row->priority = job->priority;
    if (job->held_by) {
        wire_copy(ret_row->held_by, sizeof(ret_row->held_by), job->held_by);
        ret_row->held_ns = clock_now_ns(parts->clock) - job->held_since_ns;
    }
    job_row_work(parts, ret_row);
    job_row_reason(parts, ret_row);
}

/* What its submission says, what was learnt of such tasks, and how it runs. */
static void job_row_words(const struct conductor_parts *parts, duopoly_JobRow *row)
{
    const struct engine *engine = parts->engine;
    char ways[sizeof(row->text)];
    engine_say_words(engine, row->job, row->text, sizeof(row->text));
    learning_say(parts->learnt, engine, row->job, ways, sizeof(ways));
    if (*ways)
        join_word(row->text, sizeof(row->text), "; ", ways);
    engine_say_variants(engine, row->job, ways, sizeof(ways));
    if (*ways)
        join_word(row->text, sizeof(row->text), "; ", ways);
}

static void one_job(const struct conductor_parts *parts, uint64_t number, struct sieve *sieve,
                    duopoly_Page *page)
{
    const struct engine *engine = parts->engine;
    struct job_view job;
    if (engine_job(engine, number, &job) < 0)
        return;
    duopoly_JobRow *row = &page->jobs[page->jobs_count];
    job_row(parts, &job, engine_job_place(engine, number), row);
    if (!*row->text)
        job_row_words(parts, row);
    page->jobs_count += sieve_keeps(sieve, row);
}

/* The job with the least number above `after`: of active ones, and of ended ones if asked for. */
static int job_next(const struct engine *engine, bool finished, uint64_t after,
                    struct job_view *ret_job)
{
    struct job_view over;
    int r = engine_job_after(engine, after, ret_job);
    if (finished && engine_finished_after(engine, after, &over) == 0 &&
        (r < 0 || over.job < ret_job->job)) {
        *ret_job = over;
        r = 0;
    }
    return r;
}

/* The cursor is the last job's number. WHY not its turn: a job that ends or changes its turn
 * between two pages would be missed or listed twice; numbers do not change. Who gets all jobs sees
 * their places in turn; who gets some needs them told. */
static void jobs_page(const struct conductor_parts *parts, const duopoly_List *list,
                      struct sieve *sieve, duopoly_Page *page)
{
    const struct engine *engine = parts->engine;
    uint64_t after = list->cursor;
    struct job_view job;
    if (list->job) {
        one_job(parts, list->job, sieve, page);
        return;
    }
    while (job_next(engine, list->finished, after, &job) == 0) {
        if (page->jobs_count == MOST(page->jobs) || sieve_is_worn(sieve)) {
            page->cursor = after;
            return;
        }
        after = job.job;
        duopoly_JobRow *row = &page->jobs[page->jobs_count];
        job_row(parts, &job, sieve->chooses ? engine_job_place(engine, after) : 0, row);
        page->jobs_count += sieve_keeps(sieve, row);
    }
}

/* The cursor says how many stand before the page. WHY places, which move: whoever looks at a page
 * again and again wants to see those that have them then. */
static void jobs_in_turn_page(const struct conductor_parts *parts, const duopoly_List *list,
                              struct sieve *sieve, duopoly_Page *page)
{
    const struct engine *engine = parts->engine;
    uint64_t before = list->cursor;
    struct job_view job;
    int r = engine_job_at_place(engine, before + 1, &job);
    for (; r == 0; r = engine_job_in_turn(engine, job.job, &job), before++) {
        if (page->jobs_count == MOST(page->jobs) || sieve_is_worn(sieve)) {
            page->cursor = before;
            return;
        }
        duopoly_JobRow *row = &page->jobs[page->jobs_count];
        job_row(parts, &job, before + 1, row);
        page->jobs_count += sieve_keeps(sieve, row);
    }
}

/* For done attempts: as measured, or unknown. */
static void spent_fill(const struct ending *ending, duopoly_TaskRow *row)
{
    const struct spent *spent = &ending->spent;
    row->unmeasured = !spent->known;
    if (!spent->known)
        return;
    row->bytes = spent->bytes;
    row->received_bytes = spent->received_bytes;
    row->wait_ns = spent->wait_ns;
    row->receive_ns = spent->receive_ns;
    row->compute_ns = spent->compute_ns;
}

/* For a running attempt: until now. */
static void times_fill(const struct attempt_view *attempt, const struct task_view *task,
                       int64_t now_ns, duopoly_TaskRow *row)
{
    bool computes = attempt->state == ATTEMPT_COMPUTING;
    int64_t received_ns = attempt->received_ns ? attempt->received_ns : attempt->started_ns;
    if (attempt->found || attempt->allow || attempt->foreign)
        return;
    row->wait_ns = attempt->started_ns - task->ready_ns;
    row->receive_ns = (computes ? received_ns : now_ns) - attempt->started_ns;
    row->compute_ns = computes ? now_ns - received_ns : -1;
}

static void attempt_fill(const struct conductor_parts *parts, const struct attempt_view *attempt,
                         int64_t now_ns, duopoly_TaskRow *row)
{
    struct engine_status status;
    engine_status(parts->engine, &status);
    row->received_bytes = attempt->received_bytes;
    row->coflow_level = (int32_t)level_on_wire(attempt->coflow_level);
    row->macroflow_level = (int32_t)level_on_wire(attempt->macroflow_level);
    row->level = status.mode == MODE_SLOT_STARVED ? row->macroflow_level : row->coflow_level;
    row->age_ns = now_ns - attempt->started_ns;
}

/* Of a stage that lists but one way nothing is said. */
static void variant_fill(const struct engine *engine, uint32_t variant, duopoly_TaskRow *row)
{
    struct stage_view stage;
    row->has_variant =
        engine_stage(engine, row->job, row->stage, &stage) == 0 && stage.variants > 1;
    row->variant = row->has_variant ? variant : 0;
}

/* What a task is known by; returns to where the row is filled then. */
static size_t task_row_begin(const struct task_view *task, duopoly_TaskRow *row)
{
    row->job = task->job;
    row->stage = task->stage;
    row->task = task->task;
    row->attempt = task->attempt;
    if (task->attempt)
        return offsetof(duopoly_TaskRow, state); /* its attempt says in which it is */
    wire_copy(row->state, sizeof(row->state), task_state_name(task->state));
    return offsetof(duopoly_TaskRow, host);
}

/* The rest of a row that was begun. */
static void task_row(const struct conductor_parts *parts, const struct task_view *task,
                     int64_t now_ns, duopoly_TaskRow *row)
{
    struct attempt_view attempt;
    struct agent_view agent;
    const char *state = task_state_name(task->state);
    row->bytes = task->bytes;
    row->coflow_level = row->macroflow_level = row->level = -1;
    row->age_ns = task->state == TASK_READY ? now_ns - task->ready_ns : -1;
    row->wait_ns = row->receive_ns = row->compute_ns = -1;
    if (agents_of_host(parts->agents, task->host, &agent) == 0)
        wire_copy(row->host, sizeof(row->host), agent.name);
    if (task->attempt && engine_attempt(parts->engine, task->attempt, &attempt) == 0) {
        attempt_fill(parts, &attempt, now_ns, row);
        times_fill(&attempt, task, now_ns, row);
        variant_fill(parts->engine, attempt.variant, row);
        state = attempt_state_name(attempt.state);
    }
    if (task->attempt)
        wire_copy(row->state, sizeof(row->state), state);
    row->failures = task->failures;
    row->evictions = task->evictions;
    row->evicted_ns = task->evicted_ns;
    const struct ending *last = history_task(parts->history, task->job, task->stage, task->task);
    if (last && last->kind == ENDING_DONE && task->state == TASK_DONE) {
        spent_fill(last, row);
        variant_fill(parts->engine, last->variant, row);
    }
    if (last)
        wire_copy(row->text, sizeof(row->text), last->words);
    else
        frameworks_words(parts->frameworks, task->job, task->stage, task->task, task->attempt,
                         row->text, sizeof(row->text));
}

/* After the job's end only this record is left of a task. */
static void ending_row(const struct conductor_parts *parts, const struct ending *ending,
                       duopoly_TaskRow *row)
{
    static const char *const states[] = {[ENDING_DONE] = "done",
                                         [ENDING_FAILED] = "failed",
                                         [ENDING_REFUSED] = "refused",
                                         [ENDING_KILLED] = "killed",
                                         [ENDING_LOST] = "lost"};
    struct host_view host;
    row->job = ending->job;
    row->stage = ending->stage;
    row->task = ending->task;
    row->attempt = ending->attempt;
    row->coflow_level = row->macroflow_level = row->level = -1;
    row->age_ns = clock_now_ns(parts->clock) - ending->ended_ns;
    row->wait_ns = row->receive_ns = row->compute_ns = -1;
    spent_fill(ending, row);
    if (engine_host(parts->engine, ending->host, &host) == 0)
        wire_copy(row->host, sizeof(row->host), host.name);
    wire_copy(row->state, sizeof(row->state), states[ending->kind]);
    wire_copy(row->text, sizeof(row->text), ending->words);
}

/* The cursor is the place in the history. */
static void ended_tasks_page(const struct conductor_parts *parts, const duopoly_List *list,
                             struct sieve *sieve, duopoly_Page *page)
{
    const struct history *history = parts->history;
    const struct ending *ending;
    uint64_t place = list->cursor, next = place;
    while ((ending = history_after(history, list->job, place, &next))) {
        if (page->tasks_count == MOST(page->tasks) || sieve_is_worn(sieve)) {
            page->cursor = place;
            return;
        }
        duopoly_TaskRow *row = &page->tasks[page->tasks_count];
        ending_row(parts, ending, row);
        page->tasks_count += sieve_keeps(sieve, row);
        place = next;
    }
}

static void task_add(const struct conductor_parts *parts, const struct task_view *task,
                     struct sieve *sieve, duopoly_Page *page)
{
    duopoly_TaskRow *row = &page->tasks[page->tasks_count];
    if (!sieve_may_keep(sieve, row, task_row_begin(task, row)))
        return;
    task_row(parts, task, sieve->now_ns, row);
    page->tasks_count += sieve_keeps(sieve, row);
}

static void running_page(const struct conductor_parts *parts, const duopoly_List *list,
                         struct sieve *sieve, duopoly_Page *page)
{
    const struct engine *engine = parts->engine;
    uint64_t after = list->cursor;
    uint32_t steps = 0;
    struct attempt_view attempt;
    struct task_view task;
    while (engine_attempt_after(engine, after, &attempt) == 0) {
        if (page->tasks_count == MOST(page->tasks) || steps++ >= sieve->bounds.steps ||
            sieve_is_worn(sieve)) {
            page->cursor = after;
            return;
        }
        after = attempt.attempt;
        if (engine_task(engine, attempt.job, attempt.stage, attempt.task, &task) == 0) {
            task.attempt = attempt.attempt; /* each copy of a task has its row */
            task.host = attempt.host;
            task_add(parts, &task, sieve, page);
        }
    }
}

static bool is_of_part(const duopoly_List *list, enum task_state state)
{
    static const duopoly_TaskPart parts[] = {
        [TASK_BLOCKED] = duopoly_TaskPart_TASKS_WAITING,
        [TASK_READY] = duopoly_TaskPart_TASKS_LIVE,
        [TASK_RUNNING] = duopoly_TaskPart_TASKS_LIVE,
        [TASK_DONE] = duopoly_TaskPart_TASKS_DONE,
    };
    if (!list->finished)
        return state == TASK_RUNNING;
    return list->part == duopoly_TaskPart_TASKS_ALL || list->part == parts[state];
}

/* Whether a stage may have tasks of that part: others are passed over as a whole. */
static bool stage_may_have(const duopoly_List *list, const struct stage_view *stage)
{
    if (!list->finished)
        return stage->running > 0;
    switch (list->part) {
    case duopoly_TaskPart_TASKS_WAITING:
        return stage->ready + stage->running + stage->done < stage->tasks;
    case duopoly_TaskPart_TASKS_LIVE:
        return stage->done < stage->tasks;
    case duopoly_TaskPart_TASKS_DONE:
        return stage->done > 0;
    default:
        return true;
    }
}

enum { VIEWS = 16 }; /* of tasks that are looked at together */

/* On its way through a job's tasks. */
struct walk {
    const struct conductor_parts *parts;
    const duopoly_List *list;
    struct sieve *sieve;
    duopoly_Page *page;
    uint64_t first, last; /* tasks of a stage that may be wanted */
    uint32_t steps;
};

static bool walk_ends(struct walk *walk)
{
    return walk->page->tasks_count == MOST(walk->page->tasks) ||
           walk->steps++ >= walk->sieve->bounds.steps || sieve_is_worn(walk->sieve);
}

/* Adds a stage's tasks from number *index on, which moves on. False: the page ends before it. */
static bool stage_walk(struct walk *walk, uint32_t stage, uint32_t *index)
{
    struct task_view tasks[VIEWS];
    uint32_t n;
    if (*index < walk->first)
        *index = walk->first < UINT32_MAX ? (uint32_t)walk->first : UINT32_MAX;
    while (*index <= walk->last &&
           (n = engine_tasks(walk->parts->engine, walk->list->job, stage, *index, VIEWS, tasks)))
        for (uint32_t i = 0; i < n && *index <= walk->last; i++, ++*index) {
            if (walk_ends(walk))
                return false;
            if (is_of_part(walk->list, tasks[i].state))
                task_add(walk->parts, &tasks[i], walk->sieve, walk->page);
        }
    return true;
}

/* The cursor is stage : task + 1. */
static void job_tasks_page(const struct conductor_parts *parts, const duopoly_List *list,
                           struct sieve *sieve, duopoly_Page *page)
{
    uint32_t stage = (uint32_t)(list->cursor >> 32), index = (uint32_t)list->cursor;
    struct walk walk = {.parts = parts, .list = list, .sieve = sieve, .page = page};
    struct stage_view view;
    sieve_range(sieve, "task", &walk.first, &walk.last);
    index -= index > 0;
    for (; engine_stage_from(parts->engine, list->job, stage, &view) == 0; stage = view.stage + 1) {
        index = view.stage > stage ? 0 : index;
        if (walk_ends(&walk) ||
            (stage_may_have(list, &view) && !stage_walk(&walk, view.stage, &index))) {
            page->cursor = (uint64_t)view.stage << 32 | (index + 1);
            return;
        }
        index = 0;
    }
}

bool listing_gone(const struct agent_view *agent, int64_t now_ns, char *text, size_t size)
{
    double heard_s = (double)(now_ns - agent->heard_ns) / 1e9,
           lost_s = (double)(now_ns - agent->lost_ns) / 1e9;
    bool lost = agent->state == AGENT_LOST;
    if (!lost && agent->state != AGENT_SILENT)
        return false;
    if (text && lost && !agent->lost_ns)
        snprintf(text, size, "lost since before the controller started");
    else if (text && lost)
        snprintf(text, size, "lost for %.0f s, heard last %.0f s ago", lost_s, heard_s);
    else if (text)
        snprintf(text, size, "not heard for %.0f s", heard_s);
    return true;
}

const char *listing_state(const struct agent_view *agent, const struct host_view *host)
{
    static const char *const names[] = {
        [AGENT_JOINING] = "joining", [AGENT_UP] = "up",     [AGENT_FULL] = "full",
        [AGENT_SILENT] = "silent",   [AGENT_LOST] = "lost", [AGENT_UNMARKED] = "unmarked"};
    if (!host || agent->state != AGENT_UP)
        return names[agent->state];
    return host->draining ? "draining" : host->suspect ? "suspect" : names[AGENT_UP];
}

enum { FAILURES_TOLD = 3 }; /* in a row; a single failing job causes fewer on most hosts */

/* Failures there: the host's fault, or of unknown cause. */
static void failing_note(const struct conductor_parts *parts, const struct host_view *host,
                         duopoly_HostRow *row)
{
    int64_t now_ns = clock_now_ns(parts->clock);
    const struct ending *last = history_failure_on(parts->history, host->host);
    const char *words = last ? last->words : "how the last one ended is not kept";
    char next[48] = "a probe when there is a task for it";
    row->failed_in_a_row = host->failed_in_a_row;
    if (host->probe_ns)
        snprintf(next, sizeof(next), "next probe in %.0f s",
                 (double)(host->probe_ns > now_ns ? host->probe_ns - now_ns : 0) / 1e9);
    if (host->failing)
        snprintf(row->text, sizeof(row->text),
                 "the last %" PRIu32
                 " attempt%s here failed or were lost: suspect for %.0f s, %s; %s",
                 host->failed_in_a_row, plural(host->failed_in_a_row),
                 (double)(now_ns - host->suspect_since_ns) / 1e9, next, words);
    else if (host->failed_in_a_row >= FAILURES_TOLD && !*row->text)
        snprintf(row->text, sizeof(row->text),
                 "the last %" PRIu32 " attempts here failed or were lost; %s",
                 host->failed_in_a_row, words);
}

/* What is known of it as a source and as a reader. */
static void host_note(const struct conductor_parts *parts, const struct host_view *host,
                      duopoly_HostRow *row)
{
    double since_s = (double)(clock_now_ns(parts->clock) - host->suspect_since_ns) / 1e9;
    if (host->mute)
        snprintf(row->text, sizeof(row->text),
                 "%" PRIu32 " host%s cannot read from it: suspect for %.0f s", host->readers,
                 plural(host->readers), since_s);
    else if (host->blind)
        snprintf(row->text, sizeof(row->text),
                 "cannot read from %" PRIu32
                 " host%s that others can read from: suspect for %.0f s",
                 host->sources, plural(host->sources), since_s);
    else if (host->readers)
        snprintf(row->text, sizeof(row->text), "%" PRIu32 " host%s cannot read from it",
                 host->readers, plural(host->readers));
    else if (host->trial)
        wire_copy(row->text, sizeof(row->text),
                  "was suspect; nobody has read from it since: on trial");
    else
        failing_note(parts, host, row);
    row->readers = host->readers;
    row->sources = host->sources;
}

static void disk_note(duopoly_HostRow *row)
{
    join_word(row->text, sizeof(row->text), "; ",
              "its disk answers nothing: placements that look at disks start nothing there "
              "that reads");
}

/* Appends that it reported for others. */
static void refused_note(const struct agent_view *agent, duopoly_HostRow *row)
{
    size_t used = strlen(row->text);
    row->refused_words = agent->refused_words;
    if (agent->refused_words)
        snprintf(row->text + used, sizeof(row->text) - used,
                 "%s%" PRIu64 " of its words about others %s refused, the last: %s",
                 used ? "; " : "", agent->refused_words, agent->refused_words == 1 ? "was" : "were",
                 agent->refused_about);
}

/* Appends that it claims more than is kept. */
static void claims_note(const struct agent_view *agent, duopoly_HostRow *row)
{
    size_t used = strlen(row->text);
    if (agent->claims_cut)
        snprintf(row->text + used, sizeof(row->text) - used, "%s%" PRIu64 " thing%s cut: %s",
                 used ? "; " : "", agent->claims_cut,
                 agent->claims_cut == 1 ? " that it claims is" : "s that it claims are",
                 agent->cut_about);
}

/* Appends that its sessions ended for the time that it took. */
static void time_note(const struct agent_view *agent, duopoly_HostRow *row)
{
    size_t used = strlen(row->text);
    if (agent->times_over)
        snprintf(row->text + used, sizeof(row->text) - used,
                 "%s%" PRIu64 " session%s ended: it took more of the controller's time than its "
                 "share (bounds.host_time)",
                 used ? "; " : "", agent->times_over, agent->times_over == 1 ? "" : "s");
}

/* What it reported about itself. */
static void said_fill(const struct agent_view *agent, duopoly_HostRow *row)
{
    row->stance = agent->stance;
    wire_copy(row->text, sizeof(row->text), agent->trouble);
    wire_copy(row->queues, sizeof(row->queues), agent->queues);
    wire_copy(row->marks, sizeof(row->marks), agent->marks);
}

static void host_row_fill(const struct conductor_parts *parts, const struct agent_view *agent,
                          duopoly_HostRow *row)
{
    struct host_view host;
    bool known = engine_host(parts->engine, agent->host, &host) == 0;
    wire_copy(row->name, sizeof(row->name), agent->name);
    wire_copy(row->rack, sizeof(row->rack), agent->rack);
    wire_copy(row->state, sizeof(row->state), listing_state(agent, known ? &host : NULL));
    row->boot = agent->boot;
    row->role = agent->is_switch ? duopoly_Role_ROLE_SWITCH : duopoly_Role_ROLE_HOST;
    row->silent_ns =
        agent->state == AGENT_UNMARKED ? 0 : clock_now_ns(parts->clock) - agent->heard_ns;
    row->gone = listing_gone(agent, clock_now_ns(parts->clock), row->text, sizeof(row->text));
    if (!row->gone)
        said_fill(agent, row);
    if (agent->state == AGENT_LOST && agent->lost_ns)
        row->lost_ns = clock_now_ns(parts->clock) - agent->lost_ns;
    if (!known)
        return;
    row->has_total = row->has_free = true;
    row->total = resources_to_wire(&host.total);
    row->free = resources_to_wire(&host.free);
    row->running = host.running;
    row->receiving = host.receiving;
    if (row->gone)
        return;
    row->uplink_permille = host.uplink_permille;
    row->downlink_permille = host.downlink_permille;
    row->has_disk_permille = row->has_disk_readers = host.disk_bytes_s > 0;
    row->disk_permille = host.disk_permille;
    row->disk_readers = host.disk_readers;
    row->disk_hangs = host.disk_hangs;
    row->has_disk_read_bytes_s = host.disk_bytes_s > 0;
    row->disk_read_bytes_s = agent->disk_read_bytes_s;
    host_note(parts, &host, row);
    if (host.disk_hangs)
        disk_note(row);
    if (!*row->text)
        wire_copy(row->text, sizeof(row->text), agent->cut);
    if (agent->state == AGENT_FULL)
        wire_copy(row->text, sizeof(row->text), agent->no_room);
    if (agent->state == AGENT_UNMARKED)
        wire_copy(row->text, sizeof(row->text), "no agent: unmarked");
}

static void host_row(const struct conductor_parts *parts, const struct agent_view *agent,
                     duopoly_HostRow *row)
{
    host_row_fill(parts, agent, row);
    refused_note(agent, row);
    claims_note(agent, row);
    time_note(agent, row);
}

static void hosts_page(const struct conductor_parts *parts, const duopoly_List *list,
                       struct sieve *sieve, duopoly_Page *page)
{
    const struct agents *agents = parts->agents;
    const struct listing_order order = listing_agents(agents);
    uint32_t row, place = listing_resume(&order, list->cursor, &row);
    struct agent_view agent;
    for (; agents_at(agents, place, &agent) == 0; place++) {
        if (page->hosts_count == MOST(page->hosts) || sieve_is_worn(sieve)) {
            page->cursor = listing_cursor(&order, place, 0);
            return;
        }
        host_row(parts, &agent, &page->hosts[page->hosts_count]);
        page->hosts_count += sieve_keeps(sieve, &page->hosts[page->hosts_count]);
    }
}

/* An active job, or one that ended recently. */
static bool is_known(const struct conductor_parts *parts, uint64_t number)
{
    struct job_view job;
    return engine_job(parts->engine, number, &job) == 0 || history_job(parts->history, number);
}

/* Lists that have pages of their own kind. */
static void (*const own_pages[])(const struct conductor_parts *, const duopoly_List *,
                                 struct sieve *, duopoly_Envelope *) = {
    [duopoly_ListOf_LIST_SWITCHES] = listing_switches,
    [duopoly_ListOf_LIST_SWITCH_PORTS] = listing_switches,
    [duopoly_ListOf_LIST_SWITCH_STEPS] = listing_switches,
    [duopoly_ListOf_LIST_LINKS] = listing_links,
    [duopoly_ListOf_LIST_GUESTS] = listing_guests,
    [duopoly_ListOf_LIST_UNITS] = listing_units,
    [duopoly_ListOf_LIST_USERS] = listing_users,
    [duopoly_ListOf_LIST_DEBTS] = listing_debts,
    [duopoly_ListOf_LIST_SHARES] = listing_shares,
    [duopoly_ListOf_LIST_ARCS] = listing_arcs,
    [duopoly_ListOf_LIST_COMBINATIONS] = listing_combinations,
    [duopoly_ListOf_LIST_CONFIG] = listing_config,
    [duopoly_ListOf_LIST_CONFIG_CHANGES] = listing_config_changes,
    [duopoly_ListOf_LIST_HISTORY] = listing_history,
    [duopoly_ListOf_LIST_MACROFLOWS] = listing_macroflows,
    [duopoly_ListOf_LIST_COFLOWS] = listing_coflows,
    [duopoly_ListOf_LIST_MODES] = listing_modes,
};

/* Lists whose rows stand in a Page. False: there is no such list. */
static bool page_fill(const struct listing_sources *sources, const duopoly_List *list,
                      struct sieve *sieve, duopoly_Page *page)
{
    const struct conductor_parts *parts = sources->parts;
    switch (list->of) {
    case duopoly_ListOf_LIST_JOBS:
        if (list->in_turn && !list->job)
            jobs_in_turn_page(parts, list, sieve, page);
        else
            jobs_page(parts, list, sieve, page);
        return true;
    case duopoly_ListOf_LIST_TASKS:
        if (list->job && list->finished && history_job(parts->history, list->job))
            ended_tasks_page(parts, list, sieve, page);
        else if (list->job)
            job_tasks_page(parts, list, sieve, page);
        else
            running_page(parts, list, sieve, page);
        return true;
    case duopoly_ListOf_LIST_KEYS:
        page->cursor = keys_page(sources->door, list->cursor, sieve, page);
        return true;
    case duopoly_ListOf_LIST_HOSTS:
        hosts_page(parts, list, sieve, page);
        return true;
    case duopoly_ListOf_LIST_COUNTERS:
        counters_page(sources, list, sieve, page);
        return true;
    default:
        return false;
    }
}

void listing_page(const struct listing_sources *sources, const duopoly_List *list,
                  const struct sieve_bounds *bounds, duopoly_Envelope *answer)
{
    const struct conductor_parts *parts = sources->parts;
    duopoly_Page *page = &wire_begin(answer, duopoly_Envelope_page_tag)->body.page;
    struct sieve sieve;
    page->version = list->cursor ? list->version : parts->version;
    page->changed = page->version != parts->version;
    bool of_job = list->of == duopoly_ListOf_LIST_JOBS || list->of == duopoly_ListOf_LIST_TASKS;
    if (of_job && list->job && !is_known(parts, list->job)) {
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN, "there is no job %" PRIu64,
                       list->job);
        return;
    }
    if (!sieve_open(&sieve, list_find(list->of), list->filter, bounds, answer))
        return;
    sieve.now_ns = clock_now_ns(parts->clock);
    if ((size_t)list->of < sizeof(own_pages) / sizeof(*own_pages) && own_pages[list->of])
        own_pages[list->of](parts, list, &sieve, answer);
    else if (!page_fill(sources, list, &sieve, page))
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "this controller has no such list");
}
