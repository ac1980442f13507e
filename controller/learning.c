#include "controller/learning.h"

#include "lib/join.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <stdio.h>

/* A task on a GPU reads its whole input first, one in a slot as it computes (HDAS, 1.1); its
 * profile may say otherwise. */
static bool reads_before(const struct variant_view *way)
{
    return way->profile.read_bytes ? way->profile.before != 0
                                   : way->demand.amount[RES_GPU_MILLI] > 0;
}

bool learning_see(struct learnt *learnt, const struct engine *engine, int64_t now_ns,
                  const duopoly_AttemptState *state, uint64_t *ret_history, uint32_t *ret_variant)
{
    struct attempt_view attempt;
    struct variant_view way;
    struct stage_view stage;
    if (engine_attempt(engine, state->attempt, &attempt) < 0 || attempt.orphan || attempt.found ||
        attempt.foreign || engine_stage(engine, attempt.job, attempt.stage, &stage) < 0 ||
        !stage.history ||
        engine_variant(engine, attempt.job, attempt.stage, attempt.variant, &way) < 0)
        return false;
    int64_t began_ns = attempt.received_ns ? attempt.received_ns : attempt.started_ns;
    const struct learnt_seen seen = {.total_ns =
                                         now_ns > began_ns ? (uint64_t)(now_ns - began_ns) : 0,
                                     .before = reads_before(&way),
                                     .counted = state->has_read,
                                     .read_bytes = state->read.bytes,
                                     .read_bytes_s = state->read.bytes_s,
                                     .reading_ns = state->read.reading_ns};
    learnt_see(learnt, stage.history, attempt.variant, &seen);
    *ret_history = stage.history;
    *ret_variant = attempt.variant;
    return true;
}

static bool is_more(uint64_t a, uint64_t than)
{
    return a > than && a - than > than / 8;
}

bool learning_corrects(const struct engine *engine, const duopoly_AttemptState *state,
                       struct event *ret_event)
{
    struct learnt_estimate seen = {
        .profile = {.read_bytes = state->read.bytes, .read_bytes_s = state->read.bytes_s}};
    struct attempt_view attempt;
    struct variant_view way;
    if (!state->has_read || engine_attempt(engine, state->attempt, &attempt) < 0 ||
        attempt.orphan || attempt.foreign ||
        engine_variant(engine, attempt.job, attempt.stage, attempt.variant, &way) < 0 ||
        !way.profile.read_bytes)
        return false;
    struct profile profile = way.profile;
    learnt_correct(&seen, &profile);
    if (!is_more(profile.read_bytes, way.profile.read_bytes) &&
        !is_more(profile.read_bytes_s, way.profile.read_bytes_s))
        return false;
    *ret_event = (struct event){.kind = EVENT_JOB_PROFILE};
    ret_event->job_profile.job = attempt.job;
    ret_event->job_profile.stage = attempt.stage;
    ret_event->job_profile.variant = attempt.variant;
    ret_event->job_profile.read_bytes = profile.read_bytes;
    ret_event->job_profile.read_bytes_s = profile.read_bytes_s;
    ret_event->job_profile.before = profile.before;
    ret_event->job_profile.compute_ns = profile.compute_ns;
    return true;
}

/* "stage 0 as map-gpu was learnt from 12 tasks to read 990.0 MB at 126.0 MB/s before it computes
 * 2.100 s, 8 % off" */
static void say_one(const struct learnt_estimate *estimate, uint32_t stage, const char *command,
                    char *text, size_t size)
{
    const struct profile *profile = &estimate->profile;
    char part[256], reads[96] = "compute";
    if (profile->read_bytes)
        snprintf(reads, sizeof(reads), "read %.1f MB at %.1f MB/s %s it computes",
                 (double)profile->read_bytes / 1e6, (double)profile->read_bytes_s / 1e6,
                 profile->before ? "before" : "while");
    snprintf(part, sizeof(part),
             "stage %" PRIu32 " as %.63s was learnt from %" PRIu64 " task%s to %s %.3f s, %.1f %% "
             "off",
             stage, command, estimate->tasks, plural(estimate->tasks), reads,
             (double)profile->compute_ns / 1e9, (double)estimate->error_permille / 10);
    join_word(text, size, "; ", part);
}

void learning_say(const struct learnt *learnt, const struct engine *engine, uint64_t job,
                  char *text, size_t size)
{
    struct learnt_estimate estimate;
    struct stage_view stage;
    struct variant_view way;
    *text = '\0';
    for (uint32_t s = 0; engine_stage_from(engine, job, s, &stage) == 0; s = stage.stage + 1)
        for (uint32_t v = 0; stage.history && v < stage.variants; v++)
            if (learnt_find(learnt, stage.history, v, &estimate) &&
                engine_variant(engine, job, stage.stage, v, &way) == 0)
                say_one(&estimate, stage.stage, way.command, text, size);
}
