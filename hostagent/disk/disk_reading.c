#include "hostagent/disk/disk_reading.h"

__extension__ typedef unsigned __int128 wide;

#define SECOND UINT64_C(1000000000)

void disk_reading_begin(struct disk_reading *reading, const struct profile *profile,
                        uint64_t now_ns, bool found)
{
    *reading = (struct disk_reading){
        .profile = *profile, .found = found, .began_ns = now_ns, .window_ns = now_ns};
}

static uint64_t rate(uint64_t bytes, uint64_t ns)
{
    wide bytes_s = ns ? (wide)bytes * SECOND / ns : 0;
    return bytes_s < UINT64_MAX ? (uint64_t)bytes_s : UINT64_MAX;
}

static void end_window(struct disk_reading *reading, uint64_t now_ns)
{
    uint64_t bytes = reading->bytes - reading->window_bytes, ns = now_ns - reading->window_ns;
    reading->rate_bytes_s = rate(bytes, ns);
    if (reading->rate_bytes_s > reading->best_bytes_s)
        reading->best_bytes_s = reading->rate_bytes_s;
    if (bytes)
        reading->reading_ns += ns;
    reading->window_ns = now_ns;
    reading->window_bytes = reading->bytes;
}

void disk_reading_count(struct disk_reading *reading, uint64_t now_ns, uint64_t bytes)
{
    if (bytes > reading->bytes)
        reading->bytes = bytes;
    if (reading->found && !reading->counted)
        reading->began_bytes = reading->window_bytes = reading->bytes;
    reading->counted = true;
    if (now_ns >= reading->window_ns + DISK_WINDOW_NS)
        end_window(reading, now_ns);
}

void disk_reading_end(struct disk_reading *reading, uint64_t now_ns)
{
    if (reading->bytes > reading->window_bytes && now_ns > reading->window_ns)
        end_window(reading, now_ns);
}

/* By its profile it has not read all. */
static bool is_expected(const struct disk_reading *reading, uint64_t now_ns)
{
    const struct profile *profile = &reading->profile;
    uint64_t lone_ns = profile->before ? profile_read_ns(profile) : profile->compute_ns;
    if (!profile->read_bytes || reading->bytes >= profile->read_bytes)
        return false;
    return now_ns - reading->began_ns < lone_ns || reading->rate_bytes_s;
}

static uint64_t seen_bytes_s(const struct disk_reading *reading, uint64_t now_ns)
{
    uint64_t ns = now_ns - reading->began_ns;
    return ns < DISK_WINDOW_NS ? 0 : rate(reading->bytes - reading->began_bytes, ns);
}

bool disk_reading_asks(const struct disk_reading *reading, uint64_t now_ns, uint64_t *ret_bytes_s)
{
    const struct profile *profile = &reading->profile;
    uint64_t seen = reading->rate_bytes_s;
    if (!is_expected(reading, now_ns)) {
        *ret_bytes_s = seen;
        return seen > 0;
    }
    if (!profile->before)
        seen = seen_bytes_s(reading, now_ns);
    uint64_t asked = profile_asked_bytes_s(profile);
    *ret_bytes_s = seen > asked ? seen : asked;
    return true;
}
