#include "controller/clients/explanation_host.h"

#include "controller/clients/explanation_words.h"
#include "controller/clients/listing.h"
#include "lib/plural.h"
#include "lib/wire.h"

#include <inttypes.h>
#include <stdio.h>

/* What is known of it. */
struct seen {
    const struct conductor_parts *parts;
    const struct agent_view *agent;
    struct host_view host;
    bool known; /* to the engine */
    struct host_time time;
    int64_t now_ns;
    duopoly_Explanation *out;
};

static double since_s(const struct seen *seen, int64_t then_ns)
{
    return (double)(seen->now_ns - then_ns) / 1e9;
}

/* ---- its state ---- */

static void came_say(const struct seen *seen)
{
    static const char *const words[EVENT_KINDS] = {[EVENT_HOST_JOIN] = "it joined",
                                                   [EVENT_HOST_BACK] = "it came back",
                                                   [EVENT_HOST_DRAIN] = "its drain was undone"};
    if (!seen->time.came_ns || !words[seen->time.came])
        return;
    explanation_say(seen->out, ": %s %.1f s ago", words[seen->time.came],
                    since_s(seen, seen->time.came_ns));
    explanation_seconds(seen->out, "state_for_s", seen->now_ns - seen->time.came_ns);
}

static void silent_say(const struct seen *seen)
{
    const int64_t lost_ns = seen->parts->settings->timers.host_lost_ns,
                  left_ns = seen->agent->heard_ns + lost_ns - seen->now_ns;
    explanation_say(seen->out,
                    ": it was not heard for %.1f s. Nothing starts there until it is; in %.1f s it "
                    "is lost (host_lost), and what runs there runs elsewhere.",
                    since_s(seen, seen->agent->heard_ns),
                    left_ns > 0 ? (double)left_ns / 1e9 : 0.0);
    explanation_seconds(seen->out, "heard_s_ago", seen->now_ns - seen->agent->heard_ns);
    explanation_seconds(seen->out, "host_lost_s", lost_ns);
}

static void lost_say(const struct seen *seen)
{
    if (seen->agent->lost_ns) {
        explanation_say(seen->out, " for %.1f s", since_s(seen, seen->agent->lost_ns));
        explanation_seconds(seen->out, "state_for_s", seen->now_ns - seen->agent->lost_ns);
    }
    explanation_say(seen->out,
                    ": what ran there runs elsewhere, and what was made there is made again. It is "
                    "used again when its agent comes back; `duopolyctl host forget %s` forgets it.",
                    seen->agent->name);
}

static void full_say(const struct seen *seen)
{
    if (seen->time.came == EVENT_HOST_SILENT && seen->time.came_ns) {
        explanation_say(seen->out, " for %.1f s", since_s(seen, seen->time.came_ns));
        explanation_seconds(seen->out, "state_for_s", seen->now_ns - seen->time.came_ns);
    }
    explanation_say(seen->out, ": %s. Nothing starts there until it has room again.",
                    seen->agent->no_room);
    explanation_fact(seen->out, "no_room", "%s", seen->agent->no_room);
}

static void drained_say(const struct seen *seen)
{
    if (seen->time.drained_ns) {
        explanation_say(seen->out, " for %.1f s", since_s(seen, seen->time.drained_ns));
        explanation_seconds(seen->out, "drained_s", seen->now_ns - seen->time.drained_ns);
    } else {
        explanation_say(seen->out, " since before the controller's start");
    }
    explanation_say(
        seen->out,
        ": what runs there goes on, and nothing starts there until `duopolyctl drain %s "
        "--undo`.",
        seen->agent->name);
}

static void probe_say(const struct seen *seen)
{
    const struct ending *last = history_failure_on(seen->parts->history, seen->host.host);
    const int64_t left_ns = seen->host.probe_ns - seen->now_ns;
    explanation_say(seen->out, " The last %" PRIu32 " attempt%s there failed or were lost%s%s.",
                    seen->host.failed_in_a_row, plural(seen->host.failed_in_a_row),
                    last ? ", the newest: " : "", last ? last->words : "");
    if (seen->host.probe_ns)
        explanation_say(seen->out, " It gets one task as a probe in %.0f s;",
                        left_ns > 0 ? (double)left_ns / 1e9 : 0.0);
    else
        explanation_say(seen->out, " It gets one task as a probe when there is one for it;");
    explanation_say(seen->out, " a task that is done there ends this.");
    explanation_fact(seen->out, "failed_in_a_row", "%" PRIu32, seen->host.failed_in_a_row);
}

/* In addition to a drain, too. */
static void suspect_say(const struct seen *seen)
{
    const struct host_view *host = &seen->host;
    if (!host->suspect)
        return;
    explanation_say(seen->out, " It is suspect for %.1f s, and gets no new work.",
                    since_s(seen, host->suspect_since_ns));
    explanation_seconds(seen->out, "suspect_s", seen->now_ns - host->suspect_since_ns);
    if (host->mute)
        explanation_say(seen->out,
                        " %" PRIu32 " host%s cannot read from it; it is used again, on trial, when "
                        "none waits for it any more.",
                        host->readers, plural(host->readers));
    else if (host->blind)
        explanation_say(seen->out,
                        " It cannot read from %" PRIu32 " host%s that others can read from; it is "
                        "used again when it has read from one.",
                        host->sources, plural(host->sources));
    if (host->failing)
        probe_say(seen);
    explanation_fact(seen->out, "readers", "%" PRIu32, host->readers);
    explanation_fact(seen->out, "sources", "%" PRIu32, host->sources);
}

