#include "controller/notices.h"

#include <errno.h>
#include <stdlib.h>

struct ring {
    struct notice *at;
    uint32_t room;
    uint64_t total; /* ever added */
};

struct notices {
    struct ring rings[EVENT_KIND_COUNT];
    uint64_t newest; /* sequence */
};

const uint32_t notices_rooms[EVENT_KIND_COUNT] = {
    [duopoly_EventKind_KIND_JOB] = 8192,       [duopoly_EventKind_KIND_TASK] = 16384,
    [duopoly_EventKind_KIND_HOST] = 4096,      [duopoly_EventKind_KIND_MODE] = 2048,
    [duopoly_EventKind_KIND_HOLD] = 8192,      [duopoly_EventKind_KIND_POLICY] = 1024,
    [duopoly_EventKind_KIND_STANCE] = 1024,    [duopoly_EventKind_KIND_KEY] = 1024,
    [duopoly_EventKind_KIND_FRAMEWORK] = 4096,
};

int notices_create(const uint32_t rooms[EVENT_KIND_COUNT], struct notices **ret_notices)
{
    struct notices *notices = calloc(1, sizeof(*notices));
    bool made = notices != NULL;
    for (int kind = 0; made && kind < EVENT_KIND_COUNT; kind++) {
        struct ring *ring = &notices->rings[kind];
        ring->room = rooms[kind];
        ring->at = calloc(ring->room, sizeof(*ring->at));
        made = ring->at != NULL;
    }
    if (!made) {
        notices_destroy(notices);
        return -ENOMEM;
    }
    *ret_notices = notices;
    return 0;
}

void notices_destroy(struct notices *notices)
{
    if (!notices)
        return;
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
        free(notices->rings[kind].at);
    free(notices);
}

static struct notice *at(const struct ring *ring, uint64_t number)
{
    return &ring->at[number % ring->room];
}

static uint64_t oldest(const struct ring *ring)
{
    return ring->total > ring->room ? ring->total - ring->room : 0;
}

struct notice *notices_add(struct notices *notices, duopoly_EventKind kind, uint64_t at_ns,
                           const char *what)
{
    struct ring *ring = &notices->rings[kind];
    struct notice *notice = at(ring, ring->total++);
    notice->sequence = ++notices->newest;
    notice->at_ns = at_ns;
    notice->kind = kind;
    notice->what = what;
    notice->reason = 0;
    notice->job = notice->attempt = 0;
    notice->stage = notice->task = NOTICE_NONE;
    notice->name[0] = notice->host[0] = notice->text[0] = '\0';
    return notice;
}

void notices_begin(const struct notices *notices, struct notices_place *ret_place)
{
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
        ret_place->passed[kind] = oldest(&notices->rings[kind]);
}

void notices_end(const struct notices *notices, struct notices_place *ret_place)
{
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
        ret_place->passed[kind] = notices->rings[kind].total;
}

static uint64_t sequence_of(const struct notice *notice)
{
    return notice->sequence;
}

static uint64_t time_of(const struct notice *notice)
{
    return notice->at_ns;
}

/* The first one that is kept, from `from` on, of which that number is at least `least`. */
static uint64_t first_from(const struct ring *ring, uint64_t from,
                           uint64_t (*number)(const struct notice *notice), uint64_t least)
{
    uint64_t low = from > oldest(ring) ? from : oldest(ring), high = ring->total;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (number(at(ring, middle)) < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_of(uint32_t kinds, int kind)
{
    return kinds >> kind & 1;
}

uint64_t notices_after(const struct notices *notices, uint32_t kinds, uint64_t sequence,
                       struct notices_place *ret_place)
{
    uint64_t kept = 0;
    bool may_lack = false;
    notices_end(notices, ret_place);
    if (sequence >= notices->newest)
        return 0;
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
        const struct ring *ring = &notices->rings[kind];
        const uint64_t first = first_from(ring, 0, sequence_of, sequence + 1);
        ret_place->passed[kind] = first;
        kept += ring->total - first;
        may_lack |= is_of(kinds, kind) && first && first == oldest(ring);
    }
    return may_lack ? notices->newest - sequence - kept : 0;
}

void notices_since(const struct notices *notices, uint64_t at_ns, struct notices_place *place)
{
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
        place->passed[kind] =
            first_from(&notices->rings[kind], place->passed[kind], time_of, at_ns);
}

/* The kind whose notice before this place is the newest; −1: there is none. */
static int kind_before(const struct notices *notices, uint32_t kinds,
                       const struct notices_place *place, const struct notices_place *least)
{
    int found = -1;
    uint64_t newest = 0;
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
        const uint64_t passed = place->passed[kind];
        if (!is_of(kinds, kind) || passed <= least->passed[kind])
            continue;
        const uint64_t sequence = at(&notices->rings[kind], passed - 1)->sequence;
        if (sequence > newest) {
            newest = sequence;
            found = kind;
        }
    }
    return found;
}

void notices_newest(const struct notices *notices, uint32_t kinds, uint64_t n,
                    struct notices_place *place)
{
    struct notices_place least;
    notices_begin(notices, &least);
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
        if (place->passed[kind] > least.passed[kind])
            least.passed[kind] = place->passed[kind];
    notices_end(notices, place);
    int kind = 0;
    for (; n && (kind = kind_before(notices, kinds, place, &least)) >= 0; n--)
        place->passed[kind]--;
}

bool notices_more(const struct notices *notices, uint32_t kinds, const struct notices_place *place)
{
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
        if (is_of(kinds, kind) && place->passed[kind] < notices->rings[kind].total)
            return true;
    return false;
}

/* To what is kept; returns how many that leaves out. */
static uint64_t place_mend(const struct notices *notices, uint32_t kinds,
                           struct notices_place *place)
{
    uint64_t lost = 0;
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
        const struct ring *ring = &notices->rings[kind];
        uint64_t *passed = &place->passed[kind];
        if (*passed > ring->total)
            *passed = ring->total;
        if (*passed >= oldest(ring))
            continue;
        lost += is_of(kinds, kind) ? oldest(ring) - *passed : 0;
        *passed = oldest(ring);
    }
    return lost;
}

/* The kind whose next notice is the oldest; −1: there is none. */
static int kind_next(const struct notices *notices, uint32_t kinds,
                     const struct notices_place *place)
{
    int found = -1;
    uint64_t first = UINT64_MAX;
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
        const struct ring *ring = &notices->rings[kind];
        if (!is_of(kinds, kind) || place->passed[kind] == ring->total)
            continue;
        const uint64_t sequence = at(ring, place->passed[kind])->sequence;
        if (sequence < first) {
            first = sequence;
            found = kind;
        }
    }
    return found;
}

uint32_t notices_read(const struct notices *notices, uint32_t kinds, struct notices_place *place,
                      const struct notice **ret_at, uint32_t most, uint64_t *ret_lost)
{
    uint32_t n = 0;
    int kind;
    *ret_lost = place_mend(notices, kinds, place);
    for (; n < most && (kind = kind_next(notices, kinds, place)) >= 0; n++)
        ret_at[n] = at(&notices->rings[kind], place->passed[kind]++);
    return n;
}
