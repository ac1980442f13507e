/* Fuzz target of whole conversations with a SONiC's Redis: CONFIG_DB is read, changed and what
 * queues counted is read, from a stream of replies that the fuzzer says. The first byte chooses
 * which. What is read is rows of text, in the tables that we read; whatever fails has a
 * sentence. */
#include "hostagent/switches/sonic/config_db.h"
#include "hostagent/switches/sonic/sonic_counters.h"

#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static redisReader *reader;
static size_t unanswered;

/* In the place of redis.h's (the linker's --wrap). */
int __wrap_redis_say(struct redis *redis, uint32_t n, const char *const *words,
                     const size_t *lengths, struct err *err);
int __wrap_redis_say(struct redis *redis, uint32_t n, const char *const *words,
                     const size_t *lengths, struct err *err)
{
    (void)redis, (void)lengths, (void)err;
    for (uint32_t i = 0; i < n; i++)
        if (!words[i])
            abort();
    return 0;
}

int __wrap_redis_hear(struct redis *redis, uint64_t until_ns, redisReply **ret_reply,
                      struct err *err);
int __wrap_redis_hear(struct redis *redis, uint64_t until_ns, redisReply **ret_reply,
                      struct err *err)
{
    redisReply *reply = NULL;
    (void)redis, (void)until_ns;
    int r = redis_reply(reader, &unanswered, &reply, err);
    if (r < 0)
        return r;
    if (!r)
        return err_set(err, ETIMEDOUT, "Redis does not answer in time");
    if (reply->type == REDIS_REPLY_ERROR) {
        freeReplyObject(reply);
        return err_set(err, EREMOTEIO, "Redis refuses");
    }
    *ret_reply = reply;
    return 0;
}

static void check_rows(const json_t *db)
{
    const char *table, *key, *field;
    json_t *rows, *row, *value;
    json_object_foreach((json_t *)db, table, rows)
    {
        json_object_foreach(rows, key, row)
        {
            json_object_foreach(row, field, value)
            {
                if (!json_string_value(value))
                    abort();
            }
        }
    }
}

static void read_try(void)
{
    struct err err = {0};
    json_t *db = NULL;
    int r = config_db_read(NULL, 0, &db, &err);
    if (r < 0 ? !err.text[0] : !db)
        abort();
    if (r >= 0)
        check_rows(db);
    if (r >= 0)
        json_decref(db);
}

/* A row that is made, one that is changed and one that goes. */
static void commit_try(void)
{
    struct err err = {0};
    json_t *from = json_pack("{ssss}", "scheduler", "scheduler.0", "wred_profile", "AZURE");
    json_t *to = json_pack("{ss}", "scheduler", "duopoly-a-s0");
    const struct sonic_step steps[] = {
        {.table = "SCHEDULER", .key = "duopoly-a-s0", .to = to},
        {.table = "QUEUE", .key = "Ethernet0|7", .from = from, .to = to},
        {.table = "QUEUE", .key = "Ethernet0|5-6", .from = from},
    };
    if (!from || !to)
        abort();
    if (config_db_commit(NULL, 0, steps, sizeof(steps) / sizeof(steps[0]), &err) < 0 &&
        !err.text[0])
        abort();
    json_decref(from);
    json_decref(to);
}

static void counters_try(void)
{
    const struct sonic_counted counted[] = {{"Ethernet0", {0, -1, 2, -1, 4, 5, 6, 9}},
                                            {"Ethernet4", {-1, -1, -1, -1, -1, -1, -1, 0}}};
    struct switch_stats stats;
    struct err err = {0};
    if (sonic_counters_read(NULL, 0, counted, 2, &stats, &err) < 0 && !err.text[0])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err;
    if (!size)
        return 0;
    reader = redis_reader();
    unanswered = 0;
    if (redis_feed(reader, (const char *)data + 1, size - 1, &unanswered, &err) >= 0) {
        switch (*data % 3) {
        case 0:
            read_try();
            break;
        case 1:
            commit_try();
            break;
        default:
            counters_try();
        }
    }
    redisReaderFree(reader);
    return 0;
}
