"""make demo-preempt: a job of a high priority comes while all slots are taken, and is given two of
them.

    python3 -m testbed.demo.preempting

Three hosts of two slots under `flow` with `objective: borg` and `preempt`. A long job takes all
slots. Then a late one comes, whose two tasks run on w1 alone: two tasks of the long job are
stopped there, and run again on other hosts while the late job still runs. All of this is checked,
and that lists and explanations say so, and that nothing was lost; the exit status says whether it
was so. Logs stay in BUILD/demo-preempt."""

import json
import os
import sys

from testbed.demo import demo
from testbed.net import cluster, instance, system

HOSTS = {"HOSTS": "3", "SLOTS": "2", "POLICIES": "flow"}
CHOICES = ("turn: fifo", "objective: borg", "preempt: yes")
LATE_HOST, PRIORITY = "w1", 5
# WHY the late tasks compute longer: the others' slots are then free before theirs.
LONG_MS, LATE_MS, LATE_TASKS = 6000, 12000, 2
SOON_SECONDS, ALL_SECONDS = 30, 90


class Story:
    """The two jobs on a running cluster. say(line) is told what happened."""

    def __init__(self, running, hosts, slots, folder, say):
        self.running, self.slots, self.folder, self.say = running, hosts * slots, folder, say
        self.head = {"duopoly_workload": 1, "hosts": hosts}
        self.long = self.late = None

    def tell(self):
        """Failure if anything is not as it should be."""
        self.long = self._submit("long", {"tasks": self.slots, "compute_ms": LONG_MS})
        self._wait(lambda: len(self._running(self.long)) == self.slots, "all slots taken")
        before = self._running(self.long)
        self.say("the long job has all %d slots" % self.slots)
        stage = {"tasks": LATE_TASKS, "compute_ms": LATE_MS, "constraint": "host=" + LATE_HOST}
        self.late = self._submit("late", stage, priority=PRIORITY)
        self._wait(lambda: len(self._running(self.late)) == LATE_TASKS, "the late job's start")
        stopped = sorted(task for task, host in before.items() if host == LATE_HOST)
        self.say("the late job of priority %d runs on %s; stopped there: %s" % (
            PRIORITY, LATE_HOST, ", ".join("%d/0/%d" % (self.long, task) for task in stopped)))
        self._explained(stopped)
        again = self._wait(lambda: self._elsewhere(stopped), "the stopped tasks running again")
        self.say("they run again: " + ", ".join("%d/0/%d on %s" % (self.long, task, host)
                                                for task, host in sorted(again.items())))
        self._wait(lambda: all(self._job(job)["state"] == "done" for job in (self.long, self.late)),
                   "the end of both jobs", ALL_SECONDS)
        self._lost(len(stopped))

    def _explained(self, stopped):
        for task in stopped:
            why = self._explain(self.long, task)
            self._check("a task of priority %d has its slot" % PRIORITY in why, why)
            self._check("what it had run for counted" in why, why)
        self.say("why %d/0/%d: %s" % (self.long, stopped[0], self._explain(self.long, stopped[0])))
        for task in range(LATE_TASKS):
            why = self._explain(self.late, task)
            self._check("was stopped on %s for it" % LATE_HOST in why, why)
        self.say("why %d/0/0: %s" % (self.late, self._explain(self.late, 0)))

    def _elsewhere(self, stopped):
        """{task: host} of the stopped ones, once all of them run; on other hosts."""
        running = {task: host for task, host in self._running(self.long).items() if task in stopped}
        self._check(LATE_HOST not in running.values(), "a stopped task is on %s again" % LATE_HOST)
        return running if len(running) == len(stopped) else None

    def _lost(self, evictions):
        long, late = self._job(self.long), self._job(self.late)
        self._check(long.get("evictions") == evictions and long.get("evicted_ns", 0) > 0,
                    "the row of the long job is %s" % long)
        self._check(not late.get("evictions"), "the row of the late job is %s" % late)
        self.say("both jobs are done; %d evictions lost %.2f s of the long job's work" % (
            evictions, long["evicted_ns"] / 1e9))

    def _submit(self, name, stage, **more):
        path = os.path.join(self.folder, name + ".jsonl")
        job = {"id": 1, "name": name, "arrival_ms": 0, "stages": [stage], **more}
        with open(path, "w") as out:
            out.writelines(json.dumps(line) + "\n" for line in (self.head, job))
        return self.running.ask("submit", path)["jobs"][0]["job"]

    def _running(self, job):
        """{task: host}"""
        return {row["task"]: row["host"] for row in self.running.ask("tasks", str(job))["tasks"]
                if row["state"] == "computing"}

    def _job(self, job):
        return next(row for row in self.running.ask("jobs", "-a")["jobs"] if row["job"] == job)

    def _explain(self, job, task):
        return self.running.ask("explain", "%d/0/%d" % (job, task))["text"].strip()

    def _wait(self, condition, what, seconds=SOON_SECONDS):
        return system.wait_for(lambda: self.running.check_alive() or condition(), seconds, what,
                               lambda: "the daemons' logs are in " + self.running.logs)

    @staticmethod
    def _check(holds, sentence):
        if not holds:
            raise system.Failure("not as it should be: " + sentence)


def preempt(environment):
    del environment  # it takes none
    asked = demo.prepare(HOSTS)
    with demo.own_folder(asked.build, "demo-preempt") as folder, demo.own_programs(asked, folder):
        instance.end_abandoned()
        own = instance.create(demo.TREE)
        try:
            net = asked.network(own)
            net.up()
            running = cluster.Cluster(net, asked.build, "flow", asked.slots, 1, asked.seed,
                                      os.path.join(folder, "flow"), choices=CHOICES)
            try:
                running.up()
                Story(running, len(net.hosts), asked.slots, folder,
                      lambda line: print(line, flush=True)).tell()
            finally:
                running.down()
        finally:
            own.down()
    return 0


if __name__ == "__main__":
    sys.exit(demo.run("demo-preempt", preempt))
