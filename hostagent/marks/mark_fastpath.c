#include "hostagent/marks/mark_fastpath.h"

#include "hostagent/fastpath_link.h"
#include "lib/invariant.h"
#include "lib/log.h"
#include "lib/now.h"

#include <arpa/inet.h>
#include <bsd/sys/tree.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>

#define NS_PER_MS UINT64_C(1000000)
#define BATCH     (sizeof(((duopoly_SetFlows *)0)->flows) / sizeof(duopoly_FlowLevels))
#define AGAIN_US  2000 /* after it had no room for more */

struct connection {
    RB_ENTRY(connection) by_key;
    LIST_ENTRY(connection) of_task;
    TAILQ_ENTRY(connection) untold;
    bool is_untold;
    struct mark_flow_key key;
    struct fastpath_task *task; /* NULL: must be sent as nobody's, and then forgotten */
};

struct fastpath_task {
    RB_ENTRY(fastpath_task) by_cgroup;
    struct mark_task_levels levels;
    LIST_HEAD(, connection) connections;
};

RB_HEAD(fastpath_connections, connection);
RB_HEAD(fastpath_tasks, fastpath_task);

struct mark_fastpath {
    struct mark_fastpath_config config;
    struct fastpath_link *link;
    sd_event_source *notice, *tell;
    struct fastpath_connections connections;
    struct fastpath_tasks tasks;
    TAILQ_HEAD(, connection) untold;
    uint32_t connections_n, mode;
    uint64_t lease_until_ns;
    bool mode_untold, lease_untold;
    bool fails; /* this was logged */
};

static int compare_keys(struct connection *a, struct connection *b)
{
    return memcmp(&a->key, &b->key, sizeof(a->key));
}

static int compare_tasks(struct fastpath_task *a, struct fastpath_task *b)
{
    return (a->levels.cgroup > b->levels.cgroup) - (a->levels.cgroup < b->levels.cgroup);
}

RB_PROTOTYPE(fastpath_connections, connection, by_key, compare_keys)
RB_GENERATE(fastpath_connections, connection, by_key, compare_keys)
RB_PROTOTYPE(fastpath_tasks, fastpath_task, by_cgroup, compare_tasks)
RB_GENERATE(fastpath_tasks, fastpath_task, by_cgroup, compare_tasks)

static void wake(struct mark_fastpath *fastpath)
{
    sd_event_source_set_time(fastpath->tell, 0);
    sd_event_source_set_enabled(fastpath->tell, SD_EVENT_ONESHOT);
}

static void touch(struct mark_fastpath *fastpath, struct connection *connection)
{
    if (!connection->is_untold)
        TAILQ_INSERT_TAIL(&fastpath->untold, connection, untold);
    connection->is_untold = true;
    wake(fastpath);
}

static void touch_all(struct mark_fastpath *fastpath)
{
    struct connection *connection;
    RB_FOREACH (connection, fastpath_connections, &fastpath->connections)
        touch(fastpath, connection);
    fastpath->mode_untold = fastpath->lease_untold = true;
    wake(fastpath);
}

static void forget(struct mark_fastpath *fastpath, struct connection *connection)
{
    RB_REMOVE(fastpath_connections, &fastpath->connections, connection);
    assert(fastpath->connections_n > 0);
    fastpath->connections_n--;
    free(connection);
}

static void told(struct mark_fastpath *fastpath, struct connection *connection)
{
    TAILQ_REMOVE(&fastpath->untold, connection, untold);
    connection->is_untold = false;
    if (!connection->task)
        forget(fastpath, connection);
}

static void write_flow(const struct connection *connection, duopoly_FlowLevels *flow)
{
    static const struct mark_task_levels none = {0, MARK_UNMARKED, MARK_UNMARKED};
    const struct mark_task_levels *levels = connection->task ? &connection->task->levels : &none;
    *flow = (duopoly_FlowLevels){.local_port = ntohs(connection->key.local_port),
                                 .peer_port = ntohs(connection->key.peer_port),
                                 .owner = levels->cgroup,
                                 .coflow_level = levels->coflow,
                                 .macroflow_level = levels->macroflow};
    memcpy(flow->local, connection->key.local, sizeof(flow->local));
    memcpy(flow->peer, connection->key.peer, sizeof(flow->peer));
}

static int call(struct mark_fastpath *fastpath, struct err *err)
{
    const duopoly_Envelope *answer;
    return fastpath_link_call(fastpath->link, duopoly_Envelope_accepted_tag, &answer, err);
}

