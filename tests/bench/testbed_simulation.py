"""How far replays in virtual time, whose links are exact, are from the simulator's of the same
input and policy, and where.

A run is one of many that the same rules allow: which of two jobs goes first may hang on a
microsecond, and all after it differs. How much the simulator's own answer moves when its links are
up to SHAKE faster or slower stands below each deviation, and, for hosts on one switch, what the
run's transfers would have taken on exact links under its own decisions: how far the network alone
is."""
import os
import statistics

import testbed_replays
from testbed.demo import decided, gap, ports
from testbed.net import network as networks

NETWORKS = (os.environ.get("NETWORKS") or "virtual-star virtual-leafspine").split()
SEEDS = int(os.environ.get("SEEDS") or 1)
BARS = (("mean", 0.0425), ("p95", 0.0658))  # Tian et al.: how far their simulator was from their testbed of 10 servers
SHAKE, SHAKEN = 0.001, 10


def settings():
    """The source's: 1 Gb/s, and its policies beside ours."""
    return {"LINK": os.environ.get("LINK") or "1G",
            "POLICIES": os.environ.get("POLICIES") or "fair aalo duopoly-paper duopoly joint"}


def shaken(network, words, runs):
    """[(figures of a policy, the simulator's when it is shaken)]"""
    link_bps = testbed_replays.prepare(network, words).link_bps
    changes = [{"link": round(link_bps * (1 + SHAKE * place / SHAKEN))} for place in range(-SHAKEN, SHAKEN + 1)]
    return [(run, [testbed_replays.simulated(network, words, run["label"], changed) for changed in changes]) for run in runs]


def same_decisions(run, net):
    """[(live, on exact links) seconds of each stage's transfers]"""
    if net.simulated:  # hosts are not on one switch
        return {}
    names = {net.addresses[host]: host for host in net.hosts}
    return {"decided": decided.compare(run["logs"], ports.read(run["ports"]), names, 1 - networks.HEADERS)}


def show(table, network, seeds):
    table.head("%s beside duopoly-sim: %d seeds" % (network, len(seeds)))
    for of_policy in zip(*seeds):
        show_policy(table, *zip(*of_policy))


def show_policy(table, runs, shaken_runs):
    for key, bar in BARS:
        here, there = (statistics.mean(side) for side in zip(*((run[key], run["simulated"][key]) for run in runs)))
        apart = here / there - 1
        table.row("%s: %s JCT, simulated, apart" % (runs[0]["label"], key), "%.3f s, %.3f s, %+.1f %%" % (here, there, 100 * apart),
                  "within %.2f %%" % (100 * bar), abs(apart) <= bar)
        means = [statistics.mean(one[key] for one in same) for same in zip(*shaken_runs)]
        table.row("  simulated with links up to %.1f %% faster or slower" % (100 * SHAKE), "%.3f to %.3f s" % (min(means), max(means)))
    decisions = [pair for run in runs for pair in run.get("decided", ())]
    if decisions:
        here, there = (statistics.mean(side) for side in zip(*decisions))
        table.row("  a stage's transfers, on exact links under the same decisions", "%.3f s, %.3f s, %+.1f %%" % (
            here, there, 100 * (here / there - 1)))
    for part in gap.PARTS:
        here, there = (statistics.mean(side) for side in zip(*(run["parts"][part] for run in runs)))
        table.row("  of the mean: %s" % gap.WORDS[part], "%.3f s, %.3f s, %+.1f ms" % (here, there, 1000 * (here - there)))
    table.row("  mode switches", "%.0f, %.0f" % tuple(statistics.mean(side) for side in zip(*(
        (run["mode_switches"], run["simulated"]["mode_switches"]) for run in runs))))


def measure(table):
    for network in NETWORKS:
        testbed_replays.prepare(network, settings())
    for network in NETWORKS:
        of_words = [{**settings(), "SEED": str(seed)} for seed in range(1, SEEDS + 1)]
        runs = testbed_replays.replays(network, of_words, same_decisions)
        show(table, network, [shaken(network, words, of_seed) for words, of_seed in zip(of_words, runs)])
