"""What the plug-in and the agents cost whole jobs, and how soon what is allowed starts: runs of the
demo of a real Spark (testbed/spark), each on a network of its own, by turns, since the machine's
own changes are larger than what is looked for."""

import collections
import os
import re
import statistics
import time

from testbed.demo import demo as demos
from testbed.demo import report
from testbed.net import instance, system
from testbed.spark import cluster, demo, events

PAIRS = int(os.environ.get("PAIRS") or 5)


def asked():
    return demo.Asked({"JOBS": "12", **{name: os.environ[name] for name in ("JOBS", "SEED", "SPREAD") if name in os.environ}})


def by_turns(kinds):
    """{name: [mean seconds of its jobs]} over PAIRS runs of each."""
    means, wanted = {name: [] for name in kinds}, asked()
    with demos.own_folder(wanted.build, "bench-spark") as folder:
        workloads = cluster.compile_workloads(folder)
        instance.end_abandoned()
        for turn in range(PAIRS):
            for name, kind in list(kinds.items())[::1 if turn % 2 == 0 else -1]:
                run = demo.run_row(wanted, name, os.path.join(folder, name.replace(" ", "-")), workloads, kind)
                means[name].append(demo.mean(run))
                print("  %s: %.2f s, processors idle %.0f %%" % (name, means[name][-1], run["cpu_idle"]), flush=True)
    return means


def compare(table, what, first, second, bar):
    means = by_turns({"without": first, what: second})
    ratios = [100 * (b / a - 1) for a, b in zip(means["without"], means[what])]
    for name, values in means.items():
        table.row("mean of the jobs' times, %s: least, mean, most" % name, "%.2f, %.2f, %.2f s" % (min(values), statistics.mean(values), max(values)))
    more = 100 * (statistics.mean(means[what]) / statistics.mean(means["without"]) - 1)
    table.row("more %s, of all; the %d pairs %s %%" % (what, len(ratios), ", ".join("%+.1f" % ratio for ratio in ratios)), "%+.1f %%" % more,
              "<= %d %%" % bar, more <= bar)


def measure_jobs(table):
    table.head("jobs of a Spark without duopoly, and with the plug-in where everything is allowed at once and nothing else is touched")
    compare(table, "with the jar", demo.STOCK_ROWS["fifo-ours"], demo.Kind(demo.OURS, "hold", "observe", hold_max_ms=1, stance="observe"), 2)


def measure_observe(table):
    table.head("jobs of a Spark without agents, and beside agents that touch nothing")
    compare(table, "beside agents", demo.STOCK_ROWS["fifo-ours"], demo.Kind(demo.OURS, rung="observe", stance="observe"), 1)


# ---- from allow to start ----

def allowed(log):
    """{Spark's task: when it was allowed, in ns}, of those that used an allow."""
    given, used, now = {}, {}, 0
    for line in log:
        words = line.split(" ", 2)
        if words[0] == "step":
            now = int(words[1])
        elif line.startswith("d allow "):
            given[re.search(r" allow=(\d+)", line)[1]] = now
        elif line.startswith("e framework_started "):
            attempt, allow = re.search(r"attempt=(\d+) allow=(\d+)", line).groups()
            if allow in given:
                used[int(attempt) & 0xffffffff] = given[allow]
    return used


def delays_ms(folder):
    """From allow to launch, of tasks for which a slot of their host was free when they were
    allowed: not all were taken by what ran, or had been allowed before and was to start."""
    boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.time_ns()
    slots, tasks = collections.Counter(), []
    for event in events.lines(os.path.join(folder, "events")):
        if event["Event"] == "SparkListenerExecutorAdded":
            slots[event["Executor Info"]["Host"]] += event["Executor Info"]["Total Cores"]
        elif event["Event"] == "SparkListenerTaskEnd":
            info = event["Task Info"]
            tasks.append((info["Task ID"], info["Host"], *(info[name] * 10**6 + boot_ns for name in ("Launch Time", "Finish Time"))))
    with open(os.path.join(folder, "duopoly", "log", "duopoly.log"), errors="replace") as log:
        used = allowed(log)
    found = []
    for task, host, launch, _ in tasks:
        if task not in used:
            continue
        at = used[task]
        taken = sum(1 for other, where, begin, end in tasks if where == host and other != task and min(begin, used.get(other, begin)) <= at < end)
        if taken < slots[host]:
            found.append((launch - at) / 1e6)
    return sorted(found)


def measure_allows(table):
    table.head("from the decision that a task may start to its start in Spark, where a slot was free")
    wanted = asked()
    with demos.own_folder(wanted.build, "bench-spark") as folder:
        instance.end_abandoned()
        place = os.path.join(folder, "all")
        demo.run_row(wanted, "all", place, cluster.compile_workloads(folder), demo.BESIDE_ROWS["all"])
        delays = delays_ms(place)
    if not delays:
        raise system.Failure("no task was allowed while a slot was free")
    p95 = report.percentile(delays, 95)
    table.row("of %d: median, p95, worst" % len(delays), "%.0f, %.0f, %.0f ms" % (statistics.median(delays), p95, delays[-1]), "p95 <= 100 ms", p95 <= 100)