/* −EAGAIN: it has no room for so many now. */
static int tell_batch(struct mark_fastpath *fastpath, struct err *err)
{
    duopoly_SetFlows *message =
        &fastpath_link_request(fastpath->link, duopoly_Envelope_set_flows_tag)->body.set_flows;
    struct connection *connection;
    TAILQ_FOREACH (connection, &fastpath->untold, untold) {
        if (message->flows_count == BATCH)
            break;
        write_flow(connection, &message->flows[message->flows_count++]);
    }
    const pb_size_t n = message->flows_count;
    int r = call(fastpath, err);
    if (r == -EREMOTEIO && fastpath_link_refusal(fastpath->link) == duopoly_Reason_REASON_LIMIT)
        return -EAGAIN;
    for (pb_size_t i = 0; i < n && r == 0; i++)
        told(fastpath, TAILQ_FIRST(&fastpath->untold));
    return r;
}

static int tell_mode(struct mark_fastpath *fastpath, struct err *err)
{
    fastpath_link_request(fastpath->link, duopoly_Envelope_mode_tag)->body.mode.mode =
        fastpath->mode;
    int r = call(fastpath, err);
    fastpath->mode_untold = r < 0;
    return r;
}

static int tell_lease(struct mark_fastpath *fastpath, struct err *err)
{
    const uint64_t now = now_ns(CLOCK_BOOTTIME), until = fastpath->lease_until_ns;
    fastpath_link_request(fastpath->link, duopoly_Envelope_lease_tag)->body.lease.lease_ms =
        until > now ? (uint32_t)((until - now) / NS_PER_MS) : 0;
    int r = call(fastpath, err);
    fastpath->lease_untold = r < 0;
    return r;
}

static int tell(struct mark_fastpath *fastpath, struct err *err)
{
    int r = fastpath->mode_untold ? tell_mode(fastpath, err) : 0;
    while (r == 0 && !TAILQ_EMPTY(&fastpath->untold))
        r = tell_batch(fastpath, err);
    return r == 0 && fastpath->lease_untold ? tell_lease(fastpath, err) : r;
}

static void say(struct mark_fastpath *fastpath, int r, const struct err *err)
{
    char text[sizeof(err->text) + 64] = "";
    if (fastpath->fails == (r < 0))
        return;
    fastpath->fails = r < 0;
    if (fastpath->fails)
        snprintf(text, sizeof(text), "connections beyond the kernel have no new marks: %s",
                 err->text);
    else
        log_note("the data plane at %s is here again", fastpath->config.path);
    if (fastpath->fails)
        log_warning(LOG_FAULT_PEER, "%s", text);
    fastpath->config.on_notice(fastpath->config.user, text);
}

/* A failed one is sent when the data plane is back; a refusal for any reason but space is our
 * fault, and is logged again with the next change. */
static int on_tell(sd_event_source *source, uint64_t usec, void *user)
{
    struct mark_fastpath *fastpath = user;
    struct err err = {0};
    int r = tell(fastpath, &err);
    (void)source, (void)usec;
    if (r != -EAGAIN) {
        say(fastpath, r, &err);
        return 0;
    }
    sd_event_source_set_time_relative(fastpath->tell, AGAIN_US);
    sd_event_source_set_enabled(fastpath->tell, SD_EVENT_ONESHOT);
    return 0;
}

static int on_notice(sd_event_source *source, int fd, uint32_t events, void *user)
{
    struct mark_fastpath *fastpath = user;
    struct err err = {0};
    (void)source, (void)fd, (void)events;
    int r = fastpath_link_notice(fastpath->link, &err);
    if (r < 0)
        say(fastpath, r, &err);
    else if (r > 0)
        touch_all(fastpath);
    return 0;
}

static struct fastpath_task *find_task(struct mark_fastpath *fastpath, uint64_t cgroup)
{
    struct fastpath_task key = {.levels.cgroup = cgroup};
    return RB_FIND(fastpath_tasks, &fastpath->tasks, &key);
}

void mark_fastpath_levels(struct mark_fastpath *fastpath, const struct mark_task_levels *levels)
{
    struct fastpath_task *task = fastpath ? find_task(fastpath, levels->cgroup) : NULL;
    struct connection *connection;
    if (!fastpath)
        return;
    if (!task) {
        task = calloc(1, sizeof(*task));
        if (!task)
            return;
        task->levels = *levels;
        LIST_INIT(&task->connections);
        RB_INSERT(fastpath_tasks, &fastpath->tasks, task);
        return;
    }
    task->levels = *levels;
    LIST_FOREACH (connection, &task->connections, of_task)
        touch(fastpath, connection);
}

