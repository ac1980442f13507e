#include "controller/clients/explanation_mode.h"

#include "controller/clients/explanation_words.h"
#include "controller/mode_words.h"
#include "lib/plural.h"
#include "lib/wire.h"

#include <inttypes.h>

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* Since when, and why then. */
static void last_say(const struct conductor_parts *parts, const struct mode_view *mode,
                     duopoly_Explanation *out)
{
    const struct mode_change *last = mode_history_last(parts->modes);
    char why[160];
    if (!last) {
        explanation_say(out, "The mode is %s, and has not changed since the controller's start.",
                        mode_word(mode->mode));
        return;
    }
    const double since_s = seconds(clock_now_ns(parts->clock) - last->at_ns);
    mode_why_say(last->rule, last->ready, last->free, why, sizeof(why));
    explanation_say(out, "The mode is %s for %.1f s: %s.", mode_word(mode->mode), since_s, why);
    explanation_fact(out, "mode_for_s", "%.3f", since_s);
    explanation_fact(out, "changed_by", "%s", last->rule);
    explanation_fact(out, "changed_ready", "%" PRId64, last->ready);
    explanation_fact(out, "changed_free", "%" PRId64, last->free);
}

/* What the rule compares now. */
static void now_say(const struct conductor_parts *parts, const struct mode_view *mode,
                    const char *rule, duopoly_Explanation *out)
{
    const bool all = mode_is_of_all(rule);
    struct job_view job;
    explanation_fact(out, "ready", "%" PRIu64, mode->ready);
    explanation_fact(out, "free", "%" PRId64, mode->free);
    if (!mode->first_job || engine_job(parts->engine, mode->first_job, &job) < 0) {
        explanation_say(out, " Now no job is active.");
        return;
    }
    explanation_fact(out, "first_job", "%" PRIu64, job.job);
    explanation_say(out, " Now %s", mode_whose(rule));
    if (!all)
        explanation_say(out, ", %" PRIu64 " (%s),", job.job, job.name);
    explanation_say(out, " %s %" PRIu64 " ready task%s and %" PRId64 " free slot%s for them.",
                    all ? "have" : "has", mode->ready, plural(mode->ready), mode->free,
                    plural((uint64_t)mode->free));
}

/* By how much the numbers miss the other mode. */
static void other_say(const struct mode_view *mode, duopoly_Explanation *out)
{
    const bool starved = mode->mode == MODE_SLOT_STARVED;
    const int64_t more = (int64_t)mode->ready - mode->free, misses = starved ? more : 1 - more;
    explanation_say(out,
                    " It is %s as soon as ready tasks %s their free slots: with %" PRId64
                    " %s ready, or as many slots %s.",
                    mode_word(starved ? MODE_SLOT_RICH : MODE_SLOT_STARVED),
                    starved ? "do not outnumber" : "outnumber", misses, starved ? "fewer" : "more",
                    starved ? "more" : "fewer");
    explanation_fact(out, "misses", "%" PRId64, misses);
}

static void dwell_say(const struct conductor_parts *parts, const struct mode_view *mode,
                      duopoly_Explanation *out)
{
    const int64_t dwell_ns = engine_configuration(parts->engine)->mode_dwell_ns,
                  left_ns = mode->sequence ? mode->until_ns - clock_now_ns(parts->clock) : 0;
    const double left_s = left_ns > 0 ? seconds(left_ns) : 0;
    explanation_fact(out, "dwell_s", "%.3f", seconds(dwell_ns));
    explanation_fact(out, "dwell_left_s", "%.3f", left_s);
    if (mode->wanted != mode->mode)
        explanation_say(out,
                        " By that it is to be %s, and becomes so when it has lasted %.3f s, in "
                        "%.3f s.",
                        mode_word(mode->wanted), seconds(dwell_ns), left_s);
    else
        explanation_say(out, " A mode lasts at least %.3f s (dwell).", seconds(dwell_ns));
}

static void change_say(const struct conductor_parts *parts, const struct mode_view *mode,
                       const char *rule, duopoly_Explanation *out)
{
    if (mode_is_forced(rule)) {
        explanation_say(out,
                        " The rule %s forces it, whatever these are: `duopolyctl policy mode "
                        "first` lets them decide.",
                        rule);
        return;
    }
    if (mode->wanted == mode->mode)
        other_say(mode, out);
    dwell_say(parts, mode, out);
}

void explanation_mode(const struct conductor_parts *parts, duopoly_Envelope *answer)
{
    duopoly_Explanation *out =
        &wire_begin(answer, duopoly_Envelope_explanation_tag)->body.explanation;
    const char *rule = engine_policy(parts->engine, "mode");
    char use[sizeof(out->facts[0].value)];
    struct mode_view mode;
    engine_mode(parts->engine, &mode);
    explanation_fact(out, "mode", "%s", mode_word(mode.mode));
    explanation_fact(out, "mode_rule", "%s", rule);
    explanation_fact(out, "mode_forced", "%s", mode_is_forced(rule) ? "yes" : "no");
    explanation_fact(out, "mode_wanted", "%s", mode_word(mode.wanted));
    explanation_fact(out, "mode_sequence", "%" PRIu64, mode.sequence);
    last_say(parts, &mode, out);
    now_say(parts, &mode, rule, out);
    change_say(parts, &mode, rule, out);
    engine_say_mode_use(parts->engine, use, sizeof(use));
    explanation_say(out, " It tells %s.", use);
    explanation_fact(out, "mode_use", "%s", use);
}
