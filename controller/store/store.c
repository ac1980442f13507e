#include "controller/store/store.h"

#include "controller/store/audit_book.h"
#include "controller/store/store_reading.h"
#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <uthash.h>

struct setting {
    UT_hash_handle hh;
    size_t name; /* where it begins in `key` */
    char *value;
    char key[]; /* kind, zero, name, zero */
};

struct store {
    char path[512];
    sd_event *loop;          /* borrowed */
    struct store_care *care; /* NULL: none is under way */
    store_care_done *care_done;
    void *care_user;
    struct store_bounds bounds;
    struct store_file *file; /* until the writer has it */
    struct store_last *last;
    char words[700];
    struct store_writer *writer;
    struct row_bytes changes;
    struct setting *settings;
    struct audit_book audit;
    sd_event_source *source;
    void (*on_moved)(void *user);
    void *user;
    void (*on_set)(void *user, const char *kind, const char *name, const char *before);
    void *on_set_user;
};

static int64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The key's length, 0: too long. */
static size_t key_make(char *key, const char *kind, const char *name)
{
    size_t of_kind = strlen(kind), of_name = strlen(name);
    if (of_kind >= STORE_NAME_MAX || of_name >= STORE_NAME_MAX)
        return 0;
    memcpy(key, kind, of_kind + 1);
    memcpy(key + of_kind + 1, name, of_name + 1);
    return of_kind + of_name + 2;
}

static struct setting *setting_find(const struct store *store, const char *kind, const char *name)
{
    char key[2 * STORE_NAME_MAX];
    size_t length = key_make(key, kind, name);
    struct setting *setting = NULL;
    if (length)
        HASH_FIND(hh, store->settings, key, length, setting);
    return setting;
}

static void setting_drop(struct store *store, struct setting *setting)
{
    HASH_DEL(store->settings, setting);
    free(setting->value);
    free(setting);
}

/* In memory. */
static int setting_take(struct store *store, const char *kind, const char *name, const char *value)
{
    char key[2 * STORE_NAME_MAX];
    size_t length = key_make(key, kind, name);
    struct setting *setting = setting_find(store, kind, name);
    char *copy = strdup(value);
    if (copy && setting) {
        free(setting->value);
        setting->value = copy;
        return 0;
    }
    setting = copy ? calloc(1, sizeof(*setting) + length) : NULL;
    if (!setting) {
        free(copy);
        return -ENOMEM;
    }
    memcpy(setting->key, key, length);
    setting->name = strlen(kind) + 1;
    setting->value = copy;
    HASH_ADD(hh, store->settings, key, length, setting);
    return 0;
}

/* A value's text with its end. */
static const char *text_of(const struct row_value *value, char *room, size_t size)
{
    snprintf(room, size, "%.*s", (int)value->length, (const char *)value->at);
    return room;
}

static int setting_read(struct store *store, const struct row_value *row)
{
    char kind[STORE_NAME_MAX], name[STORE_NAME_MAX], value[STORE_VALUE_MAX];
    return setting_take(store, text_of(&row[SETTINGS_KIND], kind, sizeof(kind)),
                        text_of(&row[SETTINGS_NAME], name, sizeof(name)),
                        text_of(&row[SETTINGS_VALUE], value, sizeof(value)));
}

static void audit_drop(struct store *store, uint64_t n)
{
    const struct row_value key[] = {ROW_NUMBER((int64_t)n)};
    if (n)
        store_delete(store, STORE_AUDIT, key, 1);
}

static int audit_read(struct store *store, const struct row_value *row)
{
    char who[256], what[512], result[512];
    uint64_t gone;
    return audit_take(&store->audit, (uint64_t)row[AUDIT_N].number, row[AUDIT_AT].number,
                      text_of(&row[AUDIT_WHO], who, sizeof(who)),
                      text_of(&row[AUDIT_WHAT], what, sizeof(what)),
                      text_of(&row[AUDIT_RESULT], result, sizeof(result)), &gone);
}

