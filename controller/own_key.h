/* The controller's own key: whom agents and clients believe.
 *
 * It lies in a folder that only the controller reads: controller.key, made by `duopolyctl keys make
 * controller --role controller` before the first start, and while it changes controller.next.key, which
 * says when it comes into force. Until then everybody who speaks to the controller is told both and
 * keeps them; then the listener begins anew with the next one, and those who were told come back.
 *
 * Who was away all the time knows only the old one, and needs its key file made anew: so the time
 * between is to be longer than anybody is away. Blocking reads and writes of small files; the time is
 * a parameter. */
#pragma once

#include "lib/keys.h"

struct own_key;

/* Whether there is one in `folder`, good or not, or this program may not look. */
bool own_key_is_there(const char *folder);

/* Whether own_key_open could read what lies in `folder`, for who owns it (key_file_check); changes nothing. */
int own_key_check(const char *folder, struct err *err);

/* Reads what lies in `folder` (and puts a next key whose time has come in the place of the other).
 * *ret_own NULL: there is no key. */
int own_key_open(const char *folder, int64_t now_s, struct own_key **ret_own, struct err *err);
/* NULL is fine. */
void own_key_close(struct own_key *own);

/* The pair in force; borrowed for the owner's life, changed in place by own_key_change. */
const struct key_pair *own_key_pair(const struct own_key *own);

/* The public keys to be believed, the one in force first. */
void own_key_public(const struct own_key *own, duopoly_ControllerKeys *ret_keys);

/* Makes the next key, to come into force at `from_s`. One that waits already stays the next, with
 * this time: who has learned it must find no other in force. */
int own_key_make_next(struct own_key *own, int64_t from_s, struct err *err);

/* When the next key comes into force; INT64_MAX: there is none. */
int64_t own_key_due_s(const struct own_key *own);

/* It does now. On failure the old one is in force, and the next is due still. */
int own_key_change(struct own_key *own, struct err *err);
