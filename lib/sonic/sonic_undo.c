#include "lib/sonic/sonic_undo.h"

#include <errno.h>
#include <string.h>

/* The rows of one value that are others in the other, null where there is none. */
static int add_differing(json_t *to, const char *table, const json_t *rows, const json_t *others,
                         bool from_others)
{
    const char *key;
    json_t *row;
    json_object_foreach((json_t *)rows, key, row)
    {
        json_t *other = json_object_get(others, key);
        if (other && json_equal(row, other))
            continue;
        json_t *value = from_others ? other : row;
        if (sonic_put(to, table, key, value ? json_deep_copy(value) : json_null()) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* `from`'s rows that `than` has not, and null for those that only `than` has. */
static json_t *differing(const json_t *from, const json_t *than)
{
    json_t *to = json_object();
    for (uint32_t i = 0; to && sonic_ours[i]; i++) {
        const json_t *rows = json_object_get(from, sonic_ours[i]);
        const json_t *others = json_object_get(than, sonic_ours[i]);
        if (add_differing(to, sonic_ours[i], rows, others, false) < 0 ||
            add_differing(to, sonic_ours[i], others, rows, true) < 0) {
            json_decref(to);
            return NULL;
        }
    }
    return to;
}

/* Rows that an older generation changed, as the site has them now. */
static int add_older(json_t *before, const json_t *older, const json_t *site)
{
    const char *table, *key;
    json_t *rows, *row;
    json_object_foreach((json_t *)older, table, rows)
    {
        json_object_foreach(rows, key, row)
        {
            json_t *had = sonic_row(site, table, key);
            if (!sonic_row(before, table, key) &&
                sonic_put(before, table, key, had ? json_deep_copy(had) : json_null()) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

json_t *sonic_keep(const json_t *site, const json_t *want, const json_t *kept)
{
    json_t *before = differing(site, want), *after = differing(want, site);
    json_t *ours = json_pack("[O?]", after ? after : NULL);
    const json_t *older;
    size_t i;
    int r = before && after && ours ? 0 : -ENOMEM;
    json_decref(after);
    json_array_foreach(json_object_get(kept, "ours"), i, older)
    {
        if (r >= 0)
            r = add_older(before, older, site);
        if (r >= 0 && json_array_append(ours, (json_t *)older) < 0)
            r = -ENOMEM;
    }
    if (r >= 0)
        return json_pack("{s:o, s:o}", "before", before, "ours", ours);
    json_decref(before);
    json_decref(ours);
    return NULL;
}

json_t *sonic_keep_last(const json_t *kept)
{
    return json_pack("{s:O, s:[O]}", "before", json_object_get(kept, "before"), "ours",
                     json_array_get(json_object_get(kept, "ours"), 0));
}

static json_t *field_of(const json_t *row, const char *field)
{
    return json_is_object(row) ? json_object_get(row, field) : NULL;
}

static bool same(const json_t *a, const json_t *b)
{
    return a && b ? json_equal(a, b) : a == b;
}

/* Whether what a field has, NULL for nothing, is what a generation of ours gave it. */
static bool is_ours(const json_t *generations, const char *table, const char *key,
                    const char *field, const json_t *value)
{
    const json_t *generation;
    size_t i;
    json_array_foreach(generations, i, generation)
    {
        const json_t *row = sonic_row(generation, table, key);
        if (row && same(field_of(row, field), value))
            return true;
    }
    return false;
}

struct undo {
    json_t *db;
    const json_t *before, *generations;
    const char *table, *key;
};

static int undo_field(const struct undo *undo, const char *field)
{
    json_t *row = sonic_row(undo->db, undo->table, undo->key);
    json_t *has = field_of(row, field);
    const char *had =
        json_string_value(field_of(sonic_row(undo->before, undo->table, undo->key), field));
    if (!is_ours(undo->generations, undo->table, undo->key, field, has))
        return 0;
    if (had)
        return sonic_set(undo->db, undo->table, undo->key, field, had);
    json_object_del(row, field);
    return 0;
}

static int undo_fields(const struct undo *undo, const json_t *row)
{
    const char *field;
    json_t *names = json_is_object(row) ? json_copy((json_t *)row) : NULL, *value;
    int r = 0;
    json_object_foreach(names, field, value)
    {
        r = undo_field(undo, field);
        if (r < 0)
            break;
    }
    json_decref(names);
    return r;
}

static int undo_row(const struct undo *undo)
{
    const json_t *generation;
    size_t i;
    int r = undo_fields(undo, sonic_row(undo->before, undo->table, undo->key));
    json_array_foreach(undo->generations, i, generation)
    {
        if (r >= 0)
            r = undo_fields(undo, sonic_row(generation, undo->table, undo->key));
    }
    json_t *row = sonic_row(undo->db, undo->table, undo->key);
    if (row && json_object_size(row) == 0)
        sonic_drop(undo->db, undo->table, undo->key);
    return r;
}

json_t *sonic_undo(const json_t *db, const json_t *kept)
{
    struct undo undo = {.db = json_deep_copy(db),
                        .before = json_object_get(kept, "before"),
                        .generations = json_object_get(kept, "ours")};
    json_t *rows, *row;
    int r = undo.db ? 0 : -ENOMEM;
    json_object_foreach((json_t *)undo.before, undo.table, rows)
    {
        json_object_foreach(rows, undo.key, row)
        {
            if (r >= 0)
                r = undo_row(&undo);
        }
    }
    if (r >= 0)
        return undo.db;
    json_decref(undo.db);
    return NULL;
}

char *sonic_kept_text(const json_t *kept)
{
    return json_dumps(kept, JSON_SORT_KEYS | JSON_INDENT(1) | JSON_ENSURE_ASCII);
}

static bool are_rows(const json_t *tables)
{
    const char *name;
    json_t *rows, *row, *value;
    json_object_foreach((json_t *)tables, name, rows)
    {
        if (!json_is_object(rows))
            return false;
        json_object_foreach(rows, name, row)
        {
            if (!json_is_object(row) && !json_is_null(row))
                return false;
            json_object_foreach(row, name, value)
            {
                if (!json_is_string(value))
                    return false;
            }
        }
    }
    return json_is_object(tables);
}

int sonic_kept_parse(const char *text, json_t **ret_kept, struct err *err)
{
    json_error_t at;
    json_t *kept = json_loads(text, JSON_REJECT_DUPLICATES, &at);
    const json_t *ours = json_object_get(kept, "ours"), *generation;
    bool good = are_rows(json_object_get(kept, "before")) && json_array_size(ours) > 0;
    size_t i;
    json_array_foreach(ours, i, generation)
    {
        good = good && are_rows(generation);
    }
    if (!good) {
        json_decref(kept);
        return err_set(err, EINVAL, "what stood on the switch is no record of ours");
    }
    *ret_kept = kept;
    return 0;
}
