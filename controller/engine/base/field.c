#include "controller/engine/base/field.h"

#include "controller/engine/base/resources.h"
#include "controller/engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *field_name(const struct field *field)
{
    const char *dot = strrchr(field->member, '.');
    return dot ? dot + 1 : field->member;
}

struct writer {
    char *buffer;
    size_t size, used;
    bool full;
};

static void put(struct writer *w, const char *text, size_t length)
{
    if (length >= w->size - w->used) {
        w->full = true;
        return;
    }
    memcpy(w->buffer + w->used, text, length);
    w->used += length;
    w->buffer[w->used] = 0;
}

static void put_char(struct writer *w, char c)
{
    if (1 >= w->size - w->used) {
        w->full = true;
        return;
    }
    w->buffer[w->used++] = c;
    w->buffer[w->used] = 0;
}

static void put_text(struct writer *w, const char *text)
{
    put(w, text, strlen(text));
}

/* WHY in one piece: a dump of an engine has hundreds of thousands. */
static void put_name(struct writer *w, const char *name)
{
    size_t length = strlen(name);
    if (length + 2 >= w->size - w->used) {
        w->full = true;
        return;
    }
    char *at = w->buffer + w->used;
    at[0] = ' ';
    memcpy(at + 1, name, length);
    at[length + 1] = '=';
    at[length + 2] = 0;
    w->used += length + 2;
}

static void put_u64(struct writer *w, uint64_t value)
{
    char digits[24], *at = digits + sizeof(digits);
    if (value < 10) {
        put_char(w, (char)('0' + value));
        return;
    }
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put(w, at, (size_t)(digits + sizeof(digits) - at));
}

