"""The load that hostile roles are not to disturb: programs that do nothing but their work, and measure how long each answer takes.

    python3 -B -m tests.hostile.honest PART     (nothing but tests/hostile/run.py starts it)

Lines of JSON on its standard input: first the place, then {"window": NAME}, into which samples are counted from then on; at its end one line
goes out: {"samples": {kind: {window: [seconds]}}, "faults": [sentences], …what the part has to tell}. A fault is an answer that was a refusal, or
did not come, or a session that ended: all of these are promised to who does nothing wrong."""
import json
import queue
import sys
import threading
import time

import zmq

from . import path  # noqa: F401: the modules of tests/net are found by it
from .doors import Broken, Packets, Stream, Tcp
from controller import pb

PATIENCE = 20.0
ALIVE_SECONDS = 2.0  # so often who only listens over TCP says that he is there, as duopolyctl does
LOOK_SECONDS = 30.0
CHANGE_SECONDS = 2.0  # a person, or his script, is no faster


class Part:
    """What all parts have: the window, samples, faults."""

    def __init__(self, place):
        self.place, self.context = place, zmq.Context()
        self.samples, self.faults, self.window = {}, [], "begin"
        self.ended = False
        self.doors = {}

    def note(self, kind, began):
        self.samples.setdefault(kind, {}).setdefault(self.window, []).append(round(time.monotonic() - began, 6))

    def fault(self, text):
        self.faults.append("%s: %s" % (self.window, text))
        if len(self.faults) < 20:
            print("%s: %s" % (type(self).__name__, self.faults[-1]), file=sys.stderr, flush=True)

    def tcp(self, key):
        return Tcp(self.context, self.place["address"], self.place["keys"].get(key))

    def client(self, key):
        """As a client with this key does; without keys on the Unix socket."""
        return self.tcp(key) if self.place["keys"] else Packets(self.place["socket"])

    def ask(self, door, kind, **bodies):
        """The answer, with its time under `kind`; None and a fault where it is none that was wanted."""
        began = time.monotonic()
        answer = door.ask(PATIENCE, **bodies)
        self.note(kind, began)
        if answer.HasField("refused"):
            self.fault("%s was refused: %s" % (kind, answer.refused.text))
            return None
        return answer

    def fresh(self, name, make):
        """A door of this name, which stays."""
        if name not in self.doors:
            self.doors[name] = make()
        return self.doors[name]

    def begin_anew(self):
        for door in self.doors.values():
            door.close()
        self.doors = {}

    def run(self, inbox):
        broke = False
        while not self.ended:
            while not inbox.empty():
                told = inbox.get()
                self.ended = told is None
                self.window = self.window if self.ended else told["window"]
            try:
                if broke:
                    self.begin_anew()
                self.step()
                broke = False
            except (Broken, OSError, zmq.ZMQError, EOFError) as broken:
                self.fault("%s: %s" % (type(broken).__name__, broken))
                broke = True
                time.sleep(0.2)

    def report(self):
        return {"samples": self.samples, "faults": self.faults}


