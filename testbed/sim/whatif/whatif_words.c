#include "testbed/sim/whatif/whatif_words.h"

#include "lib/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

/* From its submission to its end; of one that the change brings, from now. NAN: it has no end. */
static double jct_s(const struct whatif_answer *a, const struct whatif_side *side, size_t job)
{
    if (job >= side->n_jobs || side->ends[job] != RUN_JOB_DONE)
        return NAN;
    double waited_s =
        job < a->present->n ? (double)(a->at_ns - a->present->submitted_ns[job]) * 1e-9 : 0;
    return waited_s + side->left_s[job];
}

static void count_ends(const struct whatif_side *side, size_t n, size_t *ret_never,
                       size_t *ret_failed)
{
    for (size_t i = 0; i < n; i++) {
        *ret_never += side->ends[i] == RUN_NEVER_ENDS;
        *ret_failed += side->ends[i] == RUN_JOB_FAILED;
    }
}

void whatif_sum(const struct whatif_answer *a, struct whatif_sums *ret)
{
    double worst_s = 0;
    *ret = (struct whatif_sums){.worst = SIZE_MAX};
    for (size_t i = 0; i < a->present->n; i++) {
        double before_s = jct_s(a, &a->as_it_is, i), after_s = jct_s(a, &a->changed, i);
        if (isnan(before_s) || isnan(after_s))
            continue;
        ret->both++;
        ret->as_it_is_s += before_s;
        ret->changed_s += after_s;
        *(after_s < before_s ? &ret->gain : after_s > before_s ? &ret->lose : &ret->same) += 1;
        if (after_s - before_s > worst_s) {
            worst_s = after_s - before_s;
            ret->worst = i;
        }
    }
    ret->as_it_is_s /= ret->both ? (double)ret->both : 1;
    ret->changed_s /= ret->both ? (double)ret->both : 1;
    count_ends(&a->as_it_is, a->present->n, &ret->never_as_it_is, &ret->failed_as_it_is);
    count_ends(&a->changed, a->present->n, &ret->never_changed, &ret->failed_changed);
}

static const char *host_name(const struct whatif_answer *a, uint32_t host)
{
    struct host_view view;
    return engine_host(a->end->engine, host, &view) == 0 ? view.name : "?";
}

static void print_start(const struct whatif_answer *a, const struct whatif_start *start, int width)
{
    char words[96] = "not at all";
    if (start->host != ENGINE_NONE) {
        snprintf(words, sizeof(words), "%s after %.3f s", host_name(a, start->host),
                 (double)start->at_ns * 1e-9);
        printable_clean(words);
    }
    printf("  %-*s", width, words);
}

static void print_differences(const struct whatif_answer *a)
{
    long shown = a->n_differences < WHATIF_DIFFERENCES ? a->n_differences : WHATIF_DIFFERENCES;
    bool cut = a->as_it_is.starts_cut || a->changed.starts_cut;
    if (!a->n_differences) {
        printf("nothing is decided otherwise%s\n", cut ? " among the starts compared" : "");
        return;
    }
    printf("next starts of tasks that are decided otherwise: %s%ld; the first of them\n",
           cut ? "at least " : "", a->n_differences);
    printf("  %-20s  %-28s  %s\n", "task", "as it is", "changed");
    for (long i = 0; i < shown; i++) {
        const struct whatif_difference *d = &a->differences[i];
        char task[48];
        snprintf(task, sizeof(task), "%" PRIu64 "/%u/%u", d->job, d->stage, d->task);
        printf("  %-20s", task);
        print_start(a, &d->as_it_is, 28);
        print_start(a, &d->changed, 0);
        putchar('\n');
    }
}

static const char *end_words(const struct whatif_side *side, size_t job, double seconds, char *text,
                             size_t size)
{
    if (job >= side->n_jobs)
        return "-";
    if (side->ends[job] != RUN_JOB_DONE)
        return side->ends[job] == RUN_JOB_FAILED ? "fails" : "never ends";
    snprintf(text, size, "%.3f s", seconds);
    return text;
}

