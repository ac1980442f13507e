#include "lib/rowpack.h"

#include "lib/printable.h"

#include <pb_common.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers are read from their first byte on");

enum { VARINT_BYTES = 10, HEAD_BYTES = 3 /* at most, of a row's length */ };
enum { WIRE_VARINT = 0, WIRE_8_BYTES = 1, WIRE_TEXT = 2, WIRE_4_BYTES = 5 };

static bool is_packable(const pb_field_iter_t *field)
{
    const pb_type_t type = PB_LTYPE(field->type);
    return PB_ATYPE(field->type) == PB_ATYPE_STATIC && PB_HTYPE(field->type) == PB_HTYPE_OPTIONAL &&
           field->tag < ROWPACK_TAGS && (type <= PB_LTYPE_SVARINT || type == PB_LTYPE_STRING);
}

bool rowpack_init(struct rowpack *pack, const pb_msgdesc_t *kind, size_t row_bytes)
{
    pb_field_iter_t field;
    char *const row = (char *)pack; /* only where fields are in it is asked */
    *pack = (struct rowpack){.row_bytes = row_bytes};
    if (!kind || row_bytes > UINT16_MAX || !pb_field_iter_begin(&field, kind, row))
        return false;
    do {
        if (pack->n == ROWPACK_FIELDS || !is_packable(&field))
            return false;
        pack->fields[pack->n++] = (struct rowpack_field){
            .tag = (uint8_t)field.tag,
            .type = (uint8_t)PB_LTYPE(field.type),
            .optional = field.pSize != NULL,
            .at = (uint16_t)((char *)field.pData - row),
            .has = field.pSize ? (uint16_t)((char *)field.pSize - row) : 0,
            .size = (uint16_t)field.data_size,
        };
        pack->place[field.tag] = pack->n;
    } while (pb_field_iter_next(&field));
    return true;
}

/* ---- writing ---- */

struct pen {
    uint8_t *to, *end;
};

static bool byte_put(struct pen *pen, uint64_t byte)
{
    if (pen->to == pen->end)
        return false;
    *pen->to++ = (uint8_t)byte;
    return true;
}

static bool varint_put(struct pen *pen, uint64_t number)
{
    for (; number > 0x7f; number >>= 7)
        if (!byte_put(pen, (number & 0x7f) | 0x80))
            return false;
    return byte_put(pen, number);
}

static uint64_t number_of(const struct rowpack_field *field, const char *at)
{
    const bool is_signed = field->type == PB_LTYPE_VARINT || field->type == PB_LTYPE_SVARINT;
    uint64_t number = 0;
    memcpy(&number, at, field->size);
    if (is_signed && field->size < sizeof(number) && number >> (8u * field->size - 1))
        number |= UINT64_MAX << 8u * field->size;
    if (field->type == PB_LTYPE_SVARINT)
        number = number << 1 ^ (number >> 63 ? UINT64_MAX : 0);
    return number;
}

static bool text_put(struct pen *pen, const char *text, size_t size)
{
    const size_t length = strnlen(text, size);
    if (!varint_put(pen, length) || (size_t)(pen->end - pen->to) < length)
        return false;
    memcpy(pen->to, text, length);
    pen->to += length;
    return true;
}

static bool field_put(struct pen *pen, const struct rowpack_field *field, const char *at)
{
    const bool text = field->type == PB_LTYPE_STRING;
    return varint_put(pen, (uint64_t)field->tag << 3 | (text ? WIRE_TEXT : WIRE_VARINT)) &&
           (text ? text_put(pen, at, field->size) : varint_put(pen, number_of(field, at)));
}

/* As their readers see them. */
static bool is_same(const struct rowpack_field *field, const char *a, const char *b)
{
    switch (field->type == PB_LTYPE_STRING ? 0 : field->size) {
    case 0:
        return strncmp(a, b, field->size) == 0;
    case 4:
        return memcmp(a, b, 4) == 0;
    case 8:
        return memcmp(a, b, 8) == 0;
    default:
        return memcmp(a, b, field->size) == 0;
    }
}

static bool is_nothing(const struct rowpack_field *field, const char *at)
{
    return field->type == PB_LTYPE_STRING ? !*at : number_of(field, at) == 0;
}

static bool has(const struct rowpack_field *field, const char *row)
{
    return !field->optional || *(const bool *)(row + field->has);
}

/* What says nothing that is said already; `before` NULL: nothing is said. */
static bool is_said(const struct rowpack_field *field, const char *before, const char *row)
{
    if (!has(field, row))
        return true;
    if (before && has(field, before))
        return is_same(field, before + field->at, row + field->at);
    return !field->optional && is_nothing(field, row + field->at);
}

