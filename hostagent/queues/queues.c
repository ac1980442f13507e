#include "hostagent/queues/queues.h"

#include "hostagent/files.h"
#include "hostagent/queues/ports_nl.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_MOST (64u << 20) /* bytes */

struct queues {
    struct queues_config config;
    struct qdisc *qdisc;
    char state_dir[FILES_PATH];
    uint32_t n, refused_n;
    struct queues_port {
        int ifindex;
        bool waits; /* for its link: it has no queues yet */
        char name[PORT_NAME];
    } ports[QUEUES_PORTS];
    const int *touched; /* NULL: all */
    uint32_t touched_n;
    int refused[QUEUES_PORTS]; /* that have come, and could not be given queues */
    char *written;             /* the record that was written last, and where */
    char written_path[FILES_PATH];
};

int queues_open(const struct queues_config *config, const char (*ports)[PORT_NAME], uint32_t n,
                struct queues **ret_queues, struct err *err)
{
    if (n > QUEUES_PORTS)
        return err_set(err, E2BIG, "%u ports: an agent manages at most %d", n, QUEUES_PORTS);
    struct queues *queues = calloc(1, sizeof(*queues));
    if (!queues)
        return err_sys(err, ENOMEM, "queues");
    queues->config = *config;
    queues->n = n;
    snprintf(queues->state_dir, sizeof(queues->state_dir), "%s", config->state_dir);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(queues->ports[i].name, ports[i], PORT_NAME);
        queues->ports[i].ifindex = (int)if_nametoindex(ports[i]);
    }
    int r = config->driver->open(&queues->qdisc, err);
    if (r < 0) {
        free(queues);
        return r;
    }
    const struct qdisc_site site = {.wish = &queues->config.wish, .nudge = config->nudge};
    if (config->driver->tell)
        config->driver->tell(queues->qdisc, &site);
    *ret_queues = queues;
    return 0;
}

void queues_close(struct queues *queues)
{
    if (!queues)
        return;
    queues->config.driver->close(queues->qdisc);
    free(queues->written);
    free(queues);
}

/* What stood on the port before us; and the same while it is being put back. */
static void record_path(const struct queues *queues, const char *port, char path[FILES_PATH])
{
    files_path(path, QUEUES_RECORD, queues->state_dir, port);
}

static void putting_path(const struct queues *queues, const char *port, char path[FILES_PATH])
{
    files_path(path, "%s/putting-%s", queues->state_dir, port);
}

static bool has_record(const struct queues *queues, const char *port)
{
    char path[FILES_PATH];
    record_path(queues, port, path);
    return access(path, F_OK) == 0;
}

/* What is somebody's stays, unless the configuration gives it away; another agent's in any case. */
static int check_root(const struct queues *queues, const char *port, const struct qdisc_plan *plan,
                      struct err *err)
{
    if (plan->root == QDISC_OURS && !has_record(queues, port))
        return err_set(
            err, EBUSY,
            "%s has the queues of another duopoly-agent, of which nothing is kept in "
            "%s: end that one and take back what it left (--restore), or remove them (tc "
            "qdisc delete dev %s root)",
            port, queues->state_dir, port);
    if (plan->root != QDISC_FOREIGN || queues->config.replace)
        return 0;
    return err_set(
        err, EBUSY,
        "%s already has a root qdisc of its own (%s): run with --replace to put ours in its "
        "place until we leave, or name another port",
        port, plan->kind);
}

/* No plan (0, NULL) for a link that is down and does not say how fast it will be. */
static int look_at(struct queues *queues, const char *port, struct qdisc_plan **ret_plan,
                   struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    struct port_facts facts;
    struct port want;
    int r = driver->facts(queues->qdisc, port, &facts, err);
    if (r >= 0)
        r = port_want(&queues->config.wish, &facts, &want, err);
    if (r == -ENETDOWN) {
        *ret_plan = NULL;
        return 0;
    }
    if (r == -EINVAL)
        err_prefix(err, "%s", port);
    return r < 0 ? r : driver->plan(queues->qdisc, port, &want, ret_plan, err);
}

static bool is_among(const int *ifindexes, uint32_t n, int ifindex)
{
    for (uint32_t i = 0; i < n; i++)
        if (ifindexes[i] == ifindex)
            return true;
    return false;
}

void queues_touch(struct queues *queues, const int *ifindexes, uint32_t n)
{
    queues->touched = ifindexes;
    queues->touched_n = n;
}

bool queues_is_touched(const struct queues *queues, uint32_t port)
{
    return !queues->touched ||
           is_among(queues->touched, queues->touched_n, queues->ports[port].ifindex);
}

