"""How far a live run's job completion times (JCT) are from the simulator's on the same input, and
where the difference arises.

Each finished job's JCT is walked from its end back to its planned arrival, in the live log and
in the simulated one alike: the task whose acceptance ended the job; before it, if its stage had
a barrier, the task of the parents that was accepted last; and so on. That chain consists of
PARTS, so a job's parts add up to its JCT exactly:

- slot: from ready to start: no slot, or held, or submitted later than planned
- start: from the controller's start to the first byte of content (without network input: to
  "received", which is all)
- transfer: from the first byte to "received"
- computing: as in the input
- accepted: from the last byte until the controller knows of the end, without computing
- again: attempts of the chain's tasks that failed or were lost, and outputs that were lost

If a first byte is not known (the simulator's transfers have none: their flows exist from the
start on) it is the start. Times are the controller's steps, CLOCK_BOOTTIME, as in the tasks'
port files (schemas/ports.md)."""

import collections
import json
import statistics
import urllib.parse

from testbed.demo import ports, reads, report
from testbed.net import system

PARTS = ("slot", "start", "transfer", "computing", "accepted", "again")
WORDS = {"slot": "waiting for a slot", "start": "start to first byte", "transfer": "transfer",
         "computing": "computing",
         "accepted": "last byte to accepted", "again": "failed and lost attempts"}


class Stage:
    def __init__(self, tasks, barriers):
        self.barriers = barriers
        self.compute_ns = {0: [0] * tasks}  # variant: of each task
        self.done = []  # accepted attempts
        self.first_start = {}  # task: when

    def take_computing(self, variant, first, computing):
        of_tasks = self.compute_ns.setdefault(variant, [0] * len(self.compute_ns[0]))
        of_tasks[first:first + len(computing)] = computing

    def computing_ns(self, variant, task):
        """A variant that says none computes as long as the stage does."""
        return self.compute_ns.get(variant, self.compute_ns[0])[task]


class Job:
    def __init__(self, number):
        self.number = number
        self.stages = []
        self.ready_ns = self.finished_ns = None


class Attempt:
    def __init__(self, stage, task, variant, start_ns, alone_ns):
        self.stage, self.task, self.variant, self.start_ns = stage, task, variant, start_ns
        self.alone_ns = alone_ns  # what its network bytes take at the rate of its host's downlink
        self.received_ns = self.done_ns = None


class Log:
    """jobs[name], attempts[number] of a controller's log (schemas/recording.md), live or
    simulated."""

    def __init__(self, lines):
        self.jobs, self.attempts, self.links = {}, {}, {}
        self._by_number, self._now_ns = {}, 0
        for line in lines:
            words = line.split()
            if not line.endswith("\n") or not words:
                break
            if words[0] == "step":
                self._now_ns = int(words[1])
            elif words[0] in "ed" and len(words) > 1:
                handler = getattr(self, "_%s_%s" % (words[0], words[1]), None)
                if handler:
                    handler(report.fields(words))

    def _e_host_join(self, f):
        self.links[f["host"]] = int(f["downlink_bps"])

    def _e_job_begin(self, f):
        job = self._by_number.setdefault(f["job"], Job(f["job"]))
        self.jobs.setdefault(urllib.parse.unquote(f["name"]), job)

    def _e_job_stage(self, f):
        job = self._by_number.get(f["job"])
        if job and job.ready_ns is None:
            parents, edges = (reads.numbers(f[name]) for name in ("parents", "edges"))
            job.stages.append(Stage(int(f["tasks"]),
                                    [p for p, edge in zip(parents, edges) if edge == 0]))

    def _e_job_tasks(self, f):
        job = self._by_number.get(f["job"])
        if job and job.ready_ns is None:
            first, computing = int(f["first"]), reads.numbers(f["compute_ns"])
            job.stages[int(f["stage"])].take_computing(int(f.get("variant", 0)), first, computing)

    def _e_job_end(self, f):
        job = self._by_number.get(f["job"])
        if job and job.ready_ns is None:
            job.ready_ns = self._now_ns

    def _d_start(self, f):
        job = self._by_number.get(f["job"])
        if job:
            stage, task = job.stages[int(f["stage"])], int(f["task"])
            stage.first_start.setdefault(task, self._now_ns)
            alone_ns = int(f["input_bytes"]) * 8 * 10**9 / self.links[f["host"]]
            self.attempts[f["attempt"]] = Attempt(stage, task, int(f.get("variant", 0)),
                                                   self._now_ns, alone_ns)

    def _e_attempt_received(self, f):
        attempt = self.attempts.get(f["attempt"])
        if attempt and attempt.received_ns is None:
            attempt.received_ns = self._now_ns

    def _e_attempt_done(self, f):
        attempt = self.attempts.get(f["attempt"])
        if attempt and attempt.done_ns is None:
            attempt.done_ns = self._now_ns
            attempt.stage.done.append(f["attempt"])

    def _d_job_done(self, f):
        job = self._by_number.get(f["job"])
        if job:
            job.finished_ns = int(f["finished_ns"])


# ---- one job's chain ----

def last_done(log, stages, until_ns):
    """The attempt of these stages that was accepted last, not after `until_ns`; or None."""
    ended = [(log.attempts[number].done_ns, number) for stage in stages for number in stage.done
             if log.attempts[number].done_ns <= until_ns]
    return max(ended)[1] if ended else None


