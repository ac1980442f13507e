/* The byte order mark that some editors put before a text (U+FEFF; three bytes in UTF-8). It is not
 * part of the text. Our texts are UTF-8, so a UTF-16 mark is refused, not skipped. */
#pragma once

#include "lib/err.h"

#include <stddef.h>
#include <stdio.h>

/* Bytes of the mark that the text begins with: 3 or 0. */
size_t text_mark(const char *text, size_t length);

/* Removes it from a string of `length` bytes, including the NUL. Returns how many bytes it was. */
size_t text_mark_cut(char *text, size_t length);

/* Skips it if the stream begins with it; `name` is the file's, for sentences. −EINVAL: the text is
 * UTF-16. A read error is left to the next read. */
int text_mark_skip(FILE *in, const char *name, struct err *err);
