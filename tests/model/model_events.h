/* Facts and requests of the literal model, made up at random: each is applied to the model and
 * written down as an event for the engine. One file for each of hosts, jobs and attempts. */
#pragma once

#include "tests/model/model.h"

struct event *m_event(struct model *m, enum event_kind kind);
uint64_t *m_u64s(struct model *m, uint32_t n);
uint32_t *m_u32s(struct model *m, uint32_t n);
void m_join(struct model *m, uint32_t host);
void m_host_event(struct model *m, enum event_kind kind, uint32_t host);

/* Only a host that is not up can be forgotten. */
void m_forget(struct model *m, uint32_t host);

void m_any_source(struct model *m);
void m_drain(struct model *m, uint32_t host);
void m_load(struct model *m, uint32_t host);
void m_submit(struct model *m);
struct m_job *m_any_job(struct model *m);
void m_update(struct model *m);
void m_cancel(struct model *m);
void m_output_lost(struct model *m);
void m_any_news(struct model *m);

/* An attempt that this engine never started: of an older epoch, of any task or of none, on any
 * host. */
void m_seen(struct model *m);
