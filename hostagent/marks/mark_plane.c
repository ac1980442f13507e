#include "hostagent/marks/mark_plane.h"

#include "hostagent/plane_link.h"
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
    struct plane_task *task; /* NULL: to be told that it is nobody's, and then forgotten */
};

struct plane_task {
    RB_ENTRY(plane_task) by_cgroup;
    struct mark_task_levels levels;
    LIST_HEAD(, connection) connections;
};

RB_HEAD(plane_connections, connection);
RB_HEAD(plane_tasks, plane_task);

struct mark_plane {
    struct mark_plane_config config;
    struct plane_link *link;
    sd_event_source *notice, *tell;
    struct plane_connections connections;
    struct plane_tasks tasks;
    TAILQ_HEAD(, connection) untold;
    uint32_t connections_n, mode;
    uint64_t lease_until_ns;
    bool mode_untold, lease_untold;
    bool fails; /* that was said */
};

static int compare_keys(struct connection *a, struct connection *b)
{
    return memcmp(&a->key, &b->key, sizeof(a->key));
}

static int compare_tasks(struct plane_task *a, struct plane_task *b)
{
    return (a->levels.cgroup > b->levels.cgroup) - (a->levels.cgroup < b->levels.cgroup);
}

RB_PROTOTYPE(plane_connections, connection, by_key, compare_keys)
RB_GENERATE(plane_connections, connection, by_key, compare_keys)
RB_PROTOTYPE(plane_tasks, plane_task, by_cgroup, compare_tasks)
RB_GENERATE(plane_tasks, plane_task, by_cgroup, compare_tasks)

/* ---- what is to be told ---------------------------------------------------------------------- */

static void wake(struct mark_plane *plane)
{
    sd_event_source_set_time(plane->tell, 0);
    sd_event_source_set_enabled(plane->tell, SD_EVENT_ONESHOT);
}

static void touch(struct mark_plane *plane, struct connection *connection)
{
    if (!connection->is_untold)
        TAILQ_INSERT_TAIL(&plane->untold, connection, untold);
    connection->is_untold = true;
    wake(plane);
}

static void touch_all(struct mark_plane *plane)
{
    struct connection *connection;
    RB_FOREACH (connection, plane_connections, &plane->connections)
        touch(plane, connection);
    plane->mode_untold = plane->lease_untold = true;
    wake(plane);
}

static void forget(struct mark_plane *plane, struct connection *connection)
{
    RB_REMOVE(plane_connections, &plane->connections, connection);
    assert(plane->connections_n > 0);
    plane->connections_n--;
    free(connection);
}

