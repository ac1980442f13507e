/* Handles requests about users: makes one known, changes its name or share, or lets it go. What is
 * set is kept in the store (user_setting.h). */
#pragma once

#include "controller/conductor.h"
#include "schemas/duopoly.pb.h"

void user_set_answer(struct conductor *conductor, const duopoly_SetUser *set,
                     duopoly_Envelope *answer);
