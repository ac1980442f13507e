#include "controller/cli/keys.h"

#include "controller/cli/exits.h"
#include "controller/cli/names.h"
#include "controller/cli/table.h"
#include "lib/beneath.h"
#include "lib/conf.h"
#include "lib/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTROLLER "controller"
#define AT_ONCE    (sizeof(((duopoly_KeySet *)0)->keys) / sizeof(duopoly_KeyEntry))
#define SECOND_NS  INT64_C(1000000000)

/* Keys that are being made. */
struct making {
    struct names names;
    struct key_file *files; /* as many */
    const char *folder;
    bool rotate, dry_run; /* dry_run: no file is written */
    uint64_t overlap_s;
};

static bool is(const struct request *request, const char *what)
{
    return strcmp(request->words[0], what) == 0;
}

static bool of_controller(const struct request *request)
{
    return request->n_words == 2 && strcmp(request->words[1], CONTROLLER) == 0;
}

bool keys_lists(const struct request *request)
{
    return request->n_words && is(request, "list");
}

bool keys_alone(const struct request *request)
{
    return is(request, "make") && of_controller(request);
}

static int duration_parse(const char *text, uint64_t *ret_s, struct err *err)
{
    int64_t ns;
    int r = conf_number(CONF_DURATION, text, &ns, err);
    if (r < 0)
        return err_prefix(err, "--for");
    *ret_s = (uint64_t)((ns + SECOND_NS - 1) / SECOND_NS);
    return 0;
}

static int make_check(const struct request *request, struct err *err)
{
    enum role role;
    if (!request->role)
        return err_set(err, EINVAL, "say what they may: --role ROLE");
    int r = role_parse(request->role, &role, err);
    if (r == 0 && (role == ROLE_CONTROLLER) != of_controller(request))
        r = err_set(err, EINVAL, "the controller's own key, and no other, is called controller");
    return r;
}

static int words_check(const struct request *request, struct err *err)
{
    if (!is(request, "make") && !is(request, "list") && !is(request, "revoke") &&
        !is(request, "rotate"))
        return err_set(err, EINVAL, "keys can be told to: make, list, revoke, rotate; not '%s'",
                       request->words[0]);
    if ((request->n_words == 1) != is(request, "list"))
        return err_set(err, EINVAL, "write: duopolyctl keys %s%s", request->words[0],
                       is(request, "list") ? "" : " NAMES");
    if (request->role && !is(request, "make"))
        return err_set(err, EINVAL, "a role is given with the first key: --role goes with make");
    if (request->lasting && !is(request, "rotate"))
        return err_set(err, EINVAL, "--for goes with rotate");
    return 0;
}

int keys_check(const struct request *request, struct err *err)
{
    struct names names = {0};
    uint64_t seconds;
    int r = words_check(request, err);
    if (r == 0 && is(request, "make"))
        r = make_check(request, err);
    if (r == 0 && request->lasting)
        r = duration_parse(request->lasting, &seconds, err);
    if (r == 0 && request->n_words == 2)
        r = names_expand(request->words[1], &names, err);
    names_free(&names);
    return r;
}

/* WHY by descriptors: the owner of the folder above may replace this one by a link. */
static int owner_follow(const char *path, struct err *err)
{
    char copy[PATH_MAX];
    struct stat own, above_it;
    snprintf(copy, sizeof(copy), "%s", path);
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    int above = beneath_root(dirname(copy), err);
    if (above < 0)
        return above;
    int fd = beneath_open(above, name, O_RDONLY | O_DIRECTORY, 0);
    int r = fd < 0 ? fd : 0;
    if (r == 0 && (fstat(above, &above_it) < 0 || fstat(fd, &own) < 0 ||
                   (own.st_uid == 0 && fchown(fd, above_it.st_uid, above_it.st_gid) < 0)))
        r = -errno;
    close(above);
    if (fd >= 0)
        close(fd);
    return r < 0 ? err_sys(err, -r, "%s cannot be given to the owner of the folder above it", path)
                 : 0;
}

static int folder_make(const char *folder, bool controllers, struct err *err)
{
    char part[PATH_MAX];
    snprintf(part, sizeof(part), "%s", folder);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return err_sys(err, errno, "%s cannot be made", part);
        *slash = '/';
    }
    if (mkdir(part, 0700) < 0)
        return errno == EEXIST ? 0 : err_sys(err, errno, "%s cannot be made", part);
    return controllers && geteuid() == 0 ? owner_follow(part, err) : 0;
}

static void path_of(const struct making *making, size_t i, const char *suffix, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s.key%s", making->folder, making->names.at[i], suffix);
}

