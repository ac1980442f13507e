/* duopoly-sim whatif: what would happen with another policy, a host less, or a job more, from the
 * state of a controller. */
#include "testbed/sim/commands.h"
#include "testbed/sim/whatif/whatif_words.h"

#include "lib/number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* WHY 5: as duopolyctl ends, which runs this (docs/operate/cli.md). */
enum { WHAT_MAX = 256, NOT_FOUND = 5 };

struct words {
    const char *state, *policies, *host, *jobs;
    double headers;
    bool json;
};

static const char usage_words[] =
    "whatif FILE --policy PRESET|QUESTION=NAME[,QUESTION=NAME...]|--host-down HOST|--job FILE "
    "[--headers SHARE] [--json]";

static int take_value(const char **value, int argc, char **argv, int *i)
{
    if (*value || *i + 1 >= argc)
        return -EINVAL;
    *value = argv[++*i];
    return 0;
}

static int take_share(double *share, int argc, char **argv, int *i)
{
    return *i + 1 < argc ? number_read_real(argv[++*i], 0, 0.9, share) : -EINVAL;
}

static int read_words(int argc, char **argv, struct words *words)
{
    int r = 0;
    *words = (struct words){.headers = WHATIF_HEADERS};
    for (int i = 1; r == 0 && i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--json") == 0)
            words->json = true;
        else if (strcmp(word, "--policy") == 0)
            r = take_value(&words->policies, argc, argv, &i);
        else if (strcmp(word, "--host-down") == 0)
            r = take_value(&words->host, argc, argv, &i);
        else if (strcmp(word, "--job") == 0)
            r = take_value(&words->jobs, argc, argv, &i);
        else if (strcmp(word, "--headers") == 0)
            r = take_share(&words->headers, argc, argv, &i);
        else if (words->state || (word[0] == '-' && word[1]))
            r = -EINVAL;
        else
            words->state = word;
    }
    int changes = !!words->policies + !!words->host + !!words->jobs;
    return r < 0 || !words->state || changes != 1 ? -EINVAL : 0;
}

/* A file that can be read twice: a pipe is copied. */
static FILE *open_state(const char *path, struct err *err)
{
    char piece[65536];
    bool piped = strcmp(path, "-") == 0;
    FILE *file = piped ? tmpfile() : fopen(path, "re");
    size_t n;
    if (!file) {
        err_sys(err, errno, "cannot open %s", piped ? "a file for the state" : path);
        return NULL;
    }
    while (piped && (n = fread(piece, 1, sizeof(piece), stdin)))
        if (fwrite(piece, 1, n, file) != n)
            break;
    if (ferror(file) || (piped && ferror(stdin)) || (piped && fseek(file, 0, SEEK_SET) < 0)) {
        err_set(err, EIO, "the state cannot be read from standard input whole");
        fclose(file);
        return NULL;
    }
    return file;
}

static int read_change(const struct words *words, const struct engine *engine,
                       struct whatif_change *ret_change, char *what, struct err *err)
{
    *ret_change = (struct whatif_change){.host = ENGINE_NONE};
    if (words->policies) {
        snprintf(what, WHAT_MAX, "the policy were %s", words->policies);
        return whatif_read_policies(engine, words->policies, ret_change, err);
    }
    if (words->host) {
        snprintf(what, WHAT_MAX, "host %s went down", words->host);
        return whatif_read_host(engine, words->host, ret_change, err);
    }
    snprintf(what, WHAT_MAX, "%s were submitted", words->jobs);
    return whatif_read_jobs(engine, words->jobs, ret_change, err);
}

static int run_as_it_is(FILE *file, const struct words *words, struct whatif_answer *answer,
                        struct present_jobs *present, struct whatif_change *change, char *what,
                        struct err *err)
{
    static const struct whatif_change nothing = {.host = ENGINE_NONE};
    struct state state;
    int r = state_read(file, &state, err);
    if (r < 0)
        err_prefix(err, "%s", words->state);
    r = r < 0 ? r : read_change(words, state.engine, change, what, err);
    r = r < 0 ? r : present_jobs_make(&state, present, err);
    if (r == 0) {
        engine_status(state.engine, &answer->state);
        answer->at_ns = state.at_ns;
        r = whatif_run(&state, present, &nothing, words->headers, &answer->as_it_is, err);
    }
    state_done(&state);
    return r;
}

static int answer_all(FILE *file, const struct words *words, struct err *err)
{
    char what[WHAT_MAX] = "";
    struct present_jobs present = {0};
    struct whatif_change change = {.host = ENGINE_NONE};
    struct whatif_answer answer = {.what = what, .present = &present, .change = &change};
    struct state state = {0};
    int r = run_as_it_is(file, words, &answer, &present, &change, what, err);
    if (r == 0 && fseek(file, 0, SEEK_SET) < 0)
        r = err_sys(err, errno, "%s cannot be read a second time", words->state);
    r = r < 0 ? r : state_read(file, &state, err);
    r = r < 0 ? r : whatif_run(&state, &present, &change, words->headers, &answer.changed, err);
    answer.end = &state;
    if (r == 0) {
        answer.n_differences = whatif_compare(&answer.as_it_is, &answer.changed, answer.differences,
                                              WHATIF_DIFFERENCES);
        r = answer.n_differences < 0 ? err_set(err, ENOMEM, "not enough memory for the answer") : 0;
    }
    if (r == 0 && words->json)
        r = whatif_print_json(&answer) < 0 ? err_set(err, EIO, "cannot write the answer") : 0;
    else if (r == 0)
        whatif_print(&answer);
    whatif_side_done(&answer.as_it_is);
    whatif_side_done(&answer.changed);
    state_done(&state);
    present_jobs_done(&present);
    whatif_change_done(&change);
    return r;
}

static int run(int argc, char **argv)
{
    struct words words;
    struct err err = {0};
    if (read_words(argc, argv, &words) < 0) {
        fprintf(stderr,
                "duopoly-sim whatif: give a state (or - for standard input) and one "
                "change: %s\n",
                usage_words);
        return 2;
    }
    FILE *file = open_state(words.state, &err);
    int r = file ? answer_all(file, &words, &err) : -err.code;
    if (file)
        fclose(file);
    if (r < 0) {
        fprintf(stderr, "duopoly-sim whatif: %s\n", err.text);
        return r == -ENOENT ? NOT_FOUND : 1;
    }
    return fflush(stdout) ? 1 : 0;
}

const struct command command_whatif = {
    .name = "whatif",
    .what = "a controller's state run on twice, as it is and with another policy, without a host, "
            "or with more jobs: what is decided otherwise, and when the jobs end",
    .usage = usage_words,
    .run = run,
};
