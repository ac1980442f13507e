#include "lib/keys.h"
#include "lib/number.h"
#include "lib/text_mark.h"
#include "lib/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

int key_pair_make(struct key_pair *ret_pair, struct err *err)
{
    if (zmq_curve_keypair(ret_pair->public, ret_pair->secret) < 0)
        return err_sys(err, zmq_errno(), "libzmq makes no keys");
    return 0;
}

bool key_text_valid(const char *text)
{
    uint8_t bytes[32];
    bool valid = strlen(text) == KEY_TEXT - 1 && zmq_z85_decode(bytes, text);
    explicit_bzero(bytes, sizeof(bytes));
    return valid;
}

static bool key_take(char ret_key[KEY_TEXT], const char *text)
{
    if (*ret_key || !key_text_valid(text))
        return false;
    strcpy(ret_key, text);
    return true;
}

static bool controller_take(struct key_file *file, const char *text)
{
    for (int i = 0; i < KEY_CONTROLLERS; i++)
        if (!*file->controllers[i])
            return key_take(file->controllers[i], text);
    return false;
}

static bool from_take(struct key_file *file, const char *text)
{
    uint64_t seconds;
    if (number_read(text, 1, INT64_MAX, &seconds) < 0)
        return false;
    file->from_s = (int64_t)seconds;
    return true;
}

static bool name_take(struct key_file *file, const char *text)
{
    if (!wire_name_valid(text))
        return false;
    strcpy(file->name, text);
    return true;
}

static bool line_take(struct key_file *file, const char *word, const char *value)
{
    return strcmp(word, "name") == 0     ? name_take(file, value)
           : strcmp(word, "role") == 0   ? role_parse(value, &file->role, NULL) == 0
           : strcmp(word, "public") == 0 ? key_take(file->pair.public, value)
           : strcmp(word, "secret") == 0 ? key_take(file->pair.secret, value)
           : strcmp(word, "from") == 0
               ? from_take(file, value)
               : strcmp(word, "controller") == 0 && controller_take(file, value);
}

static bool is_pair(const struct key_pair *pair)
{
    char public[KEY_TEXT];
    return zmq_curve_public(public, pair->secret) == 0 && strcmp(public, pair->public) == 0;
}

/* Error sentences quote nothing from the file: a secret may be anywhere in it. */
static int lines_take(FILE *in, const char *path, struct key_file *file, struct err *err)
{
    char line[128], word[16], value[80], rest;
    int r = 0;
    r = text_mark_skip(in, path, err);
    for (int number = 1; r == 0 && fgets(line, sizeof(line), in); number++) {
        int n = sscanf(line, "%15s %79s %c", word, value, &rest);
        if (n > 0 && *word != '#' && (n != 2 || !line_take(file, word, value)))
            r = err_set(err, EINVAL, "%s:%d: this is no line of a key file", path, number);
    }
    explicit_bzero(line, sizeof(line));
    explicit_bzero(value, sizeof(value));
    if (r == 0 &&
        (!*file->name || file->role == ROLE_NOBODY || !*file->pair.public || !*file->pair.secret))
        r = err_set(err, EINVAL, "%s: a key file says name, role, public and secret", path);
    if (r == 0 && !is_pair(&file->pair))
        r = err_set(err, EINVAL, "%s: its public and its secret key do not belong together", path);
    return r;
}

static int secrecy_check(int fd, const char *path, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return err_sys(err, errno, "%s", path);
    if (!S_ISREG(status.st_mode))
        return err_set(err, EINVAL, "%s is no file", path);
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return err_set(err, EPERM,
                       "%s is another user's: a secret key must belong to the user of this program",
                       path);
    if (status.st_mode & 077)
        return err_set(
            err, EPERM,
            "%s can be read by others (mode %04o): chmod 600 it, and make a new key if they did",
            path, status.st_mode & 07777);
    return 0;
}

int key_file_read(const char *path, struct key_file *ret_file, struct err *err)
{
    struct key_file file = {.role = ROLE_NOBODY};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "%s cannot be read", path);
    int r = secrecy_check(fd, path, err);
    FILE *in = r < 0 ? NULL : fdopen(fd, "r");
    if (!in) {
        close(fd);
        return r < 0 ? r : err_sys(err, ENOMEM, "%s", path);
    }
    r = lines_take(in, path, &file, err);
    fclose(in);
    if (r == 0)
        *ret_file = file;
    key_file_wipe(&file);
    return r;
}

