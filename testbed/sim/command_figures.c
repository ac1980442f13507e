/* duopoly-sim figures: the source's figures 6 to 12 from our simulations, with its percentages
 * beside ours. */
#include "testbed/sim/commands.h"
#include "testbed/sim/figures_page.h"
#include "testbed/sim/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { EXPERIMENTS_MAX = 16 };

static const char *const own_words[] = {"output", "seeds", "figures", NULL};
enum { WORD_OUTPUT, WORD_SEEDS, WORD_FIGURES };

struct figures {
    const struct experiment *chosen[EXPERIMENTS_MAX];
    struct grid grids[EXPERIMENTS_MAX];
    int n;
};

static int add_figure(struct figures *f, const char *word, struct err *err)
{
    int before = f->n;
    for (const struct experiment *e = experiments; e->title; e++) {
        char number[8];
        snprintf(number, sizeof(number), "%d", e->figure);
        if (!word || strcmp(word, number) == 0)
            f->chosen[f->n++] = e;
    }
    return f->n > before
               ? 0
               : err_set(err, EINVAL,
                         "--figures takes 6 to 12, and 0 for the size of maps, not '%s'", word);
}

static int choose(struct figures *f, const char *list, struct err *err)
{
    char words[EXPERIMENTS_MAX / 2][32];
    int n = list ? batch_split(list, words, EXPERIMENTS_MAX / 2, err) : 0;
    int r = list ? n < 0 ? n : 0 : add_figure(f, NULL, err);
    for (int i = 0; !r && i < n; i++)
        r = add_figure(f, words[i], err);
    return r;
}

static int simulate(struct figures *f, const struct run_setup *base, int seeds, struct err *err)
{
    struct grid *grids[EXPERIMENTS_MAX];
    int r = 0;
    for (int i = 0; i < f->n && !r; i++) {
        const struct experiment *e = f->chosen[i];
        grids[i] = &f->grids[i];
        r = grid_set_policies(grids[i], e->policies, err);
        if (!r && e->option)
            r = grid_set_values(grids[i], e->option, e->values, err);
        r = r ? r : grid_prepare(grids[i], base, seeds, err);
    }
    return r ? r : grid_run(grids, (size_t)f->n, err);
}

static void join(int argc, char **argv, char *ret, size_t size)
{
    size_t at = (size_t)snprintf(ret, size, "duopoly-sim");
    for (int i = 0; i < argc && at < size; i++)
        at += (size_t)snprintf(ret + at, size - at, " %s", argv[i]);
}

/* Describes the workload, and checks before any simulation that it can be read. */
static int describe(const struct run_setup *setup, char *ret, size_t size, struct err *err)
{
    struct run_inputs in = {0};
    int r = run_inputs_read(setup, &in, err);
    snprintf(ret, size, "%s", in.header.description);
    run_inputs_done(&in);
    return r;
}

static int write_page(const char *path, const struct figures_page *page, struct err *err)
{
    struct output output;
    int r = output_open(&output, path, err);
    if (r)
        return r;
    figures_page_write(page, output.file);
    return output_close(&output, err);
}

static int read_arguments(int argc, char **argv, struct run_arguments *given, int *ret_seeds,
                          struct figures *f, struct err *err)
{
    int r = run_arguments_read(given, argc, argv, err);
    r = r || given->set ? r : grid_read_seeds(given->value[WORD_SEEDS], 1, ret_seeds, err);
    if (r || given->set)
        return r;
    if (!given->value[WORD_OUTPUT])
        return err_set(err, EINVAL, "give --output FILE.html");
    if (!given->setup->path)
        return err_set(err, EINVAL, "give --trace FILE or --workload FILE");
    return choose(f, given->value[WORD_FIGURES], err);
}

static int run(int argc, char **argv)
{
    static const char *const flags[] = {"help", NULL};
    static struct figures f;
    struct run_setup setup;
    struct run_arguments given = {.setup = &setup, .flags = flags, .values = own_words};
    struct err err = {0};
    char command[1024], description[sizeof(((struct workload_header *)0)->description)];
    int seeds = 1, status = 2;
    run_setup_init(&setup);
    setup.hold_max_ns = INT64_MAX; /* the source has no such limit */
    f = (struct figures){0};
    int r = read_arguments(argc, argv, &given, &seeds, &f, &err);
    if (!r && given.set) {
        printf("usage: duopoly-sim %s\n      %s\n", command_figures.usage, run_setup_usage);
        return 0;
    }
    if (!r) {
        status = 1;
        r = describe(&setup, description, sizeof(description), &err);
    }
    r = r ? r : output_try(given.value[WORD_OUTPUT], &err);
    r = r ? r : simulate(&f, &setup, seeds, &err);
    join(argc, argv, command, sizeof(command));
    struct figures_page page = {command, description, &setup, f.n, seeds, f.chosen, f.grids};
    r = r ? r : write_page(given.value[WORD_OUTPUT], &page, &err);
    for (int i = 0; i < f.n; i++)
        grid_done(&f.grids[i]);
    if (r)
        fprintf(stderr, "duopoly-sim: %s\n", err.text);
    return r ? status : 0;
}

const struct command command_figures = {
    .name = "figures",
    .what = "the source's figs 6 to 12 as one HTML page, its percentages beside ours",
    .usage =
        "figures --trace FILE --output FILE.html [--figures 6,7,...] [--seeds N] OPTIONS of run",
    .run = run,
};
