/* What a submission wishes, bounds and says of its tasks, for people. */
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/policy/questions.h"
#include "lib/join.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int engine_place_keeps(const char *place, uint32_t stage, struct err *err)
{
    char whose[32] = "the job", others[160] = "";
    for (size_t i = 0; place_policies[i]; i++) {
        const char *name = place_policies[i]->policy.name;
        if (!place_policies[i]->at_most)
            continue;
        if (strcmp(name, place) == 0)
            return 0;
        join_word(others, sizeof(others), ", ", name);
    }
    if (stage != ENGINE_NONE)
        snprintf(whose, sizeof(whose), "stage %" PRIu32, stage);
    return err_set(err, EINVAL,
                   "%s has at_most, which place %s cannot keep; leave it out, or set a placement "
                   "that does: %s",
                   whose, place, *others ? others : "there is none yet");
}

/* "stage 0 at most 2 on a host, 3 on a rack" */
static void say_bounds(const char *whose, struct at_most at_most, char *text, size_t size)
{
    char part[96];
    if (at_most.host) {
        snprintf(part, sizeof(part), "%s at most %" PRIu32 " on a host", whose, at_most.host);
        join_word(text, size, "; ", part);
    }
    if (at_most.rack) {
        snprintf(part, sizeof(part), "%s at most %" PRIu32 " on a rack", whose, at_most.rack);
        join_word(text, size, "; ", part);
    }
}

/* "stage 0 as map-gpu reads 1000.0 MB at 128.0 MB/s before it computes 2.000 s" */
static void say_profile(const struct stage *way, const char *whose, char *text, size_t size)
{
    const struct profile *profile = &way->profile;
    char part[ENGINE_NAME_MAX + 160], reads[96] = "reads nothing and";
    if (!profile_is_known(profile))
        return;
    if (profile->read_bytes)
        snprintf(reads, sizeof(reads), "reads %.1f MB at %.1f MB/s %s it",
                 (double)profile->read_bytes / 1e6, (double)profile->read_bytes_s / 1e6,
                 profile->before ? "before" : "while");
    snprintf(part, sizeof(part), "%s as %s %s computes %.3f s", whose, way->command, reads,
             (double)profile->compute_ns / 1e9);
    join_word(text, size, "; ", part);
}

void engine_say_words(const struct engine *engine, uint64_t number, char *text, size_t size)
{
    const struct job *job = job_find(engine, number);
    char whose[32], part[CONSTRAINT_MAX + 64];
    *text = '\0';
    if (job)
        say_bounds("the job", job->at_most, text, size);
    for (uint32_t s = 0; job && s < job->n_stages; s++) {
        const struct stage *stage = job->stages[s];
        snprintf(whose, sizeof(whose), "stage %" PRIu32, stage->index);
        say_bounds(whose, stage->at_most, text, size);
        for (uint32_t i = 0; i < stage->n_wishes; i++) {
            snprintf(part, sizeof(part), "%s prefers %s (%" PRIu32 ")", whose,
                     stage->wishes[i].constraint, stage->wishes[i].utility);
            join_word(text, size, "; ", part);
        }
        for (uint32_t v = 0; v < variant_count(stage); v++)
            say_profile(v ? stage->others[v - 1] : stage, whose, text, size);
    }
}

void engine_say_priority_use(const struct engine *engine, char *text, size_t size)
{
    char part[64];
    *text = '\0';
    for (enum question q = 0; q < QUESTIONS; q++) {
        const struct policy *policy = engine->policies[q];
        if (!policy->uses_priority || !policy->uses_priority(engine))
            continue;
        snprintf(part, sizeof(part), "%s %s", policy_question_name(q), policy->name);
        join_word(text, size, ", ", part);
    }
}
