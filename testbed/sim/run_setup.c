#include "testbed/sim/run_setup.h"

#include "lib/grow.h"
#include "lib/number.h"

#include "lib/join.h"
#include "testbed/sim/cluster/fitting.h"
#include "testbed/sim/cluster/submission.h"
#include "testbed/sim/policy_value.h"
#include "testbed/sim/units.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct run_setup, member)

/* How long a baseline's maps wait for a slot next to their block, from one start of their stage to
 * the next (delay scheduling: Zaharia et al., EuroSys 2010, whose experiments wait 5 s). WHY 1 s:
 * neat is best with it on the Facebook trace; its mean JCT is 191, 178 and 196 s with 0.2, 1 and 5
 * s. */
#define MAP_DELAY_NS 1000000000

const char run_setup_usage[] =
    "--trace FILE|--workload FILE [--policy NAME] [--turn NAME] [--place NAME] [--network NAME]\n"
    "      [--cluster FILE] [--servers N] [--slots N] [--racks N] [--link RATE[,NAME=RATE...]] "
    "[--levels N]\n"
    "      [--map-mb N] [--compute BYTES_S] [--gpu SHARE] [--gpu-speed TIMES] [--load FACTOR] "
    "[--jobs "
    "N]\n"
    "      [--local free|network] [--seed N]\n"
    "      [--hold-max SECONDS|none] [--congested ON/OFF[/SHARE]] [--maps even|anywhere]\n"
    "      [--estimate-error SIGMA] [--profile-error SIGMA] [--oversubscription N]\n"
    "      [--spines ideal|N]\n"
    "      [--report-delay SECONDS] [--decision-delay SECONDS]\n"
    "      [--failures MTBF/REPAIR|HOST@SECOND+REPAIR,...] [--stragglers SHARE/TIMES]\n"
    "      [--start-spread SECONDS]\n"
    "      [--copies TIMES|none] [--foreign SHARE/PART[/up|/down]] [--framework MANNERS|none]\n"
    "      [--outside RATE|none] [--headers SHARE] [--mode-dwell SECONDS] [--parameter "
    "WORD=VALUE]\n"
    "      [--change SECOND:WORD=VALUE]";

static int set_policy(struct run_setup *s, const char *value, struct err *err)
{
    char names[512] = "";
    s->policy = preset_find(value);
    for (const struct preset *p = presets; p->name; p++)
        join_word(names, sizeof(names), ", ", p->name);
    return s->policy
               ? 0
               : err_set(err, EINVAL, "there is no policy '%s'; choose one of %s", value, names);
}

static int read_number(uint32_t *ret, const char *option, const char *value, uint32_t least,
                       uint32_t most, struct err *err)
{
    uint64_t number;
    if (number_read(value, least, most, &number) < 0)
        return err_set(err, EINVAL, "--%s takes a number from %u to %u, not '%s'", option, least,
                       most, value);
    *ret = (uint32_t)number;
    return 0;
}

static int read_real(double *ret, const char *option, const char *value, double least, double most,
                     struct err *err)
{
    if (number_read_real(value, least, most, ret) < 0)
        return err_set(err, EINVAL, "--%s takes a number from %g to %g, not '%s'", option, least,
                       most, value);
    return 0;
}

static int read_question(const char **ret, const char *question, const char *value, struct err *err)
{
    const char *name;
    char names[256] = "";
    for (unsigned i = 0; (name = engine_policy_name(question, i)); i++) {
        if (strcmp(name, value) == 0) {
            *ret = name;
            return 0;
        }
        join_word(names, sizeof(names), ", ", name);
    }
    return err_set(err, EINVAL, "--%s knows no '%s'; choose one of %s", question, value, names);
}

static int set_levels(struct run_setup *s, const char *value, struct err *err)
{
    int r = read_number(&s->levels, "levels", value, 0, ENGINE_LEVELS_MAX, err);
    if (!r && !s->levels)
        s->levels = PRESET_LEVELS_UNLIMITED;
    return r;
}

