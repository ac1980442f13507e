#include "hostagent/agent_parts.h"
#include "hostagent/link_report.h"
#include "hostagent/marks/hook.h"
#include "hostagent/stance.h"
#include "lib/log.h"

#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int agent_open_queues(struct agent_parts *agent, bool replace, struct err *err)
{
    const struct switch_config config = settings_switch(agent->settings, agent->resolved, replace);
    return config.queues ? switches_open(switch_find(agent->settings->switch_settings.driver),
                                         &config, &agent->switches, err)
                         : 0;
}

void agent_set_routes(struct agent_parts *agent, bool enforce)
{
    const struct routes_config config = settings_routes(agent->settings, agent->resolved);
    struct err err = {0};
    uint32_t n = 0;
    bool wanted = config.members_n && enforce;
    int r = wanted ? routes_apply(&config, &n, &err) : routes_restore(config.state_dir, &err);
    agent->routes_words[0] = 0;
    if (r < 0) {
        log_warning(LOG_FAULT_CONFIGURATION, "%s", err.text);
        snprintf(agent->routes_words, sizeof(agent->routes_words), "no DCTCP: %.80s", err.text);
    } else if (wanted)
        snprintf(agent->routes_words, sizeof(agent->routes_words), "DCTCP by %u routes", n);
}

/* Whether that differs from what was last logged. */
static bool log_lacks(struct agent_parts *agent)
{
    const char *lacks = agent->resolved->ports.lacks;
    if (strcmp(agent->lacks, lacks) == 0)
        return false;
    if (lacks[0])
        log_warning(LOG_FAULT_CONFIGURATION,
                    "there is no interface %s in this network namespace yet (link.ports)", lacks);
    memcpy(agent->lacks, agent->resolved->ports.lacks, sizeof(agent->lacks));
    return true;
}

/* The sentence about ports that lack what is wished, or are missing. */
static void word_troubles(struct agent_parts *agent)
{
    char *words = agent->troubles_words;
    const size_t size = sizeof(agent->troubles_words);
    words[0] = 0;
    if (agent->switches)
        switches_troubles(agent->switches, words, size);
    size_t used = strlen(words);
    if (agent->lacks[0])
        snprintf(words + used, size - used, "%sno interface %s yet", used ? "; " : "",
                 agent->lacks);
}

void agent_say_ports(struct agent_parts *agent)
{
    bool others = log_lacks(agent);
    if (agent->switches && stance_now(agent->stance) == duopoly_Stance_STANCE_ENFORCE)
        others |= switches_tell(agent->switches);
    if (!others)
        return;
    if (agent->switches)
        switches_say(agent->switches, agent->queues_words, sizeof(agent->queues_words));
    word_troubles(agent);
    agent_say_host(agent);
}

static bool is_not_anothers(const void *user, const char *port)
{
    return !switches_is_anothers(user, port);
}

/* Neither marks nor anything else is ours there. */
static void leave_anothers(struct agent_parts *agent, struct ports_found *ports)
{
    if (agent->switches)
        ports_keep(ports, is_not_anothers, agent->switches);
}

static void on_port_failure(void *user, const char *text)
{
    log_warning(LOG_FAULT_CONFIGURATION, "%s", text);
    agent_on_notice(user, text);
}

