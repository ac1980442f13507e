/* The driver's connection to CONFIG_DB: made again when it was lost; no call waits longer than
 * SWITCH_WAIT_MS.
 *
 * orchagent applies a batch of changes in the order of the keys (sonic-swss, orchagent/orch.cpp,
 * Consumer), so a removed row may undo another that was added for the same queue: "Ethernet0|0-2"
 * is removed after "Ethernet0|0" was set. So what was set beside such a removal is written again,
 * unchanged, in a batch of its own (sonic_link_settle). */
#pragma once

#include "hostagent/switches/sonic/redis.h"
#include "lib/sonic/sonic_steps.h"

struct sonic_link {
    const char *at;      /* redis.h; borrowed */
    struct redis *redis; /* NULL: not connected */
    uint64_t until_ns;   /* deadline of the current call */
    json_t *unsettled;   /* rows to write again; NULL: none */
    uint32_t unheard;    /* replies that nobody waited for yet */
};

void sonic_link_init(struct sonic_link *link, const char *at);
void sonic_link_done(struct sonic_link *link);
/* Disconnects until the next call; unsettled rows stay. */
void sonic_link_drop(struct sonic_link *link);

/* A call of the driver begins: its deadline is SWITCH_WAIT_MS from now. */
void sonic_link_begin(struct sonic_link *link);

/* Connects if necessary, and checks that this Redis reports changes; reads all outstanding
 * replies. */
int sonic_link_connect(struct sonic_link *link, struct err *err);

/* As config_db_read and config_db_commit, if it is a SONiC's (sonic_check). */
int sonic_link_read(struct sonic_link *link, json_t **ret_db, struct err *err);
int sonic_link_commit(struct sonic_link *link, const struct sonic_step *steps, uint32_t n,
                      struct err *err);

/* Writes again what the last commit left unsettled, unless somebody changed it since; without
 * `wait` the next call reads the reply. Nothing to do: 0. */
int sonic_link_settle(struct sonic_link *link, bool wait, struct err *err);
