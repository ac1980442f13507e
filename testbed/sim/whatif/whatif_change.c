/* What is to be otherwise, from words. */
#include "testbed/sim/whatif/whatif.h"

#include "controller/engine/policy/presets.h"
#include "lib/grow.h"
#include "lib/join.h"
#include "lib/nearest.h"
#include "lib/workload/workload_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const questions[] = {"turn", "place", "commit", "network", "mode", "users"};
enum { QUESTIONS_ASKED = sizeof(questions) / sizeof(*questions) };

/* NULL: there is no such question, or no such policy. */
static const char *question_find(const char *word, size_t length)
{
    for (size_t i = 0; i < QUESTIONS_ASKED; i++)
        if (strlen(questions[i]) == length && strncmp(questions[i], word, length) == 0)
            return questions[i];
    return NULL;
}

static const char *policy_named(const char *question, const char *word, size_t length)
{
    const char *name;
    for (unsigned i = 0; (name = engine_policy_name(question, i)); i++)
        if (strlen(name) == length && strncmp(name, word, length) == 0)
            return name;
    return NULL;
}

static int put(struct whatif_change *change, const char *question, const char *name,
               struct err *err)
{
    for (uint32_t i = 0; i < change->n_policies; i++)
        if (strcmp(change->policies[i].question, question) == 0)
            return err_set(err, EINVAL, "%s is asked for twice; give it one policy", question);
    change->policies[change->n_policies++] = (struct whatif_policy){question, name};
    return 0;
}

static int read_one(const char *word, size_t length, struct whatif_change *change, struct err *err)
{
    char names[256] = "";
    const char *equals = memchr(word, '=', length);
    size_t first = equals ? (size_t)(equals - word) : length;
    const char *question = equals ? question_find(word, first) : NULL;
    if (!question) {
        for (size_t i = 0; i < QUESTIONS_ASKED; i++)
            join_word(names, sizeof(names), ", ", questions[i]);
        return err_set(err, EINVAL,
                       "'%.*s' is no preset and not QUESTION=NAME; the questions are %s",
                       (int)(length < 64 ? length : 64), word, names);
    }
    const char *name = policy_named(question, equals + 1, length - first - 1);
    if (name)
        return put(change, question, name, err);
    for (unsigned i = 0; engine_policy_name(question, i); i++)
        join_word(names, sizeof(names), ", ", engine_policy_name(question, i));
    size_t rest = length - first - 1;
    return err_set(err, EINVAL, "%s has no policy '%.*s'; choose one of %s", question,
                   (int)(rest < 64 ? rest : 64), equals + 1, names);
}

static int read_list(const char *text, struct whatif_change *change, struct err *err)
{
    int r = 0;
    for (const char *word = text; r == 0 && word;) {
        size_t length = strcspn(word, ",");
        r = read_one(word, length, change, err);
        word = word[length] ? word + length + 1 : NULL;
    }
    return r;
}

static int take_preset(const struct preset *preset, struct whatif_change *change, struct err *err)
{
    if (preset->levels == PRESET_LEVELS_UNLIMITED)
        return err_set(err, EINVAL,
                       "%s has a level for each size, which no controller has; it is simulated "
                       "only by run and compare",
                       preset->name);
    put(change, "turn", preset->turn, NULL);
    put(change, "place", preset->place, NULL);
    put(change, "network", preset->network, NULL);
    put(change, "mode", preset->mode, NULL);
    for (size_t i = 0; i < PRESET_VALUES && *preset->values[i].word; i++)
        change->values[change->n_values++] = preset->values[i];
    return 0;
}

static void combine(struct engine_combination *all, const struct whatif_policy *policy)
{
    const struct {
        const char *question, **name;
    } names[] = {{"turn", &all->turn},       {"place", &all->place}, {"commit", &all->commit},
                 {"network", &all->network}, {"mode", &all->mode},   {"users", &all->users}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(names[i].question, policy->question) == 0)
            *names[i].name = policy->name;
}

/* Brings to place `i` one that fits what is in force by then. WHY an order: each is set by a
 * request of its own, which is refused where the policies of that moment do not work together. */
static int order_one(const struct engine *engine, struct whatif_change *change, uint32_t i,
                     struct engine_combination *in_force, struct err *err)
{
    int r = 0;
    for (uint32_t k = i; k < change->n_policies; k++) {
        struct engine_combination with = *in_force;
        struct whatif_policy policy = change->policies[k];
        combine(&with, &policy);
        r = engine_policies_fit(engine, &with, err);
        if (r < 0)
            continue;
        change->policies[k] = change->policies[i];
        change->policies[i] = policy;
        *in_force = with;
        return 0;
    }
    return r;
}

static int order(const struct engine *engine, struct whatif_change *change, struct err *err)
{
    struct engine_combination in_force = {engine_policy(engine, "turn"),
                                          engine_policy(engine, "place"),
                                          engine_policy(engine, "commit"),
                                          engine_policy(engine, "network"),
                                          engine_policy(engine, "mode"),
                                          engine_policy(engine, "users"),
                                          false,
                                          ""};
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < change->n_policies; i++)
        r = order_one(engine, change, i, &in_force, err);
    return r < 0 ? -EINVAL : 0;
}

