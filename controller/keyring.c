#include "controller/keyring.h"

#include "lib/number.h"
#include "lib/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define FOR_EVER INT64_MAX

struct key {
    UT_hash_handle by_identity, by_public;
    struct key *older; /* of the same name */
    char identity[WIRE_USER_ID], public[KEY_TEXT];
    struct key_holder holder;
    uint32_t serial;
    int64_t since_s, until_s; /* FOR_EVER: valid */
    bool revoked;
    bool cut;
};

struct named {
    UT_hash_handle hh;
    char name[64];
    struct key *newest;
};

struct keyring {
    struct keyring_hooks hooks;
    struct key *identities, *publics;
    struct named *names;
    struct key **order; /* NULL: must be sorted again */
};

int keyring_create(const struct keyring_hooks *hooks, struct keyring **ret_keyring)
{
    struct keyring *keyring = calloc(1, sizeof(*keyring));
    if (!keyring)
        return -ENOMEM;
    keyring->hooks = *hooks;
    *ret_keyring = keyring;
    return 0;
}

void keyring_destroy(struct keyring *keyring)
{
    struct key *key, *next_key;
    struct named *named, *next_named;
    if (!keyring)
        return;
    HASH_CLEAR(by_public, keyring->publics);
    HASH_ITER (by_identity, keyring->identities, key, next_key) {
        HASH_DELETE(by_identity, keyring->identities, key);
        free(key);
    }
    HASH_ITER (hh, keyring->names, named, next_named) {
        HASH_DEL(keyring->names, named);
        free(named);
    }
    free(keyring->order);
    free(keyring);
}

static struct named *named_find(const struct keyring *keyring, const char *name)
{
    struct named *named;
    HASH_FIND_STR(keyring->names, name, named);
    return named;
}

static struct named *named_get(struct keyring *keyring, const char *name)
{
    struct named *named = named_find(keyring, name);
    if (named || !(named = calloc(1, sizeof(*named))))
        return named;
    strcpy(named->name, name);
    HASH_ADD_STR(keyring->names, name, named);
    return named;
}

static struct key *public_find(const struct keyring *keyring, const char *public)
{
    struct key *key;
    HASH_FIND(by_public, keyring->publics, public, strlen(public), key);
    return key;
}

static struct key *identity_find(const struct keyring *keyring, const char *identity)
{
    struct key *key;
    HASH_FIND(by_identity, keyring->identities, identity, strlen(identity), key);
    return key;
}

static bool is_over(const struct key *key, int64_t now_s)
{
    return key->revoked || key->until_s <= now_s;
}

static void order_forget(struct keyring *keyring)
{
    free(keyring->order);
    keyring->order = NULL;
}

/* Puts it in its name's list, the newest first. */
static int key_insert(struct keyring *keyring, const struct key *key)
{
    struct named *named = named_get(keyring, key->holder.name);
    struct key *copy = named ? malloc(sizeof(*copy)) : NULL;
    if (!copy)
        return -ENOMEM;
    *copy = *key;
    struct key **place = &named->newest;
    while (*place && (*place)->serial > key->serial)
        place = &(*place)->older;
    copy->older = *place;
    *place = copy;
    HASH_ADD(by_identity, keyring->identities, identity, strlen(copy->identity), copy);
    HASH_ADD(by_public, keyring->publics, public, KEY_TEXT - 1, copy);
    order_forget(keyring);
    return 0;
}

static void key_keep(const struct keyring *keyring, const struct key *key)
{
    char value[128], until[24] = "valid";
    if (key->revoked)
        strcpy(until, "revoked");
    else if (key->until_s != FOR_EVER)
        snprintf(until, sizeof(until), "%" PRId64, key->until_s);
    snprintf(value, sizeof(value), "%s %s %" PRId64 " %s", role_name(key->holder.role), key->public,
             key->since_s, until);
    keyring->hooks.keep(keyring->hooks.user, key->identity, value);
}

static bool identity_read(const char *identity, struct key *key)
{
    const char *slash = strchr(identity, '/');
    uint64_t serial;
    size_t length = slash ? (size_t)(slash - identity) : 0;
    if (!length || length >= sizeof(key->holder.name) ||
        number_read(slash + 1, 1, UINT32_MAX, &serial) < 0)
        return false;
    memcpy(key->holder.name, identity, length);
    key->serial = (uint32_t)serial;
    snprintf(key->identity, sizeof(key->identity), "%s", identity);
    return wire_name_valid(key->holder.name);
}

