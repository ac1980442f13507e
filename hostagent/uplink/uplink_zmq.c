#include "hostagent/uplink/uplink_zmq.h"

#include "hostagent/uplink/uplink_session.h"
#include "lib/address.h"
#include "lib/fnv1a.h"
#include "lib/log.h"
#include "lib/now.h"
#include "lib/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_US       100000
#define RENEW_NS      1000000000ull /* at most; a fifth of the marks' lease */
#define RETRY_NS      1000000000ull
#define RIVAL_NS      30000000000ull /* the longest wait for another agent of this name */
#define HELLO_WAIT_NS 3000000000ull  /* for the answer to HELLO */
#define ECHO_NS       200000000ull   /* between two measured round trips */

/* The host's generation: another number after each boot. */
static uint64_t boot_number(void)
{
    char text[64] = "";
    files_read("/proc/sys/kernel/random/boot_id", text, sizeof(text), NULL, NULL);
    return fnv1a(FNV1A_NOTHING, text, strlen(text));
}

static uint32_t read_epoch(const struct uplink *uplink)
{
    char path[FILES_PATH], text[32];
    uint64_t epoch = 0;
    files_path(path, "%s/epoch", uplink->state_dir);
    if (files_read(path, text, sizeof(text), NULL, NULL) >= 0)
        number_take(text, UINT32_MAX, &epoch);
    return (uint32_t)epoch;
}

/* Of constant length, so that a full disk takes it too. On disk before anything of this epoch is
 * obeyed: the next agent must know it. */
static int keep_epoch(struct uplink *uplink, uint32_t epoch, struct err *err)
{
    char path[FILES_PATH], text[32];
    int n = snprintf(text, sizeof(text), "%010" PRIu32 "\n", epoch);
    files_path(path, "%s/epoch", uplink->state_dir);
    int r = epoch != uplink->epoch ? files_overwrite(path, text, (size_t)n, 0600, err) : 0;
    if (r >= 0)
        uplink->epoch = epoch;
    return r;
}

void uplink_end(struct uplink *uplink, const char *why)
{
    if (uplink->open)
        log_warning(LOG_FAULT_PEER, "the session with the controller ends: %s", why);
    uplink->open = uplink->greeted = false;
    uplink->progress_n = 0;
    uplink->echo_ns = 0;
    uplink_forget_results(uplink);
    uplink_forget_starts(uplink);
}

static void break_off(struct uplink *uplink, const char *why)
{
    uplink_end(uplink, why);
    uplink->retry_ns = now_ns(CLOCK_MONOTONIC) + RETRY_NS;
}

int uplink_send(struct uplink *uplink, enum wire_class class, bool changes_state)
{
    int r = wire_session_stamp(&uplink->session, &uplink->out, changes_state);
    if (r >= 0)
        r = wire_zmq_send(uplink->endpoint, 0, class, &uplink->out);
    if (r >= 0)
        uplink->sent_ns = now_ns(CLOCK_MONOTONIC);
    else if (uplink->open)
        break_off(uplink, "the controller does not take messages in");
    return r;
}

/* None: the controller says so, as it does of one that is of no use. */
static void address_find(struct uplink *uplink, duopoly_Hello *hello)
{
    const struct uplink_config *config = &uplink->config;
    char text[INET6_ADDRSTRLEN];
    if (!config->own_address ||
        config->own_address(config->user, wire_zmq_reached(uplink->endpoint), hello->address) < 0)
        return;
    if (memcmp(hello->address, uplink->address, sizeof(uplink->address)) == 0)
        return;
    memcpy(uplink->address, hello->address, sizeof(uplink->address));
    address_print(uplink->address, text);
    log_note("others fetch from this host at %s, its address on the way to the controller", text);
}

static void say_hello(struct uplink *uplink)
{
    wire_session_init(&uplink->session, WIRE_VERSION_MIN, uplink->epoch);
    duopoly_Hello *hello = &wire_begin(&uplink->out, duopoly_Envelope_hello_tag)->body.hello;
    *hello = uplink->config.hello;
    hello->version_min = WIRE_VERSION_MIN;
    hello->version_max = WIRE_VERSION_MAX;
    hello->boot = uplink->boot;
    hello->hello_sequence = uplink->began_ns + ++uplink->hellos;
    address_find(uplink, hello);
    uplink->greeted = uplink_send(uplink, WIRE_RESULT, false) >= 0;
    log_debug("session: HELLO %" PRIu64 " is %s, boot %016" PRIx64, uplink->hellos,
              uplink->greeted ? "said" : "not taken in", uplink->boot);
    uplink->heard_ns = now_ns(CLOCK_MONOTONIC);
    uplink->silent_ns = HELLO_WAIT_NS;
}

