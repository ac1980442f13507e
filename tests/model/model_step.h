/* One step of the literal model (model.h): events, the engine's decisions one by one, and the
 * engine's views against the model. */
#pragma once

#include "tests/model/model.h"

void m_follow(struct model *m);
void m_compare(struct model *m);

/* The configuration names other policies than before. */
void m_take_policies(struct model *m);

void model_begin(struct model *m, const struct engine_config *config, uint64_t stream);
/* Before the first step: jobs are of M_USERS users. */
void model_users(struct model *m);
void model_end(struct model *m);

/* Moves time, sometimes to the engine's own deadline, makes up events and follows what the engine
 * does with them. */
void model_step(struct model *m);
