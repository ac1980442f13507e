/* Lines of a workload file and the structs of lib/workload/workload.h, through jansson. */
#include "lib/workload/workload.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define NS_PER_MS 1000000u

/* A value's place, for sentences: "stages[3].parents[0].sums". */
struct place {
    char text[96];
    struct err *err;
};

static struct place place_in(const struct place *outer, const char *member)
{
    struct place p = {.err = outer->err};
    snprintf(p.text, sizeof(p.text), "%.60s%s%.32s", outer->text, outer->text[0] ? "." : "",
             member);
    return p;
}

static struct place place_at(const struct place *outer, size_t index)
{
    struct place p = {.err = outer->err};
    snprintf(p.text, sizeof(p.text), "%.70s[%zu]", outer->text, index);
    return p;
}

/* A whole number min…max; 4e6 counts as one. */
static int read_int(const json_t *value, const struct place *at, int64_t min, int64_t max,
                    int64_t *ret_number)
{
    int64_t number;
    if (json_is_integer(value))
        number = json_integer_value(value);
    else if (json_is_real(value) && fabs(json_real_value(value)) <= 0x1p53 &&
             trunc(json_real_value(value)) == json_real_value(value))
        number = (int64_t)json_real_value(value);
    else
        return err_set(at->err, EINVAL, "%s must be a whole number", at->text);
    if (number < min || number > max)
        return err_set(at->err, EINVAL, "%s is %" PRId64 ", must be %" PRId64 "…%" PRId64, at->text,
                       number, min, max);
    *ret_number = number;
    return 0;
}

static int read_bytes(const json_t *value, const struct place *at, uint64_t *ret_bytes)
{
    int64_t number;
    int r = read_int(value, at, 0, (int64_t)WORKLOAD_BYTES_MAX, &number);
    if (r == 0)
        *ret_bytes = (uint64_t)number;
    return r;
}

/* Milliseconds with fractions, rounded to the nearest ns. */
static int read_ms(const json_t *value, const struct place *at, uint64_t *ret_ns)
{
    const double limit = (double)WORKLOAD_TIME_MAX / NS_PER_MS;
    if (!json_is_number(value))
        return err_set(at->err, EINVAL, "%s must be a number", at->text);
    double ms = json_number_value(value);
    if (!(ms >= 0 && ms < limit))
        return err_set(at->err, EINVAL, "%s is %g, must be 0…%g", at->text, ms, limit);
    if (json_is_integer(value))
        *ret_ns = (uint64_t)json_integer_value(value) * NS_PER_MS;
    else
        *ret_ns = (uint64_t)llrint(ms * NS_PER_MS);
    return 0;
}

/* The member of that name as a whole number, or `absent` where there is none. */
static int member_int(const json_t *object, const struct place *in, const char *name, int64_t min,
                      int64_t max, int64_t absent, int64_t *ret_number)
{
    const json_t *value = json_object_get(object, name);
    struct place at = place_in(in, name);
    *ret_number = absent;
    return value ? read_int(value, &at, min, max, ret_number) : 0;
}

static int member_ms(const json_t *object, const struct place *in, const char *name,
                     uint64_t *ret_ns)
{
    const json_t *value = json_object_get(object, name);
    struct place at = place_in(in, name);
    *ret_ns = 0;
    return value ? read_ms(value, &at, ret_ns) : 0;
}

/* Copies a string member of less than `size` bytes; absent leaves `ret_text` alone. */
static int member_text(const json_t *object, const struct place *in, const char *name,
                       char *ret_text, size_t size)
{
    const json_t *value = json_object_get(object, name);
    struct place at = place_in(in, name);
    if (!value)
        return 0;
    if (!json_is_string(value))
        return err_set(at.err, EINVAL, "%s must be a string", at.text);
    if (json_string_length(value) >= size)
        return err_set(at.err, EINVAL, "%s has %zu bytes, at most %zu are taken", at.text,
                       json_string_length(value), size - 1);
    memcpy(ret_text, json_string_value(value), json_string_length(value) + 1);
    return 0;
}

typedef int (*read_number)(const json_t *value, const struct place *at, uint64_t *ret_number);

