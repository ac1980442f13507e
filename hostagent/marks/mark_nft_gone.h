/* Levels of cgroups that are gone, for the nftables mark driver: they are taken out of its sets, as nft
 * lists a cgroup that it does not find as a number, and loads no list with one in it. */
#pragma once

#include "hostagent/marks/mark_nft_state.h"

/* What is known of them stays with the agent. Costs a system call for each cgroup that has been found
 * before, and a walk over the hierarchy for those that have not. */
int mark_nft_drop_gone(struct mark *mark, struct err *err);
