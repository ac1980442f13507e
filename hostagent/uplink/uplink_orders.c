/* What the session carries: orders of the controller, each obeyed and acknowledged; states, results
 * and reports to it; the inventory with which a session begins.
 *
 * Two lists tie messages to attempts. `starts` holds the controller's starts that have not taken
 * effect: the acknowledgement of each waits for its attempt's first state. `results` holds our
 * results until the controller has acknowledged them: only then they leave the disk. */
#include "hostagent/uplink/uplink_session.h"
#include "lib/log.h"
#include "lib/now.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PART_ATTEMPTS                                                                              \
    (sizeof(((duopoly_InventoryPart *)0)->attempts) / sizeof(duopoly_AttemptState))
#define PARTS_MAX    (WIRE_WINDOW / 2)
#define PART_OUTPUTS (sizeof(((duopoly_InventoryPart *)0)->outputs) / sizeof(duopoly_OutputHeld))

static bool is_result(duopoly_AttemptPhase phase)
{
    return phase == duopoly_AttemptPhase_PHASE_DONE || phase == duopoly_AttemptPhase_PHASE_FAILED ||
           phase == duopoly_AttemptPhase_PHASE_KILLED || phase == duopoly_AttemptPhase_PHASE_LOST;
}

static int note(struct uplink_notes *notes, uint64_t sequence, uint64_t attempt)
{
    struct uplink_note *one = calloc(1, sizeof(*one));
    if (!one)
        return -ENOMEM;
    one->sequence = sequence;
    one->attempt = attempt;
    STAILQ_INSERT_TAIL(notes, one, next);
    return 0;
}

static void forget_all(struct uplink_notes *notes)
{
    struct uplink_note *one;
    while ((one = STAILQ_FIRST(notes))) {
        STAILQ_REMOVE_HEAD(notes, next);
        free(one);
    }
}

void uplink_forget_results(struct uplink *uplink)
{
    forget_all(&uplink->results);
}

void uplink_forget_starts(struct uplink *uplink)
{
    forget_all(&uplink->starts);
}

void uplink_forget_answered(struct uplink *uplink)
{
    struct uplink_note *one;
    while ((one = STAILQ_FIRST(&uplink->results)) && one->sequence <= uplink->session.answered) {
        STAILQ_REMOVE_HEAD(&uplink->results, next);
        tasks_acknowledge(uplink->tasks, one->attempt);
        free(one);
    }
}

/* A start took effect; its note goes before the answer is sent, which then carries the
 * acknowledgement. */
static void settle_start(struct uplink *uplink, uint64_t attempt)
{
    struct uplink_note *one;
    STAILQ_FOREACH (one, &uplink->starts, next)
        if (one->attempt == attempt)
            break;
    if (!one)
        return;
    wire_session_effected(&uplink->session, one->sequence);
    STAILQ_REMOVE(&uplink->starts, one, uplink_note, next);
    free(one);
}

void uplink_tell_state(struct uplink *uplink, const duopoly_AttemptState *state)
{
    if (!uplink->open)
        return;
    if (state->phase != duopoly_AttemptPhase_PHASE_SENT)
        settle_start(uplink, state->attempt);
    wire_begin(&uplink->out, duopoly_Envelope_attempt_state_tag)->body.attempt_state = *state;
    if (uplink_send(uplink, WIRE_RESULT, true) >= 0 && is_result(state->phase) &&
        note(&uplink->results, uplink->session.sent, state->attempt) < 0)
        uplink_end(uplink, "no memory"); /* the next inventory carries the result again */
}

/* What is to arrive waits for its acknowledgement; a lost report is followed by the next one. */
static void send_body(struct uplink *uplink, pb_size_t kind, const void *body, size_t size,
                      enum wire_class class)
{
    if (!uplink->open)
        return;
    memcpy(&wire_begin(&uplink->out, kind)->body, body, size);
    uplink_send(uplink, class, class == WIRE_RESULT);
}

void uplink_tell_output_lost(struct uplink *uplink, const duopoly_OutputLost *lost)
{
    send_body(uplink, duopoly_Envelope_output_lost_tag, lost, sizeof(*lost), WIRE_RESULT);
}

