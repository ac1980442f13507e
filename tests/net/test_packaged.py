"""What docs/operate/rights.md promises of each daemon, under its real unit (units.py): who it is, what it may, and that what it is for works."""

import contextlib
import json
import os
import re
import subprocess

import pytest

import tcx
import test_guests
from controller import workload
from nets import BUILD, TOP, Capture, Net, cgroup2_root, inside_network, needs_root, wait_for
from scripted import Controller
from test_disk import has_block_device
from testbed.net import answers
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


HAS_FASTPATH = os.path.exists(os.path.join(BUILD, "duopoly-fastpath"))
DAEMONS = ["duopolyd", "duopoly-agent", "duopoly-starter"] + (["duopoly-fastpath"] if HAS_FASTPATH else [])
# What stands at both ends of the data plane.
VETHS = """for side in host out; do
    ip link add $side type veth peer name $side-peer
    ip link set $side up
    ip link set $side-peer up
done"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """All daemons, as they are installed."""
    made = Machine(str(tmp_path_factory.mktemp("machine")), journal=True, prepare=VETHS, units=[name for name in DAEMONS if name != "duopoly-starter"],
                   agent=lambda text: text + "frameworks: {socket: /run/duopoly-agent/frameworks}\n")
    if HAS_FASTPATH:
        made.change("duopoly-fastpath", lambda text: text.replace("iface=veth-host", "iface=host").replace("iface=eth0", "iface=out"))
    try:
        made.start()
        wait_for("a session", lambda: "session with controller" in made.said("duopoly-agent"), 20)
        yield made
    finally:
        made.stop()


def promised():
    """{unit: (user, group, capabilities)} as docs/operate/rights.md has it."""
    rows = {}
    with open(os.path.join(TOP, "docs/operate/rights.md")) as page:
        for row in re.findall(r"^\| (`duopoly.*) \|$", page.read(), re.M):
            unit, user, capabilities = (re.findall(r"`([\w-]+)`", cell) for cell in row.split(" | ")[:3])
            rows[unit[0]] = (user[0], user[-1], capabilities)
    return rows


NUMBERS = dict(KILL=5, SETGID=6, SETUID=7, NET_ADMIN=12, NET_RAW=13, IPC_LOCK=14, PERFMON=38, BPF=39)


@pytest.mark.parametrize("unit", DAEMONS)
def test_each_daemon_is_who_the_documentation_says(machine, unit):
    user, group, capabilities = promised()[unit]
    status = machine.status(unit)
    mask = "%016x" % sum(1 << NUMBERS[word] for word in capabilities)
    assert [status["Cap" + which] for which in ("Prm", "Eff", "Bnd", "Amb")] == [mask] * 4
    assert status["Uid"].split() == [str(machine.uid(user))] * 4
    assert status["Gid"].split() == [machine.run("getent", "group", group).split(":")[2]] * 4
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"


@pytest.mark.parametrize("unit", DAEMONS)
def test_no_daemon_is_given_up(machine, unit):
    """Killed more often in ten seconds than systemd's own limit lets it begin; where the starter goes the agent comes back with it."""
    def runs(name):
        pid = machine.shows(name, "MainPID")
        return machine.shows(name, "ActiveState") == "active" and pid != "0" and pid

    for _ in range(7):
        pid = wait_for(f"{unit} runs", lambda: runs(unit), 20)
        machine.run("kill", "-KILL", pid)
        wait_for(f"{unit} runs again", lambda pid=pid: runs(unit) not in (False, pid), 20)
    wait_for("all run", machine.active, 30)


@pytest.mark.parametrize("trouble", ["read-only", "full"])
def test_a_controller_starts_on_a_state_folder_in_trouble(tmp_path, trouble):
    """Under its unit: what systemd itself does with the folder keeps it from nothing."""
    made = Machine(str(tmp_path), units=("duopolyd",), name="trouble",
                   prepare="mkdir -p /var/lib/duopoly && mount -t tmpfs -o size=4m,mode=700 none /var/lib/duopoly && chown duopolyd:duopoly /var/lib/duopoly")

    def status():
        try:
            return answers.read(made.state("-j", "status"))
        except answers.Refused:
            return {}
    try:
        made.start()
        assert status()["epoch"] == 1
        made.run("systemctl", "stop", "duopolyd")
        if trouble == "full":
            made.call("dd", "if=/dev/zero", "of=/var/lib/duopoly/ballast")
        else:
            made.run("mount", "-o", "remount,ro", "/var/lib/duopoly")
        for epoch in (2, 3):
            made.run("systemctl", "restart", "duopolyd")
            wait_for("it runs", lambda epoch=epoch: status().get("epoch") == epoch, 20)
        assert "nothing is changed, for it could not be kept" in status()["text"], made.said("duopolyd")
        made.run("mount", "-o", "remount,rw", "/var/lib/duopoly")
        made.run("rm", "-f", "/var/lib/duopoly/ballast")
        if trouble == "read-only":  # the unit's own mount of the folder has the flag that it had at the start
            made.run("systemctl", "restart", "duopolyd")
        wait_for("it writes", lambda: "policy" in status() and not status().get("text"), 20)
    finally:
        made.stop()