int whatif_read_policies(const struct engine *engine, const char *text,
                         struct whatif_change *change, struct err *err)
{
    const struct preset *preset = preset_find(text);
    int r = preset ? take_preset(preset, change, err) : read_list(text, change, err);
    return r < 0 ? r : order(engine, change, err);
}

int whatif_read_host(const struct engine *engine, const char *name, struct whatif_change *change,
                     struct err *err)
{
    struct host_view host;
    struct nearest nearest = NEAREST_TO(name);
    uint32_t most = engine_configuration(engine)->hosts_max;
    for (uint32_t h = 0; h < most; h++) {
        if (engine_host(engine, h, &host) < 0)
            continue;
        nearest_take(&nearest, host.name);
        if (strcmp(host.name, name) != 0)
            continue;
        if (!host.joined || host.lost)
            return err_set(err, EINVAL, "host %s is down already", name);
        change->host = h;
        return 0;
    }
    return nearest.found ? err_set(err, ENOENT, "this state has no host %s; did you mean '%s'?",
                                   name, nearest.found)
                         : err_set(err, ENOENT, "this state has no host %s", name);
}

static int take_job(struct whatif_change *change, struct workload_job job, size_t *allocated,
                    const char *path, struct err *err)
{
    int r = change->n_jobs == WHATIF_JOBS_MAX
                ? err_set(err, EINVAL, "%s has more than %d jobs: give fewer at once", path,
                          WHATIF_JOBS_MAX)
            : array_grow(change->jobs, change->n_jobs, *allocated, 4)
                ? 0
                : err_set(err, ENOMEM, "no memory for the jobs of %s", path);
    if (r < 0) {
        workload_job_done(&job);
        return r;
    }
    job.arrival_ns = 0;
    change->jobs[change->n_jobs++] = job;
    return 0;
}

static int read_jobs(FILE *in, const char *path, struct whatif_change *change, struct err *err)
{
    struct workload_reader reader;
    struct workload_job job;
    size_t allocated = 0;
    int r = workload_reader_init(&reader, in, path, err), more = 1;
    while (r == 0 && more > 0) {
        more = workload_reader_next(&reader, &job, err);
        r = more > 0 ? take_job(change, job, &allocated, path, err) : more;
    }
    workload_reader_done(&reader);
    return r == 0 && !change->n_jobs ? err_set(err, EINVAL, "%s has no jobs", path) : r;
}

struct named {
    char name[ENGINE_NAME_MAX];
    uint32_t host;
};

static int by_name(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    return strcmp(a->name, b->name);
}

/* The hosts in order of their names; NULL: no memory. */
static struct named *name_hosts(const struct engine *engine, uint32_t *ret_n)
{
    struct host_view host;
    uint32_t most = engine_configuration(engine)->hosts_max, n = 0;
    struct named *all = calloc(most ? most : 1, sizeof(*all));
    for (uint32_t h = 0; all && h < most; h++) {
        if (engine_host(engine, h, &host) < 0)
            continue;
        all[n].host = h;
        snprintf(all[n++].name, sizeof(all->name), "%s", host.name);
    }
    if (all)
        qsort(all, n, sizeof(*all), by_name);
    *ret_n = n;
    return all;
}

static void place_blocks(struct workload_stage *stage, const struct named *hosts, uint32_t n)
{
    for (uint32_t t = 0; stage->replicas && t < stage->tasks; t++)
        for (uint8_t i = 0; n && i < stage->replicas[t].n; i++)
            stage->replicas[t].hosts[i] = hosts[stage->replicas[t].hosts[i] % n].host;
}

/* WHY by names: a submission's block is on the host with its number among all names in order
 * (schemas/duopoly.proto, TaskInput). */
static int place_all(const struct engine *engine, struct whatif_change *change, struct err *err)
{
    uint32_t n;
    struct named *hosts = name_hosts(engine, &n);
    if (!hosts)
        return err_set(err, ENOMEM, "not enough memory for the hosts of this state");
    for (size_t i = 0; i < change->n_jobs; i++)
        for (uint32_t s = 0; s < change->jobs[i].n_stages; s++)
            place_blocks(&change->jobs[i].stages[s], hosts, n);
    free(hosts);
    return 0;
}

int whatif_read_jobs(const struct engine *engine, const char *path, struct whatif_change *change,
                     struct err *err)
{
    FILE *in = fopen(path, "re");
    if (!in)
        return err_sys(err, errno, "cannot open the jobs %s", path);
    int r = read_jobs(in, path, change, err);
    fclose(in);
    return r < 0 ? r : place_all(engine, change, err);
}

void whatif_change_done(struct whatif_change *change)
{
    for (size_t i = 0; i < change->n_jobs; i++)
        workload_job_done(&change->jobs[i]);
    free(change->jobs);
    *change = (struct whatif_change){.host = ENGINE_NONE};
}
