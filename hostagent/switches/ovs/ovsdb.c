#include "hostagent/switches/ovs/ovsdb.h"

#include "hostagent/switches/switch.h"
#include "lib/invariant.h"
#include "lib/now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DATABASE   "Open_vSwitch"
#define READ_BYTES 65536
#define WATCH_ID   1 /* requests have higher numbers */

struct ovsdb {
    struct stream *stream;
    char *buffer;
    size_t used, allocated;
    struct ovsdb_frame frame;
    json_int_t id;
    json_t *answer; /* of the request of this id; NULL: it has not come */
    bool changed;
};

static int frame_take(struct ovsdb_frame *frame, char c)
{
    if (frame->in_string) {
        bool ends = c == '"' && !frame->escaped;
        frame->escaped = c == '\\' && !frame->escaped;
        frame->in_string = !ends;
        return 0;
    }
    frame->in_string = c == '"';
    if (c == '{' || c == '[')
        frame->depth++;
    else if (c == '}' || c == ']')
        return --frame->depth == 0;
    return 0;
}

long ovsdb_frame_next(struct ovsdb_frame *frame, const char *bytes, size_t n)
{
    while (frame->done < n) {
        char c = bytes[frame->done++];
        if (frame->depth == 0 && strchr(" \t\r\n", c) && c)
            continue;
        if (frame->depth == 0 && c != '{')
            return -EBADMSG;
        if (frame_take(frame, c))
            return (long)frame->done;
        if (frame->depth > OVSDB_DEPTH)
            return -EBADMSG;
    }
    return 0;
}

/* [TAG, …] of RFC 7047 §5.1. */
static const json_t *tagged(const json_t *value, const char *tag)
{
    const char *have = json_string_value(json_array_get(value, 0));
    return have && json_array_size(value) == 2 && strcmp(have, tag) == 0 ? json_array_get(value, 1)
                                                                         : NULL;
}

const char *ovsdb_uuid(const json_t *value)
{
    const json_t *set = tagged(value, "set");
    if (set)
        return !json_is_array(set)         ? NULL
               : json_array_size(set) == 0 ? ""
               : json_array_size(set) == 1 ? ovsdb_uuid(json_array_get(set, 0))
                                           : NULL;
    const char *uuid = json_string_value(tagged(value, "uuid"));
    return uuid && strlen(uuid) == 36 ? uuid : NULL;
}

static int map_add(json_t *map, const json_t *key, const json_t *value)
{
    char digits[24];
    const char *name = json_string_value(key);
    const char *text = json_is_string(value) ? json_string_value(value) : ovsdb_uuid(value);
    if (json_is_integer(key)) {
        snprintf(digits, sizeof(digits), "%" JSON_INTEGER_FORMAT, json_integer_value(key));
        name = digits;
    }
    return name && text && !json_object_get(map, name)
               ? json_object_set_new(map, name, json_string(text))
               : -1;
}

json_t *ovsdb_map(const json_t *value)
{
    const json_t *pairs = tagged(value, "map"), *pair;
    json_t *map = pairs && json_is_array(pairs) ? json_object() : NULL;
    size_t i;
    if (!map)
        return NULL;
    json_array_foreach(pairs, i, pair)
    {
        if (json_array_size(pair) == 2 &&
            map_add(map, json_array_get(pair, 0), json_array_get(pair, 1)) == 0)
            continue;
        json_decref(map);
        return NULL;
    }
    return map;
}

int ovsdb_open(struct stream *stream, struct ovsdb **ret_db, struct err *err)
{
    struct ovsdb *db = calloc(1, sizeof(*db));
    if (!db) {
        stream_close(stream);
        return err_sys(err, ENOMEM, "OVSDB");
    }
    db->stream = stream;
    db->id = WATCH_ID;
    *ret_db = db;
    return 0;
}

void ovsdb_close(struct ovsdb *db)
{
    if (!db)
        return;
    stream_close(db->stream);
    json_decref(db->answer);
    free(db->buffer);
    free(db);
}

static int bad(struct ovsdb *db, const char *what, struct err *err)
{
    return err_set(err, EBADMSG, "%s: this is no OVSDB server: %s", stream_where(db->stream), what);
}

static int send_json(struct ovsdb *db, json_t *message, struct err *err)
{
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    json_decref(message);
    if (!text)
        return err_sys(err, ENOMEM, "%s", stream_where(db->stream));
    int r = stream_write(db->stream, text, strlen(text), SWITCH_WAIT_MS, err);
    free(text);
    return r;
}

static int send_request(struct ovsdb *db, json_int_t id, const char *method, json_t *params,
                        struct err *err)
{
    return send_json(db, json_pack("{s:s, s:o, s:I}", "method", method, "params", params, "id", id),
                     err);
}

/* The words of {"error": …, "details": …}. */
static const char *words_of(const json_t *error, const char *key)
{
    const char *words = json_string_value(json_object_get(error, key));
    return words ? words : json_string_value(error);
}

static int refused(struct ovsdb *db, const json_t *error, struct err *err)
{
    const char *what = words_of(error, "error"), *details = words_of(error, "details");
    return err_set(err, EPROTO, "%s: OVSDB refuses: %s%s%s", stream_where(db->stream),
                   what ? what : "without a word", details ? ": " : "", details ? details : "");
}

