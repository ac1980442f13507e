#include "lib/printable.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Length of the UTF-8 character at `s` (RFC 3629) and its number; 0 for bytes that are none. */
static size_t character(const unsigned char *s, uint32_t *ret_number)
{
    size_t length = *s < 0x80   ? 1
                    : *s < 0xc2 ? 0
                    : *s < 0xe0 ? 2
                    : *s < 0xf0 ? 3
                    : *s < 0xf5 ? 4
                                : 0;
    uint32_t number = length == 1 ? *s : *s & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        number = number << 6 | (s[i] & 0x3f);
    }
    if ((length == 3 && number < 0x800) ||
        (length == 4 && (number < 0x10000 || number > 0x10ffff)) ||
        (number >= 0xd800 && number < 0xe000))
        return 0;
    *ret_number = number;
    return length;
}

static bool is_printable(uint32_t number)
{
    return !(number < 0x20 || (number >= 0x7f && number < 0xa0) || number == 0x200e ||
             number == 0x200f || (number >= 0x2028 && number <= 0x202e) ||
             (number >= 0x2066 && number <= 0x2069));
}

/* The next character's end; *ret_length: its bytes if it is printable, else 0. */
static const char *next(const char *text, size_t *ret_length)
{
    uint32_t number;
    size_t length = character((const unsigned char *)text, &number);
    *ret_length = length && is_printable(number) ? length : 0;
    return text + (length ? length : 1);
}

void printable_clean(char *text)
{
    char *to = text;
    for (const char *at = text; *at;) {
        size_t length;
        const char *after = next(at, &length);
        if (length)
            memmove(to, at, length);
        else
            *to = '?';
        to += length ? length : 1;
        at = after;
    }
    *to = '\0';
}

size_t printable_plain(const char *text)
{
    size_t length = 0;
    while (text[length] >= ' ' && text[length] < 0x7f)
        length++;
    return text[length] ? SIZE_MAX : length;
}

void printable_make_utf8(char *text)
{
    for (char *at = text; *at;) {
        uint32_t number;
        size_t length = character((const unsigned char *)at, &number);
        if (!length)
            *at = '?';
        at += length ? length : 1;
    }
}

int printable_put(const char *text, FILE *out)
{
    for (const char *at = text; *at;) {
        size_t length;
        const char *after = next(at, &length);
        if (length ? fwrite(at, length, 1, out) != 1 : fputc('?', out) == EOF)
            return EOF;
        at = after;
    }
    return 0;
}
