#include "controller/clients/verdict.h"

#include "lib/join.h"

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

static void hosts_look(const struct conductor_parts *parts, duopoly_Status *status)
{
    struct hosts found[TROUBLES] = {{0, ""}};
    struct agent_view agent;
    for (uint32_t i = 0; agents_at(parts->agents, i, &agent) == 0; i++)
        name_add(&found[trouble_of(parts, &agent)], agent.name);
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
