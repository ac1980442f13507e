#include "controller/engine/place/affinity_downlink.h"

#include "controller/engine/books/stage.h"
#include "controller/engine/place/kinds.h"
#include "controller/engine/policy/questions.h"

/* Of bytes ÷ (bits a second). */
#define BITS_NS UINT64_C(8000000000)

static struct sorted_key urgency_of(const struct engine *engine, const struct task *task,
                                    const uint64_t bytes[static ORDERS])
{
    return engine->network->urgency ? engine->network->urgency(engine, task, bytes)
                                    : (struct sorted_key){0, 0, 0};
}

static uint64_t left_of(const struct attempt *attempt)
{
    return attempt->remote_bytes > attempt->received_bytes
               ? attempt->remote_bytes - attempt->received_bytes
               : 0;
}

/* What is served there before a transfer of that urgency, or beside it. */
static engine_wide bytes_ahead(struct engine *engine, const struct host *host,
                               struct sorted_key urgency)
{
    engine_wide ahead = 0;
    struct sorted_node *node = sorted_first(&host->receiving[ORDER_COFLOW]);
    for (; node; node = sorted_next(node)) {
        const struct attempt *attempt = container_of(node, struct attempt, by_size[ORDER_COFLOW]);
        engine->counters.visits++;
        if (attempt->task &&
            sorted_compare(urgency_of(engine, attempt->task, attempt->bytes), urgency) <= 0)
            ahead += left_of(attempt);
    }
    return ahead;
}

/* WHY a thousandth at least: a link that others fill carries something all the same. */
static uint64_t free_bps(const struct host *host)
{
    uint64_t permille = host->foreign_permille < 1000 ? 1000 - host->foreign_permille : 1;
    uint64_t bps = (uint64_t)((engine_wide)host->downlink_bps * permille / 1000);
    return bps ? bps : 1;
}

uint64_t affinity_wait_ns(struct engine *engine, const struct host *host, const struct task *task)
{
    const uint64_t bytes[ORDERS] = {
        [ORDER_COFLOW] = stage_coflow_bytes(task->stage), [ORDER_MACROFLOW] = task->bytes};
    if (!task->bytes || !host->downlink_bps)
        return 0;
    engine_wide ahead = bytes_ahead(engine, host, urgency_of(engine, task, bytes));
    uint64_t bps = free_bps(host);
    if (ahead / bps >= KINDS_TIME_MOST / BITS_NS) /* else the product stays in 128 bits */
        return KINDS_TIME_MOST;
    return (uint64_t)(ahead * BITS_NS / bps);
}
