"""The figures of runs, read from their logs (schemas/recording.md): the same program for live and
for simulated runs.

A job's completion time (JCT) is its end − its planned arrival. The driver's results have a live
run's planned arrivals; a simulated one submits each job exactly at its arrival, so there the
submission is the plan.

    python3 -m testbed.demo.report LABEL=LOG[,LOG…][:RESULTS] …

Rotated logs come oldest first; it prints the table."""

import collections
import json
import math
import statistics
import sys
import urllib.parse

from testbed.demo import reads

LARGEST = 6
RESOURCES = 6
FINISHED = ("attempt_done", "attempt_failed", "attempt_killed", "attempt_lost", "attempt_refused")


class Job:
    def __init__(self, name):
        self.name = name
        self.user = 0
        self.stages = []
        self.bytes = 0
        self.active = False
        self.submitted_ns = self.finished_ns = self.planned_ns = None
        self.slot_wait_ns = 0
        self.state = "open"
        self.tasks = 0


class Stage:
    def __init__(self, tasks, parents, barriers):
        self.tasks = tasks
        self.parents, self.barriers = parents, barriers
        self.done = set()
        self.started = 0


class Run:
    """One log, followed step by step."""

    def __init__(self, label):
        self.label = label
        self.jobs = {}
        self.now_ns = None
        self.slots, self.uplinks, self.lost_hosts = {}, {}, set()
        self.names, self.silent = {}, set()  # of hosts, by number; numbers
        self.attempts_lost = 0
        self.attempts = {}  # running: (job, stage, task, network bytes)
        self.ready = 0
        self.mode_switches = self.holds = 0
        self.holds_of_users = collections.Counter()
        self.idle_held_ns = 0
        self.network_bytes = 0
        self.reads, self.racks = reads.Reads(), {}
        self.shuffled = self.crossed = 0  # bytes to other hosts; of these, to other racks
        self.seen = set()

    # ---- reading ----

    def read(self, lines):
        for line in lines:
            if not line.endswith("\n"):
                break  # the writer died
            words = line.split()
            if words[0] == "step":
                self._advance(int(words[1]))
            elif words[0] in "ed" and len(words) > 1:
                handler = getattr(self, "_%s_%s" % (words[0], words[1]), None)
                if words[0] == "e" and words[1] in FINISHED:
                    self.attempts_lost += words[1] in ("attempt_failed", "attempt_lost")
                    self._end(words[1], fields(words))
                elif handler:
                    handler(fields(words))

    def plan(self, rows):
        """The driver's results: planned arrivals by the controller's job numbers."""
        for row in rows:
            if "job" in row and row["job"] in self.jobs:
                self.jobs[row["job"]].planned_ns = row["planned_ns"]

    def _advance(self, now_ns):
        if self.now_ns is not None:
            idle = min(max(self._free_slots(), 0), self.ready)
            self.idle_held_ns += idle * (now_ns - self.now_ns)
        self.now_ns = now_ns

    def _free_slots(self):
        up = sum(n for host, n in self.slots.items() if host not in self.lost_hosts)
        return up - len(self.attempts)

    # ---- events ----

    def _e_host_join(self, f):
        units = [int(word) for word in f["units"].split(",")]
        self.slots[f["host"]] = sum(units[::RESOURCES])
        self.uplinks[f["host"]] = int(f["uplink_bps"])
        self.racks[int(f["host"])] = f["rack"]
        self.names[f["host"]] = urllib.parse.unquote(f["name"])
        self.lost_hosts.discard(f["host"])

    _e_host_change = _e_host_join

    def _e_host_silent(self, f):
        """After the last job hosts are told to end."""
        if any(job.state == "open" for job in self.jobs.values()):
            self.silent.add(f["host"])

    def _e_host_lost(self, f):
        self._e_host_silent(f)
        self.lost_hosts.add(f["host"])

    def _e_host_back(self, f):
        self.lost_hosts.discard(f["host"])

    def _e_job_begin(self, f):
        job = Job(urllib.parse.unquote(f["name"]))
        job.submitted_ns = self.now_ns
        job.user = int(f.get("user", 0))
        self.jobs.setdefault(int(f["job"]), job)

    def _e_job_stage(self, f):
        job = self.jobs.get(int(f["job"]))
        if job is None or job.active:
            return
        self.reads.stage(f)
        parents, edges = reads.numbers(f["parents"]), reads.numbers(f["edges"])
        barriers = [parent for parent, edge in zip(parents, edges) if edge == 0]
        job.stages.append(Stage(int(f["tasks"]), parents, barriers))
        job.tasks += int(f["tasks"])

    def _e_job_bytes(self, f):
        job = self.jobs.get(int(f["job"]))
        if job is not None and not job.active:
            self.reads.bytes(f)
            job.bytes += sum(reads.numbers(f["bytes"]))

    def _e_job_end(self, f):
        job = self.jobs.get(int(f["job"]))
        if job is None or job.active:
            return
        job.active = True
        job.submitted_ns = self.now_ns
        for stage in job.stages:
            if not stage.barriers:
                self.ready += stage.tasks

    def _end(self, kind, f):
        attempt = self.attempts.pop(f["attempt"], None)
        if attempt is None:
            return
        job, stage, task, _ = attempt
        if job is None:
            return
        if kind == "attempt_done":
            self._done(job, stage, task)
        elif job.state == "open" and task not in stage.done:
            self.ready += 1

    def _done(self, job, stage, task):
        if task in stage.done:
            return
        stage.done.add(task)
        if len(stage.done) < stage.tasks:
            return
        index = job.stages.index(stage)
        for child in job.stages:
            complete = all(len(job.stages[p].done) == job.stages[p].tasks for p in child.barriers)
            if index in child.barriers and complete:
                self.ready += child.tasks

    def _e_output_lost(self, f):
        job = self.jobs.get(int(f["job"]))
        if job is None or not job.active:
            return
        stage = job.stages[int(f["stage"])]
        if int(f["task"]) in stage.done:
            stage.done.discard(int(f["task"]))
            self.ready += 1

    # ---- decisions ----

    def _d_start(self, f):
        job = self.jobs.get(int(f["job"]))
        stage = job.stages[int(f["stage"])] if job else None
        self.attempts[f["attempt"]] = (job, stage, int(f["task"]), int(f["input_bytes"]))
        self.network_bytes += int(f["input_bytes"])
        self.ready -= job is not None
        host = int(f["host"])
        for source, size in self.reads.start(f).items():
            self.shuffled += size * (source != host)
            self.crossed += size * (self.racks.get(source) != self.racks.get(host))

    def _d_mode(self, _f):
        self.mode_switches += 1

    def _d_hold(self, f):
        self.holds += 1
        if int(f["job"]) in self.jobs:
            self.holds_of_users[self.jobs[int(f["job"])].user] += 1

    def _d_job_done(self, f):
        job = self.jobs.get(int(f["job"]))
        if job is None:
            return
        job.state = "done"
        job.finished_ns = int(f["finished_ns"])
        job.slot_wait_ns = int(f["slot_wait_ns"])

    def _d_job_failed(self, f):
        job = self.jobs.get(int(f["job"]))
        if job is not None and job.state == "open":
            job.state = "failed"
            # Its waiting tasks wait no more.
            for stage in job.stages:
                if all(len(job.stages[p].done) == job.stages[p].tasks for p in stage.barriers):
                    running = sum(1 for a in self.attempts.values() if a[1] is stage)
                    self.ready -= stage.tasks - len(stage.done) - running

    # ---- figures ----

    def figures(self):
        done = [job for job in self.jobs.values() if job.state == "done"]
        jcts = {job.name: (job.finished_ns - planned(job)) / 1e9 for job in done}
        values = sorted(jcts.values())
        largest = sorted(done, key=lambda job: (-job.bytes, job.name))[:LARGEST]
        begin = min((planned(job) for job in self.jobs.values()), default=0)
        makespan = (max((job.finished_ns for job in done), default=begin) - begin) / 1e9
        capacity = sum(self.uplinks.values()) / 8 * makespan
        tasks = sum(job.tasks for job in done)
        return {
            "label": self.label,
            "jobs": len(self.jobs),
            "unfinished": len(self.jobs) - len(done),
            "jct": jcts,
            "mean": sum(values) / len(values) if values else None,
            "median": median(values),
            "p95": percentile(values, 95),
            "p99": percentile(values, 99),
            "largest": (sum(jcts[job.name] for job in largest) / sum(values) if sum(values)
                        else None),
            "slot_wait": sum(job.slot_wait_ns for job in done) / tasks / 1e9 if tasks else None,
            "idle_held": self.idle_held_ns / 1e9,
            "link_use": self.network_bytes / capacity if capacity else None,
            "crossed": (self.crossed / self.shuffled if self.shuffled
                        and any(self.racks.values()) and not self.reads.unknown else None),
            "makespan": makespan,
            "mode_switches": self.mode_switches,
            "holds": self.holds,
            "holds_of_users": dict(self.holds_of_users),
            "silent_hosts": sorted(self.names.get(host, host) for host in self.silent),
            "attempts_lost": self.attempts_lost,
        }


