#include "hostagent/switches/sonic/sonic_link.h"

#include "hostagent/switches/sonic/config_db.h"
#include "hostagent/switches/switch.h"
#include "lib/now.h"
#include "lib/sonic/sonic_want.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_DB "4"

void sonic_link_init(struct sonic_link *link, const char *at)
{
    *link = (struct sonic_link){.at = at};
}

void sonic_link_drop(struct sonic_link *link)
{
    redis_close(link->redis);
    link->redis = NULL;
    link->unheard = 0;
}

void sonic_link_done(struct sonic_link *link)
{
    sonic_link_drop(link);
    json_decref(link->unsettled);
    link->unsettled = NULL;
}

void sonic_link_begin(struct sonic_link *link)
{
    link->until_ns = now_ns(CLOCK_MONOTONIC) + (uint64_t)SWITCH_WAIT_MS * 1000000;
}

static int say_and_hear(struct sonic_link *link, const char *const *words, uint32_t n,
                        redisReply **ret_reply, struct err *err)
{
    int r = redis_say(link->redis, n, words, NULL, err);
    return r < 0 ? r : redis_hear(link->redis, link->until_ns, ret_reply, err);
}

/* Without them changes by others are not reported. */
static int check_notifications(struct sonic_link *link, struct err *err)
{
    redisReply *reply = NULL;
    const char *const words[] = {"CONFIG", "GET", "notify-keyspace-events"};
    int r = say_and_hear(link, words, 3, &reply, err);
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
                    link->at, set);
    freeReplyObject(reply);
    return r;
}

static int hear_unheard(struct sonic_link *link, struct err *err)
{
    int r = 0;
    while (r >= 0 && link->unheard) {
        redisReply *reply;
        r = redis_hear(link->redis, link->until_ns, &reply, err);
        if (r >= 0) {
            freeReplyObject(reply);
            link->unheard--;
        }
    }
    return r;
}

int sonic_link_connect(struct sonic_link *link, struct err *err)
{
    const char *const words[] = {"SELECT", CONFIG_DB};
    redisReply *reply = NULL;
    if (link->redis)
        return hear_unheard(link, err);
    int r = redis_start(link->at, &link->redis, err);
    if (r >= 0)
        r = say_and_hear(link, words, 2, &reply, err);
    if (r >= 0) {
        freeReplyObject(reply);
        r = check_notifications(link, err);
    }
    if (r < 0)
        sonic_link_drop(link);
    return r;
}

/* A connection lost since the last call is made again once. */
int sonic_link_read(struct sonic_link *link, json_t **ret_db, struct err *err)
{
    bool fresh = !link->redis;
    int r = sonic_link_connect(link, err);
    if (r >= 0)
        r = config_db_read(link->redis, link->until_ns, ret_db, err);
    if (r == -ECONNRESET && !fresh) {
        sonic_link_drop(link);
        return sonic_link_read(link, ret_db, err);
    }
    if (r >= 0 && (r = sonic_check(*ret_db, err)) < 0) {
        json_decref(*ret_db);
        err_prefix(err, "%s", link->at);
    }
    if (r < 0)
        sonic_link_drop(link);
    return r;
}

static bool goes_from(const struct sonic_step *steps, uint32_t n, const char *table)
{
    for (uint32_t i = 0; i < n; i++)
        if (!steps[i].to && strcmp(steps[i].table, table) == 0)
            return true;
    return false;
}

/* All that was set in a table of many keys for a queue or port where a row goes, too. */
static json_t *unsettled(const struct sonic_step *steps, uint32_t n)
{
    bool queues = goes_from(steps, n, "QUEUE"), maps = goes_from(steps, n, "PORT_QOS_MAP");
    json_t *rows = json_object();
    for (uint32_t i = 0; rows && i < n; i++)
        if (steps[i].to && ((queues && strcmp(steps[i].table, "QUEUE") == 0) ||
                            (maps && strcmp(steps[i].table, "PORT_QOS_MAP") == 0)))
            sonic_put(rows, steps[i].table, steps[i].key, json_deep_copy(steps[i].to));
    if (json_object_size(rows))
        return rows;
    json_decref(rows);
    return NULL;
}

int sonic_link_commit(struct sonic_link *link, const struct sonic_step *steps, uint32_t n,
                      struct err *err)
{
    int r = hear_unheard(link, err);
    if (r >= 0)
        r = config_db_commit(link->redis, link->until_ns, steps, n, err);
    if (r < 0 && r != -EAGAIN)
        sonic_link_drop(link);
    if (r >= 0) {
        json_decref(link->unsettled);
        link->unsettled = unsettled(steps, n);
    }
    return r;
}

/* Writes a row again if it is still as it was written; the last argument contains all of them. */
static const char write_again[] = "for name, row in pairs(cjson.decode(ARGV[1])) do "
                                  "  local same = true "
                                  "  for field, value in pairs(row) do "
                                  "    same = same and redis.call('HGET', name, field) == value "
                                  "  end "
                                  "  if same then "
                                  "    for field, value in pairs(row) do "
                                  "      redis.call('HSET', name, field, value) "
                                  "    end "
                                  "  end "
                                  "end "
                                  "return 1";

/* {"TABLE|key": {"field": "value"}} */
static char *rows_text(const json_t *tables)
{
    const char *table, *key;
    json_t *rows, *row, *flat = json_object();
    json_object_foreach((json_t *)tables, table, rows)
    {
        json_object_foreach(rows, key, row)
        {
            char name[SONIC_KEY + 32];
            snprintf(name, sizeof(name), "%s|%s", table, key);
            json_object_set(flat, name, row);
        }
    }
    char *text = json_dumps(flat, JSON_COMPACT);
    json_decref(flat);
    return text;
}

static int say_again(struct sonic_link *link, struct err *err)
{
    char *text = rows_text(link->unsettled);
    const char *const words[] = {"EVAL", write_again, "0", text};
    int r = text ? redis_say(link->redis, 4, words, NULL, err) : err_sys(err, ENOMEM, "the rows");
    free(text);
    link->unheard += r >= 0;
    return r < 0 ? r : redis_pump(link->redis, err);
}

int sonic_link_settle(struct sonic_link *link, bool wait, struct err *err)
{
    if (!link->unsettled || (!link->redis && !wait))
        return 0;
    sonic_link_begin(link);
    int r = sonic_link_connect(link, err);
    if (r >= 0)
        r = say_again(link, err);
    if (r >= 0 && wait)
        r = hear_unheard(link, err);
    if (r < 0)
        sonic_link_drop(link);
    json_decref(link->unsettled);
    link->unsettled = NULL;
    return r;
}
