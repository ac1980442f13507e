#include "controller/engine/users/division.h"

const struct users_policy users_none = {.policy = {.name = "none"}};
