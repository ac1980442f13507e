/* duopoly-sim as a user calls it: what each command prints, and its sentence for wrong words. */
#include "tests/unit/test.h"

#include "testbed/sim/commands.h"
#include "testbed/sim/run_setup.h"
#include "testbed/sim/units.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct said {
    int status;
    char out[65536], err[1024];
};

static FILE *redirect(int fd, int *ret_saved)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(NULL);
    *ret_saved = dup(fd);
    assert_true(dup2(fileno(file), fd) == fd);
    return file;
}

static void restore(int fd, int saved, FILE *file, char *text, size_t size)
{
    fflush(NULL);
    dup2(saved, fd);
    close(saved);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

static const struct command *find(const char *name)
{
    for (const struct command *const *c = commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    fail_msg("no command %s", name);
    return NULL;
}

/* Splits the line at blanks; @ stands for the trace's path. */
static struct said *say(const char *line, const char *trace)
{
    static struct said said;
    char copy[512], *argv[32] = {0};
    int argc = 0, saved_out, saved_err;
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = strcmp(word, "@") == 0 ? (char *)trace : word;
    const struct command *command = find(argv[0]);
    FILE *out = redirect(STDOUT_FILENO, &saved_out), *err = redirect(STDERR_FILENO, &saved_err);
    said.status = command->run(argc, argv);
    restore(STDERR_FILENO, saved_err, err, said.err, sizeof(said.err));
    restore(STDOUT_FILENO, saved_out, out, said.out, sizeof(said.out));
    return &said;
}

static const char *trace_file(const char *text)
{
    static char path[64];
    strcpy(path, "/tmp/duopoly-test-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

static const struct {
    const char *line, *sentence;
} wrong_arguments[] = {
    {"coflows", "duopoly-sim: give --trace FILE\n"},
    {"coflows --trace x", "duopoly-sim: give --policy NAME\n"},
    {"coflows --trace", "duopoly-sim: --trace needs a value\n"},
    {"coflows --trace x --policy best",
     "duopoly-sim: there is no policy 'best'; choose one of fifo, scf, ncf, lcf, "
     "sebf, dclas, srtf, fair\n"},
    {"coflows --trace x --policy sebf more", "duopoly-sim: 'more' is one argument too many\n"},
    {"coflows --fast", "duopoly-sim: there is no option '--fast'; duopoly-sim --help lists them\n"},
    {"coflows --link fast", "duopoly-sim: 'fast' is not a rate such as 1Gbps or 100Mbps\n"},
    {"coflows --link -1Gbps", "duopoly-sim: '-1Gbps' is not a rate such as 1Gbps or 100Mbps\n"},
    {"coflows --link 1bps", "duopoly-sim: the rate 1bps is not between 8bps and 8000Tbps\n"},
    {"coflows --local no", "duopoly-sim: --local takes 'free' or 'network', not 'no'\n"},
    {"coflows --compat varys", "duopoly-sim: --compat takes 'coflowsim', not 'varys'\n"},
    {"run", "duopoly-sim: give --trace FILE or --workload FILE\n"},
    {"run --slots 0", "duopoly-sim: --slots takes a number from 1 to 1000000, not '0'\n"},
    {"run --levels 65", "duopoly-sim: --levels takes a number from 0 to 64, not '65'\n"},
    {"run --place best", "duopoly-sim: --place knows no 'best'; choose one of nats, greedy, "
                         "delay, neat, neat-fair, "
                         "gather, random, joint, flow, affinity, model, filter-spread, "
                         "filter-score\n"},
    {"run --policy", "duopoly-sim: --policy needs a value\n"},
    {"run --report-delay -1",
     "duopoly-sim: --report-delay takes a number from 0 to 3600, not '-1'\n"},
    {"run --failures often",
     "duopoly-sim: --failures takes MTBF/REPAIR in seconds (3600/60) or at most 32 hosts with "
     "the second of their failure and its length (3@10.5+60,7@20), not 'often'\n"},
    {"run --parameter pakc=yes",
     "duopoly-sim: --parameter: no policy has 'pakc'; there are: even_wait, start_wait, pack, "
     "lies_there, objective, weight.locality, weight.load, weight.turn, weight.priority, "
     "hold_stalls, weight.prefer, weight.wait, fair_parts, preempt, migrate, weight.lost, "
     "hold_remote, stretch, progress, patience, downlink, profiles, "
     "users_first, ignore_held, even, one_host, repay_permille, debt_max, "
     "force_priority, lend_largest, granule_slots, granule_cpu_milli, granule_mem_bytes, "
     "remainders\n"},
    {"run --change 1s:objective=borg",
     "duopoly-sim: --change takes SECOND:WORD=VALUE, the second from 0 to 1000000, not "
     "'1s:objective=borg'\n"},
    {"run --change 2:objective=borg --change 1:objective=quincy",
     "duopoly-sim: --change '1:objective=quincy' is before the one that was given before "
     "it\n"},
    {"run --change 1:preempt=often",
     "duopoly-sim: --change preempt: 'often' is neither yes nor no\n"},
    {"run --stragglers 5",
     "duopoly-sim: --stragglers takes the share of slow attempts and how many times as long "
     "they compute (0.05/8), not '5'\n"},
    {"run --outside fast", "duopoly-sim: 'fast' is not a rate such as 1Gbps or 100Mbps\n"},
    {"run --headers 1", "duopoly-sim: --headers takes a number from 0 to 0.9, not '1'\n"},
    {"run --mode-dwell -1", "duopoly-sim: --mode-dwell takes a number from 0 to 3600, not '-1'\n"},
    {"run --copies 0.5", "duopoly-sim: --copies takes a number from 1 to 1000, not '0.5'\n"},
    {"run --foreign half",
     "duopoly-sim: --foreign takes the share of a link that others take (0 to 0.99), the part "
     "of "
     "the hosts, and /up or /down for one direction (0.5/0.34/down), not 'half'\n"},
    {"run --foreign 0.5/0.3/left",
     "duopoly-sim: --foreign takes the share of a link that others take (0 to 0.99), the part "
     "of "
     "the hosts, and /up or /down for one direction (0.5/0.34/down), not '0.5/0.3/left'\n"},
    {"run --trace x --json --csv", "duopoly-sim: give --json or --csv, not both\n"},
    {"compare", "duopoly-sim: give --trace FILE or --workload FILE\n"},
    {"compare --trace x --seeds few",
     "duopoly-sim: --seeds takes a number from 1 to 64, not 'few'\n"},
    {"compare --trace x --policies duopoly,best", "duopoly-sim: there is no policy 'best'\n"},
    {"compare --trace x --slots 1,2 --servers 3,4",
     "duopoly-sim: --servers and --slots are both lists; give one\n"},
    {"sweep --trace x",
     "duopoly-sim: give a list for --servers, --slots, --load, --compute, --map-mb, --levels, "
     "--racks, --estimate-error, --report-delay or --decision-delay\n"},
    {"sweep --trace x --slots 1,0",
     "duopoly-sim: --slots takes a number from 1 to 1000000, not '0'\n"},
    {"figures --trace x", "duopoly-sim: give --output FILE.html\n"},
    {"figures --output x", "duopoly-sim: give --trace FILE or --workload FILE\n"},
    {"figures --trace x --output x --figures 5",
     "duopoly-sim: --figures takes 6 to 12, and 0 for the size of maps, not '5'\n"},
    {"run --spines many", "duopoly-sim: --spines takes a number from 1 to 1024, not 'many'\n"},
    {"coflows --trace x --policy fair --compat coflowsim",
     "duopoly-sim: policy fair does not know --compat coflowsim\n"},
};

static void test_wrong_arguments_get_one_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrong_arguments) / sizeof(*wrong_arguments); i++) {
        struct said *said = say(wrong_arguments[i].line, NULL);
        assert_string_equal(said->err, wrong_arguments[i].sentence);
        assert_string_equal(said->out, "");
        assert_int_equal(said->status, 2);
    }
}

static void test_bad_traces_get_one_sentence(void **state)
{
    (void)state;
    struct said *said = say("coflows --policy sebf --trace /nonexistent", NULL);
    assert_int_equal(said->status, 1);
    assert_string_equal(
        said->err, "duopoly-sim: cannot open the trace /nonexistent: No such file or directory\n");
    const char *path = trace_file("3 2\n1 0 1 0 1 1:256\n");
    said = say("coflows --policy sebf --trace @", path);
    unlink(path);
    assert_int_equal(said->status, 1);
    assert_non_null(strstr(said->err, ":3: the trace ends after 1 of 2 coflows\n"));
}

static double number(const json_t *object, const char *key)
{
    assert_true(json_is_number(json_object_get(object, key)));
    return json_number_value(json_object_get(object, key));
}

static void test_json_has_what_others_read(void **state)
{
    (void)state;
    const char *path = trace_file("3 2\n7 0 1 0 1 1:250\n9 1000 1 0 1 2:125\n");
    struct said *said = say("coflows --trace @ --policy fifo --link 8Mibps --json", path);
    assert_int_equal(said->status, 0);
    assert_string_equal(said->err, "");
    json_t *root = json_loads(said->out, 0, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "policy")), "fifo");
    assert_true(fabs(number(root, "mean_cct_s") - 312) < 1e-6);
    assert_true(fabs(number(root, "median_cct_s") - 312) < 1e-6);
    assert_true(fabs(number(root, "p95_cct_s") - 374) < 1e-6);
    assert_true(fabs(number(root, "p99_cct_s") - 374) < 1e-6);
    assert_true(fabs(number(root, "makespan_s") - 375) < 1e-6);
    const json_t *second = json_array_get(json_object_get(root, "coflows"), 1);
    assert_true(number(second, "id") == 9);
    assert_true(fabs(number(second, "cct_s") - 374) < 1e-6);
    json_decref(root);
    said = say("coflows --trace @ --policy fifo", path);
    assert_non_null(strstr(said->out, "completion time [s]"));
    said = say("coflows --trace @ --policy fifo --link 8Mibps --csv", path);
    assert_non_null(strstr(said->out, "\n9,1.000000000,131072000,125.000000000,374.000000000\n"));
    unlink(path);
}

