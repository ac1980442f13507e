/* The text of `duopoly-sim run --help`: every option with its default, and the policies. */
#include "testbed/sim/run_setup.h"

const struct run_setup_meaning run_setup_meanings[] = {
    {"trace", "FILE: a trace of the Facebook Coflow benchmark"},
    {"workload", "FILE: a workload (schemas/workload.md); both read either"},
    {"policy", "NAME: one of those below (joint)"},
    {"turn", "NAME: whose job is next, instead of the policy's: fifo, sjf, fair, srpt, drf, "
             "by-priority"},
    {"place", "NAME: where tasks go, idem: nats, greedy, delay, neat, neat-fair, gather, "
              "random, joint, flow, filter-spread, filter-score"},
    {"network", "NAME: how urgent transfers are, idem: cans, cans-coflow, cans-macroflow, dclas, "
                "scf, rank, none"},
    {"servers", "N: hosts (50 for a trace, else the workload's)"},
    {"cluster",
     "FILE: hosts that differ (schemas/cluster.md); --slots and --link are those of hosts "
     "that say none"},
    {"slots", "N: of each host (4 or the workload's)"},
    {"link", "RATE[,NAME=RATE...]: of each up- and downlink, and of those that differ: h3 (host 3, "
             "both directions), h3.up, r0.s1.down (1Gbps or the workload's)"},
    {"racks", "N: a leaf-spine network of so many racks (one big switch)"},
    {"oversubscription", "N: hosts' rate of a rack / rate of its links to the spines (4)"},
    {"spines", "ideal|N: spread over all spines, or ECMP by flow hash over N (ideal)"},
    {"local", "free|network: bytes on the task's own host cost nothing, or use its links (free)"},
    {"levels", "N: of priority on the wire (8)"},
    {"map-mb", "N: most MB (2^20) that a map of a trace reads (1000)"},
    {"gpu", "SHARE: of so many of a trace's jobs maps can run on a GPU as well, 0 to 1 (0)"},
    {"gpu-speed", "TIMES: as fast as in a slot (4)"},
    {"compute", "BYTES_S: computed per slot of a trace (1G)"},
    {"load", "FACTOR: on all bytes and the computing that follows them (1)"},
    {"jobs", "N: the first N jobs of a trace only (all)"},
    {"seed", "N: of replicas, ties, errors and faults (1)"},
    {"hold-max", "SECONDS|none: a hold ends after it (the daemon's 30; figures: none)"},
    {"congested",
     "ON/OFF[/SHARE]: per mille of an uplink (900/900 for a trace, 900/800), and how many "
     "per mille of them must be exceeded (0: one)"},
    {"maps", "even|anywhere: a job's maps, even over the hosts of their blocks or where slots are "
             "free (the policy's)"},
    {"parameter",
     "WORD=VALUE: of a policy, again for each: even_wait, start_wait, pack, lies_there, "
     "ignore_held (the policy's)"},
    {"change",
     "SECOND:WORD=VALUE: such a parameter gets another value then, again for each, in order of "
     "time (none)"},
    {"estimate-error", "SIGMA: of the log-normal error of the sizes that are told (0)"},
    {"profile-error", "SIGMA: the same of what stages' profiles say (0)"},
    {"report-delay", "SECONDS: facts reach the engine so much later (0)"},
    {"decision-delay", "SECONDS: decisions reach the hosts so much later (0)"},
    {"failures", "MTBF/REPAIR: seconds, means of exponential times of each host; or a list of "
                 "HOST@SECOND[+REPAIR] (none)"},
    {"stragglers", "SHARE/TIMES: share of the attempts that compute TIMES as long (none)"},
    {"start-spread", "SECONDS: each attempt takes by chance up to so much longer, so that no two "
                     "end at one instant (0)"},
    {"copies", "TIMES|none: a second attempt when one has computed TIMES as long as it should, in "
               "a slot that was left free (none)"},
    {"foreign", "SHARE/PART[/up|/down]: others take SHARE of the rate of the links of PART of the "
                "hosts, before ours, in one direction or both (none)"},
    {"outside",
     "RATE|none: blocks that lie on no host are read from outside, over one link of that rate "
     "(none: they cost nothing)"},
    {"headers", "SHARE: of every link's rate that packets' headers take (0)"},
    {"mode-dwell", "SECONDS: the mode stays as it is for so long at least (0)"},
    {"framework",
     "MANNERS|none: the jobs are those of a framework that starts its tasks by itself, "
     "well or badly, as listed below (none)"},
    {0},
};

void run_setup_print_holds(const struct engine_config *config, FILE *out)
{
    int64_t start_wait_ns = engine_config_value(config, "start_wait");
    if (config->hold_max_ns > INT64_MAX / 4)
        fprintf(out, "a hold has no end of its own (hold_max: none)");
    else
        fprintf(out, "a hold ends after %.3g s (hold_max)", (double)config->hold_max_ns * 1e-9);
    if (start_wait_ns)
        fprintf(out, ", and %.3g s after the last start of its stage (start_wait)",
                (double)start_wait_ns * 1e-9);
}

void run_setup_print_help(FILE *out)
{
    for (const struct run_setup_meaning *m = run_setup_meanings; m->option; m++)
        fprintf(out, "  --%-16s %s\n", m->option, m->meaning);
    fprintf(out, "policies\n");
    for (const struct preset *p = presets; p->name; p++)
        fprintf(out, "  %-18s %s\n", p->name, p->what);
    fprintf(out, "manners of a framework\n");
    for (const struct manners *m = manners; m->name; m++)
        fprintf(out, "  %-18s %s\n", m->name, m->what);
}
