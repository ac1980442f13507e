/* Shares of the loop's time, so that one who asks on and on does not keep it from others: accounts,
 * and whose turn it is.
 *
 * An account has a credit: it grows with time by the share, up to the burst, and falls by the
 * processor time that its owner is charged for. Below 0 the owner is over its share. It does not
 * fall below minus the burst: what somebody took while nobody else asked is not held against him
 * for long.
 *
 * Messages of an owner that is over its share are put off, not refused: they wait in the line of
 * their owner, one of each client, in the order in which they came. A line has a turn when its
 * owner's credit is back, so each has its share whatever others do, and whenever the loop has
 * nothing else to do. So nobody is slowed while nobody else asks. Between lines start-time fair
 * queueing decides (Goyal et al., SIGCOMM 1996): owners that are all over their shares have equal
 * time, and an owner with many clients has no more than one with a single client. Who administers
 * is never put off.
 *
 * Pure: time is a parameter, of any clock that never goes back. One thread. O(owners known). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* Owners that are known at once: as many clients as can be connected, and as many that have gone,
 * whose credit is remembered. */
#define LOOP_OWNERS_MAX 1024
/* Who does not use a turn for so long does not keep its line from the next one. */
#define LOOP_TURN_NS INT64_C(10000000)

struct loop_share {
    int64_t permille; /* of the time; 0: there is no limit */
    int64_t burst_ns;
};

/* All zero: with a whole burst. */
struct loop_account {
    int64_t credit_ns, at_ns; /* at_ns 0: it was never looked at */
    uint64_t spent_ns;        /* in all */
    int64_t noted_ns;         /* in this turn of the loop; not 0: it is in a list: */
    LIST_ENTRY(loop_account) next;
};
LIST_HEAD(loop_noted, loop_account);

/* A turn of the loop that is over. */
struct loop_spent {
    int64_t now_ns;
    int64_t spent_ns; /* processor time that it took; of it */
    int64_t noted_ns; /* so much was noted, by the wall clock, so it may be more than that */
};

/* Its credit now. */
int64_t loop_account_credit(struct loop_account *account, const struct loop_share *share,
                            int64_t now_ns);
void loop_account_charge(struct loop_account *account, const struct loop_share *share,
                         int64_t now_ns, int64_t spent_ns);

/* Notes some of the present turn, to be charged when it is over. */
void loop_account_note(struct loop_noted *noted, struct loop_account *account, int64_t ns);
/* The account ends: nobody is charged for what is noted. */
void loop_account_drop(struct loop_account *account);
/* Charges one that is noted for its part of a turn, and takes it out; NULL: there is none left. */
struct loop_account *loop_noted_charge(struct loop_noted *noted, const struct loop_share *share,
                                       const struct loop_spent *spent);

struct loop_turn;

struct loop_owner {
    uint64_t number; /* 0: free */
    char name[96];
    bool first; /* never put off */
    uint32_t clients;
    uint64_t put_off; /* messages */
    uint64_t tag_ns;  /* what it had while it was in line, and what the line began with */
    struct loop_account account;
    TAILQ_HEAD(, loop_turn) line;
    int64_t gave_ns; /* when one of its line had its turn last that has not used it yet; or 0 */
};

/* A client's part: embedded in what its user keeps of a client. */
struct loop_turn {
    TAILQ_ENTRY(loop_turn) next;
    struct loop_owner *owner; /* NULL: it is nobody's */
    bool waits, given;
};

struct loop_shares {
    struct loop_share share;
    uint32_t n, waiting; /* owners known; turns in lines */
    uint64_t put_off, spent_ns;
    uint64_t tag_ns; /* of whom had the last turn, before it */
    struct loop_noted noted;
    struct loop_owner owners[LOOP_OWNERS_MAX];
};

/* `shares` is all zero but for its share. A client of this owner (a number that is not 0) has come:
 * `turn` is all zero. If there is no room for one more owner, the one without clients that has the
 * most credit is forgotten; if all have clients, nothing is done: nobody is charged for the
 * client. */
void loop_turn_begin(struct loop_shares *shares, struct loop_turn *turn, uint64_t number,
                     const char *name, bool first, int64_t now_ns);
/* It is gone, or never came. */
void loop_turn_end(struct loop_shares *shares, struct loop_turn *turn);

/* Whether the next message of the client would be put off. */
bool loop_turn_is_over(const struct loop_shares *shares, struct loop_turn *turn, int64_t now_ns);
/* A message of the client has come: whether it is taken now. False: it is put off, until
 * loop_shares_next returns this turn; then this is asked again, and returns true. */
bool loop_turn_take(struct loop_shares *shares, struct loop_turn *turn, int64_t now_ns);
/* What was done for the client took so long, by the wall clock. It counts at once for whether the
 * owner is put off, and is charged with loop_shares_charge, when the loop's turn is over. */
void loop_turn_note(struct loop_shares *shares, struct loop_turn *turn, int64_t ns);
void loop_shares_charge(struct loop_shares *shares, const struct loop_spent *spent);
/* What is left of the credit: more for whom to prefer. */
int64_t loop_turn_credit(const struct loop_shares *shares, struct loop_turn *turn, int64_t now_ns);

/* Takes the next one out of its line. `idle`: the loop has nothing else to do. NULL: nobody's turn
 * has come. */
struct loop_turn *loop_shares_next(struct loop_shares *shares, int64_t now_ns, bool idle);
/* When somebody's turn comes that is not idle; INT64_MAX: nobody waits. */
int64_t loop_shares_due_ns(struct loop_shares *shares, int64_t now_ns);
