"""duopoly-agent under a scripted controller, with what makes and removes them: real sockets,
sessions, cgroups and processes."""

import json
import os
import subprocess
import threading

import pytest

from nets import BUILD, Net, cgroup2_root, wait_for

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
    """Under which rights an agent runs, and what starts its attempts: here itself, as root
    (test_rights has another)."""

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
            lines += [f"address: {host.address}", "units: " + options.pop("units", "[{slots: 2}]"), f"link: {link or '{uplink: up0, rate: 100 Mbps}'}"]
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
        """Records, and the sockets of parents that have no agent; not what is left of those whose
        outputs are held."""
        there = os.listdir(self.state + "/attempts") if os.path.isdir(self.state + "/attempts") else []
        return sorted(name for name in there if "-" not in name)

    def starter(self):
        """duopoly-task, which the agent's first start brought up: the newest of those that serve
        it."""
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
