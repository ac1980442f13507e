"""The daemons under exactly the rights that their units give them: users of their own, no new
privileges, few capabilities or none. What they are for works, what they are not for fails. The
tests of attempts and marks are those of a scripted controller, under these rights."""

import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

import tcx
from nets import BUILD, TOP, Capture, Net, cgroup2_root, needs_root, run, wait_for
from scripted import DONE, FIRST, KILLED, REFUSED, STARTED, Agent, Site
from test_agent import test_marks_follow_levels_and_end_with_the_attempt  # noqa: F401: these run here too
from test_disk import begin as begin_with_disk
from test_disk import (blocks, reads, test_a_task_that_asks_more_corrects_its_profile,  # noqa: F401
                       test_what_a_task_reads_is_seen, test_what_profiles_ask_is_told, wait_said)
from test_guests import Executor, Server, applications, dscps
from test_outputs import (test_a_task_that_floods_fails_and_its_host_serves_on,  # noqa: F401
                          test_an_output_deeper_than_a_path_goes,
                          test_folders_by_the_thousand_are_no_outputs)
from test_starters import test_what_starts_attempts_may_die_and_attempts_live_on  # noqa: F401
from test_tasks import (test_an_attempt_from_start_to_result,  # noqa: F401
                        test_failures_carry_status_and_last_line,
                        test_stop_sends_term_then_kills_everything_after_the_grace,
                        test_what_a_command_leaves_behind_dies_with_it)

pytestmark = needs_root
AGENT = 64010  # a user that is nobody else's
COMMANDS = 65534  # nobody, and nogroup
ALL_ZERO = "0000000000000000"


def unit(name):
    with open(os.path.join(TOP, "packaging", name)) as text:
        return text.read()


def capabilities(name):
    """What a unit gives: net_admin and so on."""
    said = unit(name)
    bounding = re.search(r"^CapabilityBoundingSet=(.*)$", said, re.M).group(1)
    ambient = re.search(r"^AmbientCapabilities=(.*)$", said, re.M)
    assert bounding == (ambient.group(1) if ambient else "") and "\nNoNewPrivileges=yes\n" in said
    return [word[len("CAP_"):].lower() for word in bounding.split()]


def under(given, user=AGENT, groups=COMMANDS):
    few = ",".join(["-all"] + ["+" + word for word in given])
    return ["setpriv", f"--reuid={user}", f"--regid={user}", f"--groups={groups}", "--no-new-privs", "--inh-caps=" + few,
            "--ambient-caps=" + few, "--bounding-set=" + few]


class AsUnits:
    """As packaging/ has it: the agent as its own user, its starter beside it with rights of its
    own, the maps' file system mounted."""

    def __init__(self, agent):
        self.agent = agent
        self.programs = os.path.join(agent.net.dir, "programs")
        self.cgroup = "starter"  # its service's, in which attempts run too
        self.root = os.path.join(cgroup2_root(), agent.net.prefix + agent.name)
        self.socket = os.path.join(agent.net.dir, "starter")
        self.words = under(capabilities("duopoly-agent.service"))
        self.lines = [f"  cgroup_root: {self.root}", f"  starter: {self.socket}", "  user: nobody"]
        self.bpffs = agent.state + "/bpf"
        self.process = None
        agent.cgroup = os.path.join(self.root, self.cgroup)

    def prepare(self):
        agent = self.agent
        os.mkdir(self.programs)
        for program in ("duopoly-agent", "duopoly-task"):
            shutil.copy(os.path.join(BUILD, program), self.programs)
        for folder in (agent.state, self.bpffs, self.root, agent.cgroup):
            os.mkdir(folder)
        run("mount", "-t", "bpf", "none", self.bpffs)
        with open(agent.measurements, "w"):
            pass
        for path in (agent.state, self.bpffs, agent.cgroup, agent.cgroup + "/cgroup.procs", agent.measurements):
            os.chown(path, AGENT, AGENT)
        self.start()

    def start(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.socket)
            os.chown(self.socket, AGENT, AGENT)
            os.chmod(self.socket, 0o600)
            listener.listen(8)
            starter = under(capabilities("duopoly-starter.service"))
            self.process = self.agent.host.popen(
                "bash", "-c", f"echo $$ >{self.agent.cgroup}/cgroup.procs && exec \"$@\" 3<&{listener.fileno()}", "bash", *starter,
                os.path.join(self.programs, "duopoly-task"), "--config", self.agent.config, pass_fds=[listener.fileno()])

    def starter(self):
        return self.process.pid

    def end(self):
        self.process.kill()
        self.process.wait()

        def gone():
            try:
                os.rmdir(self.agent.cgroup)
            except OSError:
                return not os.path.isdir(self.agent.cgroup)
            return True
        wait_for("the starter's cgroup empty", gone)
        os.rmdir(self.root)


