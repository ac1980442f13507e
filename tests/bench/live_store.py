"""What the store adds to slot and mode latencies: the same replay under the controller and under
one whose store is a disk that takes no time (tests/stand_ins/no_store.c), by turns on one network,
so that what else the machine does meanwhile falls on both."""

import os
import shutil

from testbed.demo import demo, inputs, latency, report
from testbed.net import cluster, instance
from live_cluster import force_switches, replaying

PAIRS = int(os.environ.get("PAIRS") or 3)  # of replays, half a minute each
SWITCHES = 36  # in each, at SWITCH_SECONDS
MORE = 1.05
ENOUGH = 300  # samples for a p99


def install(running, program):
    path = running.program("duopolyd")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        os.unlink(path)
    shutil.copy2(program, path)


def run(net, asked, path, program, logs):
    """(slot latencies, of each mode switch the last host's), in ns."""
    running = cluster.Cluster(net, asked.build, "duopoly", asked.slots, inputs.scale_of(path), asked.seed, logs)
    try:
        install(running, program)
        running.up()
        with replaying(running, path, asked, 0, logs) as driver:
            force_switches(running, driver, SWITCHES)
        measured, refills, modes = latency.read(running.measurement_files(), running.log_files())
    finally:
        running.down()
    _, last = latency.mode_latencies(measured, modes, latency.suspended_ns())
    return [took for took, _ in latency.slot_latencies(measured, refills)], last


def percentile(values, percent):
    if not values:
        return float("nan")
    return report.median(values) if percent == 50 else report.percentile(sorted(values), percent)


def compare(table, what, with_it, without):
    """Lists of each run's values, pair by pair."""
    all_with, all_without = sum(with_it, []), sum(without, [])
    table.row("%s: samples with, without" % what, "%d, %d" % (len(all_with), len(all_without)))
    pairs = sorted(percentile(a, 50) / percentile(b, 50) for a, b in zip(with_it, without))
    enough = min(len(all_with), len(all_without)) >= ENOUGH
    for percent, name in ((50, "median"), (99, "p99")):
        decides = percent == 50 or enough
        a, b = percentile(all_with, percent), percentile(all_without, percent)
        table.row("  %s with the store, without" % name, "%.3f, %.3f ms" % (a / 1e6, b / 1e6))
        spread = " (pairs: %+.1f to %+.1f)" % (100 * pairs[0] - 100, 100 * pairs[-1] - 100) if percent == 50 else ""
        table.row("  more with it, %s" % name, "%+.1f %%%s" % (100 * a / b - 100, spread),
                  "<= 5 %" if decides else "<= 5 % (does not decide)", a <= MORE * b if decides else None)


def measure_store(table):
    table.head("slot and mode latencies with the store and without, %d pairs of replays" % PAIRS)
    asked = demo.prepare({})
    folder = os.path.join(asked.build, "bench-live", "store")
    os.makedirs(folder, exist_ok=True)
    path = asked.workload(folder)
    programs = {True: os.path.join(asked.build, "duopolyd"), False: os.path.join(asked.build, "bench-no-store/duopolyd")}
    instance.end_abandoned()
    own = instance.create(demo.TREE)
    slots, modes = {True: [], False: []}, {True: [], False: []}
    idle = latency.CpuIdle()
    try:
        net = asked.network(own)
        net.up()
        for i in range(2 * PAIRS):
            kept = i % 4 in (0, 3)  # each goes first in turn
            found = run(net, asked, path, programs[kept], os.path.join(folder, "logs-%d" % i))
            slots[kept].append(found[0])
            modes[kept].append(found[1])
    finally:
        own.down()
    table.row("CPU idle", "%.0f %%" % idle.percent())
    compare(table, "an attempt's end to the next one's clone3", slots[True], slots[False])
    compare(table, "a mode switch to the last host's map write", modes[True], modes[False])
