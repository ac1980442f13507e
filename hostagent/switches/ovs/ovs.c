/* An Open vSwitch without an agent beside it, by OVSDB (RFC 7047) and OpenFlow 1.3: the rows of
 * ovs_rows.h in one transaction, then the flows of ovs_flows.h. A row and a flow more than a packet
 * needs does no harm, so rows come first and go last.
 *
 * Its database remembers rows; flows are gone when ovs-vswitchd ends. Both connections are sought
 * again every OVS_RETRY_MS, and `notice` says when they are back. One that only begins, without the
 * rule of its own, is looked at as often for OVS_RETRIES times, then every OVS_PATIENT_MS. */
#include "hostagent/switches/ovs/openflow_link.h"
#include "hostagent/switches/ovs/ovs_flows.h"
#include "hostagent/switches/ovs/ovs_rows.h"
#include "hostagent/switches/ovs/stream.h"
#include "hostagent/switches/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define USUAL_DATABASE "unix:/var/run/openvswitch/db.sock"
#define WHERE          384
#define OVS_RETRY_MS   50
#define OVS_RETRIES    100
#define OVS_PATIENT_MS 1000
#define OVS_NEWS_MS    1

enum { DATABASE, FLOWS, SIDES };

/* One of the two connections: down, on its way (stream) or up (a client that owns its stream). */
struct side {
    char where[WHERE];
    struct stream *pending;
    int fd; /* in the epoll set; −1: none */
};

struct switch_state {
    struct switch_config config;
    struct stream_tls *tls; /* NULL: neither side needs one */
    struct side sides[SIDES];
    struct ovsdb *db;
    struct openflow *flows;
    int epoll, timer;
    bool lost;      /* and not back yet */
    struct err why; /* why it was lost, or does not come back, as last reported */
    uint32_t again; /* how often it was not ready */
    struct openflow_table table;
};

struct ovs_plan {
    struct switch_plan plan; /* first: the others know this part */
    json_t *operations;
    uint32_t changes_n;
    struct openflow_change changes[OPENFLOW_FLOWS + OVS_FLOWS_MOST];
};

static const char *database_of(const struct switch_settings *settings)
{
    return settings->at[0] ? settings->at : USUAL_DATABASE;
}

/* ovs-vswitchd's own socket for a bridge stands beside that of the database. */
static void flows_of(const struct switch_settings *settings, char where[WHERE])
{
    const char *database = database_of(settings), *slash = strrchr(database, '/');
    if (settings->openflow[0])
        snprintf(where, WHERE, "%s", settings->openflow);
    else
        snprintf(where, WHERE, "%.*s/%s.mgmt", slash ? (int)(slash - database) : 0, database,
                 settings->bridge);
}

static int ovs_check(const struct switch_settings *settings, struct err *err)
{
    const char *database = database_of(settings);
    char flows[WHERE];
    int r = stream_check(database, err);
    if (r < 0)
        return r;
    if (!settings->bridge[0] || strchr(settings->bridge, '/'))
        return err_set(err, EINVAL, "an Open vSwitch is named by its bridge (switch.bridge)");
    if (!settings->openflow[0] && strncmp(database, "unix:", 5) != 0)
        return err_set(err, EINVAL,
                       "where is OpenFlow of this switch? switch.openflow names it, such as "
                       "tcp:10.0.0.1:6653");
    flows_of(settings, flows);
    r = stream_check(flows, err);
    if (r < 0)
        return r;
    bool tls = strncmp(database, "ssl:", 4) == 0 || strncmp(flows, "ssl:", 4) == 0;
    bool files = settings->ca[0] && settings->certificate[0] && settings->private_key[0];
    return !tls || files ? 0
                         : err_set(err, EINVAL,
                                   "ssl needs switch.ca, switch.certificate and "
                                   "switch.private_key");
}

static bool is_up(const struct switch_state *sw, int which)
{
    return which == DATABASE ? sw->db != NULL : sw->flows != NULL;
}

