/* The options of lib/workload/workload_convert.h from words. */
#include "lib/workload/workload_convert.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* "12", "12.5", "10G" as thousandths; −EINVAL for anything else, and for what does not fit. */
static int read_milli(const char *text, uint64_t *ret_milli)
{
    static const struct {
        char letter;
        uint64_t factor;
    } suffixes[] = {{0, 1}, {'k', 1000}, {'M', 1000000}, {'G', 1000000000}};
    uint64_t milli = 0, unit = 1000;
    const char *at = text;
    if (*at < '0' || *at > '9')
        return -EINVAL;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(milli, 10, &milli) ||
            __builtin_add_overflow(milli, (uint64_t)(*at - '0') * 1000, &milli))
            return -EINVAL;
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9' && unit > 1; at++)
            milli += (uint64_t)(*at - '0') * (unit /= 10);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        if (*at == suffixes[i].letter && (!*at || !at[1])) {
            *ret_milli = milli;
            return __builtin_mul_overflow(milli, suffixes[i].factor, ret_milli) ? -EINVAL : 0;
        }
    return -EINVAL;
}

/* A row's field has 4 or 8 bytes; `milli` options keep their thousandths, the others must be
 * whole. */
static const struct option {
    const char *name;
    size_t offset, size;
    bool milli;
    uint64_t min, max;
} options_table[] = {
#define ROW(name, field, milli, min, max)                                                          \
    {                                                                                              \
        name, offsetof(struct workload_convert, field),                                            \
            sizeof(((struct workload_convert *)0)->field), milli, min, max                         \
    }
    ROW("jobs", jobs, false, 0, UINT64_MAX / 1000),
    ROW("speed", speed_milli, true, 1, UINT32_MAX),
    ROW("cap", cap_bytes, false, 0, WORKLOAD_BYTES_MAX),
    ROW("scale", scale, false, 1, WORKLOAD_SCALE_MAX),
    ROW("hosts", hosts, false, 1, WORKLOAD_HOSTS_MAX),
    ROW("slots", slots, false, 1, UINT32_MAX),
    ROW("link", link_bps, false, 1, INT64_MAX / 1000),
    ROW("seed", seed, false, 0, UINT64_MAX / 1000),
    ROW("compute", compute_bytes_s, false, 1, INT64_MAX / 1000),
    ROW("map_mb", map_mb, false, 0, UINT32_MAX),
    ROW("replicas", replicas, false, 1, WORKLOAD_REPLICAS_MAX),
    ROW("gpu", gpu_milli, true, 0, 1000),
    ROW("gpu_speed", gpu_speed_milli, true, 1, 1000000),
#undef ROW
};

static const struct option *find_option(const char *name)
{
    for (size_t i = 0; i < sizeof(options_table) / sizeof(options_table[0]); i++)
        if (strcmp(options_table[i].name, name) == 0)
            return &options_table[i];
    return NULL;
}

int workload_convert_set(struct workload_convert *options, const char *name, const char *value,
                         struct err *err)
{
    const struct option *option = find_option(name);
    uint64_t number;
    if (!option)
        return err_set(err, EINVAL, "unknown workload option \"%s\"", name);
    if (read_milli(value, &number) < 0 || (!option->milli && number % 1000 != 0))
        return err_set(err, EINVAL, "%s is \"%s\", must be a number such as 12, 100M%s", name,
                       value, option->milli ? " or 2.5" : " or 10G");
    if (!option->milli)
        number /= 1000;
    if (number < option->min || number > option->max)
        return err_set(err, EINVAL, "%s is \"%s\", must be %" PRIu64 "…%" PRIu64 "%s", name, value,
                       option->min, option->max, option->milli ? " thousandths" : "");
    char *field = (char *)options + option->offset;
    uint32_t narrow = (uint32_t)number;
    if (option->size == sizeof(narrow))
        memcpy(field, &narrow, sizeof(narrow));
    else
        memcpy(field, &number, sizeof(number));
    return 0;
}
