"""Applications that place their tasks by themselves, over real connections to the real controller: facts up, snapshots down.

The peer is written from the schema alone, with the official protobuf library. Its hosts are agents that start nothing. It connects to the
controller itself, or to the Unix stream socket of a real duopoly-agent that relays."""
import grp
import os
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

import pytest
from controller import BUILD, DEADLINE, Agent, pb, wait_until

PATIENT = "timers: {silent: 60 s, host_lost: 120 s}\n"
SLOTS = 2


class Stream:
    """Envelopes over a Unix stream socket: what of ZeroMQ's socket the peer uses."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        wait_until(lambda: self.connected(path), "an agent that has made its socket listens there")
        self.had = b""

    def connected(self, path):
        try:
            self.socket.connect(path)
        except ConnectionRefusedError:
            return False
        return True

    def send(self, message):
        self.socket.sendall(struct.pack(">I", len(message)) + message)

    def whole(self):
        return len(self.had) >= 4 and len(self.had) - 4 >= struct.unpack(">I", self.had[:4])[0]

    def poll(self, timeout_ms):
        deadline = time.monotonic() + timeout_ms / 1000
        while not self.whole():
            self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                more = self.socket.recv(65536)
            except TimeoutError:
                return False
            if not more:
                raise EOFError
            self.had += more
        return True

    def recv(self):
        end = 4 + struct.unpack(">I", self.had[:4])[0]
        message, self.had = self.had[4:end], self.had[end:]
        return message

    def close(self):
        self.socket.close()


class Relay:
    """A duopoly-agent that touches nothing, has no slots unless `units` says so, and relays: no queues, marks only remembered."""

    def __init__(self, daemon, key="", agent_key="", group="users", name="relay", units="{io_bytes_s: 1}", more=""):
        self.name, self.units, self.more = name, units, more
        self.address = "10.78.0.%d" % (1 + sum(name.encode()) % 250)
        self.folder = daemon.folder / "relay"
        self.folder.mkdir()
        self.socket = str(self.folder / "frameworks")
        self.config = self.folder / "agent.yaml"
        self.daemon, self.key, self.agent_key, self.group = daemon, key, agent_key, group
        self.start()

    def start(self):
        self.controller = self.daemon.address
        self.config.write_text(
            f"name: {self.name}\ncontroller: {self.controller}\naddress: {self.address}\nkey: \"{self.agent_key}\"\n"
            f"state: {self.folder}/state\nunits: [{self.units}]\n{self.more}"
            f"link: {{uplink: lo, rate: 100 Mbps}}\nqueues: {{driver: none}}\nmarks: {{driver: recorder}}\n"
            f"tasks: {{cgroup: duopoly-test-{os.getpid()}-relay}}\nframeworks: {{socket: {self.socket}, key: \"{self.key}\", group: \"{self.group}\"}}\n")
        with open(self.folder / "stderr", "ab") as words:
            self.process = subprocess.Popen([BUILD / "duopoly-agent", "--config", self.config], stderr=words)
        deadline = time.monotonic() + DEADLINE
        while not os.path.exists(self.socket):
            assert self.process.poll() is None and time.monotonic() < deadline, self.said()
            time.sleep(0.01)

    def follow(self):
        """A controller that begins anew has another address."""
        if self.controller != self.daemon.address:
            self.close()
            self.start()

    def said(self):
        return (self.folder / "stderr").read_text()

    def until_said(self, words, times):
        deadline = time.monotonic() + DEADLINE
        while self.said().count(words) < times:
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.01)
        assert self.said().count(words) == times

    def close(self):
        self.process.terminate()
        assert self.process.wait(timeout=DEADLINE) == 0, self.said()
        assert not os.path.exists(self.socket)


class Framework(Agent):
    """Keeps what it was told as a framework has to: allows in force, opened stages, order, levels. `relay`: whose socket it uses."""

    def __init__(self, daemon, name="app-1", key=None, boot=1, relay=None, user=None):
        self.relay, self.user = relay, user
        super().__init__(daemon, name, key=key, boot=boot)

    def connect(self):
        super().connect()
        if self.relay:
            self.relay.follow()
            self.socket.close()
            self.socket = Stream(self.relay.socket)

    def begin(self):
        self.sent = self.effected = self.epoch = 0
        self.allows, self.opened, self.order, self.levels, self.refusals = {}, set(), [], {}, []
        self.answered, self.number, self.filling, self.bound = 0, 0, False, set()
        self.send(framework_hello=pb.FrameworkHello(version_min=1, version_max=1, name=self.name, boot=self.boot,
                                                    hello_sequence=self.hello_sequence, user=self.user))
        envelope = self.receive()
        assert envelope.HasField("welcome"), envelope
        self.epoch = envelope.epoch
        while not self.take().snapshot.last:
            pass
        return self

    def take(self):
        """The next message, gone by."""
        envelope = self.receive()
        self.answered = max(self.answered, envelope.acknowledged)
        if envelope.HasField("refused"):
            self.refusals.append(envelope.refused)
        if envelope.HasField("snapshot"):
            snapshot = envelope.snapshot
            assert snapshot.number == self.number + 1 and snapshot.valid_ms == 2000
            assert snapshot.whole == (self.number == 0 or self.filling)
            self.filling = snapshot.whole and not snapshot.last
            self.number = snapshot.number
            for allow in snapshot.allows:
                self.allows[allow.allow] = allow
            for ended in snapshot.ended:
                self.allows.pop(ended, None)
            self.opened |= {(o.job, o.stage) for o in snapshot.opened}
            self.bound |= {(o.job, o.stage) for o in snapshot.bound}
            self.levels.update({l.attempt: (l.coflow_level, l.macroflow_level) for l in snapshot.levels})
            if snapshot.ordered:
                self.order = list(snapshot.order)
            self.send()  # acknowledges it
        return envelope

    def send(self, numbered=False, **body):
        return super().send(numbered, **(body or {"acknowledge": pb.Acknowledge()}))

    def tell(self, **body):
        return self.send(numbered=True, **{f"framework_{kind}": value for kind, value in body.items()})

    def settle(self):
        while self.answered < self.sent:
            self.take()

    def until(self, condition, what):
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, f"{what}: not within a minute"
            self.take()

    def stage(self, job, stage, tasks, parents=(), phase=pb.PHASE_KNOWN, **more):
        self.tell(stage=pb.FrameworkStage(job=job, stage=stage, tasks=tasks, phase=phase,
                                          parents=[pb.Edge(parent=p) for p in parents], **more))

    def two_stages(self, job, maps, reduces, each=50_000_000):
        self.tell(job=pb.FrameworkJob(job=job, name=f"query-{job}"))
        self.stage(job, 0, maps, phase=pb.PHASE_OFFERED)
        self.stage(job, 1, reduces, parents=[0])
        self.tell(bytes=pb.FrameworkBytes(job=job, stage=1, parent=0, form=pb.FORM_SUMS, bytes=[each] * reduces))

    def task(self, state, attempt, job, stage, task, host="", allow=0):
        self.tell(task=pb.FrameworkTask(attempt=attempt, job=job, stage=stage, task=task, host=host, allow=allow, state=state))

    def start(self, allow, attempt):
        self.task(pb.TASK_STARTED, attempt, allow.job, allow.stage, allow.task, allow.host, allow.allow)
        return allow

    def of(self, job, stage):
        return [a for a in self.allows.values() if (a.job, a.stage) == (job, stage)]

    def run(self, job, stage, tasks, first):
        """Runs a whole stage as it is allowed; host of each task."""
        hosts = {}
        while len(hosts) < tasks:
            self.until(lambda: self.of(job, stage), "an allow")
            allow = self.of(job, stage)[0]
            attempt = first + allow.task
            self.start(allow, attempt)
            self.until(lambda: allow.allow not in self.allows, "it is used")
            self.task(pb.TASK_DONE, attempt, job, stage, allow.task, allow.host)
            hosts[allow.task] = allow.host
        return hosts


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="an agent needs root")


@pytest.fixture(params=["direct", pytest.param("relayed", marks=needs_root)])
def site(cluster, request):
    """A controller, agents of two hosts, and what makes frameworks."""
    def make(config="", **arguments):
        daemon = cluster.daemon(config=PATIENT + config, **arguments)
        keys = [daemon.key(f"h{n}") if arguments.get("keys") else None for n in (1, 2)]
        agents = [Agent(daemon, f"h{n}", slots=SLOTS, host=n, key=keys[n - 1]) for n in (1, 2)]
        made.extend(agents)
        for agent in agents:
            agent.join()
        if request.param == "relayed":
            made.append(Relay(daemon, **relay_keys(daemon, arguments)))
        relay = made[-1] if request.param == "relayed" else None

        def framework(name="app-1", **more):
            made.append(Framework(daemon, name, relay=relay, **more))
            return made[-1]
        framework.relay = relay
        return daemon, agents, framework
    made = []
    yield make
    for thing in reversed(made):
        thing.close()


def relay_keys(daemon, arguments):
    return dict(key=daemon.key("relays", role="framework"), agent_key=daemon.key("relay")) if arguments.get("keys") else {}


relayed = pytest.mark.parametrize("site", ["relayed"], indirect=True)
direct = pytest.mark.parametrize("site", ["direct"], indirect=True)


def rows(daemon, *words):
    return {row["name"]: row for row in daemon.ctl("jobs", *words)["jobs"]}


def test_a_job_runs_as_it_is_allowed(site):
    daemon, agents, framework = site()
    app = framework().begin()
    app.two_stages(7, maps=6, reduces=3)
    app.tell(replayed=pb.FrameworkReplayed())
    hosts = app.run(7, 0, 6, first=100)
    assert set(hosts.values()) == {"h1", "h2"}
    app.settle()
    row = rows(daemon)["app-1/query-7"]
    assert (row["task_count"], row["done"]) == (9, 6)
    app.until(lambda: app.of(7, 1), "reduce tasks are allowed")
    assert all(a.host in ("h1", "h2") and a.until_ms <= 5000 and a.coflow_level <= 7 for a in app.of(7, 1))
    app.run(7, 1, 3, first=200)
    app.tell(end=pb.FrameworkEnd(job=7, outcome=pb.OUTCOME_DONE))
    app.settle()
    assert rows(daemon, "--all")["app-1/query-7"]["state"] == "done"
    assert not app.refusals and not app.allows
    for agent in agents:  # nothing of it is theirs to run
        assert not agent.running


def test_tasks_have_their_frameworks_names(site):
    """Also after the framework told all again, in another attempt of the stage."""
    daemon, _agents, framework = site()
    app = framework().begin()

    def tell(attempt):
        app.tell(job=pb.FrameworkJob(job=7, name="query-7"))
        app.stage(7, 0, 2, phase=pb.PHASE_OFFERED, id=12, attempt=attempt, name="map at \x1b[31mTest.scala:3")
        app.stage(7, 1, 1, parents=[0])  # and one without a name

    def task(number):
        job = rows(daemon)["app-1/query-7"]["job"]
        return [row for row in daemon.ctl("tasks", str(job))["tasks"] if (row["stage"], row["task"]) == (0, number)][0]["text"]
    tell(0)
    app.until(lambda: app.of(7, 0), "an allow")
    allow = app.start(app.of(7, 0)[0], 345)
    app.until(lambda: allow.allow not in app.allows, "it is used")
    assert "stage 12.0 (map at " in task(allow.task) and f"partition {allow.task}, task 345" in task(allow.task)
    job = rows(daemon)["app-1/query-7"]["job"]
    said = subprocess.run([f"{BUILD}/duopolyctl", "--socket", daemon.socket, "explain", f"{job}/0/{allow.task}"], check=True, capture_output=True,
                          text=True).stdout
    assert f"Its framework calls it stage 12.0 (map at ?[31mTest.scala:3), partition {allow.task}, task 345." in said, said
    for order in ("hold", "requeue"):
        assert "is its framework's" in daemon.ctl("job", order, str(job), expect=1)
    app.connect()
    app.hello_sequence += 1
    app.begin()
    tell(1)
    app.task(pb.TASK_STARTED, 345, 7, 0, allow.task, allow.host)
    app.tell(replayed=pb.FrameworkReplayed())
    app.settle()
    assert "stage 12.1 (" in task(allow.task)
    assert "partition" not in daemon.ctl("explain", f"{job}/1/0")["text"]


def test_a_jobs_tasks_are_listed_over_numbers_without_stages(site):
    """A framework counts its stages over all its jobs: a job's begin anywhere."""
    daemon, _agents, framework = site()
    app = framework().begin()
    app.tell(job=pb.FrameworkJob(job=7, name="query-7"))
    app.stage(7, 3, 2, phase=pb.PHASE_OFFERED)
    app.stage(7, 900, 1, parents=[3])
    app.settle()
    job = rows(daemon)["app-1/query-7"]["job"]
    listed = [(row["stage"], row["task"]) for row in daemon.ctl("tasks", str(job), "-a")["tasks"]]
    assert sorted(listed) == [(3, 0), (3, 1), (900, 0)]