/* A merger cannot take a field away. */
static bool loses(const struct rowpack *pack, const char *before, const char *row)
{
    for (uint8_t i = 0; i < pack->n; i++)
        if (pack->fields[i].optional && has(&pack->fields[i], before) &&
            !has(&pack->fields[i], row))
            return true;
    return false;
}

size_t rowpack_put(const struct rowpack *pack, const void *before, const void *row, uint8_t *to,
                   size_t room)
{
    if (before && loses(pack, before, row))
        before = NULL;
    if (room <= HEAD_BYTES)
        return 0;
    struct pen pen = {to + 1, to + room - HEAD_BYTES};
    for (uint8_t i = 0; i < pack->n; i++)
        if (!is_said(&pack->fields[i], before, row) &&
            !field_put(&pen, &pack->fields[i], (const char *)row + pack->fields[i].at))
            return 0;
    const size_t length = (size_t)(pen.to - to) - 1;
    uint8_t bytes[HEAD_BYTES];
    struct pen head = {bytes, bytes + sizeof(bytes)};
    if (!varint_put(&head, length << 1 | !before))
        return 0;
    const size_t used = (size_t)(head.to - bytes);
    if (used > 1)
        memmove(to + used, to + 1, length);
    memcpy(to, bytes, used);
    return used + length;
}

/* ---- reading ---- */

struct eye {
    const uint8_t *from, *end;
};

static bool varint_take(struct eye *eye, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (unsigned shift = 0; eye->from < eye->end && shift < 7 * VARINT_BYTES; shift += 7) {
        const uint8_t byte = *eye->from++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        *ret_number = number;
        return true;
    }
    return false;
}

static bool text_take(struct eye *eye, const struct rowpack_field *field, char *at)
{
    uint64_t length;
    if (!varint_take(eye, &length) || length > (uint64_t)(eye->end - eye->from) ||
        (field && length >= field->size))
        return false;
    if (field) {
        memcpy(at, eye->from, length);
        at[length] = '\0';
        printable_make_utf8(at);
    }
    eye->from += length;
    return true;
}

/* False: the member is too small for it. */
static bool number_store(const struct rowpack_field *field, uint64_t number, char *at)
{
    const uint64_t said = number;
    if (field->type == PB_LTYPE_BOOL)
        number = number != 0;
    if (field->type == PB_LTYPE_SVARINT)
        number = number >> 1 ^ (number & 1 ? UINT64_MAX : 0);
    memcpy(at, &number, field->size);
    return field->type == PB_LTYPE_BOOL || number_of(field, at) == said;
}

/* A field that is not known here, or of another type than it has here. */
static bool pass_over(struct eye *eye, unsigned type)
{
    uint64_t number;
    const size_t fixed = type == WIRE_8_BYTES ? 8 : 4;
    if (type == WIRE_VARINT)
        return varint_take(eye, &number);
    if (type == WIRE_TEXT)
        return text_take(eye, NULL, NULL);
    if ((type != WIRE_8_BYTES && type != WIRE_4_BYTES) || (size_t)(eye->end - eye->from) < fixed)
        return false;
    eye->from += fixed;
    return true;
}

static bool field_take(struct eye *eye, const struct rowpack *pack, char *row)
{
    uint64_t tag, number;
    if (!varint_take(eye, &tag))
        return false;
    const unsigned type = (unsigned)(tag & 7);
    const uint8_t place = tag >> 3 < ROWPACK_TAGS ? pack->place[tag >> 3] : 0;
    const struct rowpack_field *field = place ? &pack->fields[place - 1] : NULL;
    if (!field)
        return pass_over(eye, type);
    const bool text = field->type == PB_LTYPE_STRING;
    if (type != (text ? WIRE_TEXT : WIRE_VARINT))
        return false;
    if (field->optional)
        *(bool *)(row + field->has) = true;
    return text ? text_take(eye, field, row + field->at)
                : varint_take(eye, &number) && number_store(field, number, row + field->at);
}

size_t rowpack_take(const struct rowpack *pack, const uint8_t *from, size_t size, void *row)
{
    uint64_t head;
    struct eye eye = {from, from + size};
    if (!varint_take(&eye, &head) || head >> 1 > (uint64_t)(eye.end - eye.from))
        return 0;
    eye.end = eye.from + (head >> 1);
    if (head & 1)
        memset(row, 0, pack->row_bytes);
    while (eye.from < eye.end)
        if (!field_take(&eye, pack, row))
            return 0;
    return (size_t)(eye.end - from);
}
