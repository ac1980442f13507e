#include "tests/model/model_sources.h"
#include "tests/model/model_effects.h"

uint32_t m_readers(const struct model *m, uint32_t source)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < M_HOSTS; r++)
        n += m->pair[r][source].is;
    return n;
}

uint32_t m_sources(const struct model *m, uint32_t reader)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < M_HOSTS; s++)
        n += m->pair[reader][s].is;
    return n;
}

uint32_t m_waiting(const struct model *m, uint32_t reader, uint32_t source)
{
    uint32_t n = 0;
    for (int i = 0; i < M_ATTEMPTS; i++)
        n += m->attempt[i].number && m->attempt[i].host == reader && m->attempt[i].stalled[source];
    return n;
}

static bool m_is_blind(const struct model *m, uint32_t reader)
{
    uint32_t alone = 0, overdue = 0;
    for (uint32_t s = 0; s < M_HOSTS; s++) {
        bool lone = m->pair[reader][s].is && s != reader && m_readers(m, s) == 1;
        alone += lone;
        overdue += lone && m->pair[reader][s].overdue;
    }
    return (!m->host[reader].reached && alone >= 2) || overdue > m->config.lone_sources_max;
}

static bool m_is_mute(const struct model *m, uint32_t source)
{
    uint32_t complain = 0;
    bool old = false;
    for (uint32_t r = 0; r < M_HOSTS; r++) {
        bool counts = m->pair[r][source].is && !m->host[r].blind;
        complain += counts;
        old |= counts && m->pair[r][source].overdue;
    }
    return m->pair[source][source].is || old || complain >= (m->host[source].strikes ? 1 : 2);
}

bool m_good(const struct model *m, uint32_t host)
{
    const struct m_host *h = host < M_HOSTS ? &m->host[host] : NULL;
    return h && h->joined && !h->silent && !h->lost && !h->suspect && !m_readers(m, host);
}

bool m_other_replica(const struct m_stage *s, const struct model *m, const struct m_attempt *a)
{
    for (uint32_t i = 0; i < s->n_replicas; i++) {
        uint32_t replica = s->task[a->task].replicas[i];
        if (replica != a->block && m_good(m, replica))
            return true;
    }
    return false;
}

void m_read_again(struct model *m, struct m_attempt *a)
{
    m_stop(m, a);
    m_task_free(m, m_find_job(m, a->job), a->stage, a->task);
}

static void m_move_block_readers(struct model *m, uint32_t host)
{
    for (int i = 0; i < M_ATTEMPTS; i++) {
        struct m_attempt *a = &m->attempt[i];
        if (!a->number || a->orphan || a->block != host || a->state == ATTEMPT_COMPUTING)
            continue;
        struct m_job *j = m_find_job(m, a->job);
        if (m->host[host].lost || m_other_replica(&j->stage[a->stage], m, a))
            m_read_again(m, a);
    }
}

static void m_judge(struct model *m, uint32_t host)
{
    struct m_host *h = &m->host[host];
    uint32_t up = 0, suspects = 0;
    for (uint32_t i = 0; i < M_HOSTS; i++) {
        up += m_up(&m->host[i]);
        suspects += m->host[i].suspect;
    }
    bool mute = m_is_mute(m, host), suspect = mute || h->blind;
    suspect = suspect && (h->suspect || !m_up(h) || suspects + 1 <= up - 1);
    h->mute = mute && suspect;
    h->cut = h->cut && h->mute;
    if (suspect == h->suspect)
        return;
    if (suspect && h->strikes < 6)
        h->strikes++;
    h->suspect = suspect;
    m->suspicions += suspect;
    m_rekey(m);
    if (h->mute)
        m_move_block_readers(m, host);
}

static void m_judge_reader(struct model *m, uint32_t reader)
{
    bool blind = m_is_blind(m, reader);
    if (blind == m->host[reader].blind)
        return;
    m->host[reader].blind = blind;
    m_judge(m, reader);
    for (uint32_t s = 0; s < M_HOSTS; s++)
        if (m->pair[reader][s].is)
            m_judge(m, s);
}

void m_judge_both(struct model *m, uint32_t reader, uint32_t source)
{
    uint32_t n = 0;
    m_judge_reader(m, reader);
    for (uint32_t r = 0; r < M_HOSTS && n < 2; r++)
        if (m->pair[r][source].is) {
            m_judge_reader(m, r);
            n++;
        }
    m_judge(m, source);
}

static void m_pair_gone(struct model *m, uint32_t reader, uint32_t source)
{
    for (int i = 0; i < M_ATTEMPTS; i++)
        if (m->attempt[i].number && m->attempt[i].host == reader)
            m->attempt[i].stalled[source] = false;
    m->pair[reader][source].is = false;
    if (!m_sources(m, reader))
        m->host[reader].reached = false;
}

void m_release(struct model *m, struct m_attempt *a)
{
    for (uint32_t s = 0; s < M_HOSTS; s++) {
        if (!a->stalled[s])
            continue;
        a->stalled[s] = false;
        uint32_t strikes = m->host[s].strikes > m->host[a->host].strikes ? m->host[s].strikes
                                                                         : m->host[a->host].strikes;
        if (!m_waiting(m, a->host, s))
            m->pair[a->host][s].due = m->script.now_ns + (m->config.source_lost_ns << strikes);
    }
}

void m_reached(struct model *m, uint32_t reader, uint32_t source)
{
    if (reader != source) {
        m->host[reader].reached = m_sources(m, reader) > 0;
        m->host[source].strikes = 0;
    }
    if (m->pair[reader][source].is)
        m_pair_gone(m, reader, source);
    m_judge_both(m, reader, source);
}

void m_give_up(struct model *m, uint32_t reader, uint32_t source)
{
    m->pair[reader][source].overdue = true;
    m->pair[reader][source].due = INT64_MAX;
    m_judge_both(m, reader, source);
    if (m->host[source].mute) {
        m->host[source].cut = true;
        m_outputs_lost(m, source);
    }
    for (int i = 0; i < M_ATTEMPTS; i++)
        if (m->attempt[i].number && m->attempt[i].host == reader && m->attempt[i].stalled[source])
            m_read_again(m, &m->attempt[i]);
}

void m_expire(struct model *m)
{
    for (;;) {
        struct m_pair *first = NULL;
        uint32_t reader = 0, source = 0;
        for (uint32_t s = 0; s < M_HOSTS; s++)
            for (uint32_t r = 0; r < M_HOSTS; r++)
                if (m->pair[r][s].is && m->pair[r][s].due <= m->script.now_ns &&
                    (!first || m->pair[r][s].due < first->due)) {
                    first = &m->pair[r][s];
                    reader = r;
                    source = s;
                }
        if (!first)
            return;
        if (m_waiting(m, reader, source)) {
            m_give_up(m, reader, source);
        } else {
            m_pair_gone(m, reader, source);
            m_judge_both(m, reader, source);
        }
    }
}

void m_source_host_lost(struct model *m, uint32_t host)
{
    for (uint32_t r = 0; r < M_HOSTS; r++)
        if (m->pair[r][host].is) {
            m_pair_gone(m, r, host);
            m_judge_reader(m, r);
        }
    for (uint32_t s = 0; s < M_HOSTS; s++)
        if (m->pair[host][s].is) {
            m_pair_gone(m, host, s);
            m_judge_both(m, host, s);
        }
    m->host[host].strikes = 0;
    m->host[host].blind = false;
    m_judge(m, host);
    m_move_block_readers(m, host);
}