static int set_link(struct run_setup *s, const char *value, struct err *err)
{
    char rate[32];
    s->own_links = strchr(value, ',');
    if (!s->own_links)
        return units_parse_rate(value, &s->link_bytes_s, err);
    int length = (int)(s->own_links++ - value);
    if (snprintf(rate, sizeof(rate), "%.*s", length, value) >= (int)sizeof(rate))
        return err_set(err, EINVAL, "--link: '%.31s…' is too long for a rate", value);
    return units_parse_rate(rate, &s->link_bytes_s, err);
}

static int set_congested(struct run_setup *s, const char *value, struct err *err)
{
    unsigned congested, cleared, share = 0;
    int n = 0, end = 0, share_end = 0;
    n = sscanf(value, "%u/%u%n/%u%n", &congested, &cleared, &end, &share, &share_end);
    if (n < 2 || value[n == 3 ? share_end : end] || congested > 1000 || cleared > congested ||
        !cleared || share > 1000)
        return err_set(err, EINVAL,
                       "--congested takes per mille figures, the second not above the first "
                       "(900/800 or 900/800/500), not '%s'",
                       value);
    s->congested_permille = congested;
    s->cleared_permille = cleared;
    if (n == 3)
        s->congested_share_permille = share;
    return 0;
}

/* Is set in the engine after presets and other options. */
static int set_parameter(struct run_setup *s, const char *value, struct err *err)
{
    if (s->n_values == ENGINE_VALUES_MAX)
        return err_set(err, EINVAL, "--parameter is there more than %d times", ENGINE_VALUES_MAX);
    int r = policy_value_read("parameter", value, &s->values[s->n_values], err);
    s->n_values += r == 0;
    return r;
}

static int set_change(struct run_setup *s, const char *value, struct err *err)
{
    char text[32];
    double seconds;
    const char *colon = strchr(value, ':');
    int length = colon && colon - value < (int)sizeof(text) ? (int)(colon - value) : 0;
    snprintf(text, sizeof(text), "%.*s", length, value);
    if (number_read_real(text, 0, RUN_CHANGE_S_MAX, &seconds) < 0)
        return err_set(err, EINVAL,
                       "--change takes SECOND:WORD=VALUE, the second from 0 to %d, not '%s'",
                       RUN_CHANGE_S_MAX, value);
    if (s->n_changes == RUN_CHANGES_MAX)
        return err_set(err, EINVAL, "--change is there more than %d times", RUN_CHANGES_MAX);
    struct run_change *change = &s->changes[s->n_changes];
    change->at_ns = (int64_t)(seconds * 1e9);
    if (s->n_changes && change->at_ns < change[-1].at_ns)
        return err_set(err, EINVAL, "--change '%s' is before the one that was given before it",
                       value);
    int r = policy_value_read("change", colon + 1, &change->said, err);
    s->n_changes += r == 0;
    return r;
}

static int set_failures(struct run_setup *s, const char *value, struct err *err)
{
    return faults_read_failures(&s->faults, value, err);
}

static int set_stragglers(struct run_setup *s, const char *value, struct err *err)
{
    return faults_read_stragglers(&s->faults, value, err);
}

static int set_foreign(struct run_setup *s, const char *value, struct err *err)
{
    struct run_foreign f = {.up = true, .down = true};
    char where[8] = "";
    int n = 0;
    if (sscanf(value, "%lf/%lf%n/%4[a-z]%n", &f.share, &f.part, &n, where, &n) >= 2) {
        f.up = strcmp(where, "down") != 0;
        f.down = strcmp(where, "up") != 0;
    }
    if (!n || value[n] || !(f.share >= 0 && f.share <= .99) || !(f.part >= 0 && f.part <= 1) ||
        (*where && f.up && f.down))
        return err_set(err, EINVAL,
                       "--foreign takes the share of a link that others take (0 to 0.99), the part "
                       "of the hosts, and /up or /down for one direction (0.5/0.34/down), not '%s'",
                       value);
    s->foreign = f;
    return 0;
}

