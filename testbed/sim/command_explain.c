/* duopoly-sim explain: why a task of a recorded run started where it did. */
#include "testbed/sim/commands.h"
#include "testbed/sim/log_replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct question {
    uint64_t job;
    uint32_t stage, task;
    unsigned starts;
};

static void answer(struct question *q, int64_t now_ns, const struct engine *engine)
{
    struct engine_explanation e;
    if (engine_explain(engine, q->job, q->stage, q->task, &e))
        return;
    q->starts++;
    printf("at %.3f s: %s\n", (double)now_ns * 1e-9, e.text);
    for (uint32_t i = 0; i < e.facts; i++)
        printf("  %-32s %s\n", e.fact[i].name, e.fact[i].value);
}

static void watch(void *user, int64_t now_ns, const struct engine *engine,
                  const struct decisions *decisions)
{
    struct question *q = user;
    for (size_t i = 0; i < decisions->n; i++) {
        const struct decision *d = &decisions->at[i];
        if (d->kind == DECISION_START && d->start.job == q->job && d->start.stage == q->stage &&
            d->start.task == q->task)
            answer(q, now_ns, engine);
        if (d->kind == DECISION_HOLD && d->hold.job == q->job && d->hold.stage == q->stage)
            answer(q, now_ns, engine);
    }
}

static int run(int argc, char **argv)
{
    struct question q = {0};
    char rest;
    if (argc != 3 ||
        sscanf(argv[2], "%" SCNu64 ".%u.%u%c", &q.job, &q.stage, &q.task, &rest) != 3) {
        fprintf(stderr, "duopoly-sim explain: give a log file and a task as JOB.STAGE.TASK\n");
        return 2;
    }
    FILE *log = fopen(argv[1], "r");
    if (!log) {
        fprintf(stderr, "duopoly-sim explain: cannot open %s\n", argv[1]);
        return 1;
    }
    struct log_replay_result result;
    struct err err = {0};
    int rc = log_replay_watched(log, NULL, watch, &q, &result, &err);
    fclose(log);
    if (rc < 0)
        fprintf(stderr, "duopoly-sim explain: %s: %s\n", argv[1], err.text);
    else if (result.first_difference_line)
        fprintf(stderr,
                "duopoly-sim explain: %s:%" PRIu64 ": the engine decides otherwise than "
                "recorded, what follows is not explained\n",
                argv[1], result.first_difference_line);
    else if (!q.starts)
        fprintf(stderr, "duopoly-sim explain: %s neither starts nor holds task %s\n", argv[1],
                argv[2]);
    return rc < 0 || result.first_difference_line || !q.starts;
}

const struct command command_explain = {
    .name = "explain",
    .what = "why a task of a recorded run started where it did, or waited",
    .usage = "explain LOG JOB.STAGE.TASK",
    .run = run,
};
