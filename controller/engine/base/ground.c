#include "controller/engine/base/ground.h"

#include "lib/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PAGE = 4096,
    FEW_PAGES = 4 /* fewer cost less than the call */
};

void *engine_allocate(struct engine *engine, size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);
    if (!memory)
        longjmp(engine->no_memory, 1);
    return memory;
}

void engine_fault_in(void *from, size_t bytes)
{
    if (bytes < (size_t)FEW_PAGES * PAGE)
        return;
    char *first = (char *)from - (uintptr_t)from % PAGE;
    /* Linux before 5.14 knows no such advice: the pages are made one by one then. */
    (void)madvise(first, (size_t)((char *)from + bytes - first), MADV_POPULATE_WRITE);
}

void *engine_grow(struct engine *engine, void *array, uint32_t n)
{
    if (n & (n - 1) || n == 1)
        return array;
    void *grown = reallocarray(array, n ? 2 * (size_t)n : 2, sizeof(void *));
    if (!grown)
        longjmp(engine->no_memory, 1);
    return grown;
}

struct decision *engine_decide(struct engine *engine, enum decision_kind kind, enum reason reason,
                               int64_t left, int64_t right)
{
    struct decisions *out = engine->out;
    if (!array_grow(out->at, out->n, out->capacity, 64))
        longjmp(engine->no_memory, 1);
    struct decision *decision = &out->at[out->n++];
    memset(decision, 0, sizeof(*decision));
    decision->kind = kind;
    decision->reason = reason;
    decision->left = left;
    decision->right = right;
    engine->counters.decisions++;
    return decision;
}

void engine_reject(struct engine *engine, const struct event *event, enum reason reason,
                   int64_t left, int64_t right)
{
    struct decision *decision = engine_decide(engine, DECISION_REJECT, reason, left, right);
    decision->reject.request = event->request;
    decision->reject.event = event->kind;
    engine->counters.rejects++;
}

void decisions_done(struct decisions *decisions)
{
    free(decisions->at);
    *decisions = (struct decisions){0};
}

void engine_copy_word(char *to, size_t size, const char *from)
{
    size_t length = from ? strnlen(from, size - 1) : 0;
    if (length)
        memcpy(to, from, length);
    to[length] = 0;
}
