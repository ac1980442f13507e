/* duopoly-sim explain: what the engine decided about a task of a recorded run, or when it changed
 * the mode, and why; where a job's time went. */
#include "lib/printable.h"
#include "testbed/sim/cluster/recording_replay.h"
#include "testbed/sim/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ATTEMPTS_MAX = 64 };

struct question {
    bool modes; /* about the mode; */
    bool whole; /* about a job as a whole; else about a task: */
    uint64_t job;
    uint32_t stage, task;
    uint64_t attempts[ATTEMPTS_MAX]; /* its newest */
    size_t n_attempts;
    uint64_t allow; /* in force, of a framework's task; 0: none */
    unsigned answers;
};

static void say_when(struct question *q, int64_t now_ns)
{
    q->answers++;
    printf("at %.3f s: ", (double)now_ns * 1e-9);
}

static void explain(struct question *q, int64_t now_ns, const struct engine *engine)
{
    struct engine_explanation e;
    if (engine_explain(engine, q->job, q->stage, q->task, &e))
        return;
    say_when(q, now_ns);
    printable_put(e.text, stdout);
    putchar('\n');
    for (uint32_t i = 0; i < e.facts; i++) {
        printable_clean(e.fact[i].value);
        printf("  %-32s %s\n", e.fact[i].name, e.fact[i].value);
    }
}

static bool is_attempt(const struct question *q, uint64_t attempt)
{
    size_t n = q->n_attempts < ATTEMPTS_MAX ? q->n_attempts : ATTEMPTS_MAX;
    for (size_t i = 0; i < n; i++)
        if (q->attempts[i] == attempt)
            return true;
    return false;
}

static void remember(struct question *q, uint64_t attempt)
{
    q->attempts[q->n_attempts++ % ATTEMPTS_MAX] = attempt;
}

/* The task as its framework knows it; names of its jobs begin with their application's. */
static void say_framework(const struct question *q, const struct engine *engine)
{
    struct job_view job = {.name = ""};
    engine_job(engine, q->job, &job);
    printf("  %-32s ", "framework's name");
    printable_put(job.name, stdout);
    printf(", partition %u\n", q->task);
}

/* The lower half of a framework's attempt number is the framework's own number of it
 * (controller/frameworks). */
static void allow_ended(struct question *q, int64_t now_ns, const struct engine *engine,
                        const struct decision *d)
{
    struct task_view task;
    q->allow = 0;
    say_when(q, now_ns);
    if ((d->reason == REASON_USED || d->reason == REASON_ELSEWHERE) &&
        engine_task(engine, q->job, q->stage, q->task, &task) == 0 && task.state == TASK_RUNNING) {
        remember(q, task.attempt);
        printf("Its framework starts it on host %u as its task %" PRIu32 ".\n", task.host,
               (uint32_t)task.attempt);
    } else {
        printf("May not start on host %u any more: %s.\n", d->allow_end.host,
               reason_name(d->reason));
    }
}

static void about_frameworks_task(struct question *q, int64_t now_ns, const struct engine *engine,
                                  const struct decision *d)
{
    if (d->kind == DECISION_ALLOW && d->allow.job == q->job && d->allow.stage == q->stage &&
        d->allow.task == q->task) {
        q->allow = d->allow.allow;
        remember(q, q->allow);
        explain(q, now_ns, engine);
        say_framework(q, engine);
    } else if (d->kind == DECISION_ALLOW_END && q->allow && d->allow_end.allow == q->allow) {
        allow_ended(q, now_ns, engine, d);
    } else if (d->kind == DECISION_OPEN && d->open.job == q->job && d->open.stage == q->stage) {
        say_when(q, now_ns);
        printf("Its stage is left to its framework: %s (%" PRId64 ").\n", reason_name(d->reason),
               d->left);
    } else if (d->kind == DECISION_BIND && d->bind.job == q->job && d->bind.stage == q->stage) {
        say_when(q, now_ns);
        printf("Tasks of its stage start where they are allowed: on one host its job takes %.1f s; "
               "spread, it would take and cost those behind it %.1f s.\n",
               (double)d->left * 1e-9, (double)d->right * 1e-9);
    }
}