class Submitter(Part):
    """Small jobs of one stage or two, one after the other, each watched to its end."""

    def __init__(self, place):
        super().__init__(place)
        self.n, self.open = 0, {}  # name: (number, since when)
        self.last = self.alive = 0.0
        self.looked, self.unheard = time.monotonic(), set()  # ends that the list had at the last look

    def watcher(self):
        def make():
            door = self.client("sch1")
            self.ask(door, "watch", watch=pb.Watch())
            return door
        return self.fresh("watch", make)

    def submit(self, stages):
        door = self.fresh("submit", lambda: self.client("sch1"))
        self.n += 1
        name = "honest-%d" % self.n
        began = time.monotonic()
        if not self.ask(door, "submit part", submit_begin=pb.SubmitBegin(name=name, content=self.n, estimate_bytes=-1, estimate_ns=-1)):
            return
        for number in range(stages):
            self.ask(door, "submit part", submit_stage=pb.SubmitStage(stage=number, tasks=2, demand=pb.Resources(slots=1), command="honest",
                                                                      parents=[pb.Edge(parent=number - 1)] if number else []))
        answer = self.ask(door, "submit end", submit_end=pb.SubmitEnd(parts=1 + stages))
        if answer:
            self.open[name] = (answer.accepted.job, began)

    def step(self):
        door = self.watcher()
        if time.monotonic() - self.alive > ALIVE_SECONDS:
            self.alive = time.monotonic()
            door.say(acknowledge=pb.Acknowledge())
        if not self.ended and time.monotonic() - self.last > 0.25 and len(self.open) < 40:
            self.last = time.monotonic()
            self.submit(1 + self.n % 2)
        event = door.take(0.01)
        while event is not None:
            self.heard(event)
            event = door.take()
        if time.monotonic() - self.looked > LOOK_SECONDS:
            self.look()

    def done(self):
        """Those that the list has as done."""
        door = self.fresh("submit", lambda: self.client("sch1"))
        rows = {name: door.ask(PATIENCE, list=pb.List(of=pb.LIST_JOBS, job=number, finished=True)).page.jobs for name, (number, _) in self.open.items()}
        return {name for name, found in rows.items() if found and found[0].state == "done"}

    def look(self):
        """An end that is long over and was not told is lost."""
        self.looked = time.monotonic()
        for name in self.unheard & set(self.open):
            self.open.pop(name)
            self.fault("the end of job %s was not told" % name)
        self.unheard = self.done()

    def heard(self, envelope):
        event = envelope.job_event
        if event.missed:
            self.fault("%d ends were taken too late to be told" % event.missed)
            for name in self.done():
                self.open.pop(name)
        if not envelope.HasField("job_event") or event.name not in self.open:
            return
        self.note("job", self.open.pop(event.name)[1])
        if event.state != "done":
            self.fault("job %s is %s: %s" % (event.name, event.state, event.text))

    def begin_anew(self):
        super().begin_anew()
        self.watcher()
        for name in self.done():  # what ended meanwhile is no event any more
            self.open.pop(name)

    def report(self):
        """All ends are waited for."""
        deadline = time.monotonic() + self.place["patience"]
        while self.open and time.monotonic() < deadline:
            self.step()
        for name, (number, _) in self.open.items():
            rows = self.fresh("submit", lambda: self.client("sch1")).ask(PATIENCE, list=pb.List(of=0, job=number, finished=True)).page.jobs
            if not rows or rows[0].state != "done":
                self.fault("job %s has not ended: %s" % (name, rows[0].state if rows else "it is not listed"))
        return dict(super().report(), jobs=self.n)


class Host(Part):
    """An agent by the schema alone: it runs what it is given in no time, measures an empty round trip, and another one comes and goes."""

    def __init__(self, place):
        super().__init__(place)
        self.number, self.starts, self.last_comer = 0, 0, 0.0

    def hello(self, name, host):
        return pb.Hello(version_min=1, version_max=1, name=name, boot=1, hello_sequence=time.monotonic_ns(), units=[pb.Resources(slots=2)],
                        address=bytes(10) + bytes([0xff, 0xff, 10, 99, 0, host]), uplink_bps=10**8, downlink_bps=10**8)

    def session(self, name, host, kind):
        began = time.monotonic()
        door = self.tcp(name)
        if not door.welcome("hello", self.hello(name, host), PATIENCE):
            raise Broken("%s has no session: %s" % (name, door.refused))
        door.say(True, inventory_end=pb.InventoryEnd(parts=0))
        self.note(kind, began)
        return door

    def step(self):
        door = self.fresh("h3", lambda: self.session("h3", 250, "join"))
        if time.monotonic() - self.last_comer > 1:
            self.last_comer = time.monotonic()
            self.session("h4", 251, "join").close()
        began, seen = time.monotonic(), len(door.refused)
        told, starts = door.answered == door.sent, self.starts
        door.say(True, agent_heartbeat=pb.AgentHeartbeat())
        wanted = door.sent
        while door.answered < wanted:
            if time.monotonic() - began > PATIENCE:
                raise Broken("a heartbeat is not acknowledged")
            self.obey(door, door.take(0.5))
        # One acknowledgement is of all before it: with words about attempts it waits for the disk.
        self.note("heartbeat" if told and starts == self.starts else "attempt's words", began)
        if len(door.refused) > seen:
            raise Broken("a session ended: %s" % door.refused[seen:])
        time.sleep(0.01)

    def obey(self, door, envelope):
        if envelope is not None and envelope.HasField("start"):
            self.starts += 1
            for phase in (pb.PHASE_STARTED, pb.PHASE_DONE):
                door.say(True, attempt_state=pb.AttemptState(attempt=envelope.start.attempt, phase=phase))