static bool all_up(const struct switch_state *sw)
{
    return sw->db && sw->flows && openflow_greeted(sw->flows);
}

static void wake_in(struct switch_state *sw, int ms)
{
    const struct itimerspec once = {.it_value = {ms / 1000, ms % 1000 * 1000000L}};
    timerfd_settime(sw->timer, 0, &once, NULL);
}

static void drop(struct switch_state *sw, int which)
{
    struct side *side = &sw->sides[which];
    if (side->fd >= 0)
        epoll_ctl(sw->epoll, EPOLL_CTL_DEL, side->fd, NULL);
    side->fd = -1;
    stream_close(side->pending);
    side->pending = NULL;
    if (which == DATABASE) {
        ovsdb_close(sw->db);
        sw->db = NULL;
    } else {
        openflow_close(sw->flows);
        sw->flows = NULL;
    }
    sw->lost = true;
    wake_in(sw, OVS_RETRY_MS);
}

static int listen_to(struct switch_state *sw, struct side *side, uint32_t events, struct err *err)
{
    struct epoll_event event = {.events = events};
    int r = epoll_ctl(sw->epoll, EPOLL_CTL_MOD, side->fd, &event);
    if (r < 0 && errno == ENOENT)
        r = epoll_ctl(sw->epoll, EPOLL_CTL_ADD, side->fd, &event);
    return r < 0 ? err_sys(err, errno, "listening to %s", side->where) : 0;
}

static int begin(struct switch_state *sw, int which, struct err *err)
{
    struct side *side = &sw->sides[which];
    int r = stream_open(side->where, sw->tls, &side->pending, err);
    if (r < 0)
        return r;
    side->fd = stream_fd(side->pending);
    return listen_to(sw, side, stream_events(side->pending), err);
}

/* The columns to watch: not those that the switch counts or learns. */
static json_t *watched(void)
{
    static const char *const tables[][2] = {
        {"QoS", "[\"type\",\"queues\",\"other_config\",\"external_ids\"]"},
        {"Queue", "[\"dscp\",\"other_config\",\"external_ids\"]"},
        {"Port", "[\"name\",\"interfaces\",\"qos\"]"},
        {"Interface", "[\"type\",\"mtu\",\"link_speed\",\"ofport\",\"error\"]"},
        {"Bridge", "[\"name\",\"ports\"]"}};
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        json_object_set_new(all, tables[i][0],
                            json_pack("{s:o, s:{s:b}}", "columns",
                                      json_loads(tables[i][1], 0, NULL), "select", "initial", 0));
    return all;
}

/* The stream is connected: its client takes it. */
static int rise(struct switch_state *sw, int which, struct err *err)
{
    struct side *side = &sw->sides[which];
    struct stream *stream = side->pending;
    int r = listen_to(sw, side, EPOLLIN, err);
    if (r < 0)
        return r;
    side->pending = NULL;
    if (which == DATABASE) {
        r = ovsdb_open(stream, &sw->db, err);
        return r < 0 ? r : ovsdb_watch(sw->db, watched(), err);
    }
    r = openflow_open(stream, &sw->flows, err);
    return r < 0 ? r : openflow_greet(sw->flows, err);
}

/* Continues without waiting. */
static int go_on(struct switch_state *sw, int which, struct err *err)
{
    struct side *side = &sw->sides[which];
    int r = side->pending ? 0 : begin(sw, which, err);
    if (r >= 0)
        r = stream_step(side->pending, err);
    if (r > 0)
        r = rise(sw, which, err);
    else if (r == 0)
        r = listen_to(sw, side, stream_events(side->pending), err);
    return r;
}

static int bring_up(struct switch_state *sw, int which, struct err *err)
{
    struct side *side = &sw->sides[which];
    int r = side->pending ? 0 : begin(sw, which, err);
    if (r >= 0)
        r = stream_connect(side->pending, SWITCH_WAIT_MS, err);
    return r < 0 ? r : rise(sw, which, err);
}

