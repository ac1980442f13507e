/* The controller's own key, which agents and clients trust.
 *
 * It is in a folder that only the controller reads: controller.key, made by `duopolyctl keys make
 * controller --role controller` before the first start, and during a change also
 * controller.next.key, which says when it comes into force. Until then every peer that connects
 * learns both and keeps them; then the listener restarts with the next key, and these peers connect
 * again.
 *
 * A peer that was away all the time knows only the old key and needs a new key file: choose an
 * overlap that is longer than any absence. Blocking reads and writes of small files; the time is a
 * parameter. */
#pragma once

#include "lib/keys.h"

struct own_key;

/* Whether there is one in `folder`, valid or not, or this program may not read the folder. */
bool own_key_is_there(const char *folder);

/* Whether own_key_open, run as the folder's owner, could read `folder` (key_file_check); changes
 * nothing. */
int own_key_check(const char *folder, struct err *err);

/* Reads the keys in `folder` (and replaces the key by a next one that is due). *ret_own NULL: there
 * is no key. */
int own_key_open(const char *folder, int64_t now_s, struct own_key **ret_own, struct err *err);
/* NULL is fine. */
void own_key_close(struct own_key *own);

/* The pair in force; borrowed until close, changed in place by own_key_change. */
const struct key_pair *own_key_pair(const struct own_key *own);

/* The public keys to trust, the one in force first. */
void own_key_public(const struct own_key *own, duopoly_ControllerKeys *ret_keys);

/* Makes the next key, to come into force at `from_s`. One that waits already stays the next, with
 * this time: peers that have learned it must find no other in force. */
int own_key_make_next(struct own_key *own, int64_t from_s, struct err *err);

/* When the next key comes into force; INT64_MAX: there is none. */
int64_t own_key_due_s(const struct own_key *own);

/* Puts the next key in force now. On failure the old one stays in force, and the next one is still
 * due. */
int own_key_change(struct own_key *own, struct err *err);
