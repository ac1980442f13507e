#include "tests/stand_ins/no_store.h"

#include "controller/store/recovery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct store {
    uint64_t handed, committed;
    bool dirty, full, scripted;
    struct no_store_script script;
    sd_event_source *moved; /* without a script on_moved is called from the loop, as the store's */
    void (*on_moved)(void *user);
    void *user;
    store_care_done *on_done;
    void *done_user;
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* ---- the disk ---- */

void no_store_begin_script(struct store *store, const struct no_store_script *script)
{
    store->script = *script;
    store->scripted = true;
}

void no_store_move(struct store *store, bool full)
{
    store->full = full;
    if (!full)
        store->committed = store->handed;
    store->on_moved(store->user);
}

void no_store_care_end(struct store *store, const struct err *err)
{
    store_care_done *on_done = store->on_done;
    store->on_done = NULL;
    if (on_done)
        on_done(store->done_user, err, 5);
}

bool no_store_is_awaited(const struct store *store)
{
    return store->full || store->on_done || store->committed != store->handed;
}

uint64_t no_store_handed(const struct store *store)
{
    return store->handed;
}

static int on_turn(sd_event_source *source, void *user)
{
    const struct err sound = {0};
    (void)source;
    no_store_move(user, false);
    no_store_care_end(user, &sound);
    return 0;
}

static void turn_await(const struct store *store)
{
    if (!store->scripted)
        sd_event_source_set_enabled(store->moved, SD_EVENT_ONESHOT);
}

/* ---- the store ---- */

int store_open(const char *path, const char *vfs, const struct store_bounds *bounds,
               struct store **ret_store, struct err *err)
{
    (void)vfs, (void)bounds;
    *ret_store = calloc(1, sizeof(**ret_store));
    return *ret_store ? 0 : err_sys(err, ENOMEM, "%s", path);
}

void store_keep(struct store *store, int64_t keep_ns)
{
    (void)store, (void)keep_ns;
}

const char *store_words(const struct store *store)
{
    (void)store;
    return "";
}

bool store_absent(const char *path)
{
    (void)path;
    return false;
}

struct store_file *store_file(struct store *store)
{
    (void)store;
    return NULL;
}

int store_begin(struct store *store, sd_event *loop, void (*on_moved)(void *user), void *user,
                struct err *err)
{
    store->on_moved = on_moved;
    store->user = user;
    int r = sd_event_add_defer(loop, &store->moved, on_turn, store);
    if (r >= 0)
        r = sd_event_source_set_enabled(store->moved, SD_EVENT_OFF);
    return r < 0 ? err_sys(err, -r, "the loop") : 0;
}

int store_close(struct store *store, struct err *err)
{
    (void)err;
    if (store)
        sd_event_source_disable_unref(store->moved);
    free(store);
    return 0;
}

static void change_begin(struct store *store)
{
    if (store->script.on_change)
        store->script.on_change(store->script.user);
    store->dirty = true;
}

void store_put(struct store *store, enum store_table table, const struct row_value *values)
{
    must(table < STORE_TABLES && values);
    change_begin(store);
}

void store_delete(struct store *store, enum store_table table, const struct row_value *key,
                  unsigned columns)
{
    must(table < STORE_TABLES && key && columns);
    change_begin(store);
}

const char *store_setting(const struct store *store, const char *kind, const char *name)
{
    (void)store, (void)kind, (void)name;
    return NULL;
}

void store_watch(struct store *store,
                 void (*on_set)(void *user, const char *kind, const char *name, const char *before),
                 void *user)
{
    (void)store, (void)on_set, (void)user;
}

int store_set(struct store *store, const char *kind, const char *name, const char *value)
{
    must(strlen(kind) < STORE_NAME_MAX && strlen(name) < STORE_NAME_MAX);
    must(!value || strlen(value) < STORE_VALUE_MAX);
    change_begin(store);
    return 0;
}

void store_settings(const struct store *store, const char *kind,
                    void (*each)(void *context, const char *name, const char *value), void *context)
{
    (void)store, (void)kind, (void)each, (void)context;
}

static void must_print(const char *text)
{
    must(*text);
    for (; *text; text++)
        must((unsigned char)*text >= ' ' && *text != 127);
}

void store_audit(struct store *store, const char *who, const char *what, const char *result)
{
    must_print(who);
    must_print(what);
    must_print(result);
    store->dirty = true;
}

int store_audit_after(const struct store *store, uint64_t after, struct store_audit_row *ret_row)
{
    if (after >= store->script.audits)
        return -ENOENT;
    *ret_row = (struct store_audit_row){after + 1, 1000000000, "root", "drain h1", "host h1"};
    return 0;
}

int store_change_after(const struct store *store, uint64_t after, struct store_audit_row *ret_row)
{
    return store_audit_after(store, after, ret_row);
}

uint64_t store_version(const struct store *store)
{
    return store->script.audits + 1;
}

int store_commit(struct store *store, bool awaited, uint64_t *ret_ticket)
{
    (void)awaited;
    if (store->dirty) {
        store->handed++;
        store->dirty = false;
        turn_await(store);
    }
    *ret_ticket = store->handed;
    return 0;
}

void store_await(struct store *store)
{
    (void)store;
}

uint64_t store_committed(const struct store *store)
{
    return store->committed;
}

int store_failure(struct store *store, struct err *err)
{
    return store->full ? err_set(err, ENOSPC, "the disk is full") : 0;
}

int store_refusal(struct store *store, struct err *err)
{
    return store_failure(store, err);
}

int store_may_care(const struct store *store, const char *to, struct err *err)
{
    must(!to || *to == '/');
    return store->on_done ? err_set(err, EBUSY, "the store is being looked after already") : 0;
}

int store_care(struct store *store, const char *to, store_care_done *on_done, void *user,
               struct err *err)
{
    must(!to || *to == '/');
    if (store->on_done)
        return err_set(err, EBUSY, "the store is being looked after already");
    store->on_done = on_done;
    store->done_user = user;
    turn_await(store);
    return 0;
}

void store_counters(const struct store *store, struct store_writer_counters *ret_counters)
{
    (void)store;
    *ret_counters = (struct store_writer_counters){.commits = 1};
}

/* ---- its recovery: there was nothing before ---- */

int64_t recovery_offset(struct store *store, bool scripted, int64_t now_ns)
{
    (void)store, (void)scripted, (void)now_ns;
    return 0;
}

int recovery_run(struct store *store, const struct engine_config *config, int64_t now_ns,
                 int64_t offset_ns, struct history *history, struct recovered *ret_recovered,
                 struct err *err)
{
    (void)store, (void)now_ns, (void)offset_ns, (void)history;
    *ret_recovered = (struct recovered){0};
    return engine_create(config, &ret_recovered->engine, err);
}

bool store_is_behind(const struct store *store)
{
    (void)store;
    return false;
}
