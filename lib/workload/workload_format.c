/* The structs of lib/workload/workload.h as lines of a workload file: written by hand into a memory
 * stream, since a job of a million tasks needs no tree of JSON values; strings alone go through
 * jansson. */
#include "lib/workload/workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static void put_text(FILE *out, const char *name, const char *text)
{
    /* Text that is not UTF-8 has no JSON form: the member is left out, so the line stays valid. */
    json_t *value = json_string(text);
    char *dumped = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    if (dumped)
        fprintf(out, ", \"%s\": %s", name, dumped);
    free(dumped);
    json_decref(value);
}

static void put_number(FILE *out, uint64_t number)
{
    fprintf(out, "%" PRIu64, number);
}

/* Nanoseconds as milliseconds with as many of six decimals as are needed. */
static void put_ms(FILE *out, uint64_t ns)
{
    char digits[8];
    snprintf(digits, sizeof(digits), "%06u", (unsigned)(ns % 1000000));
    size_t n = 6;
    while (n > 0 && digits[n - 1] == '0')
        n--;
    fprintf(out, "%" PRIu64 "%s%.*s", ns / 1000000, n ? "." : "", (int)n, digits);
}

typedef void (*put_value)(FILE *out, uint64_t value);

static void put_array(FILE *out, const uint64_t *values, uint64_t n, put_value put)
{
    fputc('[', out);
    for (uint64_t i = 0; i < n; i++) {
        if (i > 0)
            fputc(',', out);
        put(out, values[i]);
    }
    fputc(']', out);
}

static void put_per_task(FILE *out, const char *name, const uint64_t *values, uint32_t n,
                         put_value put)
{
    bool equal = true;
    if (!values)
        return;
    for (uint32_t i = 1; equal && i < n; i++)
        equal = values[i] == values[0];
    fprintf(out, ", \"%s\": ", name);
    if (equal)
        put(out, values[0]);
    else
        put_array(out, values, n, put);
}

static void put_replicas(FILE *out, const struct workload_stage *stage)
{
    if (!stage->replicas)
        return;
    fputs(", \"replicas\": [", out);
    for (uint32_t t = 0; t < stage->tasks; t++) {
        fputs(t ? ",[" : "[", out);
        for (unsigned i = 0; i < stage->replicas[t].n; i++)
            fprintf(out, i ? ",%u" : "%u", stage->replicas[t].hosts[i]);
        fputc(']', out);
    }
    fputc(']', out);
}

static void put_amounts(FILE *out, const struct workload_demand *d)
{
    const struct {
        const char *name;
        int64_t number;
    } members[] = {{"slots", d->slots},
                   {"cpu_milli", d->cpu_milli},
                   {"mem_bytes", d->mem_bytes},
                   {"gpu_milli", d->gpu_milli},
                   {"gpu_mem_bytes", d->gpu_mem_bytes},
                   {"io_bytes_s", d->io_bytes_s}};
    bool first = true;
    fputc('{', out);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (members[i].number == 0)
            continue;
        fprintf(out, "%s\"%s\": %" PRId64, first ? "" : ", ", members[i].name, members[i].number);
        first = false;
    }
    fputc('}', out);
}

static void put_demand(FILE *out, const struct workload_demand *d)
{
    const struct workload_demand plain = {.slots = 1};
    if (memcmp(d, &plain, sizeof(plain)) == 0)
        return;
    fputs(", \"demand\": ", out);
    put_amounts(out, d);
}

static void put_edge(FILE *out, const struct workload_job *job, const struct workload_stage *stage,
                     const struct workload_edge *edge)
{
    fprintf(out, "{\"stage\": %u, \"edge\": \"%s\"", edge->parent,
            edge->pipelined ? "pipelined" : "barrier");
    if (edge->sums) {
        fputs(", \"sums\": ", out);
        put_array(out, edge->sums, stage->tasks, put_number);
    }
    if (edge->matrix) {
        fputs(", \"matrix\": [", out);
        for (uint32_t i = 0; i < job->stages[edge->parent].tasks; i++) {
            if (i > 0)
                fputc(',', out);
            put_array(out, edge->matrix + (uint64_t)i * stage->tasks, stage->tasks, put_number);
        }
        fputc(']', out);
    }
    fputc('}', out);
}

static void put_profile(FILE *out, const struct profile *profile)
{
    fprintf(out,
            ", \"profile\": {\"read_bytes\": %" PRIu64 ", \"read_bytes_s\": %" PRIu64
            ", \"reads\": \"%s\"}",
            profile->read_bytes, profile->read_bytes_s, profile->before ? "before" : "while");
}

/* Not where it is the stage's, which one that says none has. */
static bool says_profile(const struct workload_stage *stage, const struct workload_variant *variant)
{
    return variant->profiled && (!stage->profiled || memcmp(&variant->profile, &stage->profile,
                                                            sizeof(stage->profile)) != 0);
}