/* "A number for all, or one per task" into a new array of `tasks`; NULL where the member is
 * absent. */
static int member_per_task(const json_t *object, const struct place *in, const char *name,
                           uint32_t tasks, bool one_for_all, read_number read, uint64_t **ret_array)
{
    const json_t *value = json_object_get(object, name);
    struct place at = place_in(in, name);
    if (!value)
        return 0;
    bool all = one_for_all && json_is_number(value);
    if (!all && (!json_is_array(value) || json_array_size(value) != tasks))
        return err_set(at.err, EINVAL, "%s must be an array of %u numbers%s", at.text, tasks,
                       one_for_all ? ", or one number for all tasks" : "");
    uint64_t *array = *ret_array = calloc(tasks, sizeof(*array));
    if (!array)
        return err_sys(at.err, ENOMEM, "%s", at.text);
    for (uint32_t i = 0; i < tasks; i++) {
        if (all && i > 0) {
            array[i] = array[0];
            continue;
        }
        struct place item = all ? at : place_at(&at, i);
        int r = read(all ? value : json_array_get(value, i), &item, &array[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_replicas(const json_t *value, const struct place *at, struct workload_replicas *ret)
{
    if (!json_is_array(value) || json_array_size(value) > WORKLOAD_REPLICAS_MAX)
        return err_set(at->err, EINVAL, "%s must be an array of at most %d hosts", at->text,
                       WORKLOAD_REPLICAS_MAX);
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct place item = place_at(at, i);
        int64_t host;
        int r = read_int(json_array_get(value, i), &item, 0, WORKLOAD_HOSTS_MAX - 1, &host);
        if (r < 0)
            return r;
        ret->hosts[i] = (uint32_t)host;
    }
    ret->n = (uint8_t)json_array_size(value);
    return 0;
}

static int stage_replicas(const json_t *object, const struct place *in,
                          struct workload_stage *stage)
{
    const json_t *value = json_object_get(object, "replicas");
    struct place at = place_in(in, "replicas");
    int r = 0;
    if (!value)
        return 0;
    if (!json_is_array(value) || json_array_size(value) != stage->tasks)
        return err_set(at.err, EINVAL, "%s must be an array of %u arrays", at.text, stage->tasks);
    stage->replicas = calloc(stage->tasks, sizeof(*stage->replicas));
    if (!stage->replicas)
        return err_sys(at.err, ENOMEM, "%s", at.text);
    for (uint32_t i = 0; r == 0 && i < stage->tasks; i++) {
        struct place item = place_at(&at, i);
        r = read_replicas(json_array_get(value, i), &item, &stage->replicas[i]);
    }
    return r;
}

static int edge_matrix(const json_t *object, const struct place *in, uint32_t parent_tasks,
                       uint32_t tasks, struct workload_edge *edge)
{
    const json_t *value = json_object_get(object, "matrix");
    struct place at = place_in(in, "matrix");
    uint64_t cells = (uint64_t)parent_tasks * tasks;
    if (!value)
        return 0;
    if (!json_is_array(value) || json_array_size(value) != parent_tasks)
        return err_set(at.err, EINVAL, "%s must be an array of %u rows", at.text, parent_tasks);
    if (cells > WORKLOAD_CELLS_MAX)
        return err_set(at.err, EINVAL, "%s has over %d cells", at.text, WORKLOAD_CELLS_MAX);
    edge->matrix = calloc(cells, sizeof(*edge->matrix));
    if (!edge->matrix)
        return err_sys(at.err, ENOMEM, "%s", at.text);
    for (uint32_t i = 0; i < parent_tasks; i++) {
        const json_t *row = json_array_get(value, i);
        struct place row_at = place_at(&at, i);
        if (!json_is_array(row) || json_array_size(row) != tasks)
            return err_set(at.err, EINVAL, "%s must be an array of %u numbers", row_at.text, tasks);
        for (uint32_t j = 0; j < tasks; j++) {
            struct place cell = place_at(&row_at, j);
            int r =
                read_bytes(json_array_get(row, j), &cell, &edge->matrix[(uint64_t)i * tasks + j]);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int read_edge(const json_t *object, const struct place *at, const struct workload_job *job,
                     uint32_t index, struct workload_edge *edge)
{
    char kind[16] = "barrier";
    int64_t parent;
    if (!json_is_object(object) || index == 0)
        return err_set(at->err, EINVAL, "%s must be an object, of a stage after the first",
                       at->text);
    int r = member_int(object, at, "stage", 0, index - 1, -1, &parent);
    if (r == 0 && parent < 0)
        r = err_set(at->err, EINVAL, "%s.stage is missing", at->text);
    if (r == 0)
        r = member_text(object, at, "edge", kind, sizeof(kind));
    if (r < 0)
        return r;
    edge->parent = (uint32_t)parent;
    edge->pipelined = strcmp(kind, "pipelined") == 0;
    if (!edge->pipelined && strcmp(kind, "barrier") != 0)
        return err_set(at->err, EINVAL, "%s.edge is \"%s\", must be barrier or pipelined", at->text,
                       kind);
    r = member_per_task(object, at, "sums", job->stages[index].tasks, false, read_bytes,
                        &edge->sums);
    if (r < 0)
        return r;
    return edge_matrix(object, at, job->stages[parent].tasks, job->stages[index].tasks, edge);
}

static int stage_edges(const json_t *object, const struct place *in, const struct workload_job *job,
                       uint32_t index)
{
    struct workload_stage *stage = &job->stages[index];
    const json_t *value = json_object_get(object, "parents");
    struct place at = place_in(in, "parents");
    int r = 0;
    if (!value)
        return 0;
    if (!json_is_array(value) || json_array_size(value) > WORKLOAD_PARENTS_MAX)
        return err_set(at.err, EINVAL, "%s must be an array of at most %d edges", at.text,
                       WORKLOAD_PARENTS_MAX);
    stage->parents = calloc(json_array_size(value) + 1, sizeof(*stage->parents));
    if (!stage->parents)
        return err_sys(at.err, ENOMEM, "%s", at.text);
    stage->n_parents = (uint32_t)json_array_size(value);
    for (uint32_t i = 0; r == 0 && i < stage->n_parents; i++) {
        struct place item = place_at(&at, i);
        r = read_edge(json_array_get(value, i), &item, job, index, &stage->parents[i]);
    }
    return r;
}

/* `absent` where the member is not there. */
static int member_demand(const json_t *object, const struct place *in,
                         const struct workload_demand *absent, struct workload_demand *demand)
{
    const json_t *value = json_object_get(object, "demand");
    struct place at = place_in(in, "demand");
    const struct {
        const char *name;
        int64_t *number;
    } members[] = {{"slots", &demand->slots},
                   {"cpu_milli", &demand->cpu_milli},
                   {"mem_bytes", &demand->mem_bytes},
                   {"gpu_milli", &demand->gpu_milli},
                   {"gpu_mem_bytes", &demand->gpu_mem_bytes},
                   {"io_bytes_s", &demand->io_bytes_s}};
    int r = 0;
    *demand = value ? (struct workload_demand){0} : *absent;
    if (value && !json_is_object(value))
        return err_set(at.err, EINVAL, "%s must be an object", at.text);
    for (size_t i = 0; value && r == 0 && i < sizeof(members) / sizeof(members[0]); i++)
        r = member_int(value, &at, members[i].name, 0, INT64_MAX, 0, members[i].number);
    return r;
}

/* Into what holds the default. */
static int member_constraint(const json_t *object, const struct place *at, char *constraint)
{
    int r = member_text(object, at, "constraint", constraint, CONSTRAINT_MAX);
    if (r < 0)
        return r;
    r = constraint_check(constraint, at->err);
    return r < 0 ? err_prefix(at->err, "%s", at->text) : 0;
}

/* Its computing is what compute_ms says. */
static int member_profile(const json_t *object, const struct place *in, bool *profiled,
                          struct profile *profile)
{
    const json_t *value = json_object_get(object, "profile");
    struct place at = place_in(in, "profile");
    char reads[16] = "while";
    int64_t bytes, bytes_s;
    int r;
    if (!value)
        return 0;
    if (!json_is_object(value))
        return err_set(at.err, EINVAL, "%s must be an object", at.text);
    if ((r = member_int(value, &at, "read_bytes", 0, (int64_t)WORKLOAD_BYTES_MAX, 0, &bytes)) < 0 ||
        (r = member_int(value, &at, "read_bytes_s", 0, INT64_MAX, 0, &bytes_s)) < 0 ||
        (r = member_text(value, &at, "reads", reads, sizeof(reads))) < 0)
        return r;
    bool before = strcmp(reads, "before") == 0;
    if (!before && strcmp(reads, "while") != 0)
        return err_set(at.err, EINVAL, "%s.reads is \"%s\", must be before or while", at.text,
                       reads);
    *profile = (struct profile){(uint64_t)bytes, (uint64_t)bytes_s, before, 0};
    *profiled = true;
    return 0;
}

static int read_variant(const json_t *object, const struct place *at,
                        const struct workload_stage *stage, struct workload_variant *variant)
{
    int r;
    if (!json_is_object(object))
        return err_set(at->err, EINVAL, "%s must be an object", at->text);
    strcpy(variant->command, stage->command);
    strcpy(variant->constraint, stage->constraint);
    variant->profiled = stage->profiled;
    variant->profile = stage->profile;
    if ((r = member_text(object, at, "command", variant->command, sizeof(variant->command))) < 0 ||
        (r = member_constraint(object, at, variant->constraint)) < 0 ||
        (r = member_demand(object, at, &stage->demand, &variant->demand)) < 0 ||
        (r = member_profile(object, at, &variant->profiled, &variant->profile)) < 0)
        return r;
    return member_per_task(object, at, "compute_ms", stage->tasks, true, read_ms,
                           &variant->compute_ns);
}

/* Behind what the stage itself says: that is what they do not say. */
static int stage_variants(const json_t *object, const struct place *in,
                          struct workload_stage *stage)
{
    const json_t *value = json_object_get(object, "variants");
    struct place at = place_in(in, "variants");
    int r = 0;
    if (!value)
        return 0;
    if (!json_is_array(value) || json_array_size(value) >= WORKLOAD_VARIANTS_MAX)
        return err_set(at.err, EINVAL,
                       "%s must be an array of at most %d objects: with the stage's own there are "
                       "%d ways to run it at most",
                       at.text, WORKLOAD_VARIANTS_MAX - 1, WORKLOAD_VARIANTS_MAX);
    stage->variants = calloc(json_array_size(value) + 1, sizeof(*stage->variants));
    if (!stage->variants)
        return err_sys(at.err, ENOMEM, "%s", at.text);
    stage->n_variants = (uint32_t)json_array_size(value);
    for (uint32_t i = 0; r == 0 && i < stage->n_variants; i++) {
        struct place item = place_at(&at, i);
        r = read_variant(json_array_get(value, i), &item, stage, &stage->variants[i]);
    }
    return r;
}

static int member_at_most(const json_t *object, const struct place *in,
                          struct workload_at_most *ret_at_most)
{
    const json_t *value = json_object_get(object, "at_most");
    struct place at = place_in(in, "at_most");
    int64_t host, rack;
    int r;
    if (!value)
        return 0;
    if (!json_is_object(value))
        return err_set(at.err, EINVAL, "%s must be an object", at.text);
    if ((r = member_int(value, &at, "host", 1, UINT32_MAX, 0, &host)) < 0 ||
        (r = member_int(value, &at, "rack", 1, UINT32_MAX, 0, &rack)) < 0)
        return r;
    if (!host && !rack)
        return err_set(at.err, EINVAL, "%s names neither host nor rack", at.text);
    *ret_at_most = (struct workload_at_most){(uint32_t)host, (uint32_t)rack};
    return 0;
}

static int read_wish(const json_t *object, const struct place *at, struct workload_wish *wish)
{
    int64_t utility, speed;
    int r;
    if (!json_is_object(object))
        return err_set(at->err, EINVAL, "%s must be an object", at->text);
    if ((r = member_constraint(object, at, wish->constraint)) < 0 ||
        (r = member_int(object, at, "utility", 1, WORKLOAD_UTILITY_MAX, 1, &utility)) < 0 ||
        (r = member_int(object, at, "speed", 1, WORKLOAD_SPEED_MAX, 1, &speed)) < 0)
        return r;
    wish->utility = (uint32_t)utility;
    wish->speed = (uint32_t)speed;
    return 0;
}

static int stage_wishes(const json_t *object, const struct place *in, struct workload_stage *stage)
{
    const json_t *value = json_object_get(object, "prefer");
    struct place at = place_in(in, "prefer");
    int r = 0;
    if (!value)
        return 0;
    if (!json_is_array(value) || json_array_size(value) > WORKLOAD_WISHES_MAX)
        return err_set(at.err, EINVAL, "%s must be an array of at most %d objects", at.text,
                       WORKLOAD_WISHES_MAX);
    stage->n_wishes = (uint32_t)json_array_size(value);
    for (uint32_t i = 0; r == 0 && i < stage->n_wishes; i++) {
        struct place item = place_at(&at, i);
        r = read_wish(json_array_get(value, i), &item, &stage->wishes[i]);
    }
    return r;
}

static int read_stage(const json_t *object, const struct place *at, const struct workload_job *job,
                      uint32_t index)
{
    static const struct workload_demand one_slot = {.slots = 1};
    struct workload_stage *stage = &job->stages[index];
    int64_t tasks;
    if (!json_is_object(object))
        return err_set(at->err, EINVAL, "%s must be an object", at->text);
    int r = member_int(object, at, "tasks", 1, WORKLOAD_TASKS_MAX, 0, &tasks);
    if (r == 0 && tasks == 0)
        r = err_set(at->err, EINVAL, "%s.tasks is missing", at->text);
    if (r < 0)
        return r;
    stage->tasks = (uint32_t)tasks;
    if ((r = stage_edges(object, at, job, index)) < 0)
        return r;
    strcpy(stage->command, stage->n_parents ? "reduce" : "map");
    if ((r = member_text(object, at, "command", stage->command, sizeof(stage->command))) < 0 ||
        (r = member_constraint(object, at, stage->constraint)) < 0 ||
        (r = member_text(object, at, "history", stage->history, sizeof(stage->history))) < 0 ||
        (r = member_demand(object, at, &one_slot, &stage->demand)) < 0 ||
        (r = member_per_task(object, at, "input_bytes", stage->tasks, true, read_bytes,
                             &stage->input_bytes)) < 0 ||
        (r = member_per_task(object, at, "compute_ms", stage->tasks, true, read_ms,
                             &stage->compute_ns)) < 0 ||
        (r = member_profile(object, at, &stage->profiled, &stage->profile)) < 0 ||
        (r = stage_variants(object, at, stage)) < 0 || (r = stage_wishes(object, at, stage)) < 0 ||
        (r = member_at_most(object, at, &stage->at_most)) < 0)
        return r;
    return stage_replicas(object, at, stage);
}

static const char *const kinds[] = {"batch", "stream", "unknown"};

static int job_kind(const json_t *object, const struct place *at, enum workload_kind *ret_kind)
{
    char text[16] = "batch";
    int r = member_text(object, at, "kind", text, sizeof(text));
    if (r < 0)
        return r;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i], text) == 0) {
            *ret_kind = (enum workload_kind)i;
            return 0;
        }
    return err_set(at->err, EINVAL, "kind is \"%s\", must be batch, stream or unknown", text);
}

static int job_members(const json_t *object, const struct place *at, struct workload_job *job)
{
    int64_t id, user, priority;
    int r;
    if ((r = member_int(object, at, "id", 1, (int64_t)WORKLOAD_ID_MAX, 0, &id)) < 0)
        return r;
    if (id == 0)
        return err_set(at->err, EINVAL, "id is missing");
    snprintf(job->name, sizeof(job->name), "job-%" PRId64, id);
    if ((r = member_text(object, at, "name", job->name, sizeof(job->name))) < 0 ||
        (r = member_ms(object, at, "arrival_ms", &job->arrival_ns)) < 0 ||
        (r = member_int(object, at, "user", 0, UINT32_MAX, 0, &user)) < 0 ||
        (r = job_kind(object, at, &job->kind)) < 0 ||
        (r = member_int(object, at, "priority", INT32_MIN, INT32_MAX, 0, &priority)) < 0 ||
        (r = member_ms(object, at, "deadline_ms", &job->deadline_ns)) < 0 ||
        (r = member_int(object, at, "estimate_bytes", -1, (int64_t)WORKLOAD_BYTES_MAX, -1,
                        &job->estimate_bytes)) < 0 ||
        (r = member_at_most(object, at, &job->at_most)) < 0)
        return r;
    job->id = (uint64_t)id;
    job->user = (uint32_t)user;
    job->priority = (int32_t)priority;
    return 0;
}

static int job_stages(const json_t *object, const struct place *at, struct workload_job *job)
{
    const json_t *stages = json_object_get(object, "stages");
    size_t n = json_array_size(stages);
    int r = 0;
    if (n < 1 || n > WORKLOAD_STAGES_MAX)
        return err_set(at->err, EINVAL, "stages must be an array of 1…%d objects",
                       WORKLOAD_STAGES_MAX);
    job->stages = calloc(n, sizeof(*job->stages));
    if (!job->stages)
        return err_sys(at->err, ENOMEM, "stages");
    job->n_stages = (uint32_t)n;
    struct place list = place_in(at, "stages");
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        struct place item = place_at(&list, i);
        r = read_stage(json_array_get(stages, i), &item, job, i);
    }
    return r;
}

static int load_object(const char *text, size_t length, json_t **ret_root, struct err *err)
{
    json_error_t bad;
    if (length > WORKLOAD_LINE_MAX)
        return err_set(err, EINVAL, "the line is over %d MiB long", WORKLOAD_LINE_MAX >> 20);
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &bad);
    if (!root)
        return err_set(err, EINVAL, "column %d: %s", bad.column, bad.text);
    if (!json_is_object(root)) {
        json_decref(root);
        return err_set(err, EINVAL, "the line must be one JSON object");
    }
    *ret_root = root;
    return 0;
}

int workload_job_parse(const struct workload_header *header, const char *text, size_t length,
                       struct workload_job *ret_job, struct err *err)
{
    struct workload_job job = {0};
    struct place top = {.err = err};
    json_t *root;
    int r = load_object(text, length, &root, err);
    if (r < 0)
        return r;
    if ((r = job_members(root, &top, &job)) == 0 && (r = job_stages(root, &top, &job)) == 0)
        r = workload_job_check(header, &job, err);
    json_decref(root);
    if (r == 0)
        *ret_job = job;
    else
        workload_job_done(&job);
    return r;
}

int workload_header_parse(const char *text, size_t length, struct workload_header *ret_header,
                          struct err *err)
{
    struct place top = {.err = err};
    int64_t version, hosts = 0, slots = 0, link = 0, scale = 1;
    json_t *root;
    int r = load_object(text, length, &root, err);
    if (r < 0)
        return r;
    if ((r = member_int(root, &top, "duopoly_workload", 0, INT32_MAX, -1, &version)) == 0 &&
        version != 1)
        r = err_set(err, EINVAL,
                    version < 0 ? "this is no workload file: duopoly_workload is missing"
                                : "duopoly_workload must be 1: another version's file");
    if (r == 0 && (r = member_int(root, &top, "hosts", 1, WORKLOAD_HOSTS_MAX, 0, &hosts)) == 0 &&
        (r = member_int(root, &top, "slots", 0, UINT32_MAX, 0, &slots)) == 0 &&
        (r = member_int(root, &top, "link_bps", 0, INT64_MAX, 0, &link)) == 0)
        r = member_int(root, &top, "scale", 1, WORKLOAD_SCALE_MAX, 1, &scale);
    struct workload_header header = {.hosts = (uint32_t)hosts,
                                     .slots = (uint32_t)slots,
                                     .link_bps = (uint64_t)link,
                                     .scale = (uint32_t)scale};
    if (r == 0)
        r = member_text(root, &top, "description", header.description, sizeof(header.description));
    json_decref(root);
    if (r == 0 && hosts == 0)
        r = err_set(err, EINVAL, "hosts is missing");
    if (r == 0)
        *ret_header = header;
    return r;
}
