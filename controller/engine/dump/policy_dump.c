/* States of policies in a dump: one record per state with fields, which names the policy.
 *
 *   policy question=place name=random of=engine draws=17
 *   policy question=network name=NAME of=stage job=3 stage=1 FIELDS */
#include "controller/engine/base/job_stages.h"
#include "controller/engine/base/numbered.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/policy/policy.h"

#include <errno.h>
#include <string.h>

#define KIND "policy"

struct head {
    char question[ENGINE_NAME_MAX], name[ENGINE_NAME_MAX], of[ENGINE_NAME_MAX];
};
static const struct field head_fields[] = {
    FIELD_OF(head, question, CHARS), FIELD_OF(head, name, CHARS), FIELD_OF(head, of, CHARS), {0}};

struct identity {
    uint64_t job, attempt;
    uint32_t stage, task, host, variant;
};
#define JOB     FIELD_OF(identity, job, U64)
#define STAGE   FIELD_OF(identity, stage, U32)
#define TASK    FIELD_OF(identity, task, U32)
#define VARIANT FIELD_LEAN(identity, variant, U32)
#define HOST    FIELD_OF(identity, host, U32)
#define ATTEMPT FIELD_OF(identity, attempt, U64)

static const struct {
    const char *word;
    struct field identity[4];
} things[POLICY_THINGS] = {
    [POLICY_ENGINE] = {"engine", {{0}}},
    [POLICY_JOB] = {"job", {JOB}},
    [POLICY_STAGE] = {"stage", {JOB, STAGE, VARIANT}},
    [POLICY_TASK] = {"task", {JOB, STAGE, TASK}},
    [POLICY_HOST] = {"host", {HOST}},
    [POLICY_ATTEMPT] = {"attempt", {ATTEMPT}},
};

struct policy_dumper {
    const struct engine *engine;
    char *buffer;
    int (*put)(void *context, const char *line, size_t length);
    void *context;
    enum question question;
    int error;
};

static void put_state(struct policy_dumper *d, enum policy_thing thing, struct identity identity,
                      const void *state)
{
    const struct policy *policy = d->engine->policies[d->question];
    const struct policy_state *kind = &policy->state[thing];
    const struct field *fields = kind->fields;
    struct head head;
    if (!fields || !state || d->error || (kind->keeps && !kind->keeps(state)))
        return;
    strcpy(head.question, policy_question_name(d->question));
    strcpy(head.name, policy->name);
    strcpy(head.of, things[thing].word);
    strcpy(d->buffer, KIND);
    int length =
        field_encode_more(head_fields, &head, d->buffer, RECORD_MAX, (int)strlen(d->buffer));
    length = field_encode_more(things[thing].identity, &identity, d->buffer, RECORD_MAX, length);
    length = field_encode_more(fields, state, d->buffer, RECORD_MAX, length);
    d->error = length < 0 ? length : d->put(d->context, d->buffer, (size_t)length);
}

static void put_stage(struct policy_dumper *d, const struct stage *stage)
{
    size_t size = d->engine->policies[d->question]->state[POLICY_TASK].size;
    struct identity identity = {
        .job = stage->job->number, .stage = stage->index, .variant = stage->variant};
    put_state(d, POLICY_STAGE, identity, stage->kept[d->question]);
    for (uint32_t t = 0; stage->kept_tasks[d->question] && t < stage->n_tasks; t++) {
        identity.task = t;
        put_state(d, POLICY_TASK, identity, policy_of_task(&stage->tasks[t], d->question, size));
    }
}

static void put_policy(struct policy_dumper *d)
{
    const struct engine *engine = d->engine;
    const struct sorted_node *node;
    put_state(d, POLICY_ENGINE, (struct identity){0}, engine->kept[d->question]);
    for (uint32_t i = 0; i < engine->n_hosts; i++)
        if (engine->hosts[i])
            put_state(d, POLICY_HOST, (struct identity){.host = i},
                      engine->hosts[i]->kept[d->question]);
    for (node = sorted_first(&engine->jobs); node; node = sorted_next(node)) {
        const struct job *job = container_of(node, struct job, by_number);
        put_state(d, POLICY_JOB, (struct identity){.job = job->number}, job->kept[d->question]);
        for (uint32_t s = 0; s < job->n_stages; s++) {
            put_stage(d, job->stages[s]);
            for (uint32_t i = 0; i < job->stages[s]->n_others; i++)
                put_stage(d, job->stages[s]->others[i]);
        }
    }
    const struct attempt *attempt;
    for (attempt = numbered_after(&engine->attempts, 0); attempt;
         attempt = numbered_after(&engine->attempts, attempt->number))
        put_state(d, POLICY_ATTEMPT, (struct identity){.attempt = attempt->number},
                  attempt->kept[d->question]);
}