def test_the_log_has_their_frameworks_names(site):
    """Of a task that fails, a stage that is held for too long, and jobs that end; whatever bytes they have in them."""
    daemon, _agents, framework = site(config="policy: {hold_max: 1 s}\n")
    app = framework().begin()
    app.tell(job=pb.FrameworkJob(job=7, name="query-7"))
    app.stage(7, 0, 1, phase=pb.PHASE_OFFERED, id=12, name="map at \x1b[31mTest.scala:3")
    app.stage(7, 1, 8, parents=[0], id=13, attempt=2, name="count")
    app.until(lambda: app.of(7, 0), "an allow")
    allow = app.start(app.of(7, 0)[0], 345)
    app.task(pb.TASK_FAILED, 345, 7, 0, 0)
    app.run(7, 0, 1, first=346)
    app.until(lambda: (7, 1) in app.opened, "its allows are not used")
    app.tell(end=pb.FrameworkEnd(job=7, outcome=pb.OUTCOME_FAILED))
    app.tell(job=pb.FrameworkJob(job=8, name="query-8"))
    app.settle()
    assert "failed" in rows(daemon, "--all")["app-1/query-7"]["state"]
    app.tell(end=pb.FrameworkEnd(job=8, outcome=pb.OUTCOME_CANCELLED))
    app.settle()
    said = daemon.words()
    assert f"stage 12.0 (map at ?[31mTest.scala:3), partition 0, task 345 on {allow.host} failed" in said, said
    assert "app-1/query-7: stage 13.2 (count) is left to its framework: " in said, said
    assert "(app-1/query-7, its application's job 7) failed: its application says so" in said, said
    assert "(app-1/query-8, its application's job 8): cancelled by its application" in said, said


