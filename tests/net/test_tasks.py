"""duopoly-agent and duopoly-task under a scripted controller: real sockets, sessions, cgroups, processes and marks."""

import glob
import json
import os
import pwd
import select
import signal
import socket
import subprocess
import threading
import time

import pytest

from nets import BUILD, TOP, Capture, Net, cgroup2_root, needs_root, run, wait_for

pytestmark = needs_root
SENT, QUEUED, STARTED, RECEIVING, COMPUTING, DONE, FAILED, KILLED, REFUSED, LOST = range(10)
EPOCH = 5
FIRST = EPOCH << 32

SAY = """import os, socket, sys
say = socket.socket(fileno=int(os.environ["DUOPOLY_TASK_SOCKET"]))
"""


class Controller:
    """build/tests/controller-driver in a namespace: orders in, JSON messages out."""

    def __init__(self, host, address, epoch=EPOCH):
        self.process = host.popen(os.path.join(BUILD, "tests/controller-driver"), address, str(epoch),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.messages = []
        self.answers = []
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        assert self._answer() == "ok"

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                self.messages.append(json.loads(line))
            else:
                self.answers.append(line.strip())

    def _answer(self):
        wait_for("an answer of the controller driver", lambda: self.answers)
        return self.answers.pop(0)

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self._answer()
        assert answer == "ok", answer

    def of(self, kind):
        return [m for m in self.messages if m["kind"] == kind]

    def states(self, attempt):
        return [m["state"] for m in self.of("attempt_state") if m["state"]["attempt"] == attempt]

    def wait_phase(self, attempt, phase, deadline_s=10):
        return wait_for(f"attempt {attempt} in phase {phase} (it said {self.states(attempt)})",
                        lambda: next((s for s in self.states(attempt) if s["phase"] == phase), None), deadline_s)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()


class AsRoot:
    """Under which rights an agent runs, and what starts its attempts: here itself, as root (test_rights has another)."""

    lines = []  # of the configuration's part "tasks"
    words = []  # before the agent's command

    def __init__(self, agent):
        self.agent = agent
        self.programs = BUILD
        self.cgroup = agent.net.prefix + agent.name

    def prepare(self):
        pass

    def starter(self):
        return self.agent.process.pid

    def end(self):
        pass


class Agent:
    def __init__(self, net, host, controller_address, name="h1", rights=AsRoot, **options):
        self.net, self.host, self.name = net, host, name
        self.scripts = []
        self.state = os.path.join(net.dir, name)
        self.cgroup = os.path.join(cgroup2_root(), net.prefix + name)
        self.config = os.path.join(net.dir, name + ".yaml")
        self.measurements = os.path.join(net.dir, name + ".measurements")
        self.log = os.path.join(net.dir, name + ".log")
        commands = dict(sleep=["sleep", "1000"], true=["true"], false=["sh", "-c", "echo one >&2; echo the last >&2; exit 7"],
                        missing=["/no/such/program"], **options.pop("commands", {}))
        self.flags = options.pop("flags", [])
        marks = options.pop("marks", "")
        lines = [f"name: {name}", f"controller: {controller_address}", f"state: {self.state}", f"measurements: {self.measurements}",
                 f"marks: {{members: [10.99.0.0/24]{marks}}}"]
        link = options.pop("link", None)
        if options.pop("role", "host") == "switch":
            lines += ["role: switch", f"link: {link or '{bridge: br0, rate: 100 Mbps}'}"]
        else:
            lines += [f"address: {host.address}", "units: [{slots: 2}]", f"link: {link or '{uplink: up0, rate: 100 Mbps}'}"]
        self.rights = rights(self)
        lines += options.pop("lines", [])
        lines += ["tasks:", f"  cgroup: {self.rights.cgroup}", *self.rights.lines, *options.pop("task_lines", []), "  commands:"]
        for key, argv in commands.items():
            if isinstance(argv, str):
                script = os.path.join(net.dir, key + ".py")
                with open(script, "w") as f:
                    f.write(argv)
                self.scripts.append(script)
                argv = ["/usr/bin/python3", script]
            lines += [f"    - name: {key}", f"      argv: {json.dumps(argv)}"]
        with open(self.config, "w") as f:
            f.write("\n".join(lines) + "\n")
        self.process = None
        self.rights.prepare()
        if options.pop("begins", True):
            self.start()

    def start(self, program="duopoly-agent"):
        with open(self.log, "a") as log:
            self.process = self.host.popen(*self.rights.words, os.path.join(self.rights.programs, program), "--config",
                                           self.config, *self.flags, stdout=log, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        self.process.terminate()
        assert self.process.wait(10) == 0, open(self.log).read()

    def restore(self):
        with self.host.popen(os.path.join(BUILD, "duopoly-agent"), "--config", self.config, "--restore",
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as p:
            out = p.communicate(timeout=20)[0]
        assert p.returncode == 0, out
        assert not [line for line in out.splitlines() if not line.startswith("duopoly-agent")], out

    def pids(self, attempt, below="/task"):
        try:
            with open(f"{self.cgroup}/{attempt:016x}{below}/cgroup.procs") as f:
                return [int(line) for line in f]
        except OSError:
            return []

    def attempts_on_disk(self):
        """Records, and the sockets of parents that have no agent."""
        return sorted(os.listdir(self.state + "/attempts")) if os.path.isdir(self.state + "/attempts") else []

    def starter(self):
        """duopoly-task, which the agent's first start brought up: the newest of those that serve it."""
        above = self.rights.starter()
        return wait_for("duopoly-task", lambda: [int(pid) for thread in os.listdir(f"/proc/{above}/task") for pid in
                                                 open(f"/proc/{above}/task/{thread}/children").read().split()])[-1]

    def records(self):
        return [name for name in self.attempts_on_disk() if not name.endswith(".s")]

    def cgroups(self):
        return [d for d in os.listdir(self.cgroup) if os.path.isdir(os.path.join(self.cgroup, d))]


class Site:
    """A controller on h2 and an agent on h1, in session."""

    def __init__(self, net, rights=AsRoot):
        self.net, self.rights = net, rights
        self.address = f"tcp://{net.hosts[1].address}:7000"
        self.controller = self.agent = None

    def begin(self, host=None, **options):
        self.controller = Controller(self.net.hosts[1], self.address)
        self.agent = Agent(self.net, host or self.net.hosts[0], self.address, rights=self.rights, **options)
        self.wait_session()
        return self.controller, self.agent

    def wait_session(self, n=1):
        def there():
            assert self.agent.process.poll() is None, open(self.agent.log).read()
            return len(self.controller.of("inventory_end")) >= n
        wait_for("the inventory's end", there)

    def end(self):
        if self.agent:
            if self.agent.process.poll() is None:
                self.agent.kill()
            self.agent.restore()
            self.agent.rights.end()
        if self.controller:
            self.controller.stop()


@pytest.fixture
def site():
    net = Net(2)
    made = Site(net)
    try:
        yield made
    finally:
        try:
            made.end()
        finally:
            net.remove()


def command(script):
    return SAY + script


def test_hello_inventory_and_reports(site):
    controller, agent = site.begin()
    hello = controller.of("hello")[0]
    assert (hello["name"], hello["slots"], hello["uplink_bps"]) == ("h1", 2, 100_000_000)
    loads = len(controller.of("load"))
    start = time.monotonic()
    wait_for("ten load reports", lambda: len(controller.of("load")) >= loads + 10)
    assert 0.7 < time.monotonic() - start < 2.0, "a load report every 100 ms"
    wait_for("counters", lambda: controller.of("agent_counters"))


def test_an_attempt_from_start_to_result(site):
    controller, agent = site.begin(commands={
        "reduce": command("""
assert os.getuid() != 0 and os.getpgid(0) == os.getpid()
text = open(os.environ["DUOPOLY_TASK_INPUT"]).read()
assert text.startswith("duopoly-task-input 1\\n") and text[text.index("job "):] == "job 12\\nstage 1\\ntask 3\\nattempt %d\\ncompute_ns 25500000\\noutput_bytes 0\\nstall_ms 0\\ninput 10.99.0.2 1500000 map 0 7 99\\n" % (FIRST + 1), text
say.send(b"received")
os.makedirs(os.environ["DUOPOLY_TASK_OUTPUT"])
say.send(b"done")
""".replace("FIRST", str(FIRST)))})
    controller.do(f"start {FIRST + 1} 12 1 3 reduce 1 2 5 0 25500000 10.99.0.2 1500000")
    done = controller.wait_phase(FIRST + 1, DONE)
    phases = [s["phase"] for s in controller.states(FIRST + 1)]
    assert phases == [STARTED, COMPUTING, DONE], (phases, done["text"])
    assert (done["job"], done["stage"], done["task"], done["coflow"], done["macroflow"], done["slots"]) == (12, 1, 3, 2, 5, 1)
    wait_for("the acknowledged attempt to leave the disk", lambda: agent.attempts_on_disk() == [])
    wait_for("its cgroup to go", lambda: agent.cgroups() == [])
    held = glob.glob(agent.state + "/outputs/*")
    assert [os.path.basename(h) for h in held] == [f"12-1-3-{FIRST + 1}"]
    controller.do("forget 12")
    wait_for("the output to go", lambda: not glob.glob(agent.state + "/outputs/*"))


def test_failures_carry_status_and_last_line(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 false")
    failed = controller.wait_phase(FIRST + 1, FAILED)
    assert (failed["exit"], failed["text"]) == (7, "the last")
    controller.do(f"start {FIRST + 2} 1 0 0 missing")
    failed = controller.wait_phase(FIRST + 2, FAILED)
    assert failed["exit"] == 127 and "No such file" in failed["text"]
    controller.do(f"start {FIRST + 3} 1 0 0 sleep")
    controller.wait_phase(FIRST + 3, STARTED)
    os.kill(wait_for("its process", lambda: agent.pids(FIRST + 3))[0], signal.SIGSEGV)
    assert controller.wait_phase(FIRST + 3, FAILED)["exit"] == -signal.SIGSEGV
    controller.do(f"start {FIRST + 4} 1 0 0 nosuch")
    assert "command" in controller.wait_phase(FIRST + 4, REFUSED)["text"]


def test_commands_never_run_as_root(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    pid = wait_for("its process", lambda: agent.pids(FIRST + 1))[0]
    wait_for("exec", lambda: os.readlink(f"/proc/{pid}/exe").endswith("sleep"))
    assert os.stat(f"/proc/{pid}").st_uid == pwd.getpwnam("nobody").pw_uid
    status = open(f"/proc/{pid}/status").read()
    assert "CapEff:\t0000000000000000" in status and "Groups:\t\n" in status.replace(" ", "")
    config = open(agent.config).read().replace("tasks:\n", "tasks:\n  user: root\n")
    bad = agent.config + ".root"
    with open(bad, "w") as f:
        f.write(config)
    p = subprocess.run(["nsenter", "--net=/run/netns/" + agent.host.name, "--", BUILD + "/duopoly-agent", "--config", bad, "--check"],
                       capture_output=True, text=True)
    assert p.returncode == 1 and "root" in p.stderr and p.stderr.count("\n") == 1


def test_a_removed_cgroup_is_made_again_and_counted(site):
    controller, agent = site.begin(commands={"fetch": f"""import socket
s = socket.create_connection(("{site.net.hosts[1].address}", 4455))
while s.recv(65536):
    pass
"""})
    with site.net.hosts[1].inside():
        listener = socket.socket()
    listener.bind(("0.0.0.0", 4455))
    listener.listen()
    listener.settimeout(10)
    for attempt in (FIRST + 1, FIRST + 2):
        os.rmdir(agent.cgroup)
        if attempt == FIRST + 2:
            os.mkdir(agent.cgroup)
        controller.do(f"start {attempt} 1 0 0 fetch")
        served, _ = listener.accept()
        served.sendall(b"x" * 54_321)
        served.close()
        assert controller.wait_phase(attempt, DONE)["bytes"] == 54_321
        wait_for("its cgroup to go", lambda: agent.cgroups() == [])
    listener.close()
    assert open(agent.log).read().count("it is made again") == 2


def test_slots_are_bounded_queued_and_free_at_the_end(site):
    controller, agent = site.begin()
    for i in (1, 2):
        controller.do(f"start {FIRST + i} 1 0 {i} sleep")
        controller.wait_phase(FIRST + i, STARTED)
    controller.do(f"start {FIRST + 3} 1 0 3 sleep")
    assert "room" in controller.wait_phase(FIRST + 3, REFUSED)["text"]
    controller.do(f"start {FIRST + 4} 1 0 4 sleep 1 0 0 1")
    controller.do(f"start {FIRST + 5} 1 0 5 sleep 1 0 0 1")
    controller.wait_phase(FIRST + 4, QUEUED)
    controller.wait_phase(FIRST + 5, QUEUED)
    controller.do(f"stop {FIRST + 1} 1000")
    controller.wait_phase(FIRST + 1, KILLED)
    controller.wait_phase(FIRST + 4, STARTED)
    assert [s["phase"] for s in controller.states(FIRST + 5)] == [QUEUED]
    controller.do(f"stop {FIRST + 5} 0")
    controller.wait_phase(FIRST + 5, KILLED)
    controller.do(f"start {FIRST + 6} 1 0 6 sleep 3")
    assert "more than the unit has" in controller.wait_phase(FIRST + 6, REFUSED)["text"]


def test_stop_sends_term_then_kills_everything_after_the_grace(site):
    controller, agent = site.begin(commands={
        "stubborn": command("""
import signal, subprocess, time
signal.signal(signal.SIGTERM, lambda *a: open(os.environ["DUOPOLY_TASK_OUTPUT"] + "/term", "w"))
os.mkdir(os.environ["DUOPOLY_TASK_OUTPUT"])
subprocess.Popen(["setsid", "sleep", "1000"])
say.send(b"received")
while True: time.sleep(0.01)
""")})
    controller.do(f"start {FIRST + 1} 1 0 0 stubborn")
    controller.wait_phase(FIRST + 1, COMPUTING)
    wait_for("its child in another session", lambda: len(agent.pids(FIRST + 1)) == 2)
    pids = agent.pids(FIRST + 1)
    start = time.monotonic()
    controller.do(f"stop {FIRST + 1} 500")
    wait_for("SIGTERM", lambda: glob.glob(agent.state + "/outputs/*/term"))
    killed = controller.wait_phase(FIRST + 1, KILLED)
    assert killed["exit"] == -signal.SIGKILL and time.monotonic() - start > 0.45
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
    wait_for("its output to go", lambda: not glob.glob(agent.state + "/outputs/*"))


def test_what_a_command_leaves_behind_dies_with_it(site):
    controller, agent = site.begin(commands={"leaves": ["sh", "-c", "setsid sleep 1000 & exit 0"]})
    controller.do(f"start {FIRST + 1} 1 0 0 leaves")
    controller.wait_phase(FIRST + 1, DONE)
    wait_for("its cgroup to go", lambda: agent.cgroups() == [])


def test_marks_follow_levels_and_end_with_the_attempt(site):
    """A command's connection is marked from the SYN on, and carries the attempt's level after it; a new level and mode act at once."""
    net = site.net
    controller, agent = site.begin(commands={
        "fetch": command("""
import time
s = socket.create_connection(("10.99.0.2", 5555))
say.send(("connection %s %d %s %d" % (*s.getsockname(), *s.getpeername())).encode())
while s.recv(65536): pass
""")})
    with net.hosts[1].inside():
        listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", 5555))
    listener.listen(4)
    listener.settimeout(10)
    out = Capture(net.sw, "p1")
    controller.do(f"start {FIRST + 1} 1 0 0 fetch 1 2 5")
    s, _ = listener.accept()
    s.send(b"x" * 10_000)

    def marks():
        out.clear()
        s.send(b"x" * 3000)
        return wait_for("packets", lambda: {p.dscp for p in out.read() if 5555 in (p.sport, p.dport)})
    wait_for("progress", lambda: any(m["bytes"].get(str(FIRST + 1)) == 10_000 for m in controller.of("progress")))
    packets = [p for p in out.read() if 5555 in (p.sport, p.dport)]
    assert {p.dscp for p in packets if p.flags & 2} == {3}, "a handshake waits for nobody's content"
    assert {p.dscp for p in packets if not p.flags & 2} == {4 * 2 + 3}
    controller.do("mode 1 1")
    wait_for("the mode", lambda: marks() == {4 * 5 + 3})
    controller.do("mode 0 0")  # older: ignored
    controller.do(f"levels {FIRST + 1} 1 0")
    wait_for("the level", lambda: marks() == {3})
    connections = [line for line in open(agent.measurements) if line.startswith(f"connection {FIRST + 1} ")]
    assert len(connections) == 1 and connections[0].split()[4:6] == ["10.99.0.2", "5555"]
    s.close()
    listener.close()
    done = controller.wait_phase(FIRST + 1, DONE)
    assert done["bytes"] >= 16_000 and done["bytes"] % 1000 == 0
    out.close()


def test_without_controller_marks_end_and_tasks_run_on(site):
    controller, agent = site.begin()
    controller.do("lease 300")
    controller.do("leases 0")
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pids = wait_for("its process", lambda: agent.pids(FIRST + 1))
    controller.stop()
    site.controller = Controller(site.net.hosts[1], site.address, EPOCH + 1)
    site.wait_session()
    assert agent.pids(FIRST + 1) == pids
    assert site.controller.of("hello")[0]["epoch"] == EPOCH
    part = site.controller.of("inventory_part")[0]
    assert [(a["attempt"], a["phase"]) for a in part["attempts"]] == [(FIRST + 1, STARTED)]


def test_marks_are_renewed_only_while_the_controller_leases(site):
    """Without the controller's lease the marks run out by themselves, tasks run on, and a new lease brings them back."""
    net = site.net
    controller, agent = site.begin(marks=", lease: 1.5 s", commands={
        "sends": command("""
import time
s = socket.create_connection(("10.99.0.2", 5556))
while True:
    s.send(b"x" * 100)
    time.sleep(0.01)
""")})
    with net.hosts[1].inside():
        listener = socket.socket()
    listener.bind(("0.0.0.0", 5556))
    listener.listen(4)
    out = Capture(net.sw, "p1")
    controller.do("lease 300")
    controller.do(f"start {FIRST + 1} 1 0 0 sends 1 2 5")
    controller.wait_phase(FIRST + 1, STARTED)

    def marks():
        out.clear()
        return wait_for("packets", lambda: {p.dscp for p in out.read() if p.dport == 5556 and p.payload})
    wait_for("marks", lambda: marks() == {4 * 2 + 3})
    controller.do("leases 0")
    # As late as the lease of WELCOME runs out, 10 s, when none of the short ones had been sent.
    wait_for("marks to end", lambda: marks() == {0}, 20)
    assert agent.pids(FIRST + 1) and agent.process.poll() is None
    controller.do("leases 1")
    wait_for("marks to come back", lambda: marks() == {4 * 2 + 3}, 5)
    wait_for("the expiry to be counted", lambda: controller.of("agent_counters") and controller.of("agent_counters")[-1]["expiries"] == 1)
    listener.close()
    out.close()


def test_a_switch_agent_manages_all_ports_and_puts_back_what_stood_there(site):
    net = site.net
    for port in ("p1", "p2"):
        net.sw.tc("qdisc", "add", "dev", port, "root", "tbf", "rate", "100000000", "burst", "16000", "limit", "300000")
    before = net.sw.tc("qdisc", "show")
    net.sw.ip("addr", "add", "10.99.0.251/24", "dev", "br0")
    controller, agent = site.begin(host=net.sw, name="s", role="switch", flags=["--replace"])
    hello = controller.of("hello")[0]
    assert (hello["role"], hello["units"]) == (1, 0)
    assert controller.of("inventory_end") and not controller.of("inventory_part")
    for port in ("p1", "p2"):
        shown = net.sw.tc("qdisc", "show", "dev", port)
        assert "htb" in shown and "clsact" in shown and "tbf" not in shown
    wait_for("counters", lambda: len(controller.of("agent_counters")) >= 2)
    assert len(controller.of("hello")) == 1, "it speaks often enough not to be silent"
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    wait_for("the refusal", lambda: controller.of("agent_counters")[-1]["refused"] == 1)
    agent.terminate()
    assert net.sw.tc("qdisc", "show") == before


def test_agent_killed_and_started_again_finds_its_attempts(site):
    controller, agent = site.begin(commands={
        "waits": command("""
import time
say.send(b"missing 0 7 99 10.99.0.2")
say.send(b"received")
while not os.path.exists("GO"): time.sleep(0.005)
os.makedirs(os.environ["DUOPOLY_TASK_OUTPUT"])
""".replace("GO", site.net.dir + "/go"))})
    controller.do("acknowledge 0")
    controller.do(f"start {FIRST + 1} 12 1 3 waits 1 2 5")
    controller.do(f"start {FIRST + 2} 13 0 0 false")
    controller.wait_phase(FIRST + 1, COMPUTING)
    wait_for("output_lost", lambda: controller.of("output_lost"))
    controller.wait_phase(FIRST + 2, FAILED)
    pids = agent.pids(FIRST + 1) + agent.pids(FIRST + 1, "")
    agent.kill()
    assert agent.pids(FIRST + 1) + agent.pids(FIRST + 1, "") == pids, "attempts outlive the agent"
    before = len(controller.messages)
    agent.start()
    site.wait_session(2)
    listed = {a["attempt"]: a for m in controller.messages[before:] if m["kind"] == "inventory_part" for a in m["attempts"]}
    assert listed[FIRST + 2]["phase"] == FAILED and listed[FIRST + 2]["text"] == "the last"
    running = listed[FIRST + 1]
    assert running["phase"] in (STARTED, COMPUTING)
    assert (running["job"], running["stage"], running["task"], running["coflow"], running["macroflow"]) == (12, 1, 3, 2, 5)
    assert agent.records() == [f"{FIRST + 1:016x}", f"{FIRST + 2:016x}"], "not acknowledged: kept"
    wait_for("what it said before, again", lambda: [m for m in controller.messages[before:] if m["kind"] == "output_lost"])
    # The slot is still taken, and its end is seen.
    controller.do(f"start {FIRST + 3} 1 0 0 sleep 2")
    controller.wait_phase(FIRST + 3, REFUSED)
    open(site.net.dir + "/go", "w").close()
    controller.wait_phase(FIRST + 1, DONE)
    assert os.path.isdir(f"{agent.state}/outputs/12-1-3-{FIRST + 1}")
    controller.do("acknowledge 1")
    agent.kill()
    agent.start()
    site.wait_session(3)
    wait_for("acknowledged results to leave the disk", lambda: agent.attempts_on_disk() == [])
    outputs = [o for m in controller.messages if m["kind"] == "inventory_part" for o in m["outputs"]]
    assert [12, 1, 3, FIRST + 1] in outputs


def test_an_attempt_that_ends_without_an_agent_keeps_its_status(site):
    controller, agent = site.begin(commands={
        "dies": command("""
import time
while not os.path.exists("GO"): time.sleep(0.005)
sys.exit("last words")
""".replace("GO", site.net.dir + "/go"))})
    controller.do(f"start {FIRST + 1} 1 0 0 dies")
    controller.wait_phase(FIRST + 1, STARTED)
    pids = wait_for("its processes", lambda: agent.pids(FIRST + 1) and agent.pids(FIRST + 1, ""))
    agent.kill()
    open(site.net.dir + "/go", "w").close()
    wait_for("its parent to end", lambda: not any(os.path.exists(f"/proc/{p}/exe") and agent.pids(FIRST + 1, "") for p in pids))
    agent.start()
    site.wait_session(2)
    part = controller.of("inventory_part")[-1]["attempts"][0]
    assert (part["attempt"], part["phase"], part["exit"], part["text"]) == (FIRST + 1, FAILED, 1, "last words")


def test_a_parent_that_dies_is_a_failed_attempt_and_nothing_survives(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pid = wait_for("its process", lambda: agent.pids(FIRST + 1))[0]
    os.kill(agent.pids(FIRST + 1, "")[0], signal.SIGKILL)
    failed = controller.wait_phase(FIRST + 1, FAILED)
    assert failed["exit"] == -signal.SIGKILL and "parent" in failed["text"]
    wait_for("the command to die", lambda: not agent.pids(FIRST + 1))
    wait_for("cgroup and directory to go", lambda: agent.cgroups() == [] and agent.attempts_on_disk() == [])
    assert not os.path.exists(f"/proc/{pid}/exe") or "sleep" not in os.readlink(f"/proc/{pid}/exe")


def test_what_starts_attempts_may_die_and_attempts_live_on(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pids = wait_for("its process", lambda: agent.pids(FIRST + 1))
    first = agent.starter()
    os.kill(first, signal.SIGKILL)
    wait_for("the agent to notice", lambda: "started again" in open(agent.log).read())
    controller.do(f"start {FIRST + 2} 1 0 0 true")
    controller.wait_phase(FIRST + 2, DONE)
    assert agent.starter() != first and agent.pids(FIRST + 1) == pids
    controller.do(f"stop {FIRST + 1} 0")
    controller.wait_phase(FIRST + 1, KILLED)
    wait_for("all to be gone", lambda: agent.cgroups() == [] and agent.attempts_on_disk() == [])


def test_a_start_that_is_stuck_keeps_nobody_waiting_and_is_refused_when_its_starter_dies(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 true")
    controller.wait_phase(FIRST + 1, DONE)
    starter = agent.starter()
    os.kill(starter, signal.SIGSTOP)
    try:
        controller.do(f"start {FIRST + 2} 1 0 0 sleep")
        controller.do(f"start {FIRST + 3} 1 0 1 sleep")
        controller.do("mode 1 1")
        wait_for("the mode", lambda: any(line.startswith("mode 1 1 ") for line in open(agent.measurements)))
        controller.do(f"start {FIRST + 4} 1 0 2 sleep")
        assert "room" in controller.wait_phase(FIRST + 4, REFUSED)["text"], "both slots are taken"
        assert not controller.states(FIRST + 2)
    finally:
        os.kill(starter, signal.SIGKILL)
    for i in (2, 3):
        assert "duopoly-task died" in controller.wait_phase(FIRST + i, REFUSED)["text"]
    wait_for("all to be gone", lambda: agent.cgroups() == [] and agent.attempts_on_disk() == [])
    for i in (5, 6):
        controller.do(f"start {FIRST + i} 1 0 {i} sleep")
        controller.wait_phase(FIRST + i, STARTED)


def test_a_starter_that_hangs_is_replaced_and_what_it_had_not_come_to_is_refused(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pids = wait_for("its process", lambda: agent.pids(FIRST + 1))
    starter = agent.starter()
    os.kill(starter, signal.SIGSTOP)
    try:
        controller.do(f"start {FIRST + 2} 1 0 1 sleep")
        controller.do(f"start {FIRST + 3} 1 0 2 true 1 0 0 1")
        controller.wait_phase(FIRST + 3, QUEUED)
        assert "did not come to this start in time" in controller.wait_phase(FIRST + 2, REFUSED, 30)["text"]
        # Who waited for the slot has it, from another starter.
        controller.wait_phase(FIRST + 3, DONE)
        assert agent.starter() != starter and not os.path.exists(f"/proc/{starter}/exe")
    finally:
        if os.path.exists(f"/proc/{starter}/exe"):
            os.kill(starter, signal.SIGKILL)
    assert agent.pids(FIRST + 1) == pids, "what it had started lives on"
    assert "hangs" in open(agent.log).read()
    controller.do(f"stop {FIRST + 1} 0")
    controller.wait_phase(FIRST + 1, KILLED)
    wait_for("all to be gone", lambda: agent.cgroups() == [] and agent.attempts_on_disk() == [])


def test_a_stop_overtakes_a_start(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 true")
    controller.wait_phase(FIRST + 1, DONE)
    starter = agent.starter()
    os.kill(starter, signal.SIGSTOP)
    try:
        controller.do(f"start {FIRST + 2} 1 0 0 sleep 1 0 0 0")
        controller.do(f"stop {FIRST + 2} 0")
    finally:
        os.kill(starter, signal.SIGCONT)
    controller.wait_phase(FIRST + 2, KILLED)
    wait_for("all to be gone", lambda: agent.cgroups() == [] and agent.attempts_on_disk() == [])


def test_starts_that_an_agent_left_waiting_never_run(site):
    """An agent dies with an order under way: the next one knows of the attempt, and says that it is none."""
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 true")
    controller.wait_phase(FIRST + 1, DONE)
    starter = agent.starter()
    os.kill(starter, signal.SIGSTOP)
    try:
        controller.do(f"start {FIRST + 2} 1 0 0 sleep")
        wait_for("its record", lambda: len(agent.records()) == 1)
        agent.kill()
    finally:
        os.kill(starter, signal.SIGCONT)
    wait_for("the starter to go with its agent", lambda: not os.path.exists(f"/proc/{starter}/exe"))
    agent.start()
    site.wait_session(2)
    listed = controller.of("inventory_part")[-1]["attempts"]
    assert [(a["attempt"], a["phase"]) for a in listed] == [(FIRST + 2, FAILED)]
    wait_for("all to be gone", lambda: agent.cgroups() == [] and agent.attempts_on_disk() == [])


def test_a_full_file_system_refuses_with_a_sentence(site):
    small = os.path.join(site.net.dir, "h1")
    os.mkdir(small)
    run("mount", "-t", "tmpfs", "-o", "size=256k", "none", small)
    try:
        controller, agent = site.begin()
        with open(small + "/filler", "wb", buffering=0) as filler:
            with pytest.raises(OSError):
                while True:
                    filler.write(b"x" * 4096)
        room = wait_for("what it says of its room", lambda: controller.of("host_room"))
        assert "No space left" in room[0]["text"]
        controller.do(f"start {FIRST + 1} 1 0 0 true")
        assert "No space left" in controller.wait_phase(FIRST + 1, REFUSED)["text"]
        assert agent.cgroups() == [] and agent.attempts_on_disk() == []
        os.unlink(small + "/filler")
        wait_for("that there is room again", lambda: [m["text"] for m in controller.of("host_room")][1:] == [""])
        controller.do(f"start {FIRST + 2} 1 0 0 true")
        controller.wait_phase(FIRST + 2, DONE)
        site.end()
        site.agent = site.controller = None
    finally:
        run("umount", "-l", small)


def test_no_session_under_an_epoch_that_cannot_be_kept(site):
    """A later agent would obey an older controller."""
    place = os.path.join(site.net.dir, "h1", "epoch")
    os.makedirs(place)
    site.controller = Controller(site.net.hosts[1], site.address)
    site.agent = Agent(site.net, site.net.hosts[0], site.address)
    wait_for("its words", lambda: f"epoch cannot be kept: writing {place}" in open(site.agent.log).read())
    assert not site.controller.of("inventory_end")
    os.rmdir(place)
    site.wait_session()
    assert int(open(os.path.join(site.agent.state, "epoch")).read()) == EPOCH


def test_questions_repetitions_and_old_epochs(site):
    controller, agent = site.begin()
    controller.do(f"ask {FIRST + 9}")
    controller.wait_phase(FIRST + 9, LOST)
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pids = wait_for("its process", lambda: agent.pids(FIRST + 1))
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    wait_for("the same answer", lambda: [s["phase"] for s in controller.states(FIRST + 1)] == [STARTED, STARTED])
    assert agent.pids(FIRST + 1) == pids
    controller.do(f"raw_epoch {EPOCH - 1}")
    controller.do(f"start {FIRST + 2} 1 0 0 sleep")
    wait_for("the refusal", lambda: [m for m in controller.of("agent_counters") if m["refused"] == 1])
    assert not controller.states(FIRST + 2)


def test_acknowledgements_come_after_the_effect(site):
    """A start is acknowledged when its process exists: the answer that says so carries the acknowledgement, none before it."""
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    for m in controller.messages:
        started = m["kind"] == "attempt_state"
        assert m["acknowledged"] == (1 if started else 0), m
        if started:
            break


def test_an_older_controller_is_not_obeyed_after_a_newer_one(site):
    controller, agent = site.begin()
    controller.stop()
    site.controller = Controller(site.net.hosts[1], site.address, EPOCH - 1)
    wait_for("HELLO twice", lambda: len(site.controller.of("hello")) >= 2, 15)
    assert not site.controller.of("inventory_end")
    assert site.controller.of("hello")[0]["epoch"] == EPOCH


def test_an_agent_gives_way_to_another_of_its_name(site):
    """It asks again after 1 s and then 2 s, with HELLOs that a younger process's would beat, and says so once."""
    controller, agent = site.begin()
    controller.do("rivals 1")
    site.wait_session(2)
    hellos = controller.of("hello")
    assert [int(h["hello"]) - int(hellos[0]["hello"]) for h in hellos] == [0, 1, 2]
    said = [line for line in open(agent.log) if "another agent named h1" in line]
    assert len(said) == 1, open(agent.log).read()


def test_a_silent_controller_is_sought_again(site):
    controller, agent = site.begin()
    controller.process.send_signal(signal.SIGSTOP)
    try:
        wait_for("the end of the session", lambda: "silent" in open(agent.log).read(), 10)
    finally:
        controller.process.send_signal(signal.SIGCONT)
    site.wait_session(2)


def flood_uplink(site, until):
    """Sends as much as goes until `until()` is true."""
    with site.net.hosts[0].inside():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stop = threading.Event()

    def flood():
        while not stop.is_set():
            try:
                s.sendto(b"x" * 1400, ("10.99.0.2", 9))
            except OSError:
                pass
    thread = threading.Thread(target=flood)
    thread.start()
    try:
        wait_for("a full uplink", until)
    finally:
        stop.set()
        thread.join()
        s.close()


def test_use_of_the_link_is_told_at_once_when_it_crosses(site):
    """Beside the report every 100 ms; a crossing that falls on that beat (one in five) shows nothing, so there are several."""
    controller, _agent = site.begin()

    def gaps():
        times = [m["ns"] for m in controller.of("load")]
        return [(b - a) / 1e6 for a, b in zip(times, times[1:])]
    for _ in range(20):
        seen = len(controller.of("load"))
        flood_uplink(site, lambda: [m for m in controller.of("load")[seen:] if m["up"] > 900])
        wait_for("an idle uplink", lambda: controller.of("load")[-1]["up"] < 100)
        if any(gap < 85 for gap in gaps()[seen:]):
            return
    raise AssertionError("no report came between two beats")


def test_two_agents_cannot_share_a_state_directory(site):
    controller, agent = site.begin()
    p = subprocess.run(["nsenter", "--net=/run/netns/" + agent.host.name, "--", BUILD + "/duopoly-agent", "--config", agent.config],
                       capture_output=True, text=True, timeout=10)
    assert p.returncode == 1 and "another duopoly-agent" in p.stderr
    assert "htb" in agent.host.tc("qdisc", "show", "dev", "up0"), "the first one's queues stay"


def state_of_machine(net):
    return [net.hosts[0].tc("qdisc", "show"), run("mount").count("bpf"), sorted(os.listdir(net.dir)),
            [d for d in os.listdir(cgroup2_root()) if d.startswith(net.prefix)]]


def test_term_restores_queues_and_marks_and_restore_ends_all(site):
    before = state_of_machine(site.net)
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pid = wait_for("its process", lambda: agent.pids(FIRST + 1))[0]
    agent.terminate()
    assert site.net.hosts[0].tc("qdisc", "show") == before[0]
    assert agent.pids(FIRST + 1) == [pid], "attempts outlive the agent"
    agent.restore()
    site.agent = None
    assert not agent.pids(FIRST + 1)
    for name in (agent.config, agent.measurements, agent.log, *agent.scripts):
        os.unlink(name)
    assert state_of_machine(site.net) == before


@pytest.mark.parametrize("change,words", [
    (("up0", "nowhere0"), [":8:16:", "nowhere0"]), (("units: [{slots: 2}]", ""), ["units"]), (("rate: 100 Mbps", "rate: 100"), [":8:", "100"]),
    (("name: h1", "name: h1\nnome: h2"), [":2:", "nome", "name"]), (("tcp://", "udp://"), [":2:13:", "udp://"]),
    (("10.99.0.0/24", "10.99.0.0/33"), ["10.99.0.0/33"]), ((":7000", ":70000"), [":2:13:", "'70000'"]), (("name: h1", "name: h/1"), [":1:7:", "h/1"]),
    (("state: /", "state: "), [":3:8:", "absolute"]), (("measurements: /", "measurements: "), [":4:15:", "absolute"]),
    (("measurements: /", "measurements: /no/such/"), [":4:15:", "not on this host"]),
    (("tasks:\n", "tasks:\n  user: no-such-user\n"), [":10:9:", "no-such-user", "on this host"]),
    (("tasks:\n", "tasks:\n  program: /etc/passwd\n"), [":10:12:", "no program that this host can run"]),
    (("tasks:\n", "tasks:\n  cgroup_root: /no/such/root\n"), [":10:16:", "/no/such/root"])])
def test_bad_configurations_get_one_sentence_and_change_nothing(site, change, words):
    site.begin()
    site.agent.terminate()
    before = site.net.hosts[0].tc("qdisc", "show")
    with open(site.agent.config) as f:
        text = f.read()
    assert change[0] in text
    bad = site.agent.config + ".bad"
    with open(bad, "w") as f:
        f.write(text.replace(*change))
    p = subprocess.run(["nsenter", "--net=/run/netns/" + site.agent.host.name, "--", BUILD + "/duopoly-agent", "--config", bad],
                       capture_output=True, text=True, timeout=10)
    assert p.returncode == 1 and p.stderr.count("\n") == 1, p.stderr
    assert all(word in p.stderr for word in words), p.stderr
    assert site.net.hosts[0].tc("qdisc", "show") == before


def test_the_manual_is_a_right_configuration(site):
    text = open(os.path.join(TOP, "schemas/duopoly-agent.yaml")).read().replace("uplink: eth0", "uplink: up0")
    path = os.path.join(site.net.dir, "manual.yaml")
    uncommented = []
    for line in text.splitlines():
        stripped = line.lstrip()
        is_key = stripped.startswith("# ") and stripped[2:].split(":")[0].replace("_", "").isalnum() and ":" in stripped
        known = stripped[2:].split(":")[0] in ("switch", "role", "controller", "address", "rack", "labels", "state", "measurements", "on_exit", "high", "low", "driver", "levels", "leaf_packets", "on_change", "floor", "unmanaged", "control", "members", "dscp", "lease", "flows", "bpffs", "user", "program", "cgroup_root", "cgroup", "bridge")
        uncommented.append(line.replace("# ", "", 1) if is_key and known and stripped == stripped.lstrip() and stripped[2] != " " else line)
    for content in (text, "\n".join(uncommented) + "\n"):
        with open(path, "w") as f:
            f.write(content)
        p = subprocess.run(["nsenter", "--net=/run/netns/" + site.net.hosts[0].name, "--", BUILD + "/duopoly-agent", "--config", path, "--check"],
                           capture_output=True, text=True, timeout=10)
        assert p.returncode == 0, p.stderr
