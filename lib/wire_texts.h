/* Makes the strings of decoded messages valid UTF-8.
 *
 * Protocol Buffers require strings to be UTF-8, and other implementations refuse a whole message in
 * which one is not. A host with one bad string would keep a whole page of `List` from every client
 * that is not ours. nanopb passes on any bytes. So each byte that is not UTF-8 becomes '?' as soon
 * as a message is decoded, and everything that is passed on is valid. WHY not refused: a task's
 * last words, a command line or an interface's name may be any bytes, and the sender that passes
 * them on has done nothing wrong. */
#pragma once

#include "schemas/duopoly.pb.h"

/* In place; no string gets longer. Linear in the message's strings and the fields of its parts;
 * lists of parts without strings cost nothing. */
void wire_texts_clean(duopoly_Envelope *envelope);
