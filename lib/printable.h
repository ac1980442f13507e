/* Words of others on their way to a person: a terminal obeys control characters, and a line break
 * forges a line.
 *
 * What is not printable becomes '?', each byte or character one: control characters (C0 with tab
 * and line break, DEL, C1), characters that turn or break lines (U+200E and F, U+2028…202E,
 * U+2066…2069), and bytes that are no UTF-8. `struct err` and the log clean themselves; everything
 * else that prints words out of files or messages uses this. JSON needs it not: it is written in
 * ASCII. No state, no allocation; linear. */
#pragma once

#include <stdio.h>

/* In place; the text gets no longer. */
void printable_clean(char *text);

/* Only bytes that are no UTF-8 become '?', each; in place, the length stays. */
void printable_make_utf8(char *text);

/* Writes it cleaned. As fputs: negative if that failed. */
int printable_put(const char *text, FILE *out);
