#include "controller/own_key.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct own_key {
    char path[PATH_MAX], next_path[PATH_MAX];
    struct key_file present, next; /* next: without a name there is none */
};

const struct key_pair *own_key_pair(const struct own_key *own)
{
    return &own->present.pair;
}

void own_key_public(const struct own_key *own, duopoly_ControllerKeys *ret_keys)
{
    *ret_keys = (duopoly_ControllerKeys){.keys_count = *own->next.name ? 2 : 1};
    strcpy(ret_keys->keys[0].public_key, own->present.pair.public);
    strcpy(ret_keys->keys[1].public_key, own->next.pair.public);
}

int64_t own_key_due_s(const struct own_key *own)
{
    return *own->next.name ? own->next.from_s : INT64_MAX;
}

int own_key_make_next(struct own_key *own, int64_t from_s, struct err *err)
{
    struct key_file next = own->next;
    int r = 0;
    if (!*next.name) {
        next.role = ROLE_CONTROLLER;
        strcpy(next.name, own->present.name);
        r = key_pair_make(&next.pair, err);
    }
    next.from_s = from_s;
    if (r == 0 && (r = key_file_write(own->next_path, &next, err)) == 0)
        own->next = next;
    key_file_wipe(&next);
    return r;
}

int own_key_change(struct own_key *own, struct err *err)
{
    if (rename(own->next_path, own->path) < 0)
        return err_sys(err, errno, "%s cannot take the place of %s", own->next_path, own->path);
    own->present = own->next;
    key_file_wipe(&own->next);
    return 0;
}

bool own_key_is_there(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/controller.key", folder);
    return access(path, F_OK) == 0 || errno != ENOENT;
}

int own_key_check(const char *folder, struct err *err)
{
    static const char *const names[] = {"controller.key", "controller.next.key"};
    char path[PATH_MAX];
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        if (access(path, F_OK) == 0 || errno != ENOENT)
            r = key_file_check(path, ROLE_CONTROLLER, NULL, err);
    }
    return r;
}

static int controller_read(const char *path, struct key_file *ret_file, struct err *err)
{
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    int r = key_file_read(path, ret_file, err);
    if (r == 0 && ret_file->role != ROLE_CONTROLLER)
        r = err_set(err, EINVAL, "%s is the key of a %s, not of a controller", path,
                    role_name(ret_file->role));
    return r;
}

int own_key_open(const char *folder, int64_t now_s, struct own_key **ret_own, struct err *err)
{
    struct own_key *own = calloc(1, sizeof(*own));
    if (!own)
        return err_sys(err, ENOMEM, "%s", folder);
    snprintf(own->path, sizeof(own->path), "%s/controller.key", folder);
    snprintf(own->next_path, sizeof(own->next_path), "%s/controller.next.key", folder);
    int r = controller_read(own->path, &own->present, err);
    if (r == 0)
        r = controller_read(own->next_path, &own->next, err);
    /* On failure the old key stays in force; clients that asked before know both. */
    if (r == 0 && own_key_due_s(own) <= now_s)
        own_key_change(own, NULL);
    if (r < 0 || !*own->present.name) {
        own_key_close(own);
        *ret_own = NULL;
        return r;
    }
    *ret_own = own;
    return 0;
}

void own_key_close(struct own_key *own)
{
    if (!own)
        return;
    key_file_wipe(&own->present);
    key_file_wipe(&own->next);
    free(own);
}
