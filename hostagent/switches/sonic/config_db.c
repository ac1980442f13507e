#include "hostagent/switches/sonic/config_db.h"

#include "lib/grow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCANNED "4096" /* keys that one SCAN looks at */

/* The words of commands; they borrow until the commands are sent. */
struct words {
    const char **word;
    uint32_t n, allocated;
};

static int add_word(struct words *words, const char *word)
{
    if (!array_grow(words->word, words->n, words->allocated, 64))
        return -ENOMEM;
    words->word[words->n++] = word;
    return 0;
}

#define SAY(redis, err, ...)                                                                       \
    redis_say(redis, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                       \
              (const char *const[]){__VA_ARGS__}, NULL, err)

static int no_sonic(struct err *err, const char *what)
{
    return err_set(err, EPROTO, "%s: this is no SONiC's CONFIG_DB", what);
}

/* Reads a reply of that type and drops it. */
static int hear(struct redis *redis, uint64_t until_ns, int type, struct err *err)
{
    redisReply *reply;
    int r = redis_hear(redis, until_ns, &reply, err);
    if (r < 0)
        return r;
    r = reply->type == type ? 0 : no_sonic(err, "Redis answers what was not asked");
    freeReplyObject(reply);
    return r;
}

static bool in_list(const char *const *list, const char *name, size_t n)
{
    for (; *list; list++)
        if (strlen(*list) == n && strncmp(*list, name, n) == 0)
            return true;
    return false;
}

/* An empty row for a key of ours. */
static int add_key(json_t *db, const redisReply *key, struct err *err)
{
    char table[64];
    const char *bar;
    if (key->type != REDIS_REPLY_STRING)
        return no_sonic(err, "a key is no string");
    bar = memchr(key->str, '|', (size_t)key->len);
    size_t n = bar ? (size_t)(bar - key->str) : 0;
    if (!bar || !(in_list(sonic_ours, key->str, n) || in_list(sonic_read, key->str, n)))
        return 0;
    if (strlen(key->str) != (size_t)key->len || key->len >= SONIC_KEY)
        return no_sonic(err, "a key is no text, or too long");
    snprintf(table, sizeof(table), "%.*s", (int)n, key->str);
    return sonic_put(db, table, bar + 1, json_object()) < 0 ? no_sonic(err, "a key is no UTF-8")
                                                            : 0;
}

int config_db_scanned(const redisReply *reply, const char **ret_cursor, json_t *db,
                      uint32_t *keys_n, struct err *err)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[1]->type != REDIS_REPLY_ARRAY)
        return no_sonic(err, "SCAN answers no list of keys");
    const redisReply *keys = reply->element[1];
    *keys_n += (uint32_t)keys->elements;
    if (*keys_n > CONFIG_DB_KEYS)
        return err_set(err, E2BIG, "CONFIG_DB has more than %d keys", CONFIG_DB_KEYS);
    for (size_t i = 0; i < keys->elements; i++) {
        int r = add_key(db, keys->element[i], err);
        if (r < 0)
            return r;
    }
    *ret_cursor = reply->element[0]->str;
    return 0;
}

static int scan(struct redis *redis, uint64_t until_ns, json_t *db, struct err *err)
{
    char cursor[24] = "0";
    uint32_t keys_n = 0;
    do {
        redisReply *reply;
        const char *next = "0";
        int r = SAY(redis, err, "SCAN", cursor, "COUNT", SCANNED);
        if (r >= 0)
            r = redis_hear(redis, until_ns, &reply, err);
        if (r < 0)
            return r;
        r = config_db_scanned(reply, &next, db, &keys_n, err);
        if (r >= 0)
            snprintf(cursor, sizeof(cursor), "%s", next);
        freeReplyObject(reply);
        if (r < 0)
            return r;
    } while (strcmp(cursor, "0") != 0);
    return 0;
}

int config_db_row(const redisReply *reply, json_t **ret_row, struct err *err)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements % 2 != 0)
        return no_sonic(err, "HGETALL answers no fields");
    json_t *row = json_object();
    bool good = row != NULL;
    for (size_t i = 0; good && i < reply->elements; i += 2) {
        const redisReply *field = reply->element[i], *value = reply->element[i + 1];
        good = field->type == REDIS_REPLY_STRING && value->type == REDIS_REPLY_STRING &&
               strlen(field->str) == (size_t)field->len &&
               strlen(value->str) == (size_t)value->len &&
               json_object_set_new(row, field->str, json_string(value->str)) == 0;
    }
    if (!good) {
        json_decref(row);
        return no_sonic(err, "a field is no text");
    }
    if (reply->elements == 0) {
        json_decref(row);
        row = NULL;
    }
    *ret_row = row;
    return 0;
}

