/* SONiC: CONFIG_DB in its Redis, which orchagent follows. lib/sonic says what should stand there and
 * how it is taken back; config_db.h reads it and commits. Nothing is saved to /etc/sonic: `config save`
 * stays the operator's, and makes what is in force outlive a reload.
 *
 * What somebody changes is told by Redis's keyspace notifications, which SONiC itself needs and
 * switches on. FLUSHDB tells nothing; the reload after it does. */
#include "hostagent/switches/sonic/config_db.h"
#include "hostagent/switches/sonic/redis_watch.h"
#include "hostagent/switches/switch.h"
#include "lib/now.h"
#include "lib/sonic/sonic_undo.h"
#include "lib/sonic/sonic_want.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_PLACE   "unix:/var/run/redis/redis.sock"
#define CONFIG_DB     "4"
#define RESTORE_TRIES 3

struct switch_state {
    struct switch_config config;
    const char *at;
    struct redis *redis; /* NULL: not connected */
    uint64_t until_ns;   /* when the call at hand has to be done */
    struct redis_watch *watch;
};

/* Values are borrowed by the steps. */
struct sonic_plan {
    struct switch_plan plan; /* first: the others know this part */
    json_t *db, *site, *want, *kept;
    struct sonic_step *steps;
    uint32_t n;
};

/* ---- the connection --------------------------------------------------------------------------- */

static void begin_call(struct switch_state *sw)
{
    sw->until_ns = now_ns(CLOCK_MONOTONIC) + (uint64_t)SWITCH_WAIT_MS * 1000000;
}

static void disconnect(struct switch_state *sw)
{
    redis_close(sw->redis);
    sw->redis = NULL;
}

static int say_and_hear(struct switch_state *sw, const char *const *words, uint32_t n,
                        redisReply **ret_reply, struct err *err)
{
    int r = redis_say(sw->redis, n, words, NULL, err);
    return r < 0 ? r : redis_hear(sw->redis, sw->until_ns, ret_reply, err);
}

/* Without them nobody would tell what others change. */
static int check_notifications(struct switch_state *sw, struct err *err)
{
    redisReply *reply = NULL;
    const char *const words[] = {"CONFIG", "GET", "notify-keyspace-events"};
    int r = say_and_hear(sw, words, 3, &reply, err);
    if (r < 0)
        return r;
    const char *set = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                              reply->element[1]->type == REDIS_REPLY_STRING
                          ? reply->element[1]->str
                          : "";
    if (!strchr(set, 'K') || !(strchr(set, 'A') || (strchr(set, 'h') && strchr(set, 'g'))))
        r = err_set(err, EPROTO,
                    "Redis at %s tells no changes (notify-keyspace-events is \"%s\"): SONiC's has "
                    "AKE",
                    sw->at, set);
    freeReplyObject(reply);
    return r;
}

static int connect_to(struct switch_state *sw, struct err *err)
{
    const char *const words[] = {"SELECT", CONFIG_DB};
    redisReply *reply = NULL;
    if (sw->redis)
        return 0;
    int r = redis_start(sw->at, &sw->redis, err);
    if (r >= 0)
        r = say_and_hear(sw, words, 2, &reply, err);
    if (r >= 0) {
        freeReplyObject(reply);
        r = check_notifications(sw, err);
    }
    if (r < 0)
        disconnect(sw);
    return r;
}

/* A connection that was lost since the last call is sought again once. */
static int read_db(struct switch_state *sw, json_t **ret_db, struct err *err)
{
    bool fresh = !sw->redis;
    int r = connect_to(sw, err);
    if (r >= 0)
        r = config_db_read(sw->redis, sw->until_ns, ret_db, err);
    if (r == -ECONNRESET && !fresh) {
        disconnect(sw);
        return read_db(sw, ret_db, err);
    }
    if (r >= 0 && (r = sonic_check(*ret_db, err)) < 0) {
        json_decref(*ret_db);
        err_prefix(err, "%s", sw->at);
    }
    if (r < 0)
        disconnect(sw);
    return r;
}