static struct connection *add(struct mark_fastpath *fastpath, const struct mark_flow_key *key)
{
    struct connection *connection =
        fastpath->connections_n < MARK_FASTPATH_CONNECTIONS ? calloc(1, sizeof(*connection)) : NULL;
    if (!connection) {
        log_warning(LOG_FAULT_PEER, "tasks say more than %d connections: the last is not marked",
                    MARK_FASTPATH_CONNECTIONS);
        return NULL;
    }
    connection->key = *key;
    RB_INSERT(fastpath_connections, &fastpath->connections, connection);
    fastpath->connections_n++;
    return connection;
}

void mark_fastpath_connection(struct mark_fastpath *fastpath, uint64_t cgroup,
                              const struct mark_flow_key *key)
{
    struct fastpath_task *task = fastpath ? find_task(fastpath, cgroup) : NULL;
    struct connection like = {.key = *key};
    if (!task)
        return;
    struct connection *connection = RB_FIND(fastpath_connections, &fastpath->connections, &like);
    if (!connection)
        connection = add(fastpath, key);
    if (!connection || connection->task == task)
        return;
    if (connection->task)
        LIST_REMOVE(connection, of_task);
    connection->task = task;
    LIST_INSERT_HEAD(&task->connections, connection, of_task);
    touch(fastpath, connection);
}

void mark_fastpath_end(struct mark_fastpath *fastpath, uint64_t cgroup)
{
    struct fastpath_task *task = fastpath ? find_task(fastpath, cgroup) : NULL;
    struct connection *connection;
    if (!task)
        return;
    while ((connection = LIST_FIRST(&task->connections))) {
        LIST_REMOVE(connection, of_task);
        connection->task = NULL;
        touch(fastpath, connection);
    }
    RB_REMOVE(fastpath_tasks, &fastpath->tasks, task);
    free(task);
}

void mark_fastpath_mode(struct mark_fastpath *fastpath, uint32_t mode)
{
    if (!fastpath)
        return;
    fastpath->mode = mode;
    fastpath->mode_untold = true;
    wake(fastpath);
}

void mark_fastpath_renew(struct mark_fastpath *fastpath, uint64_t lease_ns)
{
    if (!fastpath)
        return;
    fastpath->lease_until_ns = lease_ns ? now_ns(CLOCK_BOOTTIME) + lease_ns : 0;
    fastpath->lease_untold = true;
    wake(fastpath);
}

int mark_fastpath_open(const struct mark_fastpath_config *config, sd_event *event,
                       struct mark_fastpath **ret_fastpath, struct err *err)
{
    const char *path = config->path;
    struct mark_fastpath *fastpath = calloc(1, sizeof(*fastpath));
    if (!fastpath)
        return err_sys(err, ENOMEM, "%s", path);
    fastpath->config = *config;
    fastpath->mode = config->mode;
    TAILQ_INIT(&fastpath->untold);
    int r = fastpath_link_create(path, MARK_FASTPATH_WAIT_MS, &fastpath->link, err);
    if (r == 0) {
        r = sd_event_add_io(event, &fastpath->notice, fastpath_link_fd(fastpath->link), EPOLLIN,
                            on_notice, fastpath);
        if (r >= 0)
            r = sd_event_add_time(event, &fastpath->tell, CLOCK_MONOTONIC, 0, 0, on_tell, fastpath);
        r = r < 0 ? err_sys(err, -r, "watching %s", path) : 0;
    }
    if (r < 0) {
        mark_fastpath_close(fastpath);
        return r;
    }
    sd_event_source_set_enabled(fastpath->tell, SD_EVENT_OFF);
    *ret_fastpath = fastpath;
    return 0;
}

void mark_fastpath_close(struct mark_fastpath *fastpath)
{
    struct connection *connection, *next;
    struct fastpath_task *task, *next_task;
    if (!fastpath)
        return;
    RB_FOREACH_SAFE (connection, fastpath_connections, &fastpath->connections, next)
        forget(fastpath, connection);
    RB_FOREACH_SAFE (task, fastpath_tasks, &fastpath->tasks, next_task) {
        RB_REMOVE(fastpath_tasks, &fastpath->tasks, task);
        free(task);
    }
    sd_event_source_disable_unref(fastpath->notice);
    sd_event_source_disable_unref(fastpath->tell);
    fastpath_link_close(fastpath->link);
    free(fastpath);
}