static bool value_read(const char *value, struct key *key)
{
    char role[16], public[48], since[24], until[24], rest;
    uint64_t since_s, until_s = FOR_EVER;
    if (sscanf(value, "%15s %47s %23s %23s %c", role, public, since, until, &rest) != 4 ||
        role_parse(role, &key->holder.role, NULL) < 0 || !key_text_valid(public) ||
        number_read(since, 0, INT64_MAX, &since_s) < 0)
        return false;
    key->revoked = strcmp(until, "revoked") == 0;
    if (!key->revoked && strcmp(until, "valid") != 0 &&
        number_read(until, 0, INT64_MAX, &until_s) < 0)
        return false;
    strcpy(key->public, public);
    key->since_s = (int64_t)since_s;
    key->until_s = (int64_t)until_s;
    return true;
}

int keyring_load(struct keyring *keyring, const char *identity, const char *value)
{
    struct key key = {0};
    if (!identity_read(identity, &key) || !value_read(value, &key) ||
        identity_find(keyring, identity) || public_find(keyring, key.public))
        return -EINVAL;
    return key_insert(keyring, &key);
}

const char *keyring_admit(const struct keyring *keyring, int64_t now_s, const char *public,
                          const char **ret_why)
{
    const struct key *key = public_find(keyring, public);
    if (key && !is_over(key, now_s))
        return key->identity;
    *ret_why = !key           ? "that key is unknown"
               : key->revoked ? "its key is revoked"
                              : "its key is over";
    return NULL;
}

int keyring_holder(const struct keyring *keyring, int64_t now_s, const char *identity,
                   struct key_holder *ret_holder)
{
    const struct key *key = identity_find(keyring, identity);
    if (!key || is_over(key, now_s))
        return -EACCES;
    *ret_holder = key->holder;
    return 0;
}

static bool has_valid(const struct keyring *keyring, int64_t now_s, const char *name)
{
    const struct named *named = named_find(keyring, name);
    const struct key *key = named ? named->newest : NULL;
    while (key && is_over(key, now_s))
        key = key->older;
    return key != NULL;
}

static bool stands_before(const struct key_new *keys, size_t i, bool by_name)
{
    for (size_t j = 0; j < i; j++)
        if (by_name ? strcmp(keys[j].name, keys[i].name) == 0
                    : strcmp(keys[j].public, keys[i].public) == 0)
            return true;
    return false;
}

static int new_check(const struct keyring *keyring, const struct key_new *keys, size_t i,
                     struct err *err)
{
    const struct key_new *key = &keys[i];
    if (!wire_name_valid(key->name))
        return err_set(err, EINVAL, "'%s' cannot be a name", key->name);
    if (!key_text_valid(key->public))
        return err_set(err, EINVAL, "what %s is to be known by is no public key", key->name);
    if (stands_before(keys, i, true))
        return err_set(err, EEXIST, "%s stands there twice", key->name);
    if (public_find(keyring, key->public) || stands_before(keys, i, false))
        return err_set(err, EEXIST, "the key of %s is known already: each has one of its own",
                       key->name);
    return 0;
}

static int room_check(const struct keyring *keyring, size_t n, struct err *err)
{
    if (keyring_count(keyring) + n > KEYRING_MAX)
        return err_set(err, ENOSPC, "there is room for %d keys", KEYRING_MAX);
    return 0;
}

static void key_forget(struct keyring *keyring, struct key **place)
{
    struct key *key = *place;
    *place = key->older;
    HASH_DELETE(by_identity, keyring->identities, key);
    HASH_DELETE(by_public, keyring->publics, key);
    keyring->hooks.keep(keyring->hooks.user, key->identity, NULL);
    free(key);
    order_forget(keyring);
}

/* The next serial number of this name; its ended keys are forgotten. */
static uint32_t serial_next(struct keyring *keyring, int64_t now_s, const char *name)
{
    struct named *named = named_find(keyring, name);
    if (!named || !named->newest)
        return 1;
    uint32_t serial = named->newest->serial + 1;
    for (struct key **place = &named->newest; *place;)
        if (is_over(*place, now_s))
            key_forget(keyring, place);
        else
            place = &(*place)->older;
    return serial;
}

static int key_make(struct keyring *keyring, int64_t now_s, const struct key_new *new,
                    enum role role, struct err *err)
{
    struct key key = {.since_s = now_s, .until_s = FOR_EVER, .holder.role = role};
    key.serial = serial_next(keyring, now_s, new->name);
    strcpy(key.holder.name, new->name);
    strcpy(key.public, new->public);
    snprintf(key.identity, sizeof(key.identity), "%s/%" PRIu32, new->name, key.serial);
    int r = key_insert(keyring, &key);
    if (r < 0)
        return err_sys(err, -r, "the key of %s", new->name);
    key_keep(keyring, &key);
    return 0;
}

/* Of the first key of a name. */
static int first_check(const struct keyring *keyring, int64_t now_s, const struct key_new *key,
                       struct err *err)
{
    if (key->role == ROLE_NOBODY || key->role >= ROLE_CONTROLLER)
        return err_set(err, EINVAL, "%s cannot be a %s here", key->name, role_name(key->role));
    if (has_valid(keyring, now_s, key->name))
        return err_set(err, EEXIST, "%s has a key: rotate it, or revoke it first", key->name);
    return 0;
}