static int take_answer(struct ovsdb *db, json_t *message, struct err *err)
{
    const json_t *id = json_object_get(message, "id"), *error = json_object_get(message, "error");
    if (!json_is_integer(id))
        return bad(db, "an answer to nothing", err);
    if (json_integer_value(id) == WATCH_ID)
        return error && !json_is_null(error) ? refused(db, error, err) : 0;
    if (json_integer_value(id) == db->id && !db->answer)
        db->answer = json_incref(message);
    return 0; /* of a request that was given up */
}

static int take_message(struct ovsdb *db, json_t *message, struct err *err)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    if (!method)
        return take_answer(db, message, err);
    if (strcmp(method, "update") == 0)
        db->changed = true;
    if (strcmp(method, "echo") == 0)
        return send_json(db,
                         json_pack("{s:O?, s:n, s:O?}", "result",
                                   json_object_get(message, "params"), "error", "id",
                                   json_object_get(message, "id")),
                         err);
    return 0;
}

static int take_text(struct ovsdb *db, size_t n, struct err *err)
{
    json_error_t why;
    json_t *message = json_loadb(db->buffer, n, JSON_REJECT_DUPLICATES, &why);
    if (!message)
        return bad(db, why.text, err);
    int r = take_message(db, message, err);
    json_decref(message);
    assert(n <= db->used);
    memmove(db->buffer, db->buffer + n, db->used - n);
    db->used -= n;
    db->frame = (struct ovsdb_frame){0};
    return r;
}

static int make_room(struct ovsdb *db, struct err *err)
{
    if (db->allocated - db->used >= READ_BYTES)
        return 0;
    if (db->used >= OVSDB_BYTES)
        return err_set(err, EMSGSIZE, "%s: OVSDB says more than %u MiB at once",
                       stream_where(db->stream), OVSDB_BYTES >> 20);
    size_t allocated = 2 * (db->allocated + READ_BYTES);
    char *buffer = realloc(db->buffer, allocated);
    if (!buffer)
        return err_sys(err, ENOMEM, "%s", stream_where(db->stream));
    db->buffer = buffer;
    db->allocated = allocated;
    return 0;
}

/* All that is there now. */
static int take_in(struct ovsdb *db, struct err *err)
{
    for (;;) {
        long end = ovsdb_frame_next(&db->frame, db->buffer, db->used);
        int r = end < 0 ? bad(db, "what it says is no JSON", err)
                : end   ? take_text(db, (size_t)end, err)
                        : make_room(db, err);
        if (r < 0)
            return r;
        if (end)
            continue;
        r = stream_read(db->stream, db->buffer + db->used, READ_BYTES, err);
        if (r <= 0)
            return r;
        db->used += (size_t)r;
    }
}

static int wait_for_answer(struct ovsdb *db, struct err *err)
{
    uint64_t until_ns = now_ns(CLOCK_MONOTONIC) + SWITCH_WAIT_MS * 1000000ull;
    int r = take_in(db, err);
    while (r >= 0 && !db->answer) {
        r = stream_wait(db->stream, until_ns, err);
        if (r >= 0)
            r = take_in(db, err);
        if (r >= 0 && !db->answer && now_ns(CLOCK_MONOTONIC) > until_ns)
            r = err_set(err, ETIMEDOUT, "%s: OVSDB answers only in part", stream_where(db->stream));
    }
    return r;
}

int ovsdb_watch(struct ovsdb *db, json_t *tables, struct err *err)
{
    return send_request(db, WATCH_ID, "monitor", json_pack("[s, n, o]", DATABASE, tables), err);
}

/* RFC 7047 §4.1.3: the first that failed has an error, those after it are null; one more than there
 * are operations is an error of the commit. */
static int check_results(struct ovsdb *db, const json_t *results, struct err *err)
{
    const json_t *result;
    size_t i;
    json_array_foreach(results, i, result)
    {
        const char *error = json_string_value(json_object_get(result, "error"));
        if (error && strcmp(error, "timed out") == 0)
            return err_set(err, EAGAIN, "%s: somebody else changes it just now",
                           stream_where(db->stream));
        if (json_object_get(result, "error"))
            return refused(db, result, err);
    }
    return 0;
}

int ovsdb_transact(struct ovsdb *db, json_t *operations, json_t **ret_results, struct err *err)
{
    json_t *params = json_array();
    json_array_append_new(params, json_string(DATABASE));
    json_array_extend(params, operations);
    json_decref(db->answer);
    db->answer = NULL;
    int r = send_request(db, ++db->id, "transact", params, err);
    if (r >= 0)
        r = wait_for_answer(db, err);
    if (r < 0)
        return r;
    json_t *answer = db->answer, *results = json_object_get(answer, "result");
    const json_t *error = json_object_get(answer, "error");
    db->answer = NULL;
    r = error && !json_is_null(error) ? refused(db, error, err)
        : json_array_size(results) < json_array_size(operations)
            ? bad(db, "it leaves out results", err)
            : check_results(db, results, err);
    if (r >= 0)
        *ret_results = json_incref(results);
    json_decref(answer);
    return r;
}

int ovsdb_notice(struct ovsdb *db, struct err *err)
{
    int r = take_in(db, err);
    bool changed = db->changed;
    db->changed = false;
    return r < 0 ? r : changed;
}

bool ovsdb_has_news(const struct ovsdb *db)
{
    return db->changed;
}