void uplink_tell_room(struct uplink *uplink, const char *why_not)
{
    if (!uplink->open)
        return;
    duopoly_HostRoom *room =
        &wire_begin(&uplink->out, duopoly_Envelope_host_room_tag)->body.host_room;
    wire_copy(room->text, sizeof(room->text), why_not);
    uplink_send(uplink, WIRE_RESULT, true);
}

/* A lost one is no loss: it is said again while it lasts. */
void uplink_tell_source(struct uplink *uplink, const duopoly_SourceState *source)
{
    send_body(uplink, duopoly_Envelope_source_state_tag, source, sizeof(*source), WIRE_RESULT);
}

static void send_host(struct uplink *uplink)
{
    send_body(uplink, duopoly_Envelope_host_state_tag, &uplink->host, sizeof(uplink->host),
              WIRE_RESULT);
}

void uplink_tell_host(struct uplink *uplink, const duopoly_HostState *state)
{
    uplink->host = *state;
    send_host(uplink);
}

void uplink_tell_switch(struct uplink *uplink, const duopoly_SwitchPart *part)
{
    send_body(uplink, duopoly_Envelope_switch_part_tag, part, sizeof(*part), WIRE_RESULT);
}

void uplink_report_load(struct uplink *uplink, const duopoly_Load *load)
{
    send_body(uplink, duopoly_Envelope_load_tag, load, sizeof(*load), WIRE_REPORT);
}

void uplink_report_links(struct uplink *uplink, const duopoly_LinksPart *part)
{
    send_body(uplink, duopoly_Envelope_links_part_tag, part, sizeof(*part), WIRE_REPORT);
}

void uplink_report_guests(struct uplink *uplink, const duopoly_GuestsPart *part)
{
    send_body(uplink, duopoly_Envelope_guests_part_tag, part, sizeof(*part), WIRE_REPORT);
}

void uplink_answer(struct uplink *uplink, const duopoly_AskedPart *part)
{
    send_body(uplink, duopoly_Envelope_asked_part_tag, part, sizeof(*part), WIRE_REPORT);
}

void uplink_report_counters(struct uplink *uplink, const duopoly_AgentCounters *counters)
{
    send_body(uplink, duopoly_Envelope_agent_counters_tag, counters, sizeof(*counters),
              WIRE_REPORT);
}

void uplink_flush(struct uplink *uplink)
{
    if (!uplink->progress_n || !uplink->open)
        return;
    duopoly_Progress *progress =
        &wire_begin(&uplink->out, duopoly_Envelope_progress_tag)->body.progress;
    progress->attempts_count = (pb_size_t)uplink->progress_n;
    memcpy(progress->attempts, uplink->progress, uplink->progress_n * sizeof(uplink->progress[0]));
    uplink->progress_n = 0;
    uplink_send(uplink, WIRE_REPORT, false);
}

void uplink_report_bytes(struct uplink *uplink, uint64_t attempt, uint64_t received_bytes)
{
    if (!uplink->open)
        return;
    uplink->progress[uplink->progress_n++] =
        (duopoly_AttemptBytes){.attempt = attempt, .received_bytes = received_bytes};
    if (uplink->progress_n == sizeof(uplink->progress) / sizeof(uplink->progress[0]))
        uplink_flush(uplink);
}

struct inventory {
    struct uplink *uplink;
    duopoly_InventoryPart *part; /* in uplink->out */
    uint32_t parts;
    uint64_t left_out; /* outputs */
    uint32_t results_n;
    uint64_t results[TASKS_MAX];
};

static void begin_part(struct inventory *inventory)
{
    struct uplink *uplink = inventory->uplink;
    inventory->part =
        &wire_begin(&uplink->out, duopoly_Envelope_inventory_part_tag)->body.inventory_part;
    inventory->part->part = inventory->parts;
}

static void send_part(struct inventory *inventory)
{
    if (inventory->uplink->open && uplink_send(inventory->uplink, WIRE_RESULT, true) >= 0)
        inventory->parts++;
    begin_part(inventory); /* also when the session has ended meanwhile: the rest goes nowhere */
}