int keyring_may_take(const struct keyring *keyring, int64_t now_s, const struct key_new *keys,
                     size_t n, bool rotate, struct err *err)
{
    int r = room_check(keyring, n, err);
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = new_check(keyring, keys, i, err);
        if (r == 0 && !rotate)
            r = first_check(keyring, now_s, &keys[i], err);
        else if (r == 0 && !has_valid(keyring, now_s, keys[i].name))
            r = err_set(err, ENOENT, "%s has no valid key: make one", keys[i].name);
    }
    return r;
}

int keyring_add(struct keyring *keyring, int64_t now_s, const struct key_new *keys, size_t n,
                struct err *err)
{
    int r = keyring_may_take(keyring, now_s, keys, n, false, err);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = key_make(keyring, now_s, &keys[i], keys[i].role, err);
    return r;
}

/* Of one name, so that they end by then. */
static void older_end(struct keyring *keyring, int64_t now_s, struct key *newest, int64_t until_s)
{
    for (struct key *key = newest->older; key; key = key->older)
        if (!is_over(key, now_s) && key->until_s > until_s) {
            key->until_s = until_s;
            key_keep(keyring, key);
        }
}

int keyring_rotate(struct keyring *keyring, int64_t now_s, const struct key_new *keys, size_t n,
                   int64_t overlap_s, struct err *err)
{
    int r = keyring_may_take(keyring, now_s, keys, n, true, err);
    for (size_t i = 0; r == 0 && i < n; i++) {
        const struct named *named = named_find(keyring, keys[i].name);
        r = key_make(keyring, now_s, &keys[i], named->newest->holder.role, err);
        if (r == 0)
            older_end(keyring, now_s, named->newest, now_s + overlap_s);
    }
    keyring_expire(keyring, now_s);
    return r;
}

static void key_cut(const struct keyring *keyring, struct key *key)
{
    if (key->cut)
        return;
    key->cut = true;
    keyring->hooks.cut(keyring->hooks.user, key->identity);
}

int keyring_may_revoke(const struct keyring *keyring, int64_t now_s, const char *const *names,
                       size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!has_valid(keyring, now_s, names[i]))
            return err_set(err, ENOENT, "%s has no valid key", names[i]);
    return 0;
}

int keyring_revoke(struct keyring *keyring, int64_t now_s, const char *const *names, size_t n,
                   struct err *err)
{
    int r = keyring_may_revoke(keyring, now_s, names, n, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        for (struct key *key = named_find(keyring, names[i])->newest; key; key = key->older)
            if (!is_over(key, now_s)) {
                key->revoked = true;
                key_keep(keyring, key);
                key_cut(keyring, key);
            }
    return 0;
}

int64_t keyring_expire(struct keyring *keyring, int64_t now_s)
{
    int64_t next_s = FOR_EVER;
    for (struct key *key = keyring->identities; key; key = key->by_identity.next) {
        if (key->until_s <= now_s)
            key_cut(keyring, key);
        else if (!key->revoked && key->until_s < next_s)
            next_s = key->until_s;
    }
    return next_s;
}

uint32_t keyring_count(const struct keyring *keyring)
{
    return HASH_CNT(by_identity, keyring->identities);
}

static int by_name(const void *a, const void *b)
{
    const struct key *first = *(struct key *const *)a, *second = *(struct key *const *)b;
    int difference = strverscmp(first->holder.name, second->holder.name);
    return difference ? difference : first->serial < second->serial ? -1 : 1;
}

static bool order_make(struct keyring *keyring)
{
    uint32_t n = 0;
    if (keyring->order)
        return true;
    keyring->order = calloc(keyring_count(keyring) + 1, sizeof(struct key *));
    if (!keyring->order)
        return false;
    for (struct key *key = keyring->identities; key; key = key->by_identity.next)
        keyring->order[n++] = key;
    qsort(keyring->order, n, sizeof(struct key *), by_name);
    return true;
}

int keyring_at(struct keyring *keyring, int64_t now_s, uint32_t place, struct key_view *ret_view)
{
    if (place >= keyring_count(keyring) || !order_make(keyring))
        return -ENOENT;
    const struct key *key = keyring->order[place];
    *ret_view = (struct key_view){
        .name = key->holder.name,
        .public = key->public,
        .serial = key->serial,
        .role = key->holder.role,
        .state = key->revoked               ? KEY_REVOKED
                 : key->until_s <= now_s    ? KEY_ENDED
                 : key->until_s != FOR_EVER ? KEY_ENDING
                                            : KEY_VALID,
        .since_s = key->since_s,
        .until_s = key->until_s,
    };
    return 0;
}