/* Marks of a port that is ours from now on, or not any more. */
static void set_marks(struct agent_parts *agent, const char *port, bool ours)
{
    struct err err = {0};
    if (marks_port(agent->marks, port, ours, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
    log_note(ours ? "%s is a port of ours now" : "%s is no port of ours any more", port);
}

int agent_open_links(struct agent_parts *agent, struct err *err)
{
    const struct ports_found *ports = &agent->resolved->ports;
    link_report_close(agent->link_report);
    links_nl_close(agent->links_nl);
    agent->links_nl = NULL;
    int r = link_report_open_resolved(agent->resolved, &agent->link_report, err);
    return r < 0 || !ports->n ? r
                              : links_nl_open(ports->ifindexes, ports->n, &agent->links_nl, err);
}

static bool has_port(const struct ports_found *ports, const struct ports_found *others, uint32_t i)
{
    int place = ports_place(ports, others->ifindexes[i]);
    return place >= 0 && strcmp(ports->names[place], others->names[i]) == 0;
}

static struct hook_folders hook_folders(const struct agent_parts *agent)
{
    return (struct hook_folders){.state_dir = agent->settings->state,
                                 .bpffs = agent->resolved->bpffs};
}

static void follow_names(const struct agent_parts *agent, const struct ports_found *found,
                         struct ports_found *ports)
{
    char now[IF_NAMESIZE];
    for (uint32_t i = 0; i < ports->n; i++) {
        int place = ports_place(found, ports->ifindexes[i]);
        if (place >= 0)
            memcpy(now, found->names[place], sizeof(now));
        else if (!if_indextoname((unsigned)ports->ifindexes[i], now))
            continue;
        if (strcmp(now, ports->names[i]) == 0)
            continue;
        const struct hook_folders in = hook_folders(agent);
        hook_rename(&in, ports->names[i], now);
        memcpy(ports->names[i], now, PORT_NAME);
    }
}

static void set_all_marks(struct agent_parts *agent, const struct ports_found *ports,
                          const struct ports_found *but, bool ours)
{
    for (uint32_t i = 0; i < ports->n; i++)
        if (!has_port(but, ports, i))
            set_marks(agent, ports->names[i], ours);
}

/* Those that go first: a port can become a tunnel, which has other programs. */
static void follow_marks(struct agent_parts *agent, struct ports_found *before,
                         const struct ports_found *now, struct ports_found *before_tunnels,
                         const struct ports_found *now_tunnels)
{
    follow_names(agent, now, before);
    follow_names(agent, now_tunnels, before_tunnels);
    set_all_marks(agent, before, now, false);
    set_all_marks(agent, before_tunnels, now_tunnels, false);
    set_all_marks(agent, now, before, true);
    set_all_marks(agent, now_tunnels, before_tunnels, true);
}

/* An interface changed: it may be a port now, or not any more. */
int agent_on_links(void *user)
{
    static struct ports_found before, now;
    static struct tunnels_found before_tunnels, now_tunnels;
    struct agent_parts *agent = user;
    struct settings_resolved *resolved = agent->resolved;
    struct err err = {0};
    int r = settings_find_ports(agent->settings, false, &now, &now_tunnels, &err);
    if (r == -ENODEV)
        now.n = now_tunnels.ports.n = now_tunnels.notes_n = 0; /* the bridge is gone */
    else if (r < 0) {
        if (r != -EAGAIN)
            log_error(LOG_FAULT_US, "%s", err.text);
        return r;
    }
    bool enforce = stance_now(agent->stance) == duopoly_Stance_STANCE_ENFORCE;
    if (agent->switches)
        switches_follow(agent->switches, &now, enforce, on_port_failure, agent);
    leave_anothers(agent, &now);
    before = resolved->ports;
    resolved->ports = now;
    before_tunnels = resolved->tunnels;
    resolved->tunnels = now_tunnels;
    resolved->marks.ports_n = agent->marks_config.ports_n = now.n;
    resolved->marks.tunnels_n = agent->marks_config.tunnels_n = now_tunnels.ports.n;
    if (agent_open_links(agent, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
    agent_say_ports(agent);
    follow_marks(agent, &before, &now, &before_tunnels.ports, &now_tunnels.ports);
    agent_say_tunnels(agent);
    agent_set_routes(agent,
                     enforce); /* the kernel makes new routes for an interface that is up again */
    return 0;
}

void agent_say_tunnels(struct agent_parts *agent)
{
    const struct tunnels_found *tunnels = &agent->resolved->tunnels;
    char words[sizeof(agent->tunnels_words)] = "";
    if (tunnels->hides && !marks_know_connections(agent->marks))
        snprintf(words, sizeof(words),
                 "WireGuard hides from nftables which connection it carries: its packets leave "
                 "unmarked");
    else if (tunnels->notes_n)
        snprintf(words, sizeof(words), "%s%s", tunnels->notes[0],
                 tunnels->notes_n > 1 ? "; others: see --plan" : "");
    if (strcmp(words, agent->tunnels_words) == 0)
        return;
    if (words[0])
        log_warning(LOG_FAULT_CONFIGURATION, "%s", words);
    memcpy(agent->tunnels_words, words, sizeof(words));
    agent_say_host(agent);
}

int agent_set_queues(struct agent_parts *agent, struct err *err)
{
    if (!agent->switches)
        return 0;
    int r = stance_kept(agent->settings->state) == duopoly_Stance_STANCE_ENFORCE
                ? switches_apply(agent->switches, err)
                : switches_restore(agent->switches, err);
    if (r < 0 && r != -ENOSYS)
        return r;
    switches_say(agent->switches, agent->queues_words, sizeof(agent->queues_words));
    log_note("queues: %s", agent->queues_words);
    switches_warn(agent->switches);
    if (r >= 0) {
        switches_tell(agent->switches);
        log_lacks(agent);
        word_troubles(agent);
        leave_anothers(agent, &agent->resolved->ports);
        agent->resolved->marks.ports_n = agent->resolved->ports.n;
        return 0;
    }
    switches_close(agent->switches); /* no queues suit these ports: marks work alone */
    agent->switches = NULL;
    return 0;
}

/* Adds ports of which files are kept, by the files' names, and that are no longer ours: an earlier
 * agent had another configuration. */
static void add_former(const struct agent_parts *agent, const char *folder, const char *file,
                       const char *name, struct ports_found *ports)
{
    int ifindex = (int)if_nametoindex(name);
    char path[FILES_PATH];
    files_path(path, "%.250s/%.255s", folder, file);
    if (!ifindex)
        unlink(path); /* it is gone, with all that was on it */
    if (!ifindex || ports->n == QUEUES_PORTS ||
        ports_place(&agent->resolved->ports, ifindex) >= 0 ||
        ports_place(&agent->resolved->tunnels.ports, ifindex) >= 0 ||
        ports_place(ports, ifindex) >= 0)
        return;
    ports_add(ports, ifindex, name);
}

static void find_former(const struct agent_parts *agent, const char *folder,
                        struct ports_found *ports)
{
    static const char *const words[] = {"queues-", "putting-"};
    char name[IF_NAMESIZE];
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *file = entry->d_name;
        if (hook_port_of(file, name))
            add_former(agent, folder, file, name, ports);
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            if (strncmp(file, words[i], strlen(words[i])) == 0)
                add_former(agent, folder, file, file + strlen(words[i]), ports);
    }
    if (dir)
        closedir(dir);
}

int agent_leave_former(struct agent_parts *agent, struct err *err)
{
    static struct ports_found former;
    struct settings_resolved *resolved = agent->resolved;
    struct agent_parts other = {.settings = agent->settings, .resolved = resolved};
    former.n = 0;
    find_former(agent, agent->settings->state, &former);
    find_former(agent, resolved->bpffs, &former);
    if (!former.n)
        return 0;
    const struct hook_folders in = hook_folders(agent);
    const struct ports_found ours = resolved->ports;
    resolved->ports = former;
    resolved->marks.ports_n = former.n;
    int r = agent_open_queues(&other, false, err);
    if (r >= 0 && other.switches)
        r = switches_restore(other.switches, err);
    switches_close(other.switches);
    for (uint32_t i = 0; i < former.n; i++) {
        int detached = hook_detach(&in, former.names[i], r < 0 ? NULL : err);
        r = r < 0 ? r : detached;
    }
    resolved->ports = ours;
    resolved->marks.ports_n = ours.n;
    return r;
}