static void list_attempt(void *user, const duopoly_AttemptState *state)
{
    struct inventory *inventory = user;
    inventory->part->attempts[inventory->part->attempts_count++] = *state;
    if (is_result(state->phase))
        inventory->results[inventory->results_n++] = state->attempt;
    if (inventory->part->attempts_count == PART_ATTEMPTS)
        send_part(inventory);
}

/* WHY a bound: all parts are on their way before one is answered (WIRE_WINDOW). */
static void list_output(void *user, const duopoly_OutputHeld *output)
{
    struct inventory *inventory = user;
    if (inventory->parts >= PARTS_MAX) {
        inventory->left_out++;
        return;
    }
    inventory->part->outputs[inventory->part->outputs_count++] = *output;
    if (inventory->part->outputs_count == PART_OUTPUTS)
        send_part(inventory);
}

/* Results are the controller's when the inventory's end is acknowledged: only then it has taken the
 * parts in. */
static void end_inventory(struct inventory *inventory)
{
    struct uplink *uplink = inventory->uplink;
    if (!uplink->open)
        return;
    wire_begin(&uplink->out, duopoly_Envelope_inventory_end_tag)->body.inventory_end.parts =
        inventory->parts;
    log_debug("session: the inventory has %" PRIu32 " parts, %" PRIu32 " results in it",
              inventory->parts, inventory->results_n);
    if (uplink_send(uplink, WIRE_RESULT, true) < 0)
        return;
    for (uint32_t i = 0; i < inventory->results_n; i++)
        if (note(&uplink->results, uplink->session.sent, inventory->results[i]) < 0) {
            uplink_end(uplink, "no memory");
            return;
        }
}

void uplink_send_inventory(struct uplink *uplink)
{
    struct err err = {0};
    struct inventory *inventory = calloc(1, sizeof(*inventory));
    if (!inventory) {
        uplink_end(uplink, "no memory");
        return;
    }
    inventory->uplink = uplink;
    begin_part(inventory);
    if (uplink->tasks) {
        tasks_each(uplink->tasks, list_attempt, inventory);
        if (tasks_each_output(uplink->tasks, list_output, inventory, &err) < 0)
            log_error(LOG_FAULT_US, "%s", err.text);
        if (inventory->left_out)
            log_warning(LOG_FAULT_US,
                        "%" PRIu64 " outputs are held more than a session's begin can tell: their "
                        "tasks run again when they are needed",
                        inventory->left_out);
    }
    if (inventory->part->attempts_count || inventory->part->outputs_count)
        send_part(inventory);
    end_inventory(inventory);
    send_host(uplink);
    if (uplink->config.on_session)
        uplink->config.on_session(uplink->config.user);
    if (uplink->tasks) {
        tasks_tell_again(uplink->tasks);
        if (*tasks_no_room(uplink->tasks))
            uplink_tell_room(uplink, tasks_no_room(uplink->tasks));
    }
    free(inventory);
}

void uplink_take_mode(struct uplink *uplink, uint32_t mode, uint64_t sequence)
{
    struct err err = {0};
    if (sequence < uplink->mode_sequence)
        return;
    log_debug("mode %" PRIu32 ", number %" PRIu64, mode, sequence);
    uplink->mode_sequence = sequence;
    if (marks_set_mode(uplink->config.marks, mode, &err) < 0) {
        uplink->refused++;
        log_error(LOG_FAULT_PEER, "%s", err.text);
        return;
    }
    measurements_line(uplink->config.measurements, "mode %" PRIu32 " %" PRIu64 " %" PRIu64, mode,
                      sequence, now_ns(CLOCK_MONOTONIC));
}

static void obey_start(struct uplink *uplink, const duopoly_Envelope *order)
{
    if (note(&uplink->starts, order->sequence, order->body.start.attempt) < 0)
        uplink_end(uplink, "no memory");
    else
        tasks_start(uplink->tasks, &order->body.start);
}

static void obey_start_inputs(struct uplink *uplink, const duopoly_Envelope *order)
{
    wire_session_effected(&uplink->session, order->sequence); /* what it brings acknowledges it */
    tasks_add_inputs(uplink->tasks, &order->body.start_inputs);
}

static void obey_stop(struct uplink *uplink, const duopoly_Envelope *order)
{
    tasks_stop(uplink->tasks, order->body.stop.attempt, order->body.stop.grace_ms);
}

