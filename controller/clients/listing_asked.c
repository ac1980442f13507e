#include "controller/clients/listing_asked.h"

#include "controller/agents/dispatch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where an agent names an attempt that runs elsewhere, or nowhere, nothing is said of it. */
static void attempt_fill(const struct conductor_parts *parts, uint32_t host, duopoly_FlowRow *row)
{
    struct attempt_view attempt;
    struct engine_status status;
    if (!row->flow.attempt || engine_attempt(parts->engine, row->flow.attempt, &attempt) < 0 ||
        attempt.host != host)
        return;
    engine_status(parts->engine, &status);
    row->known = true;
    row->job = attempt.job;
    row->stage = attempt.stage;
    row->task = attempt.task;
    row->coflow_level = (int32_t)level_on_wire(attempt.coflow_level);
    row->macroflow_level = (int32_t)level_on_wire(attempt.macroflow_level);
    row->level = status.mode == MODE_SLOT_STARVED ? row->macroflow_level : row->coflow_level;
}

static void row_fill(const struct conductor_parts *parts, uint32_t host, const duopoly_Flow *flow,
                     duopoly_FlowRow *row)
{
    struct agent_view peer;
    row->has_flow = true;
    row->flow = *flow;
    if (agents_addressed(parts->agents, flow->peer, &peer) == 0)
        wire_copy(row->peer_host, sizeof(row->peer_host), peer.name);
    attempt_fill(parts, host, row);
}

void listing_asked(const struct conductor_parts *parts, const char *name,
                   const duopoly_AskedPart *part, duopoly_Envelope *answer)
{
    duopoly_AskedPage *page = &wire_begin(answer, duopoly_Envelope_asked_page_tag)->body.asked_page;
    struct agent_view agent;
    if (agents_named(parts->agents, name, &agent) < 0)
        return;
    page->cursor = part->cursor;
    if (*part->text)
        snprintf(page->text, sizeof(page->text), "%s: %.180s", name, part->text);
    for (pb_size_t i = 0; i < part->flows_count; i++)
        row_fill(parts, agent.host, &part->flows[i], &page->flows[page->flows_count++]);
    memcpy(page->queues, part->queues, sizeof(page->queues));
    page->queues_count = part->queues_count;
}

void listing_unanswered(duopoly_Envelope *answer, const char *format, ...)
{
    duopoly_AskedPage *page = &wire_begin(answer, duopoly_Envelope_asked_page_tag)->body.asked_page;
    va_list ap;
    page->unanswered = true;
    va_start(ap, format);
    vsnprintf(page->text, sizeof(page->text), format, ap);
    va_end(ap);
}
