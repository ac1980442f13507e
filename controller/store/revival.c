#include "controller/store/revival.h"

#include "controller/store/store_tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#define KEYS "key" /* the kind of settings that keys are */

/* A setting, or a job, of the present store. */
struct known {
    UT_hash_handle hh;
    char *value;
    char id[]; /* kind, space, name; or a job's number */
};

struct revival {
    const struct revival_say *say;
    struct known *settings, *jobs;
    struct row_bytes changes;
    const char *kind; /* of the present lines */
    uint32_t said;
};

__attribute__((format(printf, 3, 4))) static void say(struct revival *revival, const char *kind,
                                                      const char *format, ...)
{
    char words[512];
    va_list ap;
    revival->said = revival->kind == kind ? revival->said + 1 : 1;
    revival->kind = kind;
    if (revival->said > REVIVAL_LINES + 1)
        return;
    va_start(ap, format);
    vsnprintf(words, sizeof(words), format, ap);
    va_end(ap);
    revival->say->line(revival->say->user, revival->said <= REVIVAL_LINES
                                               ? words
                                               : "and so on: there are more like it");
}

static int known_add(struct known **known, const char *id, const char *value)
{
    struct known *one = calloc(1, sizeof(*one) + strlen(id) + 1);
    if (!one || !(one->value = strdup(value))) {
        free(one);
        return -ENOMEM;
    }
    strcpy(one->id, id);
    HASH_ADD_STR(*known, id, one);
    return 0;
}

static const struct known *known_find(const struct known *known, const char *id)
{
    const struct known *one;
    HASH_FIND_STR(known, id, one);
    return one;
}

static void known_free(struct known **known)
{
    struct known *one, *next;
    HASH_ITER (hh, *known, one, next) {
        HASH_DEL(*known, one);
        free(one->value);
        free(one);
    }
}

static void text_of(const struct row_value *value, char *room, size_t size)
{
    snprintf(room, size, "%.*s", (int)value->length, (const char *)value->at);
}

/* Calls `take` for each row. */
static int rows_read(struct store_file *file, enum store_table table,
                     int (*take)(struct revival *revival, const struct row_value *row),
                     struct revival *revival, struct err *err)
{
    struct row_value row[ROW_COLUMNS_MAX];
    struct store_cursor *cursor;
    int r = store_cursor_open(file, table, &cursor, err);
    if (r < 0)
        return r;
    while ((r = store_cursor_next(cursor, row, err)) > 0)
        if ((r = take(revival, row)) < 0) {
            err_sys(err, -r, "the store's rows");
            break;
        }
    store_cursor_close(cursor);
    return r;
}

static int setting_know(struct revival *revival, const struct row_value *row)
{
    char kind[64], name[160], id[256], value[4096];
    text_of(&row[SETTINGS_KIND], kind, sizeof(kind));
    text_of(&row[SETTINGS_NAME], name, sizeof(name));
    text_of(&row[SETTINGS_VALUE], value, sizeof(value));
    snprintf(id, sizeof(id), "%s %s", kind, name);
    if (strcmp(kind, KEYS) == 0)
        row_encode(store_schema.tables, STORE_SETTINGS, ROW_PUT, row, SETTINGS_COLUMNS,
                   &revival->changes);
    return known_add(&revival->settings, id, value);
}

static int job_know(struct revival *revival, int64_t job, const char *state)
{
    char id[24];
    snprintf(id, sizeof(id), "%" PRId64, job);
    return known_find(revival->jobs, id) ? 0 : known_add(&revival->jobs, id, state);
}

static int active_know(struct revival *revival, const struct row_value *row)
{
    return job_know(revival, row[JOBS_JOB].number, "");
}

static int finished_know(struct revival *revival, const struct row_value *row)
{
    char state[32];
    text_of(&row[FINISHED_STATE], state, sizeof(state));
    return job_know(revival, row[FINISHED_JOB].number, state);
}

/* How a key of the backup has changed since; NULL: not. */
static const char *key_since(const struct known *now, const char *value)
{
    const char *word = now ? strrchr(now->value, ' ') : NULL;
    if (now && strcmp(now->value, value) == 0)
        return NULL;
    return !now                                    ? "is over since: it stays so"
           : word && strcmp(word, " revoked") == 0 ? "was revoked since: it stays so"
                                                   : "has changed since: it stays as it is";
}

/* Settings that no user made. */
static bool is_inner(const char *kind)
{
    return strncmp(kind, "proof", 5) == 0 || strncmp(kind, "turn", 4) == 0 ||
           strncmp(kind, "debt", 4) == 0;
}

