#include "controller/clients/explanation_link.h"

#include "controller/agents/dispatch.h"
#include "controller/clients/explanation_words.h"
#include "controller/clients/link_transfers.h"
#include "controller/clients/listing.h"
#include "controller/clients/refusal.h"
#include "lib/bit_rate.h"
#include "lib/nearest.h"
#include "lib/plural.h"
#include "lib/wire.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const sides[2] = {"uplink", "downlink"}; /* by enum host_load_resource */

struct look {
    const struct conductor_parts *parts;
    const struct agent_view *agent;
    int64_t now_ns;
    duopoly_Explanation *out;
};

/* A fact of a side: "uplink_NAME". */
__attribute__((format(printf, 4, 5))) static void
side_fact(const struct look *look, const char *side, const char *name, const char *format, ...)
{
    char whole[48], value[sizeof(look->out->facts[0].value)];
    va_list ap;
    va_start(ap, format);
    vsnprintf(value, sizeof(value), format, ap);
    va_end(ap);
    snprintf(whole, sizeof(whole), "%s_%s", side, name);
    explanation_fact(look->out, whole, "%s", value);
}

static double since_s(const struct look *look, int64_t then_ns)
{
    return (double)(look->now_ns - then_ns) / 1e9;
}

/* ---- a port ---- */

static const struct agent_link *port_find(const struct agent_links *links, const char *port)
{
    for (uint32_t i = 0; i < links->n; i++)
        if (links->rows[i].told_ns && strcmp(links->rows[i].link.port, port) == 0)
            return &links->rows[i];
    return NULL;
}

static void absent_answer(const struct agent_view *agent, const char *port,
                          duopoly_Envelope *answer)
{
    const struct agent_links *links = agent->links;
    struct nearest nearest = NEAREST_TO(port);
    for (int side = 0; side < 2 && !agent->is_switch; side++)
        nearest_take(&nearest, sides[side]);
    for (uint32_t i = 0; i < links->n; i++)
        if (links->rows[i].told_ns)
            nearest_take(&nearest, links->rows[i].link.port);
    if (nearest.found)
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN,
                       "%s has no link '%s'; did you mean '%s'? (duopolyctl links %s lists its "
                       "ports)",
                       agent->name, port, nearest.found, agent->name);
    else
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN,
                       "switch %s has told of no port yet, so of none called '%s'", agent->name,
                       port);
}

static void way_say(const struct look *look, const char *verb, uint64_t bps, uint64_t peak_bps,
                    uint64_t rate_bps)
{
    char now[BIT_RATE_WORDS], peak[BIT_RATE_WORDS];
    explanation_say(look->out, "%s %s (%s in its fullest tenth", verb, bit_rate_words(bps, now),
                    bit_rate_words(peak_bps, peak));
    if (rate_bps)
        explanation_say(look->out, ", %s of its rate",
                        percent_of((uint32_t)((unsigned __int128)bps * 1000 / rate_bps)).text);
    explanation_say(look->out, ")");
}

static void ceiling_say(const struct look *look, const char *verb, uint64_t bps)
{
    char rate[BIT_RATE_WORDS];
    if (bps)
        explanation_say(look->out,
                        " It never %s more than %s, less than half of its rate: something on the "
                        "way is slower.",
                        verb, bit_rate_words(bps, rate));
}

static void port_facts(const struct look *look, const struct agent_link *row)
{
    const duopoly_Link *link = &row->link;
    explanation_fact(look->out, "port", "%s", link->port);
    explanation_fact(look->out, "rate_bps", "%" PRIu64, link->rate_bps);
    explanation_fact(look->out, "sent_bps", "%" PRIu64, link->sent_bps);
    explanation_fact(look->out, "received_bps", "%" PRIu64, link->received_bps);
    explanation_fact(look->out, "dropped", "%" PRIu64, link->dropped);
    explanation_seconds(look->out, "port_told_s_ago", look->now_ns - row->told_ns);
}

static void port_say(const struct look *look, const struct agent_link *row)
{
    const duopoly_Link *link = &row->link;
    char rate[BIT_RATE_WORDS];
    explanation_say(look->out, "Port %.31s of %s", link->port, look->agent->name);
    if (link->rate_bps)
        explanation_say(look->out, ", of %s,", bit_rate_words(link->rate_bps, rate));
    way_say(look, " sends", link->sent_bps, link->sent_peak_bps, link->rate_bps);
    way_say(look, " and receives", link->received_bps, link->received_peak_bps, link->rate_bps);
    explanation_say(look->out, ", by its report of %.1f s ago.", since_s(look, row->told_ns));
    ceiling_say(look, "sends", link->sent_ceiling_bps);
    ceiling_say(look, "receives", link->received_ceiling_bps);
    port_facts(look, row);
}

