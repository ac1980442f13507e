/* An Open vSwitch of the test's own: real ovsdb-server and ovs-vswitchd (package
 * openvswitch-switch) on a data path that is none (--enable-dummy), with their sockets in a folder
 * of its own. Its processes end with the one that began them. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OVS_SCHEMA "/usr/share/openvswitch/vswitch.ovsschema"

struct ovs_world {
    char folder[64];
    pid_t database, vswitchd;
};

static inline bool ovs_world_possible(void)
{
    return access("/usr/sbin/ovsdb-server", X_OK) == 0 &&
           access("/usr/sbin/ovs-vswitchd", X_OK) == 0 && access(OVS_SCHEMA, R_OK) == 0;
}

/* A shell's line about this world: %s of `format` are its folder first. 0 or its status. */
__attribute__((format(printf, 1, 2))) static inline int ovs_world_run(const char *format, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    return system(line);
}

/* In the folder, its words in `log`. */
static inline pid_t ovs_world_start(const struct ovs_world *world, const char *log,
                                    const char *const *argv)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    char path[128];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    snprintf(path, sizeof(path), "%s/%s", world->folder, log);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, 1);
    dup2(fd, 2);
    setenv("OVS_RUNDIR", world->folder, 1);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(1);
}

static inline void ovs_world_kill(pid_t *pid)
{
    if (*pid <= 0)
        return;
    kill(*pid, SIGKILL);
    waitpid(*pid, NULL, 0);
    *pid = 0;
}

/* Whether somebody takes connections there within 10 s. */
static inline bool ovs_world_answers(const struct ovs_world *world, const char *name)
{
    const struct timespec moment = {.tv_nsec = 2000000};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", world->folder, name);
    for (int i = 0; i < 5000; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool there = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
        close(fd);
        if (there)
            return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

static inline void ovs_world_start_database(struct ovs_world *world)
{
    char file[128], remote[128], control[128];
    snprintf(file, sizeof(file), "%s/conf.db", world->folder);
    snprintf(remote, sizeof(remote), "--remote=punix:%s/db.sock", world->folder);
    snprintf(control, sizeof(control), "--unixctl=%s/database.ctl", world->folder);
    const char *const argv[] = {"/usr/sbin/ovsdb-server", file, remote, control, NULL};
    world->database = ovs_world_start(world, "database.log", argv);
}

static inline void ovs_world_start_vswitchd(struct ovs_world *world)
{
    char remote[128], control[128];
    snprintf(remote, sizeof(remote), "unix:%s/db.sock", world->folder);
    snprintf(control, sizeof(control), "--unixctl=%s/vswitchd.ctl", world->folder);
    const char *const argv[] = {"/usr/sbin/ovs-vswitchd", remote,  "--enable-dummy=override",
                                "--disable-system",       control, NULL};
    world->vswitchd = ovs_world_start(world, "vswitchd.log", argv);
}

/* A bridge br0 with ports p0 to p(ports−1). */
static inline bool ovs_world_begin(struct ovs_world *world, const char *where, int ports)
{
    *world = (struct ovs_world){0};
    snprintf(world->folder, sizeof(world->folder), "%s", where);
    if (ovs_world_run("ovsdb-tool create %s/conf.db %s", where, OVS_SCHEMA) != 0)
        return false;
    ovs_world_start_database(world);
    if (!ovs_world_answers(world, "db.sock") ||
        ovs_world_run("ovs-vsctl --db=unix:%s/db.sock --no-wait init -- add-br br0 -- set bridge "
                      "br0 datapath_type=dummy",
                      where) != 0)
        return false;
    ovs_world_start_vswitchd(world);
    if (!ovs_world_answers(world, "br0.mgmt"))
        return false;
    return ports == 0 ||
           ovs_world_run("ovs-vsctl --db=unix:%s/db.sock $(for i in $(seq 0 %d); do echo -- "
                         "add-port br0 p$i -- set interface p$i type=dummy; done)",
                         where, ports - 1) == 0;
}

static inline void ovs_world_end(struct ovs_world *world)
{
    ovs_world_kill(&world->vswitchd);
    ovs_world_kill(&world->database);
}