static int bring_all_up(struct switch_state *sw, struct err *err)
{
    for (int which = 0; which < SIDES; which++) {
        int r = is_up(sw, which) ? 0 : bring_up(sw, which, err);
        if (r < 0) {
            drop(sw, which);
            return r;
        }
    }
    return 0;
}

static bool has_news(const struct switch_state *sw, int which)
{
    return which == DATABASE ? sw->db && ovsdb_has_news(sw->db)
                             : sw->flows && openflow_has_news(sw->flows);
}

/* The outcome of a call on one side. The switch can refuse; after any other error the begin of its
 * answers is unknown. WHY it wakes: a report of a change that was received with the answer does not
 * make the connection readable. */
static int judge(struct switch_state *sw, int which, int r)
{
    bool said =
        r == -EPROTO || r == -EAGAIN || r == -EBUSY || r == -ENOENT || r == -EINVAL || r == -E2BIG;
    bool greeted = which == DATABASE || !sw->flows || openflow_greeted(sw->flows);
    if (r < 0 && !(said && greeted))
        drop(sw, which);
    if (has_news(sw, which))
        wake_in(sw, OVS_NEWS_MS);
    return r;
}

static void ovs_close(struct switch_state *sw)
{
    if (!sw)
        return;
    for (int which = 0; which < SIDES; which++)
        drop(sw, which);
    stream_tls_close(sw->tls);
    close(sw->timer);
    close(sw->epoll);
    free(sw);
}

static int open_loop(struct switch_state *sw, struct err *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    sw->epoll = epoll_create1(EPOLL_CLOEXEC);
    sw->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (sw->epoll < 0 || sw->timer < 0 ||
        epoll_ctl(sw->epoll, EPOLL_CTL_ADD, sw->timer, &event) < 0)
        return err_sys(err, errno, "waiting for the switch");
    return 0;
}

static int ovs_open(const struct switch_config *config, struct switch_state **ret_switch,
                    struct err *err)
{
    const struct switch_settings *settings = config->settings;
    struct switch_state *sw = calloc(1, sizeof(*sw));
    if (!sw)
        return err_sys(err, ENOMEM, "the switch");
    sw->config = *config;
    sw->epoll = sw->timer = sw->sides[DATABASE].fd = sw->sides[FLOWS].fd = -1;
    snprintf(sw->sides[DATABASE].where, WHERE, "%s", database_of(settings));
    flows_of(settings, sw->sides[FLOWS].where);
    int r = open_loop(sw, err);
    if (r >= 0 && settings->ca[0])
        r = stream_tls_open(settings->ca, settings->certificate, settings->private_key, &sw->tls,
                            err);
    if (r >= 0)
        r = bring_all_up(sw, err);
    if (r < 0) {
        ovs_close(sw);
        return r;
    }
    sw->lost = false;
    *ret_switch = sw;
    return 0;
}

static int read_rows(struct switch_state *sw, struct ovs_rows *ret_rows, struct err *err)
{
    int r = bring_all_up(sw, err);
    return r < 0 ? r
                 : judge(sw, DATABASE, ovs_rows_read(sw->db, sw->config.settings, ret_rows, err));
}

static int read_flows(struct switch_state *sw, struct err *err)
{
    uint8_t table = (uint8_t)sw->config.settings->table;
    return judge(sw, FLOWS, openflow_read(sw->flows, table, table != 0, &sw->table, err));
}

static int ovs_ports(struct switch_state *sw, struct switch_ports **ret_ports, struct err *err)
{
    struct ovs_rows rows;
    int r = read_rows(sw, &rows, err);
    if (r < 0)
        return r;
    struct switch_ports *ports = calloc(1, sizeof(*ports) + rows.n * sizeof(ports->ports[0]));
    for (uint32_t i = 0; ports && i < rows.n; i++) {
        if (!rows.ports[i].ours)
            continue;
        struct switch_port *port = &ports->ports[ports->n++];
        memcpy(port->name, rows.ports[i].name, sizeof(port->name));
        port->facts = rows.ports[i].facts;
    }
    ovs_rows_free(&rows);
    if (!ports)
        return err_sys(err, ENOMEM, "the ports of the switch");
    *ret_ports = ports;
    return 0;
}

