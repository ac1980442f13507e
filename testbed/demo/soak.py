"""make soak-live: a repeating load on a testbed where something is killed every few seconds, then a
check that all of it ended well.

    python3 -m testbed.demo.soak

MINUTES (60), KILL_EVERY (20 seconds) and SEED (drawn from the time) give how long, how often and
which kills; the other variables are those of make up. Each kill is printed. At the end a whole
host is killed for good and the load runs out. Then every job must be done, or have failed with a
reason, no attempt may run and no slot be taken, and, once that host is back too, no process,
cgroup or namespace may be left. Meanwhile no transfer may pause for longer than all outages
together explain. The exit status says whether all held; logs stay in BUILD/soak."""

import collections
import contextlib
import json
import os
import re
import subprocess
import sys
import time

from testbed.demo import demo, inputs, victims
from testbed.net import cluster, instance, network, system

LOOK_SECONDS = 5
# An outage lasts at most 90 s, TCP's next try comes as much later at most, and then the rest of the
# queue goes first.
STILL_SECONDS = 200
RUN_OUT_SECONDS = 300
# So long the driver waits for a job to end: the last large one of a round begins again with every
# data server that is away.
PATIENCE_SECONDS = 600
CALM_SECONDS = 30
# Of each state folder, which a full disk fills.
STATE_SIZE = "64m"
SHOWN_MAX = 20
WAITING_STATES = ("sent", "queued", "started", "receiving")