static int setting_compare(struct revival *revival, const struct row_value *row)
{
    char kind[64], name[160], id[256], value[4096];
    text_of(&row[SETTINGS_KIND], kind, sizeof(kind));
    text_of(&row[SETTINGS_NAME], name, sizeof(name));
    text_of(&row[SETTINGS_VALUE], value, sizeof(value));
    snprintf(id, sizeof(id), "%s %s", kind, name);
    const struct known *now = known_find(revival->settings, id);
    if (strcmp(kind, KEYS) == 0) {
        const char *since = key_since(now, value);
        if (since)
            say(revival, KEYS, "key %s %s", name, since);
    } else if (!is_inner(kind) && (!now || strcmp(now->value, value) != 0)) {
        say(revival, "setting", "%s %s is \"%s\" by the backup, and was set %s%s%s since", kind,
            name, value, now ? "to \"" : "back", now ? now->value : "", now ? "\"" : "");
    }
    return 0;
}

/* The reverse: settings of the present store alone. */
static void setting_gone_say(struct revival *revival, const struct known *setting)
{
    if (strncmp(setting->id, KEYS " ", sizeof(KEYS)) != 0 && !is_inner(setting->id))
        say(revival, "gone", "%s was set to \"%s\" since: by the backup it is not set", setting->id,
            setting->value);
}

static int setting_tick(struct revival *revival, const struct row_value *row)
{
    char kind[64], name[160], id[256];
    struct known *now;
    text_of(&row[SETTINGS_KIND], kind, sizeof(kind));
    text_of(&row[SETTINGS_NAME], name, sizeof(name));
    snprintf(id, sizeof(id), "%s %s", kind, name);
    HASH_FIND_STR(revival->settings, id, now);
    if (now) {
        HASH_DEL(revival->settings, now);
        free(now->value);
        free(now);
    }
    return 0;
}

static int job_compare(struct revival *revival, const struct row_value *row)
{
    char id[24], name[80];
    snprintf(id, sizeof(id), "%" PRId64, row[JOBS_JOB].number);
    text_of(&row[JOBS_NAME], name, sizeof(name));
    const struct known *now = known_find(revival->jobs, id);
    if (!now || *now->value)
        say(revival, "job", "job %s (%s) has ended since%s%s: by the backup it goes on", id, name,
            now ? ", " : "", now ? now->value : "");
    return 0;
}

static int present_read(struct revival *revival, const char *path, struct err *err)
{
    struct store_file *file;
    if (access(path, F_OK) < 0)
        return err_sys(err, errno, "%s", path);
    int r = store_file_open(path, NULL, &store_schema, &file, err);
    if (r < 0)
        return r;
    r = rows_read(file, STORE_SETTINGS, setting_know, revival, err);
    if (r == 0)
        r = rows_read(file, STORE_JOBS, active_know, revival, err);
    if (r == 0)
        r = rows_read(file, STORE_FINISHED, finished_know, revival, err);
    store_file_close(file);
    return r;
}

static int keys_put(struct revival *revival, struct store_file *file, struct err *err)
{
    const struct row_value kind[] = {row_text(KEYS)};
    struct row_bytes all = {0};
    row_encode(store_schema.tables, STORE_SETTINGS, ROW_DELETE, kind, 1, &all);
    const struct store_piece pieces[] = {{all.at, all.used},
                                         {revival->changes.at, revival->changes.used}};
    int r = all.failed || revival->changes.failed
                ? err_sys(err, ENOMEM, "the keys")
                : store_file_apply(file, pieces, revival->changes.used ? 2 : 1, err);
    row_bytes_done(&all);
    return r;
}

static int compare(struct revival *revival, const char *path, bool keys, struct err *err)
{
    struct store_file *file;
    int r = store_file_open(path, NULL, &store_schema, &file, err);
    if (r < 0)
        return r;
    r = rows_read(file, STORE_SETTINGS, setting_compare, revival, err);
    if (r == 0)
        r = rows_read(file, STORE_JOBS, job_compare, revival, err);
    if (r == 0)
        r = rows_read(file, STORE_SETTINGS, setting_tick, revival, err);
    for (const struct known *left = revival->settings; left; left = left->hh.next)
        setting_gone_say(revival, left);
    if (r == 0 && keys)
        r = keys_put(revival, file, err);
    store_file_close(file);
    return r;
}

int revival_look(const char *present, const char *backup, bool keys, const struct revival_say *say_,
                 struct err *err)
{
    struct revival revival = {.say = say_};
    struct err why;
    int r = 0;
    if (present_read(&revival, present, &why) == 0)
        r = compare(&revival, backup, keys, err);
    else
        say(&revival, "present",
            "what was set since the backup is not known (%.200s): keys that were revoked since are "
            "valid again, revoke them; jobs that ended since run again",
            why.text);
    known_free(&revival.settings);
    known_free(&revival.jobs);
    row_bytes_done(&revival.changes);
    return r;
}
