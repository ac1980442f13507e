/* The peers whose reports become facts: agents and frameworks, and what each asks of the other and
 * of the rest of the controller. Their reports go to `event`, to be stepped; decisions are sent to
 * them. One thread. */
#pragma once

#include "controller/agents/dispatch.h"
#include "controller/attempt_proof.h"
#include "controller/frameworks/frameworks.h"
#include "controller/settings.h"
#include "controller/store/ledger.h"
#include "controller/store/recovery.h"
#include "controller/switch/inventory.h"

/* The connections. */
struct peers_hooks {
    /* As agents_hooks has them. */
    int (*send)(void *user, uint64_t peer, const duopoly_Envelope *envelope);
    void (*cut)(void *user, uint64_t peer);
    bool (*epoch_seen)(void *user, const char *name, uint32_t epoch);
    void *send_user, *epoch_user; /* send_user: of cut, too */
    struct agents_where where;
};

struct conductor_parts;

struct peers {
    struct inventory switches; /* owned, as what follows */
    struct attempt_proof proof;
    struct dispatch_scratch scratch;
    /* The last words of the attempt of the next fact. */
    uint64_t spoken;
    char words[256];
    /* Borrowed; the opener sets them. */
    struct peers_hooks hooks;
    struct conductor_parts *parts; /* agents, frameworks and switches of it are made here */
    struct ledger *ledger;
    /* Takes a fact, as agents_hooks.event, with the last words of its attempt, or "". */
    void (*event)(void *user, const struct event *event, const char *words);
    /* As agents_hooks.asked. */
    bool (*asked)(void *user, const char *name, const duopoly_AskedPart *part);
    /* As frameworks_hooks.work. */
    void (*work)(void *user, uint64_t application, void (*work)(void *of, int64_t now_ns), void *of,
                 int64_t now_ns);
    void *user;
};

/* Restores what was known of hosts; `timers` are borrowed until close. */
int peers_open(struct peers *peers, const struct recovered *recovered, struct timers *timers,
               struct err *err);
/* The live settings of parts->settings are others. */
void peers_take_settings(struct peers *peers);
/* Also after a failed peers_open. */
void peers_close(struct peers *peers);

/* Sends a decision to its addressee. */
void peers_decision(struct peers *peers, int64_t now_ns, const struct decision *decision);
/* As agents_forget_name; everything known of the name is dropped. */
int peers_forget(struct peers *peers, const char *name);