static void put_i64(struct writer *w, int64_t value)
{
    if (value < 0)
        put_char(w, '-');
    put_u64(w, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static bool plain(unsigned char c)
{
    return c > ' ' && c < 0x7f && c != '%' && c != ',' && c != '=';
}

static void put_string(struct writer *w, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (; text && *text; text++) {
        if (plain((unsigned char)*text)) {
            put_char(w, *text);
        } else {
            unsigned char c = (unsigned char)*text;
            put(w, (const char[]){'%', digits[c >> 4], digits[c & 15]}, 3);
        }
    }
}

static void put_value(struct writer *w, const struct field *field, const void *at)
{
    const struct u32s *u32s = at;
    const struct u64s *u64s = at;
    const struct level_table *table = at;
    switch (field->type) {
    case FIELD_U32:
        put_u64(w, *(const uint32_t *)at);
        break;
    case FIELD_U64:
        put_u64(w, *(const uint64_t *)at);
        break;
    case FIELD_I64:
        put_i64(w, *(const int64_t *)at);
        break;
    case FIELD_BOOL:
        put_u64(w, *(const bool *)at);
        break;
    case FIELD_REASON:
        put_text(w, reason_name(*(const enum reason *)at));
        break;
    case FIELD_STRING:
        put_string(w, *(const char *const *)at);
        break;
    case FIELD_CHARS:
        put_string(w, at);
        break;
    case FIELD_RESOURCES:
        for (int i = 0; i < ENGINE_RESOURCES; i++) {
            if (i)
                put_char(w, ',');
            put_i64(w, ((const struct resources *)at)->amount[i]);
        }
        break;
    case FIELD_U32S:
        for (uint32_t i = 0; i < u32s->n; i++) {
            if (i)
                put_char(w, ',');
            put_u64(w, u32s->at[i]);
        }
        break;
    case FIELD_U64S:
        for (uint32_t i = 0; i < u64s->n; i++) {
            if (i)
                put_char(w, ',');
            put_u64(w, u64s->at[i]);
        }
        break;
    case FIELD_TABLE:
        put_u64(w, table->levels);
        for (uint32_t i = 0; i + 1 < table->levels; i++) {
            put_char(w, ',');
            put_u64(w, table->threshold_bytes[i]);
        }
        break;
    case FIELD_END:
        break;
    }
}

/* Zero, or empty. */
static bool is_default(const struct field *field, const void *at)
{
    const char *const *string = at;
    switch (field->type) {
    case FIELD_U32:
        return *(const uint32_t *)at == 0;
    case FIELD_U64:
        return *(const uint64_t *)at == 0;
    case FIELD_I64:
        return *(const int64_t *)at == 0;
    case FIELD_BOOL:
        return !*(const bool *)at;
    case FIELD_REASON:
        return *(const enum reason *)at == REASON_NONE;
    case FIELD_STRING:
        return !*string || !**string;
    case FIELD_CHARS:
        return !*(const char *)at;
    case FIELD_RESOURCES:
        return resources_are_nothing(at);
    case FIELD_U32S:
        return ((const struct u32s *)at)->n == 0;
    case FIELD_U64S:
        return ((const struct u64s *)at)->n == 0;
    case FIELD_TABLE:
        return ((const struct level_table *)at)->levels == 0;
    case FIELD_END:
        break;
    }
    return true;
}

static void put_fields(struct writer *w, const struct field *fields, const void *object)
{
    for (const struct field *field = fields; field->type; field++) {
        const char *at = (const char *)object + field->offset;
        if (field->former || (field->lean && is_default(field, at)))
            continue;
        put_name(w, field_name(field));
        put_value(w, field, at);
    }
}

static int length_of(const struct writer *w)
{
    return w->full || w->used > RECORD_MAX ? -ENOSPC : (int)w->used;
}

int field_encode(const struct record_kind *kind, const void *object, char *buffer, size_t size)
{
    struct writer w = {buffer, size, 0, false};
    put_text(&w, kind->name);
    put_fields(&w, kind->fields, object);
    return length_of(&w);
}

int field_encode_more(const struct field *fields, const void *object, char *buffer, size_t size,
                      int length)
{
    if (length < 0)
        return length;
    struct writer w = {buffer, size, (size_t)length, false};
    put_fields(&w, fields, object);
    return length_of(&w);
}

static bool at_end(char c)
{
    return c == 0 || c == '\n';
}

int field_kind(const struct record_kind *kinds, int n, const char *line, struct err *err)
{
    size_t length = 0;
    while (!at_end(line[length]) && line[length] != ' ')
        length++;
    for (int i = 0; i < n; i++)
        if (kinds[i].name && strlen(kinds[i].name) == length &&
            memcmp(kinds[i].name, line, length) == 0)
            return i;
    return err_set(err, EINVAL, "unknown kind of record \"%.*s\"", (int)(length > 32 ? 32 : length),
                   line);
}

/* Takes a decimal number that ends at a space, a comma or the end of the record. */
static int take_u64(const char **at, uint64_t max, uint64_t *ret_value)
{
    uint64_t value = 0;
    const char *start = *at;
    *ret_value = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        uint64_t digit = (uint64_t)(**at - '0');
        if (digit > max || value > (max - digit) / 10)
            return -ERANGE;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return *at == start || (*start == '0' && *at - start > 1) ? -EINVAL : 0;
}

static int take_i64(const char **at, int64_t *ret_value)
{
    bool negative = **at == '-';
    uint64_t value;
    *at += negative;
    int r = take_u64(at, (uint64_t)INT64_MAX + negative, &value);
    *ret_value = negative ? (int64_t)-value : (int64_t)value;
    return r < 0 ? r : negative && !value ? -EINVAL : 0;
}

static void *take_room(struct record_room *room, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    if (!room || room->used + size > room->size)
        return NULL;
    void *at = (char *)room->at + room->used;
    room->used += size;
    return at;
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Unescapes into `to`, which has `size` bytes. */
static int take_string(const char **at, char *to, size_t size)
{
    size_t n = 0;
    while (!at_end(**at) && **at != ' ') {
        unsigned char c = (unsigned char)**at;
        if (c == '%') {
            int high = hex((*at)[1]), low = high < 0 ? -1 : hex((*at)[2]);
            if (low < 0 || (high | low) == 0 || plain((unsigned char)(high << 4 | low)))
                return -EINVAL;
            c = (unsigned char)(high << 4 | low);
            *at += 2;
        } else if (!plain(c)) {
            return -EINVAL;
        }
        if (n + 1 >= size)
            return -ERANGE;
        to[n++] = (char)c;
        (*at)++;
    }
    to[n] = 0;
    return 0;
}

static size_t word_length(const char *at)
{
    size_t n = 0;
    while (!at_end(at[n]) && at[n] != ' ')
        n++;
    return n;
}

static uint32_t list_length(const char *at)
{
    uint32_t n = word_length(at) > 0;
    for (size_t i = word_length(at); i-- > 0;)
        n += at[i] == ',';
    return n;
}

static int take_u32s(const char **at, struct record_room *room, struct u32s *ret_list)
{
    uint32_t n = list_length(*at), *values = take_room(room, n * sizeof(*values));
    uint64_t value = 0;
    if (!values)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        int r = i && *(*at)++ != ',' ? -EINVAL : take_u64(at, UINT32_MAX, &value);
        if (r < 0)
            return r;
        values[i] = (uint32_t)value;
    }
    *ret_list = (struct u32s){values, n};
    return 0;
}

static int take_u64s(const char **at, struct record_room *room, struct u64s *ret_list)
{
    uint32_t n = list_length(*at);
    uint64_t *values = take_room(room, n * sizeof(*values));
    if (!values)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        int r = i && *(*at)++ != ',' ? -EINVAL : take_u64(at, UINT64_MAX, &values[i]);
        if (r < 0)
            return r;
    }
    *ret_list = (struct u64s){values, n};
    return 0;
}

static int take_resources(const char **at, struct resources *ret_resources)
{
    for (int i = 0; i < ENGINE_RESOURCES; i++) {
        int r = i && *(*at)++ != ',' ? -EINVAL : take_i64(at, &ret_resources->amount[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

static int take_table(const char **at, struct level_table *ret_table)
{
    uint64_t levels;
    int r = take_u64(at, ENGINE_LEVELS_MAX, &levels);
    *ret_table = (struct level_table){.levels = (uint32_t)levels};
    for (uint32_t i = 0; r >= 0 && i + 1 < levels; i++)
        r = *(*at)++ != ',' ? -EINVAL : take_u64(at, UINT64_MAX, &ret_table->threshold_bytes[i]);
    return r;
}

static int take_reason(const char **at, enum reason *ret_reason)
{
    size_t length = word_length(*at);
    int r = reason_find(*at, length, ret_reason);
    *at += r < 0 ? 0 : length;
    return r;
}

static int take_value(const char **at, const struct field *field, struct record_room *room,
                      void *to)
{
    uint64_t value = 0;
    char *string;
    int r;
    switch (field->type) {
    case FIELD_U32:
        r = take_u64(at, UINT32_MAX, &value);
        *(uint32_t *)to = (uint32_t)value;
        return r;
    case FIELD_U64:
        return take_u64(at, UINT64_MAX, to);
    case FIELD_I64:
        return take_i64(at, to);
    case FIELD_BOOL:
        r = take_u64(at, 1, &value);
        *(bool *)to = value;
        return r;
    case FIELD_REASON:
        return take_reason(at, to);
    case FIELD_STRING:
        string = take_room(room, word_length(*at) + 1);
        *(const char **)to = string;
        return string ? take_string(at, string, word_length(*at) + 1) : -ENOMEM;
    case FIELD_CHARS:
        return take_string(at, to, field->size);
    case FIELD_RESOURCES:
        return take_resources(at, to);
    case FIELD_U32S:
        return take_u32s(at, room, to);
    case FIELD_U64S:
        return take_u64s(at, room, to);
    case FIELD_TABLE:
        return take_table(at, to);
    case FIELD_END:
        break;
    }
    return -EINVAL;
}

static int prepare_room(struct record_room *room, size_t length)
{
    /* The shortest entry of a list is two characters and becomes at most eight bytes; strings only
     * shrink; every value is aligned to 8. */
    size_t need = 8 * length + 16 * FIELDS_MAX;
    room->used = 0;
    if (room->size >= need)
        return 0;
    void *grown = realloc(room->at, need);
    if (!grown)
        return -ENOMEM;
    room->at = grown;
    room->size = need;
    return 0;
}

int field_decode(const struct record_kind *kind, const char *line, struct record_room *room,
                 void *object, struct err *err)
{
    size_t length = strcspn(line, "\n");
    if (length > RECORD_MAX)
        return err_set(err, EINVAL, "a record of %zu bytes is longer than %d", length, RECORD_MAX);
    if (room && prepare_room(room, length) < 0)
        return err_set(err, ENOMEM, "no memory for a record of %zu bytes", length);
    const char *at = line + strlen(kind->name);
    int r = field_decode_some(kind->name, kind->fields, &at, room, object, err);
    return r < 0 ? r : field_decode_end(kind->name, at, err);
}

int field_decode_some(const char *kind, const struct field *fields, const char **at,
                      struct record_room *room, void *object, struct err *err)
{
    for (const struct field *field = fields; field->type; field++) {
        const char *name = field_name(field);
        size_t n = strlen(name);
        if (**at != ' ' || strncmp(*at + 1, name, n) != 0 || (*at)[1 + n] != '=') {
            if (field->added || field->former || field->lean)
                continue;
            return err_set(err, EINVAL, "%s: field %s is missing", kind, name);
        }
        *at += n + 2;
        char *to = (char *)object + field->offset;
        int r = take_value(at, field, room, to);
        if (r == 0 && field->lean && is_default(field, to))
            return err_set(err, EINVAL, "%s: field %s has its default, which is not written", kind,
                           name);
        if (r == -ENOMEM)
            return err_set(err, ENOMEM, "no memory for field %s of a record", name);
        if (r < 0 || (!at_end(**at) && **at != ' '))
            return err_set(err, EINVAL, "%s: field %s has a value that is %s", kind, name,
                           r == -ERANGE ? "out of range" : "malformed");
    }
    return 0;
}

int field_decode_end(const char *kind, const char *at, struct err *err)
{
    return at_end(*at) ? 0 : err_set(err, EINVAL, "%s: more than its fields", kind);
}