static void test_run_prints_what_others_read(void **state)
{
    (void)state;
    const char *path = trace_file("3 2\n7 0 1 0 1 1:250\n9 1000 1 0 1 2:125\n");
    struct said *said = say("run --trace @ --policy duopoly --servers 2 --slots 1 --link 1Gbps "
                            "--levels 8 --map-mb 1000 "
                            "--seed 3 --json",
                            path);
    assert_string_equal(said->err, "");
    assert_int_equal(said->status, 0);
    json_t *root = json_loads(said->out, 0, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "policy")), "duopoly");
    const json_t *jobs = json_object_get(root, "jobs");
    assert_int_equal(json_array_size(jobs), 2);
    double sum_s =
        number(json_array_get(jobs, 0), "jct_s") + number(json_array_get(jobs, 1), "jct_s");
    assert_true(number(json_array_get(jobs, 0), "id") == 7);
    assert_true(fabs(number(root, "mean_jct_s") - sum_s / 2) < 1e-9);
    assert_true(number(root, "p95_jct_s") <= number(root, "p99_jct_s"));
    assert_true(number(root, "hold_max_s") == 30);
    json_decref(root);
    said = say("run --trace @ --policy fair", path);
    const char *holds = strstr(said->out, "\na hold ends after 30 s (hold_max)\n"),
               *times = strstr(said->out, "job completion time [s]");
    assert_true(holds && times && holds < times);
    said = say("run --trace @ --policy neat --hold-max none", path);
    assert_non_null(strstr(said->out, "no end of its own (hold_max: none), and 1 s after"));
    said = say("compare --trace @ --seeds 2 --policies duopoly,fair", path);
    assert_non_null(strstr(said->out, "\na hold ends after 30 s (hold_max)\n"));
    unlink(path);
    said = say("run --workload /nonexistent", NULL);
    assert_int_equal(said->status, 1);
    assert_non_null(strstr(said->err, "/nonexistent"));
}