static int table_read(struct store *store, enum store_table table,
                      int (*take)(struct store *store, const struct row_value *row),
                      struct err *err)
{
    struct row_value row[ROW_COLUMNS_MAX];
    struct store_cursor *cursor;
    int r = store_cursor_open(store->file, table, &cursor, err);
    if (r < 0)
        return r;
    while ((r = store_cursor_next(cursor, row, err)) > 0)
        if ((r = take(store, row)) < 0) {
            err_sys(err, -r, "the store's rows");
            break;
        }
    store_cursor_close(cursor);
    return r;
}

bool store_absent(const char *path)
{
    return store_file_is_empty(path);
}

/* What store_last knows of the store; a number of 0: nothing. */
static void last_read(struct store *store, struct store_commit *ret_known)
{
    int r = store_last_read(store->last, ret_known);
    if (r == 0)
        return;
    *ret_known = (struct store_commit){0};
    snprintf(store->words, sizeof(store->words),
             "%s.last %s: whether the store lacks its last commits cannot be told this once",
             store->path, r == -ENOENT ? "is missing" : "is not as this program wrote it");
}

static int file_open(struct store *store, const char *vfs, struct err *err)
{
    struct store_commit known;
    struct err why, other;
    if (!(store->last = store_last_create(store->path)))
        return err_sys(err, ENOMEM, "%s", store->path);
    last_read(store, &known);
    mode_t before = umask(077);
    int r = store_file_open_whole(store->path, vfs, &store_schema, &known, &store->file, &why);
    umask(before);
    if (r == -ENOSPC || r == -EROFS || r == -EIO) {
        r = store_reading_open(store->path, &store_schema, &known, &why, &store->file, &other);
        if (r < 0 && r != -EBADMSG)
            r = -why.code;
        else
            why = other;
    }
    if (r < 0 && err)
        *err = why;
    /* A new or just upgraded store has had no commit. */
    if (r == 0 && store_file_newest(store->file)->n <= 1)
        *store->words = '\0';
    return r;
}

int store_open(const char *path, const char *vfs, const struct store_bounds *bounds,
               struct store **ret_store, struct err *err)
{
    struct store *store = calloc(1, sizeof(*store));
    if (!store)
        return err_sys(err, ENOMEM, "%s", path);
    store->bounds = *bounds;
    snprintf(store->path, sizeof(store->path), "%s", path);
    int r = file_open(store, vfs, err);
    if (r == 0)
        r = table_read(store, STORE_SETTINGS, setting_read, err);
    if (r == 0)
        r = table_read(store, STORE_AUDIT, audit_read, err);
    if (r < 0) {
        store_close(store, NULL);
        return r;
    }
    store_file_bound(store->file, bounds->bytes_max);
    *ret_store = store;
    return 0;
}

void store_keep(struct store *store, int64_t keep_ns)
{
    store->bounds.keep_ns = keep_ns;
}

const char *store_words(const struct store *store)
{
    return store->words;
}

struct store_file *store_file(struct store *store)
{
    return store->file;
}

static int prune(void *user, struct store_file *file, struct err *err)
{
    const struct store_bounds *bounds = user;
    return store_prune(file, bounds, wall_ns(), err);
}

static int on_writer(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    struct store *store = user;
    (void)source, (void)fd, (void)revents;
    store_writer_seen(store->writer);
    store->on_moved(store->user);
    return 0;
}

int store_begin(struct store *store, sd_event *loop, void (*on_moved)(void *user), void *user,
                struct err *err)
{
    store_last_write(store->last, store_file_newest(store->file));
    store_last_sync(store->last);
    int r = store_writer_open(store->file, store->last, prune, &store->bounds, &store->writer, err);
    if (r < 0)
        return r;
    store->file = NULL;
    store->loop = loop;
    store->on_moved = on_moved;
    store->user = user;
    if (loop)
        r = sd_event_add_io(loop, &store->source, store_writer_fd(store->writer), EPOLLIN,
                            on_writer, store);
    return r < 0 ? err_sys(err, -r, "the store") : 0;
}