def test_maps_of_a_job_that_stays_on_one_host_are_bound(site):
    """Where their framework says that it follows; a later session is told so, until it says otherwise."""
    _daemon, _agents, framework = site()
    app = framework().begin()

    def maps(phase, **more):
        app.stage(7, 0, SLOTS, phase=phase, **more)
        app.settle()

    def again():
        app.connect()
        app.hello_sequence += 1
        app.begin()
        return app.bound
    app.tell(job=pb.FrameworkJob(job=7, name="query-7"))
    app.stage(7, 1, 2, parents=[0])
    app.tell(bytes=pb.FrameworkBytes(job=7, stage=1, parent=0, form=pb.FORM_SUMS, bytes=[50_000_000] * 2))
    maps(pb.PHASE_KNOWN)
    app.until(lambda: len(app.of(7, 0)) == SLOTS, "its maps are allowed")
    assert not app.bound and len({allow.host for allow in app.of(7, 0)}) == 1
    maps(pb.PHASE_OFFERED, bindable=True)
    assert app.bound == {(7, 0)} == again()
    maps(pb.PHASE_OFFERED, bindable=True)
    assert app.bound == {(7, 0)}
    maps(pb.PHASE_OFFERED)
    assert not again() and not app.refusals


def test_the_order_of_jobs_comes_down(site):
    daemon, _agents, framework = site()
    app = framework().begin()
    app.two_stages(1, maps=4, reduces=4, each=900_000_000)
    app.two_stages(2, maps=1, reduces=1, each=1000)
    for job in range(3, 60):
        app.tell(job=pb.FrameworkJob(job=job, name=f"query-{job}"))
        app.stage(job, 0, 1, phase=pb.PHASE_OFFERED)
    app.until(lambda: len(app.order) == 59, "all have a place")
    turn = [row["name"] for row in sorted(daemon.ctl("jobs")["jobs"], key=lambda row: row["place"])]
    assert [f"app-1/query-{job}" for job in app.order] == turn


