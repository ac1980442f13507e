#include "hostagent/switches/sonic/sonic_counters.h"

#include "hostagent/switches/sonic/config_db.h"
#include "lib/number.h"

#include <string.h>

static int say(struct redis *redis, uint32_t n, const char *const *words, struct err *err)
{
    return redis_say(redis, n, words, NULL, err);
}

static int select_db(struct redis *redis, uint64_t until_ns, const char *number, struct err *err)
{
    redisReply *reply;
    int r = say(redis, 2, (const char *const[]){"SELECT", number}, err);
    if (r >= 0)
        r = redis_hear(redis, until_ns, &reply, err);
    if (r >= 0)
        freeReplyObject(reply);
    return r;
}

/* {"Ethernet0:7": "oid:0x15…"}; NULL: nothing is counted. */
static int read_names(struct redis *redis, uint64_t until_ns, json_t **ret_names, struct err *err)
{
    redisReply *reply;
    int r = say(redis, 2, (const char *const[]){"HGETALL", "COUNTERS_QUEUE_NAME_MAP"}, err);
    if (r >= 0)
        r = redis_hear(redis, until_ns, &reply, err);
    if (r < 0)
        return r;
    r = config_db_row(reply, ret_names, err);
    freeReplyObject(reply);
    return r;
}

typedef int queue_visit(struct redis *redis, const char *oid, int traffic, void *context,
                        struct err *err);

static int for_each_queue(struct redis *redis, const json_t *names,
                          const struct sonic_counted *counted, uint32_t n, queue_visit *visit,
                          void *context, struct err *err)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t q = 0; q < SONIC_QUEUES; q++) {
            char name[SONIC_NAME + 16];
            snprintf(name, sizeof(name), "%s:%u", counted[i].port, q);
            const char *oid = json_string_value(json_object_get(names, name));
            int r = oid && counted[i].traffic[q] >= 0
                        ? visit(redis, oid, counted[i].traffic[q], context, err)
                        : 0;
            if (r < 0)
                return r;
        }
    return 0;
}

static int ask(struct redis *redis, const char *oid, int traffic, void *context, struct err *err)
{
    char key[SONIC_NAME + 16];
    (void)traffic;
    (void)context;
    snprintf(key, sizeof(key), "COUNTERS:%.*s", SONIC_NAME, oid);
    return say(redis, 5,
               (const char *const[]){"HMGET", key, "SAI_QUEUE_STAT_PACKETS", "SAI_QUEUE_STAT_BYTES",
                                     "SAI_QUEUE_STAT_DROPPED_PACKETS"},
               err);
}

struct hearing {
    uint64_t until_ns;
    struct switch_stats *stats;
};

static uint64_t number_of(const redisReply *reply, size_t i)
{
    uint64_t number = 0;
    if (reply->type == REDIS_REPLY_ARRAY && i < reply->elements &&
        reply->element[i]->type == REDIS_REPLY_STRING)
        number_read(reply->element[i]->str, 0, UINT64_MAX, &number);
    return number;
}

static int hear(struct redis *redis, const char *oid, int traffic, void *context, struct err *err)
{
    struct hearing *hearing = context;
    struct switch_queue_stats *sum = &hearing->stats->traffic[traffic];
    redisReply *reply;
    (void)oid;
    int r = redis_hear(redis, hearing->until_ns, &reply, err);
    if (r < 0)
        return r;
    sum->packets += number_of(reply, 0);
    sum->bytes += number_of(reply, 1);
    sum->drops += number_of(reply, 2);
    freeReplyObject(reply);
    return 0;
}

int sonic_counters_read(struct redis *redis, uint64_t until_ns, const struct sonic_counted *counted,
                        uint32_t n, struct switch_stats *ret_stats, struct err *err)
{
    struct switch_stats stats = {0};
    struct hearing hearing = {until_ns, &stats};
    json_t *names = NULL;
    int r = select_db(redis, until_ns, "2", err);
    if (r >= 0)
        r = read_names(redis, until_ns, &names, err);
    if (r >= 0)
        r = for_each_queue(redis, names, counted, n, ask, NULL, err);
    if (r >= 0)
        r = for_each_queue(redis, names, counted, n, hear, &hearing, err);
    json_decref(names);
    if (r >= 0)
        r = select_db(redis, until_ns, "4", err);
    if (r >= 0)
        *ret_stats = stats;
    return r;
}