static int file_make(const struct making *making, size_t i, struct err *err)
{
    struct key_file *file = &making->files[i];
    char path[PATH_MAX], beside[PATH_MAX];
    path_of(making, i, "", path);
    path_of(making, i, ".new", beside);
    if (!making->rotate && access(path, F_OK) == 0)
        return err_set(err, EEXIST, "%s is there already: it is not replaced", path);
    snprintf(file->name, sizeof(file->name), "%s", making->names.at[i]);
    int r = key_pair_make(&file->pair, err);
    return r == 0 && !making->dry_run ? key_file_write(beside, file, err) : r;
}

/* After the controller has taken the key; or not: then it goes. */
static int file_settle(const struct making *making, size_t i, bool taken, struct err *err)
{
    char path[PATH_MAX], beside[PATH_MAX];
    path_of(making, i, "", path);
    path_of(making, i, ".new", beside);
    if (!taken)
        unlink(beside);
    else if (rename(beside, path) < 0)
        return err_sys(err, errno, "%s cannot become %s", beside, path);
    return 0;
}

static int believed_ask(struct client *client, struct making *making, struct err *err)
{
    const duopoly_Envelope *answer;
    client_request(client, duopoly_Envelope_get_controller_keys_tag);
    int r = client_call(client, duopoly_Envelope_controller_keys_tag, &answer, err);
    if (r < 0)
        return r;
    const duopoly_ControllerKeys *keys = &answer->body.controller_keys;
    for (size_t i = 0; i < making->names.n; i++)
        for (pb_size_t k = 0; k < keys->keys_count; k++)
            snprintf(making->files[i].controllers[k], KEY_TEXT, "%s", keys->keys[k].public_key);
    return 0;
}

static void role_note(const struct making *making, const duopoly_KeyRow *row)
{
    for (size_t i = 0; i < making->names.n; i++)
        if (strcmp(making->names.at[i], row->name) == 0)
            role_parse(row->role, &making->files[i].role, NULL);
}

/* A new key has the role of the one before. */
static int roles_ask(struct client *client, const struct making *making, struct err *err)
{
    duopoly_List list = {.of = duopoly_ListOf_LIST_KEYS};
    do {
        const duopoly_Envelope *answer;
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        int r = client_call(client, duopoly_Envelope_page_tag, &answer, err);
        if (r < 0)
            return r;
        for (pb_size_t i = 0; i < answer->body.page.keys_count; i++)
            role_note(making, &answer->body.page.keys[i]);
        list.cursor = answer->body.page.cursor;
        list.version = answer->body.page.version;
    } while (list.cursor);
    for (size_t i = 0; i < making->names.n; i++)
        if (making->files[i].role == ROLE_NOBODY)
            return err_set(err, ENOENT, "%s has no key: make one", making->names.at[i]);
    return 0;
}

static int keys_tell(struct client *client, const struct making *making, size_t first, size_t n,
                     struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_KeySet *set = &client_request(client, duopoly_Envelope_key_set_tag)->body.key_set;
    set->rotate = making->rotate;
    set->overlap_s = making->overlap_s;
    for (size_t i = first; i < first + n; i++) {
        duopoly_KeyEntry *key = &set->keys[set->keys_count++];
        wire_copy(key->name, sizeof(key->name), making->files[i].name);
        wire_copy(key->role, sizeof(key->role), role_name(making->files[i].role));
        wire_copy(key->public_key, sizeof(key->public_key), making->files[i].pair.public);
    }
    return client_call(client, duopoly_Envelope_accepted_tag, &answer, err);
}

static size_t batch(const struct making *making, size_t first)
{
    return making->names.n - first < AT_ONCE ? making->names.n - first : AT_ONCE;
}

static void made_write(const struct making *making, size_t n, struct writer *writer)
{
    static const struct column columns[] = {
        {"name", "NAME"}, {"role", "ROLE"}, {"file", "FILE"}, {NULL, NULL}};
    char path[PATH_MAX];
    writer_schema(writer, "made_keys", "keys");
    writer_table(writer, "keys", columns);
    for (size_t i = 0; i < n; i++) {
        path_of(making, i, "", path);
        writer_cell(writer, value_text(making->names.at[i]));
        writer_cell(writer, value_text(role_name(making->files[i].role)));
        writer_cell(writer, value_text(path));
    }
    writer_table_end(writer);
}

/* WHY the files stay: the controller may have taken the keys, and nobody else has their secret
 * halves. */
