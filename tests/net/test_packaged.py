"""What docs/rights.md promises of each daemon, under its real unit (units.py): who it is, what it may, and that what it is for works."""

import contextlib
import json
import os
import re
import subprocess

import pytest

import test_guests
from nets import Capture, Net, cgroup2_root, needs_root, wait_for
from scripted import Controller
from units import Machine

pytestmark = needs_root


class Executor(test_guests.Executor):
    """In a machine, born in a cgroup of that name there, as a user of it."""

    def __init__(self, machine, group, user, app, executor="1"):
        self.path = f"{machine.cgroup}/{group}"
        os.makedirs(self.path, exist_ok=True)
        self.born = "/" + os.path.relpath(self.path, cgroup2_root())
        words = ["python3", os.path.join(test_guests.HERE, "guest_executor.py"), "--driver-url", "spark://x", "--executor-id", executor,
                 "--cores", "1", "--app-id", app, "--hostname", "h"]
        self.process = subprocess.Popen(machine.inside(*words, user=user), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=lambda: test_guests.enter(self.path))
        said = self.process.stdout.readline().split()
        assert said[:1] == ["ready"], said
        self.started = []

    def end(self):
        self.process.stdin.close()  # which it ends for, inside
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()


class Site:
    """The packaged agent on h1 under a scripted controller on h2; `ends`: what is called at the end."""

    def __init__(self, ends, folder, rung, prepare="", settings=""):
        self.ends, self.net = ends, Net(2)
        self.ends.callback(self.net.remove)
        peer = self.net.hosts[1]
        address = f"tcp://{peer.address}:7000"
        self.controller = Controller(peer, address)
        self.ends.callback(self.controller.stop)
        self.machine = Machine(folder, net=self.net, units=("duopoly-agent",), prepare=prepare, agent=lambda text: text.replace(
            "controller: tcp://127.0.0.1:7600", "controller: " + address) +
            f"guests: {{rung: {rung}, users: [alice, bob], rescan: 100 ms}}\nmeasurements: /run/duopoly-agent/measurements\n")
        self.machine.drop_in("duopoly-agent", settings + "\n", "settings")
        self.server, self.out = test_guests.Server(peer), Capture(self.net.sw, "p1")
        for end in (self.server.close, self.out.close, self.machine.stop):
            self.ends.callback(end)

    def begin(self):
        self.machine.start()
        wait_for(f"a session: {self.machine.said('duopoly-agent')}", lambda: self.controller.of("inventory_end"), 20)
        return self

    def executor(self, *words):
        made = Executor(self.machine, *words)
        self.ends.callback(made.end)
        return made

    def applications(self):
        return test_guests.applications(self.controller)

    def dscps(self, executor, count):
        return test_guests.dscps(self.out, self.server, lambda: executor.do("fetch", *self.server.address, count))



@pytest.fixture
def begin(tmp_path):
    with contextlib.ExitStack() as ends:
        def make(*words, **more):
            return Site(ends, str(tmp_path), *words, **more).begin()
        yield make


@pytest.mark.parametrize("rung", ["observe", "mark"])
def test_executors_of_other_users_are_found(begin, rung):
    """Their bytes are counted, and under `mark` they bear the level of their application."""
    site = begin(rung)
    one, two = site.executor("container-1", "alice", "app-1"), site.executor("container-2", "bob", "app-2")
    marked = int(rung == "mark")
    wait_for("both to be found", lambda: {n: (a["guests"], a["marked"]) for n, a in site.applications().items()} ==
             {"app-1": (1, marked), "app-2": (1, marked)})
    users = {name: site.machine.uid(name) for name in ("alice", "bob")}
    assert {n: a["user"] for n, a in site.applications().items()} == {"app-1": users["alice"], "app-2": users["bob"]}
    for app, user, level in (("app-1", "alice", 3), ("app-2", "bob", 6)):
        site.controller.do(f"guest {app} {users[user]} {level}")
    wait_for("the levels", lambda: {a["level"] for a in site.applications().values()} == {3, 6})
    assert [site.dscps(e, 50_000) for e in (one, two)] == ([{15}, {27}] if marked else [{0}, {0}])
    wait_for("the bytes", lambda: {a["bytes"] for a in site.applications().values()} == {50_000})

    for number in "12":
        site.executor("worker", "alice", "app-3", number)
    wait_for("those of one cgroup", lambda: site.applications().get("app-3", {}).get("guests") == 2)
    words = site.applications()["app-3"]["text"]
    assert site.applications()["app-3"]["marked"] == 0
    assert words.endswith("it shares its cgroup, and only root may look at its sockets: no bytes are counted"), words


