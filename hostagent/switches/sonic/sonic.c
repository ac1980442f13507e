/* SONiC: CONFIG_DB in its Redis, which orchagent follows. lib/sonic computes what should be there
 * and how to undo it; config_db.h reads it and commits. Nothing is saved to /etc/sonic: only an
 * operator's `config save` makes what is in force outlive a reload.
 *
 * What somebody changes is told by Redis's keyspace notifications, which SONiC itself needs and
 * switches on. FLUSHDB tells nothing; the reload after it does. */
#include "hostagent/switches/sonic/redis_watch.h"
#include "hostagent/switches/sonic/sonic_counters.h"
#include "hostagent/switches/sonic/sonic_link.h"
#include "hostagent/switches/sonic/sonic_ports.h"
#include "hostagent/switches/switch.h"
#include "lib/sonic/sonic_most.h"
#include "lib/sonic/sonic_undo.h"
#include "lib/sonic/sonic_want.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_PLACE   "unix:/var/run/redis/redis.sock"
#define CONFIG_DB     "__keyspace@4__:"
#define RESTORE_TRIES 3
#define SETTLE_MS     200 /* for orchagent to take what came before */

struct switch_state {
    struct switch_config config;
    struct sonic_link link;
    struct redis_watch *watch;
    struct sonic_counted *counted; /* by the last plan; owned */
    uint32_t counted_n;
    struct switch_stats base; /* the counters at the first call */
    bool has_base;
};

/* Values are borrowed by the steps. */
struct sonic_plan {
    struct switch_plan plan; /* first: the others know this part */
    json_t *db, *site, *want, *kept;
    struct sonic_step *steps;
    uint32_t n;
};

/* All of SONiC's ports are called so (its orchagent and its commands know no others). */
static int check_name(const char *glob, struct err *err)
{
    static const char begin[] = "Ethernet";
    size_t plain = strcspn(glob, "*?[");
    bool open = glob[plain] && plain < strlen(begin);
    if (strncmp(glob, begin, open ? plain : strlen(begin)) == 0)
        return 0;
    return err_set(err, EINVAL,
                   "no port of a SONiC is ever called %s (switch.ports): they are Ethernet0, "
                   "Ethernet4 and so on, and no aliases",
                   glob);
}

static int sonic_settings_check(const struct switch_settings *settings, struct err *err)
{
    if (settings->bridge[0] || settings->openflow[0] || settings->table || settings->ca[0] ||
        settings->certificate[0] || settings->private_key[0])
        return err_set(err, EINVAL, "the driver sonic has at and ports, and nothing else");
    for (uint32_t i = 0; i < settings->ports_n; i++) {
        int r = check_name(settings->ports[i].glob, err);
        if (r < 0)
            return r;
    }
    return settings->at[0] ? redis_check(settings->at, err) : 0;
}

static void sonic_close(struct switch_state *sw)
{
    if (!sw)
        return;
    sonic_link_done(&sw->link);
    redis_watch_close(sw->watch);
    free(sw->counted);
    free(sw);
}

static int sonic_open(const struct switch_config *config, struct switch_state **ret_switch,
                      struct err *err)
{
    static const char *const patterns[] = {CONFIG_DB "QUEUE|*",
                                           CONFIG_DB "PORT_QOS_MAP|*",
                                           CONFIG_DB "SCHEDULER|*",
                                           CONFIG_DB "WRED_PROFILE|*",
                                           CONFIG_DB "DSCP_TO_TC_MAP|*",
                                           CONFIG_DB "PORT|*",
                                           CONFIG_DB "TC_TO_QUEUE_MAP|*",
                                           CONFIG_DB "MAP_PFC_PRIORITY_TO_QUEUE|*",
                                           NULL};
    struct switch_state *sw = calloc(1, sizeof(*sw));
    if (!sw)
        return err_sys(err, ENOMEM, "the switch");
    sw->config = *config;
    sonic_link_init(&sw->link, config->settings->at[0] ? config->settings->at : USUAL_PLACE);
    sonic_link_begin(&sw->link);
    int r = sonic_link_connect(&sw->link, err);
    if (r >= 0)
        r = redis_watch_open(sw->link.at, patterns, &sw->watch, err);
    if (r < 0) {
        sonic_close(sw);
        return r;
    }
    *ret_switch = sw;
    return 0;
}

static int sonic_fd(const struct switch_state *sw)
{
    return redis_watch_fd(sw->watch);
}

static int sonic_notice(struct switch_state *sw, struct err *err)
{
    int r = redis_watch_notice(sw->watch, err);
    /* Nothing came for a while: unsettled rows are written in a batch of their own. */
    if (r > 0)
        sonic_link_settle(&sw->link, false, NULL);
    return r == 2 ? SWITCH_BACK : r == 1 ? SWITCH_CHANGED : r;
}

