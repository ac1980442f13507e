/* A parameter of a policy and its value, as an option of the command line says them. */
#pragma once

#include "controller/engine/engine.h"
#include "lib/err.h"

/* Reads WORD=VALUE, as that policy's documentation writes the value. `option`: the name of the
 * option, for sentences. 0, or −EINVAL or −ERANGE with a sentence: of another form, a word that no
 * policy has, a value that it does not take. Pure; O(parameters). */
int policy_value_read(const char *option, const char *text, struct engine_value *ret_said,
                      struct err *err);
