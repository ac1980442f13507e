/* Values as programs read them, in JSON and CSV: shared by these forms alone. */
#pragma once

#include "lib/writer.h"

/* Adds a value that is neither a text nor absent: digits, true or false, a time in RFC 3339.
 * Nothing of it needs an escape. */
void raw_put(struct text *out, const struct value *value);
/* A time is in quotes in JSON, and so is what names something. */
bool raw_is_quoted(const struct value *value);
