#include "hostagent/queues/queues.h"

#include "hostagent/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct queues {
    struct queues_config config;
    struct qdisc *qdisc;
    char state_dir[FILES_PATH];
    uint32_t n;
    char ports[][PORT_NAME];
};

int queues_open(const struct queues_config *config, const char (*ports)[PORT_NAME], uint32_t n,
                struct queues **ret_queues, struct err *err)
{
    if (n > QUEUES_PORTS)
        return err_set(err, E2BIG, "%u ports: an agent manages at most %d", n, QUEUES_PORTS);
    struct queues *queues = calloc(1, sizeof(*queues) + n * sizeof(queues->ports[0]));
    if (!queues)
        return err_sys(err, ENOMEM, "queues");
    queues->config = *config;
    queues->n = n;
    snprintf(queues->state_dir, sizeof(queues->state_dir), "%s", config->state_dir);
    memcpy(queues->ports, ports, n * sizeof(queues->ports[0]));
    int r = config->driver->open(&queues->qdisc, err);
    if (r < 0) {
        free(queues);
        return r;
    }
    *ret_queues = queues;
    return 0;
}

void queues_close(struct queues *queues)
{
    if (!queues)
        return;
    queues->config.driver->close(queues->qdisc);
    free(queues);
}

static void record_path(const struct queues *queues, const char *port, char path[FILES_PATH])
{
    files_path(path, "%s/queues-%s", queues->state_dir, port);
}

/* What is somebody's stays, unless the configuration gives it away. */
static int check_root(const struct queues *queues, const char *port, const struct qdisc_plan *plan,
                      struct err *err)
{
    if (plan->root != QDISC_FOREIGN || queues->config.replace)
        return 0;
    return err_set(
        err, EBUSY,
        "%s already has a root qdisc of its own (%s): run with --replace to put ours in its "
        "place until we leave, or name another port",
        port, plan->kind);
}

static int look_at(struct queues *queues, const char *port, struct qdisc_plan **ret_plan,
                   struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    struct port_facts facts;
    struct port want;
    int r = driver->facts(queues->qdisc, port, &facts, err);
    if (r >= 0)
        r = port_want(&queues->config.wish, &facts, &want, err);
    return r < 0 ? r : driver->plan(queues->qdisc, port, &want, ret_plan, err);
}

int queues_compare(struct queues *queues, char *what, size_t size, struct err *err)
{
    for (uint32_t i = 0; i < queues->n; i++) {
        struct qdisc_plan *plan = NULL;
        int r = look_at(queues, queues->ports[i], &plan, err);
        if (r < 0)
            return r;
        bool right = plan->root == QDISC_OURS && plan->steps == 0;
        if (!right && plan->root == QDISC_OURS)
            snprintf(what, size, "%s: somebody changed our queues", queues->ports[i]);
        else if (!right)
            snprintf(what, size, "%s: somebody removed our queues%s%s", queues->ports[i],
                     plan->kind[0] ? " and put there: " : "", plan->kind);
        free(plan);
        if (!right)
            return 1;
    }
    return 0;
}

int queues_repair(struct queues *queues, struct err *err)
{
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < queues->n; i++) {
        struct qdisc_plan *plan = NULL;
        r = look_at(queues, queues->ports[i], &plan, err);
        if (r >= 0)
            r = queues->config.driver->apply(queues->qdisc, queues->ports[i], plan, err);
        free(plan);
    }
    return r;
}

/* What one port needs: its plan, after what stands there is on disk. */
static int plan_port(struct queues *queues, const char *port, struct qdisc_plan **ret_plan,
                     struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    int r = look_at(queues, port, ret_plan, err);
    if (r >= 0)
        r = check_root(queues, port, *ret_plan, err);
    if (r < 0)
        return r;

    char path[FILES_PATH];
    struct qdisc_record record;
    record_path(queues, port, path);
    if ((*ret_plan)->root == QDISC_OURS && access(path, F_OK) == 0)
        return 0;
    r = driver->record(queues->qdisc, port, &record, err);
    return r < 0 ? r : files_write(path, record.text, strlen(record.text), 0600, err);
}

static int restore_port(struct queues *queues, const char *port, struct err *err)
{
    char path[FILES_PATH];
    struct qdisc_record record = {.text = ""};
    record_path(queues, port, path);
    int r = files_read(path, record.text, sizeof(record.text), NULL, err);
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return r;
    r = queues->config.driver->restore(queues->qdisc, port, &record, err);
    if (r < 0 && r != -ENODEV)
        return r;
    unlink(path);
    return 0;
}

int queues_restore(struct queues *queues, struct err *err)
{
    int r = 0;
    for (uint32_t i = 0; i < queues->n; i++) {
        int other = restore_port(queues, queues->ports[i], r < 0 ? NULL : err);
        r = r < 0 ? r : other;
    }
    return r;
}

int queues_apply(struct queues *queues, struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    struct qdisc_plan *plans[QUEUES_PORTS] = {0};
    int r = 0;
    bool changed = false;
    for (uint32_t i = 0; r >= 0 && i < queues->n; i++)
        r = plan_port(queues, queues->ports[i], &plans[i], err);
    for (uint32_t i = 0; r >= 0 && i < queues->n; i++) {
        changed = true;
        r = driver->apply(queues->qdisc, queues->ports[i], plans[i], err);
    }
    for (uint32_t i = 0; i < queues->n; i++)
        free(plans[i]);
    if (r < 0 && changed)
        queues_restore(queues, NULL);
    return r;
}

static void add_stats(struct qdisc_queue_stats *sum, const struct qdisc_queue_stats *more)
{
    sum->bytes += more->bytes;
    sum->packets += more->packets;
    sum->drops += more->drops;
    sum->backlog_packets += more->backlog_packets;
}

int queues_stats(struct queues *queues, struct qdisc_stats *ret_stats, struct err *err)
{
    struct qdisc_stats sum = {0};
    for (uint32_t i = 0; i < queues->n; i++) {
        struct qdisc_stats stats;
        int r = queues->config.driver->stats(queues->qdisc, queues->ports[i], &stats, err);
        if (r < 0)
            return r;
        for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++)
            add_stats(&sum.queues[traffic], &stats.queues[traffic]);
    }
    *ret_stats = sum;
    return 0;
}

int queues_facts(struct queues *queues, uint32_t port, struct port_facts *ret_facts,
                 struct err *err)
{
    return queues->config.driver->facts(queues->qdisc, queues->ports[port], ret_facts, err);
}

int queues_record(struct queues *queues, uint32_t port, struct qdisc_record *ret_record,
                  struct err *err)
{
    return queues->config.driver->record(queues->qdisc, queues->ports[port], ret_record, err);
}

int queues_plan(struct queues *queues, uint32_t port, bool again, struct qdisc_plan **ret_plan,
                struct err *err)
{
    struct qdisc_plan *plan = NULL;
    int r = look_at(queues, queues->ports[port], &plan, err);
    if (r >= 0 && !again)
        r = check_root(queues, queues->ports[port], plan, err);
    if (r < 0) {
        free(plan);
        return r;
    }
    *ret_plan = plan;
    return 0;
}