/* Takes `text`. Most ports of a machine have the same. */
static int write_record(struct queues *queues, const char *port, char *text, struct err *err)
{
    bool same = queues->written && strcmp(queues->written, text) == 0;
    char path[FILES_PATH];
    record_path(queues, port, path);
    int r = same ? files_write_twin(path, queues->written_path, text, strlen(text), 0600, err)
                 : files_write(path, text, strlen(text), 0600, err);
    if (r < 0) {
        free(text);
        return r;
    }
    free(queues->written);
    queues->written = text;
    memcpy(queues->written_path, path, sizeof(path));
    return 0;
}

/* What stands there is on disk before anything makes room. */
static int keep(struct queues *queues, const char *port, const struct qdisc_plan *plan,
                struct err *err)
{
    char *text = NULL;
    if (!plan || plan->root == QDISC_OURS)
        return 0;
    int r = queues->config.driver->record(queues->qdisc, port, &text, err);
    return r < 0 ? r : write_record(queues, port, text, err);
}

/* 1 when what stands there is what `text` keeps. */
static int is_as_recorded(struct queues *queues, const char *port, const char *text)
{
    char *now = NULL;
    int r = queues->config.driver->record(queues->qdisc, port, &now, NULL);
    bool same = r >= 0 && strcmp(now, text) == 0;
    free(now);
    return r == -ENODEV ? r : same;
}

/* Moves the record to where it says that the port is being put back; `ret_begun`: it was there. */
static int take_record(struct queues *queues, const char *port, bool *ret_begun, char **ret_text,
                       struct err *err)
{
    char record[FILES_PATH], putting[FILES_PATH];
    record_path(queues, port, record);
    putting_path(queues, port, putting);
    *ret_begun = access(putting, F_OK) == 0;
    if (!*ret_begun && rename(record, putting) < 0)
        return errno == ENOENT ? -ENOENT : err_sys(err, errno, "renaming %s", record);
    return files_read_whole(putting, RECORD_MOST, ret_text, err);
}

static void forget_record(const struct queues *queues, const char *port)
{
    char path[FILES_PATH];
    putting_path(queues, port, path);
    unlink(path);
}

static int restore_port(struct queues *queues, const char *port, struct err *err)
{
    char *text = NULL;
    bool begun;
    int r = take_record(queues, port, &begun, &text, err);
    if (r == -ENOENT)
        return 0;
    if (r >= 0 && !(begun && is_as_recorded(queues, port, text) == 1))
        r = queues->config.driver->restore(queues->qdisc, port, text, begun, err);
    free(text);
    if (r == 0 || r == -ENODEV)
        forget_record(queues, port);
    return r == -ENODEV || r > 0 ? 0 : r;
}

/* Forgets the record once the port is as it says. */
static int check_restored(struct queues *queues, const char *port, struct err *err)
{
    char path[FILES_PATH], *text = NULL;
    putting_path(queues, port, path);
    if (access(path, F_OK) < 0)
        return 0;
    int r = files_read_whole(path, RECORD_MOST, &text, err);
    if (r >= 0 && is_as_recorded(queues, port, text) == 0)
        r = err_set(err, EIO, "what stood on %s before did not come back as %s has it", port, path);
    else if (r >= 0)
        forget_record(queues, port);
    free(text);
    return r;
}

/* All ports: puts back, then looks again whether all is as it was. The last comes first: see
 * take_back in agent.c. */
static int each_port(struct queues *queues,
                     int (*each)(struct queues *queues, const char *port, struct err *err),
                     struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    int r = driver->look(queues->qdisc, err);
    bool looked = r >= 0;
    for (uint32_t i = queues->n; looked && i-- > 0;) {
        int other = each(queues, queues->ports[i].name, r < 0 ? NULL : err);
        r = r < 0 ? r : other;
    }
    driver->look_away(queues->qdisc);
    return r;
}

int queues_restore(struct queues *queues, struct err *err)
{
    int r = each_port(queues, restore_port, err);
    int other = each_port(queues, check_restored, r < 0 ? NULL : err);
    return r < 0 ? r : other;
}

/* Whether an agent before us ended while it put back what stood on a port. */
static bool was_putting(const struct queues *queues, uint32_t port)
{
    char path[FILES_PATH];
    putting_path(queues, queues->ports[port].name, path);
    return access(path, F_OK) == 0;
}

static int plan_port(struct queues *queues, uint32_t port, bool again, struct qdisc_plan **ret_plan,
                     struct err *err)
{
    struct qdisc_plan *plan = NULL;
    const char *name = queues->ports[port].name;
    int r = look_at(queues, name, &plan, err);
    if (r >= 0 && plan && !again && !was_putting(queues, port))
        r = check_root(queues, name, plan, err);
    if (r < 0) {
        free(plan);
        return r;
    }
    *ret_plan = plan;
    return 0;
}

void queues_free_plans(struct queues_plans *plans)
{
    for (uint32_t i = 0; plans && i < plans->n; i++)
        free(plans->ports[i]);
    free(plans);
}