class Report:
    """Prints lines with the time since the beginning, and collects failures."""

    def __init__(self):
        self.began = time.monotonic()
        self.faults = []
        self.failed = 0  # jobs

    def say(self, text):
        seconds = int(time.monotonic() - self.began)
        print("%3d:%02d %s" % (seconds // 60, seconds % 60, system.printable(text)), flush=True)

    def fault(self, text):
        self.faults.append(text)
        self.say("FAULT: " + text)

    def fault_of_many(self, what, texts):
        if texts:
            self.fault("%d %s: %s%s" % (len(texts), what, "; ".join(texts[:SHOWN_MAX]),
                                        "; …" if len(texts) > SHOWN_MAX else ""))


class Driver:
    """duopoly-replay, round after round. A name is a job, so each start gives its jobs names of its
    own."""

    def __init__(self, running, path, jobs, logs):
        self.running, self.path, self.jobs, self.logs = running, path, jobs, logs
        self.starts, self.child = 0, None

    def start(self):
        self.starts += 1
        path = os.path.join(self.logs, "workload.jsonl")
        with open(self.path) as lines, open(path, "w") as out:
            out.write(next(lines))
            for line in lines:
                job = json.loads(line)
                job["name"] = "%d-%s" % (self.starts, job.get("name", "job"))
                out.write(json.dumps(job) + "\n")
        command = [self.running.program("duopoly-replay"), "--socket", self.running.socket,
                   "--label", "soak", "--rounds", "0", "--patience", str(PATIENCE_SECONDS),
                   "--set", "jobs=" + self.jobs, path]
        with open(self._log(), "ab") as out:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                          stderr=subprocess.STDOUT, start_new_session=True)
        self.running.net.instance.add_process(self.child.pid)

    def runs(self):
        return self.child is not None and self.child.poll() is None

    def kill(self):
        self.child.kill()
        self.child.wait()
        self.child = None

    def ended(self):
        """Its last line if it has ended by itself; it is forgotten then."""
        if self.child is None or self.child.poll() is None:
            return None
        self.child = None
        with open(self._log(), errors="replace") as said:
            return (said.read().strip().splitlines() or ["it said nothing"])[-1]

    def _log(self):
        return os.path.join(self.logs, "replay.log")


class Transfers:
    """Whether attempts that take slots make progress."""

    def __init__(self, running, report):
        self.running, self.report = running, report
        self.seen = {}  # attempt: (state and bytes, since when)
        self.told = set()

    def look(self):
        now, before = time.monotonic(), self.seen
        self.seen = {}
        for row in self.running.ask("tasks")["tasks"]:
            attempt, state = row["attempt"], (row["state"], row["received_bytes"])
            since = before[attempt][1] if attempt in before and before[attempt][0] == state else now
            self.seen[attempt] = (state, since)
            still = now - since > STILL_SECONDS
            if row["state"] in WAITING_STATES and still and attempt not in self.told:
                self.told.add(attempt)
                self.report.fault("%s has not moved for %d s: %s" % (task_words(row), now - since,
                                                                     self._why(attempt)))

    def _why(self, attempt):
        try:
            return self.running.ask("explain", str(attempt))["text"]
        except system.Failure as failure:
            return str(failure)


def task_words(row):
    return "%d/%d/%d, %s with %d bytes on %s" % (
        row["job"], row["stage"], row["task"], row["state"], row["received_bytes"], row["host"])


class Soak:
    def __init__(self, running, driver, seed, report):
        self.running, self.driver, self.report = running, driver, report
        self.victims = victims.Victims(running, driver, seed, report.say)
        self.transfers = Transfers(running, report)
        self.next_look = 0

    def run(self, seconds, kill_every):
        self.driver.start()
        end, next_kill = time.monotonic() + seconds, time.monotonic() + kill_every
        while time.monotonic() < end:
            self._tick()
            if self._may_submit() and self.driver.child is None:
                self.driver.start()
            if time.monotonic() >= next_kill:
                self.victims.kill()
                next_kill += kill_every
        self._run_out()
        self._calm_down()
        self.judge_jobs()
        self.report.say(self.running.check_memory())

    def _may_submit(self):
        away = [what for _, _, what, _ in self.victims.returns]
        return network.CONTROLLER not in self.victims.hurt and "driver" not in away

    def _tick(self):
        time.sleep(0.1)
        self.victims.bring_back()
        words = self.driver.ended()
        if words:
            self.report.fault("the driver has ended: %s" % words)
        for program, name, words in self.running.ended():
            if program == "duopolyd":
                raise system.Failure("the controller has ended: %s" % words)
            self.report.fault("%s on %s has ended by itself: %s" % (program, name, words))
            self.running.kill(program, name)
            self.running.start(program, name)
        if time.monotonic() >= self.next_look and not self.victims.controller_is_away():
            self.next_look = time.monotonic() + LOOK_SECONDS
            self.transfers.look()

    def _ticks_until(self, condition, seconds):
        """Whether the condition came to hold within that many seconds."""
        end = time.monotonic() + seconds
        while self.victims.controller_is_away() or not condition():
            if time.monotonic() > end:
                return False
            self._tick()
        return True

    def _run_out(self):
        """With one host dead for good, for which no transfer may wait."""
        if self.driver.runs():
            self.driver.kill()
        self.victims.returns = [back for back in self.victims.returns if back[2] != "driver"]
        buried = self.victims.bury()
        if not self._ticks_until(lambda: self.running.ask("status")["jobs_active"] == 0,
                                 RUN_OUT_SECONDS):
            self.report.fault_of_many(
                "jobs have not ended %d s after the last kill" % RUN_OUT_SECONDS,
                ["%d %s" % (row["job"], row["name"]) for row in self.running.ask("jobs")["jobs"]])
            self.report.fault_of_many("attempts still run", [
                "%s: %s" % (task_words(row), self.transfers._why(row["attempt"]))
                for row in self.running.ask("tasks")["tasks"]])
        self.victims.bring_back(everything=True)
        self.victims.raise_up(buried)
        self.report.say("all of %s is back" % buried)

    def _calm_down(self):
        """All hosts are up, and no attempt has left anything on them."""
        if not self._ticks_until(lambda: not self._left(), CALM_SECONDS):
            self.report.fault_of_many("things left %d s after the last job" % CALM_SECONDS,
                                      self._left())

    def _left(self):
        """What must not exist without a job, as lines."""
        status = self.running.ask("status")
        programs = victims.programs(os.path.dirname(self.running.program("")))
        words = ["%s %d" % (name, pid) for pid, name in programs if name in victims.TASKS]
        words += ["cgroup %s" % folder for folder in self._attempt_cgroups()]
        if status["attempts"]:
            words.append("%d attempts in the controller" % status["attempts"])
        if status["slots_free"] != status["slots"]:
            words.append("%d of %d slots taken" %
                         (status["slots"] - status["slots_free"], status["slots"]))
        # A suspect host is back when somebody reads from it, and without a job nobody does.
        there = status["hosts_up"] + status["hosts_suspect"]
        if there < len(self.running.net.hosts):
            words.append("%d of %d hosts there" % (there, len(self.running.net.hosts)))
        return words

    def _attempt_cgroups(self):
        """One level below the hosts' own: an attempt's parent is in it too."""
        top = self.running.net.instance.state["cgroup"]
        return [os.path.join(host, name) for host in self.running.net.hosts
                for name in listed(os.path.join(top, host))
                if os.path.isdir(os.path.join(top, host, name))]

    def judge_jobs(self):
        jobs = self.running.ask("jobs", "-a")["jobs"]
        failed = [job for job in jobs if job["state"] == "failed"]
        silent = ["%d %s" % (job["job"], job["name"]) for job in failed if not job["text"]]
        other = ["%d %s is %s" % (job["job"], job["name"], job["state"]) for job in jobs
                 if job["state"] not in ("done", "failed") and not was_refused(job)]
        self.report.fault_of_many("tasks accepted more than once", [
            words for job in jobs if job["state"] == "done" for words in self._accepted_twice(job)])
        self.report.fault_of_many("jobs failed without a reason", silent)
        self.report.fault_of_many("jobs neither done nor failed", other)
        self.report.failed = len(failed)
        for job in [job for job in failed if job["text"]][:SHOWN_MAX]:
            self.report.say("job %d %s failed: %s" % (job["job"], job["name"], job["text"]))
        killed = self.victims.killed
        kinds = ", ".join("%d %s" % (killed[kind], kind.replace("_", " "))
                          for kind in sorted(killed))
        done = sum(job["state"] == "done" for job in jobs)
        self.report.say(
            "%d kills (%s); %d jobs done, %d failed with a reason, %d without, %d not ended" % (
                sum(killed.values()), kinds, done, len(failed) - len(silent), len(silent),
                len(other)))

    def _accepted_twice(self, job):
        """Tasks of its last stage, whose outputs cannot be lost."""
        rows = self.running.ask("tasks", str(job["job"]), "-a")["tasks"]
        last = max((row["stage"] for row in rows), default=0)
        done = collections.Counter(
            row["task"] for row in rows if row["stage"] == last and row["state"] == "done")
        return ["%d/%d/%d" % (job["job"], last, task) for task in sorted(done) if done[task] > 1]


def was_refused(job):
    """Whether the controller, which could not keep it, refused it to its submitter."""
    text = job["text"] or ""
    return job["state"] == "cancelled" and text.endswith("the store cannot be written")


def listed(folder):
    return os.listdir(folder) if os.path.isdir(folder) else []


def whole_number(environment, name, default, most):
    text = environment.get(name) or str(default)
    if not re.fullmatch(r"[0-9]{1,18}", text) or not 1 <= int(text) <= most:
        raise system.Failure("%s is \"%s\", must be a whole number 1…%d" % (name, text, most))
    return int(text)


@contextlib.contextmanager
def standing(asked, folder, quick):
    """(cluster, workload) while it runs; afterwards nothing of it is left, or Failure says what."""
    instance.end_abandoned()
    own = instance.create(demo.TREE)
    try:
        path = asked.workload(folder)
        net = asked.network(own)
        net.up()
        running = cluster.Cluster(net, asked.build, asked.policies[0], asked.slots,
                                  inputs.scale_of(path), asked.seed,
                                  os.path.join(folder, "logs"), quick, ports=False)
        running.small = dict.fromkeys(net.hosts + [network.CONTROLLER], STATE_SIZE)
        running.up()
        yield running, path
        running.down()
    finally:
        own.down()
    left = ["process %d (%s)" % one for one in victims.programs(own.path("bin"))]
    left += [name for name in listed(instance.NETNS) if name.startswith(own.namespace(""))]
    left += [path for path in (own.state["cgroup"], own.directory) if os.path.exists(path)]
    if left:
        raise system.Failure("left behind: %s" % ", ".join(left))


def schedule(asked, folder, seed, seconds, every, quick=1):
    """A testbed under one schedule of kills; its report."""
    report = Report()
    with standing(asked, folder, quick) as (running, path):
        driver = Driver(running, path, asked.jobs_limit(), running.logs)
        Soak(running, driver, seed, report).run(seconds, every)
    return report


def soak(environment):
    inputs.check_names(environment)
    minutes = whole_number(environment, "MINUTES", 60, 10**6)
    every = whole_number(environment, "KILL_EVERY", 20, 3600)
    seed = whole_number(environment, "SEED", int(time.time()), 2**53)
    policies = environment.get("POLICIES") or "joint"
    asked = demo.prepare(dict(environment, SEED="", POLICIES=policies), lasting=True)
    if len(asked.policies) != 1 or asked.hosts < 2:
        raise system.Failure("a soak has one policy and at least two hosts")
    with demo.own_folder(asked.build, "soak") as folder:
        print("%d minutes under %s, something is killed every %d s, SEED=%d; logs in %s" % (
            minutes, asked.policies[0], every, seed, folder), flush=True)
        report = schedule(asked, folder, seed, 60 * minutes, every)
        print("soak: %s" % ("all held" if not report.faults else "%d faults" % len(report.faults)))
        return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(demo.run("soak", soak))
