/* In the place of the controller's store (controller/store/store.h): a disk that takes no time, keeps
 * nothing and needs no thread. What `make bench-live PARTS=store` compares the store with; never to
 * be used for anything else. */
#include "controller/store/recovery.h"
#include "controller/store/store.h"

#include <errno.h>
#include <stdlib.h>

struct store {
    uint64_t handed, committed;
    bool dirty;
    sd_event_source *moved; /* on_moved is called from the loop, as the store's */
    void (*on_moved)(void *user);
    void *user;
};

int store_open(const char *path, const char *vfs, const struct store_bounds *bounds,
               struct store **ret_store, struct err *err)
{
    (void)vfs, (void)bounds;
    *ret_store = calloc(1, sizeof(**ret_store));
    return *ret_store ? 0 : err_sys(err, ENOMEM, "%s", path);
}

struct store_file *store_file(struct store *store)
{
    (void)store;
    return NULL;
}

static int on_defer(sd_event_source *source, void *user)
{
    struct store *store = user;
    (void)source;
    store->committed = store->handed;
    store->on_moved(store->user);
    return 0;
}

int store_begin(struct store *store, sd_event *loop, void (*on_moved)(void *user), void *user,
                struct err *err)
{
    store->on_moved = on_moved;
    store->user = user;
    int r = sd_event_add_defer(loop, &store->moved, on_defer, store);
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

void store_put(struct store *store, enum store_table table, const struct row_value *values)
{
    (void)table, (void)values;
    store->dirty = true;
}

void store_delete(struct store *store, enum store_table table, const struct row_value *key,
                  unsigned columns)
{
    (void)table, (void)key, (void)columns;
    store->dirty = true;
}

const char *store_setting(const struct store *store, const char *kind, const char *name)
{
    (void)store, (void)kind, (void)name;
    return NULL;
}

int store_set(struct store *store, const char *kind, const char *name, const char *value)
{
    (void)kind, (void)name, (void)value;
    store->dirty = true;
    return 0;
}

void store_settings(const struct store *store, const char *kind,
                    void (*each)(void *context, const char *name, const char *value), void *context)
{
    (void)store, (void)kind, (void)each, (void)context;
}

void store_audit(struct store *store, const char *who, const char *what, const char *result)
{
    (void)who, (void)what, (void)result;
    store->dirty = true;
}

int store_audit_after(const struct store *store, uint64_t after, struct store_audit_row *ret_row)
{
    (void)store, (void)after, (void)ret_row;
    return -ENOENT;
}

int store_commit(struct store *store, uint64_t *ret_ticket)
{
    if (store->dirty) {
        store->handed++;
        store->dirty = false;
        sd_event_source_set_enabled(store->moved, SD_EVENT_ONESHOT);
    }
    *ret_ticket = store->handed;
    return 0;
}

uint64_t store_committed(const struct store *store)
{
    return store->committed;
}

int store_failure(struct store *store, struct err *err)
{
    (void)store, (void)err;
    return 0;
}

int store_refusal(struct store *store, struct err *err)
{
    (void)store, (void)err;
    return 0;
}

int store_care(struct store *store, const char *to, store_care_done *on_done, void *user,
               struct err *err)
{
    (void)store, (void)to, (void)on_done, (void)user;
    return err_set(err, EOPNOTSUPP, "this controller keeps nothing");
}

void store_counters(const struct store *store, struct store_writer_counters *ret_counters)
{
    (void)store;
    *ret_counters = (struct store_writer_counters){0};
}

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
