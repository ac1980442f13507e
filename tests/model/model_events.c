#include "tests/model/model_events.h"

struct event *m_event(struct model *m, enum event_kind kind)
{
    assert_true(m->n_events < M_EVENTS);
    struct event *e = &m->events[m->n_events++];
    memset(e, 0, sizeof(*e));
    e->kind = kind;
    if (kind < EVENT_HOST_JOIN)
        e->request = m->n_events;
    return e;
}

uint64_t *m_u64s(struct model *m, uint32_t n)
{
    assert_true(m->used64 + n <= 8192);
    m->used64 += n;
    return m->room64 + m->used64 - n;
}

uint32_t *m_u32s(struct model *m, uint32_t n)
{
    assert_true(m->used32 + n <= 4096);
    m->used32 += n;
    return m->room32 + m->used32 - n;
}