static int set_framework(struct run_setup *s, const char *value, struct err *err)
{
    char names[128] = "";
    s->framework = manners_find(value);
    if (s->framework || strcmp(value, "none") == 0)
        return 0;
    for (const struct manners *m = manners; m->name; m++)
        join_word(names, sizeof(names), ", ", m->name);
    return err_set(err, EINVAL, "--framework is one of %s, none, not '%s'", names, value);
}

/* How the text of an option is read: by `set`, or into the member at `at`. `word` sets it to
 * `of_word`; other texts are read by `as`, numbers from least to most. */
static const struct option {
    const char *name;
    enum {
        AS_SET,
        AS_TEXT,
        AS_NUMBER,
        AS_REAL,
        AS_DELAY,
        AS_RATE,
        AS_POLICY,
        AS_EITHER,
        AS_CONVERT
    } as;
    size_t at;
    double least, most;
    const char *word;
    int64_t of_word;
    const char *other; /* AS_EITHER: the only other word, for !of_word */
    int (*set)(struct run_setup *, const char *, struct err *);
} options[] = {
    {"trace", .as = AS_TEXT, .at = AT(path)},
    {"workload", .as = AS_TEXT, .at = AT(path)},
    {"cluster", .as = AS_TEXT, .at = AT(cluster)},
    {"policy", .set = set_policy},
    {"turn", .as = AS_POLICY, .at = AT(turn)},
    {"place", .as = AS_POLICY, .at = AT(place)},
    {"network", .as = AS_POLICY, .at = AT(network)},
    {"servers", .as = AS_NUMBER, .at = AT(servers), .least = 1, .most = WORKLOAD_HOSTS_MAX},
    {"slots", .as = AS_NUMBER, .at = AT(slots), .least = 1, .most = 1000000},
    {"racks", .as = AS_NUMBER, .at = AT(racks), .least = 1, .most = 100000},
    {"levels", .set = set_levels},
    {"link", .set = set_link},
    {"map-mb", .as = AS_CONVERT},
    {"gpu", .as = AS_CONVERT},
    {"gpu-speed", .as = AS_CONVERT},
    {"compute", .as = AS_CONVERT},
    {"load", .as = AS_REAL, .at = AT(load), .least = .001, .most = 1000},
    {"jobs", .as = AS_CONVERT},
    {"seed", .as = AS_CONVERT},
    {"local", .as = AS_EITHER, .at = AT(local_network), .word = "free", .other = "network"},
    {"hold-max", .as = AS_DELAY, .at = AT(hold_max_ns), .least = .001, .most = 1e9, .word = "none",
     .of_word = INT64_MAX},
    {"congested", .set = set_congested},
    {"maps", .as = AS_EITHER, .at = AT(even_maps), .word = "even", .of_word = 1,
     .other = "anywhere"},
    {"parameter", .set = set_parameter},
    {"change", .set = set_change},
    {"estimate-error", .as = AS_REAL, .at = AT(estimate_error), .least = 0, .most = 5},
    {"profile-error", .as = AS_REAL, .at = AT(profile_error), .least = 0, .most = 5},
    {"oversubscription", .as = AS_REAL, .at = AT(oversubscription), .least = 1, .most = 1000},
    {"spines", .as = AS_NUMBER, .at = AT(spines), .least = 1, .most = 1024, .word = "ideal"},
    {"report-delay", .as = AS_DELAY, .at = AT(report_delay_ns), .least = 0, .most = 3600},
    {"decision-delay", .as = AS_DELAY, .at = AT(decision_delay_ns), .least = 0, .most = 3600},
    {"failures", .set = set_failures},
    {"stragglers", .set = set_stragglers},
    {"start-spread", .as = AS_DELAY, .at = AT(faults.start_spread_ns), .least = 0, .most = 3600},
    {"copies", .as = AS_REAL, .at = AT(copy_after), .least = 1, .most = 1000, .word = "none"},
    {"foreign", .set = set_foreign},
    {"framework", .set = set_framework},
    {"outside", .as = AS_RATE, .at = AT(outside_bytes_s), .word = "none"},
    {"headers", .as = AS_REAL, .at = AT(headers), .least = 0, .most = .9},
    {"mode-dwell", .as = AS_DELAY, .at = AT(mode_dwell_ns), .least = 0, .most = 3600},
};

