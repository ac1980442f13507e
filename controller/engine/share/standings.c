#include "controller/engine/share/standings.h"

#include <errno.h>
#include <stdlib.h>

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

int standings_init(struct standings *standings, uint32_t n, bool for_share)
{
    *standings = (struct standings){.n = n,
                                    .for_share = for_share,
                                    .nodes = calloc(n, sizeof(*standings->nodes)),
                                    .marked = calloc(n, sizeof(*standings->marked)),
                                    .is_marked = calloc(n, sizeof(*standings->is_marked))};
    return standings->nodes && standings->marked && standings->is_marked ? 0 : -ENOMEM;
}

void standings_done(struct standings *standings)
{
    free(standings->nodes);
    free(standings->marked);
    free(standings->is_marked);
    *standings = (struct standings){0};
}

/* WHY so many bits: two different fractions are at least 2^-40 apart, as shares have 20 bits, so
 * what is left of them when they are cut differs too. */
static struct sorted_key key_of(const struct standings *s, uint32_t user, int64_t amount,
                                uint32_t share)
{
    wide value = amount;
    if (s->for_share)
        value = value * ((wide)1 << (2 * STANDINGS_SHARE_BITS + 1)) / share;
    unsigned_wide falling = ((unsigned_wide)1 << 127) - 1 - (unsigned_wide)value;
    return (struct sorted_key){(uint64_t)(falling >> 64), (uint64_t)falling, user};
}

void standings_place(struct standings *standings, uint32_t user, int64_t amount, uint32_t share)
{
    sorted_place(&standings->set, &standings->nodes[user], key_of(standings, user, amount, share),
                 0);
}

void standings_remove(struct standings *standings, uint32_t user)
{
    sorted_remove(&standings->set, &standings->nodes[user]);
}

static uint32_t user_of(const struct standings *standings, const struct sorted_node *node)
{
    return node ? (uint32_t)node->key.c : standings->n;
}

uint32_t standings_first(const struct standings *standings)
{
    return user_of(standings, sorted_first(&standings->set));
}

uint32_t standings_after(const struct standings *standings, uint32_t user)
{
    return user_of(standings, sorted_next(&standings->nodes[user]));
}

bool standings_are_equal(const struct standings *standings, uint32_t a, uint32_t b)
{
    const struct sorted_node *x = &standings->nodes[a], *y = &standings->nodes[b];
    return x->in && y->in && x->key.a == y->key.a && x->key.b == y->key.b;
}

void standings_mark(struct standings *standings, uint32_t user)
{
    if (standings->is_marked[user])
        return;
    standings->is_marked[user] = true;
    standings->marked[standings->n_marked++] = user;
}

uint32_t standings_take_marked(struct standings *standings)
{
    if (!standings->n_marked)
        return standings->n;
    uint32_t user = standings->marked[--standings->n_marked];
    standings->is_marked[user] = false;
    return user;
}