static int sonic_ports(struct switch_state *sw, struct switch_ports **ret_ports, struct err *err)
{
    json_t *db;
    sonic_link_begin(&sw->link);
    int r = sonic_link_read(&sw->link, &db, err);
    if (r < 0)
        return r;
    r = sonic_ports_list(sw->config.settings, sw->link.at, db, NULL, ret_ports, err);
    json_decref(db);
    return r;
}

static int load_kept(struct switch_state *sw, json_t **ret_kept, struct err *err)
{
    char *text = NULL;
    int r = switch_kept(sw->config.state_dir, &text, err);
    *ret_kept = NULL;
    if (r >= 0 && text)
        r = sonic_kept_parse(text, ret_kept, err);
    free(text);
    return r;
}

static int store_kept(struct switch_state *sw, json_t *kept, struct err *err)
{
    char *text = kept ? sonic_kept_text(kept) : NULL;
    int r = text ? switch_keep(sw->config.state_dir, text, err)
                 : err_sys(err, ENOMEM, "what stood on %s", sw->link.at);
    free(text);
    return r;
}

/* What is there, what is kept (NULL: nothing) and the site's of it. */
static int read_site(struct switch_state *sw, json_t **ret_db, json_t **ret_kept, json_t **ret_site,
                     struct err *err)
{
    *ret_db = *ret_kept = *ret_site = NULL;
    int r = load_kept(sw, ret_kept, err);
    if (r >= 0)
        r = sonic_link_read(&sw->link, ret_db, err);
    if (r < 0) {
        *ret_db = NULL;
        return r;
    }
    *ret_site = *ret_kept ? sonic_undo(*ret_db, *ret_kept) : json_deep_copy(*ret_db);
    return *ret_site ? 0 : err_sys(err, ENOMEM, "%s", sw->link.at);
}

static int sonic_record(struct switch_state *sw, char **ret_text, struct err *err)
{
    json_t *db, *kept, *site;
    sonic_link_begin(&sw->link);
    int r = read_site(sw, &db, &kept, &site, err);
    for (uint32_t i = 0; r >= 0 && sonic_read[i]; i++)
        json_object_del(site, sonic_read[i]);
    char *text = r >= 0 ? json_dumps(site, JSON_SORT_KEYS | JSON_INDENT(1)) : NULL;
    if (r >= 0 && !text)
        r = err_sys(err, ENOMEM, "%s", sw->link.at);
    json_decref(db);
    json_decref(kept);
    json_decref(site);
    if (r >= 0)
        *ret_text = text;
    return r;
}

static void sonic_free_plan(struct switch_plan *plan)
{
    struct sonic_plan *own = (struct sonic_plan *)plan;
    if (!own)
        return;
    json_decref(own->db);
    json_decref(own->site);
    json_decref(own->want);
    json_decref(own->kept);
    free(own->steps);
    switch_plan_done(plan);
    free(own);
}

static void note_counted(struct sonic_counted *counted, const char *port, const struct port *want)
{
    snprintf(counted->port, sizeof(counted->port), "%s", port);
    memset(counted->traffic, -1, sizeof(counted->traffic));
    for (uint32_t i = 0; i < want->queues_n; i++)
        counted->traffic[sonic_number(&want->queues[i])] = (int8_t)want->queues[i].first;
}

/* Prepares what stats will read. */
static int count_ports(struct switch_state *sw, const struct sonic_port *ports, uint32_t n,
                       struct err *err)
{
    struct sonic_counted *counted = calloc(n + 1, sizeof(*counted));
    if (!counted)
        return err_sys(err, ENOMEM, "%u ports", n);
    for (uint32_t i = 0; i < n; i++)
        note_counted(&counted[i], ports[i].name, ports[i].want);
    free(sw->counted);
    sw->counted = counted;
    sw->counted_n = n;
    return 0;
}

/* The context of a plan, for sonic_want_most. */
struct planning {
    const struct switch_config *config;
    struct switch_plan *plan;
    bool again;
    struct err *err;
};

static bool may_replace(void *user, const char *port)
{
    const struct planning *planning = user;
    const struct switch_config *config = planning->config;
    return config->replace ||
           (planning->again && (!config->had || config->had(config->user, port)));
}

static int leave_port(void *user, const char *port, const struct err *why)
{
    struct planning *planning = user;
    return switch_trouble_add(planning->plan, port, why, true, planning->err);
}

