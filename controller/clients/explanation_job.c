#include "controller/clients/explanation_job.h"

#include "controller/clients/explanation_words.h"
#include "lib/plural.h"
#include "lib/wire.h"

#include <inttypes.h>
#include <stdio.h>

/* Of more stages the facts leave out those that took least. */
enum { STAGES_TOLD = 16 };

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static int64_t time_of(const struct stage_split *stage)
{
    int64_t sum_ns = 0;
    for (int part = 0; part < SPLIT_PARTS; part++)
        sum_ns += stage->ns[part];
    return sum_ns;
}

static void parts_facts(duopoly_Explanation *out, const struct job_split *split)
{
    char name[32];
    explanation_fact(out, "lasted_s", "%.3f", seconds(split->lasted_ns));
    for (int part = 0; part < SPLIT_PARTS; part++) {
        snprintf(name, sizeof(name), "%s_s", split_part_name((enum split_part)part));
        explanation_fact(out, name, "%.3f", seconds(split->ns[part]));
    }
    explanation_fact(out, "idle_s", "%.3f", seconds(split->idle_ns));
    explanation_fact(out, "unknown_s", "%.3f", seconds(split->unknown_ns));
    explanation_fact(out, "received_bytes", "%" PRIu64, split->received_bytes);
}

static void stage_fact(duopoly_Explanation *out, const struct stage_split *stage)
{
    char name[32], value[sizeof(out->facts[0].value)];
    size_t n = (size_t)snprintf(value, sizeof(value), "%" PRIu32 " task%s", stage->tasks,
                                plural(stage->tasks));
    for (int part = 0; part < SPLIT_PARTS && n < sizeof(value); part++)
        if (stage->ns[part])
            n += (size_t)snprintf(value + n, sizeof(value) - n, ", %s %.3f s",
                                  split_part_name((enum split_part)part), seconds(stage->ns[part]));
    if (stage->why && n < sizeof(value))
        snprintf(value + n, sizeof(value) - n, " (held: %s)", reason_name(stage->why));
    snprintf(name, sizeof(name), "stage_%" PRIu32, stage->stage);
    explanation_fact(out, name, "%s", value);
}

/* How many stages took more. */
static uint32_t rank_of(const struct job_split *split, uint32_t at)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < split->n_stages; i++) {
        const int64_t other = time_of(&split->stages[i]), own = time_of(&split->stages[at]);
        n += other > own || (other == own && i < at);
    }
    return n;
}

static void split_say(duopoly_Explanation *out, const struct job_split *split, bool ended)
{
    char text[768];
    engine_say_split(split, ended, text, sizeof(text));
    explanation_say(out, " %s", text);
    parts_facts(out, split);
    for (uint32_t i = 0; i < split->n_stages; i++)
        if (rank_of(split, i) < STAGES_TOLD)
            stage_fact(out, &split->stages[i]);
}

static void turn_say(const struct conductor_parts *parts, const struct job_view *job,
                     duopoly_Explanation *out)
{
    struct engine_explanation turn;
    if (job->held_by)
        explanation_say(out, " It is held by %s.", job->held_by);
    if (engine_explain_turn(parts->engine, job->job, &turn) < 0)
        return;
    explanation_say(out, " ");
    explanation_take(out, &turn);
}

static void end_facts(const struct conductor_parts *parts, const struct job_view *job,
                      duopoly_Explanation *out)
{
    explanation_fact(out, "ended_s_ago", "%.3f",
                     seconds(clock_now_ns(parts->clock) - job->finished_ns));
    if (job->evictions)
        explanation_fact(out, "evictions", "%" PRIu64, job->evictions);
}

static void split_of(const struct conductor_parts *parts, const struct job_view *job,
                     struct stage_split *room, duopoly_Explanation *out)
{
    const bool ended = job->state > JOB_ACTIVE;
    const struct job_split *kept = ended ? history_split(parts->history, job->job) : NULL;
    struct job_split split;
    if (kept)
        split_say(out, kept, true);
    else if (!ended &&
             engine_split(parts->engine, job->job, clock_now_ns(parts->clock), room, &split) == 0)
        split_say(out, &split, false);
    else if (ended)
        explanation_say(out, " It lasted %.3f s; where its time went is not kept.",
                        seconds(job->finished_ns - job->submitted_ns));
}

bool explanation_job(const struct conductor_parts *parts, uint64_t number, duopoly_Envelope *answer)
{
    struct stage_split room[SPLIT_STAGES];
    char state[HISTORY_WORDS + 64];
    struct job_view job;
    if (engine_job(parts->engine, number, &job) < 0)
        return false;
    duopoly_Explanation *out =
        &wire_begin(answer, duopoly_Envelope_explanation_tag)->body.explanation;
    fact_say_state(parts->history, &job, state, sizeof(state));
    explanation_say(out, "Job %" PRIu64 " (%s) is %s.", job.job, job.name, state);
    explanation_fact(out, "job_state", "%s", job_state_name(job.state));
    explanation_fact(out, "task_count", "%" PRIu64, job.tasks);
    split_of(parts, &job, room, out);
    if (job.state > JOB_ACTIVE)
        end_facts(parts, &job, out);
    else
        turn_say(parts, &job, out);
    return true;
}
