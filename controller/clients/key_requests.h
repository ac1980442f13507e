/* Answers admins' requests about keys, and everybody's about the controller's keys, from the
 * keyring of the gate (agents_zmq.h). Only public halves pass here. Without a gate there are no
 * keys, and changes are refused with a sentence. */
#pragma once

#include "controller/agents_zmq.h"
#include "controller/clients/listing_sieve.h"

/* Each fills `answer`: Accepted or Refused; ControllerKeys; a Page. `judge`: it is only judged, and
 * nothing changes. */
void key_set_answer(struct agents_zmq *door, const duopoly_KeySet *set, bool judge,
                    duopoly_Envelope *answer);
void key_revoke_answer(struct agents_zmq *door, const duopoly_KeyRevoke *revoke, bool judge,
                       duopoly_Envelope *answer);
void rotate_controller_answer(struct agents_zmq *door, const duopoly_RotateController *rotate,
                              bool judge, duopoly_Envelope *answer);
void controller_keys_answer(const struct agents_zmq *door, duopoly_Envelope *answer);
uint64_t keys_page(const struct agents_zmq *door, uint64_t cursor, struct sieve *sieve,
                   duopoly_Page *page);
