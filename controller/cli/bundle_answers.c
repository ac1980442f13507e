#include "controller/cli/bundle_parts.h"
#include "lib/now.h"

#include <errno.h>
#include <string.h>

/* What is asked. WHY no tasks: the recording has them; no keys: nobody needs them. */
static const struct asked {
    const char *name, *command, *word, *limit;
} asked[] = {
    {"status", "status", NULL, NULL},
    {"mode", "mode", NULL, NULL},
    {"mode-history", "mode", "history", NULL},
    {"policy", "policy", NULL, NULL},
    {"config", "config", "show", NULL},
    {"hosts", "hosts", NULL, NULL},
    {"units", "units", NULL, NULL},
    {"links", "links", NULL, NULL},
    {"queues", "queues", NULL, NULL},
    {"switches", "switches", NULL, NULL},
    {"users", "users", NULL, NULL},
    {"debts", "debts", NULL, NULL},
    {"counters", "counters", NULL, NULL},
    {"jobs", "jobs", NULL, NULL},
    {"history", "history", NULL, "1000"},
    {"coflows", "coflows", NULL, NULL},
    {"macroflows", "macroflows", NULL, NULL},
    {"events", "events", NULL, "10000"},
    {"audit", "audit", NULL, NULL},
};

static int answer_fill(struct bundle *bundle, const struct command *command,
                       const struct asked *what, const struct writer_form *form, FILE *out,
                       struct err *why)
{
    const struct request request = {
        .words = {what->word}, .n_words = what->word != NULL, .limit = what->limit};
    struct writer *writer = writer_new(form);
    writer_enclose(writer, "change", now_ns(CLOCK_REALTIME));
    writer_stream(writer, out);
    int r = command->run(bundle->client, &request, writer, why);
    if (r >= 0)
        return writer_end(writer, out, why);
    writer_drop(writer);
    return r;
}

/* Of a text whole lines are kept; half a document is of use to nobody. */
static int answer_keep(struct bundle *bundle, const char *name, struct bundle_sink *sink,
                       bool document, struct err *err)
{
    if (!sink->cut)
        return bundle_add(bundle, name, sink->bytes, sink->used, "", err);
    if (document) {
        bundle_lack(bundle, name, 0, "left out: it is too long");
        return 0;
    }
    while (sink->used && sink->bytes[sink->used - 1] != '\n')
        sink->used--;
    return bundle_add(bundle, name, sink->bytes, sink->used, "its beginning: it is too long", err);
}

static int answer_add(struct bundle *bundle, const struct asked *what, bool document,
                      struct err *err)
{
    const struct command *command;
    struct bundle_sink sink;
    struct err why = {0};
    char name[TAR_NAME_MAX];
    int r = command_find(what->command, &command, err);
    if (r < 0)
        return r;
    FILE *out = bundle_sink_open(bundle, &sink);
    if (!out)
        return err_sys(err, ENOMEM, "the bundle");
    snprintf(name, sizeof(name), "answers/%s.%s", what->name, document ? "json" : "txt");
    r = answer_fill(bundle, command, what, document ? &writer_form_json : &writer_form_wide, out,
                    &why);
    fclose(out);
    if (r >= 0)
        return answer_keep(bundle, name, &sink, document, err);
    bundle_lack(bundle, name, 0, why.text);
    /* After any other error the connection is of no use. */
    if (why.code != EREMOTEIO && why.code != EOPNOTSUPP)
        snprintf(bundle->mute, sizeof(bundle->mute), "not asked any more: %s", why.text);
    return 0;
}

int bundle_answers(struct bundle *bundle, struct err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < 2 * sizeof(asked) / sizeof(asked[0]); i++) {
        if (*bundle->mute) {
            bundle_lack(bundle, i ? "other answers" : "answers", 0, bundle->mute);
            return 0;
        }
        r = answer_add(bundle, &asked[i / 2], i % 2, err);
    }
    return r;
}
