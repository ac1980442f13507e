#include "controller/cli/log_level.h"

#include <errno.h>
#include <string.h>

int log_check(const struct request *request, struct err *err)
{
    if (strcmp(request->words[0], "level") != 0)
        return err_set(err, EINVAL, "the log can be told: level, not '%s'", request->words[0]);
    return 0;
}

static int level_show(struct client *client, struct writer *writer, struct err *err)
{
    const duopoly_Envelope *answer;
    client_request(client, duopoly_Envelope_get_status_tag);
    int r = client_call(client, duopoly_Envelope_status_tag, &answer, err);
    writer_schema(writer, "log_level", NULL);
    if (r == 0)
        writer_field(writer, "level", "level", value_text(answer->body.status.log_level));
    return r;
}

int run_log(struct client *client, const struct request *request, struct writer *writer,
            struct err *err)
{
    if (request->n_words == 1)
        return level_show(client, writer, err);
    duopoly_SetLogLevel *set =
        &client_request(client, duopoly_Envelope_set_log_level_tag)->body.set_log_level;
    int r = wire_take(set->level, sizeof(set->level), request->words[1], "a level", err);
    return r < 0 ? r : accepted_write(client, writer, err);
}