typedef int key_visit(struct redis *redis, const char *table, const char *key, void *context,
                      struct err *err);

static int for_each_row(struct redis *redis, const json_t *db, key_visit *visit, void *context,
                        struct err *err)
{
    const char *table, *key;
    json_t *rows, *row;
    json_object_foreach((json_t *)db, table, rows)
    {
        void *next;
        json_object_foreach_safe(rows, next, key, row)
        {
            int r = visit(redis, table, key, context, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int whole_key(const char *table, const char *key, char **ret_key)
{
    return asprintf(ret_key, "%s|%s", table, key) < 0 ? -ENOMEM : 0;
}

static int say_of_row(struct redis *redis, const char *table, const char *key, void *context,
                      struct err *err)
{
    char *name = NULL;
    const char *command = context;
    int r = whole_key(table, key, &name);
    if (r < 0)
        return err_sys(err, ENOMEM, "%s|%s", table, key);
    r = SAY(redis, err, command, name);
    free(name);
    return r;
}

struct reading {
    uint64_t until_ns;
    json_t *db;
};

static int hear_watched(struct redis *redis, const char *table, const char *key, void *context,
                        struct err *err)
{
    (void)table;
    (void)key;
    return hear(redis, ((struct reading *)context)->until_ns, REDIS_REPLY_STATUS, err);
}

static int hear_row(struct redis *redis, const char *table, const char *key, void *context,
                    struct err *err)
{
    struct reading *reading = context;
    redisReply *reply;
    json_t *row;
    int r = redis_hear(redis, reading->until_ns, &reply, err);
    if (r < 0)
        return err_prefix(err, "%s|%s", table, key);
    r = config_db_row(reply, &row, err);
    freeReplyObject(reply);
    if (r < 0)
        return err_prefix(err, "%s|%s", table, key);
    if (row && sonic_put(reading->db, table, key, row) < 0)
        return err_sys(err, ENOMEM, "%s|%s", table, key);
    return 0;
}

/* All are watched before the first is read. */
static int read_rows(struct redis *redis, uint64_t until_ns, const json_t *keys, json_t *db,
                     struct err *err)
{
    struct reading reading = {until_ns, db};
    int r = for_each_row(redis, keys, say_of_row, "WATCH", err);
    if (r >= 0)
        r = for_each_row(redis, keys, say_of_row, "HGETALL", err);
    if (r >= 0)
        r = for_each_row(redis, keys, hear_watched, &reading, err);
    return r < 0 ? r : for_each_row(redis, keys, hear_row, &reading, err);
}

int config_db_read(struct redis *redis, uint64_t until_ns, json_t **ret_db, struct err *err)
{
    json_t *keys = json_object(), *db = json_object();
    int r = keys && db ? SAY(redis, err, "UNWATCH") : err_sys(err, ENOMEM, "CONFIG_DB");
    if (r >= 0)
        r = hear(redis, until_ns, REDIS_REPLY_STATUS, err);
    if (r >= 0)
        r = scan(redis, until_ns, keys, err);
    if (r >= 0)
        r = read_rows(redis, until_ns, keys, db, err);
    json_decref(keys);
    if (r < 0)
        json_decref(db);
    else
        *ret_db = db;
    return r;
}

/* Rows to be made are watched too; −EAGAIN when one is there by now. */
static int watch_new(struct redis *redis, uint64_t until_ns, const struct sonic_step *steps,
                     uint32_t n, struct err *err)
{
    uint32_t there = 0;
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < n; i++) {
        if (steps[i].from)
            continue;
        r = say_of_row(redis, steps[i].table, steps[i].key, "WATCH", err);
        if (r >= 0)
            r = say_of_row(redis, steps[i].table, steps[i].key, "EXISTS", err);
    }
    for (uint32_t i = 0; r >= 0 && i < n; i++) {
        redisReply *reply;
        if (steps[i].from)
            continue;
        r = hear(redis, until_ns, REDIS_REPLY_STATUS, err);
        if (r >= 0)
            r = redis_hear(redis, until_ns, &reply, err);
        if (r < 0)
            break;
        there += reply->type != REDIS_REPLY_INTEGER || reply->integer != 0;
        freeReplyObject(reply);
    }
    return r >= 0 && there ? -EAGAIN : r;
}

/* Sets changed and new fields, then deletes the others (HDEL), so that the row is never empty. */
static int say_change(struct redis *redis, const struct sonic_step *step, const char *key,
                      uint32_t *commands, struct err *err)
{
    struct words set = {0}, del = {0};
    const char *field;
    json_t *value;
    int r = add_word(&set, "HSET") < 0 || add_word(&set, key) < 0 || add_word(&del, "HDEL") < 0 ||
                    add_word(&del, key) < 0
                ? -ENOMEM
                : 0;
    json_object_foreach((json_t *)step->to, field, value)
    {
        if (r >= 0 && !json_equal(value, json_object_get(step->from, field)) &&
            (add_word(&set, field) < 0 || add_word(&set, json_string_value(value)) < 0))
            r = -ENOMEM;
    }
    json_object_foreach((json_t *)step->from, field, value)
    {
        if (r >= 0 && !json_object_get(step->to, field) && add_word(&del, field) < 0)
            r = -ENOMEM;
    }
    if (r < 0)
        r = err_sys(err, ENOMEM, "%s", key);
    if (r >= 0 && set.n > 2) {
        r = redis_say(redis, set.n, set.word, NULL, err);
        (*commands)++;
    }
    if (r >= 0 && del.n > 2) {
        r = redis_say(redis, del.n, del.word, NULL, err);
        (*commands)++;
    }
    free(set.word);
    free(del.word);
    return r;
}

static int say_step(struct redis *redis, const struct sonic_step *step, uint32_t *commands,
                    struct err *err)
{
    char *key = NULL;
    int r = whole_key(step->table, step->key, &key);
    if (r < 0)
        return err_sys(err, ENOMEM, "%s|%s", step->table, step->key);
    if (step->to) {
        r = say_change(redis, step, key, commands, err);
    } else {
        r = SAY(redis, err, "DEL", key);
        (*commands)++;
    }
    free(key);
    return r;
}

/* The result of EXEC: nil if somebody changed a row first; else each command's. */
static int hear_done(struct redis *redis, uint64_t until_ns, uint32_t commands, struct err *err)
{
    redisReply *reply;
    int r = redis_hear(redis, until_ns, &reply, err);
    if (r < 0)
        return r;
    if (reply->type == REDIS_REPLY_NIL)
        r = -EAGAIN;
    else if (reply->type != REDIS_REPLY_ARRAY || reply->elements != commands)
        r = no_sonic(err, "EXEC answers something else");
    for (size_t i = 0; r >= 0 && i < reply->elements; i++)
        if (reply->element[i]->type == REDIS_REPLY_ERROR)
            r = err_set(err, EREMOTEIO, "Redis refuses a change: %s", reply->element[i]->str);
    freeReplyObject(reply);
    return r;
}

static int exchange(struct redis *redis, uint64_t until_ns, const struct sonic_step *steps,
                    uint32_t n, struct err *err)
{
    uint32_t commands = 0;
    int r = watch_new(redis, until_ns, steps, n, err);
    if (r >= 0)
        r = SAY(redis, err, "MULTI");
    for (uint32_t i = 0; r >= 0 && i < n; i++)
        r = say_step(redis, &steps[i], &commands, err);
    if (r >= 0)
        r = SAY(redis, err, "EXEC");
    for (uint32_t i = 0; r >= 0 && i < commands + 1; i++)
        r = hear(redis, until_ns, REDIS_REPLY_STATUS, err);
    return r < 0 ? r : hear_done(redis, until_ns, commands, err);
}

int config_db_commit(struct redis *redis, uint64_t until_ns, const struct sonic_step *steps,
                     uint32_t n, struct err *err)
{
    int r = exchange(redis, until_ns, steps, n, err);
    return r == -EAGAIN
               ? err_set(err, EAGAIN, "CONFIG_DB was changed by somebody else meanwhile: try again")
               : r;
}
