#include "controller/clients/status.h"

#include "controller/clients/policy_requests.h"
#include "controller/clients/trial.h"
#include "controller/clients/verdict.h"
#include "controller/mode_words.h"

#include "lib/log.h"
#include "lib/plural.h"
#include "lib/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { UPLINKS_NAMED = 8 };

/* Appends, as far as there is room. */
__attribute__((format(printf, 3, 4))) static void say(char *text, size_t size, const char *format,
                                                      ...)
{
    size_t used = strlen(text);
    va_list ap;
    va_start(ap, format);
    vsnprintf(text + used, size - used, format, ap);
    va_end(ap);
}

static void mode_say(const struct conductor_parts *parts, duopoly_Status *out)
{
    const struct mode_change *last = mode_history_last(parts->modes);
    wire_copy(out->mode_rule, sizeof(out->mode_rule), engine_policy(parts->engine, "mode"));
    engine_say_mode_use(parts->engine, out->mode_use, sizeof(out->mode_use));
    out->mode_age_ns = last ? clock_now_ns(parts->clock) - last->at_ns : -1;
    if (last)
        mode_why_say(last->rule, last->ready, last->free, out->mode_why, sizeof(out->mode_why));
}

static void uplinks_say(const struct conductor_parts *parts, uint32_t n, char *text, size_t size)
{
    const int64_t most = parts->settings->policy.cleared_permille;
    struct agent_view agent;
    struct host_view host;
    uint32_t said = 0;
    for (uint32_t i = 0;
         said < n && said < UPLINKS_NAMED && agents_at(parts->agents, i, &agent) == 0; i++)
        if (engine_host(parts->engine, agent.host, &host) == 0 && host.uplink_permille >= most)
            say(text, size, "%s%s", said++ ? ", " : "", host.name);
    if (n > said)
        say(text, size, " and %" PRIu32 " more", n - said);
}

static void counts_fill(const struct engine_status *status, const struct engine_counters *counters,
                        duopoly_Status *out)
{
    out->mode = (uint32_t)status->mode;
    out->mode_sequence = status->mode_sequence;
    out->mode_switches = counters->mode_switches;
    out->congested = status->congested;
    out->hosts_up = status->hosts_up;
    out->hosts = status->hosts;
    out->jobs_active = (uint32_t)status->jobs_active;
    out->jobs_done = counters->jobs_done;
    out->jobs_failed = counters->jobs_failed;
    out->tasks_ready = (uint32_t)status->tasks_ready;
    out->attempts = (uint32_t)status->attempts;
    out->slots_free = status->slots_free;
    out->slots = status->slots;
    out->held_stages = status->held_stages;
    out->holds = counters->holds;
    out->first_ready = (uint32_t)status->first_ready;
    out->first_free = status->first_free;
    out->first_job = status->first_job;
    out->hosts_suspect = status->hosts_suspect;
    out->sources_replaced = counters->sources_replaced;
}

void status_answer(const struct conductor_parts *parts, duopoly_Envelope *answer)
{
    const struct engine *engine = parts->engine;
    duopoly_Status *out = &wire_begin(answer, duopoly_Envelope_status_tag)->body.status;
    struct engine_status status;
    struct engine_counters counters;
    struct err err;
    engine_status(engine, &status);
    engine_counters(engine, &counters);
    counts_fill(&status, &counters, out);
    out->epoch = epoch_number(parts->epoch);
    out->dry_runs = out->confirms = out->filters = out->limits = true;
    out->version = store_version(parts->store);
    wire_copy(out->log_level, sizeof(out->log_level), log_levels[log_level_get()]);
    out->uptime_ns = (uint64_t)(clock_now_ns(parts->clock) - parts->started_ns);
    snprintf(out->policy, sizeof(out->policy), "turn %s, place %s, commit %s, network %s",
             engine_policy(engine, "turn"), engine_policy(engine, "place"),
             engine_policy(engine, "commit"), engine_policy(engine, "network"));
    policies_fill(engine, out);
    mode_say(parts, out);
    if (status.hot_uplinks)
        uplinks_say(parts, status.hot_uplinks, out->congested_uplinks,
                    sizeof(out->congested_uplinks));
    verdict_fill(parts, &status, out);
    out->orphans = parts->orphans->attempts;
    out->lost_jobs = parts->orphans->jobs;
    if (store_refusal(parts->store, &err) < 0)
        wire_copy(out->text, sizeof(out->text), err.text);
    else if (agents_resyncing(parts->agents))
        wire_copy(out->text, sizeof(out->text),
                  "waits for the hosts that were known before the restart");
    else if (status.hosts_suspect)
        snprintf(out->text, sizeof(out->text),
                 "%" PRIu32 " suspect host%s no new work (duopolyctl hosts says why)",
                 status.hosts_suspect, status.hosts_suspect == 1 ? " gets" : "s get");
    else if (store_setting(parts->store, "trial", "due"))
        trial_say(parts->store, out->text, sizeof(out->text));
    else if (out->lost_jobs)
        say(out->text, sizeof(out->text),
            "%" PRIu64 " attempt%s of %" PRIu32 " job%s that are not known here were stopped",
            out->orphans, plural(out->orphans), out->lost_jobs, plural(out->lost_jobs));
}
