#include "testbed/sim/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double take_prefix(const char **at)
{
    static const char letters[] = "kMGT";
    const char *letter = **at ? strchr(letters, **at == 'K' ? 'k' : **at) : NULL;
    if (!letter)
        return 1;
    double base = 1000;
    if (*++*at == 'i') {
        base = 1024;
        ++*at;
    }
    return pow(base, (double)(letter - letters + 1));
}

int units_parse_rate(const char *text, double *ret_bytes_s, struct err *err)
{
    char *end;
    double bits_s = isdigit((unsigned char)*text) ? strtod(text, &end) : -1;
    const char *at = bits_s < 0 ? text : end;
    if (bits_s >= 0)
        bits_s *= take_prefix(&at);
    if (bits_s < 0 || (*at && strcmp(at, "bps") != 0 && strcmp(at, "bit/s") != 0))
        return err_set(err, EINVAL, "'%s' is not a rate such as 1Gbps or 100Mbps", text);
    if (!(bits_s >= 8 && bits_s <= 8e15))
        return err_set(err, EINVAL, "the rate %s is not between 8bps and 8000Tbps", text);
    *ret_bytes_s = bits_s / 8;
    return 0;
}
