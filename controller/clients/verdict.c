#include "controller/clients/verdict.h"

#include "lib/bit_rate.h"
#include "lib/join.h"
#include "lib/plural.h"
#include "lib/wire.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST   (sizeof(((duopoly_Status *)0)->wrong) / sizeof(((duopoly_Status *)0)->wrong[0]))
#define CLAUSE sizeof(((duopoly_Status *)0)->wrong[0])
#define NAMED  4 /* hosts of each kind */

/* Beyond the last place it says that there is more. */
__attribute__((format(printf, 2, 3))) static void say(duopoly_Status *status, const char *format,
                                                      ...)
{
    va_list ap;
    if (status->wrong_count == MOST) {
        snprintf(status->wrong[MOST - 1], CLAUSE, "more than is named here (duopolyctl hosts)");
        return;
    }
    va_start(ap, format);
    vsnprintf(status->wrong[status->wrong_count++], CLAUSE, format, ap);
    va_end(ap);
}

/* What is wrong with hosts, as words that follow their names. */
enum trouble { TROUBLE_NONE, LOST, SILENT, FULL, SUSPECT, PORTS, TROUBLES };
static const char *const words[TROUBLES][2] = {
    [LOST] = {"is lost", "are lost"},
    [SILENT] = {"is not heard", "are not heard"},
    [FULL] = {"starts nothing", "start nothing"},
    [SUSPECT] = {"is suspect and gets no new work", "are suspect and get no new work"},
    [PORTS] = {"has ports that another program changes", "have ports that other programs change"},
};

struct hosts {
    uint32_t n;
    char names[CLAUSE - 64];
};

static enum trouble trouble_of(const struct conductor_parts *parts, const struct agent_view *agent)
{
    struct host_view host;
    if (agent->state == AGENT_LOST)
        return LOST;
    if (agent->state == AGENT_SILENT)
        return SILENT;
    if (agent->state == AGENT_FULL)
        return FULL;
    if (engine_host(parts->engine, agent->host, &host) == 0 && host.suspect)
        return SUSPECT;
    return *agent->trouble ? PORTS : TROUBLE_NONE;
}

/* A name that has no room is not shown; the number says how many there are. */
static void name_add(struct hosts *hosts, const char *name)
{
    const bool fits = strlen(hosts->names) + strlen(name) + 3 < sizeof(hosts->names);
    if (++hosts->n <= NAMED && fits)
        join_word(hosts->names, sizeof(hosts->names), ", ", name);
}

/* A link of a host that carries far less than it should; NULL: there is none. */
static const duopoly_Link *slow_link(const struct agent_view *agent)
{
    for (uint32_t i = 0; !agent->is_switch && i < agent->links->n; i++) {
        const duopoly_Link *link = &agent->links->rows[i].link;
        if (link->sent_ceiling_bps || link->received_ceiling_bps)
            return link;
    }
    return NULL;
}

static void slow_say(const duopoly_Link *link, char *text, size_t size)
{
    const bool received = link->received_ceiling_bps;
    char rate[BIT_RATE_WORDS];
    bit_rate_words(received ? link->received_ceiling_bps : link->sent_ceiling_bps, rate);
    snprintf(text, size, "%.16s never %s more than %s", link->port, received ? "receives" : "sends",
             rate);
}

static void full_say(const struct host_view *host, char *text, size_t size)
{
    const bool down = host->downlink_permille >= host->uplink_permille;
    const uint32_t permille = down ? host->downlink_permille : host->uplink_permille;
    snprintf(text, size,
             "its %s is %" PRIu32 ".%" PRIu32 " %% full, and %" PRIu32 " task%s receive%s there",
             down ? "downlink" : "uplink", permille / 10, permille % 10, host->receiving,
             plural(host->receiving), host->receiving == 1 ? "s" : "");
}

/* How badly off one is: first by its trouble, then by a slow link, then by its fullest link. Less
 * is worse. */
struct worst {
    uint32_t rank, free_permille;
};
enum { RANK_SLOW = TROUBLES, RANK_FULL, RANK_IDLE };

static struct worst rank_of(enum trouble trouble, const duopoly_Link *slow,
                            const struct host_view *host)
{
    uint32_t permille = host->downlink_permille > host->uplink_permille ? host->downlink_permille
                                                                        : host->uplink_permille;
    if (trouble)
        return (struct worst){(uint32_t)trouble, 0};
    if (slow)
        return (struct worst){RANK_SLOW, 0};
    return (struct worst){permille ? RANK_FULL : RANK_IDLE, permille < 1000 ? 1000 - permille : 0};
}

static bool is_worse(struct worst one, struct worst than)
{
    return one.rank != than.rank ? one.rank < than.rank : one.free_permille < than.free_permille;
}

/* The first of several that are as badly off stays. */
static void worst_look(const struct conductor_parts *parts, const struct agent_view *agent,
                       enum trouble trouble, struct worst *worst, duopoly_Status *status)
{
    const duopoly_Link *slow = slow_link(agent);
    struct host_view host = {.name = ""};
    if (!agent->is_switch)
        engine_host(parts->engine, agent->host, &host);
    const struct worst one = rank_of(trouble, slow, &host);
    if (!is_worse(one, *worst))
        return;
    *worst = one;
    wire_copy(status->worst_host, sizeof(status->worst_host), agent->name);
    if (trouble)
        snprintf(status->worst_why, sizeof(status->worst_why), "it %s", words[trouble][0]);
    else if (slow)
        slow_say(slow, status->worst_why, sizeof(status->worst_why));
    else
        full_say(&host, status->worst_why, sizeof(status->worst_why));
}

static void hosts_look(const struct conductor_parts *parts, duopoly_Status *status)
{
    struct hosts found[TROUBLES] = {{0, ""}};
    struct worst worst = {RANK_IDLE, 0};
    struct agent_view agent;
    for (uint32_t i = 0; agents_at(parts->agents, i, &agent) == 0; i++) {
        const enum trouble trouble = trouble_of(parts, &agent);
        name_add(&found[trouble], agent.name);
        worst_look(parts, &agent, trouble, &worst, status);
    }
    for (int t = TROUBLE_NONE + 1; t < TROUBLES; t++) {
        const struct hosts *hosts = &found[t];
        if (hosts->n == 1)
            say(status, "%s %s (duopolyctl hosts)", hosts->names, words[t][0]);
        else if (hosts->n)
            say(status, "%" PRIu32 " hosts %s: %s%s (duopolyctl hosts)", hosts->n, words[t][1],
                hosts->names, hosts->n > NAMED ? " and more" : "");
    }
}

void verdict_fill(const struct conductor_parts *parts, const struct engine_status *engine,
                  duopoly_Status *status)
{
    struct err err;
    status->wrong_count = 0;
    if (store_refusal(parts->store, &err) < 0)
        say(status, "%.*s", (int)CLAUSE - 1, err.text);
    if (agents_resyncing(parts->agents))
        say(status, "nothing starts yet: hosts that were known before the restart are awaited");
    else if (engine->jobs_active && !engine->hosts_up)
        say(status, "jobs wait, and no host is up");
    hosts_look(parts, status);
}
