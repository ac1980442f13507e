#include "hostagent/marks/mark_load.h"

#include "hostagent/files.h"
#include "lib/now.h"

#include "hostagent/marks/mark.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH 512

enum map { TASKS, RECEIVED, CONTROL, COUNTERS, MEMBERS, FLOWS, MAPS };
static const char *const names[MAPS] = {"tasks",    "received", "control",
                                        "counters", "members",  "flows"};

/* The pinned maps: descriptors, −1 for none; `fits`: ours can be the same. */
struct stock {
    int fds[MAPS], before;
    bool fits[MAPS];
};

static void pin_path(const struct mark_config *config, const char *name, char path[FILES_PATH])
{
    files_path(path, MARK_PIN, config->bpffs, name);
}

/* A bpf file system has no names with dots. */
static void pin_beside(const char *path, char beside[FILES_PATH])
{
    files_path(beside, "%s-new", path);
}

static void layout_path(const struct mark_config *config, const char *name, char path[FILES_PATH])
{
    files_path(path, "%s/layout-%s", config->state_dir, name);
}

static struct bpf_map *map_of(const struct mark_bpf *skel, enum map which)
{
    return bpf_object__find_map_by_name(skel->obj, names[which]);
}

static int silent(enum libbpf_print_level level, const char *format, va_list ap)
{
    (void)level;
    (void)format;
    (void)ap;
    return 0;
}

void mark_load_silence(void)
{
    libbpf_set_print(silent);
}

static int open_programs(const struct mark_config *config, struct mark_bpf **ret_skel,
                         struct err *err)
{
    struct mark_settings settings;
    mark_load_silence();
    struct mark_bpf *skel = mark_bpf__open();
    if (!skel)
        return err_sys(err, errno, "the marking programs");
    mark_settings_of(config, &settings);
    memcpy((void *)&skel->rodata->settings, &settings, sizeof(settings));
    bpf_map__set_max_entries(skel->maps.flows, config->flows_max);
    bpf_map__set_max_entries(skel->maps.tasks, MARK_TASKS);
    bpf_map__set_max_entries(skel->maps.received, MARK_TASKS);
    *ret_skel = skel;
    return 0;
}

static int load_programs(struct mark_bpf *skel, struct err *err)
{
    int r = mark_bpf__load(skel);
    if (r == -EPERM)
        return err_sys(err, EPERM,
                       "loading the marking programs (root, or CAP_BPF and CAP_NET_ADMIN)");
    return r < 0 ? err_sys(err, -r, "loading the marking programs") : 0;
}

/* The field layout of the pinned map's flows: as its maker recorded it, or else ours. */
static void read_layout(const struct mark_config *config, const char *name, size_t value_bytes,
                        char text[FLOW_LAYOUT_TEXT], struct mark_before *ret_layout)
{
    char path[FILES_PATH];
    layout_path(config, name, path);
    if (files_read(path, text, FLOW_LAYOUT_TEXT, NULL, NULL) < 0)
        flow_layout_text(text);
    flow_layout_read(text, value_bytes, ret_layout);
}

static bool has_our_layout(const struct mark_config *config)
{
    char ours[FLOW_LAYOUT_TEXT], text[FLOW_LAYOUT_TEXT];
    struct mark_before layout;
    flow_layout_text(ours);
    read_layout(config, names[FLOWS], sizeof(struct mark_flow), text, &layout);
    return strcmp(ours, text) == 0;
}

static int look_at(const struct mark_config *config, const struct mark_bpf *skel, enum map which,
                   struct stock *stock, struct err *err)
{
    char path[FILES_PATH];
    struct bpf_map_info info = {0};
    uint32_t bytes = sizeof(info);
    const struct bpf_map *map = map_of(skel, which);
    pin_path(config, names[which], path);
    int fd = bpf_obj_get(path);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "opening the pinned map %s", path);
    stock->fds[which] = fd;
    if (bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0)
        return err_sys(err, errno, "reading the pinned map %s", path);
    bool same_value = info.value_size == bpf_map__value_size(map);
    if (info.type != bpf_map__type(map) || info.key_size != bpf_map__key_size(map) ||
        info.map_flags != bpf_map__map_flags(map) || (which != FLOWS && !same_value))
        return err_set(err, EPROTO,
                       "the pinned map %s is of another kind than this agent's and cannot be taken "
                       "over: end the marks of the agent before with --restore, then start again",
                       path);
    stock->fits[which] = same_value && info.max_entries == bpf_map__max_entries(map) &&
                         (which != FLOWS || has_our_layout(config));
    return 0;
}