/* ---- what makes the network congested ---- */

static void network_say(const struct look *look)
{
    const struct engine_config *config = engine_configuration(look->parts->engine);
    const struct host_times *times = look->parts->times;
    struct congestion_view now;
    engine_congestion(look->parts->engine, &now);
    const uint32_t some =
        (uint32_t)((uint64_t)now.uplinks * config->congested_share_permille / 1000);
    explanation_say(look->out, " The network is %scongested", now.congested ? "" : "not ");
    if (times->congested_ns)
        explanation_say(look->out, " for %.1f s", since_s(look, times->congested_ns));
    if (now.congested)
        explanation_say(look->out,
                        ": %" PRIu32 " of %" PRIu32
                        " uplinks %s not below %s, and it stays so while "
                        "more than %" PRIu32 " are not.",
                        now.uncleared, now.uplinks, now.uncleared == 1 ? "is" : "are",
                        percent_of(config->cleared_permille).text, some);
    else
        explanation_say(look->out,
                        ": %" PRIu32 " of %" PRIu32
                        " uplinks %s over %s, and it becomes so when more "
                        "than %" PRIu32 " are.",
                        now.over, now.uplinks, now.over == 1 ? "is" : "are",
                        percent_of(config->congested_permille).text, some);
    explanation_fact(look->out, "congested", "%s", now.congested ? "yes" : "no");
    if (times->congested_ns)
        explanation_seconds(look->out, "congested_for_s", look->now_ns - times->congested_ns);
    explanation_fact(look->out, "uplinks", "%" PRIu32, now.uplinks);
    explanation_fact(look->out, "uplinks_over", "%" PRIu32, now.over);
    explanation_fact(look->out, "uplinks_uncleared", "%" PRIu32, now.uncleared);
    explanation_fact(look->out, "uplinks_for_congestion", "%" PRIu32, some + 1);
}

/* ---- an uplink or a downlink ---- */

static void full_say(const struct look *look, const char *side, const struct load_time *load,
                     bool counts)
{
    const struct engine_config *config = engine_configuration(look->parts->engine);
    const char *as = counts ? "counts as full" : "is full";
    if (load->since_ns) {
        explanation_say(look->out, " It %s for %.1f s, until a report has less than %s.", as,
                        since_s(look, load->since_ns), percent_of(config->cleared_permille).text);
        side_fact(look, side, "full_s", "%.3f", since_s(look, load->since_ns));
    } else {
        explanation_say(look->out, " It %s when a report has more than %s.", as,
                        percent_of(config->congested_permille).text);
    }
    side_fact(look, side, "congested_permille", "%" PRIu32, config->congested_permille);
    side_fact(look, side, "cleared_permille", "%" PRIu32, config->cleared_permille);
}

static void load_say(const struct look *look, const struct host_view *host, int resource)
{
    const struct host_time time = host_time_of(look->parts->times, host->host);
    const struct load_time *load = &time.load[resource];
    const bool up = resource == LOAD_UPLINK;
    const uint32_t permille = up ? host->uplink_permille : host->downlink_permille;
    const uint64_t bps = up ? host->uplink_bps : host->downlink_bps;
    const char *gap = *look->out->text ? " " : "", *side = sides[resource];
    char rate[BIT_RATE_WORDS];
    if (!load->told_ns) {
        explanation_say(look->out, "%sThe %s of %s has %s; how full it is has not been reported.",
                        gap, side, host->name, bit_rate_words(bps, rate));
        return;
    }
    explanation_say(look->out, "%sThe %s of %s is %s full of its %s, by the report of %.1f s ago.",
                    gap, side, host->name, percent_of(permille).text, bit_rate_words(bps, rate),
                    since_s(look, load->told_ns));
    side_fact(look, side, "permille", "%" PRIu32, permille);
    side_fact(look, side, "bps", "%" PRIu64, bps);
    side_fact(look, side, "told_s_ago", "%.3f", since_s(look, load->told_ns));
    full_say(look, side, load, up);
}