void uplink_set_units(struct uplink *uplink, const duopoly_Resources *units, uint32_t n)
{
    duopoly_Hello *hello = &uplink->config.hello;
    if (n == hello->units_count && memcmp(hello->units, units, n * sizeof(units[0])) == 0)
        return;
    memcpy(hello->units, units, n * sizeof(units[0]));
    hello->units_count = (pb_size_t)n;
    if (!uplink->open && !uplink->greeted)
        return;
    log_note("the session with the controller begins anew: units of this host have changed");
    uplink->open = false; /* WHY: it does not end by any fault */
    uplink_end(uplink, "");
    say_hello(uplink);
}

static void on_up(void *user)
{
    struct uplink *uplink = user;
    uplink->up = true;
    say_hello(uplink);
}

static void on_down(void *user)
{
    struct uplink *uplink = user;
    uplink->up = false;
    uplink_end(uplink, "the connection broke");
}

/* An empty round trip, for those who measure: a heartbeat with a number is acknowledged at once. */
static void echo_begin(struct uplink *uplink, uint64_t now)
{
    if (!uplink->open || uplink->echo_ns || now - uplink->echoed_ns < ECHO_NS ||
        !measurements_kept(uplink->config.measurements))
        return;
    wire_begin(&uplink->out, duopoly_Envelope_agent_heartbeat_tag);
    uint64_t sent_ns = now_ns(CLOCK_MONOTONIC);
    if (uplink_send(uplink, WIRE_RESULT, true) < 0)
        return;
    uplink->echo_sequence = uplink->session.sent;
    uplink->echo_ns = uplink->echoed_ns = sent_ns;
}

static void echo_end(struct uplink *uplink)
{
    if (!uplink->echo_ns || uplink->session.answered < uplink->echo_sequence)
        return;
    measurements_line(uplink->config.measurements, "echo %" PRIu64 " %" PRIu64, uplink->echo_ns,
                      uplink->heard_ns);
    uplink->echo_ns = 0;
}

static void on_welcome(struct uplink *uplink, const duopoly_Envelope *envelope)
{
    const duopoly_Welcome *welcome = &envelope->body.welcome;
    struct err err = {0};
    if (uplink->open || !uplink->greeted)
        return; /* answers an older HELLO */
    if (welcome->epoch < uplink->epoch || welcome->version < WIRE_VERSION_MIN ||
        welcome->version > WIRE_VERSION_MAX) {
        uplink->refused++;
        break_off(uplink, "its epoch is older than one that was seen here, or its version unknown");
        return;
    }
    if (keep_epoch(uplink, welcome->epoch, &err) < 0) {
        log_error(LOG_FAULT_US, "no session: the controller's epoch cannot be kept: %s", err.text);
        uplink->refused++;
        break_off(uplink, err.text);
        return;
    }
    wire_session_init(&uplink->session, welcome->version, welcome->epoch);
    uplink->open = true;
    rarely_right(&uplink->unanswered);
    uplink->rival_ns = 0;
    uplink->sessions++;
    uplink->heartbeat_ns = (uint64_t)welcome->heartbeat_ms * 1000000;
    uplink->silent_ns = (uint64_t)welcome->silent_ms * 1000000;
    uplink->mode_sequence = 0;
    if (uplink->config.links)
        links_set_thresholds(uplink->config.links, welcome->congested_permille,
                             welcome->cleared_permille);
    log_note("session with controller %s, epoch %" PRIu32, uplink->config.controller,
             welcome->epoch);
    uplink->config.on_greeting(uplink->config.user, welcome->stance);
    uplink_take_lease(uplink, welcome->controller_lease_ms);
    uplink_take_mode(uplink, welcome->mode, welcome->mode_sequence);
    uplink_send_inventory(uplink);
}

/* It has no session, and none that stays: more and more seldom it is asked for again. */
static void ask_seldom(struct uplink *uplink, const char *why)
{
    char words[512];
    snprintf(words, sizeof(words), "%s; this one asks again, every %llu s at most", why,
             RIVAL_NS / 1000000000);
    bool is_news = rarely_say(&uplink->unanswered, words, now_ns(CLOCK_MONOTONIC) / 1000);
    if (is_news && !uplink->open) /* else uplink_end says it */
        log_warning(LOG_FAULT_CONFIGURATION, "no session with the controller: %s", words);
    uplink_end(uplink, words);
    uint64_t wait_ns = uplink->rival_ns ? 2 * uplink->rival_ns : RETRY_NS;
    uplink->rival_ns = wait_ns < RIVAL_NS ? wait_ns : RIVAL_NS;
    uplink->retry_ns = now_ns(CLOCK_MONOTONIC) + uplink->rival_ns;
}