static int holder_check(const struct key_file *file, const char *path, enum role role,
                        const char *name, struct err *err)
{
    if (file->role != role || (name && strcmp(file->name, name) != 0))
        return err_set(err, EINVAL, "%s is the key of %s (%s), not of %s (%s)", path, file->name,
                       role_name(file->role), name ? name : "anybody", role_name(role));
    if (role != ROLE_CONTROLLER && !*file->controllers[0])
        return err_set(err, EINVAL, "%s names no controller to trust: `controller`", path);
    return 0;
}

int key_file_read_of(const char *path, enum role role, const char *name, struct key_file *ret_file,
                     struct err *err)
{
    struct key_file file;
    int r = key_file_read(path, &file, err);
    if (r < 0)
        return r;
    r = holder_check(&file, path, role, name, err);
    if (r == 0)
        *ret_file = file;
    key_file_wipe(&file);
    return r;
}

int key_file_check(const char *path, enum role role, const char *name, struct err *err)
{
    struct key_file file;
    struct stat status;
    const bool as_owner = geteuid() == 0 && stat(path, &status) == 0 && status.st_uid != 0;
    if (as_owner && seteuid(status.st_uid) < 0)
        return err_sys(err, errno, "reading %s as its owner", path);
    int r = key_file_read_of(path, role, name, &file, err);
    if (as_owner && seteuid(0) < 0)
        return err_sys(err, errno, "being root again");
    if (r == 0)
        key_file_wipe(&file);
    return r;
}

static int owner_follow(int fd, const char *path)
{
    char copy[PATH_MAX];
    struct stat folder;
    snprintf(copy, sizeof(copy), "%s", path);
    return stat(dirname(copy), &folder) < 0 || fchown(fd, folder.st_uid, folder.st_gid) < 0 ? -errno
                                                                                            : 0;
}

static int text_write(int fd, const struct key_file *file)
{
    FILE *out = fdopen(fd, "w");
    if (!out) {
        close(fd);
        return -ENOMEM;
    }
    fprintf(out, "# Whoever reads this file can be %s.\nname %s\nrole %s\npublic %s\nsecret %s\n",
            file->name, file->name, role_name(file->role), file->pair.public, file->pair.secret);
    for (int i = 0; i < KEY_CONTROLLERS && *file->controllers[i]; i++)
        fprintf(out, "controller %s\n", file->controllers[i]);
    if (file->from_s)
        fprintf(out, "from %" PRId64 "\n", file->from_s);
    int r = fflush(out) != 0 || fsync(fd) < 0 ? -errno : 0;
    return fclose(out) != 0 && r == 0 ? -errno : r;
}

int key_file_write(const char *path, const struct key_file *file, struct err *err)
{
    char beside[PATH_MAX];
    if (snprintf(beside, sizeof(beside), "%s.new", path) >= (int)sizeof(beside))
        return err_sys(err, ENAMETOOLONG, "%s", path);
    unlink(beside);
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int r = fd < 0 ? -errno : 0;
    if (r == 0 && file->role == ROLE_CONTROLLER && geteuid() == 0)
        r = owner_follow(fd, path);
    if (r == 0)
        r = text_write(fd, file);
    else if (fd >= 0)
        close(fd);
    if (r == 0 && rename(beside, path) < 0)
        r = -errno;
    if (r < 0 && fd >= 0)
        unlink(beside);
    return r < 0 ? err_sys(err, -r, "%s cannot be written", path) : 0;
}

_Static_assert(sizeof(((duopoly_ControllerKeys *)0)->keys) ==
                   KEY_CONTROLLERS * sizeof(duopoly_KeyEntry),
               "a controller tells as many keys as a file has room for");

int key_file_learn(const char *path, struct key_file *file, const duopoly_ControllerKeys *keys,
                   struct err *err)
{
    char controllers[KEY_CONTROLLERS][KEY_TEXT] = {0};
    for (pb_size_t i = 0; i < keys->keys_count; i++) {
        if (!key_text_valid(keys->keys[i].public_key))
            return err_set(err, EINVAL,
                           "the controller announced a key of its own that is invalid");
        strcpy(controllers[i], keys->keys[i].public_key);
    }
    if (!*controllers[0] || memcmp(file->controllers, controllers, sizeof(controllers)) == 0)
        return 0;
    memcpy(file->controllers, controllers, sizeof(controllers));
    return key_file_write(path, file, err);
}

void key_file_wipe(struct key_file *file)
{
    explicit_bzero(file, sizeof(*file));
}
