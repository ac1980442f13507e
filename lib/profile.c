#include "lib/profile.h"

#include <errno.h>
#include <inttypes.h>

#define BYTES_MAX ((uint64_t)1 << 53)
#define TIME_MAX  ((uint64_t)1 << 62)

/* a · b ÷ c, or `most` where that is less. */
static uint64_t times(uint64_t a, uint64_t b, uint64_t c, uint64_t most)
{
    unsigned __int128 result = (unsigned __int128)a * b / c;
    return result < most ? (uint64_t)result : most;
}

uint64_t profile_read_ns(const struct profile *profile)
{
    return profile->read_bytes
               ? times(profile->read_bytes, 1000000000, profile->read_bytes_s, TIME_MAX)
               : 0;
}

uint64_t profile_lone_ns(const struct profile *profile)
{
    return profile->compute_ns + (profile->before ? profile_read_ns(profile) : 0);
}

uint64_t profile_only_compute_ns(const struct profile *profile)
{
    return profile_lone_ns(profile) - profile_read_ns(profile);
}

uint64_t profile_asked_bytes_s(const struct profile *profile)
{
    if (!profile->read_bytes || profile->before || !profile->compute_ns)
        return profile->read_bytes ? profile->read_bytes_s : 0;
    return times(profile->read_bytes, 1000000000, profile->compute_ns, profile->read_bytes_s);
}

int profile_check(const struct profile *profile, struct err *err)
{
    if (profile->before > 1)
        return err_set(err, EINVAL, "reads neither before it computes nor while");
    if (profile->read_bytes > BYTES_MAX || profile->compute_ns > TIME_MAX)
        return err_set(err, EINVAL, "reads more than 2^53 bytes or computes for over 146 years");
    if (profile->read_bytes && !profile->read_bytes_s)
        return err_set(err, EINVAL,
                       "reads %" PRIu64 " bytes at rate 0, so it would never end; say its "
                       "read_bytes_s",
                       profile->read_bytes);
    if (!profile->before && profile_read_ns(profile) > profile->compute_ns)
        return err_set(err, EINVAL,
                       "reads for %" PRIu64 " ms while it computes for %" PRIu64
                       " ms; lower read_bytes, raise read_bytes_s, or let it read before it "
                       "computes",
                       profile_read_ns(profile) / 1000000, profile->compute_ns / 1000000);
    return 0;
}