class Framework(Part):
    """A driver whose jobs have one task each: it says what is, waits until it may start it, and says that it is done."""
    WAY = "tcp"

    def __init__(self, place):
        super().__init__(place)
        self.number = 0

    def session(self):
        """An agent that has no session yet ends its drivers' at once: they come again, as Spark's plug-in does."""
        began = time.monotonic()
        while True:
            hello = pb.FrameworkHello(version_min=1, version_max=1, name="honest-app-" + self.WAY, boot=1, hello_sequence=time.monotonic_ns(), holds=True)
            try:
                door = self.way_in()
                if door.welcome("framework_hello", hello, PATIENCE):
                    break
                raise Broken("no session: %s" % door.refused)
            except (Broken, OSError):
                if time.monotonic() - began > PATIENCE:
                    raise
                time.sleep(0.1)
        self.note("framework join", began)
        door.say(True, framework_replayed=pb.FrameworkReplayed())
        return door

    def way_in(self):
        return self.tcp("driver1")

    def step(self):
        self.one_job(self.fresh("app", self.session))
        time.sleep(0.05)

    def one_job(self, door):
        self.number += 1
        number, began = self.number, time.monotonic()
        door.say(True, framework_job=pb.FrameworkJob(job=number, name="honest"))
        door.say(True, framework_stage=pb.FrameworkStage(job=number, stage=0, tasks=1, demand=pb.Resources(slots=1), phase=pb.PHASE_OFFERED))
        allow = self.wait(door, door.sent, number, began)
        for state in (pb.TASK_STARTED, pb.TASK_DONE):
            door.say(True, framework_task=pb.FrameworkTask(attempt=number, allow=allow.allow, job=number, task=0, host=allow.host, state=state))
        door.say(True, framework_end=pb.FrameworkEnd(job=number))

    def wait(self, door, wanted, number, began):
        """The allow of this job: slots are a matter of turn, so it may take as long as a job may; that its facts are taken may not."""
        told, alive = False, began
        while time.monotonic() - began < (self.place["patience"] if told else PATIENCE):
            if time.monotonic() - alive > ALIVE_SECONDS / 2:  # a session without a word ends after timers.silent
                alive = time.monotonic()
                door.say(acknowledge=pb.Acknowledge())
            envelope = door.take(0.5)
            if envelope is not None and envelope.HasField("refused"):
                raise Broken("refused: %s" % envelope.refused.text)
            if not told and door.answered >= wanted:
                told = True
                self.note("fact", began)
            allow = next((a for a in envelope.snapshot.allows if a.job == number), None) if envelope is not None else None
            if allow:
                self.note("allow", began)
                return allow
        raise Broken("no allow of job %d%s: %s" % (number, "" if told else ", which it was not heard to tell of", self.why(number)))

    def why(self, number):
        """What the controller says, for who looks for the fault."""
        door = Packets(self.place["socket"])
        try:
            rows = [row for row in door.ask(PATIENCE, list=pb.List(of=pb.LIST_JOBS)).page.jobs if row.state == "active"]
            hosts = door.ask(PATIENCE, list=pb.List(of=pb.LIST_HOSTS)).page.hosts
            return "jobs: %s; hosts: %s" % ([(row.name, row.ready, row.running, row.text) for row in rows[:6]],
                                                [(row.name, row.state, row.free.slots, row.running, row.text) for row in hosts])
        finally:
            door.close()