static int look(const struct mark_config *config, const struct mark_bpf *skel, struct stock *stock,
                struct err *err)
{
    char path[FILES_PATH];
    int r = 0;
    for (int i = 0; i < MAPS; i++)
        stock->fds[i] = -1;
    for (enum map i = 0; r >= 0 && i < MAPS; i++)
        r = look_at(config, skel, i, stock, err);
    pin_path(config, "before", path);
    stock->before = r < 0 ? -1 : bpf_obj_get(path);
    return r;
}

static void done(struct stock *stock)
{
    for (int i = 0; i < MAPS; i++)
        if (stock->fds[i] >= 0)
            close(stock->fds[i]);
    if (stock->before >= 0)
        close(stock->before);
}

/* All of a map into a new one. Of an array that is shorter now the end is left out. */
static int copy_map(const struct bpf_map *map, int from, struct err *err)
{
    const size_t cpus = (size_t)libbpf_num_possible_cpus();
    const char *name = bpf_map__name(map);
    char key[64];
    bool array =
        bpf_map__type(map) == BPF_MAP_TYPE_ARRAY || bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_ARRAY;
    void *value = calloc(cpus, 8 * ((bpf_map__value_size(map) + 7) / 8)), *last = NULL;
    int r = value ? 0 : err_sys(err, ENOMEM, "the map %s", name);
    for (; r >= 0 && bpf_map_get_next_key(from, last, key) == 0; last = key) {
        if (bpf_map_lookup_elem(from, key, value) < 0)
            continue; /* deleted meanwhile */
        if (bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY) < 0 &&
            !(errno == E2BIG && array))
            r = err_sys(err, errno, "what stands in the map %s does not go into one of %u entries",
                        name, bpf_map__max_entries(map));
    }
    free(value);
    return r;
}

/* In the place of what is pinned there, in one step. */
static int pin(const struct mark_config *config, const struct bpf_map *map, struct err *err)
{
    char path[FILES_PATH], beside[FILES_PATH];
    pin_path(config, bpf_map__name(map), path);
    pin_beside(path, beside);
    unlink(beside);
    if (bpf_obj_pin(bpf_map__fd(map), beside) < 0 || rename(beside, path) < 0)
        return err_sys(err, errno, "pinning %s", path);
    return 0;
}

/* The pinned flows, which differ in layout, become the former map. The layout's text is written
 * before its pin. */
static int set_flows_aside(const struct mark_config *config, const char *text, struct err *err)
{
    char path[FILES_PATH], aside[FILES_PATH];
    layout_path(config, "before", path);
    int r = files_write(path, text, strlen(text), 0600, err);
    pin_path(config, names[FLOWS], path);
    pin_path(config, "before", aside);
    if (r >= 0 && rename(path, aside) < 0)
        r = err_sys(err, errno, "renaming %s", path);
    return r;
}

static int pin_flows(const struct mark_config *config, const struct bpf_map *map, struct err *err)
{
    char path[FILES_PATH], text[FLOW_LAYOUT_TEXT];
    layout_path(config, names[FLOWS], path);
    flow_layout_text(text);
    int r = files_write(path, text, strlen(text), 0600, err);
    return r < 0 ? r : pin(config, map, err);
}

static bool flows_are_unlike(const struct stock *stock)
{
    return stock->fds[FLOWS] >= 0 && !stock->fits[FLOWS];
}

/* Which map the flows are moved from, if they are not in ours already. A map with another layout is
 * preferred to one that was being emptied when an agent died, which was almost empty then. */