def test_a_killed_controller_is_told_all_again(site):
    daemon, agents, framework = site()
    app = framework().begin()
    app.two_stages(7, maps=4, reduces=2)
    hosts = app.run(7, 0, 4, first=100)
    app.until(lambda: app.of(7, 1), "a reduce task is allowed")
    allow = app.start(app.of(7, 1)[0], 200)
    app.until(lambda: allow.allow not in app.allows, "it is used")
    before = rows(daemon)["app-1/query-7"]
    daemon.kill()
    daemon.start()
    for agent in agents:
        agent.connect()
        agent.hello_sequence += 1
        agent.join()
    app.connect()
    app.hello_sequence += 1
    app.begin()
    assert not app.allows
    for task, host in hosts.items():  # before anybody said that there is such a job
        app.task(pb.TASK_DONE, 100 + task, 7, 0, task, host)
    app.task(pb.TASK_STARTED, 200, 7, 1, allow.task, allow.host)
    app.two_stages(7, maps=4, reduces=2)
    app.tell(replayed=pb.FrameworkReplayed())
    app.settle()
    after = rows(daemon)["app-1/query-7"]
    assert after["job"] == before["job"]
    assert (after["done"], after["running"], after["ready"]) == (4, 1, 1)  # one runs, and one may
    assert [a.task for a in app.of(7, 1)] == [1 - allow.task]
    app.task(pb.TASK_DONE, 200, 7, 1, allow.task, allow.host)
    other = app.start(app.of(7, 1)[0], 201)
    assert other.task == 1 - allow.task
    app.task(pb.TASK_DONE, 201, 7, 1, other.task, other.host)
    app.tell(end=pb.FrameworkEnd(job=7, outcome=pb.OUTCOME_DONE))
    app.settle()
    assert rows(daemon, "--all")["app-1/query-7"]["state"] == "done"