/* "4098/1/0 on w2 at level 2 (18.5 Mbit/s)" */
static void transfer_say(const struct look *look, const char *side, uint32_t index,
                         const struct link_transfer *transfer)
{
    const struct attempt_view *attempt = &transfer->attempt;
    const int64_t bps = agents_attempt_bps(look->parts->agents, attempt->attempt, look->now_ns);
    char name[32], rate[BIT_RATE_WORDS] = "";
    struct host_view host = {.name = "?"};
    engine_host(look->parts->engine, attempt->host, &host);
    if (bps >= 0)
        bit_rate_words((uint64_t)bps, rate);
    explanation_say(look->out,
                    "%s %" PRIu64 "/%" PRIu32 "/%" PRIu32 " on %s at level %" PRIu32 "%s%s%s",
                    index ? "," : "", attempt->job, attempt->stage, attempt->task, host.name,
                    transfer->level, bps >= 0 ? " (" : "", rate, bps >= 0 ? ")" : "");
    snprintf(name, sizeof(name), "transfer_%" PRIu32, index + 1);
    side_fact(look, side, name,
              "%" PRIu64 "/%" PRIu32 "/%" PRIu32 " on %s level %" PRIu32 " (Coflow %" PRIu32
              ", Macroflow %" PRIu32 ") %" PRIu64 " of %" PRIu64 " bytes%s%s",
              attempt->job, attempt->stage, attempt->task, host.name, transfer->level,
              level_on_wire(attempt->coflow_level), level_on_wire(attempt->macroflow_level),
              attempt->received_bytes, attempt->macroflow_bytes, bps >= 0 ? " " : "", rate);
}

static void first_say(const struct look *look, const char *side, const struct link_transfer *first)
{
    struct job_view job = {.name = "?"};
    struct engine_status status;
    engine_job(look->parts->engine, first->attempt.job, &job);
    engine_status(look->parts->engine, &status);
    explanation_say(look->out,
                    " First in turn there is job %" PRIu64 " (%s), %" PRIu64 " of %" PRIu64 ".",
                    first->attempt.job, job.name, first->place, status.jobs_active);
    side_fact(look, side, "first_job", "%" PRIu64, first->attempt.job);
    side_fact(look, side, "first_job_place", "%" PRIu64 " of %" PRIu64, first->place,
              status.jobs_active);
}

static void transfers_say(const struct look *look, uint32_t host, int resource)
{
    const bool up = resource == LOAD_UPLINK;
    struct link_transfers found;
    link_transfers_find(look->parts, host, up, &found);
    side_fact(look, sides[resource], "transfers", "%" PRIu32 "%s", found.n,
              found.more ? " or more" : "");
    if (!found.n) {
        explanation_say(look->out, " No task %s.", up ? "reads from it" : "receives there");
        return;
    }
    explanation_say(look->out, " %" PRIu32 "%s task%s %s%s%s. By level:", found.n,
                    found.more ? " or more" : "", plural(found.n), found.unsure ? "may " : "",
                    up ? "read" : "receive",
                    found.n == 1 && !found.unsure ? (up ? "s from it" : "s there")
                                                  : (up ? " from it" : " there"));
    for (uint32_t i = 0; i < found.told; i++)
        transfer_say(look, sides[resource], i, &found.at[i]);
    if (found.n > found.told)
        explanation_say(look->out, " and %" PRIu32 " more", found.n - found.told);
    explanation_say(look->out, "; levels are those of %s.",
                    found.starved ? "Macroflows, since the mode is slot-starved"
                                  : "Coflows, since the mode is slot-rich");
    first_say(look, sides[resource], &found.first);
}

static void side_say(const struct look *look, int resource)
{
    struct host_view host;
    if (engine_host(look->parts->engine, look->agent->host, &host) < 0)
        return;
    load_say(look, &host, resource);
    if (resource == LOAD_UPLINK)
        network_say(look);
    else
        explanation_say(look->out, " Congestion is judged by uplinks alone.");
    transfers_say(look, host.host, resource);
}

void explanation_link(const struct conductor_parts *parts, const struct agent_view *agent,
                      const char *port, duopoly_Envelope *answer)
{
    struct look look = {parts, agent, clock_now_ns(parts->clock), NULL};
    const struct agent_link *row = port_find(agent->links, port);
    int side = agent->is_switch ? 2 : 0;
    char gone[64];
    while (side < 2 && strcmp(port, sides[side]) != 0)
        side++;
    if (side == 2 && !row) {
        absent_answer(agent, port, answer);
        return;
    }
    look.out = &wire_begin(answer, duopoly_Envelope_explanation_tag)->body.explanation;
    explanation_fact(look.out, "host", "%s", agent->name);
    if (listing_gone(agent, look.now_ns, gone, sizeof(gone))) {
        explanation_say(look.out, "What the %s %s of %s carries is not known: %s is %s.",
                        side == 2 ? "port" : "link", port, agent->name, agent->name, gone);
        return;
    }
    if (side < 2) {
        side_say(&look, side);
        return;
    }
    port_say(&look, row);
    for (side = 0; side < 2 && !agent->is_switch; side++)
        side_say(&look, side);
}
