/* Which jobs joint runs on one host, by loops over all jobs, tasks and hosts: the rules of
 * controller/engine/place/pack.h, stated literally. */
#pragma once

#include "tests/model/model.h"

bool m_sooner(const struct model *m, const struct m_job *a, const struct m_job *b);
uint64_t m_outputs_on(const struct m_job *j, uint32_t host);
/* Tasks of this demand that the host holds when it is empty. */
int64_t m_slots(const struct model *m, uint32_t host, struct m_demand d);
bool m_has_block(const struct m_stage *s, const struct m_task *t);

/* A start that was decided. Where nothing of its job ran before it notes whether the job is packed,
 * or kept to its rack, which its demands then say, and returns that; false for every other
 * start. */
bool m_home_note(struct model *m, struct m_job *j, const struct decision *d);
/* After a step's events: jobs that the engine lets out of their racks, whose time was up; returns
 * how many. */
uint32_t m_racks_left(struct model *m);
/* At the end of a step: the engine wants a step when the next one's time is up. */
void m_racks_wait(struct model *m);
/* Of all jobs: another run begins. */
void m_homes_forget(void);
/* Of the other jobs of those that may be packed at least so many waited for links, in all runs, and
 * as many for slots alone. */
bool m_homes_differ(int least);
/* Its home, if it is packed. */
uint32_t m_home_host(const struct m_job *j);
/* The job starts at home or nowhere. */
bool m_homed(const struct model *m, const struct m_job *j);
/* What starts there next: maps in order, then the largest reduce task. False: nothing is ready. */
bool m_home_next(const struct m_job *j, uint32_t *ret_stage, uint32_t *ret_task);
/* The one host with all outputs, which its next task, a reduce task, reads; ENGINE_NONE: there is
 * none. */
uint32_t m_only_source(const struct model *m, const struct m_job *j);
