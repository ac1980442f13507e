"""make test-hostile: hostile programs, one for each role, against a controller and agents under a normal load, and whether its promises held.

    python3 -B -m tests.hostile.run

HOSTILE_SECONDS (3600), HOSTILE_SEED (drawn from the time) and HOSTILE_ROLES (all: task driver agent reader submitter stranger) say how long, which
sequences, and who takes part. Agents have the rights that packaging/ gives them; HOSTILE_KEYS=no is the same without keys and as root. The
time is cut into windows: quiet ones, each role alone, and all together, again and again. Within each, honest programs (honest.py) measure what others notice. At the end it prints, per role and for all, by
how much their 99th percentiles grew, the controller's memory, and what was broken, with the last operations of who was at it. Exit status 1 when
something was; logs stay in BUILD/hostile then."""
import collections
import json
import os
import shutil
import subprocess
import sys
import time

from . import path
from .doors import Broken
from .role import ROLES
from .world import HONEST, FIRST_ROLE, Packaged, World
from controller import BUILD
from scripted import AsRoot

PARTS = ("submitter", "framework tcp", "framework socket", "host", "operator")  # in the order of their ends
SLOWER = 2.0
# What is slower than this is slow; below it a ratio says nothing about anybody's wait (the machine's own scheduling does as much).
FLOOR_SECONDS = 0.002
# A 99th percentile of fewer is none.
SAMPLES = 100
JUDGED_BY_TIME = ("heartbeat", "attempt's words", "join", "status", "hosts", "status from afar", "come and ask", "change", "submit part", "submit end", "fact", "framework join")


