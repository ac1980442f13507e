"""What policies gain on each network: JCTs of replays beside those of the first policy on the same
input."""
import math
import os
import statistics
import sys

import testbed_replays
from testbed.demo import places, report, spoilt
from testbed.net import instance

NETWORKS = (os.environ.get("NETWORKS") or "netns-star netns-leafspine mininet-star guest-star virtual-star").split()
SEEDS = int(os.environ.get("SEEDS") or 5)
SCALE = os.environ.get("SCALE") or "40"  # bytes of the source ÷ so many: what five seeds on all networks take an evening for otherwise
FIRST = "joint"
AGREE = 0.03  # of the ratios, live and simulated, where nothing disturbs
T_95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)  # Student's, two-sided, from one degree of freedom on; then 2
PLANNED_S = 30  # a replay of 40 jobs at that scale, its start and its end


def interval(values):
    """Half of the 95 % confidence interval of the mean; None of one value."""
    if len(values) < 2:
        return None
    t = T_95[len(values) - 2] if len(values) - 2 < len(T_95) else 2.0
    return t * statistics.stdev(values) / math.sqrt(len(values))


def words(values, form):
    half = interval(values)
    return form % statistics.mean(values) + (" ± " + (form % half).strip() if half is not None else "")


def show(table, network, seeds):
    table.head("%s: %d seeds, 95 %% confidence of the mean" % (network, len(seeds)))
    means = {}
    for place, run in enumerate(seeds[0]):
        of_policy = [runs[place] for runs in seeds]
        ratios = [figures["mean"] / runs[0]["mean"] for figures, runs in zip(of_policy, seeds)]
        means[run["label"]] = statistics.mean(figures["mean"] for figures in of_policy)
        table.row("%s: mean JCT" % run["label"], words([f["mean"] for f in of_policy], "%.2f") + " s")
        table.row("  p95", words([f["p95"] for f in of_policy], "%.2f") + " s")
        simulated = [figures["simulated"]["mean"] / runs[0]["simulated"]["mean"] for figures, runs in zip(of_policy, seeds)]
        table.row("  mean, of %s's" % seeds[0][0]["label"], words(ratios, "%.2f"))
        apart = statistics.mean(simulated) - statistics.mean(ratios)
        table.row("  mean, of %s's, simulated" % seeds[0][0]["label"], words(simulated, "%.2f"), *(
            ("within %.0f points" % (100 * AGREE), abs(apart) <= AGREE) if network.startswith("virtual-") else ()))
        table.row("  each job's, of its own there", words([report.mean_ratio(f, runs[0]) for f, runs in zip(of_policy, seeds)], "%.2f"))
        if run["crossed"] is not None:
            table.row("  of what the shuffle moved between hosts, between racks; simulated", "%s; %s %%" % (
                words([100 * f["crossed"] for f in of_policy], "%.0f"), words([100 * f["simulated"]["crossed"] for f in of_policy], "%.0f")))
        table.row("  CPU idle, least", "%.0f %%" % min(f["cpu_idle"] for f in of_policy))
        for seed, figures in enumerate(of_policy, 1):
            if spoilt.reasons(figures):
                table.row("  seed %d does not count" % seed, "; ".join(spoilt.reasons(figures)))
        table.row("  unfinished jobs", "%d" % sum(f["unfinished"] for f in of_policy), "0", not any(f["unfinished"] for f in of_policy))
    if FIRST in means and len(means) > 1:
        best = min((name for name in means if name != FIRST), key=means.get)
        table.row("%s's mean beside the best other's, %s" % (FIRST, best), "%+.0f %%" % (100 * (means[FIRST] / means[best] - 1)), "the least",
                  means[FIRST] < means[best])


def settings(network, seed):
    """The same replay on each; in virtual time on links of 1 Gb/s, which it alone carries."""
    return {"SEED": str(seed), "SCALE": SCALE, **({"LINK": os.environ.get("LINK") or "1G"} if network.startswith("virtual-") else {})}


def measure(table):
    instance.end_abandoned()
    asked = {network: testbed_replays.prepare(network, settings(network, 1)) for network in NETWORKS}
    here = [a for network, a in asked.items() if network.partition("-")[0] not in places.PLACES]
    print("about %d minutes for %d networks and %d seeds; guests say their own" % (
        sum(len(a.policies) for a in here) * SEEDS * PLANNED_S / 60, len(here), SEEDS), file=sys.stderr)
    for network in NETWORKS:
        show(table, network, testbed_replays.replays(network, [settings(network, seed) for seed in range(1, SEEDS + 1)]))
