/* A duopoly-fastpath of the test's own, between two devices that are none (net_null), with its
 * control socket in a folder of its own. It ends with the process that began it. */
#pragma once

#include "hostagent/fastpath_link.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct fastpath_world {
    char program[300], folder[64], config[128], socket[108];
    pid_t pid;
};

/* It is one folder above the test, where it was built at all. */
static inline bool fastpath_world_possible(struct fastpath_world *world)
{
    char path[256];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    assert_true(n > 0);
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    snprintf(world->program, sizeof(world->program), "%s/../duopoly-fastpath", path);
    return access(world->program, X_OK) == 0;
}

static inline void fastpath_world_start(struct fastpath_world *world)
{
    const pid_t parent = getpid();
    world->pid = fork();
    if (world->pid != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setenv("RUNTIME_DIRECTORY", world->folder, 1); /* of DPDK */
    dup2(open("/dev/null", O_WRONLY), 2);
    execl(world->program, world->program, "--config", world->config, NULL);
    _exit(1);
}

/* Whether it answers within a minute: it listens before it has its devices. */
static inline bool fastpath_world_answers(const struct fastpath_world *world)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    const duopoly_Envelope *answer;
    struct fastpath_link *link = NULL;
    for (int i = 0; i < 12000 && fastpath_link_open(world->socket, 60000, &link, NULL) < 0; i++)
        nanosleep(&moment, NULL);
    if (!link)
        return false;
    fastpath_link_request(link, duopoly_Envelope_get_dataplane_ports_tag);
    const int r = fastpath_link_call(link, duopoly_Envelope_dataplane_ports_tag, &answer, NULL);
    fastpath_link_close(link);
    return r == 0;
}

static inline bool fastpath_world_begin(struct fastpath_world *world, const char *folder)
{
    snprintf(world->folder, sizeof(world->folder), "%s", folder);
    snprintf(world->config, sizeof(world->config), "%s/fastpath.yaml", folder);
    snprintf(world->socket, sizeof(world->socket), "%s/fastpath.sock", folder);
    FILE *file = fopen(world->config, "w");
    assert_non_null(file);
    fprintf(file,
            "socket: %s\nhost: {device: \"net_null0,no-rx=1\"}\nnetwork: {device: "
            "\"net_null1,no-rx=1\"}\n"
            "queues: {leaf_packets: 200}\nmarks: {by: kernel}\n",
            world->socket);
    assert_int_equal(fclose(file), 0);
    fastpath_world_start(world);
    return fastpath_world_answers(world);
}

static inline void fastpath_world_end(struct fastpath_world *world)
{
    kill(world->pid, SIGKILL);
    waitpid(world->pid, NULL, 0);
    char flows[128];
    snprintf(flows, sizeof(flows), "%s.flows", world->socket);
    unlink(flows);
    unlink(world->config);
    unlink(world->socket);
}