static int ovs_record(struct switch_state *sw, char **ret_text, struct err *err)
{
    struct ovs_rows rows = {0};
    char *text = NULL;
    size_t size;
    int r = read_rows(sw, &rows, err);
    if (r >= 0)
        r = read_flows(sw, err);
    FILE *out = r < 0 ? NULL : open_memstream(&text, &size);
    if (r >= 0)
        r = out ? ovs_rows_say(&rows, sw->config.owner, out, err)
                : err_sys(err, errno, "the record of the switch");
    if (r >= 0)
        ovs_flows_say(&sw->table, sw->config.owner, out);
    if (out && fclose(out) != 0 && r >= 0)
        r = err_sys(err, ENOMEM, "the record of the switch");
    ovs_rows_free(&rows);
    if (r < 0)
        free(text);
    else
        *ret_text = text;
    return r;
}

static void ovs_free_plan(struct switch_plan *plan)
{
    struct ovs_plan *own = (struct ovs_plan *)plan;
    if (!plan)
        return;
    json_decref(own->operations);
    switch_plan_done(plan);
    free(own);
}

/* Every port numbers its queues the same way, at any rate. */
static int want_numbers(const struct switch_state *sw, struct port *ret_want, struct err *err)
{
    struct port_facts facts = ovs_facts;
    facts.link_bps = UINT64_C(1) << 60;
    return port_want(&sw->config.wish, &facts, ret_want, err);
}

static int plan_flows(struct switch_state *sw, struct ovs_plan *plan, struct err *err)
{
    struct port want;
    int r = want_numbers(sw, &want, err);
    if (r >= 0)
        r = read_flows(sw, err);
    return r < 0 ? r
                 : ovs_flows_plan(&sw->table, &sw->config, &want, &plan->plan, plan->changes,
                                  &plan->changes_n, err);
}

static int ovs_plan(struct switch_state *sw, bool again, struct switch_plan **ret_plan,
                    struct err *err)
{
    struct ovs_rows rows = {0};
    struct ovs_plan *plan = calloc(1, sizeof(*plan));
    int r = plan ? 0 : err_sys(err, ENOMEM, "the plan of the switch");
    if (r >= 0)
        r = read_rows(sw, &rows, err);
    if (r >= 0) {
        plan->operations = json_array();
        r = ovs_rows_plan(&rows, &sw->config, again, &plan->plan, plan->operations, err);
    }
    if (r >= 0)
        r = plan_flows(sw, plan, err);
    ovs_rows_free(&rows);
    if (r == -EAGAIN) {
        sw->again++;
        wake_in(sw, sw->again < OVS_RETRIES ? OVS_RETRY_MS : OVS_PATIENT_MS);
    }
    if (r < 0) {
        ovs_free_plan(plan ? &plan->plan : NULL);
        return r;
    }
    sw->again = 0;
    *ret_plan = &plan->plan;
    return 0;
}

static int transact(struct switch_state *sw, json_t *operations, struct err *err)
{
    json_t *results = NULL;
    if (json_array_size(operations) == 0)
        return 0;
    int r = judge(sw, DATABASE, ovsdb_transact(sw->db, operations, &results, err));
    json_decref(results);
    return r;
}

static int ovs_apply(struct switch_state *sw, struct switch_plan *plan, struct err *err)
{
    const struct ovs_plan *own = (const struct ovs_plan *)plan;
    int r = bring_all_up(sw, err);
    if (r >= 0)
        r = transact(sw, own->operations, err);
    if (r >= 0 && own->changes_n)
        r = judge(sw, FLOWS, openflow_change(sw->flows, own->changes, own->changes_n, err));
    return r;
}

