/* The peers that the controller knows: names, their roles, and their public keys (lib/keys.h).
 *
 * A key is called NAME/SERIAL: this identity comes with each of its messages (lib/wire_zmq.h), so a
 * name may have two keys for a while, and each can be ended alone. A key is valid, valid until a
 * second of the wall clock, or over: ended at that second, or revoked. An ended key is remembered
 * until its name gets another key; an unknown key and an ended one are both refused, with different
 * words.
 *
 * Changes of one call are made all or none. `keep` gets each of them, as text for keyring_load, and
 * `cut` each identity that has ended. Bounds: KEYRING_MAX keys.
 *
 * Pure except for the hooks: the time is a parameter, and no secret comes here. One thread. O(1)
 * unless noted. */
#pragma once

#include "lib/keys.h"
#include "lib/wire_zmq.h"

#define KEYRING_MAX 50000

struct keyring_hooks {
    /* The key NAME/SERIAL is now `value`; NULL: it was deleted. */
    void (*keep)(void *user, const char *identity, const char *value);
    /* Peers with this key must be disconnected. */
    void (*cut)(void *user, const char *identity);
    void *user;
};

struct keyring;

int keyring_create(const struct keyring_hooks *hooks, struct keyring **ret_keyring);
/* NULL is fine. */
void keyring_destroy(struct keyring *keyring);

/* Loads a kept key, before anything else. −EINVAL: it is not valid. */
int keyring_load(struct keyring *keyring, const char *identity, const char *value);

/* Whether a peer with this key may connect: its identity, borrowed until the next change. NULL: no;
 * *ret_why says why. */
const char *keyring_admit(const struct keyring *keyring, int64_t now_s, const char *public,
                          const char **ret_why);

/* The name and role of an identity. −EACCES: it is over or was never known. */
struct key_holder {
    char name[64];
    enum role role;
};
int keyring_holder(const struct keyring *keyring, int64_t now_s, const char *identity,
                   struct key_holder *ret_holder);

/* Adds new names with their first keys. −EEXIST: one has a key already, or the key is another's;
 * −ENOSPC: KEYRING_MAX; −EINVAL: a bad name, role or key. O(n). */
struct key_new {
    const char *name, *public;
    enum role role; /* ignored by keyring_rotate */
};
int keyring_add(struct keyring *keyring, int64_t now_s, const struct key_new *keys, size_t n,
                struct err *err);

/* Adds a second key for each of these names; the older ones stay valid for `overlap_s`. −ENOENT: a
 * name has no valid key; else as keyring_add. */
int keyring_rotate(struct keyring *keyring, int64_t now_s, const struct key_new *keys, size_t n,
                   int64_t overlap_s, struct err *err);

/* Revokes all keys of these names. −ENOENT: one has no valid key. */
int keyring_revoke(struct keyring *keyring, int64_t now_s, const char *const *names, size_t n,
                   struct err *err);

/* What these three would return now, without memory running short; `rotate`: keyring_rotate, else
 * keyring_add. */
int keyring_may_take(const struct keyring *keyring, int64_t now_s, const struct key_new *keys,
                     size_t n, bool rotate, struct err *err);
int keyring_may_revoke(const struct keyring *keyring, int64_t now_s, const char *const *names,
                       size_t n, struct err *err);

/* Ends the keys that are due; returns the second at which the next one is due, or INT64_MAX.
 * O(keys). */
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
/* The `place`-th key in the natural order of names. 0 or −ENOENT. The first call after a change
 * sorts: O(keys · log). */
int keyring_at(struct keyring *keyring, int64_t now_s, uint32_t place, struct key_view *ret_view);