def test_a_later_run_is_ordered_by_what_its_stages_had(site):
    """Before sizes are known, by a controller that began anew since: it has the past in its store."""
    daemon, agents, framework = site()
    app = framework().begin()
    histories = {1: 2**64 - 5, 2: 77}
    for job, each in ((1, 900_000_000), (2, 1000)):
        app.tell(job=pb.FrameworkJob(job=job, name=f"query-{job}"))
        app.stage(job, 0, 2, phase=pb.PHASE_OFFERED)
        app.stage(job, 1, 2, parents=[0], history=histories[job])
        app.tell(bytes=pb.FrameworkBytes(job=job, stage=1, parent=0, form=pb.FORM_SUMS, bytes=[each] * 2))
        app.run(job, 0, 2, first=100 * job)
        app.run(job, 1, 2, first=100 * job + 10)
        app.tell(end=pb.FrameworkEnd(job=job, outcome=pb.OUTCOME_DONE))
    app.tell(job=pb.FrameworkJob(job=3, name="query-3"))
    app.tell(end=pb.FrameworkEnd(job=3, outcome=pb.OUTCOME_FAILED))
    app.tell(job=pb.FrameworkJob(job=4, name="query-4"))
    app.tell(end=pb.FrameworkEnd(job=4, outcome=pb.OUTCOME_CANCELLED))
    app.settle()
    before = rows(daemon, "--all")
    app.close()
    daemon.stop()
    daemon.start()
    assert rows(daemon, "--all") == before
    assert {name: row["state"] for name, row in before.items()} == {
        "app-1/query-1": "done", "app-1/query-2": "done", "app-1/query-3": "failed", "app-1/query-4": "cancelled"}
    assert daemon.ctl("job", before["app-1/query-2"]["job"])["name"] == "app-1/query-2" and before["app-1/query-2"]["shuffle_bytes"] == 2000
    for agent in agents:
        agent.connect()
        agent.hello_sequence += 1
        agent.join()
    later = framework("app-2").begin()
    for job in (1, 2):
        later.tell(job=pb.FrameworkJob(job=job, name=f"query-{job}"))
        later.stage(job, 0, 2, phase=pb.PHASE_OFFERED)
        later.stage(job, 1, 2, parents=[0], history=histories[job])
    later.until(lambda: later.order == [2, 1], "the smaller one is before the first one")
    now = rows(daemon)
    assert [now[f"app-2/query-{job}"]["shuffle_bytes"] for job in (1, 2)] == [1_800_000_000, 2000]


