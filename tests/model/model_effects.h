/* What events and decisions bring about in the literal model: outputs that are lost, attempts that
 * stop, tasks that are free again, and where a task reads from. */
#pragma once

#include "tests/model/model.h"

void m_stop(struct model *m, struct m_attempt *a);
/* A policy asked to stop it, as it may. */
void m_evict(struct model *m, struct m_attempt *a);
void m_task_free(struct model *m, struct m_job *j, uint32_t stage, uint32_t task);
void m_job_over(struct model *m, struct m_job *j);
void m_without_result(struct model *m, struct m_attempt *a);
bool m_needed(const struct m_job *j, uint32_t stage);
void m_lose(struct model *m, struct m_job *j, uint32_t stage, uint32_t task);
void m_host_lost(struct model *m, uint32_t host);
void m_outputs_lost(struct model *m, uint32_t host);
uint64_t m_cell(const struct m_job *j, uint32_t stage, uint32_t edge, uint32_t map,
                uint32_t reduce);
uint32_t m_output_host(const struct model *m, const struct m_job *j, uint32_t stage, uint32_t task);
bool m_replica_here(const struct m_stage *s, const struct m_task *t, uint32_t host);

/* Reads its block from another host: it has one, not here, and somebody is there to give it. */
bool m_reads_block(const struct model *m, const struct m_stage *s, const struct m_task *t,
                   uint32_t host);

uint64_t m_remote_bytes(const struct model *m, const struct m_job *j, uint32_t stage, uint32_t task,
                        uint32_t host, bool block);
struct m_attempt *m_add_attempt(struct model *m, uint64_t number, struct m_job *j, uint32_t stage,
                                uint32_t task, uint32_t host, uint32_t unit);
void m_set_sizes(struct m_attempt *a, const struct m_stage *s, bool block);