static int ovs_restore(struct switch_state *sw, struct err *err)
{
    const struct openflow_change all = {.command = OF_DELETE,
                                        .flow = {.cookie = ovs_cookie(sw->config.owner)}};
    struct ovs_rows rows = {0};
    json_t *operations = json_array();
    int r = read_rows(sw, &rows, err);
    if (r >= 0)
        r = judge(sw, FLOWS, openflow_change(sw->flows, &all, 1, err));
    if (r >= 0)
        r = ovs_rows_restore(&rows, sw->config.owner, operations, err);
    if (r >= 0)
        r = transact(sw, operations, err);
    ovs_rows_free(&rows);
    json_decref(operations);
    return r;
}

struct counting {
    const struct ovs_rows *rows;
    const struct port *want;
    struct switch_stats stats;
};

static bool is_counted(const struct ovs_rows *rows, uint32_t number)
{
    for (uint32_t i = 0; i < rows->n; i++)
        for (uint32_t j = 0; rows->ports[i].ours && j < rows->ports[i].numbers_n; j++)
            if (rows->ports[i].numbers[j] == number)
                return true;
    return false;
}

static void count(void *user, const struct of_queue_stats *stats)
{
    struct counting *counting = user;
    if (!is_counted(counting->rows, stats->port))
        return;
    for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++) {
        if (ovs_queue_number(counting->want, (enum port_traffic)traffic) != stats->queue)
            continue;
        counting->stats.traffic[traffic].bytes += stats->bytes;
        counting->stats.traffic[traffic].packets += stats->packets;
        return;
    }
}

static int ovs_stats(struct switch_state *sw, struct switch_stats *ret_stats, struct err *err)
{
    struct ovs_rows rows = {0};
    struct port want;
    int r = want_numbers(sw, &want, err);
    if (r >= 0)
        r = read_rows(sw, &rows, err);
    struct counting counting = {.rows = &rows, .want = &want};
    if (r >= 0)
        r = judge(sw, FLOWS, openflow_queues(sw->flows, count, &counting, err));
    if (r >= 0)
        *ret_stats = counting.stats;
    ovs_rows_free(&rows);
    return r;
}

static int ovs_fd(const struct switch_state *sw)
{
    return sw->epoll;
}

/* 1: it reports a change. */
static int hear(struct switch_state *sw, int which, struct err *err)
{
    if (!is_up(sw, which)) {
        if (go_on(sw, which, NULL) < 0)
            drop(sw, which);
        return 0;
    }
    struct err why = {0};
    int r = which == DATABASE ? ovsdb_notice(sw->db, &why) : openflow_notice(sw->flows, &why);
    if (r >= 0)
        return r;
    bool told = sw->lost && strcmp(why.text, sw->why.text) == 0;
    drop(sw, which);
    sw->why = why;
    return told ? 0 : err_set(err, -r, "%s", why.text);
}

static int ovs_notice(struct switch_state *sw, struct err *err)
{
    uint64_t ticks;
    bool changed = false, woken = read(sw->timer, &ticks, sizeof(ticks)) > 0;
    for (int which = 0; which < SIDES; which++) {
        int r = hear(sw, which, err);
        if (r < 0)
            return r;
        changed |= r > 0;
    }
    bool back = all_up(sw) && (sw->lost || (sw->again && woken));
    if (back)
        sw->lost = false;
    return back ? SWITCH_BACK : changed ? SWITCH_CHANGED : SWITCH_QUIET;
}

const struct switch_driver switch_ovs = {
    .name = "ovs",
    .check = ovs_check,
    .open = ovs_open,
    .close = ovs_close,
    .ports = ovs_ports,
    .record = ovs_record,
    .plan = ovs_plan,
    .free_plan = ovs_free_plan,
    .apply = ovs_apply,
    .restore = ovs_restore,
    .stats = ovs_stats,
    .fd = ovs_fd,
    .notice = ovs_notice,
};
