/* Keys of CurveZMQ (RFC 26 of the ZeroMQ project: Curve25519) and the files that hold them.
 *
 * Every peer of a controller over TCP has a pair of its own. The public half is in the controller's
 * list under a name with a role (controller/keyring.h). The secret half is in one file on the
 * peer's machine and nowhere else: no log, argument, dump or error sentence holds it.
 *
 * A key file is text, one word and its value a line, in any order, and lines that begin with #:
 *
 *     name w1
 *     role agent
 *     public PUBLIC         40 characters of Z85 (RFC 32 of the ZeroMQ project)
 *     secret SECRET
 *     controller PUBLIC     the controller's key; a second one while it changes
 *     from SECONDS          a controller's next key: since 1970, when it comes into force
 *
 * The file is read only if nobody but its owner may read it (0600) and the owner is root or this
 * program's user. It is written by rename, so a reader finds either the old or the new file.
 * Blocking; no state. */
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

/* Makes a new random pair. −ENOTSUP: this libzmq has no CURVE. */
int key_pair_make(struct key_pair *ret_pair, struct err *err);

/* Whether `text` is 32 bytes in Z85. */
bool key_text_valid(const char *text);

/* −EPERM: others may read it. −EINVAL: it is not a key file; the sentence names the line. */
int key_file_read(const char *path, struct key_file *ret_file, struct err *err);

/* As key_file_read; the key must also have this role and this name (NULL: any), and the file must
 * name a controller's key. −EINVAL: it does not. */
int key_file_read_of(const char *path, enum role role, const char *name, struct key_file *ret_file,
                     struct err *err);

/* Whether the file's owner could read it so, for --check. If we are root, this is checked as the
 * owner, the user that a daemon without root runs as: the effective user changes during the call.
 * Else as key_file_read_of. */
int key_file_check(const char *path, enum role role, const char *name, struct err *err);

/* Writes the file with mode 0600 in place of the old one; after a crash one of the two is there,
 * whole. WHY the owner of the folder gets a controller's key that root makes: the daemon's user has
 * to read it. Any other key belongs to whoever makes it. */
int key_file_write(const char *path, const struct key_file *file, struct err *err);

/* Learns the controller's keys as it announces them: the file trusts these from now on, and is
 * rewritten if they are new. −EINVAL: these are not keys, and nothing is changed. If the disk write
 * fails, `file` has them all the same. */
int key_file_learn(const char *path, struct key_file *file, const duopoly_ControllerKeys *keys,
                   struct err *err);

/* Wipes the keys from memory. */
void key_file_wipe(struct key_file *file);