/* Every option of a run is read, and the same twice is the same output. */
static const char small[] = "4 3\n1 0 2 0 1 1 2:40\n2 100 1 3 2 0:10 1:30\n3 200 1 0 1 3:2\n";

/* The mean's lower bound, beside it; what it is worth depends on who pays for local bytes. */
static void test_bounds_stand_beside_the_means(void **state)
{
    (void)state;
    const char *path = trace_file(small);
    struct said *said = say("run --trace @ --local network --json", path);
    json_t *root = json_loads(said->out, 0, NULL);
    double bound_s = number(root, "bound_s");
    assert_true(bound_s > 0 && bound_s <= number(root, "mean_jct_s"));
    assert_non_null(json_object_get(root, "bounds"));
    json_decref(root);
    said = say("run --trace @ --local network", path);
    assert_non_null(strstr(said->out, "no policy can be below it"));
    said = say("compare --trace @ --seeds 2 --policies duopoly,fair --local network --json", path);
    root = json_loads(said->out, 0, NULL);
    assert_true(fabs(number(json_array_get(root, 1), "bound") - bound_s) < 1e-9);
    json_decref(root);
    said = say("compare --trace @ --seeds 2 --policies duopoly,fair --local network", path);
    assert_non_null(strstr(said->out, "\nlower bound "));
    assert_null(strstr(said->out, "estimate"));
    unlink(path);
}

