#include "controller/cli/drain.h"

#include "controller/cli/confirm.h"
#include "lib/conf.h"

#include <errno.h>

/* A drain of a rack may take as long as its longest task. */
#define DRAIN_PATIENCE_NS INT64_C(3600000000000)

static int wait_parse(const struct request *request, int64_t *ret_ns, struct err *err)
{
    *ret_ns = DRAIN_PATIENCE_NS;
    int r = *request->wait ? conf_number(CONF_DURATION, request->wait, ret_ns, err) : 0;
    if (r < 0)
        return err_prefix(err, "--wait");
    if (*ret_ns < 1000000 || *ret_ns > 24 * DRAIN_PATIENCE_NS)
        return err_set(err, EINVAL, "--wait is 1 ms to 24 h, not '%s'", request->wait);
    return 0;
}

int drain_check(const struct request *request, struct err *err)
{
    const char *name = request->n_words ? request->words[0] : request->rack;
    if (request->host || !name || (request->n_words && request->rack))
        return err_set(err, EINVAL, "name one host, or the hosts of a rack: HOST or --rack NAME");
    uint32_t seconds;
    int64_t ns;
    if (confirm_seconds(request, &seconds, err) < 0)
        return -EINVAL;
    if (request->wait && request->undo)
        return err_set(err, EINVAL, "--wait does not go with --undo: tasks start there again");
    if (request->wait && wait_parse(request, &ns, err) < 0)
        return -EINVAL;
    return wire_name_valid(name) ? 0
                                 : err_set(err, EINVAL, "'%s' cannot be the name of a %s", name,
                                           request->n_words ? "host" : "rack");
}

/* Drains as filled in, then waits. WHY nothing is written before: a wait in vain is no answer. */
static int drain_await(struct client *client, const struct request *request, struct writer *writer,
                       struct err *err)
{
    const char *name = request->rack ? request->rack : request->words[0];
    const duopoly_Envelope *answer;
    duopoly_Accepted drained;
    int64_t ns = 0;
    int r = wait_parse(request, &ns, err);
    if (r == 0)
        r = client_call(client, duopoly_Envelope_accepted_tag, &answer, err);
    if (r < 0)
        return r;
    drained = answer->body.accepted;
    duopoly_AwaitIdle *await =
        &client_request(client, duopoly_Envelope_await_idle_tag)->body.await_idle;
    r = request->rack ? wire_take(await->rack, sizeof(await->rack), name, "a rack's name", err)
                      : wire_take(await->host, sizeof(await->host), name, "a host's name", err);
    client_patience(client, (int)(ns / 1000000));
    if (r == 0)
        r = client_call(client, duopoly_Envelope_accepted_tag, &answer, err);
    if (r == -ETIMEDOUT)
        return err_set(err, ETIMEDOUT, "%s is drained, and something still runs there", name);
    if (r < 0)
        return r;
    writer_field(writer, "text", "accepted", value_text(drained.text));
    writer_field(writer, "idle", "waited", value_text(answer->body.accepted.text));
    return 0;
}

int run_drain(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    duopoly_DrainHost *drain =
        &confirm_request(client, duopoly_Envelope_drain_host_tag, request)->body.drain_host;
    drain->undo = request->undo;
    int r =
        request->rack
            ? wire_take(drain->rack, sizeof(drain->rack), request->rack, "a rack's name", err)
            : wire_take(drain->name, sizeof(drain->name), request->words[0], "a host's name", err);
    if (r < 0)
        return r;
    return request->wait && !request->dry_run ? drain_await(client, request, writer, err)
                                              : accepted_write(client, writer, err);
}
