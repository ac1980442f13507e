/* Keys of CurveZMQ (RFC 26 of the ZeroMQ project: Curve25519) and the files that hold them.
 *
 * Everybody who speaks to a controller over TCP has a pair of his own; its public half stands in
 * the controller's list under a name with a role (controller/keyring.h), its secret half in one
 * file on his machine and nowhere else: no log, argument, dump or sentence of an error holds it.
 *
 * A key file is text, one word and its value a line, in any order, and lines that begin with #:
 *
 *     name w1
 *     role agent
 *     public PUBLIC         40 characters of Z85 (RFC 32 of the ZeroMQ project)
 *     secret SECRET
 *     controller PUBLIC     whom to believe; a second one while the controller changes its key
 *     from SECONDS          a controller's next key: since 1970, when it comes into force
 *
 * It is read only if nobody but its owner may read it (0600) and its owner is root or this program's
 * user, and is written by rename, so a reader finds the old or the new one. Blocking; no state. */
#pragma once

#include "lib/err.h"
#include "lib/roles.h"
#include "schemas/duopoly.pb.h"

#include <stdbool.h>
#include <stdint.h>

#define KEY_TEXT        41 /* Z85 of 32 bytes, and its NUL */
#define KEY_CONTROLLERS 2

struct key_pair {
    char public[KEY_TEXT], secret[KEY_TEXT];
};

struct key_file {
    char name[64];
    enum role role;
    struct key_pair pair;
    char controllers[KEY_CONTROLLERS][KEY_TEXT]; /* those that are not known are "" and come last */
    int64_t from_s;
};

/* A new pair of random numbers. −ENOTSUP: this libzmq has no CURVE. */
int key_pair_make(struct key_pair *ret_pair, struct err *err);

/* Whether `text` is 32 bytes in Z85. */
bool key_text_valid(const char *text);

/* −EPERM: others may read it; −EINVAL: it is no key file, with its line. */
int key_file_read(const char *path, struct key_file *ret_file, struct err *err);

/* As that, and it is the key of somebody in this role, by this name (NULL: any), who knows whose
 * controller is to be believed. −EINVAL: it is not. */
int key_file_read_of(const char *path, enum role role, const char *name, struct key_file *ret_file,
                     struct err *err);

/* Whether who owns the file could read it so. Root asks as that user, as who a daemon will be that
 * is not root: its effective user is another one meanwhile. Else as key_file_read_of. */
int key_file_check(const char *path, enum role role, const char *name, struct err *err);

/* Writes it with mode 0600 in the place of what was there: after a crash one of them is there, whole.
 * WHY root gives a controller's key to who owns its folder: root makes it, and that user is to read
 * it. Of other keys nobody but who made them knows whose they are. */
int key_file_write(const char *path, const struct key_file *file, struct err *err);

/* What a controller says of its keys: the file now believes these, and says so on disk unless it did
 * before. −EINVAL: these are none, and nothing is changed. When the disk does not take it, `file`
 * has them all the same. */
int key_file_learn(const char *path, struct key_file *file, const duopoly_ControllerKeys *keys,
                   struct err *err);

/* Leaves nothing of it in memory. */
void key_file_wipe(struct key_file *file);