/* Another agent has this name, and the session. */
static void give_way(struct uplink *uplink, const char *why)
{
    char words[400];
    snprintf(words, sizeof(words), "another agent named %s has it (%s)", uplink->config.hello.name,
             why);
    ask_seldom(uplink, words);
}

/* Of a HELLO that cannot be right before somebody changes something, here or there. */
static bool is_for_long(const struct uplink *uplink, duopoly_Reason reason)
{
    return !uplink->open &&
           (reason == duopoly_Reason_REASON_MALFORMED || reason == duopoly_Reason_REASON_CONFLICT);
}

static void on_refused(struct uplink *uplink, const duopoly_Refused *refused)
{
    bool rival = refused->reason == duopoly_Reason_REASON_IDENTITY;
    if (rival || is_for_long(uplink, refused->reason)) {
        uplink->refused++;
        (rival ? give_way : ask_seldom)(uplink, refused->text);
        return;
    }
    log_warning(LOG_FAULT_PEER, "the controller refuses: %s", refused->text);
    uplink->refused++;
    if (refused->reason != duopoly_Reason_REASON_UNSUPPORTED &&
        refused->reason != duopoly_Reason_REASON_UNKNOWN)
        break_off(uplink, refused->text);
}

static void on_session_message(struct uplink *uplink, const duopoly_Envelope *envelope)
{
    switch (wire_session_accept(&uplink->session, envelope)) {
    case WIRE_TAKE:
        echo_end(uplink);
        uplink_forget_answered(uplink);
        uplink_obey(uplink, envelope);
        if (uplink->open && wire_session_owes(&uplink->session)) {
            wire_begin(&uplink->out, duopoly_Envelope_acknowledge_tag);
            uplink_send(uplink, WIRE_RESULT, false);
        }
        return;
    case WIRE_DUPLICATE:
        return;
    case WIRE_EPOCH:
        uplink->refused++;
        log_warning(LOG_FAULT_PEER,
                    "an order of epoch %" PRIu32 " is refused: %" PRIu32 " is in force",
                    envelope->epoch, uplink->epoch);
        return;
    case WIRE_GAP:
    case WIRE_NONSENSE:
        uplink->refused++;
        break_off(uplink, "a message was lost, or does not fit the session");
        return;
    }
}

static void on_message(void *user, uint64_t peer, const char *identity,
                       const duopoly_Envelope *envelope)
{
    struct uplink *uplink = user;
    (void)peer;
    (void)identity;
    uplink->heard_ns = now_ns(CLOCK_MONOTONIC);
    if (envelope->which_body == duopoly_Envelope_welcome_tag)
        on_welcome(uplink, envelope);
    else if (envelope->which_body == duopoly_Envelope_refused_tag)
        on_refused(uplink, &envelope->body.refused);
    else if (uplink->open)
        on_session_message(uplink, envelope);
}

static void on_malformed(void *user, uint64_t peer, const struct err *err)
{
    struct uplink *uplink = user;
    (void)peer;
    uplink->refused++;
    log_warning(LOG_FAULT_PEER, "a message from the controller cannot be read: %s", err->text);
}

static void on_key_refused(void *user)
{
    struct uplink *uplink = user;
    uplink->refused++;
    log_warning(
        LOG_FAULT_CONFIGURATION,
        "the controller does not take the key of %s: it is revoked, over, or was never made",
        uplink->key.name);
}

static void on_unreached(void *user, const struct err *why)
{
    (void)user;
    log_warning(LOG_FAULT_PEER, "no session with the controller: %s; it is tried again and again",
                why->text);
}

void uplink_connect_anew(struct uplink *uplink, const char *why)
{
    log_debug("session: connecting anew: %s", why);
    uplink_end(uplink, why);
    uplink->retry_ns = 0;
    uplink->greeted = uplink->up = false;
    wire_zmq_reconnect(uplink->endpoint);
}

/* It took the connection, and says nothing to HELLO. */
static void say_unanswered(struct uplink *uplink, uint64_t now)
{
    const char *words = "the listener there does not answer HELLO: is it a duopolyd?";
    if (!uplink->open && rarely_say(&uplink->unanswered, words, now / 1000))
        log_warning(LOG_FAULT_PEER,
                    "no session with the controller %s: %s; it is tried again and again",
                    uplink->config.controller, words);
}

