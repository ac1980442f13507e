/* A duopoly-fastpath of the test's own, between two devices that are none (net_null), with its control
 * socket in a folder of its own. It ends with the process that began it. */
#pragma once

#include "tests/unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
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

/* Whether it answers within 20 s. */
static inline bool fastpath_world_answers(const struct fastpath_world *world)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, world->socket);
    for (int i = 0; i < 4000; i++) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        const bool answers = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
        close(fd);
        if (answers)
            return true;
        nanosleep(&moment, NULL);
    }
    return false;
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
    unlink(world->config);
    unlink(world->socket);
}
