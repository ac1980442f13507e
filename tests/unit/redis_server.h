/* A Redis of a test's own in a folder, on a Unix socket and nothing else. Debian's redis-tools has
 * the server under another name: it goes by what it is called. */
#pragma once

#include "tests/unit/test.h"

#include "lib/sonic/sonic_rows.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define REDIS_PROGRAM "/usr/bin/redis-check-rdb"
#define REDIS_TRIES   1000 /* of 10 ms */

struct redis_server {
    char socket[96];
    char at[104]; /* unix:SOCKET */
    pid_t pid;
    redisContext *context; /* a client, in CONFIG_DB */
};

static inline bool redis_server_is_there(void)
{
    return access(REDIS_PROGRAM, X_OK) == 0;
}

/* `events`: what it tells, as SONiC's "AKE". */
static inline void redis_server_begin(struct redis_server *server, const char *in,
                                      const char *events)
{
    snprintf(server->socket, sizeof(server->socket), "%s/redis.sock", in);
    snprintf(server->at, sizeof(server->at), "unix:%s", server->socket);
    unlink(server->socket);
    server->pid = fork();
    assert_true(server->pid >= 0);
    if (server->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(REDIS_PROGRAM, "redis-server", "--port", "0", "--unixsocket", server->socket,
              "--save", "", "--appendonly", "no", "--logfile", "/dev/null", "--databases", "16",
              "--notify-keyspace-events", events, "--dir", in, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < REDIS_TRIES; i++) {
        server->context = redisConnectUnix(server->socket);
        assert_non_null(server->context);
        if (!server->context->err)
            break;
        redisFree(server->context);
        server->context = NULL;
        usleep(10000);
    }
    assert_non_null(server->context);
    freeReplyObject(redisCommand(server->context, "SELECT 4"));
}

/* Nothing when it has ended. */
static inline void redis_server_end(struct redis_server *server)
{
    if (!server->pid)
        return;
    redisFree(server->context);
    kill(server->pid, SIGKILL);
    assert_int_equal(waitpid(server->pid, NULL, 0), server->pid);
    *server = (struct redis_server){0};
}

/* A command of words without blanks, with %s, and %b for bytes and their number. */
static inline void redis_do(struct redis_server *server, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    redisReply *reply = redisvCommand(server->context, format, ap);
    va_end(ap);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s", reply->str);
    freeReplyObject(reply);
}

/* What a `config reload` does, without the FLUSHDB. */
static inline void redis_load(struct redis_server *server, const json_t *db)
{
    const char *table, *key, *field;
    json_t *rows, *row, *value;
    json_object_foreach((json_t *)db, table, rows)
    {
        json_object_foreach(rows, key, row)
        {
            json_object_foreach(row, field, value)
            {
                redis_do(server, "HSET %s|%s %s %s", table, key, field, json_string_value(value));
            }
        }
    }
}

/* Every key of CONFIG_DB with every field. */
static inline json_t *redis_snapshot(struct redis_server *server)
{
    json_t *db = json_object();
    redisReply *keys = redisCommand(server->context, "KEYS *");
    assert_non_null(keys);
    for (size_t i = 0; i < keys->elements; i++) {
        redisReply *row = redisCommand(server->context, "HGETALL %s", keys->element[i]->str);
        json_t *fields = json_object();
        for (size_t j = 0; j + 1 < row->elements; j += 2)
            json_object_set_new(fields, row->element[j]->str,
                                json_string(row->element[j + 1]->str));
        json_object_set_new(db, keys->element[i]->str, fields);
        freeReplyObject(row);
    }
    freeReplyObject(keys);
    return db;
}