static int before_of(const struct mark_config *config, const struct stock *stock,
                     struct mark_load *load, char text[FLOW_LAYOUT_TEXT])
{
    bool unlike = flows_are_unlike(stock);
    int fd = unlike ? stock->fds[FLOWS] : stock->before;
    struct bpf_map_info info = {0};
    uint32_t bytes = sizeof(info);
    if (fd < 0)
        return -1;
    bpf_obj_get_info_by_fd(fd, &info, &bytes);
    read_layout(config, unlike ? names[FLOWS] : "before", info.value_size, text, &load->layout);
    return dup(fd);
}

/* Changes nothing that is pinned. */
static int load_with(const struct mark_config *config, struct stock *stock, struct mark_load *load,
                     char text[FLOW_LAYOUT_TEXT], struct err *err)
{
    struct mark_bpf *skel = load->skel;
    int r = 0;
    for (enum map i = 0; r >= 0 && i < MAPS; i++)
        if (stock->fits[i])
            r = bpf_map__reuse_fd(map_of(skel, i), stock->fds[i]);
    load->before = before_of(config, stock, load, text);
    if (r >= 0 && load->before >= 0) {
        memcpy((void *)&skel->rodata->flows_before, &load->layout, sizeof(load->layout));
        r = bpf_map__reuse_fd(skel->maps.former, load->before);
    }
    r = r < 0 ? err_sys(err, -r, "the pinned maps") : load_programs(skel, err);
    for (enum map i = 0; r >= 0 && i < FLOWS; i++)
        if (stock->fds[i] >= 0 && !stock->fits[i])
            r = copy_map(map_of(skel, i), stock->fds[i], err);
    return r;
}

/* Loaded, with the pinned maps, and nothing changed. */
static int begin(const struct mark_config *config, struct mark_load *load, struct stock *stock,
                 char text[FLOW_LAYOUT_TEXT], struct err *err)
{
    *load = (struct mark_load){.before = -1};
    memset(stock, 0, sizeof(*stock));
    int r = open_programs(config, &load->skel, err);
    if (r < 0)
        return r;
    r = look(config, load->skel, stock, err);
    return r < 0 ? r : load_with(config, stock, load, text, err);
}

int mark_load_open(const struct mark_config *config, struct mark_load *ret_load, struct err *err)
{
    struct mark_load load;
    struct stock stock;
    char text[FLOW_LAYOUT_TEXT];
    int r = begin(config, &load, &stock, text, err);
    if (!load.skel)
        return r;
    if (r >= 0 && flows_are_unlike(&stock))
        r = set_flows_aside(config, text, err);
    for (enum map i = 0; r >= 0 && i < MAPS; i++)
        if (!stock.fits[i])
            r = i == FLOWS ? pin_flows(config, map_of(load.skel, i), err)
                           : pin(config, map_of(load.skel, i), err);
    done(&stock);
    if (r < 0) {
        mark_load_close(&load);
        return r;
    }
    *ret_load = load;
    return 0;
}

static int plan_map(const struct mark_config *config, const struct mark_load *load, enum map which,
                    bool stands, struct changes *changes, struct err *err)
{
    char path[FILES_PATH], layout[FILES_PATH];
    pin_path(config, names[which], path);
    layout_path(config, names[which], layout);
    int r = which == FLOWS
                ? changes_path(changes, "file", layout, "how its flows are laid out", err)
                : 0;
    return r < 0 ? r
                 : changes_tell(changes, stands ? CHANGE_CHANGE : CHANGE_ADD, "map", path, err,
                                "pinned, for %u entries%s",
                                bpf_map__max_entries(map_of(load->skel, which)),
                                stands ? ", with what stands in the one there" : "");
}

int mark_load_plan(const struct mark_config *config, struct changes *changes,
                   struct mark_load *ret_load, struct err *err)
{
    struct mark_load load;
    struct stock stock;
    char text[FLOW_LAYOUT_TEXT];
    int r = begin(config, &load, &stock, text, err);
    if (!load.skel)
        return r;
    for (enum map i = 0; r >= 0 && i < MAPS; i++)
        if (!stock.fits[i])
            r = plan_map(config, &load, i, stock.fds[i] >= 0, changes, err);
    done(&stock);
    if (r < 0) {
        mark_load_close(&load);
        return r;
    }
    *ret_load = load;
    return 0;
}

