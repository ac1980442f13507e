"""make demo NET=spark: an unmodified Apache Spark under a load of its own, without duopoly and with
it, on namespaces around one switch.

Variables: WORKLOAD (synthetic; anywhere: the same with input that has no place; tpch), ROWS (fair
all; of ROWS below), JOBS (40; 19), SEED (1), SPREAD (seconds in which they arrive: half as many as
jobs; ten times), SCALE (of tpch's tables, .1), LINK (50M), REPEATS (1: runs of each row, in turns),
VERIFY (1: marks are checked against the controller's recording, packet by packet). Every run's
event log, times and output stay in BUILD/demo-spark."""

import json
import os
import shutil
import statistics
import time
import typing

from testbed.demo import demo, inputs, latency, report
from testbed.demo.spoilt import IDLE_LEAST
from testbed.net import instance, network, star, system
from testbed.spark import cluster as sparks
from testbed.spark import connections, events, tables

WORKERS, SLOTS = 4, 2
RUN_SECONDS = 1800
# Maps wait for a slot beside their input as long as duopoly holds what it holds; where reduce tasks run is duopoly's word.
OURS = {"spark.locality.wait": "30s", "spark.shuffle.reduceLocality.enabled": "false"}
FAIR = {"spark.scheduler.mode": "FAIR"}
SERVICE = {"spark.shuffle.service.enabled": "true", "spark.shuffle.service.port": str(connections.LAST)}
TWO_CORES = {"spark.executor.cores": "2", "spark.executor.memory": "1g"}


class Kind(typing.NamedTuple):
    """What a row runs: Spark's settings; the plug-in's gate, "" without the plug-in; what happens
    to executors' packets (`guests.rung`), "" without duopoly; how long it may hold a task; and
    the agents' stance."""
    settings: dict = {}
    gate: str = ""
    rung: str = ""
    hold_max_ms: typing.Optional[int] = None
    stance: str = ""


STOCK_ROWS = {"fifo": Kind(), "fifo-ours": Kind(OURS), "fair": Kind(FAIR), "fair-ours": Kind({**FAIR, **OURS})}
BESIDE_ROWS = {"order": Kind(OURS, "order", "observe"), "marks": Kind(OURS, "false", "mark"), "holds": Kind(OURS, "hold", "observe"),
               "all": Kind(OURS, "true", "mark"),
               "all-2cores": Kind({**OURS, **TWO_CORES}, "true", "mark"), "all-service": Kind({**OURS, **SERVICE}, "true", "mark")}
KINDS = {**STOCK_ROWS, **BESIDE_ROWS}
ROWS = list(KINDS)
DEFAULT_ROWS = ["fair", "all"]  # a minute each on an idle machine; all eight would take ten
LEGEND = """fifo, fair (a pool for each job): Spark alone; -ours: with spark.locality.wait=30s and spark.shuffle.reduceLocality.enabled=false, as all below
order: duopoly puts jobs in order; marks: it marks what they fetch; holds: it says which reduce task starts where and when; all: the three together
-2cores: executors of two cores; -service: with Spark's external shuffle service. / stock: to the best mean of Spark alone in the same repeat
worst: the largest ratio of a job's time to that in the first row; wait: seconds that tasks waited for fetches; came: bytes from other hosts"""


