#include "lib/text_mark.h"

#include <errno.h>
#include <string.h>

static const char mark[3] = {'\xef', '\xbb', '\xbf'};

size_t text_mark(const char *text, size_t length)
{
    return length >= sizeof(mark) && memcmp(text, mark, sizeof(mark)) == 0 ? sizeof(mark) : 0;
}

size_t text_mark_cut(char *text, size_t length)
{
    size_t n = text_mark(text, length);
    if (n)
        memmove(text, text + n, length - n);
    return n;
}

int text_mark_skip(FILE *in, const char *name, struct err *err)
{
    int c = getc(in);
    if (c == 0xff || c == 0xfe)
        return err_set(err, EINVAL, "%s:1: this is UTF-16: write it as UTF-8", name);
    if (c != (unsigned char)mark[0]) {
        ungetc(c, in);
        return 0;
    }
    if (getc(in) == (unsigned char)mark[1] && getc(in) == (unsigned char)mark[2])
        return 0;
    return err_set(err, EINVAL, "%s:1: the text does not begin with UTF-8", name);
}