static int commit(struct switch_state *sw, const struct sonic_step *steps, uint32_t n,
                  struct err *err)
{
    int r = config_db_commit(sw->redis, sw->until_ns, steps, n, err);
    if (r < 0 && r != -EAGAIN)
        disconnect(sw);
    return r;
}

static int sonic_settings_check(const struct switch_settings *settings, struct err *err)
{
    if (settings->bridge[0] || settings->openflow[0] || settings->table || settings->ca[0] ||
        settings->certificate[0] || settings->private_key[0])
        return err_set(err, EINVAL, "the driver sonic has at and ports, and nothing else");
    return settings->at[0] ? redis_check(settings->at, err) : 0;
}

static void sonic_close(struct switch_state *sw)
{
    if (!sw)
        return;
    disconnect(sw);
    redis_watch_close(sw->watch);
    free(sw);
}

static int sonic_open(const struct switch_config *config, struct switch_state **ret_switch,
                      struct err *err)
{
    static const char *const patterns[] = {"__keyspace@" CONFIG_DB "__:QUEUE|*",
                                           "__keyspace@" CONFIG_DB "__:PORT_QOS_MAP|*",
                                           "__keyspace@" CONFIG_DB "__:SCHEDULER|*",
                                           "__keyspace@" CONFIG_DB "__:WRED_PROFILE|*",
                                           "__keyspace@" CONFIG_DB "__:DSCP_TO_TC_MAP|*",
                                           "__keyspace@" CONFIG_DB "__:PORT|*",
                                           "__keyspace@" CONFIG_DB "__:TC_TO_QUEUE_MAP|*",
                                           "__keyspace@" CONFIG_DB "__:MAP_PFC_PRIORITY_TO_QUEUE|*",
                                           NULL};
    struct switch_state *sw = calloc(1, sizeof(*sw));
    if (!sw)
        return err_sys(err, ENOMEM, "the switch");
    sw->config = *config;
    sw->at = config->settings->at[0] ? config->settings->at : USUAL_PLACE;
    begin_call(sw);
    int r = connect_to(sw, err);
    if (r >= 0)
        r = redis_watch_open(sw->at, patterns, &sw->watch, err);
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
    return redis_watch_notice(sw->watch, err);
}

/* ---- ports ------------------------------------------------------------------------------------ */

static int port_facts_of(const json_t *db, const char *port, struct port_facts *ret_facts,
                         struct err *err)
{
    struct sonic_facts facts;
    int r = sonic_facts(db, port, &facts, err);
    if (r < 0)
        return r;
    *ret_facts = (struct port_facts){
        .mtu_bytes = facts.mtu_bytes,
        .link_bps = facts.link_bps,
        .queues_n = SONIC_QUEUES,
        .abilities = {.strict = true, .floors = true, .ecn = true, .hardware = true}};
    snprintf(ret_facts->name, sizeof(ret_facts->name), "%s", port);
    for (uint32_t q = 0; q < SONIC_QUEUES; q++)
        ret_facts->lossless |= (uint32_t)(facts.lossless >> q & 1) << (SONIC_QUEUES - 1 - q);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct switch_port *)a)->name, ((const struct switch_port *)b)->name);
}