static void print_job(const struct whatif_answer *a, size_t job)
{
    char words[2][32], difference[32] = "";
    bool new = job >= a->present->n;
    double before_s = jct_s(a, &a->as_it_is, job), after_s = jct_s(a, &a->changed, job);
    uint64_t number = new ? a->present->next_job + job - a->present->n : a->present->jobs[job].id;
    const char *name = new ? a->change->jobs[job - a->present->n].name : a->present->jobs[job].name;
    if (!isnan(before_s) && !isnan(after_s))
        snprintf(difference, sizeof(difference), "%+.3f s", after_s - before_s);
    printf("  %-10" PRIu64 " %14s %14s %14s  ", number,
           end_words(&a->as_it_is, job, before_s, words[0], sizeof(words[0])),
           end_words(&a->changed, job, after_s, words[1], sizeof(words[1])), difference);
    printable_put(name, stdout);
    puts(new ? " (new)" : "");
}

static void print_sums(const struct whatif_answer *a)
{
    struct whatif_sums s;
    whatif_sum(a, &s);
    printf("jobs that end in both: %zu; mean JCT %.3f s as it is, %.3f s changed (%+.3f s); gain: "
           "%zu, lose: %zu, stay the same: %zu\n",
           s.both, s.as_it_is_s, s.changed_s, s.changed_s - s.as_it_is_s, s.gain, s.lose, s.same);
    if (s.worst != SIZE_MAX)
        printf("job %" PRIu64 " loses most\n", a->present->jobs[s.worst].id);
    if (s.failed_as_it_is || s.failed_changed)
        printf("jobs that fail: %zu as it is, %zu changed\n", s.failed_as_it_is, s.failed_changed);
    if (s.never_as_it_is || s.never_changed)
        printf("jobs that never end: %zu as it is, %zu changed\n", s.never_as_it_is,
               s.never_changed);
}

/* Counted things, and what was assumed of them. */
struct said {
    uint64_t n;
    const char *what;
};
enum { SAID = 10 };

static void assumptions(const struct whatif_answer *a, struct said ret_said[SAID])
{
    const struct run_assumed *r = &a->as_it_is.assumed;
    const struct present_jobs *p = a->present;
    const struct said all[SAID] = {
        {r->late, "tasks that have computed for longer than expected, taken to end now"},
        {r->since_guessed, "tasks that compute since a time that the state does not have; their "
                           "input is taken to have come at the full rate of their host's link"},
        {p->stages_guessed, "stages without a known computing time, of which tasks compute; taken "
                            "to need twice the longest time that one of these has computed"},
        {p->stages_unknown, "stages without a known computing time, of which no task computes; "
                            "taken to compute in no time"},
        {r->stopping, "tasks that are being stopped, taken to have ended"},
        {r->jobs_left_out, "jobs of frameworks, left out, as these place their tasks themselves"},
        {r->left_out, "running tasks of frameworks, taken to have ended"},
        {p->arriving, "jobs that are being submitted, left out"},
        {r->silent, "silent hosts; nothing starts there, and what runs there goes on"},
        {r->unrated, "hosts that have not said the rate of their links, taken to be that of the "
                     "fastest one"},
    };
    for (size_t i = 0; i < SAID; i++)
        ret_said[i] = all[i];
}

static const char always[] =
    "nothing more is submitted; no other host fails; tasks compute for as long as the controller "
    "expects; of each transfer the same part of what each host sends is left; hosts are on one big "
    "switch without other traffic";

static void print_assumptions(const struct whatif_answer *a)
{
    struct said said[SAID];
    assumptions(a, said);
    printf("assumed: %s\n", always);
    for (size_t i = 0; i < SAID; i++)
        if (said[i].n)
            printf("  %s: %" PRIu64 "\n", said[i].what, said[i].n);
}

void whatif_print(const struct whatif_answer *a)
{
    printf("what if ");
    printable_put(a->what, stdout);
    printf("; hosts up: %u, slots: %" PRId64 ", jobs: %zu, running tasks: %" PRIu64 "\n\n",
           a->state.hosts_up, a->state.slots, a->present->n, a->state.attempts);
    print_differences(a);
    printf("\n  %-10s %14s %14s %14s  %s\n", "job", "JCT as it is", "changed", "difference",
           "name");
    for (size_t i = 0; i < a->changed.n_jobs; i++)
        print_job(a, i);
    putchar('\n');
    print_sums(a);
    print_assumptions(a);
}

static json_t *seconds(double s)
{
    return isnan(s) ? json_null() : json_real(s);
}

static const char *const end_names[] = {
    [RUN_NEVER_ENDS] = "never", [RUN_JOB_DONE] = "done", [RUN_JOB_FAILED] = "failed"};

