/* Options that the replay's server and tasks share. */
#pragma once

#include <argp.h>
#include <stdint.h>

/* A TCP port, 1…65535; anything else ends the program with one sentence and code 2. */
uint16_t option_port(struct argp_state *state, const char *value);
