/* Requests that count only if nothing changed since their client looked: Envelope.if_version is
 * what Status.version said then. Jobs that come and are cancelled change no version. For the files
 * behind control.h. */
#pragma once

#include "lib/wire.h"

struct control;

/* Whether it is refused: then the answer says what changed. O(1) unless it is. */
bool if_version_refuses(struct control *control, uint64_t client, const duopoly_Envelope *request);