static void put_variant(FILE *out, const struct workload_stage *stage,
                        const struct workload_variant *variant)
{
    fputs("{\"demand\": ", out);
    put_amounts(out, &variant->demand);
    if (strcmp(variant->command, stage->command) != 0)
        put_text(out, "command", variant->command);
    if (strcmp(variant->constraint, stage->constraint) != 0)
        put_text(out, "constraint", variant->constraint);
    put_per_task(out, "compute_ms", variant->compute_ns, stage->tasks, put_ms);
    if (says_profile(stage, variant))
        put_profile(out, &variant->profile);
    fputc('}', out);
}

static void put_variants(FILE *out, const struct workload_stage *stage)
{
    for (uint32_t i = 0; i < stage->n_variants; i++) {
        fputs(i ? ", " : ", \"variants\": [", out);
        put_variant(out, stage, &stage->variants[i]);
    }
    fputs(stage->n_variants ? "]" : "", out);
}

static void put_at_most(FILE *out, const struct workload_at_most *at_most)
{
    if (!at_most->host && !at_most->rack)
        return;
    fputs(", \"at_most\": {", out);
    if (at_most->host)
        fprintf(out, "\"host\": %u%s", at_most->host, at_most->rack ? ", " : "");
    if (at_most->rack)
        fprintf(out, "\"rack\": %u", at_most->rack);
    fputc('}', out);
}

static void put_wishes(FILE *out, const struct workload_stage *stage)
{
    for (uint32_t i = 0; i < stage->n_wishes; i++) {
        fprintf(out, "%s{\"utility\": %u", i ? ", " : ", \"prefer\": [", stage->wishes[i].utility);
        put_text(out, "constraint", stage->wishes[i].constraint);
        if (stage->wishes[i].speed != 1)
            fprintf(out, ", \"speed\": %u", stage->wishes[i].speed);
        fputc('}', out);
    }
    fputs(stage->n_wishes ? "]" : "", out);
}

static void put_stage(FILE *out, const struct workload_job *job, const struct workload_stage *stage)
{
    fprintf(out, "{\"tasks\": %u", stage->tasks);
    if (strcmp(stage->command, stage->n_parents ? "reduce" : "map") != 0)
        put_text(out, "command", stage->command);
    if (stage->constraint[0])
        put_text(out, "constraint", stage->constraint);
    put_demand(out, &stage->demand);
    put_per_task(out, "input_bytes", stage->input_bytes, stage->tasks, put_number);
    put_replicas(out, stage);
    put_per_task(out, "compute_ms", stage->compute_ns, stage->tasks, put_ms);
    if (stage->profiled)
        put_profile(out, &stage->profile);
    if (*stage->history)
        put_text(out, "history", stage->history);
    put_variants(out, stage);
    put_wishes(out, stage);
    put_at_most(out, &stage->at_most);
    for (uint32_t i = 0; i < stage->n_parents; i++) {
        fputs(i ? ", " : ", \"parents\": [", out);
        put_edge(out, job, stage, &stage->parents[i]);
    }
    fputs(stage->n_parents ? "]}" : "}", out);
}

static void put_job(FILE *out, const struct workload_job *job)
{
    static const char *const kinds[] = {"batch", "stream", "unknown"};
    char name[64];
    snprintf(name, sizeof(name), "job-%" PRIu64, job->id);
    fprintf(out, "{\"id\": %" PRIu64, job->id);
    if (strcmp(job->name, name) != 0)
        put_text(out, "name", job->name);
    fputs(", \"arrival_ms\": ", out);
    put_ms(out, job->arrival_ns);
    if (job->user)
        fprintf(out, ", \"user\": %u", job->user);
    if (job->kind != WORKLOAD_BATCH)
        fprintf(out, ", \"kind\": \"%s\"", kinds[job->kind]);
    if (job->priority)
        fprintf(out, ", \"priority\": %d", job->priority);
    if (job->deadline_ns) {
        fputs(", \"deadline_ms\": ", out);
        put_ms(out, job->deadline_ns);
    }
    if (job->estimate_bytes >= 0)
        fprintf(out, ", \"estimate_bytes\": %" PRId64, job->estimate_bytes);
    put_at_most(out, &job->at_most);
    fputs(", \"stages\": [", out);
    for (uint32_t i = 0; i < job->n_stages; i++) {
        if (i > 0)
            fputs(", ", out);
        put_stage(out, job, &job->stages[i]);
    }
    fputs("]}", out);
}

/* Ends the stream and returns its text, or NULL when memory was short on the way. */
static char *finish(FILE *out, char **text)
{
    bool bad = ferror(out) != 0;
    if (fclose(out) != 0 || bad) {
        free(*text);
        return NULL;
    }
    return *text;
}

char *workload_job_format(const struct workload_job *job)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    put_job(out, job);
    return finish(out, &text);
}

char *workload_header_format(const struct workload_header *header)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fprintf(out, "{\"duopoly_workload\": 1, \"hosts\": %u", header->hosts);
    if (header->slots)
        fprintf(out, ", \"slots\": %u", header->slots);
    if (header->link_bps)
        fprintf(out, ", \"link_bps\": %" PRIu64, header->link_bps);
    if (header->scale != 1)
        fprintf(out, ", \"scale\": %u", header->scale);
    if (header->description[0])
        put_text(out, "description", header->description);
    fputc('}', out);
    return finish(out, &text);
}