static void obey_levels(struct uplink *uplink, const duopoly_Envelope *order)
{
    struct err err = {0};
    if (tasks_set_levels(uplink->tasks, &order->body.levels, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
}

static void obey_forget(struct uplink *uplink, const duopoly_Envelope *order)
{
    struct err err = {0};
    if (tasks_forget_job(uplink->tasks, order->body.forget.job, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
}

static void obey_ask_attempt(struct uplink *uplink, const duopoly_Envelope *order)
{
    tasks_ask(uplink->tasks, order->body.ask_attempt.attempt);
}

static void obey_lease(struct uplink *uplink, const duopoly_Envelope *order)
{
    uplink_take_lease(uplink, order->body.lease.lease_ms);
}

static void obey_mode(struct uplink *uplink, const duopoly_Envelope *order)
{
    uplink_take_mode(uplink, order->body.mode.mode, order->body.mode.mode_sequence);
}

static void obey_guest_levels(struct uplink *uplink, const duopoly_Envelope *order)
{
    if (uplink->config.on_guests)
        uplink->config.on_guests(uplink->config.user, &order->body.guest_levels);
}

static void obey_guest_allows(struct uplink *uplink, const duopoly_Envelope *order)
{
    if (uplink->config.on_guest_allows)
        uplink->config.on_guest_allows(uplink->config.user, &order->body.guest_allows);
}

static void obey_ask(struct uplink *uplink, const duopoly_Envelope *order)
{
    if (uplink->config.on_ask)
        uplink->config.on_ask(uplink->config.user, &order->body.ask);
}

static void obey_keys(struct uplink *uplink, const duopoly_Envelope *order)
{
    uplink_key_learn(uplink, &order->body.controller_keys);
}

static void obey_stance(struct uplink *uplink, const duopoly_Envelope *order)
{
    const duopoly_TakeStance *take = &order->body.take_stance;
    if (take->confirm_s)
        uplink->config.on_trial(uplink->config.user, take->stance, take->confirm_s);
    else
        uplink->config.on_stance(uplink->config.user, take->stance);
}

/* Of a later version. */
static void ignore(struct uplink *uplink, const duopoly_Envelope *order)
{
    (void)order;
    uplink->ignored++;
}

/* What the controller orders in a session; anything else changes nothing. */
static const struct {
    void (*obey)(struct uplink *uplink, const duopoly_Envelope *order);
    bool of_attempts; /* which a switch has none of */
    bool answered;    /* in effect when its attempt's state says so, not when it is obeyed */
} orders[WIRE_KINDS] = {
    [0] = {.obey = ignore},
    [WIRE_KIND(ask)] = {.obey = obey_ask},
    [WIRE_KIND(ask_attempt)] = {.obey = obey_ask_attempt, .of_attempts = true},
    [WIRE_KIND(controller_keys)] = {.obey = obey_keys},
    [WIRE_KIND(forget)] = {.obey = obey_forget, .of_attempts = true},
    [WIRE_KIND(guest_allows)] = {.obey = obey_guest_allows},
    [WIRE_KIND(guest_levels)] = {.obey = obey_guest_levels},
    [WIRE_KIND(lease)] = {.obey = obey_lease},
    [WIRE_KIND(levels)] = {.obey = obey_levels, .of_attempts = true},
    [WIRE_KIND(mode)] = {.obey = obey_mode},
    [WIRE_KIND(start)] = {.obey = obey_start, .of_attempts = true, .answered = true},
    [WIRE_KIND(start_inputs)] = {.obey = obey_start_inputs, .of_attempts = true},
    [WIRE_KIND(stop)] = {.obey = obey_stop, .of_attempts = true},
    [WIRE_KIND(take_stance)] = {.obey = obey_stance},
};

void uplink_obey(struct uplink *uplink, const duopoly_Envelope *envelope)
{
    const pb_size_t kind = envelope->which_body;
    const bool for_nobody = orders[kind].of_attempts && !uplink->tasks;
    if (for_nobody)
        uplink->refused++;
    else if (orders[kind].obey)
        orders[kind].obey(uplink, envelope);
    if (for_nobody || !orders[kind].answered)
        wire_session_effected(&uplink->session, envelope->sequence);
}
