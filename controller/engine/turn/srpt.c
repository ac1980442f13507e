/* Shortest remaining processing time: the SJF key (estimate.h) over what is left. A map's part is
 * removed when it is done, a reduce task's bytes when it has received them; both return when the
 * output is lost or the task runs again. Of a submitter's own estimates the same share is left.
 *
 * No job starves. A job's key includes a part of its submission time, so that of two jobs the one
 * submitted AGEING times the other's key later is behind it whatever its size. So a job with key K
 * is before all jobs that are submitted over AGEING · K after it; those before it were submitted
 * earlier, which is a bounded amount of work. (K grows when outputs are lost.) As a part of the key
 * and not of the waiting time, ageing moves no job by itself. */
#include "controller/engine/base/say.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/turn/turn.h"

__extension__ typedef unsigned __int128 wide;

/* WHY 100: on the Facebook trace 10 costs 14 % of the mean, 30 nothing, 100 and 300 gain a
 * little. */
enum { AGEING = 100 };

struct srpt_job {
    uint64_t maps;  /* not done */
    wide work_ns;   /* of these */
    uint64_t bytes; /* of reduce tasks that have not received */
};
struct srpt_task {
    bool past; /* nothing of it is left */
};

/* It has an accepted attempt, or a live one with all its input. */
static bool is_past(const struct task *task)
{
    const struct attempt *attempt = task->bytes ? task->attempts : NULL;
    while (attempt && attempt->state != ATTEMPT_COMPUTING)
        attempt = attempt->next_of_task;
    return task_state(task) == TASK_DONE || attempt;
}

static void count(struct srpt_job *left, const struct task *task, bool past)
{
    if (task->bytes) {
        left->bytes += past ? -task->bytes : task->bytes;
        return;
    }
    left->maps += past ? -UINT64_C(1) : 1;
    wide work_ns = variant_work_ns(task);
    left->work_ns += past ? -work_ns : work_ns;
}

/* Begins with everything left: tasks follow. */
static void init_job(struct engine *engine, union policy_of of, void *state)
{
    (void)engine;
    if (!of.job->framework)
        *(struct srpt_job *)state =
            (struct srpt_job){of.job->maps, of.job->maps_ns, of.job->shuffle_bytes};
    for (uint32_t s = 0; of.job->framework && s < of.job->n_stages; s++)
        for (uint32_t t = 0; t < of.job->stages[s]->n_tasks; t++)
            count(state, &of.job->stages[s]->tasks[t], false);
}

static void look(struct task *task, struct srpt_task *kept)
{
    bool past = is_past(task);
    if (past != kept->past)
        count(task->stage->job->kept[QUESTION_TURN], task, past);
    kept->past = past;
}

static void init_task(struct engine *engine, union policy_of of, void *state)
{
    (void)engine;
    look(of.task, state);
}

static void task_moved(struct engine *engine, struct task *task, enum task_state before)
{
    (void)engine;
    (void)before;
    look(task, policy_of_task(task, QUESTION_TURN, sizeof(struct srpt_task)));
}

static void task_counts(struct engine *engine, struct task *task, bool in)
{
    struct srpt_task *kept = policy_of_task(task, QUESTION_TURN, sizeof(struct srpt_task));
    (void)engine;
    if (in) {
        kept->past = false;
        count(task->stage->job->kept[QUESTION_TURN], task, false);
        look(task, kept);
    } else if (!kept->past) {
        count(task->stage->job->kept[QUESTION_TURN], task, true);
    }
}

static void attempt_moved(struct engine *engine, struct task *task, struct attempt *attempt)
{
    (void)attempt;
    task_moved(engine, task, task_state(task));
}

/* The parts of a job's key. */
struct srpt_key {
    wide maps_ns, bytes_ns, age_ns;
};

static struct srpt_key key_of(const struct engine *engine, const struct job *job)
{
    bool ages = engine->turn == &turn_srpt;
    const struct srpt_job *left = job->kept[QUESTION_TURN];
    wide work_ns =
        job->estimate_ns >= 0 ? (wide)left->maps * (uint64_t)job->estimate_ns : left->work_ns;
    wide bytes = left->bytes;
    if (job->estimate_bytes >= 0 && job->shuffle_bytes)
        bytes = bytes * (uint64_t)job->estimate_bytes / job->shuffle_bytes;
    else if (job->estimate_bytes >= 0)
        bytes = (uint64_t)job->estimate_bytes;
    return (struct srpt_key){
        .maps_ns = work_ns / (engine->keyed_slots ? engine->keyed_slots : 1),
        .bytes_ns = bytes * 8 * 1000000000u / (engine->keyed_bps ? engine->keyed_bps : 1),
        .age_ns = ages && job->submitted_ns > 0 ? (uint64_t)job->submitted_ns / AGEING : 0};
}

static uint64_t number(const struct engine *engine, const struct job *job)
{
    struct srpt_key key = key_of(engine, job);
    wide ns = key.maps_ns + key.bytes_ns + key.age_ns;
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static void explain(const struct engine *engine, const struct job *job,
                    struct engine_explanation *e)
{
    struct srpt_key key = key_of(engine, job);
    say(e,
        "what is left of it is %.3f s of maps on all slots and %.3f s of transfers on all "
        "links, and %.3f s count for when it came",
        (double)key.maps_ns / 1e9, (double)key.bytes_ns / 1e9, (double)key.age_ns / 1e9);
}

#define SRPT(word)                                                                                 \
    {                                                                                              \
        .policy = {.name = (word),                                                                 \
                   .state = {[POLICY_JOB] = {.size = sizeof(struct srpt_job), .init = init_job},   \
                             [POLICY_TASK] = {.size = sizeof(struct srpt_task),                    \
                                              .init = init_task}},                                 \
                   .hears.task_moved = task_moved,                                                 \
                   .hears.task_counts = task_counts,                                               \
                   .hears.attempt_moved = attempt_moved},                                          \
        .number = number, .explain = explain                                                       \
    }
const struct turn_policy turn_srpt = SRPT("srpt");
const struct turn_policy turn_srpt_ageless = SRPT("srpt-ageless");
