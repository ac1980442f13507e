#include "hostagent/changes.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The array doubles: it is full when its length is a power of two. */
static int make_room(struct changes *changes, struct err *err)
{
    uint32_t n = changes->n;
    if (n == CHANGES_MOST)
        return err_set(err, E2BIG, "more than %d changes", CHANGES_MOST);
    if ((n & (n - 1)) != 0)
        return 0;
    struct change *items = reallocarray(changes->items, n ? 2 * n : 1, sizeof(*items));
    if (!items)
        return err_sys(err, ENOMEM, "%u changes", n);
    changes->items = items;
    return 0;
}

int changes_tell(struct changes *changes, enum change_verb verb, const char *kind,
                 const char *where, struct err *err, const char *format, ...)
{
    int r = make_room(changes, err);
    if (r < 0)
        return r;
    struct change change = {.verb = verb, .kind = kind, .where = strdup(where)};
    va_list ap;
    va_start(ap, format);
    if (vasprintf(&change.what, format, ap) < 0)
        change.what = NULL;
    va_end(ap);
    if (!change.where || !change.what) {
        free(change.where);
        free(change.what);
        return err_sys(err, ENOMEM, "%u changes", changes->n);
    }
    changes->items[changes->n++] = change;
    return 0;
}

/* The nearest folder above that is there. */
static void refuse_where_forbidden(struct changes *changes, const char *path)
{
    char above[PATH_MAX];
    struct err why;
    snprintf(above, sizeof(above), "%s", path);
    do {
        char *slash = strrchr(above, '/');
        if (!slash)
            snprintf(above, sizeof(above), ".");
        else
            slash[slash == above] = 0;
    } while (access(above, F_OK) < 0 && strchr(above, '/') && above[1]);
    if (access(above, W_OK | X_OK) < 0) {
        err_sys(&why, errno, "making something in %s", above);
        changes_refuse(changes, &why);
    }
}

int changes_path(struct changes *changes, const char *kind, const char *path, const char *what,
                 struct err *err)
{
    if (access(path, F_OK) == 0)
        return 0;
    refuse_where_forbidden(changes, path);
    return changes_tell(changes, CHANGE_ADD, kind, path, err, "%s", what);
}

static bool has(int capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    return syscall(SYS_capget, &header, data) == 0 &&
           (data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability));
}

void changes_need(struct changes *changes, int capability, const char *name, const char *to)
{
    struct err why;
    if (has(capability))
        return;
    err_set(&why, EPERM, "there is no right to %s: run as root, or with %s", to, name);
    changes_refuse(changes, &why);
}

static void add_once(struct err *list, uint32_t *n, const struct err *more)
{
    for (uint32_t i = 0; i < *n; i++)
        if (strcmp(list[i].text, more->text) == 0)
            return;
    if (*n < CHANGES_REFUSE)
        list[(*n)++] = *more;
}

void changes_refuse(struct changes *changes, const struct err *why)
{
    add_once(changes->refusals, &changes->refusals_n, why);
}

void changes_note(struct changes *changes, const struct err *what)
{
    add_once(changes->notes, &changes->notes_n, what);
}

void changes_refuse_all(struct changes *changes, const struct changes *more)
{
    for (uint32_t i = 0; i < more->refusals_n; i++)
        changes_refuse(changes, &more->refusals[i]);
}

int changes_join(struct changes *changes, struct changes *more, struct err *err)
{
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < more->n; i++) {
        r = make_room(changes, err);
        if (r < 0)
            break;
        changes->items[changes->n++] = more->items[i];
        more->items[i] = (struct change){0};
    }
    changes_refuse_all(changes, more);
    changes_free(more);
    return r;
}

void changes_free(struct changes *changes)
{
    for (uint32_t i = 0; i < changes->n; i++) {
        free(changes->items[i].where);
        free(changes->items[i].what);
    }
    free(changes->items);
    *changes = (struct changes){0};
}
