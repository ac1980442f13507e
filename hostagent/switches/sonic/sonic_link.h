/* The driver's connection to CONFIG_DB: sought again when it was lost, and never waited for longer than
 * SWITCH_WAIT_MS in one call.
 *
 * orchagent takes what changed at once in the order of the keys (sonic-swss, orchagent/orch.cpp,
 * Consumer), so a row that goes may undo another that came for the same queue: "Ethernet0|0-2" is
 * removed after "Ethernet0|0" was set. What was set beside such a removal is therefore written again,
 * as it is, in a batch of its own (sonic_link_settle). */
#pragma once

#include "hostagent/switches/sonic/redis.h"
#include "lib/sonic/sonic_steps.h"

struct sonic_link {
    const char *at;      /* redis.h; borrowed */
    struct redis *redis; /* NULL: not connected */
    uint64_t until_ns;   /* when the call at hand has to be done */
    json_t *unsettled;   /* rows to be written again; NULL: none */
    uint32_t unheard;    /* replies that nobody waited for */
};

void sonic_link_init(struct sonic_link *link, const char *at);
void sonic_link_done(struct sonic_link *link);
/* Until the next call; what is unsettled stays. */
void sonic_link_drop(struct sonic_link *link);

/* A call of the driver begins: SWITCH_WAIT_MS from now. */
void sonic_link_begin(struct sonic_link *link);

/* Connects if need be, and checks that this Redis tells changes; nobody's answer is left to be heard. */
int sonic_link_connect(struct sonic_link *link, struct err *err);

/* As config_db_read and config_db_commit, on what is a SONiC's (sonic_check). */
int sonic_link_read(struct sonic_link *link, json_t **ret_db, struct err *err);
int sonic_link_commit(struct sonic_link *link, const struct sonic_step *steps, uint32_t n,
                      struct err *err);

/* Writes again what the last commit left unsettled, unless somebody changed it since; without
 * `wait` its answer is heard by the next call. Nothing to do: 0. */
int sonic_link_settle(struct sonic_link *link, bool wait, struct err *err);
