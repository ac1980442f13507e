#include "hostagent/marks/receivers_bpf.h"

#include "hostagent/files.h"

#include "hostagent/marks/receivers.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct receivers {
    struct receivers_bpf *skel;
    int flows; /* the marking programs' map */
};

int receivers_open(const char *bpffs, struct receivers **ret_receivers, struct err *err)
{
    char pin[FILES_PATH];
    struct receivers *receivers = calloc(1, sizeof(*receivers));
    if (!receivers)
        return err_sys(err, ENOMEM, "finding receivers");
    files_path(pin, MARK_PIN, bpffs, "flows");
    int r = 0;
    receivers->flows = bpf_obj_get(pin);
    if (receivers->flows < 0)
        r = err_sys(err, errno, "%s", pin);
    receivers->skel = r < 0 ? NULL : receivers_bpf__open();
    if (r >= 0 && !receivers->skel)
        r = err_sys(err, errno, "the program that lists sockets");
    if (r >= 0) {
        r = bpf_map__set_max_entries(receivers->skel->maps.wanted, MARK_TASKS);
        r = r < 0 ? r : receivers_bpf__load(receivers->skel);
        r = r < 0 ? r : receivers_bpf__attach(receivers->skel);
        if (r < 0)
            err_sys(err, -r, "loading the program that lists sockets (it needs a kernel with BTF)");
    }
    if (r < 0) {
        receivers_close(receivers);
        return r;
    }
    *ret_receivers = receivers;
    return 0;
}

void receivers_close(struct receivers *receivers)
{
    if (!receivers)
        return;
    receivers_bpf__destroy(receivers->skel);
    if (receivers->flows >= 0)
        close(receivers->flows);
    free(receivers);
}

static int want(struct receivers *receivers, const struct promote_task *tasks, uint32_t tasks_n)
{
    int wanted = bpf_map__fd(receivers->skel->maps.wanted);
    for (uint32_t i = 0; i < tasks_n; i++)
        if (bpf_map_update_elem(wanted, &tasks[i].cgroup, &tasks[i].level, BPF_ANY) < 0)
            return -errno;
    return 0;
}

static void want_nothing(struct receivers *receivers, const struct promote_task *tasks,
                         uint32_t tasks_n)
{
    int wanted = bpf_map__fd(receivers->skel->maps.wanted);
    for (uint32_t i = 0; i < tasks_n; i++)
        bpf_map_delete_elem(wanted, &tasks[i].cgroup);
}

/* Opened here, and not answered under its new level yet. Levels of its own that a connection has
 * been given go before the task's. */
static bool is_sought(const struct receivers *receivers, const struct receiver *receiver)
{
    struct mark_flow_key key = {.local_port = receiver->local_port,
                                .peer_port = receiver->peer_port};
    struct mark_flow flow;
    memcpy(key.local, receiver->local, sizeof(key.local));
    memcpy(key.peer, receiver->peer, sizeof(key.peer));
    return bpf_map_lookup_elem(receivers->flows, &key, &flow) == 0 &&
           flow.role == MARK_ROLE_OPENER && flow.owner == 0 &&
           !(flow.followed == receiver->level && flow.answered);
}

/* Whole records only, as the kernel hands them out in pieces. Returns how many, 0 at the end. */
static ssize_t read_some(int pass, struct receiver *some, size_t most)
{
    size_t got = 0, bytes = most * sizeof(*some);
    while (got < bytes) {
        ssize_t n = read(pass, (char *)some + got, bytes - got);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
        if (n == 0)
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)(got / sizeof(*some));
}

static int read_all(const struct receivers *receivers, int pass, struct receiver *found,
                    uint32_t most, uint32_t *n, uint32_t *more)
{
    struct receiver some[64];
    ssize_t got;
    while ((got = read_some(pass, some, sizeof(some) / sizeof(some[0]))) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (!is_sought(receivers, &some[i]))
                continue;
            if (*n < most)
                found[(*n)++] = some[i];
            else
                ++*more;
        }
    }
    return (int)got;
}

int receivers_find(struct receivers *receivers, const struct promote_task *tasks, uint32_t tasks_n,
                   struct receiver *ret_found, uint32_t most, uint32_t *ret_n, uint32_t *ret_more,
                   struct err *err)
{
    uint32_t n = 0, more = 0;
    int r = want(receivers, tasks, tasks_n);
    int pass = r < 0 ? -1 : bpf_iter_create(bpf_link__fd(receivers->skel->links.list));
    if (r >= 0)
        r = pass < 0 ? -errno : read_all(receivers, pass, ret_found, most, &n, &more);
    if (pass >= 0)
        close(pass);
    want_nothing(receivers, tasks, tasks_n);
    if (r < 0)
        return err_sys(err, -r, "listing sockets");
    *ret_n = n;
    *ret_more = more;
    return 0;
}
