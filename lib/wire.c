#include "lib/wire.h"

#include "lib/invariant.h"
#include "lib/wire_texts.h"

#include <errno.h>
#include <pb_decode.h>
#include <pb_encode.h>
#include <string.h>

/* The bounds of duopoly.options keep every message below the limit: nothing that encodes can be
 * refused for its size. */
_Static_assert(duopoly_Envelope_size <= WIRE_MAX_BYTES, "an Envelope may outgrow a message");

int wire_encode(const duopoly_Envelope *envelope, uint8_t *buffer, size_t size, size_t *ret_length,
                struct err *err)
{
    pb_ostream_t out = pb_ostream_from_buffer(buffer, size);
    if (!pb_encode(&out, duopoly_Envelope_fields, envelope)) {
        size_t needed;
        if (pb_get_encoded_size(&needed, duopoly_Envelope_fields, envelope) && needed > size)
            return err_set(err, EMSGSIZE, "a message of %zu bytes does not fit %zu", needed, size);
        return err_set(err, EINVAL, "a '%s' cannot be encoded: %s",
                       wire_kind_name(envelope->which_body), PB_GET_ERROR(&out));
    }
    *ret_length = out.bytes_written;
    return 0;
}

size_t wire_length(const duopoly_Envelope *envelope)
{
    size_t length = 0;
    return pb_get_encoded_size(&length, duopoly_Envelope_fields, envelope) ? length : 0;
}

int wire_decode(const uint8_t *message, size_t length, duopoly_Envelope *ret_envelope,
                struct err *err)
{
    if (length > WIRE_MAX_BYTES)
        return err_set(err, EMSGSIZE, "a message of %zu bytes, at most %d are allowed", length,
                       WIRE_MAX_BYTES);
    pb_istream_t in = pb_istream_from_buffer(message, length);
    if (!pb_decode(&in, duopoly_Envelope_fields, ret_envelope))
        return err_set(err, EBADMSG, "malformed message of %zu bytes: %s", length,
                       PB_GET_ERROR(&in));
    wire_texts_clean(ret_envelope);
    return 0;
}

duopoly_Envelope *wire_begin(duopoly_Envelope *envelope, pb_size_t kind)
{
    memset(envelope, 0, sizeof(*envelope));
    envelope->version = WIRE_VERSION_MAX;
    envelope->which_body = kind;
    return envelope;
}

/* From the schema's own list, without the fields before the body. */
#define MEMBER_NAME(oneof, member, field) #member
#define NAME_SINGULAR(field, tag)
#define NAME_ONEOF(field, tag)                   [tag] = MEMBER_NAME field,
#define NAME(a, storage, rule, type, field, tag) NAME_##rule(field, tag)
static const char *const kind_names[WIRE_KINDS] = {duopoly_Envelope_FIELDLIST(NAME, )};

const char *wire_kind_name(pb_size_t kind)
{
    return kind < WIRE_KINDS && kind_names[kind] ? kind_names[kind] : "unknown";
}

void wire_copy(char *field, size_t size, const char *text)
{
    size_t length = strnlen(text, size);
    if (length == size) {
        length = size - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    memmove(field, text, length);
    field[length] = '\0';
}

int wire_take(char *field, size_t size, const char *text, const char *what, struct err *err)
{
    *field = '\0';
    if (strlen(text) >= size)
        return err_set(err, ENAMETOOLONG,
                       "'%.80s%s' is longer than %s, which has %zu bytes at most", text,
                       strlen(text) > 80 ? "…" : "", what, size - 1);
    wire_copy(field, size, text);
    return 0;
}

bool wire_name_valid(const char *name)
{
    size_t length = strnlen(name, 64);
    if (length < 1 || length > 63)
        return false;
    for (; *name; name++)
        if (*name <= ' ' || *name > '~' || strchr("/\"'\\", *name))
            return false;
    return true;
}

uint32_t wire_version_agree(uint32_t peer_min, uint32_t peer_max)
{
    uint32_t highest = peer_max < WIRE_VERSION_MAX ? peer_max : WIRE_VERSION_MAX;
    return highest >= peer_min && highest >= WIRE_VERSION_MIN ? highest : 0;
}

bool wire_hello_newer(uint64_t have_boot, uint64_t have_sequence, uint64_t boot, uint64_t sequence)
{
    return boot != have_boot || sequence > have_sequence;
}

/* Only received messages are acknowledged, and only sent ones answered. */
static bool in_order(const struct wire_session *session)
{
    return session->acknowledged <= session->effected && session->effected <= session->received &&
           session->received - session->effected <= WIRE_WINDOW &&
           session->answered <= session->sent && session->sent - session->answered <= WIRE_WINDOW;
}

void wire_session_init(struct wire_session *session, uint32_t version, uint32_t epoch)
{
    *session = (struct wire_session){.version = version, .epoch = epoch};
}

enum wire_verdict wire_session_accept(struct wire_session *session,
                                      const duopoly_Envelope *envelope)
{
    if (envelope->epoch < session->epoch)
        return WIRE_EPOCH;
    if (envelope->epoch > session->epoch || envelope->version != session->version ||
        envelope->acknowledged > session->sent)
        return WIRE_NONSENSE;
    if (envelope->sequence) {
        if (envelope->sequence <= session->received)
            return WIRE_DUPLICATE;
        if (envelope->sequence != session->received + 1)
            return WIRE_GAP;
        if (envelope->sequence - session->effected > WIRE_WINDOW)
            return WIRE_NONSENSE;
        session->received = envelope->sequence;
    }
    if (envelope->acknowledged > session->answered)
        session->answered = envelope->acknowledged;
    assert(in_order(session));
    return WIRE_TAKE;
}

static uint64_t *late_word(struct wire_session *session, uint64_t sequence, uint64_t *ret_bit)
{
    *ret_bit = UINT64_C(1) << (sequence % 64);
    return &session->late[sequence % WIRE_WINDOW / 64];
}

void wire_session_effected(struct wire_session *session, uint64_t sequence)
{
    uint64_t bit, *word;
    if (sequence <= session->effected || sequence > session->received)
        return;
    word = late_word(session, sequence, &bit);
    *word |= bit;
    while (word = late_word(session, session->effected + 1, &bit), *word & bit) {
        *word &= ~bit;
        session->effected++;
    }
    assert(in_order(session));
}

int wire_session_stamp(struct wire_session *session, duopoly_Envelope *envelope, bool changes_state)
{
    if (changes_state && session->sent - session->answered >= WIRE_WINDOW)
        return -ENOBUFS;
    envelope->version = session->version;
    envelope->epoch = session->epoch;
    envelope->sequence = changes_state ? ++session->sent : 0;
    envelope->acknowledged = session->acknowledged = session->effected;
    assert(in_order(session));
    return 0;
}