int store_close(struct store *store, struct err *err)
{
    struct setting *setting, *next;
    uint64_t ticket;
    if (!store)
        return 0;
    store_care_end(store->care);
    sd_event_source_disable_unref(store->source);
    if (store->writer)
        store_commit(store, true, &ticket);
    int r = store_writer_close(store->writer, err);
    store_file_close(store->file);
    store_last_destroy(store->last);
    HASH_ITER (hh, store->settings, setting, next) {
        setting_drop(store, setting);
    }
    audit_done(&store->audit);
    row_bytes_done(&store->changes);
    free(store);
    return r;
}

void store_put(struct store *store, enum store_table table, const struct row_value *values)
{
    row_encode(store_schema.tables, table, ROW_PUT, values, store_schema.tables[table].columns,
               &store->changes);
}

void store_delete(struct store *store, enum store_table table, const struct row_value *key,
                  unsigned columns)
{
    row_encode(store_schema.tables, table, ROW_DELETE, key, columns, &store->changes);
}

const char *store_setting(const struct store *store, const char *kind, const char *name)
{
    const struct setting *setting = setting_find(store, kind, name);
    return setting ? setting->value : NULL;
}

void store_watch(struct store *store,
                 void (*on_set)(void *user, const char *kind, const char *name, const char *before),
                 void *user)
{
    store->on_set = on_set;
    store->on_set_user = user;
}

int store_set(struct store *store, const char *kind, const char *name, const char *value)
{
    struct row_value row[SETTINGS_COLUMNS] = {row_text(kind), row_text(name)};
    if (store->on_set)
        store->on_set(store->on_set_user, kind, name, store_setting(store, kind, name));
    struct setting *setting = setting_find(store, kind, name);
    if (strlen(kind) >= STORE_NAME_MAX || strlen(name) >= STORE_NAME_MAX ||
        (value && strlen(value) >= STORE_VALUE_MAX))
        return -E2BIG;
    log_debug("store: %s '%s' is %s", kind, name, value ? "set" : "taken back");
    if (!value) {
        if (setting)
            setting_drop(store, setting);
        store_delete(store, STORE_SETTINGS, row, 2);
        return 0;
    }
    if (!setting && HASH_COUNT(store->settings) >= STORE_SETTINGS_MAX)
        return -ENOSPC;
    int r = setting_take(store, kind, name, value);
    if (r < 0)
        return r;
    row[SETTINGS_VALUE] = row_text(value);
    store_put(store, STORE_SETTINGS, row);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct setting *const *left = a, *const *right = b;
    return strcmp((*left)->key + (*left)->name, (*right)->key + (*right)->name);
}

void store_settings(const struct store *store, const char *kind,
                    void (*each)(void *context, const char *name, const char *value), void *context)
{
    size_t n = 0;
    struct setting *setting, **of_kind = calloc(HASH_COUNT(store->settings) + 1, sizeof(*of_kind));
    for (setting = of_kind ? store->settings : NULL; setting; setting = setting->hh.next)
        if (strcmp(setting->key, kind) == 0)
            of_kind[n++] = setting;
    if (n)
        qsort(of_kind, n, sizeof(*of_kind), by_name);
    for (size_t i = 0; i < n; i++)
        each(context, of_kind[i]->key + of_kind[i]->name, of_kind[i]->value);
    free(of_kind);
}

static void audit_put(struct store *store, const char *who, const char *what, const char *result)
{
    const uint64_t n = store->audit.newest + 1;
    const int64_t at_ns = wall_ns();
    const struct row_value row[AUDIT_COLUMNS] = {ROW_NUMBER(n), ROW_NUMBER(at_ns), row_text(who),
                                                 row_text(what), row_text(result)};
    uint64_t gone;
    if (audit_take(&store->audit, n, at_ns, who, what, result, &gone) < 0) {
        store->changes.failed = true;
        return;
    }
    store_put(store, STORE_AUDIT, row);
    audit_drop(store, gone);
}