static int move_flows(const struct mark_load *load, uint32_t value_bytes, struct err *err)
{
    int to = bpf_map__fd(load->skel->maps.flows);
    struct mark_flow_key keys[BATCH];
    char *values = calloc(BATCH, value_bytes);
    uint64_t now = now_ns(CLOCK_BOOTTIME);
    uint32_t cursor = 0;
    int r = values ? 0 : err_sys(err, ENOMEM, "flows");
    for (bool first = true, more = true; r >= 0 && more; first = false) {
        uint32_t n = BATCH;
        LIBBPF_OPTS(bpf_map_batch_opts, opts);
        more = bpf_map_lookup_batch(load->before, first ? NULL : &cursor, &cursor, keys, values, &n,
                                    &opts) == 0;
        if (!more && errno != ENOENT)
            r = err_sys(err, errno, "reading the flows of the agent before");
        for (uint32_t i = 0; r >= 0 && i < n; i++) {
            struct mark_flow flow;
            flow_layout_take(&load->layout, values + (size_t)i * value_bytes, &flow);
            if (now <= flow.seen_ns + MARK_SILENT_NS)
                bpf_map_update_elem(to, &keys[i], &flow, BPF_NOEXIST);
        }
    }
    free(values);
    return r;
}

int mark_load_move(const struct mark_config *config, struct mark_load *load, struct err *err)
{
    struct bpf_map_info info = {0};
    uint32_t bytes = sizeof(info);
    struct mark_bpf *skel = NULL;
    bpf_obj_get_info_by_fd(load->before, &info, &bytes);
    int r = move_flows(load, info.value_size, err);
    if (r >= 0)
        r = open_programs(config, &skel, err);
    for (enum map i = 0; r >= 0 && i < MAPS; i++) {
        r = bpf_map__reuse_fd(map_of(skel, i), bpf_map__fd(map_of(load->skel, i)));
        if (r < 0)
            err_sys(err, -r, "the map %s", names[i]);
    }
    if (r >= 0)
        r = load_programs(skel, err);
    if (r < 0) {
        mark_bpf__destroy(skel);
        return r;
    }
    mark_bpf__destroy(load->skel);
    load->skel = skel;
    return 0;
}

void mark_load_forget(const struct mark_config *config, struct mark_load *load)
{
    char path[FILES_PATH];
    pin_path(config, "before", path);
    unlink(path);
    layout_path(config, "before", path);
    unlink(path);
    close(load->before);
    load->before = -1;
}

void mark_load_close(struct mark_load *load)
{
    if (load->skel)
        mark_bpf__destroy(load->skel);
    if (load->skel && load->before >= 0)
        close(load->before);
    *load = (struct mark_load){.before = -1};
}

void mark_load_unpin(const struct mark_config *config)
{
    char path[FILES_PATH], beside[FILES_PATH];
    for (enum map i = 0; i < MAPS; i++) {
        pin_path(config, names[i], path);
        pin_beside(path, beside);
        unlink(path);
        unlink(beside);
    }
    static const char *const others[] = {"before", "count"}; /* the last is a program */
    for (int i = 0; i < 2; i++) {
        pin_path(config, others[i], path);
        unlink(path);
    }
    for (int i = 0; i < 2; i++) {
        layout_path(config, i ? "before" : names[FLOWS], path);
        unlink(path);
    }
}

static int plan_gone(const char *kind, const char *path, struct changes *changes, struct err *err)
{
    return access(path, F_OK) < 0
               ? 0
               : changes_tell(changes, CHANGE_REMOVE, kind, path, err, "of the eBPF marks");
}

int mark_load_plan_unpin(const struct mark_config *config, struct changes *changes, struct err *err)
{
    char path[FILES_PATH];
    int r = 0;
    for (enum map i = 0; r >= 0 && i < MAPS; i++) {
        pin_path(config, names[i], path);
        r = plan_gone("map", path, changes, err);
    }
    pin_path(config, "count", path);
    if (r >= 0)
        r = plan_gone("program", path, changes, err);
    layout_path(config, names[FLOWS], path);
    return r < 0 ? r : plan_gone("file", path, changes, err);
}
