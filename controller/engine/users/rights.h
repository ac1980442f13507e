/* Whose task of an open offer runs by right next. Private to controller/engine/users.
 *
 * Users with something ready, and with something left of their quotas, run in the order of their
 * numbers; each that starts nothing is passed, and with it all before it. Where the placement holds
 * tasks on purpose, an offer is more than can be used, and whoever is asked first may get all of
 * it. So there the user is next that is behind most, by its entries among as many as were used, and
 * by what it is owed; of equals the one that has the next entry, then the first. There also, who
 * started nothing is not asked again.
 *
 * Nobody looks at users that have nothing ready, or nothing left. */
#pragma once

#include "controller/engine/share/standings.h"
#include "controller/engine/users/turns.h"

struct rights {
    bool open;
    bool holds;  /* the placement does, as of rights_open */
    uint32_t at; /* else: those before it are passed */
    /* By users, where the placement holds; what is of an earlier count is 0. */
    struct right {
        uint64_t count;
        int64_t moved; /* its entries up to `entry`, less what it used */
        bool asked;
    } * of;
    uint64_t counts;
    uint32_t entry; /* the first that is not used yet */
    struct standings line;
};

/* Of n users; *rights may be anything. 0 or −ENOMEM, then rights_done is still allowed. O(n). */
int rights_init(struct rights *rights, uint32_t n);
void rights_done(struct rights *rights);

/* Before offer_open; what is touched then is to be placed. O(1). */
void rights_open(struct rights *rights, const struct turns *turns, bool holds);
/* Before the last rights_place of whom the offer touched. O(1). */
void rights_close(struct rights *rights);
/* What is ready of the user, or left to it, may have changed. O(log users). */
void rights_place(struct rights *rights, const struct turns *turns, uint32_t user);
/* It used so much of the open offer. O(size · log users), and at most O(users · log users). */
void rights_use(struct rights *rights, const struct turns *turns, uint32_t user, uint64_t size);
/* Who is next; the number of users: nobody. O(1). */
uint32_t rights_next(struct rights *rights, const struct turns *turns);
/* Who is next starts nothing. O(log users). */
void rights_pass(struct rights *rights, const struct turns *turns, uint32_t user);
