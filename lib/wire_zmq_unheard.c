#include "lib/wire_zmq_unheard.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct unheard {
    UT_hash_handle hh;
    struct in6_addr address;
    uint32_t n;
};

static struct unheard *find(struct unheard *unheard, const struct in6_addr *address)
{
    struct unheard *found;
    HASH_FIND(hh, unheard, address, sizeof(*address), found);
    return found;
}

bool unheard_add(struct unheard **unheard, const struct in6_addr *address, uint32_t most,
                 uint64_t all)
{
    struct unheard *of = find(*unheard, address);
    if (!of) {
        if (!(of = calloc(1, sizeof(*of))))
            return false;
        of->address = *address;
        HASH_ADD(hh, *unheard, address, sizeof(of->address), of);
    }
    of->n++;
    uint64_t others = all > of->n ? all - of->n : 0;
    uint64_t left = most > others ? most - others : 0;
    return of->n == 1 || UINT64_C(8) * of->n <= UNHEARD_EIGHTHS * left;
}

void unheard_remove(struct unheard **unheard, const struct in6_addr *address)
{
    struct unheard *of = find(*unheard, address);
    if (!of || --of->n)
        return;
    HASH_DEL(*unheard, of);
    free(of);
}

void unheard_done(struct unheard **unheard)
{
    struct unheard *of, *next;
    HASH_ITER (hh, *unheard, of, next) {
        HASH_DEL(*unheard, of);
        free(of);
    }
}