/* Where bytes that stay on their host are free nothing that is printed, or its name, is a bound. */
static void test_what_is_not_proven_is_not_called_a_bound(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "run --trace @", "run --trace @ --json",
        "compare --trace @ --seeds 2 --policies duopoly,fair",
        "compare --trace @ --seeds 2 --policies duopoly,fair --json",
        "sweep --trace @ --seeds 2 --policies duopoly,fair --slots 2,3 --csv"};
    const char *path = trace_file(small);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct said *said = say(lines[i], path);
        assert_string_equal(said->err, "");
        assert_non_null(strstr(said->out, "estimate"));
        if (strstr(said->out, "lower bound") || strstr(said->out, "\"bound") ||
            strstr(said->out, ",bound"))
            fail_msg("%s: %s", lines[i], said->out);
    }
    unlink(path);
}

/* Of two seeds the median is between both. */
static void test_the_median_of_two_seeds(void **state)
{
    (void)state;
    const char *path = trace_file(small);
    double of[3];
    static const char *const lines[] = {
        "compare --trace @ --policies fair --stragglers .5/8 --seeds 1 --json",
        "compare --trace @ --policies fair --stragglers .5/8 --seeds 1 --seed 2 --json",
        "compare --trace @ --policies fair --stragglers .5/8 --seeds 2 --json"};
    for (size_t i = 0; i < 3; i++) {
        json_t *root = json_loads(say(lines[i], path)->out, 0, NULL);
        of[i] = number(json_array_get(root, 0), "mean");
        json_decref(root);
    }
    unlink(path);
    assert_true(of[0] != of[1]);
    assert_true(fabs(of[2] - (of[0] + of[1]) / 2) < 1e-9);
}

static void test_a_troubled_run_repeats_itself(void **state)
{
    (void)state;
    static const char line[] =
        "run --trace @ --servers 4 --racks 2 --spines 2 --oversubscription 2 --report-delay .01 "
        "--decision-delay .02 --failures 20/2 --stragglers .3/4 --copies 1.5 --estimate-error .5 "
        "--json";
    const char *path = trace_file("4 2\n1 0 2 0 1 1 2:40\n2 100 1 3 2 0:10 1:30\n");
    struct said *said = say(line, path);
    assert_int_equal(said->status, 0);
    json_t *first = json_loads(said->out, 0, NULL);
    said = say(line, path);
    unlink(path);
    json_t *second = json_loads(said->out, 0, NULL);
    assert_non_null(first);
    assert_true(json_equal(first, second));
    assert_true(number(first, "attempts") >= number(first, "tasks"));
    json_decref(first);
    json_decref(second);
}

