#include "lib/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

const char *number_take(const char *text, uint64_t most, uint64_t *ret_number)
{
    uint64_t number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (digit > most || number > (most - digit) / 10)
            return NULL;
        number = 10 * number + digit;
    }
    if (at == text)
        return NULL;
    *ret_number = number;
    return at;
}

int number_read(const char *text, uint64_t least, uint64_t most, uint64_t *ret_number)
{
    uint64_t number;
    const char *end = number_take(text, most, &number);
    if (!end || *end || number < least)
        return -EINVAL;
    *ret_number = number;
    return 0;
}

int number_read_real(const char *text, double least, double most, double *ret_number)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)*text) ||
        !(number >= least && number <= most))
        return -EINVAL;
    *ret_number = number;
    return 0;
}
