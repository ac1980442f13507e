/* The token of the HTTP port: a word in a file that not everybody may read. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>

#define TOKEN_MIN 16
#define TOKEN_MAX 128

/* `path` "none": *ret_token is "". −EPERM: everybody may read the file; −EINVAL: it has no such
 * word. Blocks; no sentence has the token. */
int token_read(const char *path, char ret_token[TOKEN_MAX + 1], struct err *err);

/* Whether a request's Authorization (NULL: it has none) shows the token ("": none is asked for).
 * Takes as long for a wrong token as for the right one. */
bool token_is_shown(const char *token, const char *authorization);