class WithoutPerfmon(AsUnits):
    def __init__(self, agent):
        super().__init__(agent)
        self.words = under([word for word in capabilities("duopoly-agent.service") if word != "perfmon"])


@pytest.fixture
def site():
    net = Net(2)
    made = Site(net, AsUnits)
    try:
        yield made
    finally:
        try:
            made.end()
        finally:
            net.remove()


def processes_of_starter(agent):
    with open(agent.cgroup + "/cgroup.procs") as pids:
        return [int(pid) for pid in pids]


def test_who_counts_what_tasks_read_may_do_nothing_else(site, blocks):  # noqa: F811
    """It goes to files as the commands' user, and a new one comes where it has ended."""
    controller, agent = begin_with_disk(site, blocks, reads=reads(blocks + "/block", 800, 8))
    controller.do(f"start {FIRST} 1 0 0 reads")
    controller.wait_phase(FIRST, STARTED)

    def counters():
        uids = {pid: status_of(pid)["Uid"].split() for pid in processes_of_starter(agent)}
        return [pid for pid, uid in uids.items() if uid == [str(AGENT)] * 3 + [str(COMMANDS)]]
    wait_said(controller, "it reads", lambda d: d["disk_readers"] == 1)
    counter, = counters()
    shown = status_of(counter)
    assert [shown["Cap" + which] for which in ("Inh", "Prm", "Eff", "Amb")] == [ALL_ZERO] * 4 and shown["NoNewPrivs"] == "1"
    os.kill(counter, signal.SIGKILL)
    wait_for("another one", lambda: counters() not in ([counter], []))
    wait_said(controller, "it reads", lambda d: d["disk_readers"] == 1)


def status_of(pid):
    with open(f"/proc/{pid}/status") as text:
        return dict(line.rstrip("\n").split(":\t", 1) for line in text if ":\t" in line)


def mask(given):
    numbers = {"kill": 5, "setgid": 6, "setuid": 7, "net_admin": 12, "net_raw": 13, "perfmon": 38, "bpf": 39}
    return "%016x" % sum(1 << numbers[word] for word in given)


def holds(pid, given):
    """The process has these capabilities and can never have more."""
    status = status_of(pid)
    assert [status["Cap" + which] for which in ("Prm", "Eff", "Bnd", "Amb")] == [mask(given)] * 4
    assert status["NoNewPrivs"] == "1" and status["Uid"].split() == [str(AGENT)] * 4


