#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

char *text_room(struct text *text, size_t n)
{
    size_t size = text->size ? text->size : 256;
    while (size - text->used < n)
        size *= 2;
    char *at = size > text->size ? realloc(text->at, size) : text->at;
    text->failed |= !at;
    if (!at)
        return NULL;
    text->at = at;
    text->size = size;
    text->used += n;
    return at + text->used - n;
}

void text_add(struct text *text, const char *bytes, size_t n)
{
    char *at = n ? text_room(text, n) : NULL;
    if (at)
        memcpy(at, bytes, n);
}

void text_word(struct text *text, const char *word)
{
    text_add(text, word, strlen(word));
}

void text_fill(struct text *text, char byte, size_t n)
{
    char *at = n ? text_room(text, n) : NULL;
    if (at)
        memset(at, byte, n);
}

void text_number(struct text *text, uint64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    text_add(text, digits + at, sizeof(digits) - at);
}

void text_signed(struct text *text, int64_t number)
{
    if (number < 0)
        text_add(text, "-", 1);
    text_number(text, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

void text_done(struct text *text)
{
    free(text->at);
    *text = (struct text){.at = NULL};
}
