/* Which policies there are. Private to controller/engine. */
#pragma once

#include "controller/engine/commit/commit.h"
#include "controller/engine/network/network.h"
#include "controller/engine/place/place.h"
#include "controller/engine/turn/turn.h"

/* In the order in which they are listed to people; each ends with NULL. */
extern const struct turn_policy *const turn_policies[];
extern const struct place_policy *const place_policies[];
extern const struct commit_policy *const commit_policies[];
extern const struct network_policy *const network_policies[];
/* What engine_config_default names. */
extern const char *const policy_defaults[QUESTIONS];