HIDDEN = "executors of other users are not found: /proc hides them from this agent"


def notes(site):
    return [state["text"] for state in site.controller.of("host_state")]


@pytest.mark.parametrize("setting", ["ProtectProc=invisible", "ProtectProc=noaccess", "ProtectProc=ptraceable"])
def test_a_unit_that_hides_processes_makes_the_agent_say_so(begin, setting):
    """In the log and to the controller."""
    site = begin("mark", settings=setting)
    wait_for("the note", lambda: notes(site)[-1].startswith(HIDDEN))
    assert site.machine.said("duopoly-agent").count("configuration: " + HIDDEN) == 1


@pytest.mark.parametrize("hidepid", ["noaccess", "invisible", "ptraceable"])
def test_a_machine_that_hides_processes_hides_none_from_the_unit(begin, hidepid):
    """An agent that shares the machine's /proc tells so, in its plan too, and that it has ended."""
    site = begin("mark", prepare=f"mount -o remount,hidepid={hidepid} /proc")
    site.executor("container-1", "alice", "app-1")
    wait_for("it to be found", lambda: site.applications())
    machine = site.machine
    machine.drop_in("duopoly-agent", "ProtectKernelTunables=no\n", "shared")  # which gives the unit a /proc of its own
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", "duopoly-agent")
    wait_for("the note", lambda: notes(site)[-1].startswith(HIDDEN))
    assert machine.said("duopoly-agent").count("configuration: " + HIDDEN) == 1
    plan = machine.call("duopoly-agent", "--plan", user="duopoly-agent")
    assert HIDDEN in plan.stdout, plan
    machine.run("mount", "-o", "remount,hidepid=off", "/proc")
    wait_for("its end", lambda: notes(site)[-1] == "")
    assert "processes of other users are seen again" in machine.said("duopoly-agent")


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """All daemons, as they are installed."""
    made = Machine(str(tmp_path_factory.mktemp("machine")), journal=True)
    try:
        made.start()
        wait_for("a session", lambda: "session with controller" in made.said("duopoly-agent"), 20)
        yield made
    finally:
        made.stop()


CLOCK = """import sqlite3
for row in sqlite3.connect("file:/var/lib/duopoly/store.db?mode=ro", uri=True).execute("select value from settings where kind = 'clock'"):
    print(row[0])
"""


def test_a_restarted_controller_knows_that_the_machine_was_not_booted(machine):
    """What its store tells times by is that of before."""
    def clock():
        return machine.run("/usr/bin/python3", "-c", CLOCK)
    with open("/proc/sys/kernel/random/boot_id") as boot:
        wanted = boot.read().strip() + " "
    before = wait_for("the clock to be stored", clock)
    assert before.startswith(wanted), before
    machine.run("systemctl", "restart", "duopolyd")
    wait_for("all to be active", machine.active)
    wait_for("an answer", lambda: machine.state("status"))
    assert clock() == before


def test_times_are_the_journals_own(machine):
    rows = [json.loads(line) for line in machine.run("journalctl", "--no-pager", "-o", "json", "-u", "duopoly*").splitlines()]
    ours = [row for row in rows if row.get("_COMM", "").startswith("duopoly")]
    assert {row["_COMM"] for row in ours} >= {"duopolyd", "duopoly-agent"}
    for row in ours:
        assert re.match("duopoly[a-z-]*: ", row["MESSAGE"]) and row["PRIORITY"] in ("3", "4", "5"), row