int policy_dump(const struct engine *engine, char *buffer,
                int (*put)(void *context, const char *line, size_t length), void *context)
{
    struct policy_dumper d = {.engine = engine, .buffer = buffer, .put = put, .context = context};
    for (d.question = 0; d.question < QUESTIONS; d.question++)
        put_policy(&d);
    return d.error;
}

bool policy_is_record(const char *line)
{
    return strncmp(line, KIND " ", sizeof(KIND)) == 0;
}

/* The state of the thing and the thing itself; NULL when there is no such thing or state. */
static void *find_state(struct engine *engine, enum question q, enum policy_thing thing,
                        const struct identity *identity, union policy_of *ret_of)
{
    struct job *job = job_find(engine, identity->job);
    struct stage *first = job ? job_stage_at(job, identity->stage) : NULL;
    struct stage *stage =
        first && identity->variant <= first->n_others ? variant_of(first, identity->variant) : NULL;
    struct task *task =
        stage && identity->task < stage->n_tasks ? &stage->tasks[identity->task] : NULL;
    size_t size = engine->policies[q]->state[thing].size;
    switch (thing) {
    case POLICY_ENGINE:
        ret_of->engine = engine;
        return engine->kept[q];
    case POLICY_JOB:
        ret_of->job = job;
        return job ? job->kept[q] : NULL;
    case POLICY_STAGE:
        ret_of->stage = stage;
        return stage ? stage->kept[q] : NULL;
    case POLICY_TASK:
        ret_of->task = task;
        return task && task->stage->kept_tasks[q] ? policy_of_task(task, q, size) : NULL;
    case POLICY_HOST:
        ret_of->host = cluster_host(engine, identity->host);
        return ret_of->host ? ret_of->host->kept[q] : NULL;
    default:
        ret_of->attempt = attempt_find(engine, identity->attempt);
        return ret_of->attempt ? ret_of->attempt->kept[q] : NULL;
    }
}

static int find_head(const struct engine *engine, const struct head *head,
                     enum question *ret_question, enum policy_thing *ret_thing, struct err *err)
{
    enum question q = policy_question(head->question);
    enum policy_thing thing = 0;
    while (thing < POLICY_THINGS && strcmp(things[thing].word, head->of) != 0)
        thing++;
    if (q == QUESTIONS || strcmp(engine->policies[q]->name, head->name) != 0)
        return err_set(err, EINVAL, "no policy %s is in force for the question \"%s\"", head->name,
                       head->question);
    if (thing == POLICY_THINGS || !engine->policies[q]->state[thing].fields)
        return err_set(err, EINVAL, "policy %s keeps nothing of \"%s\" in a dump", head->name,
                       head->of);
    *ret_question = q;
    *ret_thing = thing;
    return 0;
}

int policy_load(struct engine *engine, const char *line, struct err *err)
{
    const char *at = line + strlen(KIND);
    struct head head;
    struct identity identity = {0};
    union policy_of of;
    enum question q = 0;
    enum policy_thing thing = 0;
    int r = field_decode_some(KIND, head_fields, &at, NULL, &head, err);
    r = r < 0 ? r : find_head(engine, &head, &q, &thing, err);
    r = r < 0 ? r : field_decode_some(KIND, things[thing].identity, &at, NULL, &identity, err);
    if (r < 0)
        return r;
    const struct policy_state *kind = &engine->policies[q]->state[thing];
    void *state = find_state(engine, q, thing, &identity, &of);
    if (!state)
        return err_set(err, EINVAL, "policy %s keeps something with no known %s", head.name,
                       head.of);
    r = field_decode_some(KIND, kind->fields, &at, NULL, state, err);
    r = r < 0 ? r : field_decode_end(KIND, at, err);
    if (r == 0 && kind->load)
        kind->load(engine, of, state);
    return r;
}

void policy_load_former(struct engine *engine, const char *name, uint64_t value)
{
    for (enum question q = 0; q < QUESTIONS; q++) {
        const struct policy_state *kind = &engine->policies[q]->state[POLICY_ENGINE];
        for (const struct field *field = kind->fields; field && field->type; field++)
            if (field->type == FIELD_U64 && strcmp(field->member, name) == 0)
                memcpy((char *)engine->kept[q] + field->offset, &value, sizeof(value));
    }
}