static int list_ports(struct switch_state *sw, const json_t *db, struct switch_ports **ret_ports,
                      struct err *err)
{
    json_t *rows = json_object_get(db, "PORT"), *row;
    const char *name;
    struct switch_ports *ports =
        calloc(1, sizeof(*ports) + json_object_size(rows) * sizeof(ports->ports[0]));
    int r = ports ? 0 : err_sys(err, ENOMEM, "the ports of %s", sw->at);
    json_object_foreach(rows, name, row)
    {
        if (r < 0 || !switch_selects(sw->config.settings, name))
            continue;
        if (ports->n == SWITCH_PORTS || strlen(name) >= SWITCH_PORT_NAME)
            r = err_set(err, E2BIG, "%s has more than %d ports, or one with a long name", sw->at,
                        SWITCH_PORTS);
        if (r < 0)
            break;
        snprintf(ports->ports[ports->n].name, SWITCH_PORT_NAME, "%s", name);
        r = port_facts_of(db, name, &ports->ports[ports->n++].facts, err);
    }
    if (r < 0) {
        free(ports);
        return r;
    }
    qsort(ports->ports, ports->n, sizeof(ports->ports[0]), by_name);
    *ret_ports = ports;
    return 0;
}

static int sonic_ports(struct switch_state *sw, struct switch_ports **ret_ports, struct err *err)
{
    json_t *db;
    begin_call(sw);
    int r = read_db(sw, &db, err);
    if (r < 0)
        return r;
    r = list_ports(sw, db, ret_ports, err);
    json_decref(db);
    return r;
}

/* ---- what the site has ------------------------------------------------------------------------ */

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
                 : err_sys(err, ENOMEM, "what stood on %s", sw->at);
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
        r = read_db(sw, ret_db, err);
    if (r < 0) {
        *ret_db = NULL;
        return r;
    }
    *ret_site = *ret_kept ? sonic_undo(*ret_db, *ret_kept) : json_deep_copy(*ret_db);
    return *ret_site ? 0 : err_sys(err, ENOMEM, "%s", sw->at);
}

static int sonic_record(struct switch_state *sw, char **ret_text, struct err *err)
{
    json_t *db, *kept, *site;
    begin_call(sw);
    int r = read_site(sw, &db, &kept, &site, err);
    for (uint32_t i = 0; r >= 0 && sonic_read[i]; i++)
        json_object_del(site, sonic_read[i]);
    char *text = r >= 0 ? json_dumps(site, JSON_SORT_KEYS | JSON_INDENT(1)) : NULL;
    if (r >= 0 && !text)
        r = err_sys(err, ENOMEM, "%s", sw->at);
    json_decref(db);
    json_decref(kept);
    json_decref(site);
    if (r >= 0)
        *ret_text = text;
    return r;
}

/* ---- plans ------------------------------------------------------------------------------------ */

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
    free(own->plan.steps);
    free(own);
}

static int want_ports(struct switch_state *sw, const json_t *site, const struct switch_ports *ports,
                      json_t **ret_want, struct err *err)
{
    struct port *wants = calloc(ports->n + 1, sizeof(*wants));
    struct sonic_port *of = calloc(ports->n + 1, sizeof(*of));
    int r = wants && of ? 0 : err_sys(err, ENOMEM, "%u ports", ports->n);
    for (uint32_t i = 0; r >= 0 && i < ports->n; i++) {
        r = port_want(&sw->config.wish, &ports->ports[i].facts, &wants[i], err);
        if (r < 0)
            err_prefix(err, "%s", ports->ports[i].name);
        of[i] = (struct sonic_port){ports->ports[i].name, &wants[i]};
    }
    const struct sonic_wish wish = {.owner = sw->config.owner,
                                    .dscp_of_level = sw->config.wish.dscp_of_level,
                                    .ports = of,
                                    .ports_n = ports->n};
    if (r >= 0)
        r = sonic_want(site, &wish, ret_want, err);
    free(wants);
    free(of);
    return r;
}

static int make_want(struct switch_state *sw, struct sonic_plan *plan, struct err *err)
{
    struct switch_ports *ports = NULL;
    int r = list_ports(sw, plan->site, &ports, err);
    if (r >= 0)
        r = want_ports(sw, plan->site, ports, &plan->want, err);
    free(ports);
    return r;
}