static void up_say(const struct seen *seen)
{
    if (seen->known && seen->host.draining) {
        drained_say(seen);
    } else {
        came_say(seen);
        explanation_say(seen->out, ".");
    }
    suspect_say(seen);
}

static void state_say(const struct seen *seen)
{
    const struct agent_view *agent = seen->agent;
    const char *state = listing_state(agent, seen->known ? &seen->host : NULL);
    explanation_fact(seen->out, "host", "%s", agent->name);
    explanation_fact(seen->out, "state", "%s", state);
    explanation_say(seen->out, "%s is %s", agent->name, state);
    if (agent->state == AGENT_UP)
        up_say(seen);
    else if (agent->state == AGENT_SILENT)
        silent_say(seen);
    else if (agent->state == AGENT_LOST)
        lost_say(seen);
    else if (agent->state == AGENT_FULL)
        full_say(seen);
    else if (agent->state == AGENT_UNMARKED)
        explanation_say(seen->out, ": it has no agent, only executors of frameworks, whose traffic "
                                   "bears no marks.");
    else
        explanation_say(seen->out, ": what runs there is not known yet, or other hosts are awaited "
                                   "since the controller's start. It gets work then.");
}

/* ---- its links and its disk ---- */

static void links_say(const struct seen *seen)
{
    const struct host_view *host = &seen->host;
    const struct load_time *up = &seen->time.load[LOAD_UPLINK];
    const uint32_t cleared = engine_configuration(seen->parts->engine)->cleared_permille;
    explanation_fact(seen->out, "receiving", "%" PRIu32, host->receiving);
    if (!up->told_ns) {
        explanation_say(seen->out, " It has not said how full its links are.");
        return;
    }
    explanation_say(
        seen->out,
        " By its report of %.1f s ago its uplink is %s full and its downlink %s; %" PRIu32
        " task%s receive%s there.",
        since_s(seen, up->told_ns), percent_of(host->uplink_permille).text,
        percent_of(host->downlink_permille).text, host->receiving, plural(host->receiving),
        host->receiving == 1 ? "s" : "");
    if (up->since_ns)
        explanation_say(seen->out,
                        " Its uplink counts as full for %.1f s, until it is below %s "
                        "(`duopolyctl explain %s:uplink`).",
                        since_s(seen, up->since_ns), percent_of(cleared).text, seen->agent->name);
    explanation_fact(seen->out, "uplink_permille", "%" PRIu32, host->uplink_permille);
    explanation_fact(seen->out, "downlink_permille", "%" PRIu32, host->downlink_permille);
    explanation_seconds(seen->out, "load_told_s_ago", seen->now_ns - up->told_ns);
    if (up->since_ns)
        explanation_seconds(seen->out, "uplink_full_s", seen->now_ns - up->since_ns);
}

static void disk_say(const struct seen *seen)
{
    const struct host_view *host = &seen->host;
    const struct load_time *disk = &seen->time.load[LOAD_DISK];
    if (!host->disk_bytes_s || !disk->told_ns)
        return;
    explanation_say(seen->out, " %s of what its disk reads is asked of it, by %" PRIu32 " reader%s",
                    percent_of(host->disk_permille).text, host->disk_readers,
                    plural(host->disk_readers));
    if (disk->since_ns)
        explanation_say(seen->out, ": more than it has, for %.1f s, until some of them end",
                        since_s(seen, disk->since_ns));
    explanation_say(seen->out, "%s.", host->disk_hangs ? "; it answers nothing" : "");
    explanation_fact(seen->out, "disk_permille", "%" PRIu32, host->disk_permille);
    explanation_fact(seen->out, "disk_readers", "%" PRIu32, host->disk_readers);
    explanation_fact(seen->out, "disk_hangs", "%s", host->disk_hangs ? "yes" : "no");
    if (disk->since_ns)
        explanation_seconds(seen->out, "disk_over_s", seen->now_ns - disk->since_ns);
}

/* What it claims beyond the bounds of a host. */
static void bounds_say(const struct seen *seen)
{
    if (!*seen->agent->cut)
        return;
    explanation_say(seen->out, " It is cut to the bounds of a host: %s.", seen->agent->cut);
    explanation_fact(seen->out, "cut", "%s", seen->agent->cut);
}

static void switch_say(const struct seen *seen)
{
    char gone[64];
    const bool away = listing_gone(seen->agent, seen->now_ns, gone, sizeof(gone));
    explanation_fact(seen->out, "host", "%s", seen->agent->name);
    explanation_fact(seen->out, "state", "%s", listing_state(seen->agent, NULL));
    explanation_say(seen->out,
                    "%s is a switch%s%s: nothing runs there. `duopolyctl explain %s:PORT` explains "
                    "one of its ports, which `duopolyctl links %s` lists.",
                    seen->agent->name, away ? ", " : "", away ? gone : "", seen->agent->name,
                    seen->agent->name);
}

void explanation_host(const struct conductor_parts *parts, const struct agent_view *agent,
                      duopoly_Envelope *answer)
{
    struct engine_explanation slots;
    struct seen seen = {
        .parts = parts,
        .agent = agent,
        .now_ns = clock_now_ns(parts->clock),
        .out = &wire_begin(answer, duopoly_Envelope_explanation_tag)->body.explanation};
    if (agent->is_switch) {
        switch_say(&seen);
        return;
    }
    seen.known = engine_host(parts->engine, agent->host, &seen.host) == 0;
    seen.time = host_time_of(parts->times, agent->host);
    state_say(&seen);
    if (engine_explain_host(parts->engine, agent->host, &slots) == 0)
        explanation_take(seen.out, &slots);
    if (seen.known && agent->state == AGENT_UP) {
        links_say(&seen);
        disk_say(&seen);
    }
    bounds_say(&seen);
}
