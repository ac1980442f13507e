/* Who cannot read from whom, in the literal model: the rules of controller/engine/watch/source.h by
 * scans. */
#pragma once

#include "tests/model/model.h"

uint32_t m_readers(const struct model *m, uint32_t source);
uint32_t m_sources(const struct model *m, uint32_t reader);
uint32_t m_waiting(const struct model *m, uint32_t reader, uint32_t source);
bool m_good(const struct model *m, uint32_t host);
bool m_other_replica(const struct m_stage *s, const struct model *m, const struct m_attempt *a);
void m_read_again(struct model *m, struct m_attempt *a);
void m_judge_both(struct model *m, uint32_t reader, uint32_t source);
void m_release(struct model *m, struct m_attempt *a);
void m_reached(struct model *m, uint32_t reader, uint32_t source);
void m_give_up(struct model *m, uint32_t reader, uint32_t source);
void m_expire(struct model *m);
void m_source_host_lost(struct model *m, uint32_t host);