int queues_plan(struct queues *queues, bool again, struct queues_plans **ret_plans, struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    struct queues_plans *plans = calloc(1, sizeof(*plans) + queues->n * sizeof(plans->ports[0]));
    if (!plans)
        return err_sys(err, ENOMEM, "queues");
    plans->again = again;
    plans->n = queues->n;
    int r = driver->look(queues->qdisc, err);
    for (uint32_t i = 0; r >= 0 && i < queues->n; i++)
        if (queues_is_touched(queues, i))
            r = plan_port(queues, i, again, &plans->ports[i], err);
    driver->look_away(queues->qdisc);
    if (r < 0) {
        queues_free_plans(plans);
        return r;
    }
    *ret_plans = plans;
    return 0;
}

static int keep_all(struct queues *queues, const struct queues_plans *plans, struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    int r = driver->look(queues->qdisc, err);
    for (uint32_t i = 0; r >= 0 && i < plans->n; i++)
        r = keep(queues, queues->ports[i].name, plans->ports[i], err);
    driver->look_away(queues->qdisc);
    return r;
}

static int change_all(struct queues *queues, const struct queues_plans *plans, struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < plans->n; i++) {
        if (!plans->again)
            queues->ports[i].waits = !plans->ports[i];
        if (plans->ports[i])
            r = driver->apply(queues->qdisc, queues->ports[i].name, plans->ports[i], err);
    }
    if (r < 0 && !plans->again)
        queues_restore(queues, NULL);
    return r;
}

int queues_carry_out(struct queues *queues, const struct queues_plans *plans, struct err *err)
{
    bool putting = false;
    if (plans->n != queues->n)
        return err_set(err, EAGAIN, "the ports have changed meanwhile");
    for (uint32_t i = 0; !plans->again && !putting && i < queues->n; i++)
        putting = was_putting(queues, i);
    if (putting) {
        int r = queues_restore(queues, err);
        return r < 0 ? r : queues_apply(queues, err);
    }
    int r = plans->again ? 0 : keep_all(queues, plans, err);
    return r < 0 ? r : change_all(queues, plans, err);
}

int queues_apply(struct queues *queues, struct err *err)
{
    struct queues_plans *plans = NULL;
    int r = queues_plan(queues, false, &plans, err);
    if (r >= 0)
        r = queues_carry_out(queues, plans, err);
    queues_free_plans(plans);
    return r;
}

/* ---- ports that come and go ------------------------------------------------------------------------------------------ */

struct follow {
    struct queues *queues;
    const struct ports_found *found;
    bool apply;
    void (*say)(void *user, const char *text);
    void *user;
};

static void say_failure(const struct follow *follow, const struct err *err)
{
    follow->say(follow->user, err->text);
}

/* Records go by names, the kernel's queues by numbers. */
static void follow_name(struct queues *queues, struct queues_port *port, const char now[PORT_NAME])
{
    char from[FILES_PATH], to[FILES_PATH];
    if (strcmp(now, port->name) == 0)
        return;
    record_path(queues, port->name, from);
    record_path(queues, now, to);
    if (rename(from, to) == 0)
        unlink(from);      /* of two names of one file none goes by renaming */
    free(queues->written); /* its place may be another port's now */
    queues->written = NULL;
    memcpy(port->name, now, PORT_NAME);
}

/* Those that are wanted no more, or gone, move behind the others. */
static uint32_t put_last(struct queues *queues, const struct ports_found *found)
{
    uint32_t stay = 0;
    for (uint32_t i = 0; i < queues->n; i++) {
        struct queues_port port = queues->ports[i];
        int place = ports_place(found, port.ifindex);
        if (place < 0)
            continue;
        follow_name(queues, &port, found->names[place]);
        queues->ports[i] = queues->ports[stay];
        queues->ports[stay++] = port;
    }
    return stay;
}

/* Those that leave may have got another name, too. */
static void follow_leaving(struct queues *queues, uint32_t stay)
{
    char now[PORT_NAME];
    for (uint32_t i = stay; i < queues->n; i++)
        if (if_indextoname((unsigned)queues->ports[i].ifindex, now))
            follow_name(queues, &queues->ports[i], now);
}

static void leave_ports(const struct follow *follow, uint32_t stay)
{
    struct queues *queues = follow->queues;
    int (*const steps[])(struct queues *, const char *, struct err *) = {restore_port,
                                                                         check_restored};
    follow_leaving(queues, stay);
    for (int step = 0; step < 2 && stay < queues->n; step++) {
        struct err err = {0};
        if (queues_look(queues, &err) < 0)
            say_failure(follow, &err);
        for (uint32_t i = stay; !err.code && i < queues->n; i++)
            if (steps[step](queues, queues->ports[i].name, &err) < 0)
                say_failure(follow, &err);
        queues_look_away(queues);
    }
    queues->n = stay;
}

