#include "lib/client_submit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define TASKS_PER_PART                                                                             \
    (sizeof(((duopoly_SubmitTasks *)0)->tasks) / sizeof(((duopoly_SubmitTasks *)0)->tasks[0]))
#define BYTES_PER_PART                                                                             \
    (sizeof(((duopoly_SubmitBytes *)0)->bytes) / sizeof(((duopoly_SubmitBytes *)0)->bytes[0]))

/* One walk over a job's parts; the first walk hashes them, the second sends them. */
struct walk {
    struct client *client;
    const struct workload_job *job;
    int (*part)(struct walk *walk, struct err *err); /* takes client's request */
    XXH3_state_t *hash;
    uint8_t *buffer;
    uint32_t sent, answered;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static duopoly_Resources demand_of(const struct workload_demand *demand)
{
    return (duopoly_Resources){
        .slots = demand->slots,
        .cpu_milli = demand->cpu_milli,
        .mem_bytes = demand->mem_bytes,
        .gpu_milli = demand->gpu_milli,
        .gpu_mem_bytes = demand->gpu_mem_bytes,
        .io_bytes_s = demand->io_bytes_s,
    };
}

static duopoly_AtMost at_most_of(const struct workload_at_most *at_most)
{
    return (duopoly_AtMost){.host = at_most->host, .rack = at_most->rack};
}

static bool profile_fill(const struct workload_stage *stage, uint32_t variant,
                         duopoly_Profile *ret_profile)
{
    const struct profile profile = workload_profile_of(stage, variant);
    *ret_profile = (duopoly_Profile){.read_bytes = profile.read_bytes,
                                     .read_bytes_s = profile.read_bytes_s,
                                     .before = profile.before,
                                     .compute_ns = profile.compute_ns};
    return profile_is_known(&profile);
}

static void variant_fill(const struct workload_stage *stage, uint32_t index,
                         duopoly_Variant *ret_variant)
{
    const struct workload_variant *variant = &stage->variants[index];
    ret_variant->has_demand = true;
    ret_variant->demand = demand_of(&variant->demand);
    wire_copy(ret_variant->command, sizeof(ret_variant->command), variant->command);
    wire_copy(ret_variant->constraint, sizeof(ret_variant->constraint), variant->constraint);
    ret_variant->has_profile = profile_fill(stage, index + 1, &ret_variant->profile);
}

static int stage_part(struct walk *walk, uint32_t index, struct err *err)
{
    const struct workload_stage *stage = &walk->job->stages[index];
    duopoly_SubmitStage *part =
        &client_request(walk->client, duopoly_Envelope_submit_stage_tag)->body.submit_stage;
    if (stage->n_parents > sizeof(part->parents) / sizeof(part->parents[0]))
        return err_set(err, EINVAL, "stage %u has %u parents; the wire carries %zu", index,
                       stage->n_parents, sizeof(part->parents) / sizeof(part->parents[0]));
    part->stage = index;
    part->tasks = stage->tasks;
    part->has_demand = true;
    part->demand = demand_of(&stage->demand);
    part->variants_count = (pb_size_t)stage->n_variants;
    for (uint32_t i = 0; i < stage->n_variants; i++)
        variant_fill(stage, i, &part->variants[i]);
    part->has_profile = profile_fill(stage, 0, &part->profile);
    part->has_at_most = stage->at_most.host || stage->at_most.rack;
    part->at_most = at_most_of(&stage->at_most);
    part->prefer_count = (pb_size_t)stage->n_wishes;
    for (uint32_t i = 0; i < stage->n_wishes; i++) {
        part->prefer[i].utility = stage->wishes[i].utility;
        wire_copy(part->prefer[i].constraint, sizeof(part->prefer[i].constraint),
                  stage->wishes[i].constraint);
    }
    wire_copy(part->command, sizeof(part->command), stage->command);
    wire_copy(part->history, sizeof(part->history), stage->history);
    wire_copy(part->constraint, sizeof(part->constraint), stage->constraint);
    part->parents_count = (pb_size_t)stage->n_parents;
    for (uint32_t i = 0; i < stage->n_parents; i++) {
        part->parents[i].parent = stage->parents[i].parent;
        part->parents[i].kind = stage->parents[i].pipelined ? duopoly_EdgeKind_EDGE_PIPELINED
                                                            : duopoly_EdgeKind_EDGE_BARRIER;
    }
    return walk->part(walk, err);
}

static void task_fill(const struct workload_stage *stage, uint32_t task,
                      duopoly_TaskInput *ret_input)
{
    ret_input->input_bytes = stage->input_bytes ? stage->input_bytes[task] : 0;
    ret_input->compute_ns = stage->compute_ns ? stage->compute_ns[task] : 0;
    if (!stage->replicas)
        return;
    ret_input->replicas_count = stage->replicas[task].n;
    memcpy(ret_input->replicas, stage->replicas[task].hosts,
           stage->replicas[task].n * sizeof(ret_input->replicas[0]));
}

static int task_parts(struct walk *walk, uint32_t index, struct err *err)
{
    const struct workload_stage *stage = &walk->job->stages[index];
    int r = 0;
    for (uint32_t first = 0; first < stage->tasks && r == 0; first += TASKS_PER_PART) {
        duopoly_SubmitTasks *part =
            &client_request(walk->client, duopoly_Envelope_submit_tasks_tag)->body.submit_tasks;
        part->stage = index;
        part->first = first;
        part->tasks_count = (pb_size_t)least(stage->tasks - first, TASKS_PER_PART);
        for (uint32_t i = 0; i < part->tasks_count; i++)
            task_fill(stage, first + i, &part->tasks[i]);
        r = walk->part(walk, err);
    }
    return r;
}

/* How long they compute by a further variant, where the job says. */
static int work_parts(struct walk *walk, uint32_t index, uint32_t variant, struct err *err)
{
    const struct workload_stage *stage = &walk->job->stages[index];
    const uint64_t *compute_ns = stage->variants[variant - 1].compute_ns;
    int r = 0;
    for (uint32_t first = 0; compute_ns && first < stage->tasks && r == 0;
         first += TASKS_PER_PART) {
        duopoly_SubmitTasks *part =
            &client_request(walk->client, duopoly_Envelope_submit_tasks_tag)->body.submit_tasks;
        part->stage = index;
        part->first = first;
        part->variant = variant;
        part->tasks_count = (pb_size_t)least(stage->tasks - first, TASKS_PER_PART);
        for (uint32_t i = 0; i < part->tasks_count; i++)
            part->tasks[i].compute_ns = compute_ns[first + i];
        r = walk->part(walk, err);
    }
    return r;
}

static int byte_parts(struct walk *walk, uint32_t index, const struct workload_edge *edge,
                      struct err *err)
{
    const struct workload_stage *stage = &walk->job->stages[index];
    const uint64_t *bytes = edge->matrix ? edge->matrix : edge->sums;
    uint64_t n = edge->matrix ? (uint64_t)walk->job->stages[edge->parent].tasks * stage->tasks
                              : stage->tasks;
    int r = 0;
    for (uint64_t first = 0; bytes && first < n && r == 0; first += BYTES_PER_PART) {
        duopoly_SubmitBytes *part =
            &client_request(walk->client, duopoly_Envelope_submit_bytes_tag)->body.submit_bytes;
        part->stage = index;
        part->parent = edge->parent;
        part->first = (uint32_t)first;
        part->matrix = edge->matrix != NULL;
        part->bytes_count = (pb_size_t)least(n - first, BYTES_PER_PART);
        memcpy(part->bytes, bytes + first, part->bytes_count * sizeof(bytes[0]));
        r = walk->part(walk, err);
    }
    return r;
}

static int all_parts(struct walk *walk, struct err *err)
{
    int r = 0;
    for (uint32_t i = 0; i < walk->job->n_stages && r == 0; i++)
        r = stage_part(walk, i, err);
    for (uint32_t i = 0; i < walk->job->n_stages && r == 0; i++) {
        const struct workload_stage *stage = &walk->job->stages[i];
        r = task_parts(walk, i, err);
        for (uint32_t v = 1; v <= stage->n_variants && r == 0; v++)
            r = work_parts(walk, i, v, err);
        for (uint32_t parent = 0; parent < stage->n_parents && r == 0; parent++)
            r = byte_parts(walk, i, &stage->parents[parent], err);
    }
    return r;
}

static void begin_fill(const struct workload_job *job, uint64_t content,
                       duopoly_SubmitBegin *ret_begin)
{
    static const duopoly_JobKind kinds[] = {
        [WORKLOAD_BATCH] = duopoly_JobKind_JOB_BATCH,
        [WORKLOAD_STREAM] = duopoly_JobKind_JOB_STREAM,
        [WORKLOAD_UNKNOWN] = duopoly_JobKind_JOB_UNKNOWN,
    };
    wire_copy(ret_begin->name, sizeof(ret_begin->name), job->name);
    ret_begin->content = content;
    ret_begin->user = job->user;
    ret_begin->kind = kinds[job->kind];
    ret_begin->priority = job->priority;
    ret_begin->deadline_ns = job->deadline_ns;
    ret_begin->estimate_bytes = job->estimate_bytes;
    ret_begin->estimate_ns = -1;
    ret_begin->has_at_most = job->at_most.host || job->at_most.rack;
    ret_begin->at_most = at_most_of(&job->at_most);
}

static int part_hash(struct walk *walk, struct err *err)
{
    size_t length;
    int r = wire_encode(client_outgoing(walk->client), walk->buffer, WIRE_MAX_BYTES, &length, err);
    if (r == 0)
        XXH3_64bits_update(walk->hash, walk->buffer, length);
    return r;
}

static int part_answer(struct walk *walk, struct err *err)
{
    const duopoly_Envelope *answer;
    int r = client_answer(walk->client, duopoly_Envelope_submit_credit_tag, &answer, err);
    walk->answered++;
    return r;
}

static int part_send(struct walk *walk, struct err *err)
{
    int r = client_send(walk->client, err);
    walk->sent += r == 0;
    return r == 0 && walk->sent - walk->answered >= WIRE_PARTS ? part_answer(walk, err) : r;
}

/* Every part has its own answer. After a refusal the answers to parts under way are read too, so
 * that the connection stays usable. The first refusal is reported. */
static int answers_take(struct walk *walk, int r, struct err *err)
{
    struct err later;
    duopoly_Reason first = client_refusal(walk->client);
    while (walk->answered < walk->sent && (r == 0 || r == -EREMOTEIO)) {
        int code = part_answer(walk, r == 0 ? err : &later);
        if (r == 0)
            first = client_refusal(walk->client);
        r = r == 0 || (code < 0 && code != -EREMOTEIO) ? code : r;
    }
    client_refusal_set(walk->client, first);
    return r;
}

static int content_hash(struct walk *walk, uint64_t *ret_content, struct err *err)
{
    walk->buffer = malloc(WIRE_MAX_BYTES);
    walk->hash = XXH3_createState();
    int r = walk->buffer && walk->hash ? 0 : err_set(err, ENOMEM, "out of memory");
    if (r == 0) {
        duopoly_Envelope *begin = client_request(walk->client, duopoly_Envelope_submit_begin_tag);
        XXH3_64bits_reset(walk->hash);
        begin_fill(walk->job, 0, &begin->body.submit_begin);
        walk->part = part_hash;
        if ((r = part_hash(walk, err)) == 0 && (r = all_parts(walk, err)) == 0)
            *ret_content = XXH3_64bits_digest(walk->hash);
    }
    XXH3_freeState(walk->hash);
    free(walk->buffer);
    return r;
}

/* Sends the request as it is filled in; `ret_left` may be NULL. */
static int accepted_take(struct client *client, struct client_submitted *ret_submitted,
                         uint32_t *ret_left, struct err *err)
{
    const duopoly_Envelope *answer;
    int r = client_call(client, duopoly_Envelope_accepted_tag, &answer, err);
    if (r < 0)
        return r;
    const duopoly_Accepted *accepted = &answer->body.accepted;
    ret_submitted->job = accepted->job;
    ret_submitted->durable = accepted->durable;
    ret_submitted->before = accepted->before;
    wire_copy(ret_submitted->text, sizeof(ret_submitted->text), accepted->text);
    if (ret_left)
        *ret_left = accepted->left;
    return 0;
}

/* Sends the end of a job and reads its answer. */
static int end_send(struct walk *walk, bool prepare, struct client_submitted *ret_submitted,
                    struct err *err)
{
    duopoly_Envelope *request =
        client_request(walk->client, prepare ? duopoly_Envelope_submit_prepare_tag
                                             : duopoly_Envelope_submit_end_tag);
    if (prepare)
        request->body.submit_prepare.parts = walk->sent;
    else
        request->body.submit_end.parts = walk->sent;
    return accepted_take(walk->client, ret_submitted, NULL, err);
}

static int job_send(struct client *client, const struct workload_job *job, bool prepare,
                    struct client_submitted *ret_submitted, struct err *err)
{
    struct walk walk = {.client = client, .job = job};
    uint64_t content = 0;
    int r = content_hash(&walk, &content, err);
    if (r < 0)
        return r;
    walk.part = part_send;
    begin_fill(job, content,
               &client_request(client, duopoly_Envelope_submit_begin_tag)->body.submit_begin);
    if ((r = part_send(&walk, err)) == 0)
        r = all_parts(&walk, err);
    if ((r = answers_take(&walk, r, err)) == 0)
        r = end_send(&walk, prepare, ret_submitted, err);
    return r < 0 ? err_prefix(err, "job '%s'", job->name) : 0;
}

int client_submit(struct client *client, const struct workload_job *job,
                  struct client_submitted *ret_submitted, struct err *err)
{
    return job_send(client, job, false, ret_submitted, err);
}

int client_prepare(struct client *client, const struct workload_job *job,
                   struct client_submitted *ret_submitted, struct err *err)
{
    return job_send(client, job, true, ret_submitted, err);
}

int client_commit(struct client *client, struct client_submitted *ret_last, uint32_t *ret_left,
                  struct err *err)
{
    client_request(client, duopoly_Envelope_submit_commit_tag);
    return accepted_take(client, ret_last, ret_left, err);
}
