/* The byte order mark that some editors put before a text (U+FEFF; in UTF-8 three bytes): no part of it.
 * Texts of ours are UTF-8, so a mark of UTF-16 is refused, not skipped. */
#pragma once

#include "lib/err.h"

#include <stddef.h>
#include <stdio.h>

/* Bytes of the mark that the text begins with: 3 or 0. */
size_t text_mark(const char *text, size_t length);

/* Takes it out of a string of `length` bytes with its NUL; how many bytes it was. */
size_t text_mark_cut(char *text, size_t length);

/* Reads over it where it stands; `name` is the file's in sentences. −EINVAL: the text is UTF-16. A read
 * error is left to the next read. */
int text_mark_skip(FILE *in, const char *name, struct err *err);
