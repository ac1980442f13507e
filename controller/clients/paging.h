/* A page of a list, put together from portions, each a short page by itself (listing.h): who else
 * asks is answered between two of them. Its rows are those of one page that began with the first
 * portion's cursor; what changes meanwhile is as what changes between two pages.
 *
 * Where the request allows it, and rows of that kind can be, they are packed (lib/rowpack.h): a
 * page has as many as its bytes hold. Lists that are not in portions are one portion. Pure: it asks
 * only what listing_page asks. One thread. */
#pragma once

#include "controller/clients/listing.h"
#include "lib/rowpack.h"

/* WHY so few: filling a row takes up to 4 µs, and others wait for the portion. */
#define PAGING_ROWS  16
#define PAGING_LOOKS 32
#define PAGING_STEPS 128
/* A page looks at no more in all, however few rows it has. */
#define PAGING_PORTIONS        16
#define PAGING_PORTIONS_PACKED 128

struct paging {
    duopoly_List list; /* its cursor moves on */
    const struct list *of;
    struct sieve_bounds bounds; /* of one portion */
    uint32_t portions, rows;
    bool packs;
    struct rowpack pack;
    duopoly_Envelope page;               /* the answer, as far as it is */
    duopoly_Envelope portion;            /* the last one */
    char before[sizeof(duopoly_JobRow)]; /* the last row that was packed */
};

void paging_begin(struct paging *paging, const duopoly_List *list);
/* Does one portion. True: there is more to do; false: `page` is the answer. */
bool paging_go_on(struct paging *paging, const struct listing_sources *sources);