/* The last port, as far as its link lets. */
static int join_last(struct queues *queues, struct err *err)
{
    struct queues_port *port = &queues->ports[queues->n - 1];
    struct qdisc_plan *plan = NULL;
    int r = plan_port(queues, queues->n - 1, false, &plan, err);
    port->waits = r >= 0 && !plan;
    if (r >= 0)
        r = keep(queues, port->name, plan, err);
    if (r >= 0 && plan)
        r = queues->config.driver->apply(queues->qdisc, port->name, plan, err);
    free(plan);
    return r;
}

static void join(const struct follow *follow, uint32_t place)
{
    struct queues *queues = follow->queues;
    struct err err = {0};
    struct queues_port *port = &queues->ports[queues->n++];
    *port = (struct queues_port){.ifindex = follow->found->ifindexes[place]};
    memcpy(port->name, follow->found->names[place], PORT_NAME);
    if (!follow->apply || join_last(queues, &err) >= 0)
        return;
    queues->n--;
    queues->refused[queues->refused_n++] = port->ifindex;
    say_failure(follow, &err);
}

/* Those that wait for their links come anew. */
static void note_known(struct queues *queues, const struct follow *follow, bool known[QUEUES_PORTS])
{
    const struct ports_found *found = follow->found;
    uint32_t still = 0, stay = 0;
    for (uint32_t i = 0; i < queues->refused_n; i++) {
        int place = ports_place(found, queues->refused[i]);
        if (place < 0)
            continue;
        known[place] = true;
        queues->refused[still++] = queues->refused[i];
    }
    queues->refused_n = still;
    for (uint32_t i = 0; i < queues->n; i++) {
        struct queues_port port = queues->ports[i];
        if (port.waits && follow->apply)
            continue;
        known[ports_place(found, port.ifindex)] = true;
        queues->ports[stay++] = port;
    }
    queues->n = stay;
}

static void join_ports(const struct follow *follow)
{
    struct queues *queues = follow->queues;
    bool known[QUEUES_PORTS] = {0};
    struct err err = {0};
    note_known(queues, follow, known);
    if (follow->apply && queues_look(queues, &err) < 0)
        say_failure(follow, &err);
    for (uint32_t i = 0; i < follow->found->n && queues->n < QUEUES_PORTS; i++)
        if (!known[i])
            join(follow, i);
    queues_look_away(queues);
}

void queues_follow(struct queues *queues, const struct ports_found *found, bool apply,
                   void (*say)(void *user, const char *text), void *user)
{
    const struct follow follow = {queues, found, apply, say, user};
    leave_ports(&follow, put_last(queues, found));
    join_ports(&follow);
}

uint32_t queues_count(const struct queues *queues)
{
    return queues->n;
}

const char *queues_port(const struct queues *queues, uint32_t port)
{
    return queues->ports[port].name;
}

static void add_stats(struct qdisc_queue_stats *sum, const struct qdisc_queue_stats *more)
{
    sum->bytes += more->bytes;
    sum->packets += more->packets;
    sum->drops += more->drops;
    sum->backlog_packets += more->backlog_packets;
}

int queues_stats(struct queues *queues, struct qdisc_stats *ret_stats, struct err *err)
{
    struct qdisc_stats sum = {0};
    for (uint32_t i = 0; i < queues->n; i++) {
        struct qdisc_stats stats;
        int r = queues->config.driver->stats(queues->qdisc, queues->ports[i].name, &stats, err);
        if (r < 0)
            return r;
        for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++)
            add_stats(&sum.queues[traffic], &stats.queues[traffic]);
    }
    *ret_stats = sum;
    return 0;
}

int queues_facts(struct queues *queues, uint32_t port, struct port_facts *ret_facts,
                 struct err *err)
{
    return queues->config.driver->facts(queues->qdisc, queues->ports[port].name, ret_facts, err);
}

int queues_look(struct queues *queues, struct err *err)
{
    return queues->config.driver->look(queues->qdisc, err);
}

void queues_look_away(struct queues *queues)
{
    queues->config.driver->look_away(queues->qdisc);
}

int queues_record(struct queues *queues, uint32_t port, char **ret_text, struct err *err)
{
    return queues->config.driver->record(queues->qdisc, queues->ports[port].name, ret_text, err);
}

bool queues_is_own(const struct queues *queues, uint32_t port_id)
{
    const struct qdisc_driver *driver = queues->config.driver;
    return driver->is_own && driver->is_own(queues->qdisc, port_id);
}

void queues_why(struct queues *queues, const char *port, char *text, size_t size)
{
    const struct qdisc_driver *driver = queues->config.driver;
    if (driver->why)
        driver->why(queues->qdisc, port, text, size);
    else
        snprintf(text, size, "%s", driver->name);
}