def asks(machine, user, *words):
    """Whether the user is answered."""
    done = machine.call("duopolyctl", *words, user=user)
    assert done.returncode in (0, 3, 4), done  # reached, and it may
    return done.returncode == 0


def test_who_may_use_the_controllers_socket(machine):
    """Root and the group all, readers may look, others nothing."""
    drain, undo = ("drain", "worker1"), ("drain", "worker1", "--undo")
    assert {user: (asks(machine, user, "hosts"), asks(machine, user, *drain) and asks(machine, user, *undo))
            for user in ("root", "operator-olga", "reader-rob", "carol")} == \
        {"root": (True, True), "operator-olga": (True, True), "reader-rob": (True, False), "carol": (False, False)}


@pytest.mark.skipif(not HAS_FASTPATH, reason="duopoly-fastpath is not built: DPDK is missing (make deps-dpdk)")
def test_who_may_use_the_data_planes_socket(machine):
    capture = ("fastpath", "capture", "end")
    assert {user: asks(machine, user, "fastpath") for user in ("root", "operator-olga", "reader-rob", "carol")} == \
        {"root": True, "operator-olga": True, "reader-rob": True, "carol": False}
    assert "you may only list" in machine.call("duopolyctl", *capture, user="reader-rob").stderr
    assert not asks(machine, "carol", *capture)


def test_a_socket_of_another_group(tmp_path, machine):
    """Takes a unit whose user is in it; whose user is not says so."""
    config = machine.folder + "/other.yaml"
    with open(config, "w") as out:
        out.write("listen: tcp://127.0.0.1:*\nsocket: /run/other/socket\nstate: /run/other\ngroup: staff\n")
    machine.run("install", "-d", "-o", "carol", "/run/other")
    done = machine.call("duopolyd", "--config", config, user="carol")
    assert done.returncode == 1 and "cannot be given to the group with the number" in done.stderr, done
    other = Machine(str(tmp_path), units=("duopolyd",), controller=lambda text: text.replace("\ngroup: duopoly\n", "\ngroup: staff\n"), name="other")
    other.drop_in("duopolyd", "SupplementaryGroups=staff\n", "group")
    try:
        other.start()
        assert other.run("stat", "-c", "%U %G", "/run/duopoly/duopolyd.sock") == "duopolyd staff"
    finally:
        other.stop()


def test_who_may_use_the_agents_sockets(machine):
    assert machine.run("stat", "-c", "%U %G %a", "/run/duopoly-agent/frameworks") == "duopoly-agent duopoly-frameworks 660"
    assert machine.run("stat", "-c", "%U %a", "/run/duopoly-starter") == "duopoly-agent 600"
    script = "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect('/run/duopoly-starter'); " \
             "s.settimeout(10); sys.exit(s.recv(1) != b'')"
    assert "PermissionError" in machine.call("/usr/bin/python3", "-c", script, user="carol").stderr
    assert machine.call("/usr/bin/python3", "-c", script).returncode == 0, "root comes in, and is not served"


def attempt(machine):
    """The status of the command of an attempt that runs."""
    below = machine.cgroup + "/system.slice/duopoly-starter.service"
    for path, _, _ in os.walk(below):
        if path.endswith("/task"):
            with open(path + "/cgroup.procs") as pids:
                for pid in pids.read().split():
                    with open(f"/proc/{pid}/status") as text:
                        return dict(line.rstrip("\n").split(":\t", 1) for line in text if ":\t" in line)
    return None


def test_a_command_has_no_right_and_its_files_are_its_users(machine):
    jobs = [{"id": 1, "name": "rest", "arrival_ms": 0, "stages": [{"tasks": 1, "command": "rest"}]}]
    machine.state("submit", str(workload(machine.folder, jobs, 1)))
    try:
        status = wait_for("its command", lambda: (found := attempt(machine)) and found["Name"] == "sleep" and found, 20)
        assert [status["Cap" + which] for which in ("Inh", "Prm", "Eff", "Amb")] == ["0" * 16] * 4
        assert status["NoNewPrivs"] == "1" and status["Uid"].split() == [str(machine.uid("duopoly-task"))] * 4 and not status["Groups"].strip()
        owners = {}
        for folder in ("/var/lib/duopoly", "/run/duopoly", "/run/duopoly-agent"):
            owners[folder] = set(machine.run("find", folder, "-printf", "%u\n").split())
        assert owners["/var/lib/duopoly"] == owners["/run/duopoly"] == {"duopolyd"}
        assert owners["/run/duopoly-agent"] == {"duopoly-agent", "duopoly-task"} or owners["/run/duopoly-agent"] == {"duopoly-agent"}
        assert machine.run("stat", "-c", "%a", "/var/lib/duopoly") == "700"
    finally:
        machine.state("cancel", "1")
    wait_for("its end", lambda: not attempt(machine), 20)