def test_who_has_which_rights(site):
    controller, agent = site.begin()
    holds(agent.process.pid, ["net_admin", "bpf", "perfmon", "net_raw"])
    holds(agent.rights.process.pid, ["setuid", "setgid", "kill"])
    assert status_of(agent.process.pid)["Seccomp"] == "2"
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    parent = wait_for("its parent", lambda: agent.pids(FIRST + 1, ""))[0]
    wait_for("the parent to keep the right to kill only", lambda: status_of(parent)["CapPrm"] == mask(["kill"]))
    pid = agent.pids(FIRST + 1)[0]
    wait_for("exec", lambda: os.readlink(f"/proc/{pid}/exe").endswith("sleep"))
    command = status_of(pid)
    assert [command["Cap" + which] for which in ("Inh", "Prm", "Eff", "Amb")] == [ALL_ZERO] * 4
    assert command["NoNewPrivs"] == "1" and command["Uid"].split() == [str(COMMANDS)] * 4 and not command["Groups"].strip()
    assert command["Seccomp"] == "0", "an agent's confinement is not its attempts'"
    shown = site.net.hosts[0].tc("qdisc", "show", "dev", "up0")
    assert "htb" in shown and tcx.hooked(site.net.hosts[0], "up0") == tcx.BOTH


def test_guests_with_cgroups_of_their_own_are_marked_and_others_left(site):
    """Whose cgroup it may not make it only tells of."""
    host = site.net.hosts[0]
    own, shared = site.net.cgroup("own"), site.net.cgroup("shared")
    controller, agent = site.begin(lines=["guests: {rung: mark, users: [root], rescan: 100 ms}"])
    executors = [Executor(host, own, app="app-1"), Executor(host, shared, app="app-2"), Executor(host, shared, app="app-2", executor="2")]
    server, out = Server(site.net.hosts[1]), Capture(site.net.sw, "p1")
    try:
        wait_for("them to be found", lambda: [(a["guests"], a["marked"]) for _name, a in sorted(applications(controller).items())] == [(1, 1), (2, 0)])
        for app in ("app-1", "app-2"):
            controller.do(f"guest {app} 0 3")
        wait_for("the levels", lambda: [a["level"] for a in applications(controller).values()] == [3, 3])
        assert [dscps(out, server, lambda: one.do("fetch", *server.address, 20_000)) for one in executors] == [{15}, {0}, {0}]
        words = applications(controller)["app-2"]["text"]
        assert words.endswith("Permission denied; it shares its cgroup, and only root may look at its sockets: no bytes are counted"), words
        assert all(one.cgroup() == one.born for one in executors)
    finally:
        for one in executors:
            one.end()
        server.close()
        out.close()