class Synthetic:
    """`hosts`: where the jobs' input is; none: it has no place, and nothing is read."""
    main, jobs, settings = "Synthetic", 40, {"spark.shuffle.compress": "false", "spark.shuffle.spill.compress": "false", "spark.sql.adaptive.enabled": "false"}

    def __init__(self, hosts):
        self.hosts = hosts

    def spread(self, jobs):
        return max(1, jobs // 2)

    def words(self, _environment):
        return self.hosts


class Tpch:
    main, jobs, settings = "Queries", 19, {"spark.sql.shuffle.partitions": "8"}

    def spread(self, jobs):
        return 10 * jobs

    def words(self, environment):
        scale = environment.get("SCALE") or "0.1"
        try:
            fits = 0.001 <= float(scale) <= 10
        except ValueError:
            fits = False
        if not fits:
            raise system.Failure("SCALE is \"%s\", must be a number .001…10 (of the tables; .1 is 32 MB)" % scale)
        return ["file:" + tables.folder(float(scale))]


WORKLOADS = {"synthetic": Synthetic(network.host_names(WORKERS)), "anywhere": Synthetic([]), "tpch": Tpch()}


def plugin(jar, beside, gate):
    return {"spark.plugins": "duopoly.spark.Plugin", "spark.jars": jar, "spark.driver.extraClassPath": jar,
            "spark.duopoly.socket": beside.frameworks(), "spark.duopoly.guests": beside.guests(), "spark.duopoly.gate": gate}


class Asked:
    def __init__(self, environment):
        self.build = demo.build_folder()
        self.rows = (environment.get("ROWS") or " ".join(DEFAULT_ROWS)).replace(",", " ").split()
        for row in self.rows:
            if row not in ROWS:
                raise system.Failure("unknown row \"%s\": ROWS takes %s" % (row, ", ".join(ROWS)))
        name = environment.get("WORKLOAD") or "synthetic"
        if name not in WORKLOADS:
            raise system.Failure("unknown workload \"%s\": WORKLOAD takes %s" % (name, ", ".join(WORKLOADS)))
        self.workload = WORKLOADS[name]
        self.jobs = inputs.number(environment, "JOBS", (self.workload.jobs, 1, 1000))
        self.seed = inputs.number(environment, "SEED")
        self.spread = inputs.number(environment, "SPREAD", (self.workload.spread(self.jobs), 1, 3600))
        self.repeats = inputs.number(environment, "REPEATS", (1, 1, 100))
        self.link_bps = inputs.rate(environment, "LINK", "50M")
        self.verify = inputs.number(environment, "VERIFY", (0, 0, 1)) == 1
        sparks.check(self.build)
        self.words = [str(self.jobs), str(self.seed), str(self.spread), *self.workload.words(environment)]
        self.name = name


def read(path):
    """Whether jobs have begun to arrive; and of those that have ended [number, seconds, result]."""
    with open(path) as lines:
        words = [line.split() for line in lines if line.endswith("\n")]
    return ["begin"] in words, sorted((int(line[1]), float(line[3]) - float(line[2]), line[4]) for line in words if line[0] == "job")


class Verify(demo.Verify):
    """duopoly-verify for an application of Spark; `folder`: of the run. A mark that comes later
    than a task's first 20 ms is wrong; packets that wait in a queue while their task's level
    changes keep the old one, as for all tasks."""

    def __init__(self, running, folder):
        super().__init__(running, running.logs)
        self.folder, self.ports, self.watch = folder, os.path.join(running.logs, "ports"), connections.Watch(running.net)

    def options(self):
        return ["--begin", "20", "--ports", self.ports, "--port", "%d-%d" % (connections.FIRST, connections.LAST)]

    def figures(self):
        self.watch.write(os.path.join(self.folder, "events"), self.running.log_files(), self.ports)
        self.finish()
        with open(self.json) as verdict:
            return json.load(verdict)


def run_jobs(child, beside, out, verify):
    """Runs until the driver has ended. Returns the percentage of the processors' time that was idle
    since jobs began to arrive."""
    limit, idle = time.monotonic() + RUN_SECONDS, None
    while child.poll() is None:
        if beside:
            beside.check_alive()
        if verify:
            verify.watch.look()
        if time.monotonic() > limit:
            raise system.Failure("Spark has not ended its jobs within %d s; %s" % (RUN_SECONDS, system.where_said(out + ".err")))
        if not idle and read(out)[0]:
            idle = latency.CpuIdle()
        time.sleep(0.2)
    if child.returncode != 0 or not idle:
        raise system.Failure("Spark's driver has failed; " + system.where_said(out + ".err"))
    return idle.percent()


def run_row(asked, row, folder, workloads, kind):
    """Figures of one run, on a network of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    own = instance.create(demo.TREE)
    try:
        net = star.Star(own, WORKERS + 1, asked.link_bps)
        net.up()
        return {"row": row, **run_on(net, asked, folder, workloads, kind)}
    finally:
        own.down()


def run_on(net, asked, folder, workloads, kind):
    spark = sparks.Spark(net, folder, "".join("-D%s=%s " % pair for pair in SERVICE.items() if pair in kind.settings.items()))
    beside = sparks.Beside(net, asked.build, SLOTS, asked.seed, os.path.join(folder, "duopoly"), kind) if kind.rung else None
    out = os.path.join(folder, "jobs.txt")
    try:
        if beside:
            beside.up()
        one_core = "spark.executor.cores" not in kind.settings
        verify = Verify(beside, folder) if asked.verify and kind.rung == "mark" and one_core else None
        if verify:
            verify.start()
        spark.up()
        settings = {**asked.workload.settings, **(plugin(os.path.join(asked.build, sparks.JAR), beside, kind.gate) if kind.gate else {}), **kind.settings,
                    **(connections.SETTINGS if verify else {})}
        idle = run_jobs(spark.submit(settings, workloads, asked.workload.main, asked.words, out), beside, out, verify)
        said = {counter["name"]: counter["value"] for counter in beside.ask("counters")["counters"]} if beside else {}
        return {"jobs": read(out)[1], "cpu_idle": idle, "allows": said.get("engine.allows_used", 0), "marks": verify.figures() if verify else None,
                **events.shuffled(os.path.join(folder, "events"))}
    finally:
        spark.down()
        if beside:
            beside.down()


def mean(run):
    return statistics.mean(seconds for _, seconds, _ in run["jobs"])


def table(runs, rows):
    """Its lines: those of a row together, one a repeat."""
    lines = ["row          mean s  / stock  median s   p95 s   worst   wait s  came MB  allows  CPU idle"]
    for row in rows:
        for run in (run for run in runs if run["row"] == row):
            others = [other for other in runs if other["repeat"] == run["repeat"]]
            first = {job: seconds for job, seconds, _ in next(other for other in others if other["row"] == rows[0])["jobs"]}
            stock = [mean(other) for other in others if other["row"] in STOCK_ROWS]
            times = sorted(seconds for _, seconds, _ in run["jobs"])
            lines.append("%-11s %7.2f  %7s  %8.2f %7.2f %7.2f %8.1f %8.0f %7s %7.0f %%%s" % (
                row, mean(run), "%.2f" % (mean(run) / min(stock)) if stock else "-", statistics.median(times), report.percentile(times, 95),
                max(seconds / first[job] for job, seconds, _ in run["jobs"]), run["fetch_wait"], run["remote_bytes"] / 1e6, run["allows"] or "-",
                run["cpu_idle"], "  (does not count: the processors were busy)" if run["cpu_idle"] < IDLE_LEAST else ""))
    return lines + LEGEND.split("\n")


def marks_lines(runs):
    return ["marks of %s, repeat %d: %.3f %% of %.0f MB bore their receiver's level, %.3f %% that of when they were sent, before they waited in a queue, "
            "%.3f %% one that it had until less than 2 s before; packets: %d right, %d when they were sent, %d in such a window, "
            "%d of a task's first 20 ms, %d wrong, %d unattributed, %d of tasks without a level" % (
                run["row"], run["repeat"] + 1, 100 * marks["right_bytes"] / max(1, judged), judged / 1e6, 100 * marks["late_bytes"] / max(1, judged),
                100 * marks["window_bytes"] / max(1, judged), marks["right"], marks["late"], marks["in_window"], marks["of_begin"], marks["wrong"],
                marks["unattributed"], marks["unlevelled"])
            for run in runs if (marks := run["marks"]) for judged in [sum(marks[kind + "_bytes"] for kind in ("right", "late", "window", "wrong"))]]


def differences(runs, jobs):
    """A sentence for each run whose jobs, or their results, differ from the first."""
    wanted = {job: result for job, _, result in runs[0]["jobs"]}
    said = []
    for run in runs:
        wrong = [job for job, _, result in run["jobs"] if wanted.get(job) != result]
        if wrong or len(run["jobs"]) != jobs:
            said.append("%s, repeat %d: %d of %d jobs ended, other results than in the first run: %s" % (
                run["row"], run["repeat"] + 1, len(run["jobs"]), jobs, ", ".join(map(str, wrong)) or "none"))
    return said


def outside(_name, environment):
    if os.geteuid() != 0:
        raise system.Failure("the testbed needs root: it makes network namespaces, queues and cgroups")
    asked = Asked(environment)
    with demo.own_folder(asked.build, "demo-spark") as folder, demo.own_programs(asked, folder, [sparks.JAR]):
        return replay(asked, folder)


def replay(asked, folder):
    workloads = sparks.compile_workloads(folder)
    print("%s: %d jobs over %d s, seed %d; %d workers of %d slots, links of %g Mb/s; rows: %s" % (
        asked.name, asked.jobs, asked.spread, asked.seed, WORKERS, SLOTS, asked.link_bps / 1e6, ", ".join(asked.rows)), flush=True)
    instance.end_abandoned()
    runs = []
    for repeat in range(asked.repeats):
        for row in asked.rows:
            runs.append({**run_row(asked, row, os.path.join(folder, "%s-%d" % (row, repeat + 1)), workloads, KINDS[row]), "repeat": repeat})
            print("%-11s %d jobs, mean %.2f s" % (row, len(runs[-1]["jobs"]), mean(runs[-1])), flush=True)
    lines = table(runs, asked.rows) + marks_lines(runs)
    print("\n" + "\n".join(lines))
    with open(os.path.join(folder, "table.txt"), "w") as out:
        out.write("\n".join(lines) + "\n")
    with open(os.path.join(folder, demo.FIGURES), "w") as out:
        json.dump(runs, out)
    print("event logs, times and words are in %s" % folder)
    wrong = differences(runs, asked.jobs)
    for sentence in wrong:
        print("demo: " + sentence)
    return 1 if wrong else 0