static int unanswered(const struct making *making, size_t done, struct writer *writer, int r,
                      struct err *err)
{
    char path[PATH_MAX];
    path_of(making, done, ".new", path);
    if (!making->dry_run)
        err_prefix(err,
                   "whether the keys from %s on are taken is not known; they are in %s and so on: "
                   "'duopolyctl keys list' says whether the controller has them",
                   making->names.at[done], path);
    made_write(making, done, writer);
    return done ? EXIT_PARTIAL : r;
}

/* Batch by batch, each of them taken as a whole: what is written says which ones were. */
static int pairs_make(struct client *client, const struct making *making, struct writer *writer,
                      struct err *err)
{
    size_t done = 0;
    int r = 0;
    while (r == 0 && done < making->names.n) {
        size_t n = batch(making, done), written = 0;
        while (written < n && (r = file_make(making, done + written, err)) == 0)
            written++;
        if (r == 0 && client)
            r = keys_tell(client, making, done, n, err);
        if (written == n && r < 0 && r != -EREMOTEIO)
            return unanswered(making, done, writer, r, err);
        bool taken = r == 0;
        for (size_t i = 0; i < written && !making->dry_run; i++)
            if (file_settle(making, done + i, taken, taken ? err : NULL) < 0)
                r = -EIO;
        if (r == 0)
            done += n;
    }
    if (making->dry_run && r == 0)
        writer_field(writer, "text", "accepted", value_text("a dry run, nothing is changed"));
    made_write(making, done, writer);
    if (r < 0 && done)
        r = EXIT_PARTIAL;
    return r;
}

static int run_make(struct client *client, const struct request *request, struct writer *writer,
                    struct err *err)
{
    struct making making = {.folder = request->folder ? request->folder : ".",
                            .rotate = is(request, "rotate"),
                            .dry_run = request->dry_run,
                            .overlap_s = 3600};
    enum role role = ROLE_NOBODY;
    int r = names_expand(request->words[1], &making.names, err);
    if (r < 0)
        return r;
    if (!(making.files = calloc(making.names.n, sizeof(*making.files))))
        r = err_sys(err, ENOMEM, "keys");
    if (r == 0 && request->role)
        r = role_parse(request->role, &role, err);
    if (r == 0 && request->lasting)
        r = duration_parse(request->lasting, &making.overlap_s, err);
    for (size_t i = 0; r == 0 && i < making.names.n; i++)
        making.files[i].role = role;
    if (r == 0 && client)
        r = believed_ask(client, &making, err);
    if (r == 0 && making.rotate)
        r = roles_ask(client, &making, err);
    if (r == 0 && !making.dry_run)
        r = folder_make(making.folder, role == ROLE_CONTROLLER, err);
    if (r == 0)
        r = pairs_make(client, &making, writer, err);
    if (making.files)
        explicit_bzero(making.files, making.names.n * sizeof(*making.files));
    free(making.files);
    names_free(&making.names);
    return r;
}

static int run_rotate_controller(struct client *client, const struct request *request,
                                 struct writer *writer, struct err *err)
{
    uint64_t overlap_s = 3600;
    int r = request->lasting ? duration_parse(request->lasting, &overlap_s, err) : 0;
    if (r < 0)
        return r;
    client_request(client, duopoly_Envelope_rotate_controller_tag)
        ->body.rotate_controller.overlap_s = overlap_s;
    return accepted_write(client, writer, err);
}

static int run_revoke(struct client *client, const struct request *request, struct writer *writer,
                      struct err *err)
{
    struct names names;
    size_t done = 0, revoked = 0;
    int r = names_expand(request->words[1], &names, err);
    while (r == 0 && done < names.n) {
        duopoly_KeyRevoke *revoke =
            &client_request(client, duopoly_Envelope_key_revoke_tag)->body.key_revoke;
        while (done < names.n && revoke->keys_count < AT_ONCE)
            wire_copy(revoke->keys[revoke->keys_count++].name, sizeof(revoke->keys[0].name),
                      names.at[done++]);
        r = accepted_write(client, done < names.n ? NULL : writer, err);
        revoked = r == 0 ? done : revoked;
    }
    if (r < 0 && revoked && !request->dry_run) {
        err_prefix(err, "the first %zu names are revoked, %s", revoked,
                   r == -EREMOTEIO ? "the rest not" : "whether the rest are is not known");
        r = EXIT_PARTIAL;
    }
    names_free(&names);
    return r;
}

int run_keys(struct client *client, const struct request *request, struct writer *writer,
             struct err *err)
{
    if (is(request, "list"))
        return list_show(client, &list_of_keys, request, (duopoly_List){0}, writer, err);
    if (is(request, "revoke"))
        return run_revoke(client, request, writer, err);
    if (is(request, "rotate") && of_controller(request))
        return run_rotate_controller(client, request, writer, err);
    return run_make(client, request, writer, err);
}
