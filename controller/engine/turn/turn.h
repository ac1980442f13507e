/* Which job is next: an order of jobs, by a number per job. */
#pragma once

#include "controller/engine/policy/questions.h"

/* Order of submission. */
extern const struct turn_policy turn_fifo;
/* Shortest estimated job first: Duopoly, Tian et al., section 4. */
extern const struct turn_policy turn_sjf;
/* Fewest running tasks first. */
extern const struct turn_policy turn_fair;
/* Highest priority first, then order of submission. */
extern const struct turn_policy turn_priority;
/* Smallest dominant share first: dominant resource fairness, Ghodsi and others, NSDI 2011. */
extern const struct turn_policy turn_drf;
/* Shortest by what is left of the estimate; with ageing, so that no job starves. */
extern const struct turn_policy turn_srpt;
/* The same without ageing, to measure its cost. */
extern const struct turn_policy turn_srpt_ageless;