class FrameworkBySocket(Framework):
    """By way of an agent."""
    WAY = "socket"

    def way_in(self):
        return Stream(self.place["frameworks"])


class Operator(Part):
    """He looks, and changes things now and then: by the Unix socket and, with keys, over TCP, where he comes anew each time as duopolyctl does."""

    def __init__(self, place):
        super().__init__(place)
        self.n, self.made, self.last, self.after = 0, [], 0.0, 0
        self.changed = time.monotonic()
        self.audit = {}

    def unix(self):
        return Packets(self.place["socket"])

    def changes(self, n):
        return [("drain h3", dict(drain_host=pb.DrainHost(name="h3"))), ("drain h3", dict(drain_host=pb.DrainHost(name="h3", undo=True))),
                ("policy mode", dict(set_policy=pb.SetPolicy(question="mode", name="rich"))),
                ("policy mode", dict(set_policy=pb.SetPolicy(question="mode", name="configured"))),
                ("stance", dict(set_stance=pb.SetStance(stance=pb.STANCE_OBSERVE, host="h3"))),
                ("stance", dict(set_stance=pb.SetStance(stance=pb.STANCE_ENFORCE, host="h3")))][n % 6]

    def step(self):
        door = self.fresh("unix", self.unix)
        self.ask(door, "status", get_status=pb.GetStatus())
        self.ask(door, "hosts", list=pb.List(of=pb.LIST_HOSTS))
        if time.monotonic() - self.last > 0.5:
            self.last = time.monotonic()
            self.come_anew()
            self.read_audit(door)
        if time.monotonic() - self.changed > CHANGE_SECONDS:
            self.changed = time.monotonic()
            self.change()
        time.sleep(0.02)

    def change(self):
        what, bodies = self.changes(self.n)
        self.n += 1
        door = self.unix()
        try:
            if self.ask(door, "change", **bodies):
                self.made.append(what)
        finally:
            door.close()

    def come_anew(self):
        began = time.monotonic()
        door = self.client("op")
        try:
            self.ask(door, "status from afar", get_status=pb.GetStatus())
            self.note("come and ask", began)
        finally:
            door.close()

    def read_audit(self, door):
        """What it has of the newest rows: more than it lists may come between two looks at the end only."""
        answer = self.ask(door, "audit", get_audit=pb.GetAudit(after=self.after))
        for row in answer.audit_page.rows if answer else ():
            self.after = max(self.after, row.n)
            self.audit[row.n] = [row.who, row.what, row.result]

    def report(self):
        door = self.unix()
        while True:
            before = self.after
            self.read_audit(door)
            if self.after == before:
                break
        found = [row for row in self.audit.values() if any(row[1].startswith(what) for what in set(self.made))]
        return dict(super().report(), changes=len(self.made), audit=found, by_kind={what: self.made.count(what) for what in set(self.made)})


PARTS = {"submitter": Submitter, "host": Host, "framework tcp": Framework, "framework socket": FrameworkBySocket, "operator": Operator}


def listen(inbox):
    for line in sys.stdin:
        inbox.put(json.loads(line))
    inbox.put(None)


def main(name):
    part = PARTS[name](json.loads(sys.stdin.readline()))
    inbox = queue.Queue()
    threading.Thread(target=listen, args=(inbox,), daemon=True).start()
    part.run(inbox)
    print(json.dumps(part.report()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