/* Those that can have queues at all, each with what is wanted of it. */
static int list_wanted(struct planning *planning, const struct switch_ports *ports,
                       struct sonic_port *wanted, struct port *wants, uint32_t *ret_n)
{
    int r = 0;
    *ret_n = 0;
    for (uint32_t i = 0; r >= 0 && i < ports->n; i++) {
        const struct switch_port *port = &ports->ports[i];
        if (!port->facts.mtu_bytes)
            continue; /* in trouble already */
        r = switch_want(&planning->config->wish, port->name, &port->facts, planning->plan,
                        &wants[*ret_n], planning->err);
        if (r > 0) {
            wanted[*ret_n] = (struct sonic_port){port->name, &wants[*ret_n]};
            (*ret_n)++;
        }
    }
    return r;
}

static int want_ports(struct switch_state *sw, struct sonic_plan *plan, bool again,
                      const struct switch_ports *ports, struct err *err)
{
    struct port *wants = calloc(ports->n + 1, sizeof(*wants));
    struct sonic_port *of = calloc(ports->n + 1, sizeof(*of));
    struct planning planning = {&sw->config, &plan->plan, again, err};
    const struct sonic_wish wish = {.owner = sw->config.owner,
                                    .dscp_of_level = sw->config.wish.dscp_of_level};
    const struct sonic_most most = {.db = plan->db,
                                    .site = plan->site,
                                    .may_replace = may_replace,
                                    .left = leave_port,
                                    .user = &planning};
    uint32_t n;
    int r = wants && of ? list_wanted(&planning, ports, of, wants, &n)
                        : err_sys(err, ENOMEM, "%u ports", ports->n);
    if (r >= 0)
        r = sonic_want_most(&most, &wish, of, &n, &plan->want, err);
    if (r >= 0)
        r = count_ports(sw, of, n, err);
    free(wants);
    free(of);
    return r;
}

static int make_want(struct switch_state *sw, struct sonic_plan *plan, bool again, struct err *err)
{
    struct switch_ports *ports = NULL;
    int r =
        sonic_ports_list(sw->config.settings, sw->link.at, plan->site, &plan->plan, &ports, err);
    if (r >= 0)
        r = want_ports(sw, plan, again, ports, err);
    free(ports);
    return r;
}

/* "scheduler=duopoly-…-s0 …", as much as there is room for. */
static void say_row(const json_t *row, char *text, size_t size)
{
    const char *field;
    json_t *value;
    size_t n = 0;
    text[0] = '\0';
    json_object_foreach((json_t *)row, field, value)
    {
        if (n < size)
            n += (size_t)snprintf(text + n, size - n, " %s=%s", field, json_string_value(value));
    }
}

/* The port whose row this is; "": it is of the switch as a whole. */
static void step_port(const struct sonic_step *step, char port[SWITCH_PORT_NAME])
{
    size_t n = strcspn(step->key, "|,");
    memset(port, 0, SWITCH_PORT_NAME);
    if ((step->table[0] == 'Q' || step->table[0] == 'P') && step->key[n] != ',' &&
        n < SWITCH_PORT_NAME)
        memcpy(port, step->key, n);
}

static int say_step(struct switch_plan *plan, const struct sonic_step *step, struct err *err)
{
    char port[SWITCH_PORT_NAME], text[SWITCH_STEP_TEXT];
    enum switch_verb verb = !step->from ? SWITCH_ADD : step->to ? SWITCH_CHANGE : SWITCH_REMOVE;
    step_port(step, port);
    say_row(step->to, text, sizeof(text));
    return switch_step_add(plan, verb, port, err, "%s|%.80s%s", step->table, step->key, text);
}

/* The rows of yielded ports stay as they are; so does what all ports share. */
static int drop_yielded(struct switch_state *sw, struct sonic_plan *plan, struct err *err)
{
    uint32_t n = plan->n;
    int r = 0;
    plan->n = 0;
    for (uint32_t i = 0; r >= 0 && i < n; i++) {
        char port[SWITCH_PORT_NAME];
        struct err why = {0};
        step_port(&plan->steps[i], port);
        if (!port[0] || !switch_is_yielded(&sw->config, port, &why))
            plan->steps[plan->n++] = plan->steps[i];
        else if (!switch_trouble_of(&plan->plan, port))
            r = switch_trouble_add(&plan->plan, port, &why, true, err);
    }
    return r;
}

static int make_plan(struct switch_state *sw, bool again, struct sonic_plan *plan, struct err *err)
{
    int r = read_site(sw, &plan->db, &plan->kept, &plan->site, err);
    if (r >= 0)
        r = make_want(sw, plan, again, err);
    if (r >= 0 && sonic_steps(plan->db, plan->want, &plan->steps, &plan->n) < 0)
        r = err_sys(err, ENOMEM, "the plan of %s", sw->link.at);
    if (r >= 0)
        r = drop_yielded(sw, plan, err);
    for (uint32_t i = 0; r >= 0 && i < plan->n; i++)
        r = say_step(&plan->plan, &plan->steps[i], err);
    return r;
}