static void keep_alive(struct uplink *uplink, uint64_t now)
{
    if (uplink->open && now - uplink->sent_ns >= uplink->heartbeat_ns) {
        wire_begin(&uplink->out, duopoly_Envelope_agent_heartbeat_tag);
        uplink_send(uplink, WIRE_REPORT, false);
    }
    bool silent = uplink->up && (uplink->open || uplink->greeted) &&
                  now - uplink->heard_ns > uplink->silent_ns;
    bool retry = uplink->retry_ns && now >= uplink->retry_ns;
    if (!silent && !retry)
        return;
    if (silent)
        say_unanswered(uplink, now);
    uplink_connect_anew(uplink, "the controller is silent");
}

static void renew_marks(struct uplink *uplink, uint64_t now)
{
    struct err err = {0};
    bool leased = now < uplink->lease_until_ns;
    if (leased != uplink->leased)
        log_debug("lease: %s", leased ? "the controller's is in force, marks are renewed"
                                      : "the controller's is over, marks run out");
    uplink->leased = leased;
    if (!leased || now < uplink->renew_ns)
        return;
    uint64_t often_ns = uplink->config.mark_lease_ns / 5;
    uplink->renew_ns = now + (often_ns < RENEW_NS ? often_ns : RENEW_NS);
    log_debug("lease: marks are renewed for %" PRIu64 " ms",
              uplink->config.mark_lease_ns / 1000000);
    if (marks_renew(uplink->config.marks, uplink->config.mark_lease_ns, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
}

void uplink_take_lease(struct uplink *uplink, uint32_t lease_ms)
{
    uint64_t now = now_ns(CLOCK_MONOTONIC);
    uplink->lease_until_ns = now + (uint64_t)lease_ms * 1000000;
    log_debug("lease: the controller's lasts %" PRIu32 " ms from now", lease_ms);
    renew_marks(uplink, now);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *arg)
{
    struct uplink *uplink = arg;
    uint64_t now = now_ns(CLOCK_MONOTONIC);
    keep_alive(uplink, now);
    renew_marks(uplink, now);
    echo_begin(uplink, now);
    sd_event_source_set_time(source, (usec > now / 1000 ? usec : now / 1000) + TICK_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int uplink_open(const struct uplink_config *config, sd_event *event, struct uplink **ret_uplink,
                struct err *err)
{
    struct uplink *uplink = calloc(1, sizeof(*uplink));
    if (!uplink)
        return err_sys(err, ENOMEM, "the session with the controller");
    uplink->config = *config;
    files_path(uplink->state_dir, "%s", config->state_dir);
    STAILQ_INIT(&uplink->results);
    STAILQ_INIT(&uplink->starts);
    uplink->boot = boot_number();
    uplink->began_ns = now_ns(CLOCK_BOOTTIME);
    uplink->epoch = read_epoch(uplink);
    const struct wire_zmq_handler handler = {.on_message = on_message,
                                             .on_malformed = on_malformed,
                                             .on_up = on_up,
                                             .on_down = on_down,
                                             .on_refused = on_key_refused,
                                             .on_unreached = on_unreached,
                                             .user = uplink};
    int r = sd_event_add_time_relative(event, &uplink->tick, CLOCK_MONOTONIC, TICK_US, 1000,
                                       on_tick, uplink);
    r = r < 0 ? err_sys(err, -r, "a timer") : uplink_key_open(uplink, event, err);
    if (r >= 0)
        r = wire_zmq_connect(event, config->controller, *uplink->key.name ? &uplink->key : NULL,
                             &handler, &uplink->endpoint, err);
    if (r < 0) {
        uplink_close(uplink);
        return r;
    }
    *ret_uplink = uplink;
    return 0;
}

void uplink_close(struct uplink *uplink)
{
    if (!uplink)
        return;
    sd_event_source_disable_unref(uplink->tick);
    uplink_key_close(uplink);
    wire_zmq_close(uplink->endpoint);
    uplink_forget_results(uplink);
    uplink_forget_starts(uplink);
    free(uplink);
}

void uplink_set_tasks(struct uplink *uplink, struct tasks *tasks)
{
    uplink->tasks = tasks;
}

void uplink_count(const struct uplink *uplink, struct uplink_counters *ret_counters)
{
    *ret_counters = (struct uplink_counters){
        .refused_messages = uplink->refused,
        .ignored_messages = uplink->ignored,
        .dropped_reports = wire_zmq_counters(uplink->endpoint)->dropped_reports,
        .sessions = uplink->sessions};
}
