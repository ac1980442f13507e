/* Questions of clients that wait for an agent's answer: a bounded table with a deadline for each.
 *
 * A client has one question at a time, since it is not read meanwhile. QUESTIONS_MOST are open at
 * once, QUESTIONS_OF_HOST of them to one agent, so that one that hangs leaves room for the others.
 * Each ends once: by its answer, after QUESTIONS_WAIT_NS, or when its client is gone. Numbers do
 * not return, so an answer that comes too late is nobody's.
 *
 * Pure: the time is a parameter. Nothing is allocated. Beginning is O(QUESTIONS_MOST), the others
 * O(log timers), but for dropping a client's. */
#pragma once

#include "controller/timers.h"

#define QUESTIONS_MOST    64
#define QUESTIONS_OF_HOST 16
#define QUESTIONS_WAIT_NS INT64_C(2000000000)

struct questions;

struct question {
    struct timer timer;
    struct questions *questions;
    uint64_t number; /* 0: the place is free */
    uint64_t client; /* not 0 */
    char host[64];
};

struct questions {
    struct timers *timers;
    /* There was no answer in time; the question has ended, and may be replaced by the next. */
    void (*late)(void *user, uint64_t client, const char *host);
    void *user;
    uint64_t begun;
    struct question at[QUESTIONS_MOST];
};

/* `timers` are borrowed until questions_done. */
void questions_init(struct questions *questions, struct timers *timers,
                    void (*late)(void *user, uint64_t client, const char *host), void *user);
/* Ends all, without a word. */
void questions_done(struct questions *questions);

/* The number of a new one; 0: too many are open. */
uint64_t questions_begin(struct questions *questions, int64_t now_ns, uint64_t client,
                         const char *host);

/* The client that waits for this answer of this host, and its question ends; 0: none does. */
uint64_t questions_answered(struct questions *questions, const char *host, uint64_t number);

/* The client's question ends, if it has one. */
void questions_drop(struct questions *questions, uint64_t client);
