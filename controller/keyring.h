/* Whom the controller knows: names, their roles, and the public keys that they may show (lib/keys.h).
 *
 * A key is called NAME/SERIAL: that is the identity which comes with each of its messages
 * (lib/wire_zmq.h), so a name may hold two for a while, and each can be ended alone. A key is
 * valid, valid until a second of the wall clock, or over: ended by that second or revoked. What is
 * over is remembered until its name gets another key; an unknown key and one that is over are
 * equally refused, but not in the same words.
 *
 * Changes of one call are made whole or not at all. Each is told to `keep`, as text for
 * keyring_load, and each identity that has ended to `cut`. Bounds: KEYRING_MAX keys.
 *
 * Pure but for the hooks: the time is a parameter, and secrets are never seen here. One thread.
 * O(1) but where said. */
#pragma once

#include "lib/keys.h"
#include "lib/wire_zmq.h"

#define KEYRING_MAX 50000

struct keyring_hooks {
    /* The key NAME/SERIAL is now `value`; NULL: it is forgotten. */
    void (*keep)(void *user, const char *identity, const char *value);
    /* Who shows this key is to be cut off. */
    void (*cut)(void *user, const char *identity);
    void *user;
};

struct keyring;

int keyring_create(const struct keyring_hooks *hooks, struct keyring **ret_keyring);
/* NULL is fine. */
void keyring_destroy(struct keyring *keyring);

/* A key as it was kept, before anything else. −EINVAL: that is none. */
int keyring_load(struct keyring *keyring, const char *identity, const char *value);

/* Who shows `public` may enter: his identity, borrowed until the next change. NULL: he may not, and
 * *ret_why says why. */
const char *keyring_admit(const struct keyring *keyring, int64_t now_s, const char *public,
                          const char **ret_why);

/* Whose identity it is: name and role. −EACCES: it is over or was never known. */
struct key_holder {
    char name[64];
    enum role role;
};
int keyring_holder(const struct keyring *keyring, int64_t now_s, const char *identity,
                   struct key_holder *ret_holder);

/* New names with their first keys. −EEXIST: one has a key already, or the key is another's;
 * −ENOSPC: KEYRING_MAX; −EINVAL: a bad name, role or key. O(n). */
struct key_new {
    const char *name, *public;
    enum role role; /* not looked at by keyring_rotate */
};
int keyring_add(struct keyring *keyring, int64_t now_s, const struct key_new *keys, size_t n,
                struct err *err);

/* A second key for each of these names; the older ones are valid for `overlap_s` more. −ENOENT: a
 * name has no valid key; else as keyring_add. */
int keyring_rotate(struct keyring *keyring, int64_t now_s, const struct key_new *keys, size_t n,
                   int64_t overlap_s, struct err *err);

/* All keys of these names are over. −ENOENT: one has no valid key. */
int keyring_revoke(struct keyring *keyring, int64_t now_s, const char *const *names, size_t n,
                   struct err *err);

/* Ends the keys whose time has come; INT64_MAX or the second at which the next one's comes. O(keys). */
int64_t keyring_expire(struct keyring *keyring, int64_t now_s);

enum key_state { KEY_VALID, KEY_ENDING, KEY_ENDED, KEY_REVOKED };
struct key_view {
    const char *name, *public; /* borrowed until the next change */
    uint32_t serial;
    enum role role;
    enum key_state state;
    int64_t since_s, until_s; /* until_s: of KEY_ENDING and KEY_ENDED */
};
uint32_t keyring_count(const struct keyring *keyring);
/* The `place`-th key in the natural order of names. 0 or −ENOENT. The first after a change sorts:
 * O(keys · log). */
int keyring_at(struct keyring *keyring, int64_t now_s, uint32_t place, struct key_view *ret_view);
