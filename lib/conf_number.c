#include "lib/conf.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct suffix {
    const char *name;
    int64_t scale;
};

static const struct suffix plain_units[] = {{"", 1}, {NULL, 0}};
static const struct suffix duration_units[] = {
    {"ns", 1},         {"us", 1000},         {"ms", 1000000},
    {"s", 1000000000}, {"min", 60000000000}, {"h", 3600000000000},
    {NULL, 0},
};
static const struct suffix rate_units[] = {
    {"bps", 1}, {"kbps", 1000}, {"Mbps", 1000000}, {"Gbps", 1000000000}, {NULL, 0},
};
static const struct suffix byte_units[] = {
    {"B", 1},         {"kB", 1000},     {"MB", 1000000},  {"GB", 1000000000}, {"TB", 1000000000000},
    {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0},
};
static const struct suffix share_units[] = {{"%", 10}, {NULL, 0}};

static const struct kind {
    const struct suffix *units;
    const char *words; /* how to write one */
} kinds[] = {
    [CONF_INT] = {plain_units, "a whole number"},
    [CONF_DURATION] = {duration_units, "a number with a unit of time: ns, us, ms, s, min or h"},
    [CONF_RATE] = {rate_units, "a number with a unit: bps, kbps, Mbps or Gbps"},
    [CONF_BYTES] = {byte_units, "a number with a unit: B, kB, MB, GB, TB, KiB, MiB or GiB"},
    [CONF_SHARE] = {share_units, "a number with %, to a tenth"},
};

static const struct suffix *suffix_find(const struct suffix *units, const char *name)
{
    while (units->name && strcmp(units->name, name) != 0)
        units++;
    return units->name ? units : NULL;
}

/* Reads digits with at most one point: mantissa ÷ 10^places. Returns what follows them, NULL if
 * there are none. */
static const char *decimal_read(const char *text, int64_t *ret_mantissa, int *ret_places)
{
    int64_t mantissa = 0;
    int places = -1, digits = 0;
    for (; isdigit((unsigned char)*text) || (*text == '.' && places < 0); text++) {
        if (*text == '.') {
            places = 0;
            continue;
        }
        if (++digits > 18)
            return NULL;
        mantissa = mantissa * 10 + (*text - '0');
        places += places >= 0;
    }
    *ret_mantissa = mantissa;
    *ret_places = places < 0 ? 0 : places;
    return digits ? text : NULL;
}

int conf_number(enum conf_type type, const char *text, int64_t *ret_value, struct err *err)
{
    const struct kind *kind = &kinds[type];
    int64_t mantissa;
    int places;
    const char *rest = decimal_read(text + (*text == '-'), &mantissa, &places);
    if (!rest)
        return err_set(err, EINVAL, "'%s' is not %s", text, kind->words);
    while (*rest == ' ')
        rest++;
    const struct suffix *suffix = suffix_find(kind->units, rest);
    if (!suffix)
        return err_set(err, EINVAL, "'%s' is not %s", text, kind->words);
    __int128 value = (__int128)mantissa * suffix->scale;
    for (; places > 0; places--) {
        if (value % 10)
            return err_set(err, EINVAL, "'%s' is finer than this setting can be", text);
        value /= 10;
    }
    if (value > INT64_MAX)
        return err_set(err, EINVAL, "'%s' is too large", text);
    *ret_value = *text == '-' ? -(int64_t)value : (int64_t)value;
    return 0;
}
