#include "controller/shares.h"

#include <stdlib.h>
#include <string.h>

/* One user. */
struct kept {
    uint32_t user;
    struct user_use before; /* when the present span began */
    struct share_span spans[SHARES_SPANS];
};

struct shares {
    int64_t span_ns, end_ns; /* of the spans that are over */
    uint32_t n;
    uint64_t version;
    struct share_span all[SHARES_SPANS];
    struct kept **users, **next; /* in order of their numbers; room for the next */
    size_t n_users, room;
    struct users_drift drift; /* of a turn of these: */
    struct user_use *drifted;
    size_t n_drifted;
};

struct shares *shares_create(int64_t now_ns)
{
    struct shares *shares = calloc(1, sizeof(*shares));
    if (!shares)
        return NULL;
    shares->span_ns = SHARES_SPAN_NS;
    shares->end_ns = now_ns;
    shares->version = 1;
    return shares;
}

void shares_destroy(struct shares *shares)
{
    if (!shares)
        return;
    for (size_t i = 0; i < shares->n_users; i++)
        free(shares->users[i]);
    free(shares->users);
    free(shares->next);
    free(shares->drifted);
    free(shares);
}

/* ---- room for a span ---- */

static uint32_t half(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a + b) / 2);
}

static void join_pairs(struct share_span *spans)
{
    for (uint32_t i = 0; i < SHARES_SPANS / 2; i++) {
        const struct share_span a = spans[2 * i], b = spans[2 * i + 1];
        spans[i] = (struct share_span){half(a.slots_milli, b.slots_milli), half(a.mem_mb, b.mem_mb),
                                       b.right_ppm, half(a.wanted_permille, b.wanted_permille)};
    }
    memset(spans + SHARES_SPANS / 2, 0, SHARES_SPANS / 2 * sizeof(*spans));
}

static void drop_oldest(struct share_span *spans)
{
    memmove(spans, spans + 1, (SHARES_SPANS - 1) * sizeof(*spans));
    spans[SHARES_SPANS - 1] = (struct share_span){0};
}

static void make_room(struct shares *shares)
{
    bool joins = shares->span_ns < SHARES_SPAN_MAX_NS;
    void (*change)(struct share_span *) = joins ? join_pairs : drop_oldest;
    if (shares->n < SHARES_SPANS)
        return;
    change(shares->all);
    for (size_t i = 0; i < shares->n_users; i++)
        change(shares->users[i]->spans);
    shares->n = joins ? SHARES_SPANS / 2 : SHARES_SPANS - 1;
    shares->span_ns *= joins ? 2 : 1;
}

/* ---- the end of a span ---- */