READS = "import mmap, os, time\\nroom = mmap.mmap(-1, 1 << 20)\\nfile = os.open('/usr/bin/python3', os.O_RDONLY | os.O_DIRECT)\\n" \
        "while True:\\n os.preadv(file, [room], 0)\\n time.sleep(0.1)"


@pytest.mark.skipif(not has_block_device("/usr/bin/python3"), reason="no block device is below /usr")
def test_what_a_command_reads_is_seen(tmp_path):
    """Though it has no profile, is another user's, and its processes are hidden from the starter."""
    made = Machine(str(tmp_path), name="reads", agent=lambda text: text.replace(
        "    - {name: rest,", f'    - {{name: reads, argv: [/usr/bin/python3, -c, "{READS}"]}}\n    - {{name: rest,') + "disk: 100 MB\n")

    def readers():
        row, = answers.read(made.state("hosts", "--json"))["hosts"]
        return row["disk_readers"], row["disk_permille"]
    try:
        made.start()
        assert wait_for("a session", lambda: answers.read(made.state("hosts", "--json"))["hosts"], 20)
        made.state("submit", str(workload(made.folder, [{"id": 1, "name": "reads", "arrival_ms": 0, "stages": [{"tasks": 1, "command": "reads"}]}], 1)))
        wait_for("10 MiB a second to be seen", lambda: readers()[0] == 1 and 60 <= readers()[1] <= 110, 20)
        made.state("cancel", "1")
        wait_for("its end", lambda: readers() == (0, 0), 20)
        assert "is not seen" not in made.said("duopoly-agent"), made.said("duopoly-agent")
    finally:
        made.stop()


def test_what_a_command_leaves_is_held_and_goes_with_its_job(machine):
    """Also where a unit's setting keeps openat2 from the programs (RestrictSUIDSGID=)."""
    stages = [{"tasks": 1, "command": "leaves"}, {"tasks": 1, "command": "rest", "parents": [{"stage": 0, "sums": [0]}]}]
    machine.state("submit", str(workload(machine.folder, [{"id": 1, "name": "leaves", "arrival_ms": 0, "stages": stages}], 1)))
    outputs = "/run/duopoly-agent/outputs"
    number = None
    try:
        wait_for("its second stage", lambda: attempt(machine), 20)
        number = answers.read(machine.state("jobs", "--json"))["jobs"][0]["job"]
        held = machine.run("ls", outputs).split()
        assert len(held) == 1 and held[0].startswith(f"{number}-0-0-")
        assert held[0] in machine.run("ls", "/run/duopoly-agent/attempts")
    finally:
        machine.state("cancel", str(number or 1))
    wait_for("its output to go", lambda: not machine.run("ls", outputs), 20)
    assert "cannot" not in machine.said("duopoly-starter"), machine.said("duopoly-starter")


def test_queues_and_marks_are_there_and_a_plan_has_nothing_to_refuse(machine):
    shown = machine.run("tc", "qdisc", "show", "dev", "up0")
    assert "htb" in shown
    with inside_network(f"/proc/{machine.pid()}/ns/net"):
        hangs = all(tcx.standing_here("up0", way) for way in tcx.BOTH) if tcx.works() else "clsact" in shown
    assert hangs, shown
    rows = answers.read(machine.state("hosts", "--json"))["hosts"]
    assert [(row["name"], row["state"], row["marks"]) for row in rows] == [("worker1", "up", "ebpf")]
    few = ",".join("+" + word.lower() for word in promised()["duopoly-agent"][2])
    done = machine.call("setpriv", "--reuid=duopoly-agent", "--regid=duopoly-agent", "--init-groups", "--inh-caps=" + few, "--ambient-caps=" + few,
                        "duopoly-agent", "--plan")
    assert done.returncode in (0, 3), done


@pytest.mark.parametrize("unit, words",
                         [("duopolyd", "config reload: the file says what is in force"), ("duopoly-agent", "`systemctl restart duopoly-agent` takes it")])
def test_a_reload_says_what_it_takes(machine, unit, words):
    """The daemon goes on."""
    before = machine.shows(unit, "MainPID")
    assert machine.call("systemctl", "reload", unit).returncode == 0
    wait_for("the words", lambda: words in machine.said(unit))
    assert machine.shows(unit, "MainPID") == before and machine.active()


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