static int sonic_plan(struct switch_state *sw, bool again, struct switch_plan **ret_plan,
                      struct err *err)
{
    struct sonic_plan *plan = calloc(1, sizeof(*plan));
    sonic_link_begin(&sw->link);
    int r = plan ? make_plan(sw, again, plan, err)
                 : err_sys(err, ENOMEM, "the plan of %s", sw->link.at);
    if (r < 0) {
        sonic_free_plan(plan ? &plan->plan : NULL);
        return r;
    }
    *ret_plan = &plan->plan;
    return 0;
}

/* Restores the former record, since nothing was changed after all. */
static void keep_as_before(struct switch_state *sw, const struct sonic_plan *plan)
{
    if (plan->kept)
        store_kept(sw, plan->kept, NULL);
    else
        switch_forget(sw->config.state_dir, NULL);
}

static int sonic_apply(struct switch_state *sw, struct switch_plan *plan, struct err *err)
{
    const struct sonic_plan *own = (const struct sonic_plan *)plan;
    if (!own->n)
        return 0;
    sonic_link_begin(&sw->link);
    if (!sw->link.redis)
        return err_set(err, EAGAIN, "the connection to %s was lost since the plan", sw->link.at);
    json_t *keep = sonic_keep(own->site, own->want, own->kept);
    int r = store_kept(sw, keep, err);
    if (r >= 0) {
        r = sonic_link_commit(&sw->link, own->steps, own->n, err);
        if (r == -EAGAIN)
            keep_as_before(sw, own);
    }
    if (r >= 0) {
        json_t *last = sonic_keep_last(keep);
        r = store_kept(sw, last, err);
        json_decref(last);
    }
    json_decref(keep);
    return r;
}

static int restore_once(struct switch_state *sw, struct err *err)
{
    json_t *db, *kept, *site;
    struct sonic_step *steps = NULL;
    uint32_t n = 0;
    int r = load_kept(sw, &kept, err);
    if (r < 0 || !kept)
        return r;
    json_decref(kept);
    r = read_site(sw, &db, &kept, &site, err);
    if (r >= 0 && sonic_steps(db, site, &steps, &n) < 0)
        r = err_sys(err, ENOMEM, "what stood on %s", sw->link.at);
    if (r >= 0 && n)
        r = sonic_link_commit(&sw->link, steps, n, err);
    free(steps);
    json_decref(db);
    json_decref(kept);
    json_decref(site);
    return r < 0 ? r : switch_forget(sw->config.state_dir, err);
}

static int sonic_restore(struct switch_state *sw, struct err *err)
{
    int r = -EAGAIN;
    for (int i = 0; r == -EAGAIN && i < RESTORE_TRIES; i++) {
        sonic_link_begin(&sw->link);
        r = restore_once(sw, err);
    }
    /* The agent may exit right after a restore. */
    if (r >= 0 && sw->link.unsettled) {
        poll(NULL, 0, SETTLE_MS);
        r = sonic_link_settle(&sw->link, true, err);
    }
    return r;
}

/* Since the first call; a restarted switch counts from its restart. */
static uint64_t since(uint64_t now, uint64_t base)
{
    return now >= base ? now - base : now;
}

static int sonic_stats(struct switch_state *sw, struct switch_stats *ret_stats, struct err *err)
{
    struct switch_stats now;
    sonic_link_begin(&sw->link);
    int r = sonic_link_connect(&sw->link, err);
    if (r >= 0)
        r = sonic_counters_read(sw->link.redis, sw->link.until_ns, sw->counted, sw->counted_n, &now,
                                err);
    if (r < 0) {
        sonic_link_drop(&sw->link);
        return r;
    }
    if (!sw->has_base)
        sw->base = now;
    sw->has_base = true;
    for (int i = 0; i < PORT_TRAFFIC; i++)
        ret_stats->traffic[i] = (struct switch_queue_stats){
            .bytes = since(now.traffic[i].bytes, sw->base.traffic[i].bytes),
            .packets = since(now.traffic[i].packets, sw->base.traffic[i].packets),
            .drops = since(now.traffic[i].drops, sw->base.traffic[i].drops)};
    return 0;
}

const struct switch_driver switch_sonic = {
    .name = "sonic",
    .check = sonic_settings_check,
    .open = sonic_open,
    .close = sonic_close,
    .ports = sonic_ports,
    .record = sonic_record,
    .plan = sonic_plan,
    .free_plan = sonic_free_plan,
    .apply = sonic_apply,
    .restore = sonic_restore,
    .stats = sonic_stats,
    .fd = sonic_fd,
    .notice = sonic_notice,
};
