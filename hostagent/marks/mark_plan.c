#include "hostagent/marks/mark_plan.h"

#include "hostagent/files.h"
#include "hostagent/marks/hook.h"
#include "hostagent/marks/mark_load.h"
#include "hostagent/marks/mark_members.h"
#include "hostagent/marks/mark_mount.h"
#include "hostagent/marks/mark_programs.h"
#include "hostagent/marks/same_program.h"

#include "hostagent/marks/mark.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <unistd.h>

#define HUNG 64 /* programs of others on one cgroup */

static bool hangs_on(const char *cgroup, uint32_t program)
{
    uint32_t ids[HUNG], n = HUNG;
    int fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool found = false;
    if (fd < 0)
        return false;
    if (bpf_prog_query(fd, BPF_CGROUP_INET_INGRESS, 0, NULL, ids, &n) == 0)
        for (uint32_t i = 0; i < n; i++)
            found |= ids[i] == program;
    close(fd);
    return found;
}

static int plan_cgroup(const struct mark_config *config, int fd, struct changes *changes,
                       struct err *err)
{
    char pin[FILES_PATH];
    files_path(pin, MARK_PIN, config->bpffs, "count");
    int there = bpf_obj_get(pin), r = 0;
    uint32_t id = there < 0 ? 0 : program_id(there);
    if (there >= 0)
        close(there);
    if (!id || !same_program(fd, id))
        r = changes_tell(changes, id ? CHANGE_CHANGE : CHANGE_ADD, "program", pin, err,
                         "count, pinned");
    if (r < 0 || (id && same_program(fd, id) && hangs_on(config->cgroup, id)))
        return r;
    return changes_tell(changes, id ? CHANGE_CHANGE : CHANGE_ADD, "hook", config->cgroup, err,
                        "the program count on what its sockets receive");
}

/* Which class a packet gets, in a map that stands. */
static int plan_reach(const struct mark_config *config, const struct mark_bpf *skel,
                      struct changes *changes, struct err *err)
{
    char pin[FILES_PATH];
    uint32_t which = MARK_CONTROL_CLASSES;
    uint64_t classes = 0, wanted = config->reach == MARK_REACH_QUEUES;
    files_path(pin, MARK_PIN, config->bpffs, "control");
    if (access(pin, F_OK) < 0)
        return 0;
    if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.control), &which, &classes) < 0)
        return err_sys(err, errno, "reading the pinned map %s", pin);
    return classes == wanted
               ? 0
               : changes_tell(changes, CHANGE_CHANGE, "map", pin, err,
                              "packets %s their queue by class", wanted ? "find" : "do not find");
}

static int plan_ports(const struct mark_config *config, const struct mark_bpf *skel,
                      struct changes *changes, struct err *err)
{
    const struct hook_folders in = mark_folders(config);
    int egress, ingress, r = 0;
    for (uint32_t i = 0; r >= 0 && i < mark_ports(config); i++) {
        const char *port = mark_port(config, i);
        mark_programs_of(skel, config, port, &egress, &ingress);
        r = config->reach == MARK_REACH_NOTHING
                ? hook_plan_detach(&in, port, changes, err)
                : hook_plan(&in, port, ingress, egress, changes, err);
    }
    return r;
}

static int plan_members(const struct mark_config *config, const struct mark_bpf *skel,
                        struct changes *changes, struct err *err)
{
    char pin[FILES_PATH];
    files_path(pin, MARK_PIN, config->bpffs, "members");
    return access(pin, F_OK) < 0
               ? 0
               : mark_members_plan(bpf_map__fd(skel->maps.members), config, pin, changes, err);
}

int mark_plan_bpf(const struct mark_config *config, struct changes *changes, struct err *err)
{
    struct mark_load load = {.before = -1};
    changes_need(changes, CAP_NET_ADMIN, "CAP_NET_ADMIN", "put filters on ports");
    int r = mark_mount_plan(config, changes, err);
    if (r >= 0)
        r = mark_load_plan(config, changes, &load, err);
    if (r < 0)
        return r;
    r = plan_members(config, load.skel, changes, err);
    if (r >= 0)
        r = plan_reach(config, load.skel, changes, err);
    if (r >= 0 && !config->is_switch)
        r = plan_cgroup(config, bpf_program__fd(load.skel->progs.count), changes, err);
    if (r >= 0)
        r = plan_ports(config, load.skel, changes, err);
    mark_load_close(&load);
    return r;
}

static int plan_hook_gone(const struct mark_config *config, struct changes *changes,
                          struct err *err)
{
    char pin[FILES_PATH];
    files_path(pin, MARK_PIN, config->bpffs, "count");
    int there = bpf_obj_get(pin);
    uint32_t id = there < 0 ? 0 : program_id(there);
    if (there >= 0)
        close(there);
    return !id || !hangs_on(config->cgroup, id)
               ? 0
               : changes_tell(changes, CHANGE_REMOVE, "hook", config->cgroup, err,
                              "the program count on what its sockets receive");
}

int mark_plan_bpf_remove(const struct mark_config *config, struct changes *changes, struct err *err)
{
    const struct hook_folders in = mark_folders(config);
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < mark_ports(config); i++)
        r = hook_plan_detach(&in, mark_port(config, i), changes, err);
    if (r >= 0 && mark_mount_stands(config) && !config->is_switch)
        r = plan_hook_gone(config, changes, err);
    if (r >= 0)
        r = mark_load_plan_unpin(config, changes, err);
    return r < 0 ? r : mark_unmount_plan(config, changes, err);
}
