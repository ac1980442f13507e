#include "lib/wire_texts.h"

#include "lib/printable.h"

#include <pb_common.h>

static size_t count_of(const pb_field_iter_t *field)
{
    switch (PB_HTYPE(field->type)) {
    case PB_HTYPE_REPEATED:
        return *(const pb_size_t *)field->pSize;
    case PB_HTYPE_ONEOF:
        return *(const pb_size_t *)field->pSize == field->tag;
    default:
        return 1;
    }
}

/* Whether a message of this kind, or its parts, can have any. The schema's nesting bounds the
 * recursion. */
static bool has_texts(const pb_msgdesc_t *kind, void *message)
{
    pb_field_iter_t field;
    if (!pb_field_iter_begin(&field, kind, message))
        return false;
    do
        if (PB_LTYPE(field.type) == PB_LTYPE_STRING ||
            (PB_LTYPE_IS_SUBMSG(field.type) && has_texts(field.submsg_desc, field.pField)))
            return true;
    while (pb_field_iter_next(&field));
    return false;
}

static void message_clean(const pb_msgdesc_t *kind, void *message);

static void field_clean(const pb_field_iter_t *field)
{
    const bool is_text = PB_LTYPE(field->type) == PB_LTYPE_STRING;
    size_t count = count_of(field);
    if (count == 0 || (!is_text && !(PB_LTYPE_IS_SUBMSG(field->type) &&
                                     has_texts(field->submsg_desc, field->pField))))
        return;
    for (char *at = field->pField; count > 0; count--, at += field->data_size)
        if (is_text)
            printable_make_utf8(at);
        else
            message_clean(field->submsg_desc, at);
}

static void message_clean(const pb_msgdesc_t *kind, void *message)
{
    pb_field_iter_t field;
    if (!pb_field_iter_begin(&field, kind, message))
        return;
    do
        field_clean(&field);
    while (pb_field_iter_next(&field));
}

void wire_texts_clean(duopoly_Envelope *envelope)
{
    pb_field_iter_t body;
    if (pb_field_iter_begin(&body, duopoly_Envelope_fields, envelope) &&
        pb_field_iter_find(&body, envelope->which_body))
        field_clean(&body);
}