def phases(log, number, firsts):
    """One accepted attempt's ns of each part from its start to its acceptance."""
    attempt = log.attempts[number]
    start, done = attempt.start_ns, attempt.done_ns
    received = start if attempt.received_ns is None else attempt.received_ns
    first = firsts.get(number) or start if attempt.alone_ns else received
    first = min(max(first, start), received)
    computing = min(attempt.stage.computing_ns(attempt.variant, attempt.task), done - received)
    return {"start": first - start, "transfer": received - first, "computing": computing,
            "accepted": done - received - computing}


def walk(log, job, planned_ns, firsts):
    """(ns of each part, the chain's attempts) from the job's end back to its planned arrival."""
    parts, chain = collections.Counter(), []
    until = job.finished_ns
    number = last_done(log, job.stages, until)
    while number is not None:
        attempt = log.attempts[number]
        begin = attempt.stage.first_start[attempt.task]
        chain.append(number)
        parts.update(phases(log, number, firsts))
        parts["again"] += attempt.start_ns - begin
        parts["slot"] += until - attempt.done_ns
        until = begin
        number = last_done(log, [job.stages[parent] for parent in attempt.stage.barriers], begin)
    parts["slot"] += until - planned_ns
    return parts, chain


class Side:
    """One run: parts[job name], and how long its chains' network bytes take alone at the links'
    rate."""

    def __init__(self, log, firsts=None, planned=None):
        self.parts, self.alone_ns = {}, {}
        for name, job in log.jobs.items():
            if job.finished_ns is None:
                continue
            self.parts[name], chain = walk(log, job, (planned or {}).get(job.number, job.ready_ns),
                                           firsts or {})
            self.alone_ns[name] = sum(log.attempts[number].alone_ns for number in chain)

    def mean_jct_s(self, names):
        return sum(sum(self.parts[name].values()) for name in names) / len(names) / 1e9

    def mean_s(self, names, part):
        return sum(self.parts[name][part] for name in names) / len(names) / 1e9

    def of_link(self, names):
        """The chains' transfers' part of their links' rate, in percent."""
        took = sum(self.parts[name]["transfer"] for name in names)
        return 100 * sum(self.alone_ns[name] for name in names) / took if took else 100


class Average(Side):
    """Several runs of the same input: each job's parts are the means of theirs."""

    def __init__(self, runs):
        self.runs = runs
        self.parts, self.alone_ns = {}, {}
        for name in set.intersection(*(set(run.parts) for run in runs)):
            self.parts[name] = {part: sum(run.parts[name][part] for run in runs) / len(runs)
                                for part in PARTS}
            self.alone_ns[name] = sum(run.alone_ns[name] for run in runs) / len(runs)

    def range(self, names):
        """In words, of several runs."""
        means = [run.mean_jct_s(names) for run in self.runs]
        if len(means) == 1:
            return ""
        return " (%d runs: %.2f to %.2f s, standard deviation %.2f s)" % (
            len(means), min(means), max(means), statistics.stdev(means))


# ---- words ----

def common(live, simulated):
    """The jobs that both finished, in order."""
    return sorted(set(live.parts) & set(simulated.parts))


def means(live, simulated):
    """{part: (mean seconds live, simulated)} over the jobs that both finished; None without one."""
    names = common(live, simulated)
    return {part: (live.mean_s(names, part), simulated.mean_s(names, part))
            for part in PARTS} if names else None


def sentence(live, simulated):
    """One line: the difference of the mean JCTs, over jobs that both finished, and its parts, which
    add up to it."""
    names, parts = common(live, simulated), means(live, simulated)
    if not parts:
        return "the simulator and this run finished no job in common"
    mean, other = map(sum, zip(*parts.values()))
    words = []
    for part, (here, there) in parts.items():
        said = "%s %+.2f" % (WORDS[part], here - there)
        if part == "transfer":
            said += " (at %.0f %% of the links' rate, simulated %.0f %%)" % (
                live.of_link(names), simulated.of_link(names))
        if part not in ("computing", "again") or abs(here - there) >= 0.005:
            words.append(said)
    return ("mean JCT %.2f s, of the simulator on the same input %.2f s%s: %+.2f s (%+.0f %%), "
            "along what each of %d jobs waited for last %s" % (
                mean, other, simulated.range(names), mean - other, 100 * (mean / other - 1),
                len(names), ", ".join(words)))


def read(paths):
    def lines():
        for path in paths:
            with open(path) as part:
                yield from part
    return Log(lines())


def sides(live_logs, said, results, simulated_logs):
    """(live, the average of the simulated), from files: the live logs oldest first, the driver's
    results; `said`: ports.read()'s."""
    firsts = {attempt: ports.first_of(lines, "first") for attempt, lines in said.items()}
    planned = {}
    with open(results) as rows:
        for row in map(json.loads, rows):
            if "job" in row:
                planned[str(row["job"])] = row["planned_ns"]
    return (Side(read(live_logs), firsts, planned),
            Average([Side(read([log])) for log in simulated_logs]))


def simulate(program, workload, policy, options, log):
    """Runs the simulator under the policy of that name, its log to a file; `options` are
    duopoly-sim's, NAME: VALUE, or a list of values."""
    words = ["--%s=%s" % (name, value) for name, values in options.items()
             for value in (values if isinstance(values, list) else [values])]
    system.run(program, "run", "--workload=" + workload, "--policy=" + policy, "--log=" + log,
               *words)
