/* For the nftables mark driver: removes the levels of cgroups that are gone from its sets. nft
 * lists such a cgroup as a number, and loads no list that contains one. */
#pragma once

#include "hostagent/marks/mark_nft_state.h"

/* The agent keeps what it knows of them. One system call for each cgroup with a known path, and a
 * walk over the hierarchy for the others. */
int mark_nft_drop_gone(struct mark *mark, struct err *err);
