"""The mixes of make bench-hdas with shuffles: affinity by the disk alone, by disk and downlink, and
the placements that look at the network alone.

The source's applications shuffle something that it does not print. Here each has a second stage,
which reads over links of 10⁹ bit/s what the first one made, in slots alone. How much that is, by
how many tasks, and how fast these compute is drawn for each kept set by a stream of its own, so
that the sets stay what they are without it."""
import json
import random
import statistics

import hdas_bars
import hdas_sets
from hdas_sets import Range

SETS = 10  # of the kept ones, the first
# WHY these: an aggregation leaves a tenth of what it reads, a sort all of it; from one reduce task
# a host to one a core; and from a slow sort to a sum.
DRAWN = {
    "part": Range(.1, 1, True, "", "bytes shuffled ÷ bytes read"),
    "reduces": Range(hdas_sets.HOSTS, hdas_sets.HOSTS * hdas_sets.CORES, True, "",
                     "tasks that read them"),
    "rate": Range(50, 500, True, "MB/s", "rate at which these compute what they have received"),
}
# By network: its options, and the placement that goes with it.
NETWORKS = {"cans": ((("turn", "sjf"), ("network", "cans")), "nats", "duopoly"),
            "rank": ((("turn", "srpt"), ("network", "rank")), "joint", "joint")}
READINGS = ("added", "behind")
LESS = 5  # per cent
# A hundred times as fast: whoever looks at links gains no more than by free ones.
FREE = ("link", "100Gbps")
FAST_MB_S = 100 * hdas_sets.DISK_MB_S


def draw(seed, place):
    """What each application shuffles in the kept set of that place."""
    stream = random.Random("hdas shuffles %d %d" % (seed, place))
    return {name: {what: known.least * (known.most / known.least) ** stream.random()
                   for what, known in DRAWN.items()} for name in hdas_sets.NAMES}


def job(values, name, shuffles):
    """The line of an application's job."""
    one, of = hdas_sets.application(values, name), shuffles[name]
    line = json.loads(hdas_sets.job(values, name))
    n = round(of["reduces"])
    each = max(1, round(of["part"] * one.split_bytes * one.tasks / n))
    line["stages"].append({
        "tasks": n, "demand": {"slots": 1}, "profile": {},
        "compute_ms": max(1, round(each / (of["rate"] * hdas_sets.MB) * 1000)),
        "parents": [{"stage": 0, "edge": "barrier", "sums": [each] * n}]})
    return json.dumps(line) + "\n"


def runs_of(network):
    """By name, policy and options."""
    options, other, preset = NETWORKS[network]
    runs = {"disk": ("affinity", options), other: (preset, ())}
    for reading in READINGS:
        runs[reading] = "affinity", (*options, ("parameter", "downlink=" + reading))
    return runs


def mean_jct_s(trial, policy, options):
    """Over all jobs of all mixes; the gate is none."""
    return statistics.mean(jct_s for mix in hdas_sets.MIXES
                           for jct_s in trial.run(mix, policy, options)["jct_s"][1:])


def by_rank(trial):
    """With the hosts' own links, and with free ones."""
    runs = runs_of("rank")
    policy, options = runs["disk"]
    return {"disk": mean_jct_s(trial, policy, options),
            "behind": mean_jct_s(trial, *runs["behind"]),
            "free": mean_jct_s(trial, policy, (*options, FREE))}


def of_set(make_trial, values, shuffles):
    """By network, by run, the mean JCT; without shuffles; and by_rank with the source's disks and
    with fast ones."""
    def shuffled(of, name, _):
        return job(of, name, shuffles)

    trial, bare = make_trial(values, shuffled), make_trial(values, hdas_sets.job)
    fast = make_trial({**values, hdas_sets.DISK: FAST_MB_S}, shuffled)
    try:
        found = {network: {name: mean_jct_s(trial, *run) for name, run in runs_of(network).items()}
                 for network in NETWORKS}
        found["without"] = mean_jct_s(bare, *runs_of("rank")["disk"])
        found["own"], found["fast"] = by_rank(trial), by_rank(fast)
        return found
    finally:
        for one in (trial, bare, fast):
            one.close()


def rows(found):
    """found: of each set."""
    def less(network, name, other):
        return hdas_bars.band([100 * (1 - one[network][name] / one[network][other])
                               for one in found])

    def row(what, of, bar="", met=None):
        return hdas_bars.Row(what, "", hdas_bars.words(of, "%.1f"), bar, met)

    made = [row("rank: mean JCT of affinity by the disk alone against that without shuffles, "
                "% more", hdas_bars.band([100 * (one["rank"]["disk"] / one["without"] - 1)
                                          for one in found]))]
    fast = ", disks 100 times as fast"
    for disks, name in (("own", ""), ("fast", fast)):
        made.append(row("rank: mean JCT of affinity by the disk alone with links 100 times as "
                        "fast%s, %% less" % name, less(disks, "free", "disk")))
    made.append(row("rank: mean JCT of affinity by disk and downlink (behind) against the disk "
                    "alone%s, %% less" % fast, less("fast", "behind", "disk")))
    for network, (_, other, _) in NETWORKS.items():
        made.append(row("%s: mean JCT of affinity by the disk alone against %s, %% less"
                        % (network, other), less(network, "disk", other)))
        for reading in READINGS:
            for against, least in (("disk", LESS), (other, 0)):
                of = less(network, reading, against)
                made.append(row(
                    "%s: mean JCT of affinity by disk and downlink (%s) against %s, %% less" % (
                        network, reading,
                        "the disk alone" if against == "disk" else against), of,
                    "median ≥ %d" % least if least else "median > 0",
                    of.mid >= least if least else of.mid > 0))
    return made