static void told(struct mark_plane *plane, struct connection *connection)
{
    TAILQ_REMOVE(&plane->untold, connection, untold);
    connection->is_untold = false;
    if (!connection->task)
        forget(plane, connection);
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

static int call(struct mark_plane *plane, struct err *err)
{
    const duopoly_Envelope *answer;
    return plane_link_call(plane->link, duopoly_Envelope_accepted_tag, &answer, err);
}

/* −EAGAIN: it has no room for so many just now. */
static int tell_batch(struct mark_plane *plane, struct err *err)
{
    duopoly_SetFlows *message =
        &plane_link_request(plane->link, duopoly_Envelope_set_flows_tag)->body.set_flows;
    struct connection *connection;
    TAILQ_FOREACH (connection, &plane->untold, untold) {
        if (message->flows_count == BATCH)
            break;
        write_flow(connection, &message->flows[message->flows_count++]);
    }
    const pb_size_t n = message->flows_count;
    int r = call(plane, err);
    if (r == -EREMOTEIO && plane_link_refusal(plane->link) == duopoly_Reason_REASON_LIMIT)
        return -EAGAIN;
    for (pb_size_t i = 0; i < n && r == 0; i++)
        told(plane, TAILQ_FIRST(&plane->untold));
    return r;
}

static int tell_mode(struct mark_plane *plane, struct err *err)
{
    plane_link_request(plane->link, duopoly_Envelope_mode_tag)->body.mode.mode = plane->mode;
    int r = call(plane, err);
    plane->mode_untold = r < 0;
    return r;
}

static int tell_lease(struct mark_plane *plane, struct err *err)
{
    const uint64_t now = now_ns(CLOCK_BOOTTIME), until = plane->lease_until_ns;
    plane_link_request(plane->link, duopoly_Envelope_lease_tag)->body.lease.lease_ms =
        until > now ? (uint32_t)((until - now) / NS_PER_MS) : 0;
    int r = call(plane, err);
    plane->lease_untold = r < 0;
    return r;
}

static int tell(struct mark_plane *plane, struct err *err)
{
    int r = plane->mode_untold ? tell_mode(plane, err) : 0;
    while (r == 0 && !TAILQ_EMPTY(&plane->untold))
        r = tell_batch(plane, err);
    return r == 0 && plane->lease_untold ? tell_lease(plane, err) : r;
}

static void say(struct mark_plane *plane, int r, const struct err *err)
{
    char text[sizeof(err->text) + 64] = "";
    if (plane->fails == (r < 0))
        return;
    plane->fails = r < 0;
    if (plane->fails)
        snprintf(text, sizeof(text), "connections beyond the kernel have no new marks: %s",
                 err->text);
    else
        log_note("the data plane at %s is here again", plane->config.path);
    if (plane->fails)
        log_warning(LOG_FAULT_PEER, "%s", text);
    plane->config.on_notice(plane->config.user, text);
}

/* What fails is sent when the data plane is back; a refusal for any reason but space is our fault,
 * and is logged again with the next change. */
static int on_tell(sd_event_source *source, uint64_t usec, void *user)
{
    struct mark_plane *plane = user;
    struct err err = {0};
    int r = tell(plane, &err);
    (void)source, (void)usec;
    if (r != -EAGAIN) {
        say(plane, r, &err);
        return 0;
    }
    sd_event_source_set_time_relative(plane->tell, AGAIN_US);
    sd_event_source_set_enabled(plane->tell, SD_EVENT_ONESHOT);
    return 0;
}

static int on_notice(sd_event_source *source, int fd, uint32_t events, void *user)
{
    struct mark_plane *plane = user;
    struct err err = {0};
    (void)source, (void)fd, (void)events;
    int r = plane_link_notice(plane->link, &err);
    if (r < 0)
        say(plane, r, &err);
    else if (r > 0)
        touch_all(plane);
    return 0;
}

/* ---- what is known --------------------------------------------------------------------------- */

static struct plane_task *find_task(struct mark_plane *plane, uint64_t cgroup)
{
    struct plane_task key = {.levels.cgroup = cgroup};
    return RB_FIND(plane_tasks, &plane->tasks, &key);
}

void mark_plane_levels(struct mark_plane *plane, const struct mark_task_levels *levels)
{
    struct plane_task *task = plane ? find_task(plane, levels->cgroup) : NULL;
    struct connection *connection;
    if (!plane)
        return;
    if (!task) {
        task = calloc(1, sizeof(*task));
        if (!task)
            return;
        task->levels = *levels;
        LIST_INIT(&task->connections);
        RB_INSERT(plane_tasks, &plane->tasks, task);
        return;
    }
    task->levels = *levels;
    LIST_FOREACH (connection, &task->connections, of_task)
        touch(plane, connection);
}

static struct connection *add(struct mark_plane *plane, const struct mark_flow_key *key)
{
    struct connection *connection =
        plane->connections_n < MARK_PLANE_CONNECTIONS ? calloc(1, sizeof(*connection)) : NULL;
    if (!connection) {
        log_warning(LOG_FAULT_PEER, "tasks say more than %d connections: the last is not marked",
                    MARK_PLANE_CONNECTIONS);
        return NULL;
    }
    connection->key = *key;
    RB_INSERT(plane_connections, &plane->connections, connection);
    plane->connections_n++;
    return connection;
}

void mark_plane_connection(struct mark_plane *plane, uint64_t cgroup,
                           const struct mark_flow_key *key)
{
    struct plane_task *task = plane ? find_task(plane, cgroup) : NULL;
    struct connection like = {.key = *key};
    if (!task)
        return;
    struct connection *connection = RB_FIND(plane_connections, &plane->connections, &like);
    if (!connection)
        connection = add(plane, key);
    if (!connection || connection->task == task)
        return;
    if (connection->task)
        LIST_REMOVE(connection, of_task);
    connection->task = task;
    LIST_INSERT_HEAD(&task->connections, connection, of_task);
    touch(plane, connection);
}

void mark_plane_end(struct mark_plane *plane, uint64_t cgroup)
{
    struct plane_task *task = plane ? find_task(plane, cgroup) : NULL;
    struct connection *connection;
    if (!task)
        return;
    while ((connection = LIST_FIRST(&task->connections))) {
        LIST_REMOVE(connection, of_task);
        connection->task = NULL;
        touch(plane, connection);
    }
    RB_REMOVE(plane_tasks, &plane->tasks, task);
    free(task);
}

void mark_plane_mode(struct mark_plane *plane, uint32_t mode)
{
    if (!plane)
        return;
    plane->mode = mode;
    plane->mode_untold = true;
    wake(plane);
}

void mark_plane_renew(struct mark_plane *plane, uint64_t lease_ns)
{
    if (!plane)
        return;
    plane->lease_until_ns = lease_ns ? now_ns(CLOCK_BOOTTIME) + lease_ns : 0;
    plane->lease_untold = true;
    wake(plane);
}

/* ---- begin and end --------------------------------------------------------------------------- */

int mark_plane_open(const struct mark_plane_config *config, sd_event *event,
                    struct mark_plane **ret_plane, struct err *err)
{
    const char *path = config->path;
    struct mark_plane *plane = calloc(1, sizeof(*plane));
    if (!plane)
        return err_sys(err, ENOMEM, "%s", path);
    plane->config = *config;
    plane->mode = config->mode;
    TAILQ_INIT(&plane->untold);
    int r = plane_link_create(path, MARK_PLANE_WAIT_MS, &plane->link, err);
    if (r == 0) {
        r = sd_event_add_io(event, &plane->notice, plane_link_fd(plane->link), EPOLLIN, on_notice,
                            plane);
        if (r >= 0)
            r = sd_event_add_time(event, &plane->tell, CLOCK_MONOTONIC, 0, 0, on_tell, plane);
        r = r < 0 ? err_sys(err, -r, "watching %s", path) : 0;
    }
    if (r < 0) {
        mark_plane_close(plane);
        return r;
    }
    sd_event_source_set_enabled(plane->tell, SD_EVENT_OFF);
    *ret_plane = plane;
    return 0;
}

void mark_plane_close(struct mark_plane *plane)
{
    struct connection *connection, *next;
    struct plane_task *task, *next_task;
    if (!plane)
        return;
    RB_FOREACH_SAFE (connection, plane_connections, &plane->connections, next)
        forget(plane, connection);
    RB_FOREACH_SAFE (task, plane_tasks, &plane->tasks, next_task) {
        RB_REMOVE(plane_tasks, &plane->tasks, task);
        free(task);
    }
    sd_event_source_disable_unref(plane->notice);
    sd_event_source_disable_unref(plane->tell);
    plane_link_close(plane->link);
    free(plane);
}
