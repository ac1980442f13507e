/* Strings of decoded messages are UTF-8.
 *
 * The schema's language says that a string is UTF-8, and other implementations take no message at
 * all in which one is not: a host that says something else of itself would keep a whole page of
 * `List` from every client that is not ours. nanopb hands on what bytes came. So what is no UTF-8
 * becomes '?', byte by byte, as soon as a message is decoded, and all that is told on is valid.
 * WHY not refused: a task's last words, a command line or an interface's name may be any bytes,
 * and who passes them on has done nothing wrong. */
#pragma once

#include "schemas/duopoly.pb.h"

/* In place; no string gets longer. Linear in the message's strings and in the fields of its parts;
 * lists of parts without strings cost nothing. */
void wire_texts_clean(duopoly_Envelope *envelope);