def planned(job):
    return job.submitted_ns if job.planned_ns is None else job.planned_ns


def fields(words):
    return dict(word.partition("=")[::2] for word in words[2:])


def percentile(values, percent):
    """The smallest value that this many percent do not exceed (nearest rank); values are sorted."""
    return values[max(math.ceil(len(values) * percent / 100), 1) - 1] if values else None


def median(values):
    """For an even number the mean of the two in the middle."""
    return statistics.median(values) if values else None


def mean_ratio(figures, first):
    """Mean over the jobs of both runs of JCT ÷ JCT in the first run."""
    ratios = [jct / first["jct"][name] for name, jct in figures["jct"].items()
              if first["jct"].get(name)]
    return sum(ratios) / len(ratios) if ratios else None


def load(label, logs, results=None):
    run = Run(label)
    for path in logs:
        with open(path) as lines:
            run.read(lines)
    if results:
        with open(results) as rows:
            run.plan(json.loads(row) for row in rows)
    return run.figures()


# ---- words ----

COLUMNS = (
    ("mean s", "mean", "%.2f"),
    ("median s", "median", "%.2f"),
    ("p95 s", "p95", "%.2f"),
    ("p99 s", "p99", "%.2f"),
    ("ratio", "ratio", "%.2f"),
    ("largest %d" % LARGEST, "largest", "%.0f %%"),
    ("slot-wait s", "slot_wait", "%.2f"),
    ("idle held s", "idle_held", "%.1f"),
    ("link use", "link_use", "%.0f %%"),
    ("makespan s", "makespan", "%.1f"),
    ("switches", "mode_switches", "%d"),
    ("holds", "holds", "%d"),
    ("unfinished", "unfinished", "%d"),
)


