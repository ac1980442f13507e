/* Encodes and decodes messages (schemas/duopoly.proto) and keeps the state of one session, without
 * any transport.
 *
 * Codec: a message is one Envelope of at most WIRE_MAX_BYTES; nanopb decodes it into a structure of
 * fixed size with nothing allocated, and refuses whatever breaks a bound of
 * schemas/duopoly.options. An envelope of a kind that this program does not know decodes with
 * which_body 0: it is to be ignored and counted, never an error.
 *
 * Session: what both ends remember of one connection between HELLO and its end.
 *  - Outgoing state-changing messages are numbered from 1; the peer acknowledges them cumulatively
 *    once they took effect. At most WIRE_WINDOW may be unacknowledged: then wire_session_stamp
 *    returns −ENOBUFS, and the owner ends the session (the peer no longer processes anything).
 *  - Incoming ones must come in order. A number seen before is a duplicate (harmless, already
 *    acknowledged); a gap means that a message was lost, and the session must end. Messages may
 *    take effect in any order; the acknowledgement is the largest number up to which all have.
 *  - Epochs: the controller's epoch grows with each start. A message that carries an older epoch
 *    than the session's is refused.
 *
 * Everything here is pure (no clock, socket or global) and O(1), amortised where a late effect
 * closes a hole.
 *
 * An Envelope is about 36 KB: owners keep one for reading and one for writing, not one on every
 * stack. */
#pragma once

#include "lib/err.h"
#include "schemas/duopoly.pb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION_MIN 1
#define WIRE_VERSION_MAX 1
#define WIRE_MAX_BYTES   65536
#define WIRE_WINDOW                                                                                \
    4096 /* state-changing messages without an answer, per direction; a power of 2 */
#define WIRE_RECEIVE    4 /* messages of one agent that may wait here to be read */
#define WIRE_PEER_BYTES ((WIRE_RECEIVE + 1) * WIRE_MAX_BYTES) /* those, and one that is arriving */
#define WIRE_PARTS      32 /* parts of a stream (submission) that may be unanswered */

/* One more than the largest number of a kind in the schema: the size of a table by kind. */
#define WIRE_KIND_BYTES(a, storage, rule, type, field, tag) char upto##tag[tag + 1];
enum { WIRE_KINDS = sizeof(union {duopoly_Envelope_FIELDLIST(WIRE_KIND_BYTES, )}) };

/* The value of which_body for a kind, by the kind's name in the schema. */
#define WIRE_KIND(name) duopoly_Envelope_##name##_tag

/* Writes `envelope` to buffer[size] and sets the length. −EMSGSIZE if it does not fit, −EINVAL if
 * it is not valid. */
int wire_encode(const duopoly_Envelope *envelope, uint8_t *buffer, size_t size, size_t *ret_length,
                struct err *err);

/* Its encoded length in bytes; 0 if it is not valid. */
size_t wire_length(const duopoly_Envelope *envelope);

/* Reads a message. −EMSGSIZE if it is too long, −EBADMSG if it is malformed; *ret_envelope is then
 * undefined. */
int wire_decode(const uint8_t *message, size_t length, duopoly_Envelope *ret_envelope,
                struct err *err);

/* Empties `envelope` and gives it a kind (duopoly_Envelope_…_tag), with the body zeroed. Returns
 * `envelope`. */
duopoly_Envelope *wire_begin(duopoly_Envelope *envelope, pb_size_t kind);

/* The kind's name as in the schema ("start", "agent_heartbeat"), "unknown" for others. Never
 * NULL. */
const char *wire_kind_name(pb_size_t kind);

/* Copies text for people into a message's string field; cuts it at the end if it is too long (never
 * inside a UTF-8 character). Names are copied by wire_take, unless the field is as large as their
 * source: a cut name could be another's. */
void wire_copy(char *field, size_t size, const char *text);

/* Copies a name whole. −ENAMETOOLONG if the field is too small, with a sentence that calls the name
 * `what` ("a host's name"); the field is then empty. */
int wire_take(char *field, size_t size, const char *text, const char *what, struct err *err);

/* Whether `name` may be a host's, job's or rack's name: printable ASCII without spaces, '/',
 * quotes, 1 to 63 bytes. */
bool wire_name_valid(const char *name);

/* The highest version that both sides speak, 0 if there is none. */
uint32_t wire_version_agree(uint32_t peer_min, uint32_t peer_max);

/* Whether a HELLO replaces the session of its identity: it does after a new boot, or with a higher
 * sequence in the same boot. */
bool wire_hello_newer(uint64_t have_boot, uint64_t have_sequence, uint64_t boot, uint64_t sequence);

struct wire_session {
    uint32_t version;
    uint32_t epoch;                  /* of the controller that the session is with */
    uint64_t sent;                   /* the last number given to an outgoing message */
    uint64_t answered;               /* the peer said that ours up to here took effect */
    uint64_t received;               /* the last number received */
    uint64_t effected;               /* theirs up to here took effect: what we acknowledge */
    uint64_t acknowledged;           /* the last `effected` that a stamped message carried */
    uint64_t late[WIRE_WINDOW / 64]; /* bit n mod WIRE_WINDOW: number n > effected has taken effect
                                 * already */
};

enum wire_verdict {
    WIRE_TAKE,      /* new, or without a number: handle it */
    WIRE_DUPLICATE, /* ignore it; the acknowledgement is sent again anyway */
    WIRE_GAP,       /* a message was lost: end the session */
    WIRE_EPOCH,     /* from an older epoch of the controller: refuse it */
    WIRE_NONSENSE,  /* acknowledges what was never sent, other version, later epoch, too far ahead:
                       end the  session */
};

void wire_session_init(struct wire_session *session, uint32_t version, uint32_t epoch);

/* Judges an incoming message. For WIRE_TAKE its number and acknowledgement are recorded. HELLO,
 * WELCOME and client requests belong to no session: do not pass them. */
enum wire_verdict wire_session_accept(struct wire_session *session,
                                      const duopoly_Envelope *envelope);

/* Records that the message with this number took effect; 0 and known numbers do nothing. */
void wire_session_effected(struct wire_session *session, uint64_t sequence);

/* Fills version, epoch, acknowledgement and, if it changes state, the next number. −ENOBUFS: the
 * window is full. */
int wire_session_stamp(struct wire_session *session, duopoly_Envelope *envelope,
                       bool changes_state);

/* Whether an acknowledgement is due: the owner sends an Acknowledge if it sends nothing else. */
static inline bool wire_session_owes(const struct wire_session *session)
{
    return session->effected != session->acknowledged;
}