def test_an_agent_that_comes_back_finds_its_attempts(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pids = wait_for("its process", lambda: agent.pids(FIRST + 1))
    agent.kill()
    agent.start()
    site.wait_session(2)
    assert agent.pids(FIRST + 1) == pids
    controller.do(f"stop {FIRST + 1} 0")
    controller.wait_phase(FIRST + 1, KILLED)


def test_a_starter_that_hangs_keeps_no_later_start_waiting(site):
    """Each connection has a process of its own; what the hanging one had not come to is refused,
    and never starts."""
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 true")
    controller.wait_phase(FIRST + 1, DONE)
    first = agent.starter()
    os.kill(first, signal.SIGSTOP)
    try:
        controller.do(f"start {FIRST + 2} 1 0 1 sleep")
        assert "did not come to this start in time" in controller.wait_phase(FIRST + 2, REFUSED, 30)["text"]
        controller.do(f"start {FIRST + 3} 1 0 2 sleep")
        controller.wait_phase(FIRST + 3, STARTED)
        assert agent.starter() != first
    finally:
        os.kill(first, signal.SIGCONT)
    wait_for("the first to end", lambda: not os.path.exists(f"/proc/{first}"))
    assert agent.cgroups() == [f"{FIRST + 3:016x}"] and len(agent.pids(FIRST + 3)) == 1


def test_an_agent_puts_back_what_it_changed_and_leaves_what_was_mounted_for_it(site):
    controller, agent = site.begin()
    agent.terminate()
    shown = site.net.hosts[0].tc("qdisc", "show", "dev", "up0")
    assert "htb" not in shown and not tcx.hooked(site.net.hosts[0], "up0")
    assert os.path.ismount(agent.rights.bpffs)
    assert not [name for name in os.listdir(agent.rights.bpffs) if not name.endswith(".debug")], "the kernel's own two stay"


def test_without_perfmon_no_program_loads_and_rules_mark(site):
    """Also when confined: what somebody flushes comes back."""
    site.rights = WithoutPerfmon
    controller, agent = site.begin()
    host = site.net.hosts[0]
    said = wait_for("the session", lambda: controller.of("host_state"))[-1]["marks"]
    assert said.startswith("nftables (ebpf: loading the marking programs"), said
    host.enter("nft", "flush", "ruleset")
    wait_for("the rules", lambda: "duopoly-up0" in host.enter("nft", "list", "tables"), 5)
    agent.terminate()
    assert host.enter("nft", "list", "tables") == ""


def test_without_perfmon_who_wants_programs_is_told_so(site):
    site.agent = Agent(site.net, site.net.hosts[0], site.address, rights=WithoutPerfmon, marks=", driver: ebpf")
    assert site.agent.process.wait(20) == 1
    assert "loading the marking programs: Permission denied" in open(site.agent.log).read()


def test_nobody_else_orders_attempts(site):
    """The socket is the agent's user's; root may open it, and is not served."""
    controller, agent = site.begin()
    script = "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1]); " \
             "s.settimeout(10); sys.exit(s.recv(1) != b'')"
    other = subprocess.run([*under([], COMMANDS), "/usr/bin/python3", "-c", script, agent.rights.socket], capture_output=True, text=True)
    assert other.returncode == 1 and "PermissionError" in other.stderr
    subprocess.run(["/usr/bin/python3", "-c", script, agent.rights.socket], check=True, timeout=20)


def test_a_command_of_no_list_is_not_run(site):
    """The agent's configuration may have changed since the starter read its own: it keeps to what
    it has read."""
    controller, agent = site.begin()
    agent.terminate()
    with open(agent.config) as text:
        changed = text.read() + "    - name: shell\n      argv: [\"/bin/sh\", \"-c\", \"true\"]\n"
    with open(agent.config, "w") as text:
        text.write(changed)
    agent.start()
    site.wait_session(2)
    controller.do(f"start {FIRST + 1} 1 0 0 shell")
    assert "no such command in duopoly-task's list" in controller.wait_phase(FIRST + 1, REFUSED)["text"]
    controller.do(f"start {FIRST + 2} 1 0 0 true")
    controller.wait_phase(FIRST + 2, DONE)


def test_the_controller_has_no_right_at_all(tmp_path):
    assert capabilities("duopolyd.service") == []
    os.chmod(tmp_path, 0o755)
    for folder in tmp_path.parents:
        if str(folder).startswith("/tmp/"):
            os.chmod(folder, os.stat(folder).st_mode | 0o011)
    for name in ("state", "run"):
        os.mkdir(tmp_path / name)
        os.chown(tmp_path / name, AGENT, AGENT)
    shutil.copy(os.path.join(BUILD, "duopolyd"), tmp_path)
    config = tmp_path / "duopolyd.yaml"
    config.write_text(f"listen: tcp://127.0.0.1:*\nsocket: {tmp_path}/run/d.sock\nstate: {tmp_path}/state\n")
    log = open(tmp_path / "log", "w+")
    process = subprocess.Popen([*under([]), str(tmp_path / "duopolyd"), "--config", str(config)], stderr=log)
    try:
        wait_for("its socket", lambda: os.path.exists(tmp_path / "run/d.sock") or process.poll() is not None)
        assert process.poll() is None, open(tmp_path / "log").read()
        ctl = [os.path.join(BUILD, "duopolyctl"), "-s", str(tmp_path / "run/d.sock")]
        wait_for("an answer", lambda: subprocess.run([*ctl, "status"], capture_output=True).returncode == 0)
        status = status_of(process.pid)
        assert [status["Cap" + which] for which in ("Inh", "Prm", "Eff", "Bnd", "Amb")] == [ALL_ZERO] * 5
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        log.close()
