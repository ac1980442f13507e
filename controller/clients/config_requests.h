/* Handles the request to read the configuration's file again (controller/reload.h). */
#pragma once

#include "controller/conductor.h"

/* Fills an Accepted, which names what was taken and what was not, or a Refused. */
void config_reload_answer(struct conductor *conductor, duopoly_Envelope *answer);