/* Whatever is another agent's stays; what is the site's makes room where that is allowed. */
static int check_others(struct switch_state *sw, const struct sonic_plan *plan, bool may_replace,
                        struct err *err)
{
    char what[SONIC_KEY + 64];
    enum sonic_owner owner =
        sonic_in_place(plan->db, plan->site, plan->want, sw->config.owner, what, sizeof(what));
    if (owner == SONIC_ANOTHERS)
        return err_set(err, EBUSY, "%s: %s, another agent's: let that one restore first", sw->at,
                       what);
    if (owner == SONIC_SITES && !may_replace)
        return err_set(err, EBUSY,
                       "%s: %s, which is somebody's: start with --replace to let it "
                       "make room until the agent leaves",
                       sw->at, what);
    return 0;
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

static int say_step(struct switch_plan *plan, const struct sonic_step *step, struct err *err)
{
    char port[SWITCH_PORT_NAME] = "", text[SWITCH_STEP_TEXT];
    enum switch_verb verb = !step->from ? SWITCH_ADD : step->to ? SWITCH_CHANGE : SWITCH_REMOVE;
    size_t n = strcspn(step->key, "|,");
    if ((step->table[0] == 'Q' || step->table[0] == 'P') && step->key[n] != ',' && n < sizeof(port))
        memcpy(port, step->key, n);
    say_row(step->to, text, sizeof(text));
    return switch_step_add(plan, verb, port, err, "%s|%.80s%s", step->table, step->key, text);
}

static int make_plan(struct switch_state *sw, bool again, struct sonic_plan *plan, struct err *err)
{
    int r = read_site(sw, &plan->db, &plan->kept, &plan->site, err);
    if (r >= 0)
        r = make_want(sw, plan, err);
    if (r >= 0)
        r = check_others(sw, plan, again || sw->config.replace, err);
    if (r >= 0 && sonic_steps(plan->db, plan->want, &plan->steps, &plan->n) < 0)
        r = err_sys(err, ENOMEM, "the plan of %s", sw->at);
    for (uint32_t i = 0; r >= 0 && i < plan->n; i++)
        r = say_step(&plan->plan, &plan->steps[i], err);
    return r;
}

static int sonic_plan(struct switch_state *sw, bool again, struct switch_plan **ret_plan,
                      struct err *err)
{
    struct sonic_plan *plan = calloc(1, sizeof(*plan));
    begin_call(sw);
    int r = plan ? make_plan(sw, again, plan, err) : err_sys(err, ENOMEM, "the plan of %s", sw->at);
    if (r < 0) {
        sonic_free_plan(plan ? &plan->plan : NULL);
        return r;
    }
    *ret_plan = &plan->plan;
    return 0;
}

/* What was kept before, when nothing was changed after all. */
static void keep_as_before(struct switch_state *sw, const struct sonic_plan *plan)
{
    if (plan->kept)
        store_kept(sw, plan->kept, NULL);
    else
        switch_forget(sw->config.state_dir, NULL);
}

static int sonic_apply(struct switch_state *sw, const struct switch_plan *plan, struct err *err)
{
    const struct sonic_plan *own = (const struct sonic_plan *)plan;
    if (!own->n)
        return 0;
    begin_call(sw);
    if (!sw->redis)
        return err_set(err, EAGAIN, "the connection to %s was lost since the plan", sw->at);
    json_t *keep = sonic_keep(own->site, own->want, own->kept);
    int r = store_kept(sw, keep, err);
    if (r >= 0) {
        r = commit(sw, own->steps, own->n, err);
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

/* ---- back ------------------------------------------------------------------------------------- */

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
        r = err_sys(err, ENOMEM, "what stood on %s", sw->at);
    if (r >= 0 && n)
        r = commit(sw, steps, n, err);
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
        begin_call(sw);
        r = restore_once(sw, err);
    }
    return r;
}

static int sonic_stats(struct switch_state *sw, struct switch_stats *ret_stats, struct err *err)
{
    (void)sw;
    (void)err;
    *ret_stats = (struct switch_stats){0};
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