const char *run_setup_option(size_t i)
{
    return i < sizeof(options) / sizeof(*options) ? options[i].name : NULL;
}

static const struct option *option_find(const char *name)
{
    for (size_t i = 0; run_setup_option(i); i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

static int read_delay(int64_t *ret_ns, const struct option *o, const char *value, struct err *err)
{
    double seconds = 0;
    int r = read_real(&seconds, o->name, value, o->least, o->most, err);
    *ret_ns = (int64_t)(seconds * 1e9);
    return r;
}

/* What the option's own word stands for, in its kind. */
static void set_of_word(const struct option *o, void *at)
{
    if (o->as == AS_NUMBER)
        *(uint32_t *)at = (uint32_t)o->of_word;
    else if (o->as == AS_REAL || o->as == AS_RATE)
        *(double *)at = (double)o->of_word;
    else if (o->as == AS_DELAY)
        *(int64_t *)at = o->of_word;
    else
        *(int *)at = (int)o->of_word;
}

static int set_other(const struct option *o, const char *value, int *ret, struct err *err)
{
    *ret = !o->of_word;
    return strcmp(value, o->other) == 0 ? 0
                                        : err_set(err, EINVAL, "--%s takes '%s' or '%s', not '%s'",
                                                  o->name, o->word, o->other, value);
}

/* Its words have underlines. */
static int set_convert(struct run_setup *setup, const char *name, const char *value,
                       struct err *err)
{
    char word[32];
    snprintf(word, sizeof(word), "%s", name);
    for (char *at = word; *at; at++)
        *at = *at == '-' ? '_' : *at;
    return workload_convert_set(&setup->convert, word, value, err);
}

int run_setup_set(struct run_setup *setup, const char *name, const char *value, struct err *err)
{
    const struct option *o = option_find(name);
    if (!o)
        return err_set(err, EINVAL, "there is no option '--%s'; duopoly-sim --help lists them",
                       name);
    void *at = (char *)setup + o->at;
    if (o->word && strcmp(value, o->word) == 0) {
        set_of_word(o, at);
        return 0;
    }
    switch (o->as) {
    case AS_TEXT:
        *(const char **)at = value;
        return 0;
    case AS_NUMBER:
        return read_number(at, name, value, (uint32_t)o->least, (uint32_t)o->most, err);
    case AS_REAL:
        return read_real(at, name, value, o->least, o->most, err);
    case AS_DELAY:
        return read_delay(at, o, value, err);
    case AS_RATE:
        return units_parse_rate(value, at, err);
    case AS_EITHER:
        return set_other(o, value, at, err);
    case AS_POLICY:
        return read_question(at, name, value, err);
    case AS_CONVERT:
        return set_convert(setup, name, value, err);
    default:
        return o->set(setup, value, err);
    }
}

static int find_word(const char *const *words, const char *word)
{
    for (int i = 0; words && words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

int run_arguments_read(struct run_arguments *a, int argc, char **argv, struct err *err)
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0)
            return err_set(err, EINVAL, "'%s' is one argument too many", argv[i]);
        char word[32];
        const char *equals = strchr(argv[i], '=');
        snprintf(word, sizeof(word), "%.*s",
                 (int)(equals ? (size_t)(equals - argv[i]) : strlen(argv[i])) - 2, argv[i] + 2);
        int flag = find_word(a->flags, word), own = find_word(a->values, word);
        if (flag >= 0 && !equals) {
            a->set |= 1u << flag;
            continue;
        }
        if (own < 0 && !option_find(word))
            return err_set(err, EINVAL, "there is no option '%s'; duopoly-sim --help lists them",
                           argv[i]);
        if (!equals && i + 1 == argc)
            return err_set(err, EINVAL, "--%s needs a value", word);
        const char *value = equals ? equals + 1 : argv[++i];
        if (own >= 0)
            a->value[own] = value;
        int r = own >= 0 ? 0 : run_setup_set(a->setup, word, value, err);
        if (r)
            return r;
    }
    return 0;
}

void run_setup_init(struct run_setup *setup)
{
    *setup = (struct run_setup){.convert = workload_convert_defaults,
                                .policy = preset_find("joint"),
                                .even_maps = -1,
                                .oversubscription = 4,
                                .load = 1};
    setup->convert.jobs = 0;
    setup->convert.speed_milli = 1000;
    setup->convert.cap_bytes = 0;
    setup->convert.scale = 1;
    setup->convert.compute_bytes_s = 1000000000;
}

void run_inputs_done(struct run_inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        workload_job_done(&in->jobs[i]);
    free(in->jobs);
    cluster_file_done(&in->cluster);
    *in = (struct run_inputs){0};
}

/* What the job asks for that no host of the run can give. */
static int check_job(const struct run_setup *setup, const struct workload_input *input,
                     const struct run_inputs *in, struct err *err)
{
    const struct workload_job *job = &in->jobs[in->n];
    uint32_t slots = setup->slots ? setup->slots : in->header.slots ? in->header.slots : 4;
    bool several = false;
    for (uint32_t s = 0; s < job->n_stages; s++)
        several |= job->stages[s].n_variants;
    int r = several && setup->framework
                ? err_set(err, EINVAL, "job %llu has variants, and --framework knows of none",
                          (unsigned long long)job->id)
                : fitting_check(&in->cluster, slots, job, err);
    if (r < 0 && input->converted)
        err_prefix(err, "%s", setup->path);
    else if (r < 0)
        err_prefix(err, "%s:%llu", setup->path, (unsigned long long)input->reader.line);
    return r;
}

static int read_jobs(const struct run_setup *setup, struct workload_input *input,
                     struct run_inputs *in, struct err *err)
{
    int more;
    do {
        if (!array_grow(in->jobs, in->n, in->room, 256))
            return err_set(err, ENOMEM, "not enough memory for %zu jobs", in->n + 1);
        in->jobs[in->n] = (struct workload_job){0};
        more = workload_input_next(input, &in->jobs[in->n], err);
        int r = more > 0 ? check_job(setup, input, in, err) : 0;
        in->n += more > 0;
        more = r < 0 ? r : more;
    } while (more > 0);
    return more;
}

static void scale_work(uint64_t *compute_ns, uint32_t task, double load)
{
    if (compute_ns)
        compute_ns[task] = (uint64_t)((double)compute_ns[task] * load);
}

static void scale_bytes(uint64_t *bytes, double load)
{
    *bytes = (uint64_t)((double)*bytes * load);
}

/* Compute times follow the bytes: a job of twice the bytes computes twice as long. */
static void scale_job(struct workload_job *job, double load)
{
    for (uint32_t s = 0; s < job->n_stages; s++) {
        struct workload_stage *stage = &job->stages[s];
        for (uint32_t t = 0; t < stage->tasks; t++) {
            if (stage->input_bytes)
                scale_bytes(&stage->input_bytes[t], load);
            scale_work(stage->compute_ns, t, load);
            for (uint32_t v = 0; v < stage->n_variants; v++)
                scale_work(stage->variants[v].compute_ns, t, load);
        }
        scale_bytes(&stage->profile.read_bytes, load);
        for (uint32_t v = 0; v < stage->n_variants; v++)
            scale_bytes(&stage->variants[v].profile.read_bytes, load);
        for (uint32_t e = 0; e < stage->n_parents; e++) {
            const struct workload_edge *edge = &stage->parents[e];
            for (uint32_t t = 0; edge->sums && t < stage->tasks; t++)
                edge->sums[t] = (uint64_t)ceil((double)edge->sums[t] * load);
            size_t cells = (size_t)stage->tasks * job->stages[edge->parent].tasks;
            for (size_t c = 0; edge->matrix && c < cells; c++)
                edge->matrix[c] = (uint64_t)ceil((double)edge->matrix[c] * load);
        }
    }
}

static struct workload_convert convert_of(const struct run_setup *s)
{
    struct workload_convert convert = s->convert;
    convert.hosts = s->servers ? s->servers : 50;
    convert.slots = s->slots ? s->slots : 4;
    convert.link_bps = s->link_bytes_s > 0 ? (uint64_t)llround(s->link_bytes_s * 8) : 1000000000;
    return convert;
}

static int read_cluster(const struct run_setup *setup, struct run_inputs *in, struct err *err)
{
    if (!setup->cluster)
        return 0;
    return setup->servers || setup->racks
               ? err_set(err, EINVAL,
                         "--cluster says which hosts there are: leave out --servers and --racks")
               : cluster_file_read(setup->cluster, &in->cluster, err);
}

int run_setup_check(const struct run_setup *setup, struct err *err)
{
    struct run_inputs in = {0};
    int r = read_cluster(setup, &in, err);
    cluster_file_done(&in.cluster);
    return r;
}

int run_inputs_read(const struct run_setup *setup, struct run_inputs *in, struct err *err)
{
    struct workload_input input = {0};
    struct workload_convert convert = convert_of(setup);
    if (!setup->path)
        return err_set(err, EINVAL, "give --trace FILE or --workload FILE");
    int r = read_cluster(setup, in, err);
    convert.hosts = in->cluster.n_hosts ? in->cluster.n_hosts : convert.hosts;
    r = r ? r : workload_input_open(&input, setup->path, &convert, err);
    if (!r) {
        in->header = input.header;
        in->converted = input.converted;
        r = read_jobs(setup, &input, in, err);
    }
    workload_input_done(&input);
    for (size_t i = 0; !r && setup->load != 1 && i < in->n; i++)
        scale_job(&in->jobs[i], setup->load);
    if (!r && !in->n)
        r = err_set(err, EINVAL, "%s has no jobs", setup->path);
    return r;
}

struct range {
    uint64_t least, most;
};

static void widen(struct range *range, uint64_t bytes)
{
    if (bytes && (!range->most || bytes < range->least))
        range->least = bytes;
    if (bytes > range->most)
        range->most = bytes;
}

/* min·(max/min)^(i/levels) over the workload. The source gives no levels; these reproduce its
 * results. */
static void table_over(struct level_table *table, const struct range *range, uint32_t levels)
{
    *table = (struct level_table){.levels = levels};
    double ratio = range->least ? (double)range->most / (double)range->least : 1;
    for (uint32_t i = 0; i + 1 < levels; i++) {
        uint64_t bytes = (uint64_t)ceil((double)range->least * pow(ratio, (i + 1.) / levels));
        uint64_t after = i ? table->threshold_bytes[i - 1] + 1 : 1;
        table->threshold_bytes[i] = bytes > after ? bytes : after;
    }
}

static void tables_over(struct engine_config *engine, const struct run_inputs *in, uint32_t levels)
{
    struct range coflows = {0}, macroflows = {0};
    for (size_t i = 0; i < in->n; i++)
        for (uint32_t s = 0; s < in->jobs[i].n_stages; s++) {
            uint64_t coflow = 0;
            for (uint32_t t = 0; t < in->jobs[i].stages[s].tasks; t++) {
                uint64_t bytes = workload_task_shuffle_bytes(&in->jobs[i], s, t);
                widen(&macroflows, bytes);
                coflow += bytes;
            }
            widen(&coflows, coflow);
        }
    table_over(&engine->coflow, &coflows, levels);
    table_over(&engine->macroflow, &macroflows, levels);
}

/* A trace gets the source's levels; a workload file those of the daemon. */
static void choose_levels(struct engine_config *engine, const struct run_setup *a,
                          const struct run_inputs *in)
{
    uint32_t said = a->levels ? a->levels : 8;
    uint32_t levels = a->policy->levels ? a->policy->levels : said;
    uint64_t scale = in->header.scale ? in->header.scale : 1;
    uint64_t first_coflow = 10000000 / scale, first_macroflow = 1000000 / scale;
    if (levels == PRESET_LEVELS_UNLIMITED) {
        engine->coflow = engine->macroflow = (struct level_table){.levels = 0};
    } else if (in->converted) {
        tables_over(engine, in, levels);
    } else {
        level_table_exponential(&engine->coflow, first_coflow ? first_coflow : 1, 8, levels);
        level_table_exponential(&engine->macroflow, first_macroflow ? first_macroflow : 1, 4,
                                levels);
    }
    uint64_t first_dclas = (in->converted ? 10 << 20 : 10000000) / scale;
    level_table_exponential(&engine->dclas, first_dclas ? first_dclas : 1, 10, 14);
}

static uint64_t cells_of(const struct workload_job *job)
{
    uint64_t cells = 0;
    for (uint32_t s = 0; s < job->n_stages; s++)
        for (uint32_t e = 0; e < job->stages[s].n_parents; e++) {
            const struct workload_edge *edge = &job->stages[s].parents[e];
            cells += (uint64_t)job->stages[s].tasks *
                     (edge->matrix ? job->stages[edge->parent].tasks : 1);
        }
    return cells;
}

/* Bounds of the engine's tables: what this cluster and these jobs need. */
static void choose_bounds(struct engine_config *engine, const struct run_inputs *in, uint32_t hosts)
{
    uint64_t tasks = 0, cells = 0;
    uint32_t stages = 0;
    for (size_t i = 0; i < in->n; i++) {
        const struct workload_job *job = &in->jobs[i];
        for (uint32_t s = 0; s < job->n_stages; s++)
            tasks += job->stages[s].tasks;
        stages = job->n_stages > stages ? job->n_stages : stages;
        cells = cells_of(job) > cells ? cells_of(job) : cells;
    }
    engine->hosts_max = hosts;
    engine->jobs_max = (uint32_t)in->n + 1;
    engine->tasks_max = tasks + 1;
    engine->stages_per_job_max = stages + 1;
    engine->cells_per_job_max = cells + 1;
}

static void name(char *to, size_t size, const char *from)
{
    if (from)
        snprintf(to, size, "%s", from);
}

static bool is_delayed(const char *place)
{
    return strncmp(place, "neat", 4) == 0 || strcmp(place, "delay") == 0;
}

/* The daemon's values unless options set others. Maps of a baseline that can only wait wait for
 * less time. */
static void choose_holds(const struct run_setup *s, struct engine_config *engine)
{
    /* WHY not INT64_MAX: instants are now + this value. A century and a half is long enough. */
    const int64_t never_ns = INT64_MAX / 2;
    bool seconds = s->hold_max_ns && s->hold_max_ns < never_ns;
    if (s->hold_max_ns)
        engine->hold_max_ns = seconds ? s->hold_max_ns : never_ns;
    if (!seconds && is_delayed(engine->place))
        engine_config_say(engine, "start_wait", MAP_DELAY_NS, NULL);
}

static void choose_policy(const struct run_setup *s, const struct run_inputs *in,
                          struct engine_config *engine)
{
    preset_apply(s->policy, engine);
    name(engine->turn, sizeof(engine->turn), s->turn);
    name(engine->place, sizeof(engine->place), s->place);
    name(engine->network, sizeof(engine->network), s->network);
    if (s->even_maps >= 0)
        engine_config_say(engine, "even_wait", s->even_maps ? PRESET_EVEN_WAIT_NS : 0, NULL);
    engine->congested_share_permille = s->congested_share_permille;
    if (in->converted)
        engine->cleared_permille = engine->congested_permille;
    if (s->congested_permille) {
        engine->congested_permille = s->congested_permille;
        engine->cleared_permille = s->cleared_permille;
    }
    choose_holds(s, engine);
    for (uint32_t i = 0; i < s->n_values; i++)
        engine_config_say(engine, s->values[i].word, s->values[i].value, NULL);
}

void run_setup_configure(const struct run_setup *s, const struct run_inputs *in,
                         struct run_config *ret_config)
{
    const struct workload_header *h = &in->header;
    struct workload_convert convert = convert_of(s);
    struct run_config config = {0};
    struct engine_config *engine = &config.engine;
    engine_config_default(engine);
    engine->losses_max = 0; /* WHY: hosts crash by the scenario, not by a task */
    choose_policy(s, in, engine);
    config.cluster = in->cluster.n_hosts ? &in->cluster : NULL;
    config.hosts = config.cluster ? in->cluster.n_hosts : s->servers ? s->servers : h->hosts;
    config.slots = s->slots ? s->slots : h->slots ? h->slots : 4;
    config.link_bps = s->link_bytes_s > 0 ? convert.link_bps
                      : h->link_bps       ? h->link_bps
                                          : 1000000000;
    if (config.cluster && cluster_every_link_bps(config.cluster))
        config.link_bps = cluster_every_link_bps(config.cluster);
    config.own_links = s->own_links;
    config.local_free = !s->local_network;
    config.racks = s->racks;
    config.spines = s->spines;
    config.oversubscription = s->oversubscription;
    config.report_delay_ns = s->report_delay_ns;
    config.decision_delay_ns = s->decision_delay_ns;
    config.faults = s->faults;
    config.faults.seed = convert.seed;
    config.copy_after = s->copy_after;
    config.profile_error = s->profile_error;
    config.headers = s->headers;
    config.foreign = s->foreign;
    config.outside_bps = (uint64_t)llround(s->outside_bytes_s * 8);
    config.framework = s->framework;
    config.changes = s->changes;
    config.n_changes = s->n_changes;
    engine->framework_jobs_max = s->framework ? engine->jobs_max : 0;
    engine->seed = convert.seed;
    engine->epoch = 1;
    engine->mode_dwell_ns = s->mode_dwell_ns;
    choose_bounds(engine, in, config.hosts);
    choose_levels(engine, s, in);
    *ret_config = config;
}

static bool is_bounded(const struct workload_at_most *at_most)
{
    return at_most->host || at_most->rack;
}

static int check_bounds(const char *place, const struct workload_job *job, struct err *err)
{
    int r = is_bounded(&job->at_most) ? engine_place_keeps(place, ENGINE_NONE, err) : 0;
    for (uint32_t s = 0; r == 0 && s < job->n_stages; s++)
        r = is_bounded(&job->stages[s].at_most) ? engine_place_keeps(place, s, err) : 0;
    return r;
}

int run_inputs_check(const struct run_setup *setup, const struct run_inputs *in, struct err *err)
{
    const char *place = setup->place ? setup->place : setup->policy->place;
    for (size_t i = 0; i < in->n; i++)
        if (check_bounds(place, &in->jobs[i], err) < 0)
            return err_prefix(err, "%s, job %llu", setup->path, (unsigned long long)in->jobs[i].id);
    return 0;
}

/* The scheduler gets the true sizes × e^(σ·N(0,1)), one factor a job. */
static void misestimate(const struct run_setup *s, const struct run_inputs *in, double *ret_told)
{
    for (size_t i = 0; i < in->n; i++) {
        uint64_t state = s->convert.seed ^ (in->jobs[i].id * 0x9e3779b97f4a7c15u);
        ret_told[i] = submission_error(s->estimate_error, &state);
    }
}

int run_setup_simulate(const struct run_setup *setup, const struct run_inputs *in,
                       const struct run_listeners *listeners, struct run_result *result,
                       struct err *err)
{
    struct run_config config;
    run_setup_configure(setup, in, &config);
    config.recording = listeners->recording;
    config.progress = listeners->progress;
    config.user = listeners->user;
    config.watch = listeners->watch;
    config.watcher = listeners->watcher;
    config.links = listeners->links;
    config.links_listener = listeners->links_listener;
    double *told = setup->estimate_error > 0 ? calloc(in->n, sizeof(*told)) : NULL;
    if (setup->estimate_error > 0 && !told)
        return err_set(err, ENOMEM, "not enough memory for %zu jobs", in->n);
    if (told)
        misestimate(setup, in, told);
    config.told = told;
    int r = run_simulate(&config, in->jobs, in->n, result, err);
    free(told);
    return r;
}