static uint32_t bounded(engine_wide value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static struct share_span span_of(const struct user_use *from, const struct user_use *to,
                                 int64_t span_ns, uint64_t total)
{
    engine_wide passed = (engine_wide)span_ns;
    return (struct share_span){
        .slots_milli = bounded((to->slot_ns - from->slot_ns) * 1000 / passed),
        .mem_mb = bounded((to->mem_byte_ns - from->mem_byte_ns) / 1000000 / passed),
        .right_ppm = total ? bounded((engine_wide)to->share * 1000000 / total) : 0,
        .wanted_permille = bounded((engine_wide)(to->wanted_ns - from->wanted_ns) * 1000 / passed)};
}

static uint32_t sum(uint32_t a, uint32_t b)
{
    return bounded((engine_wide)a + b);
}

static void add(struct share_span *all, const struct share_span *one)
{
    all->slots_milli = sum(all->slots_milli, one->slots_milli);
    all->mem_mb = sum(all->mem_mb, one->mem_mb);
    all->right_ppm = sum(all->right_ppm, one->right_ppm);
}

/* The users' number, and the sum of their shares. */
static size_t count(const struct engine *engine, int64_t at_ns, uint64_t *ret_total)
{
    struct user_use use;
    size_t n = 0;
    *ret_total = 0;
    for (uint64_t from = 0; engine_use_from(engine, from, at_ns, &use) == 0;
         from = (uint64_t)use.user + 1, n++)
        *ret_total += use.share;
    return n;
}

static bool reserve(struct shares *shares, size_t n)
{
    if (n <= shares->room)
        return true;
    struct kept **users = reallocarray(shares->users, n, sizeof(struct kept *));
    shares->users = users ? users : shares->users;
    struct kept **next = users ? reallocarray(shares->next, n, sizeof(struct kept *)) : NULL;
    shares->next = next ? next : shares->next;
    shares->room = next ? n : shares->room;
    return next;
}

static struct kept *begin(const struct user_use *use)
{
    struct kept *kept = calloc(1, sizeof(*kept));
    if (kept)
        kept->user = use->user;
    return kept;
}

/* WHY zeros: the number is another user's since. */
static struct user_use span_begin(const struct kept *kept, const struct user_use *now)
{
    bool goes_on = now->slot_ns >= kept->before.slot_ns &&
                   now->mem_byte_ns >= kept->before.mem_byte_ns &&
                   now->wanted_ns >= kept->before.wanted_ns;
    return goes_on ? kept->before : (struct user_use){0};
}

/* Walks the users and what is kept of them together: both are in order of numbers. */
static void end_span(struct shares *shares, const struct engine *engine, int64_t end_ns)
{
    struct user_use use;
    uint64_t total, from = 0;
    size_t at = 0, n = 0, most = count(engine, end_ns, &total);
    struct share_span *all = &shares->all[shares->n];
    if (!reserve(shares, most))
        return;
    for (; engine_use_from(engine, from, end_ns, &use) == 0; from = (uint64_t)use.user + 1) {
        while (at < shares->n_users && shares->users[at]->user < use.user)
            free(shares->users[at++]);
        bool known = at < shares->n_users && shares->users[at]->user == use.user;
        struct kept *kept = known ? shares->users[at++] : begin(&use);
        if (!kept)
            continue;
        struct user_use before = span_begin(kept, &use);
        kept->spans[shares->n] = span_of(&before, &use, shares->span_ns, total);
        add(all, &kept->spans[shares->n]);
        kept->before = use;
        shares->next[n++] = kept;
    }
    while (at < shares->n_users)
        free(shares->users[at++]);
    struct kept **users = shares->users;
    shares->users = shares->next;
    shares->next = users;
    shares->n_users = n;
}

void shares_pass(struct shares *shares, const struct engine *engine, int64_t now_ns)
{
    for (;;) {
        make_room(shares);
        if (now_ns - shares->end_ns < shares->span_ns)
            return;
        shares->end_ns += shares->span_ns;
        end_span(shares, engine, shares->end_ns);
        shares->n++;
        shares->version++;
    }
}

/* ---- answers ---- */

struct shares_time shares_time(const struct shares *shares)
{
    return (struct shares_time){shares->n, shares->span_ns, shares->end_ns, shares->version};
}

const struct share_span *shares_of(const struct shares *shares, const uint32_t *user)
{
    size_t from = 0, to = shares->n_users;
    if (!user)
        return shares->all;
    while (from < to) {
        size_t half_way = from + (to - from) / 2;
        if (shares->users[half_way]->user < *user)
            from = half_way + 1;
        else
            to = half_way;
    }
    return from < shares->n_users && shares->users[from]->user == *user ? shares->users[from]->spans
                                                                        : NULL;
}

/* Whether users and shares are as they were; remembers those of now. */
static bool is_as_before(struct shares *shares, const struct engine *engine, size_t n)
{
    struct user_use use;
    bool same = n == shares->n_drifted && shares->drifted;
    struct user_use *now = same ? shares->drifted : calloc(n, sizeof(*now));
    uint64_t from = 0;
    for (size_t i = 0; now && engine_use_from(engine, from, INT64_MIN, &use) == 0; i++) {
        same &= now[i].user == use.user && now[i].share == use.share;
        now[i] = use;
        from = (uint64_t)use.user + 1;
    }
    if (now != shares->drifted)
        free(shares->drifted);
    shares->drifted = now;
    shares->n_drifted = now ? n : 0;
    return same;
}

const struct users_drift *shares_drift(struct shares *shares, const struct engine *engine)
{
    uint64_t total;
    if (is_as_before(shares, engine, count(engine, INT64_MIN, &total)))
        return &shares->drift;
    if (engine_users_drift(engine, &shares->drift) == 0)
        return &shares->drift;
    shares->n_drifted = 0;
    return NULL;
}
