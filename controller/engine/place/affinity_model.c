#include "controller/engine/place/affinity_model.h"

__extension__ typedef unsigned __int128 wide;

/* Products of two stay in 128 bits. */
#define MOST AFFINITY_NEVER_NS

static uint64_t least(wide a)
{
    return a < MOST ? (uint64_t)a : MOST;
}

void affinity_add_reader(struct affinity_disk *disk, const struct profile *profile)
{
    if (!profile->read_bytes)
        return;
    disk->asked_bytes_s = least((wide)disk->asked_bytes_s + profile_asked_bytes_s(profile));
    disk->readers++;
}

/* What of the disk's rate would be needed for it to read as fast as alone. */
static uint64_t needed_bytes_s(const struct profile *profile, const struct affinity_disk *disk,
                               enum affinity_stretch stretch)
{
    struct affinity_disk with = *disk;
    affinity_add_reader(&with, profile);
    return stretch == AFFINITY_PARTS ? least((wide)profile->read_bytes_s * with.readers)
                                     : with.asked_bytes_s;
}

uint64_t affinity_lone_ns(const struct profile *profile)
{
    uint64_t lone_ns = least(profile_lone_ns(profile));
    return lone_ns ? lone_ns : 1;
}

uint64_t affinity_predict_ns(const struct profile *profile, const struct affinity_disk *disk,
                             enum affinity_stretch stretch)
{
    if (profile->read_bytes && disk->hangs)
        return AFFINITY_NEVER_NS;
    if (!profile->read_bytes || !disk->bytes_s)
        return affinity_lone_ns(profile);
    uint64_t needed = needed_bytes_s(profile, disk, stretch);
    wide read_ns = profile_read_ns(profile);
    if (needed > disk->bytes_s)
        read_ns = read_ns * needed / disk->bytes_s;
    uint64_t ns = least(read_ns + profile_only_compute_ns(profile));
    return ns ? ns : 1;
}

int affinity_compare(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    wide left = (wide)a * d, right = (wide)c * b;
    return left < right ? -1 : left > right;
}