def test_a_session_ends_no_job_and_a_replay_those_it_leaves_out(site):
    daemon, _agents, framework = site()
    app = framework().begin()
    for job in (1, 2):
        app.two_stages(job, maps=1, reduces=1)
    app.until(lambda: app.of(1, 0) and app.of(2, 0), "both are allowed")
    app.start(app.of(1, 0)[0], 10)
    app.settle()
    app.socket.close()
    assert len(rows(daemon)) == 2
    app.connect()
    app.hello_sequence += 1
    app.begin()
    assert app.of(2, 0) and not app.of(1, 0)  # the whole says what is in force
    app.tell(job=pb.FrameworkJob(job=1, name="query-1"))
    app.settle()
    assert len(rows(daemon)) == 2 and rows(daemon)["app-1/query-1"]["running"] == 1
    app.tell(replayed=pb.FrameworkReplayed())
    app.settle()
    assert set(rows(daemon)) == {"app-1/query-1"}
    app.until(lambda: app.of(1, 0), "its task was not named either: it may start again")


def test_the_newest_session_of_an_application_counts(site):
    _daemon, _agents, framework = site()
    app = framework().begin()
    other = framework(boot=2).begin()
    while not app.refusals:
        app.take()
    assert app.refusals[0].reason == pb.REASON_IDENTITY
    app.tell(job=pb.FrameworkJob(job=1, name="late"))
    app.until(lambda: len(app.refusals) > 1, "it is told so")
    other.two_stages(1, maps=1, reduces=1)
    other.until(lambda: other.of(1, 0), "the newer one is served")


def test_what_is_wrong_is_refused_and_harms_nobody(site):
    daemon, _agents, framework = site()
    app = framework().begin()
    wrong = [dict(stage=pb.FrameworkStage(job=1, stage=1, tasks=1, parents=[pb.Edge(parent=1)])),
             dict(stage=pb.FrameworkStage(job=1, stage=0, tasks=1, demand=pb.Resources(slots=-1))),
             dict(job=pb.FrameworkJob(job=2**30, name="x")),
             dict(bytes=pb.FrameworkBytes(job=1, stage=1, parent=0, form=pb.FORM_HOSTS, bytes=[1, 2], hosts=["h1"])),
             dict(bytes=pb.FrameworkBytes(job=1, stage=1, parent=0, form=77, bytes=[1])),
             dict(task=pb.FrameworkTask(attempt=1, job=1, state=99))]
    for body in wrong:
        sequence = app.tell(**body)
        app.until(lambda: app.refusals and app.refusals[-1].sequence == sequence, "it is refused")
        assert app.refusals[-1].text
    absurd = [dict(stage=pb.FrameworkStage(job=1, stage=2**32 - 1, tasks=1)),
              dict(stage=pb.FrameworkStage(job=1, stage=0, tasks=2**32 - 1)),
              dict(task=pb.FrameworkTask(attempt=1, job=1, stage=0, task=2**32 - 1, host="h1")),
              dict(task=pb.FrameworkTask(attempt=2, job=1, stage=0, task=0, host="nowhere"))]
    for body in absurd:
        app.tell(**body)
    app.settle()
    assert len(app.refusals) == len(wrong)
    assert daemon.counters()["frameworks.unknown_hosts"] == 1
    app.two_stages(5, maps=1, reduces=1)
    app.until(lambda: app.of(5, 0), "the session goes on")


@direct
def test_a_key_says_who_is_a_framework(site):
    daemon, _agents, framework = site(keys=True)
    app = framework(key=daemon.key("spark", role="framework")).begin()
    app.send(hello=pb.Hello(version_min=1, version_max=1, name="h9"))
    app.until(lambda: app.refusals, "it is no agent")
    assert app.refusals[0].reason == pb.REASON_PERMISSION and "framework" in app.refusals[0].text
    thief = framework(key=daemon.key("yarn", role="framework"))
    thief.send(framework_hello=pb.FrameworkHello(version_min=1, version_max=1, name="app-1", boot=9))
    assert thief.receive().refused.reason == pb.REASON_IDENTITY
    host = framework("h3", key=daemon.key("h3"))
    host.send(framework_hello=pb.FrameworkHello(version_min=1, version_max=1, name="app-2", boot=9))
    assert host.receive().refused.reason == pb.REASON_PERMISSION
    app.two_stages(1, maps=1, reduces=1)
    app.until(lambda: app.of(1, 0), "the application's own key is served")