static json_t *end_json(const struct whatif_answer *a, const struct whatif_side *side, size_t job)
{
    if (job >= side->n_jobs)
        return json_null();
    bool ended = side->ends[job] != RUN_NEVER_ENDS;
    return json_pack("{s:s, s:o, s:o}", "end", end_names[side->ends[job]], "ends_in_s",
                     seconds(ended ? side->left_s[job] : NAN), "jct_s",
                     seconds(jct_s(a, side, job)));
}

static json_t *job_json(const struct whatif_answer *a, size_t job)
{
    char number[24], name[64];
    bool new = job >= a->present->n;
    snprintf(number, sizeof(number), "%" PRIu64,
             new ? a->present->next_job + job - a->present->n : a->present->jobs[job].id);
    snprintf(name, sizeof(name), "%s",
             new ? a->change->jobs[job - a->present->n].name : a->present->jobs[job].name);
    printable_make_utf8(name);
    return json_pack("{s:s, s:s, s:b, s:o, s:o}", "job", number, "name", name, "new", new,
                     "as_it_is", end_json(a, &a->as_it_is, job), "changed",
                     end_json(a, &a->changed, job));
}

static json_t *start_json(const struct whatif_answer *a, const struct whatif_start *start)
{
    char name[ENGINE_NAME_MAX];
    if (start->host == ENGINE_NONE)
        return json_null();
    snprintf(name, sizeof(name), "%s", host_name(a, start->host));
    printable_make_utf8(name);
    return json_pack("{s:s, s:f}", "host", name, "after_s", (double)start->at_ns * 1e-9);
}

static json_t *differences_json(const struct whatif_answer *a)
{
    json_t *list = json_array();
    for (long i = 0; i < a->n_differences && i < WHATIF_DIFFERENCES; i++) {
        const struct whatif_difference *d = &a->differences[i];
        char task[48];
        snprintf(task, sizeof(task), "%" PRIu64 "/%u/%u", d->job, d->stage, d->task);
        json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "task", task, "as_it_is",
                                              start_json(a, &d->as_it_is), "changed",
                                              start_json(a, &d->changed)));
    }
    return list;
}

static json_t *sums_json(const struct whatif_answer *a)
{
    struct whatif_sums s;
    whatif_sum(a, &s);
    return json_pack("{s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "jobs",
                     (json_int_t)s.both, "mean_jct_as_it_is_s", s.as_it_is_s, "mean_jct_changed_s",
                     s.changed_s, "gain", (json_int_t)s.gain, "lose", (json_int_t)s.lose, "same",
                     (json_int_t)s.same, "never_as_it_is", (json_int_t)s.never_as_it_is,
                     "never_changed", (json_int_t)s.never_changed, "failed_as_it_is",
                     (json_int_t)s.failed_as_it_is, "failed_changed", (json_int_t)s.failed_changed);
}

static json_t *assumptions_json(const struct whatif_answer *a)
{
    struct said said[SAID];
    json_t *list = json_array();
    assumptions(a, said);
    for (size_t i = 0; i < SAID; i++)
        if (said[i].n)
            json_array_append_new(
                list, json_pack("{s:I, s:s}", "n", (json_int_t)said[i].n, "what", said[i].what));
    return list;
}

int whatif_print_json(const struct whatif_answer *a)
{
    char what[256];
    json_t *jobs = json_array();
    snprintf(what, sizeof(what), "%s", a->what);
    printable_make_utf8(what);
    for (size_t i = 0; i < a->changed.n_jobs; i++)
        json_array_append_new(jobs, job_json(a, i));
    json_t *root = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:o, s:s, s:o}", "what_if", what, "hosts_up",
        (json_int_t)a->state.hosts_up, "slots", (json_int_t)a->state.slots, "running_tasks",
        (json_int_t)a->state.attempts, "decided_otherwise", (json_int_t)a->n_differences,
        "all_starts_compared", !a->as_it_is.starts_cut && !a->changed.starts_cut, "first",
        differences_json(a), "jobs", jobs, "sum", sums_json(a), "always", always, "assumed",
        assumptions_json(a));
    if (!root)
        return -ENOMEM;
    int failed =
        json_dumpf(root, stdout, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
    json_decref(root);
    return failed || putchar('\n') == EOF ? -EIO : 0;
}