static void about_task(struct question *q, int64_t now_ns, const struct engine *engine,
                       const struct decision *d)
{
    if (d->kind == DECISION_START && d->start.job == q->job && d->start.stage == q->stage &&
        d->start.task == q->task) {
        remember(q, d->start.attempt);
        explain(q, now_ns, engine);
    } else if (d->kind == DECISION_HOLD && d->hold.job == q->job && d->hold.stage == q->stage) {
        explain(q, now_ns, engine);
    } else if (d->kind == DECISION_STOP && is_attempt(q, d->stop.attempt)) {
        say_when(q, now_ns);
        printf("Stopped on host %u: %s", d->stop.host, reason_name(d->reason));
        if (d->stop.by_job)
            printf(", for task %" PRIu64 "/%u/%u", d->stop.by_job, d->stop.by_stage,
                   d->stop.by_task);
        printf(".\n");
    } else if (d->kind == DECISION_LEVEL && is_attempt(q, d->level.attempt)) {
        say_when(q, now_ns);
        printf("Goes on at level %" PRIu64 " as part of its Coflow, %" PRIu64
               " as Macroflow: %s (%" PRId64 ", %" PRId64 ").\n",
               d->level.coflow_level, d->level.macroflow_level, reason_name(d->reason), d->left,
               d->right);
    } else {
        about_frameworks_task(q, now_ns, engine, d);
    }
}

static void about_mode(struct question *q, int64_t now_ns, const struct engine *engine,
                       const struct decision *d)
{
    char use[160];
    struct engine_explanation why;
    if (d->kind != DECISION_MODE)
        return;
    say_when(q, now_ns);
    engine_say_mode_use(engine, use, sizeof(use));
    engine_say_mode_why(engine, d, &why);
    printf("%s, since %s (%s); it tells %s\n", mode_name((enum mode)d->mode.mode), why.text,
           reason_name(d->reason), use);
}

static void about_job(struct question *q, int64_t now_ns, const struct engine *engine,
                      const struct decision *d)
{
    struct job_split split;
    char text[768];
    bool over = (d->kind == DECISION_JOB_DONE && d->job_done.job == q->job) ||
                (d->kind == DECISION_JOB_FAILED && d->job_failed.job == q->job);
    if (!over || engine_split(engine, q->job, now_ns, NULL, &split) < 0)
        return;
    engine_say_split(&split, true, text, sizeof(text));
    say_when(q, now_ns);
    printf("Job %" PRIu64 " is %s. %s\n", q->job,
           d->kind == DECISION_JOB_DONE ? "done" : reason_name(d->reason), text);
}

static void watch(void *user, int64_t now_ns, const struct engine *engine,
                  const struct decisions *decisions)
{
    struct question *q = user;
    for (size_t i = 0; i < decisions->n; i++)
        if (q->modes)
            about_mode(q, now_ns, engine, &decisions->at[i]);
        else if (q->whole)
            about_job(q, now_ns, engine, &decisions->at[i]);
        else
            about_task(q, now_ns, engine, &decisions->at[i]);
}

static bool question_read(const char *word, struct question *q)
{
    char rest;
    q->modes = strcmp(word, "mode") == 0;
    q->whole = sscanf(word, "%" SCNu64 "%c", &q->job, &rest) == 1;
    return q->modes || q->whole ||
           sscanf(word, "%" SCNu64 "/%u/%u%c", &q->job, &q->stage, &q->task, &rest) == 3;
}

static void nothing_say(const struct question *q, const char *recording, const char *word)
{
    if (q->modes)
        fprintf(stderr, "duopoly-sim explain: the mode never changes in %s\n", recording);
    else if (q->whole)
        fprintf(stderr, "duopoly-sim explain: job %s does not end in %s\n", word, recording);
    else
        fprintf(stderr, "duopoly-sim explain: %s neither starts nor holds task %s\n", recording,
                word);
}

static int run(int argc, char **argv)
{
    struct question q = {0};
    if (argc != 3 || !question_read(argv[2], &q)) {
        fprintf(stderr, "duopoly-sim explain: give a recording and a task as JOB/STAGE/TASK, a job "
                        "as its number, or mode\n");
        return 2;
    }
    FILE *recording = fopen(argv[1], "r");
    if (!recording) {
        fprintf(stderr, "duopoly-sim explain: cannot open %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    struct recording_replay_result result;
    struct err err = {0};
    int r = recording_replay_watched(recording, NULL, watch, &q, &result, &err);
    fclose(recording);
    if (r >= 0 && result.torn)
        fprintf(stderr, "duopoly-sim explain: %s: its last line is torn and left out\n", argv[1]);
    if (r < 0)
        fprintf(stderr, "duopoly-sim explain: %s: %s\n", argv[1], err.text);
    else if (result.first_difference_line)
        fprintf(stderr,
                "duopoly-sim explain: %s:%" PRIu64 ": the engine decides otherwise than "
                "recorded, what follows is not explained\n",
                argv[1], result.first_difference_line);
    else if (!q.answers)
        nothing_say(&q, argv[1], argv[2]);
    return r < 0 || result.first_difference_line || !q.answers;
}

const struct command command_explain = {
    .name = "explain",
    .what =
        "why a task of a recorded run started where it did, waited or was stopped; where a job's "
        "time went; why the mode changed",
    .usage = "explain FILE JOB/STAGE/TASK|JOB|mode",
    .run = run,
};