def test_who_does_not_follow_is_adopted(site):
    """Unasked, elsewhere, in two copies, failed and started again: all of it is taken for what it is."""
    daemon, _agents, framework = site()
    app = framework().begin()
    app.two_stages(1, maps=2, reduces=2)
    app.until(lambda: len(app.of(1, 0)) == 2, "both maps are allowed")
    for task in (0, 1):
        app.task(pb.TASK_STARTED, 10 + task, 1, 0, task, "h1")
    app.until(lambda: not app.of(1, 0), "what was allowed elsewhere is settled too")
    app.task(pb.TASK_STARTED, 20, 1, 0, 1, "h2")  # a copy
    app.task(pb.TASK_DONE, 20, 1, 0, 1, "h2")
    app.task(pb.TASK_KILLED, 11, 1, 0, 1)
    app.task(pb.TASK_FAILED, 10, 1, 0, 0)
    app.until(lambda: app.of(1, 0), "the failed one may start again")
    allow = app.start(app.of(1, 0)[0], 30)
    assert allow.task == 0
    app.task(pb.TASK_DONE, 30, 1, 0, 0, allow.host)
    for task in (0, 1):  # reduce tasks that nobody allowed
        app.task(pb.TASK_STARTED, 40 + task, 1, 1, task, "h2")
    app.settle()
    row = rows(daemon)["app-1/query-1"]
    assert (row["done"], row["running"], row["ready"]) == (2, 2, 0)
    app.task(pb.TASK_OUTPUT_LOST, 20, 1, 0, 1)
    app.settle()
    assert rows(daemon)["app-1/query-1"]["done"] == 1


def ended(stream):
    """Whether the other side ends it; what still comes before that goes by."""
    try:
        while stream.poll(DEADLINE * 1000):
            stream.recv()
    except (EOFError, ConnectionError):
        return True
    return False


def as_user(uid, do, gid=None):
    """What a process of this user, in this group, finds: 0 or its errno."""
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(uid if gid is None else gid)
            os.setuid(uid)
            os._exit(do() or 0)
        except OSError as error:
            os._exit(error.errno)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@needs_root
@relayed
def test_an_agent_relays_under_its_frameworks_key(site):
    daemon, _agents, framework = site(keys=True)
    app = framework().begin()
    app.two_stages(1, maps=1, reduces=1)
    app.until(lambda: app.of(1, 0), "it is served")
    app.send(hello=pb.Hello(version_min=1, version_max=1, name="h9"))
    app.until(lambda: app.refusals, "the relay's key makes nobody an agent")
    assert app.refusals[0].reason == pb.REASON_PERMISSION
    assert daemon.ctl("keys", "revoke", "relays") is not None
    assert ended(app.socket)


@needs_root
@relayed
def test_an_application_is_its_users(site):
    """Who the kernel says is connected counts, not what the message says."""
    daemon, _agents, framework = site()
    relay = framework.relay
    framework().begin()
    os.chmod(daemon.folder, 0o755)
    os.chmod(relay.folder, 0o755)
    status = os.stat(relay.socket)
    users = grp.getgrnam("users").gr_gid
    assert stat.S_IMODE(status.st_mode) == 0o660 and status.st_gid == users
    hello = pb.Envelope(version=1, framework_hello=pb.FrameworkHello(version_min=1, version_max=1, name="app-1", boot=7, user=0))

    def steal():
        stream = Stream(relay.socket)
        stream.send(hello.SerializeToString())
        stream.poll(DEADLINE * 1000)
        refused = pb.Envelope.FromString(stream.recv()).refused
        return 0 if refused.reason == pb.REASON_IDENTITY and "user" in refused.text else 99
    before = daemon.counters()["frameworks.refused"]
    assert as_user(65534, steal, users) == 0
    assert daemon.counters()["frameworks.refused"] == before + 1
    assert as_user(65534, steal) == 13  # not of the group, as tasks are not