def cell(figures, key, form):
    value = figures[key]
    if value is None:
        return "-"
    return form % (value * 100 if form.endswith("%%") else value)


def rows(runs):
    """Cells of the table, its head first; runs are figures, the first one is the base of ratios."""
    words = [["policy"] + [title for title, _, _ in COLUMNS]]
    for run in runs:
        run = dict(run, ratio=mean_ratio(run, runs[0]))
        words.append([run["label"]] + [cell(run, key, form) for _, key, form in COLUMNS])
    return words


def table(runs):
    """Its lines, in columns."""
    words = rows(runs)
    widths = [max(len(row[i]) for row in words) for i in range(len(words[0]))]
    return ["  ".join(word.ljust(width) if i == 0 else word.rjust(width)
                      for i, (word, width) in enumerate(zip(row, widths))) for row in words]


LEGEND = ("JCT: end − planned arrival. ratio: mean over jobs of JCT ÷ JCT under the first policy. "
          "largest %d: their share in the mean. slot-wait: start − ready, per task. "
          "idle held: free slot time while a ready task could use it." % LARGEST)


def compare(value, other):
    """'12 % below', '3 % above', 'equal to'."""
    change = (value - other) / other * 100
    if abs(change) < 0.5:
        return "equal to"
    return "%.0f %% %s" % (abs(change), "below" if change < 0 else "above")


def losses(subject, best, first):
    """What the means hide: jobs for which the subject is worse than the best other, and where it is
    worse job by job than that one or than the first, the base of the table's ratios."""
    times = {name: jct / best["jct"][name] for name, jct in subject["jct"].items()
             if best["jct"].get(name)}
    worse = [name for name, ratio in times.items() if ratio > 1.05]
    said = "%d of %d jobs took over 5 %% longer than under %s" % (
        len(worse), len(subject["jct"]), best["label"])
    if worse:
        worst = max(worse, key=times.get)
        said += ", %s %.2f times as long" % (worst, times[worst])
    yield said
    for other in [best] + ([first] if first not in (best, subject) else []):
        ratio = mean_ratio(subject, other)
        if ratio and ratio > 1.005:
            yield "job by job it took %.2f times as long as under %s on average" % (
                ratio, other["label"])


def sentence(runs):
    """What the numbers mean for joint (else duopoly, else the last one), in one honest sentence.
    Variants of duopoly are no opponents of duopoly, unless no other ran."""
    subject = next((run for label in ("joint", "duopoly") for run in runs if run["label"] == label),
                   runs[-1])
    others = [run for run in runs if run is not subject and run["mean"] is not None]
    if subject["label"] == "duopoly":
        others = [run for run in others if not run["label"].startswith("duopoly")] or others
    if subject["mean"] is None:
        return "%s finished no job." % subject["label"]
    if not others:
        return "%s alone: a mean JCT of %.2f s over %d jobs." % (
            subject["label"], subject["mean"], len(subject["jct"]))
    best = min(others, key=lambda run: run["mean"])
    words = "%s's mean JCT of %.2f s is %s that of %s, the better of the others (%.2f s)" % (
        subject["label"], subject["mean"], compare(subject["mean"], best["mean"]),
        best["label"], best["mean"])
    tails = []
    for key in ("p95", "p99"):
        least = min(others, key=lambda run, key=key: run[key])
        tails.append("its %s is %s %s's" % (key, compare(subject[key], least[key]), least["label"]))
    words += ", but " if any("above" in tail for tail in tails) else "; "
    words += " and ".join(tails)
    words += "".join("; " + said for said in losses(subject, best, runs[0]))
    unfinished = sum(run["unfinished"] for run in runs)
    if unfinished:
        words += "; %d jobs did not finish and are in no mean" % unfinished
    if subject["mode_switches"] < 3 or subject["holds"] < 10:
        words += "; with %d mode switches and %d holds this input hardly exercises it" % (
            subject["mode_switches"], subject["holds"])
    return words + "."


def main(arguments):
    runs = []
    for word in arguments:
        label, _, rest = word.partition("=")
        logs, _, results = rest.partition(":")
        if not logs:
            sys.exit("report: \"%s\" is not LABEL=LOG[,LOG...][:RESULTS]" % word)
        runs.append(load(label, logs.split(","), results or None))
    if not runs:
        sys.exit(__doc__)
    print("\n".join(table(runs)))
    print(LEGEND)
    print(sentence(runs))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, ValueError, KeyError) as failure:
        sys.exit("report: %s" % failure)
