/* duopoly-workload: makes, converts and describes workload files. */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/number.h"
#include "lib/printable.h"
#include "lib/program.h"
#include "lib/workload/workload_input.h"
#include "testbed/workload/describe.h"
#include "testbed/workload/generate.h"

struct arguments {
    struct workload_convert convert;
    double load;
    const char *output, *command, *input;
};

const char *argp_program_version = "duopoly-workload " DUOPOLY_VERSION;

static const struct argp_option option_table[] = {
    {"jobs", 'j', "N", 0, "jobs to generate, or the first N of a trace or file (0: all of them)",
     0},
    {"hosts", 'h', "N", 0, "hosts that blocks lie on (9)", 0},
    {"slots", 's', "N", 0, "slots of a host (4)", 0},
    {"link", 'l', "BIT/S", 0, "a host's link (100M)", 0},
    {"compute", 'c', "BYTES/S", 0, "what a slot computes (100M)", 0},
    {"scale", 'S', "N", 0, "divide bytes by N (10)", 0},
    {"seed", 'r', "N", 0, "of the random numbers (1)", 0},
    {"replicas", 'R', "N", 0, "of a block (3)", 0},
    {"load", 'L', "X", 0, "generate: arrivals at this part of what the cluster can do (0.9)", 0},
    {"speed", 'v', "X", 0, "convert: arrivals X times as fast (5)", 0},
    {"cap", 'C', "BYTES", 0, "convert: larger jobs are cut to this, 0: never (10G)", 0},
    {"map_mb", 'm', "MB", 0, "convert: a map's largest share before scaling (1000)", 0},
    {"gpu", 'G', "SHARE", 0, "of so many of the jobs maps can run on a GPU too, 0 to 1 (0)", 0},
    {"gpu_speed", 'S', "X", 0, "and compute X times as fast there (4)", 0},
    {"output", 'o', "FILE", 0, "write there instead of to standard output", 0},
    {0},
};

/* The long name of an option, which is also its name in workload_convert_set(). */
static const char *option_name(int key)
{
    for (const struct argp_option *o = option_table; o->name; o++)
        if (o->key == key)
            return o->name;
    return NULL;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct err err;
    switch (key) {
    case 'o':
        arguments->output = value;
        return 0;
    case 'L':
        if (number_read_real(value, 0, HUGE_VAL, &arguments->load) < 0)
            argp_failure(state, 2, 0, "load is \"%s\", must be a number", value);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            return ARGP_ERR_UNKNOWN;
        *(state->arg_num ? &arguments->input : &arguments->command) = value;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->command)
            argp_failure(state, 2, 0, "give generate, convert TRACE or describe FILE");
        return 0;
    default:
        if (!option_name(key))
            return ARGP_ERR_UNKNOWN;
        if (workload_convert_set(&arguments->convert, option_name(key), value, &err) < 0)
            argp_failure(state, 2, 0, "%s", err.text);
        return 0;
    }
}

static int run_generate(const struct arguments *arguments, FILE *out, struct err *err)
{
    struct generator generator;
    struct workload_header header;
    struct workload_job job;
    int r = generator_init(&generator, &arguments->convert, arguments->load, err);
    if (r < 0)
        return r;
    generator_header(&generator, &header);
    r = workload_write_header(out, &header, err);
    while (r == 0 && (r = generator_next(&generator, &job, err)) > 0) {
        r = workload_write_job(out, &job, err);
        workload_job_done(&job);
    }
    return r;
}

static int copy_jobs(struct workload_input *input, FILE *out, struct err *err)
{
    struct workload_job job;
    int r = workload_write_header(out, &input->header, err);
    while (r == 0 && (r = workload_input_next(input, &job, err)) > 0) {
        r = workload_write_job(out, &job, err);
        workload_job_done(&job);
    }
    return r;
}

static int run_convert(const struct arguments *arguments, FILE *out, struct err *err)
{
    struct workload_input input;
    int r = workload_input_open(&input, arguments->input, &arguments->convert, err);
    if (r == 0 && !input.converted)
        r = err_set(err, EINVAL, "%s is a workload already", arguments->input);
    if (r == 0)
        r = copy_jobs(&input, out, err);
    if (r == 0) {
        printable_put(input.header.description, stderr);
        fputc('\n', stderr);
    }
    workload_input_done(&input);
    return r;
}

static int run_describe(const struct arguments *arguments, FILE *out, struct err *err)
{
    struct workload_input input;
    struct workload_job job;
    struct describe describe = {0};
    int r = workload_input_open(&input, arguments->input, &arguments->convert, err);
    while (r >= 0 && (r = workload_input_next(&input, &job, err)) > 0) {
        describe_add(&describe, &job, input.header.scale);
        workload_job_done(&job);
    }
    if (r == 0)
        describe_print(&describe, &input.header, out);
    workload_input_done(&input);
    return r;
}

static const struct command {
    const char *name;
    bool needs_input;
    uint64_t jobs; /* the default */
    int (*run)(const struct arguments *arguments, FILE *out, struct err *err);
} commands[] = {
    {"generate", false, 40, run_generate},
    {"convert", true, 40, run_convert},
    {"describe", true, 0, run_describe},
};

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int run_command(const struct command *command, const struct arguments *arguments,
                       struct err *err)
{
    FILE *out = arguments->output ? fopen(arguments->output, "we") : stdout;
    if (!out)
        return err_sys(err, errno, "cannot write %s", arguments->output);
    int r = command->run(arguments, out, err);
    if (fclose(out) != 0 && r == 0)
        r = err_sys(err, errno, "cannot write %s",
                    arguments->output ? arguments->output : "the output");
    /* A cut-off file would pass for a shorter workload. */
    if (r < 0 && arguments->output)
        remove(arguments->output);
    return r;
}

int main(int argc, char **argv)
{
    static const uint64_t jobs_unset = UINT64_MAX;
    const struct argp argp = {
        .options = option_table,
        .parser = parse_option,
        .args_doc = "generate\nconvert TRACE\ndescribe FILE",
        .doc = "Makes workload files (schemas/workload.md), converts Facebook Coflow benchmark "
               "traces to them, and "
               "describes either. Numbers may end in k, M or G.",
    };
    struct arguments arguments = {.convert = workload_convert_defaults, .load = 0.9};
    struct err err = {0};
    program_begin();
    arguments.convert.jobs = jobs_unset;
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    const struct command *command = find_command(arguments.command);
    if (!command || command->needs_input != !!arguments.input) {
        const char *wrong = !command               ? "is no command"
                            : command->needs_input ? "needs a file"
                                                   : "takes no file";
        fprintf(stderr,
                "duopoly-workload: %s %s: give generate, convert TRACE or describe FILE "
                "(--help lists options)\n",
                arguments.command, wrong);
        return 2;
    }
    if (arguments.convert.jobs == jobs_unset)
        arguments.convert.jobs = command->jobs;
    if (run_command(command, &arguments, &err) < 0) {
        fprintf(stderr, "duopoly-workload: %s\n", err.text);
        return 1;
    }
    return 0;
}