@needs_root
def test_tasks_are_not_in_the_sockets_group(cluster):
    """By default, and where the configuration would have them in it."""
    daemon = cluster.daemon()
    relay = Relay(daemon, group="")
    try:
        named = [g.gr_gid for g in grp.getgrall() if g.gr_name == "duopoly-frameworks"] or [os.getegid()]
        assert os.stat(relay.socket).st_gid in named
        words = relay.config.read_text()
        relay.config.write_text(words.replace('group: ""', "group: nogroup"))
        for check in ([], ["--check"]):
            said = subprocess.run([BUILD / "duopoly-agent", "--config", relay.config, *check], capture_output=True, text=True, timeout=DEADLINE, check=False)
            assert said.returncode != 0 and "nobody (tasks.user) is in the group" in said.stderr, said
    finally:
        relay.close()


KNOCKS = """
import socket, sys
while True:
    with socket.socket(socket.AF_UNIX) as knock:
        knock.connect(sys.argv[1])
"""


@needs_root
@relayed
def test_who_connects_again_and_again_makes_no_other_wait(site):
    """Of one user only so many connections are passed on: a host has so many handshakes with the controller."""
    daemon, _agents, framework = site()
    relay = framework.relay
    os.chmod(daemon.folder, 0o755)
    os.chmod(relay.folder, 0o755)
    users = grp.getgrnam("users").gr_gid
    knocking = [subprocess.Popen([sys.executable, "-c", KNOCKS, relay.socket], user=65534, group=users, stderr=subprocess.DEVNULL) for _ in range(3)]
    try:
        wait_until(lambda: "of user 65534" in relay.said(), "they are turned away")
        for i in range(5):
            framework(f"app-{i}").begin()
        assert daemon.counters()["agents.hasty"] == 0
        assert relay.process.poll() is None and all(one.poll() is None for one in knocking)
    finally:
        for one in knocking:
            one.kill()
            one.wait()


@needs_root
@relayed
def test_who_sends_too_much_waits_and_slows_nobody(site):
    """Far more than the controller takes of one connection, which would shut out the whole host."""
    daemon, _agents, framework = site()
    app, other = framework().begin(), framework("app-2").begin()
    heartbeat = pb.Envelope(version=1, epoch=app.epoch, acknowledge=pb.Acknowledge()).SerializeToString()
    many = (struct.pack(">I", len(heartbeat)) + heartbeat) * 1000
    app.socket.socket.settimeout(None)
    flood = threading.Thread(target=lambda: [app.socket.socket.sendall(many) for _ in range(25)], daemon=True)
    flood.start()
    worst, job = 0, 0
    while flood.is_alive():
        job += 1
        begin = time.monotonic()
        other.tell(job=pb.FrameworkJob(job=job, name=f"query-{job}"))
        other.settle()
        worst = max(worst, time.monotonic() - begin)
    flood.join()
    assert worst < 1 and job > 10
    assert daemon.counters()["agents.floods"] == 0
    framework("app-3").begin()  # nobody is shut out
    app.two_stages(5, maps=1, reduces=1)
    app.until(lambda: app.of(5, 0), "its session goes on")


@needs_root
@relayed
def test_the_end_of_either_side_ends_the_other(site):
    daemon, _agents, framework = site()
    app, other = framework().begin(), framework("app-2").begin()
    app.socket.close()
    app.connect()
    app.hello_sequence += 1
    app.begin()
    sessions = daemon.counters()["frameworks.sessions"]
    assert sessions == 3 and daemon.counters()["frameworks.ended"] >= 1
    daemon.kill()
    assert ended(app.socket) and ended(other.socket)
    waiting = Stream(framework.relay.socket)  # read once there is a controller
    waiting.send(pb.Envelope(version=1).SerializeToString())
    framework.relay.until_said("the connection to the controller broke", 2)
    daemon.start()
    app.connect()
    assert ended(waiting)
    app.hello_sequence += 1
    app.begin()


@needs_root
@relayed
def test_wrong_streams_are_cut_and_harm_nobody(site):
    _daemon, _agents, framework = site()
    app = framework().begin()
    for wrong in (b"\0\1\0\1", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\3\xff\xff\xff"):
        stream = Stream(framework.relay.socket)
        stream.socket.sendall(wrong)
        assert ended(stream)
    framework.relay.until_said("is cut", 4)
    streams = [Stream(framework.relay.socket) for _ in range(7)]
    further = Stream(framework.relay.socket)
    assert ended(further) and "turned away" in framework.relay.said()
    for stream in streams:
        stream.close()
    app.two_stages(5, maps=1, reduces=1)
    app.until(lambda: app.of(5, 0), "the session goes on")
