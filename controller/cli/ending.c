#include "controller/cli/ending.h"

#include "lib/now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "duopolyctl: "

struct writer *ending_begin(const struct writer_form *form)
{
    struct writer *writer = writer_new(form);
    writer_enclose(writer, "change", now_ns(CLOCK_REALTIME));
    return writer;
}

enum exit_code ending_write(struct writer *writer, enum exit_code code, duopoly_Reason refusal,
                            const struct err *err)
{
    struct err unwritten;
    const bool fails = code != EXIT_DONE && code != EXIT_UNHEALTHY,
               says_why = writer_says_why(writer);
    const struct writer_failure failure = {(int)code, exit_reason(code, refusal),
                                           fails ? err->text : "", exit_rows[code].hint};
    if (fails)
        writer_fail(writer, &failure);
    const bool written = writer_end(writer, stdout, &unwritten) == 0;
    if (!written)
        fprintf(stderr, PROGRAM "%s\n", unwritten.text);
    if (fails && !says_why)
        fprintf(stderr, PROGRAM "%s\n", err->text);
    return written || fails ? code : EXIT_REFUSED;
}

/* argp and getopt write to standard error, and argp ends the program. */
struct ending_catch {
    const struct writer_form *form;
    FILE *real; /* standard error; NULL: it is standard error, since nothing is caught any more */
    char *said;
    size_t size;
};

/* −j, among other letters too, or --json. */
static bool is_json(const char *word)
{
    return strcmp(word, "--json") == 0 ||
           (word[0] == '-' && word[1] != '-' && word[strcspn(word, "js")] == 'j');
}

static const struct writer_form *form_wanted(int argc, char **argv)
{
    const struct writer_form *form = &writer_form_text;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (is_json(argv[i]))
            form = &writer_form_json;
        else if (strcmp(argv[i], "--sort") == 0)
            i++; /* its value may begin with a minus */
        else if (strncmp(argv[i], "--form=", 7) == 0)
            writer_form_find(argv[i] + 7, &form, NULL);
        else if (strcmp(argv[i], "--form") == 0 && i + 1 < argc)
            writer_form_find(argv[i + 1], &form, NULL);
    }
    return form;
}

/* The first line, without the program's name. */
static void sentence_take(const char *said, struct err *ret_err)
{
    const char *end = said + strcspn(said, "\n"), *program = strstr(said, PROGRAM);
    if (program && program < end)
        said = program + strlen(PROGRAM);
    err_set(ret_err, EINVAL, "%.*s", (int)(end - said), said);
}

static void uncatch(struct ending_catch *caught)
{
    fclose(stderr);
    stderr = caught->real;
    caught->real = NULL;
}

static void complaint_write(int status, void *opaque)
{
    struct ending_catch *caught = opaque;
    struct err err;
    if (!caught->real)
        return;
    uncatch(caught);
    if (status == EXIT_ARGUMENTS) {
        sentence_take(caught->said, &err);
        ending_write(ending_begin(caught->form), EXIT_ARGUMENTS, duopoly_Reason_REASON_NONE, &err);
    }
}

struct ending_catch *ending_catch(int argc, char **argv)
{
    static struct ending_catch caught;
    caught.form = form_wanted(argc, argv);
    FILE *into = caught.form->fail ? open_memstream(&caught.said, &caught.size) : NULL;
    if (!into)
        return NULL;
    caught.real = stderr;
    stderr = into;
    on_exit(complaint_write, &caught);
    return &caught;
}

void ending_release(struct ending_catch *caught)
{
    if (!caught)
        return;
    uncatch(caught);
    free(caught->said);
}