void store_audit(struct store *store, const char *who, const char *what, const char *result)
{
    char more[400];
    uint32_t left_out;
    if (audit_kind_of(what, result) != AUDIT_REFUSED) {
        audit_put(store, who, what, result);
        return;
    }
    if (!audit_admits(&store->audit, who, monotonic_ms(), &left_out))
        return;
    snprintf(more, sizeof(more), left_out ? "%s (%" PRIu32 " like it left out)" : "%s", result,
             left_out);
    audit_put(store, who, what, more);
}

int store_audit_after(const struct store *store, uint64_t after, struct store_audit_row *ret_row)
{
    const struct audit_line *line = audit_after(&store->audit, after);
    if (!line)
        return -ENOENT;
    const char *what = line->text + strlen(line->text) + 1;
    *ret_row =
        (struct store_audit_row){line->n, line->at_ns, line->text, what, what + strlen(what) + 1};
    return 0;
}

int store_change_after(const struct store *store, uint64_t after, struct store_audit_row *ret_row)
{
    int r = store_audit_after(store, after, ret_row);
    while (r == 0 && audit_kind_of(ret_row->what, ret_row->result) != AUDIT_CHANGE)
        r = store_audit_after(store, ret_row->n, ret_row);
    return r;
}

uint64_t store_version(const struct store *store)
{
    return audit_newest(&store->audit, AUDIT_CHANGE) + 1;
}

int store_commit(struct store *store, bool awaited, uint64_t *ret_ticket)
{
    if (!store->changes.used && !store->changes.failed) {
        *ret_ticket = store_writer_handed(store->writer);
        return 0;
    }
    *ret_ticket = store_writer_hand(store->writer, &store->changes, awaited);
    return *ret_ticket ? 0 : -ENOMEM;
}

void store_await(struct store *store)
{
    store_writer_await(store->writer);
}

uint64_t store_committed(const struct store *store)
{
    return store_writer_committed(store->writer);
}

int store_failure(struct store *store, struct err *err)
{
    return store_writer_failure(store->writer, err);
}

int store_refusal(struct store *store, struct err *err)
{
    struct err failure;
    if (store_failure(store, &failure) < 0)
        return err_set(err, failure.code,
                       "nothing is changed, for it could not be kept: %.300s; what runs goes on, "
                       "try again when there is room",
                       failure.text);
    if (store_writer_full(store->writer))
        return err_set(err, EAGAIN,
                       "nothing is changed: more waits to be written than the disk keeps up "
                       "with; try again in a moment");
    return 0;
}

static void on_care_done(void *user, const struct err *err, uint64_t rows)
{
    struct store *store = user;
    struct err said = *err;
    store_care_end(store->care);
    store->care = NULL;
    store->care_done(store->care_user, &said, rows);
}

static int care_check(const struct store *store, struct err *err)
{
    if (store->care)
        return err_set(err, EBUSY, "the store is being looked at already; try again in a moment");
    return 0;
}

int store_may_care(const struct store *store, const char *to, struct err *err)
{
    int r = care_check(store, err);
    return r == 0 && to ? store_file_absent(to, err) : r;
}

int store_care(struct store *store, const char *to, store_care_done *on_done, void *user,
               struct err *err)
{
    int r = care_check(store, err);
    if (r < 0)
        return r;
    store->care_done = on_done;
    store->care_user = user;
    return store_care_begin(store->path, to, &store_schema, store->loop, on_care_done, store,
                            &store->care, err);
}

bool store_is_behind(const struct store *store)
{
    return store_writer_is_behind(store->writer);
}

void store_counters(const struct store *store, struct store_writer_counters *ret_counters)
{
    store_writer_counters(store->writer, ret_counters);
}
