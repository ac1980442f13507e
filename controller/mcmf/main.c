/* duopoly-mcmf: solves a DIMACS minimum-cost flow problem, or follows one through rounds of
 * changes.
 *
 *   duopoly-mcmf [--algorithm NAME] FILE.min
 *   duopoly-mcmf [--algorithm NAME] --changes CHANGES FILE.min
 *
 * Exit 0; 1 when a file cannot be read; 2 when called wrongly; 3 when the problem, or one round, is
 * infeasible. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "controller/mcmf/reader.h"
#include "lib/mincost/mincost.h"
#include "lib/program.h"
#include "lib/text_mark.h"

enum { EXIT_USAGE = 2, EXIT_INFEASIBLE = 3 };

struct options {
    const char *algorithm, *changes, *problem;
};

static void print_usage(FILE *file)
{
    fprintf(file, "usage: duopoly-mcmf [--algorithm NAME] [--changes CHANGES] FILE.min\n"
                  "algorithms:\n");
    for (size_t i = 0; mincost_algorithms[i]; i++)
        fprintf(file, "  %-20s %s\n", mincost_algorithms[i]->name, mincost_algorithms[i]->what);
}

/* 0 to go on, else the exit code + 1. */
static int parse_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {{"algorithm", required_argument, NULL, 'a'},
                                          {"changes", required_argument, NULL, 'c'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'V'},
                                          {0}};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;)
        switch (option) {
        case 'a':
            options->algorithm = optarg;
            break;
        case 'c':
            options->changes = optarg;
            break;
        case 'h':
            print_usage(stdout);
            return EXIT_SUCCESS + 1;
        case 'V':
            puts("duopoly-mcmf " DUOPOLY_VERSION);
            return EXIT_SUCCESS + 1;
        default:
            print_usage(stderr);
            return EXIT_USAGE + 1;
        }
    if (optind + 1 != argc) {
        print_usage(stderr);
        return EXIT_USAGE + 1;
    }
    options->problem = argv[optind];
    return 0;
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int open_reader(struct reader *reader, const char *name, struct err *err)
{
    *reader = (struct reader){.name = name, .file = fopen(name, "r")};
    return reader->file ? text_mark_skip(reader->file, name, err)
                        : err_sys(err, errno, "cannot open %s", name);
}

static void print_flow(const struct mincost *problem)
{
    printf("s %" PRId64 "\n", mincost_cost(problem));
    for (uint32_t arc = 1; arc <= mincost_max_arc(problem); arc++) {
        uint32_t tail, head;
        int64_t flow = mincost_flow(problem, arc);
        if (flow && !mincost_ends(problem, arc, &tail, &head))
            printf("f %" PRIu32 " %" PRIu32 " %" PRId64 "\n", tail, head, flow);
    }
}

/* Solves and prints the result. The exit code, or −errno when no answer is possible. */
static int finish_round(struct mincost *problem, double start_us, struct err *err)
{
    double applied_us = now_us();
    int r = mincost_solve(problem);
    double solved_us = now_us();
    struct mincost_certificate certificate;
    if (r == -EDOM) {
        printf("infeasible %s\n", mincost_reason(problem));
        return EXIT_INFEASIBLE;
    }
    if (r)
        return err_set(err, -r, "cannot solve: %s", mincost_reason(problem));
    printf("s %" PRId64 " %.0f %.0f %s\n", mincost_cost(problem), applied_us - start_us,
           solved_us - applied_us, mincost_certify(problem, &certificate) ? "certified" : "FAILED");
    return EXIT_SUCCESS;
}

static int follow_changes(struct mincost *problem, const struct options *options, double start_us,
                          struct err *err)
{
    struct reader reader;
    bool more = true;
    int exit_code = finish_round(problem, start_us, err);
    if (exit_code < 0 || open_reader(&reader, options->changes, err))
        return -1;
    int r = reader_read_round(&reader, &more, err); /* up to the first r */
    if (!r && reader.round_count)
        r = err_set(err, EINVAL, "%s: changes must follow a line 'r'", options->changes);
    while (!r && more) {
        r = reader_read_round(&reader, &more, err);
        double round_us = now_us();
        if (!r)
            r = reader_apply_round(&reader, problem, err);
        int code = r ? r : finish_round(problem, round_us, err);
        if (code < 0)
            r = code;
        else if (code)
            exit_code = code;
    }
    reader_done(&reader);
    return r ? r : exit_code;
}

static int solve_once(struct mincost *problem, struct err *err)
{
    int r = mincost_solve(problem);
    if (r == -EDOM) {
        printf("infeasible %s\n", mincost_reason(problem));
        return EXIT_INFEASIBLE;
    }
    if (r)
        return err_set(err, -r, "cannot solve: %s", mincost_reason(problem));
    print_flow(problem);
    return EXIT_SUCCESS;
}

static int run(struct mincost *problem, const struct options *options, struct err *err)
{
    struct reader reader;
    if (options->algorithm && mincost_set_algorithm(problem, options->algorithm))
        return err_set(err, EINVAL, "there is no algorithm '%s' (see --help)", options->algorithm);
    if (open_reader(&reader, options->problem, err))
        return -1;
    double start_us = now_us();
    int r = reader_load_dimacs(&reader, problem, err);
    reader_done(&reader);
    if (r)
        return r;
    return options->changes ? follow_changes(problem, options, start_us, err)
                            : solve_once(problem, err);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct err err = {0};
    struct mincost *problem;
    program_begin();
    int stop = parse_options(argc, argv, &options);
    if (stop)
        return stop - 1;
    if (mincost_create(0, 0, &problem)) {
        fprintf(stderr, "duopoly-mcmf: out of memory\n");
        return EXIT_FAILURE;
    }
    int exit_code = run(problem, &options, &err);
    if (exit_code < 0) {
        fprintf(stderr, "duopoly-mcmf: %s\n", err.text);
        exit_code = EXIT_FAILURE;
    }
    mincost_destroy(problem);
    return exit_code;
}
