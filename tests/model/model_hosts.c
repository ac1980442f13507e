#include "tests/model/model_effects.h"
#include "tests/model/model_events.h"
#include "tests/model/model_sources.h"

static const char *const m_labels[] = {"", "ssd", "big,ssd"};

static void m_congestion(struct model *m)
{
    uint32_t joined = 0, hot = 0, warm = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++) {
        joined += m->host[h].joined;
        hot += m->host[h].permille > m->config.congested_permille;
        warm += m->host[h].permille >= m->config.cleared_permille;
    }
    uint32_t share = joined * m->config.congested_share_permille;
    m->congested = hot * 1000 > share || (m->congested && warm * 1000 > share);
}

static void m_describe(struct model *m, struct event *e, uint32_t host)
{
    static const char *const names[M_HOSTS] = {"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"};
    struct m_host *h = &m->host[host];
    h->labels = (uint32_t)m_random(m, 3);
    h->rack = (uint32_t)m_random(m, 2);
    h->number = host;
    h->n_units = 1 + (m_random(m, 4) == 0);
    uint64_t *units = m_u64s(m, h->n_units * ENGINE_RESOURCES);
    memset(units, 0, h->n_units * ENGINE_RESOURCES * sizeof(*units));
    for (uint32_t u = 0; u < h->n_units; u++) {
        units[u * ENGINE_RESOURCES + RES_SLOTS] = 1 + m_random(m, 4);
        units[u * ENGINE_RESOURCES + RES_MEM_BYTES] = 4 + m_random(m, 12);
        h->slots[u] = (int64_t)units[u * ENGINE_RESOURCES + RES_SLOTS];
        h->mem[u] = (int64_t)units[u * ENGINE_RESOURCES + RES_MEM_BYTES];
    }
    e->host_join.host = host;
    e->host_join.name = names[host];
    e->host_join.rack = h->rack ? "r1" : "";
    e->host_join.labels = m_labels[h->labels];
    e->host_join.uplink_bps = e->host_join.downlink_bps = m->bps;
    e->host_join.rack_bps = h->rack ? m->rack_bps : 0;
    e->host_join.units = (struct u64s){units, h->n_units * ENGINE_RESOURCES};
}

void m_join(struct model *m, uint32_t host)
{
    struct event *e = m_event(m, EVENT_HOST_JOIN);
    struct m_host *h = &m->host[host];
    bool reboot = h->joined && m_random(m, 2);
    if (reboot)
        m_host_lost(m, host);
    h->generation += reboot || !h->joined;
    h->joined = h->known = true;
    h->silent = h->lost = false;
    m_congestion(m);
    e->host_join.generation = h->generation;
    m_describe(m, e, host);
    e->host_join.generation = h->generation;
}

void m_host_event(struct model *m, enum event_kind kind, uint32_t host)
{
    struct m_host *h = &m->host[host];
    if (!h->known)
        return;
    struct event *e = m_event(m, kind);
    e->host.host = host;
    if (kind == EVENT_HOST_BACK) {
        h->silent = h->lost = false;
        return;
    }
    h->silent = true;
    h->permille = 0;
    m_congestion(m);
    if (kind == EVENT_HOST_LOST) {
        h->lost = true;
        m_host_lost(m, host);
    }
}

void m_forget(struct model *m, uint32_t host)
{
    struct m_host *h = &m->host[host];
    if (!h->known || (h->joined && !h->silent))
        return;
    m_host_event(m, EVENT_HOST_LOST, host);
    m->events[m->n_events - 1].kind = EVENT_HOST_FORGET;
    *h = (struct m_host){.known = true, .generation = h->generation, .n_units = 1};
    m_congestion(m);
}

/* Some attempt that reads says that a host gives it nothing, or something again. */
static void m_source(struct model *m, struct m_attempt *a, uint32_t source)
{
    bool flows = a->stalled[source] && m_random(m, 3) == 0;
    struct event *e = m_event(m, flows ? EVENT_SOURCE_FLOWS : EVENT_SOURCE_STALLED);
    e->source.attempt = a->number;
    e->source.host = source;
    e->source.others = m_random(m, 6) == 0;
    if (a->orphan || a->state == ATTEMPT_COMPUTING)
        return;
    if (flows) {
        m_reached(m, a->host, source);
        return;
    }
    if (!m->host[source].joined || m->host[source].lost) {
        m_outputs_lost(m, source);
        if (!a->orphan)
            m_read_again(m, a);
        return;
    }
    struct m_pair *p = &m->pair[a->host][source];
    uint32_t reader = a->host;
    if (!p->is)
        *p = (struct m_pair){.is = true, .since = m->script.now_ns};
    if (!m_waiting(m, reader, source)) {
        p->since = p->overdue ? p->since : m->script.now_ns;
        p->due = p->since + m->config.source_lost_ns;
    }
    a->stalled[source] = true;
    m->host[reader].reached |= e->source.others > 0;
    m_judge_both(m, reader, source);
    if (m->host[source].cut)
        m_give_up(m, reader, source);
    else if (!a->orphan && a->block == source &&
             m_other_replica(&m_find_job(m, a->job)->stage[a->stage], m, a))
        m_read_again(m, a);
}

void m_any_source(struct model *m)
{
    uint32_t source = (uint32_t)m_random(m, m_random(m, 2) ? M_HOSTS : 2);
    uint64_t reading = 0, chosen;
    for (int i = 0; i < M_ATTEMPTS; i++)
        reading += m->attempt[i].number && m->attempt[i].receiving;
    chosen = reading ? m_random(m, reading) : 0;
    for (int i = 0; reading && m->host[source].known && i < M_ATTEMPTS; i++)
        if (m->attempt[i].number && m->attempt[i].receiving && chosen-- == 0) {
            bool at_block = m->attempt[i].block != ENGINE_NONE && m_random(m, 2);
            m_source(m, &m->attempt[i], at_block ? m->attempt[i].block : source);
            return;
        }
}

void m_drain(struct model *m, uint32_t host)
{
    if (!m->host[host].known)
        return;
    struct event *e = m_event(m, EVENT_HOST_DRAIN);
    e->host_drain.host = host;
    e->host_drain.undo = m->host[host].draining;
    m->host[host].draining = !m->host[host].draining;
}

static void report_downlink(struct model *m, uint32_t host, uint32_t permille)
{
    struct m_host *h = &m->host[host];
    uint64_t smallest;
    if (!h->ours || permille < h->foreign)
        h->foreign = permille;
    h->ours = m_receiving_on(m, host, M_COFLOW, &smallest) > 0;
}

void m_load(struct model *m, uint32_t host)
{
    static const uint32_t levels[] = {0, 500, 799, 800, 850, 900, 901, 1000};
    if (!m->host[host].known)
        return;
    struct event *e = m_event(m, EVENT_HOST_LOAD);
    e->host_load.host = host;
    e->host_load.resource = (uint32_t)m_random(m, 5) ? LOAD_UPLINK : LOAD_DOWNLINK;
    e->host_load.permille = levels[m_random(m, m_random(m, 2) ? 8 : 3)];
    if (e->host_load.resource == LOAD_UPLINK)
        m->host[host].permille = e->host_load.permille;
    else
        report_downlink(m, host, e->host_load.permille);
    m_congestion(m);
}
