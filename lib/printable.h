/* Cleans text from peers or files before a person sees it: a terminal obeys control characters, and
 * a line break can forge a line.
 *
 * Each byte or character that is not printable becomes '?': control characters (C0 with tab and
 * line break, DEL, C1), characters that turn or break lines (U+200E and F, U+2028…202E,
 * U+2066…2069), and bytes that are not UTF-8. `struct err` and the log clean their texts
 * themselves; everything else that prints words from files or messages uses this. JSON does not
 * need it: it is written in ASCII. No state, no allocation; linear. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* In place; the text gets no longer. */
void printable_clean(char *text);

/* Whether it is all printable ASCII, so that there is nothing to clean, and each byte is a
 * character: then its length is returned. SIZE_MAX: it is not. */
size_t printable_plain(const char *text);

/* Replaces only bytes that are not UTF-8, each by '?'; in place, the length stays. */
void printable_make_utf8(char *text);

/* Prints the text cleaned. Like fputs: negative if that failed. */
int printable_put(const char *text, FILE *out);