class Program:
    """A child that speaks by lines of JSON."""

    def __init__(self, host, module, word, log):
        self.word = word
        with open(log, "ab") as said:
            self.process = host.popen("/usr/bin/python3", "-B", "-m", module, word, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True,
                                      bufsize=1, cwd=path.TREE)
        self.log = log

    def tell(self, message):
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
        except BrokenPipeError:
            self.has_ended()

    def hear(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else self.has_ended()

    def has_ended(self):
        """That is a fault of this harness and not of what it tries."""
        with open(self.log, errors="replace") as said:
            raise AssertionError("the program %s has ended: %s" % (self.word, said.read()[-2000:]))

    def end(self):
        """Its last words where it has some."""
        if self.process.poll() is None:
            self.process.stdin.close()
        return self.process

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def schedule_before_others(process, priority):
    """All its threads, not what it starts, before all that has no such priority or a lower one: each of these programs, and who attacks, would have a
    machine of its own, and so would who builds beside."""
    for thread in os.listdir("/proc/%d/task" % process.pid):
        os.sched_setscheduler(int(thread), os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(priority))


def schedule_after_others(process):
    """All its threads and what it starts, after the kernel's own threads: these write the controller's store to the disk, and would do so on its machine."""
    for thread in os.listdir("/proc/%d/task" % process.pid):
        os.sched_setscheduler(int(thread), os.SCHED_IDLE, os.sched_param(0))


class Plan:
    """Windows, one after the other: (name, roles on, seconds)."""

    def __init__(self, roles, seconds, long):
        self.roles, self.seconds = roles, seconds
        self.each = min(20.0, seconds / (1.5 * (len(roles) + 2))) if long else seconds / (len(roles) + 3)

    def windows(self):
        until = time.monotonic() + self.seconds
        while True:
            for name, on in [(role, [role]) for role in self.roles] + [("all", self.roles)]:
                yield "quiet", [], self.each / 2
                yield name, on, self.each
            if time.monotonic() >= until:
                return


class Run:
    def __init__(self, roles, seconds, seed, keys=True, long=True, rights=AsRoot, say=print):
        self.roles, self.seconds, self.seed, self.keys, self.long, self.rights, self.say = roles, seconds, seed, keys, long, rights, say
        self.faults, self.moves, self.last = [], collections.Counter(), {}
        self.world, self.hostile, self.honest = None, {}, {}
        self.memory, self.complete = {}, False
        self.logs = os.path.join(BUILD, "hostile", "%d%s" % (os.getpid(), "" if keys else "-no-keys"))
        self.told = {}
        self.times, self.since = [], time.monotonic()

    def fault(self, window, text):
        self.faults.append((window, text))
        self.say("FAULT in window %s (SEED=%d): %s" % (window, self.seed, text))

    # ---- begin and end ----

    def all(self):
        """Everything; the faults found."""
        os.makedirs(self.logs, exist_ok=True)
        try:
            self.begin()
            self.took("the begin")
            for window, on, seconds in Plan(self.roles, self.seconds, self.long).windows():
                self.window(window, on, seconds)
                if self.world.daemon.poll() is not None:
                    break
            self.took("windows")
            self.finish()
            self.complete = True
            self.took("the rest of the load")
        finally:
            self.end()
            self.took("the removal")
            self.say("it took " + ", ".join(self.times))
        return self.faults

    def took(self, what):
        now = time.monotonic()
        self.times.append("%s %.1f s" % (what, now - self.since))
        self.since = now

    def begin(self):
        self.world = World(self.roles, self.keys, not self.long, self.rights, self.seed)
        for part in PARTS:
            self.honest[part] = Program(self.world.net.hosts[HONEST], "tests.hostile.honest", part,
                                        os.path.join(self.logs, "honest-%s.log" % part.replace(" ", "-")))
            self.honest[part].tell(self.world.honest_place(120 if self.long else 60))
        for i, role in enumerate(self.roles):
            self.hostile[role] = Program(self.world.net.hosts[FIRST_ROLE + i], "tests.hostile.role", role, os.path.join(self.logs, role + ".log"))
            self.hostile[role].tell(self.world.place(role, self.long))
        for role in self.roles:
            self.switch(role, {"on": False})
        if self.long:
            schedule_before_others(self.world.daemon, 2)
            for process in [self.world.agents[0].process, *(part.process for part in self.honest.values())]:  # the honest driver comes by this agent
                schedule_before_others(process, 1)
            for program in self.hostile.values():
                schedule_after_others(program.process)

    def finish(self):
        """The load runs out, part by part: who runs tasks does so until nobody waits for one. Each tells then."""
        for name, part in self.honest.items():
            part.tell({"window": "end"})
            part.end()
            try:
                self.told[name] = part.hear()
            except AssertionError as ended:
                self.fault("end", str(ended))
                continue
            for text in self.told[name]["faults"]:
                self.faults.append((text.partition(":")[0], "%s: %s" % (name, text.partition(": ")[2])))
        self.judge()

    def end(self):
        for program in [*self.hostile.values(), *self.honest.values()]:
            program.end()
        for program in [*self.hostile.values(), *self.honest.values()]:
            try:
                program.process.wait(5)
            except subprocess.TimeoutExpired:
                pass
            program.kill()
        if self.world:
            shutil.copy(self.world.folder / "duopolyd.log", os.path.join(self.logs, "duopolyd.log"))
            for agent in self.world.agents:
                shutil.copy(agent.log, self.logs)
            for text in self.world.remove():
                self.fault("end", text)
        if self.complete and not self.faults:
            shutil.rmtree(self.logs)

    # ---- windows ----

    def switch(self, role, message):
        """Turns one on or off; what it did since."""
        self.hostile[role].tell(message)
        told = self.hostile[role].hear()
        self.moves.update({"%s: %s" % (role, move): n for move, n in told["moves"].items()})
        if told["last"]:
            self.last[role] = told["last"]
        for text in told["broken"]:
            self.fault(role, text)

    def window(self, name, on, seconds):
        known = self.known(name) if on else None
        before = len(self.faults)
        for role in on:
            self.switch(role, {"on": True, "known": self.known_to(role, known)})
        for part in self.honest.values():
            part.tell({"window": name})
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(min(0.2, max(0, until - time.monotonic())))
            self.look(name)
        for part in self.honest.values():
            part.tell({"window": "after" if on else name})
        for role in on:
            self.switch(role, {"on": False})
        if on:
            time.sleep(min(5.0, seconds / 4))  # what stands in queues still is neither window's
        for text in self.world.dead():
            self.fault(name, text)
        if len(self.faults) > before:
            for role in on:
                self.say("  last operations of %s: %s" % (role, "; ".join(self.last.get(role, []))))

    def known(self, window):
        try:
            return self.world.known()
        except (Broken, OSError) as broken:
            self.fault(window, "before it, duopolyd: %s" % broken)
            return dict.fromkeys(("attempts", "jobs", "names", "hosts", "addresses"), [])

    def known_to(self, role, known):
        """Without keys an application is whoever says its name: no promise holds against that."""
        return dict(known, hosts=[name for name in known["hosts"] if not name.startswith("honest-")]) if role == "driver" and not self.keys else known

    def look(self, name):
        if self.world.daemon.poll() is None:
            self.memory[name] = max(self.memory.get(name, 0), self.world.memory_kb())

    # ---- judgement ----

    def judge(self):
        for text in [line for line in self.world.log().splitlines() if "error: internal:" in line][:5]:
            self.fault("end", text)
        if "operator" in self.told:
            self.judge_changes()
        self.judge_times()
        self.judge_memory()
        try:
            states = self.world.hosts()
        except (Broken, OSError):
            states = {}
        for name in ("h1", "h2"):
            if states.get(name) != "up":
                self.fault("end", "host %s is %s" % (name, states.get(name, "not there")))
        for role in self.roles:
            if not any(move.startswith(role + ": ") for move in self.moves):
                self.fault(role, "it made no move")

    def judge_changes(self):
        """Every change that the operator was told to be made stands in the audit, and in the log."""
        told, log = self.told["operator"], self.world.log()
        for what, made in told["by_kind"].items():
            in_audit = sum(row[1].startswith(what) and not row[2].startswith("refused") for row in told["audit"])
            in_log = sum(what in line for line in log.splitlines())
            if in_audit < made:
                self.fault("all", "of %d changes '%s' the audit has %d" % (made, what, in_audit))
            if in_log < made:
                self.fault("all", "of %d changes '%s' the log has %d" % (made, what, in_log))

    def samples(self, kind, window):
        return [s for part in self.told.values() for s in part["samples"].get(kind, {}).get(window, [])]

    def kinds(self):
        return sorted({kind for part in self.told.values() for kind in part["samples"]})

    def judge_times(self):
        """Prints the table; in the long form a ratio above the bar is a fault."""
        windows = [*self.roles, "all"]
        self.say("others' 99th percentile in ms, and by how much longer it is than in quiet windows (bar: x %.1f, from %g ms on):" % (SLOWER,
                                                                                                                                      FLOOR_SECONDS * 1e3))
        for kind in self.kinds():
            quiet = percentile(self.samples(kind, "quiet"), 99)
            row = ["%-18s quiet %8.2f" % (kind, 1e3 * quiet)]
            for window in windows:
                samples = self.samples(kind, window)
                slow = percentile(samples, 99)
                ratio = slow / max(quiet, 1e-9)
                missed = self.long and kind in JUDGED_BY_TIME and len(samples) >= SAMPLES and slow > FLOOR_SECONDS and ratio > SLOWER
                row.append("%s %.2f (x %.2f of %d)%s" % (window, 1e3 * slow, ratio, len(samples), " MISSED" if missed else ""))
                if missed:
                    self.faults.append((window, "p99 of %s is x %.2f" % (kind, ratio)))
            self.say("  " + "; ".join(row))

    def judge_memory(self):
        most, bound = max(self.memory.values(), default=0), self.world.memory_bound_kb()
        self.say("the controller's memory, kB at most, of %d that are configured: %s" % (bound,
                                                                                         ", ".join("%s %d" % pair for pair in sorted(self.memory.items()))))
        if most > bound:
            self.fault("all", "the controller had %d kB of memory, more than %d" % (most, bound))


def percentile(samples, percent):
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else 0.0


def main(environment):
    seconds = float(environment.get("HOSTILE_SECONDS") or 3600)
    seed = int(environment.get("HOSTILE_SEED") or time.time())
    roles = (environment.get("HOSTILE_ROLES") or " ".join(ROLES)).replace(",", " ").split()
    unknown = [role for role in roles if role not in ROLES]
    if unknown:
        print("test-hostile: there is no role '%s'; there are: %s" % (unknown[0], " ".join(ROLES)), file=sys.stderr)
        return 2
    if os.geteuid() != 0:
        print("test-hostile: namespaces and tasks of another user need root", file=sys.stderr)
        return 2
    print("%d s of %s, SEED=%d" % (seconds, " ".join(roles), seed), flush=True)
    keys = environment.get("HOSTILE_KEYS") != "no"
    run = Run(roles, seconds, seed, keys=keys, rights=Packaged if keys else AsRoot,
              say=lambda text: print(text, flush=True))
    run.all()
    for move, n in sorted(run.moves.items()):
        print("  %6d %s" % (n, move))
    for window, text in run.faults:
        print("broken in window %s: %s" % (window, text))
    print("test-hostile: %s, SEED=%d" % ("all held" if not run.faults else "%d promises broken; logs in %s" % (len(run.faults), run.logs), seed))
    return 1 if run.faults else 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
