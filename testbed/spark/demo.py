"""make demo NET=spark: an unmodified Apache Spark under a load of its own, without duopoly and with it, on namespaces around one switch.

Variables: ROWS (of ROWS below, all), JOBS (40), SEED (1), SPREAD (seconds that they arrive in, as many as jobs), LINK (50M), REPEATS (1: each row so
often, taking turns). Every run's event log, times and words stay in BUILD/demo-spark."""

import json
import os
import statistics
import time

from testbed.demo import demo, inputs, latency
from testbed.net import instance, star, system
from testbed.spark import cluster as sparks

WORKERS, SLOTS = 4, 2
RUN_SECONDS = 1800
IDLE_LEAST = 20  # percent of the processors': below it a run says nothing of the network
OURS = {"spark.locality.wait": "0", "spark.shuffle.reduceLocality.enabled": "false"}
FAIR = {"spark.scheduler.mode": "FAIR"}


def plugin(jar, beside, gate):
    return {**OURS, "spark.plugins": "duopoly.spark.Plugin", "spark.jars": jar, "spark.driver.extraClassPath": jar,
            "spark.duopoly.socket": beside.frameworks(), "spark.duopoly.guests": beside.guests(), "spark.duopoly.gate": gate}


# By name: Spark's settings, or what the plug-in is to do.
STOCK = {"fifo": {}, "fifo-ours": OURS, "fair": FAIR, "fair-ours": {**FAIR, **OURS}}
BESIDE = {"marks": "false", "all": "true"}
ROWS = [*STOCK, *BESIDE]


class Asked:
    def __init__(self, environment):
        self.build = demo.build_folder()
        self.rows = (environment.get("ROWS") or " ".join(ROWS)).replace(",", " ").split()
        for row in self.rows:
            if row not in ROWS:
                raise system.Failure("unknown row \"%s\": ROWS takes %s" % (row, ", ".join(ROWS)))
        self.jobs = inputs.number(environment, "JOBS", (40, 1, 1000))
        self.seed = inputs.number(environment, "SEED")
        self.spread = inputs.number(environment, "SPREAD", (self.jobs, 1, 3600))
        self.repeats = inputs.number(environment, "REPEATS", (1, 1, 100))
        self.link_bps = inputs.rate(environment, "LINK", "50M")
        self.jar = sparks.check(self.build)


def read(path):
    """[(job, seconds, bytes)]"""
    with open(path) as lines:
        words = [line.split() for line in lines if line.startswith("job ")]
    return [(int(index), float(ended) - float(submitted), int(size)) for _, index, submitted, ended, size in words]


def run_row(net, asked, row, folder, workload):
    """Figures of one run."""
    os.makedirs(folder, exist_ok=True)
    spark = sparks.Spark(net, folder)
    beside = sparks.Beside(net, asked.build, SLOTS, asked.seed, os.path.join(folder, "duopoly"), os.path.basename(folder)) if row in BESIDE else None
    out = os.path.join(folder, "jobs.txt")
    try:
        if beside:
            beside.up()
        spark.up()
        settings = plugin(asked.jar, beside, BESIDE[row]) if beside else STOCK[row]
        idle = latency.CpuIdle()
        child = spark.submit(settings, workload, [str(asked.jobs), str(asked.seed), str(asked.spread)], out)
        begin = time.monotonic()
        while child.poll() is None:
            if beside:
                beside.check_alive()
            if time.monotonic() - begin > RUN_SECONDS:
                raise system.Failure("Spark has not ended its jobs within %d s; its words are in %s.err" % (RUN_SECONDS, out))
            time.sleep(0.2)
        if child.returncode != 0:
            raise system.Failure("Spark's driver has failed; its words are in %s.err" % out)
        said = {row["name"]: row["value"] for row in beside.ask("counters")["counters"]} if beside else {}
        return {"row": row, "jobs": read(out), "cpu_idle": idle.percent(), "allows": said.get("engine.allows_used", 0),
                "tasks": said.get("guests.tasks", 0)}
    finally:
        spark.down()
        if beside:
            beside.down()


def table(runs, asked):
    """Its lines. Ratios of jobs are to those of the first row in the same repeat."""
    lines = ["row          mean s  median s   p95 s  worst ratio  CPU idle  allows used"]
    first = {run["repeat"]: {job: seconds for job, seconds, _ in run["jobs"]} for run in runs if run["row"] == asked.rows[0]}
    for row in asked.rows:
        for run in (run for run in runs if run["row"] == row):
            times = sorted(seconds for _, seconds, _ in run["jobs"])
            worst = max(seconds / first[run["repeat"]][job] for job, seconds, _ in run["jobs"])
            lines.append("%-11s %7.2f %9.2f %7.2f %12.2f %8.0f %% %12s%s" % (
                row, statistics.mean(times), statistics.median(times), times[min(len(times) - 1, int(0.95 * len(times)))], worst, run["cpu_idle"],
                run["allows"] or "-", "  (does not count: the processors were busy)" if run["cpu_idle"] < IDLE_LEAST else ""))
    return lines + ["fifo, fair: Spark alone; -ours: with locality waits off; marks: the plug-in and duopoly beside it, nothing is held; all: with the gate"]


def outside(_name, environment):
    if os.geteuid() != 0:
        raise system.Failure("the testbed needs root: it makes network namespaces, queues and cgroups")
    asked = Asked(environment)
    with demo.own_folder(asked.build, "demo-spark") as folder:
        return replay(asked, folder)


def replay(asked, folder):
    workload = sparks.compile_workload(folder)
    print("%d jobs over %d s, seed %d; %d workers of %d slots, links of %g Mb/s; rows: %s" % (
        asked.jobs, asked.spread, asked.seed, WORKERS, SLOTS, asked.link_bps / 1e6, ", ".join(asked.rows)), flush=True)
    instance.end_abandoned()
    own, runs = instance.create(demo.TREE), []
    try:
        net = star.Star(own, WORKERS + 1, asked.link_bps)
        net.up()
        for repeat in range(asked.repeats):
            for row in asked.rows:
                run = run_row(net, asked, row, os.path.join(folder, "%s-%d" % (row, repeat + 1)), workload)
                runs.append({**run, "repeat": repeat})
                print("%-11s %d jobs, mean %.2f s" % (row, len(run["jobs"]), statistics.mean(seconds for _, seconds, _ in run["jobs"])), flush=True)
    finally:
        own.down()
    lines = table(runs, asked)
    print("\n" + "\n".join(lines))
    with open(os.path.join(folder, "table.txt"), "w") as out:
        out.write("\n".join(lines) + "\n")
    with open(os.path.join(folder, demo.FIGURES), "w") as out:
        json.dump(runs, out)
    print("event logs, times and words are in %s" % folder)
    return 0 if all(len(run["jobs"]) == asked.jobs for run in runs) else 1
