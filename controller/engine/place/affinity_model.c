#include "controller/engine/place/affinity_model.h"

__extension__ typedef unsigned __int128 wide;

/* Products of two stay in 128 bits. */
#define MOST AFFINITY_NEVER_NS

/* Of a time that a bound is measured by, and of a bound. WHY: a predicted time is cut at MOST, so
 * that longer ones might be less than a bound which is not cut. */
#define BY_MOST    (UINT64_C(1) << 53)
#define BOUND_MOST (MOST / BY_MOST * AFFINITY_ONE)

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

/* What of the disk's rate would be needed for one more to read as fast as alone. */
static uint64_t needed_bytes_s(uint64_t asked_bytes_s, uint64_t read_bytes_s,
                               const struct affinity_disk *disk, enum affinity_stretch stretch)
{
    return stretch == AFFINITY_PARTS ? least((wide)read_bytes_s * (disk->readers + 1))
                                     : least((wide)disk->asked_bytes_s + asked_bytes_s);
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
    uint64_t needed =
        needed_bytes_s(profile_asked_bytes_s(profile), profile->read_bytes_s, disk, stretch);
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

/* ---- bounds ---- */

uint64_t affinity_parts(uint64_t predicted_ns, uint64_t by_ns, bool *ret_exact)
{
    wide parts = (wide)predicted_ns * AFFINITY_ONE;
    *ret_exact = by_ns && parts % by_ns == 0 && parts / by_ns < UINT64_MAX;
    return by_ns && parts / by_ns < UINT64_MAX ? (uint64_t)(parts / by_ns) : UINT64_MAX;
}

struct affinity_bound affinity_bound_of(const struct profile *profile, uint64_t by_ns)
{
    bool exact;
    if (by_ns > BY_MOST)
        return (struct affinity_bound){0};
    return (struct affinity_bound){
        .alone = affinity_parts(affinity_lone_ns(profile), by_ns, &exact),
        .reading = affinity_parts(profile_read_ns(profile), by_ns, &exact),
        .asked_bytes_s = profile_asked_bytes_s(profile),
        .read_bytes_s = profile->read_bytes ? profile->read_bytes_s : 0,
        .rounding = by_ns ? AFFINITY_ONE / by_ns + 1 : 0};
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct affinity_bound affinity_bound_join(const struct affinity_bound *a,
                                          const struct affinity_bound *b)
{
    return (struct affinity_bound){.alone = lesser(a->alone, b->alone),
                                   .reading = lesser(a->reading, b->reading),
                                   .asked_bytes_s = lesser(a->asked_bytes_s, b->asked_bytes_s),
                                   .read_bytes_s = lesser(a->read_bytes_s, b->read_bytes_s),
                                   .rounding =
                                       a->rounding > b->rounding ? a->rounding : b->rounding};
}

uint64_t affinity_bound_at(const struct affinity_bound *bound, const struct affinity_disk *disk,
                           enum affinity_stretch stretch)
{
    wide parts = bound->alone;
    uint64_t needed = needed_bytes_s(bound->asked_bytes_s, bound->read_bytes_s, disk, stretch);
    if (disk->bytes_s && needed > disk->bytes_s) {
        wide more = (wide)bound->reading * (needed - disk->bytes_s) / disk->bytes_s;
        parts += more > bound->rounding ? more - bound->rounding : 0;
    }
    return parts < BOUND_MOST ? (uint64_t)parts : BOUND_MOST;
}
