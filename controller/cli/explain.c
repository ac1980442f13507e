#include "controller/cli/explain.h"

#include "lib/number.h"

#include <errno.h>
#include <string.h>

/* Reads digits up to `end_character`; NULL if there are none or too many. */
static const char *digits_read(const char *text, char end_character, uint64_t *ret_number)
{
    const char *end = number_take(text, UINT64_MAX, ret_number);
    return end && *end == end_character ? end : NULL;
}

int subject_parse(const char *text, struct subject *ret_subject, struct err *err)
{
    struct subject subject = {0};
    uint64_t stage, task;
    const char *rest = digits_read(text, '/', &subject.job);
    if (!rest && digits_read(text, '\0', &subject.attempt) && subject.attempt) {
        subject.job = 0;
        *ret_subject = subject;
        return 0;
    }
    if (!rest || !(rest = digits_read(rest + 1, '/', &stage)) ||
        !digits_read(rest + 1, '\0', &task) || stage >= UINT32_MAX || task >= UINT32_MAX)
        return err_set(
            err, EINVAL,
            "a task is written JOB/STAGE/TASK (as 12/1/3) or as the number of an attempt, and a "
            "job as its number, not '%s'",
            text);
    subject.stage = (uint32_t)stage;
    subject.task = (uint32_t)task;
    *ret_subject = subject;
    return 0;
}

/* Whether the word is a task, an attempt or a job. */
static bool is_subject(const struct request *request)
{
    const char *word = request->words[0];
    return request->n_words == 1 && word[strspn(word, "0123456789/")] == '\0';
}

static bool is_mode(const struct request *request)
{
    return request->n_words == 1 && strcmp(request->words[0], "mode") == 0;
}

/* A host, or its link. −EINVAL. */
static int host_read(const struct request *request, duopoly_ExplainThing *ret_thing,
                     struct err *err)
{
    const char *word = request->words[0];
    const char *colon = request->n_words == 1 ? strrchr(word, ':') : NULL;
    const char *port = colon ? colon + 1 : request->n_words > 1 ? request->words[1] : "";
    const size_t length = colon ? (size_t)(colon - word) : strlen(word);
    duopoly_ExplainThing thing = {.kind = *port ? duopoly_ThingKind_THING_LINK
                                                : duopoly_ThingKind_THING_HOST};
    if (length >= sizeof(thing.name))
        return err_set(err, EINVAL, "'%s' cannot be a host's name", word);
    memcpy(thing.name, word, length);
    if (!wire_name_valid(thing.name))
        return err_set(err, EINVAL,
                       "'%s' cannot be a host's name; what is explained is a TASK, a JOB, a HOST, "
                       "HOST:uplink, HOST:downlink, HOST:PORT or mode",
                       thing.name);
    if (request->n_words > 1 && !*port)
        return err_set(err, EINVAL, "a port of host %s needs a name", thing.name);
    int r = wire_take(thing.port, sizeof(thing.port), port, "a port's name", err);
    *ret_thing = thing;
    return r < 0 ? -EINVAL : 0;
}

int explain_check(const struct request *request, struct err *err)
{
    duopoly_ExplainThing thing;
    struct subject subject;
    if (is_subject(request))
        return subject_parse(request->words[0], &subject, err);
    return is_mode(request) ? 0 : host_read(request, &thing, err);
}

static int request_make(struct client *client, const struct request *request, struct err *err)
{
    struct subject subject;
    if (!is_subject(request)) {
        duopoly_ExplainThing *thing =
            &client_request(client, duopoly_Envelope_explain_thing_tag)->body.explain_thing;
        return is_mode(request) ? 0 : host_read(request, thing, err);
    }
    int r = subject_parse(request->words[0], &subject, err);
    if (r < 0)
        return r;
    duopoly_Explain *explain = &client_request(client, duopoly_Envelope_explain_tag)->body.explain;
    *explain = (duopoly_Explain){.job = subject.job,
                                 .stage = subject.stage,
                                 .task = subject.task,
                                 .attempt = subject.attempt};
    return 0;
}

static void explanation_write(const duopoly_Explanation *explanation, struct writer *writer)
{
    static const struct column columns[] = {{"name", "FACT"}, {"value", "VALUE"}, {NULL, NULL}};
    writer_schema(writer, "explanation", NULL);
    writer_field(writer, "text", "why", value_text(explanation->text));
    writer_table(writer, "facts", columns);
    for (pb_size_t i = 0; i < explanation->facts_count; i++) {
        writer_cell(writer, value_text(explanation->facts[i].name));
        writer_cell(writer, value_text(explanation->facts[i].value));
    }
    writer_table_end(writer);
}

int run_explain(struct client *client, const struct request *request, struct writer *writer,
                struct err *err)
{
    const duopoly_Envelope *answer;
    int r = request_make(client, request, err);
    if (r == 0)
        r = client_call(client, duopoly_Envelope_explanation_tag, &answer, err);
    if (r == -EREMOTEIO && client_refusal(client) == duopoly_Reason_REASON_UNSUPPORTED)
        return err_set(err, EREMOTEIO,
                       "this controller is older than this command, and explains "
                       "tasks and jobs alone");
    if (r == 0)
        explanation_write(&answer->body.explanation, writer);
    return r;
}