/* Reads a file that a command wrote, and removes it. */
static const char *slurp(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    unlink(path);
    return text;
}

static void expect_svg(const char *text, const char *const *words)
{
    assert_ptr_equal(strstr(text, "<svg "), text);
    assert_non_null(strstr(text, "</svg>\n"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    for (; *words; words++)
        if (!strstr(text, *words))
            fail_msg("no '%s' in %s", *words, text);
}

static void test_pictures_have_axes_and_legends(void **state)
{
    (void)state;
    const char *path = trace_file(small);
    char line[512], svg[80];
    snprintf(svg, sizeof(svg), "%s.svg", path);
    snprintf(line, sizeof(line), "run --trace @ --servers 4 --timeline %s", svg);
    assert_int_equal(say(line, path)->status, 0);
    expect_svg(slurp(svg), (const char *const[]){"time, s", ">slots<", "receiving", "computing",
                                                 "slot-starved", NULL});
    snprintf(line, sizeof(line), "run --trace @ --servers 4 --policy joint --links %s", svg);
    assert_int_equal(say(line, path)->status, 0);
    expect_svg(slurp(svg), (const char *const[]){"time, s", "under joint", ">carried ", NULL});
    snprintf(line, sizeof(line), "run --trace @ --servers 4 --policy aalo --cdf %s", svg);
    assert_int_equal(say(line, path)->status, 0);
    expect_svg(slurp(svg), (const char *const[]){"JCT, s", "part of the jobs", ">aalo<", NULL});
    snprintf(line, sizeof(line), "coflows --trace @ --policy sebf --cdf %s", svg);
    assert_int_equal(say(line, path)->status, 0);
    expect_svg(slurp(svg), (const char *const[]){"CCT, s", "part of the coflows", NULL});
    snprintf(line, sizeof(line), "compare --trace @ --servers 4 --seeds 2 --svg %s", svg);
    assert_int_equal(say(line, path)->status, 0);
    expect_svg(slurp(svg), (const char *const[]){"JCT, s", ">neat-fair<", NULL});
    snprintf(line, sizeof(line),
             "sweep --trace @ --slots 1,2,4 --servers 4 --seeds 2 --policies duopoly,fair --svg %s",
             svg);
    assert_int_equal(say(line, path)->status, 0);
    expect_svg(slurp(svg),
               (const char *const[]){"mean JCT, s", "slots per server", ">fair<", NULL});
    unlink(path);
}

static void test_sweeps_are_tables_of_all_forms(void **state)
{
    (void)state;
    const char *path = trace_file(small);
    struct said *said =
        say("sweep --trace @ --servers 4 --map-mb 1000,16 --seeds 3 --policies duopoly,aalo --json",
            path);
    assert_int_equal(said->status, 0);
    json_t *rows = json_loads(said->out, 0, NULL);
    assert_int_equal(json_array_size(rows), 4);
    const json_t *last = json_array_get(rows, 3);
    assert_string_equal(json_string_value(json_object_get(last, "map-mb")), "16");
    assert_true(number(last, "mean-least") <= number(last, "mean") &&
                number(last, "mean") <= number(last, "mean-most"));
    assert_true(number(last, "cct-mean") > 0);
    double mean_s = number(last, "mean");
    json_decref(rows);
    said =
        say("sweep --trace @ --servers 4 --map-mb 1000,16 --seeds 3 --policies duopoly,aalo --csv",
            path);
    const char *row = strstr(said->out, "aalo,16,3,");
    assert_non_null(row);
    assert_true(fabs(strtod(row + strlen("aalo,16,3,"), NULL) - mean_s) < 1e-6);
    said =
        say("sweep --trace @ --servers 4 --map-mb 1000,16 --seeds 3 --policies duopoly,aalo", path);
    assert_non_null(strstr(said->out, "mean JCT by job size"));
    unlink(path);
}

/* The page names its command, judges every figure, and is the same twice; what stood there stays
 * when it cannot be made. */
static void test_figures_are_a_page(void **state)
{
    (void)state;
    const char *path = trace_file(small);
    char line[512], page[80], *first;
    snprintf(page, sizeof(page), "%s.html", path);
    snprintf(line, sizeof(line), "figures --trace @ --output %s --figures 6,7,10,11,12,0", page);
    assert_int_equal(say(line, path)->status, 0);
    first = strdup(slurp(page));
    assert_non_null(strstr(first, "Made by <code>duopoly-sim figures --trace "));
    assert_non_null(strstr(first, "by 38.00 % at least"));
    assert_non_null(strstr(first, "1.08 to 1.25 times the full one's"));
    assert_non_null(strstr(first, "8 x 16 racks"));
    assert_non_null(strstr(first, "256 MB"));
    assert_null(strstr(first, "nan"));
    assert_int_equal(say(line, path)->status, 0);
    assert_string_equal(slurp(page), first);
    free(first);
    FILE *before = fopen(page, "w");
    fputs("before", before);
    fclose(before);
    snprintf(line, sizeof(line), "figures --trace /nonexistent --output %s", page);
    struct said *said = say(line, path);
    assert_int_equal(said->status, 1);
    assert_non_null(strstr(said->err, "/nonexistent"));
    assert_string_equal(slurp(page), "before");
    unlink(path);
}

static void test_help_explains_every_option(void **state)
{
    (void)state;
    struct said *said = say("run --help", NULL);
    size_t options = 0, meanings = 0;
    char line[64];
    assert_int_equal(said->status, 0);
    for (; run_setup_option(options); options++) {
        snprintf(line, sizeof(line), "\n  --%-16s ", run_setup_option(options));
        assert_non_null(strstr(said->out, line));
        snprintf(line, sizeof(line), "--%s ", run_setup_option(options));
        assert_non_null(strstr(run_setup_usage, line));
    }
    while (run_setup_meanings[meanings].option)
        meanings++;
    assert_int_equal(options, meanings);
}

static void test_explain_says_why_a_task_runs_there(void **state)
{
    (void)state;
    const char *path = trace_file("4 2\n1 0 2 0 1 1 2:40\n2 100 1 3 2 0:10 1:30\n");
    char line[256], log[80];
    snprintf(log, sizeof(log), "%s.log", path);
    snprintf(line, sizeof(line), "run --trace @ --servers 4 --log %s", log);
    int status = say(line, path)->status;
    snprintf(line, sizeof(line), "explain %s 1/1/0", log);
    struct said *said = say(line, NULL);
    int explained = said->status;
    bool why = strstr(said->out, "Runs on") != NULL;
    snprintf(line, sizeof(line), "explain %s 9/1/0", log);
    int unknown = say(line, NULL)->status;
    snprintf(line, sizeof(line), "explain %s mode", log);
    said = say(line, NULL);
    bool modes = said->status ? strstr(said->err, "never changes") != NULL
                              : strstr(said->out, "ready tasks and") != NULL;
    unlink(log);
    unlink(path);
    assert_int_equal(status, 0);
    assert_int_equal(explained, 0);
    assert_true(why);
    assert_int_equal(unknown, 1);
    assert_true(modes);
}

/* A framework's task: what it might do, what was made of it, and what its framework calls it. */
static void test_explain_says_what_a_framework_might_start(void **state)
{
    (void)state;
    const char *path = trace_file("4 2\n1 0 2 0 1 1 2:40\n2 100 1 3 2 0:10 1:30\n");
    char line[256], log[80];
    snprintf(log, sizeof(log), "%s.log", path);
    snprintf(line, sizeof(line), "run --trace @ --servers 4 --framework prompt --log %s", log);
    int status = say(line, path)->status;
    snprintf(line, sizeof(line), "explain %s 2/1/1", log);
    struct said *said = say(line, NULL);
    bool why = strstr(said->out, "Runs on"), named = strstr(said->out, ", partition 1\n"),
         starts = strstr(said->out, "Its framework starts it on host ");
    unlink(log);
    unlink(path);
    assert_int_equal(status, 0);
    assert_int_equal(said->status, 0);
    assert_true(why && named && starts);
}

static void test_whatif_answers_from_a_recording(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "whatif",         "whatif x",           "whatif x --policy joint --host-down h1",
        "whatif x --job", "whatif x y --job z", "whatif x --rack r"};
    char path[64], jobs[64], line[256], log[80];
    strcpy(path, trace_file("4 2\n1 0 2 0 1 1 2:40\n2 100 1 3 2 0:10 1:30\n"));
    strcpy(jobs, trace_file(
                     "{\"duopoly_workload\":1,\"hosts\":4}\n{\"id\":1,\"name\":\"new\",\"stages\":["
                     "{\"tasks\":1,\"compute_ms\":1500}]}\n"));
    snprintf(log, sizeof(log), "%s.log", path);
    snprintf(line, sizeof(line), "run --trace @ --servers 4 --log %s", log);
    int status = say(line, path)->status;
    snprintf(line, sizeof(line), "whatif %s --job %s", log, jobs);
    struct said *said = say(line, NULL);
    int answered = said->status;
    bool new = strstr(said->out, "new (new)\n") && strstr(said->out, " 1.500 s ");
    snprintf(line, sizeof(line), "whatif %s --json --job %s", log, jobs);
    json_t *root = json_loads(say(line, NULL)->out, 0, NULL);
    double jct_s = json_real_value(json_object_get(
        json_object_get(json_array_get(json_object_get(root, "jobs"), 0), "changed"), "jct_s"));
    json_decref(root);
    snprintf(line, sizeof(line), "whatif %s --host-down h9", log);
    said = say(line, NULL);
    bool unknown = said->status == 5 && strstr(said->err, "has no host h9");
    unlink(log);
    unlink(jobs);
    unlink(path);
    assert_int_equal(status, 0);
    assert_int_equal(answered, 0);
    assert_true(new);
    assert_true(fabs(jct_s - 1.5) < 1e-6);
    assert_true(unknown);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(say(wrong[i], NULL)->status, 2);
    assert_int_equal(say("whatif /nonexistent --policy joint", NULL)->status, 5);
}

static void test_rates_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double bytes_s;
    } rates[] = {{"1Gbps", 125e6},         {"100Mbps", 12.5e6}, {"1.5kbit/s", 187.5},
                 {"1024Mibps", 134217728}, {"64", 8},           {"40G", 5e9},
                 {"1Kibps", 128}};
    double bytes_s;
    for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
        assert_int_equal(units_parse_rate(rates[i].text, &bytes_s, NULL), 0);
        assert_true(fabs(bytes_s - rates[i].bytes_s) < 1e-6);
    }
    static const char *const wrong[] = {"", "G", "1Gbs", "1 Gbps", "nan", "1e99", "0", "inf"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(units_parse_rate(wrong[i], &bytes_s, NULL), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_arguments_get_one_sentence),
        cmocka_unit_test(test_bad_traces_get_one_sentence),
        cmocka_unit_test(test_json_has_what_others_read),
        cmocka_unit_test(test_run_prints_what_others_read),
        cmocka_unit_test(test_bounds_stand_beside_the_means),
        cmocka_unit_test(test_what_is_not_proven_is_not_called_a_bound),
        cmocka_unit_test(test_the_median_of_two_seeds),
        cmocka_unit_test(test_a_troubled_run_repeats_itself),
        cmocka_unit_test(test_pictures_have_axes_and_legends),
        cmocka_unit_test(test_sweeps_are_tables_of_all_forms),
        cmocka_unit_test(test_figures_are_a_page),
        cmocka_unit_test(test_help_explains_every_option),
        cmocka_unit_test(test_explain_says_why_a_task_runs_there),
        cmocka_unit_test(test_explain_says_what_a_framework_might_start),
        cmocka_unit_test(test_whatif_answers_from_a_recording),
        cmocka_unit_test(test_rates_have_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
