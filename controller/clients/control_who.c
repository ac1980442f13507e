#include "controller/clients/control_shared.h"

#include "lib/fnv1a.h"
#include "lib/log.h"
#include "lib/now.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum role control_who(const struct control *control, uint64_t client, char *text, size_t size)
{
    static const enum role roles[] = {[UNIX_STRANGER] = ROLE_NOBODY,
                                      [UNIX_READER] = ROLE_READER,
                                      [UNIX_MEMBER] = ROLE_OPERATOR,
                                      [UNIX_ROOT] = ROLE_ADMIN};
    const struct key_holder *who = remote_who(control->remote, client);
    struct wire_unix_peer peer = {0};
    if (who) {
        snprintf(text, size, "key of %s (%s)", who->name, role_name(who->role));
        return who->role;
    }
    if (wire_unix_peer(control->server, client, &peer) < 0)
        snprintf(text, size, "a client that has gone");
    else
        snprintf(text, size, "%suid %" PRIu32 " (process %" PRId32 ")", peer.uid ? "" : "root, ",
                 peer.uid, peer.pid);
    return roles[peer.standing];
}

void control_who_short(const struct control *control, uint64_t client, char *text, size_t size)
{
    const struct key_holder *who = remote_who(control->remote, client);
    struct wire_unix_peer peer = {0};
    if (who)
        snprintf(text, size, "%s", who->name);
    else if (wire_unix_peer(control->server, client, &peer) < 0)
        snprintf(text, size, "a client");
    else if (peer.uid)
        snprintf(text, size, "uid %" PRIu32, peer.uid);
    else
        snprintf(text, size, "root");
}

uint64_t control_who_number(const struct control *control, uint64_t client)
{
    const struct key_holder *who = remote_who(control->remote, client);
    struct wire_unix_peer peer = {0};
    if (who)
        return fnv1a(FNV1A_NOTHING, who->name, strlen(who->name)) | UINT64_C(1) << 63;
    return wire_unix_peer(control->server, client, &peer) < 0 ? 1 : UINT64_C(2) + peer.uid;
}

uint64_t control_owner(const struct control *control, uint64_t client, char *name, size_t size,
                       bool *ret_first)
{
    const struct key_holder *who = remote_who(control->remote, client);
    struct wire_unix_peer peer = {.standing = UNIX_STRANGER};
    if (!who)
        wire_unix_peer(control->server, client, &peer);
    *ret_first = who ? who->role == ROLE_ADMIN : peer.standing == UNIX_ROOT;
    if (who)
        snprintf(name, size, "key of %s", who->name);
    else
        snprintf(name, size, "uid %" PRIu32, peer.uid);
    return control_who_number(control, client);
}

int control_send(struct control *control, uint64_t client, const duopoly_Envelope *envelope)
{
    return client & REMOTE_BIT ? remote_send(control->remote, client, envelope)
                               : wire_unix_send(control->server, client, envelope);
}

static void pass_on(struct control *control, uint64_t client, bool hold)
{
    if (client & REMOTE_BIT)
        remote_hold(control->remote, client, hold);
    else
        wire_unix_hold(control->server, client, hold);
}

void control_hold(struct control *control, uint64_t client, enum hold cause)
{
    struct requester *requester = control_find(control, client);
    if (!requester)
        return;
    const bool first = !requester->holds;
    requester->holds |= cause;
    if (first)
        pass_on(control, client, true);
}

void control_release(struct control *control, uint64_t client, enum hold cause)
{
    struct requester *requester = control_find(control, client);
    if (!requester || !(requester->holds & cause))
        return;
    requester->holds &= ~(uint32_t)cause;
    if (!requester->holds)
        pass_on(control, client, false);
}

void control_audit(const struct control *control, const char *asker, const char *what)
{
    const duopoly_Envelope *answer = &control->answer;
    bool taken = answer->which_body == duopoly_Envelope_accepted_tag;
    char result[300], clean[256];
    if (control->dry_run)
        return;
    fact_words(taken ? answer->body.accepted.text : answer->body.refused.text, clean,
               sizeof(clean));
    snprintf(result, sizeof(result), "%s%s", taken ? "" : "refused, ", clean);
    store_audit(control->parts->store, asker, what, result);
}

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* WHY by its words: what is confirmed or undone is known by those alone. Of hosts and jobs the
 * engine tells. */
void control_note(struct control *control, const char *asker, const char *what, const char *result)
{
    static const struct {
        const char *word;
        duopoly_EventKind kind;
    } kinds[] = {{"policy ", duopoly_EventKind_KIND_POLICY},
                 {"user ", duopoly_EventKind_KIND_POLICY},
                 {"stance ", duopoly_EventKind_KIND_STANCE},
                 {"keys ", duopoly_EventKind_KIND_KEY}};
    const bool undone = begins(what, "undo "), confirmed = begins(what, "confirm ");
    const char *command = undone || confirmed ? strchr(what, ' ') + 1 : what;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!begins(command, kinds[i].word))
            continue;
        struct notice *notice =
            notices_add(control->parts->notices, kinds[i].kind, now_ns(CLOCK_REALTIME),
                        undone      ? "undone"
                        : confirmed ? "confirmed"
                                    : "changed");
        wire_copy(notice->name, sizeof(notice->name), asker);
        snprintf(notice->text, sizeof(notice->text), "%s: %s", command, result);
        event_waits_stir(control);
    }
}

void control_log(struct control *control, uint64_t client, const char *format, ...)
{
    const duopoly_Envelope *answer = &control->answer;
    bool taken = answer->which_body == duopoly_Envelope_accepted_tag;
    char asker[128], words[sizeof(control->what)], *what = control->what;
    va_list ap;
    if (control->dry_run)
        return;
    va_start(ap, format);
    int n = vsnprintf(words, sizeof(words), format, ap);
    va_end(ap);
    if (control->trial.seconds && n > 0 && (size_t)n < sizeof(words))
        snprintf(words + n, sizeof(words) - (size_t)n, " --confirm %" PRIu32 "s",
                 control->trial.seconds);
    fact_words(words, what, sizeof(control->what));
    control_who(control, client, asker, sizeof(asker));
    if (taken)
        log_change("%s: %s: %s", asker, what, answer->body.accepted.text);
    else
        log_of(asker, LOG_LEVEL_NOTE, LOG_FAULT_NONE, "%s: %s: refused, %s", asker, what,
               answer->body.refused.text);
    control_audit(control, asker, what);
    if (taken)
        control_note(control, asker, what, answer->body.accepted.text);
}
