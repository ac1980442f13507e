"""Where it happens: a duopolyd, two real agents whose tasks are real processes, and a namespace with an address of its own for every program.

Made of the parts of tests/net. Root only."""
import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from . import path  # noqa: F401
from controller import BUILD, answers, pb, read_key
from nets import Net, wait_for
from scripted import Agent
from test_rights import AGENT, AsUnits, capabilities, under
from .doors import Packets

HERE = pathlib.Path(__file__).parent
HOSTS = 2
# Which host of the net is whose; the numbers are the ends of their addresses.
CONTROLLER, HONEST, FIRST_ROLE = 2, 3, 4
NOBODY, DRIVER, READER, STRANGER = 65534, 64021, 64022, 64023  # users, of whom the first is tasks.user
DRIVERS, READERS, OPERATORS = ("news", 9), ("games", 60), ("adm", 4)
# Who has one: the second of a kind means harm, and of the agents the fifth; the third and the fourth are honest.py's.
KEYS = {"agent": ["h1", "h2", "h3", "h4", "h5"], "framework": ["driver1", "driver2"], "read-only": ["reader"], "scheduler": ["sch1", "sch2"],
        "operator": ["op"]}
RIGHTS = {"driver": (DRIVER, DRIVERS[1], ("driver2",)), "reader": (READER, READERS[1], ("reader",)), "stranger": (STRANGER, STRANGER, ()),
          "agent": (None, None, ("h5",)), "submitter": (None, None, ("sch2",)), "task": (None, None, ("sch2",))}
OWN_MB = 64  # of the controller without anything of others
RUNNING = ("sent", "queued", "started", "receiving", "computing")


class Packaged(AsUnits):
    """As packaging/ has it, two on a machine: users of their own and few capabilities; the agent is in the drivers' group, tasks are not."""

    def __init__(self, agent):
        super().__init__(agent)
        self.words = under(capabilities("duopoly-agent.service"), groups="%d,%d" % (NOBODY, DRIVERS[1]))
        self.programs = os.path.join(agent.net.dir, agent.name + ".programs")
        self.socket = os.path.join(agent.net.dir, agent.name + ".starter")
        self.lines = ["  cgroup_root: " + self.root, "  starter: " + self.socket, "  user: nobody"]


def sweep(group):
    """Ends all in a cgroup that its agent could not leave, and removes it."""
    if os.path.isdir(group):
        with open(os.path.join(group, "cgroup.kill"), "w") as kill:
            kill.write("1")
        for folder, _, _ in os.walk(group, topdown=False):
            wait_for("cgroup %s empty" % folder, lambda folder=folder: not open(os.path.join(folder, "cgroup.procs")).read())
            os.rmdir(folder)


class World:
    """`small`: bounds that a short run reaches; else such that an hour's do, on a small machine."""

    # MB; what the controller may hold of others is their sum.
    SMALL = {"memory": 64, "framework_memory": 32, "incoming": 64, "unanswered": 16}
    LARGE = {"memory": 512, "framework_memory": 128, "incoming": 256, "unanswered": 64}
    COUNTS = "hosts: 64, jobs: 2000, tasks: 40000, cells_per_job: 65536, finished: 500, "

    def __init__(self, roles, keys, small, rights, seed):
        self.net = Net(FIRST_ROLE + len(roles))
        self.folder, self.keys, self.small, self.rights = pathlib.Path(self.net.dir), {}, small, rights
        # The controller has a disk of its own: what agents and tasks write, each on a machine of its own, is kept in memory.
        self.state = pathlib.Path(tempfile.mkdtemp(prefix="duopoly-test-", dir="/var/tmp")) / "state"
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self.folder], check=True)
        self.roles, self.seed, self.agents, self.daemon = roles, seed, [], None
        self.host = self.net.hosts[CONTROLLER]
        self.address = "tcp://%s:7000" % self.host.address
        self.socket = str(self.folder / "ctl.s")
        try:
            self.begin(keys)
        except BaseException:
            self.remove()
            raise

    def begin(self, keys):
        (self.folder / "tasks").mkdir()
        os.chmod(self.folder / "tasks", 0o777)
        if keys:
            self.state.mkdir()
            self.run("duopolyctl", "keys", "make", "controller", "--role", "controller", "--out", self.state / "keys")
        (self.folder / "duopolyd.yaml").write_text(
            "listen: %s\ntrust: %s\nsocket: %s\ngroup: %s\nreaders: %s\nstate: %s\n%s" % (
                self.address, "keys" if keys else "everybody-who-connects", self.socket, OPERATORS[0], READERS[0], self.state, self.bounds()))
        self.start_controller()
        for role, names in KEYS.items() if keys else ():
            self.make_keys(role, names)
        for i in range(HOSTS):
            self.agents.append(self.agent(i))
        wait_for("both hosts", self.both_up, 30)

    def bounds(self):
        """Lines of the configuration. What runs on a host that went silent is to run again while a short form waits."""
        megabytes = self.SMALL if self.small else self.LARGE
        return "%sbounds: {%s%s}\n" % ("timers: {host_lost: 10 s}\n" if self.small else "", self.COUNTS if self.small else "",
                                       ", ".join("%s: %d MB" % pair for pair in megabytes.items()))

    def memory_bound_kb(self):
        return 1000 * (OWN_MB + sum((self.SMALL if self.small else self.LARGE).values()))

    def both_up(self):
        assert not self.dead(), self.dead()
        return all(self.hosts().get(agent.name) == "up" for agent in self.agents)

    def make_keys(self, role, names):
        pattern = names[0] if len(names) == 1 else "%s[1-%d]" % (names[0][:-1], len(names))
        self.run("duopolyctl", "-s", self.socket, "keys", "make", pattern, "--role", role, "--out", self.folder / "keys")
        for name in names:
            os.chmod(self.folder / "keys", 0o755)  # the files in it are their owners'
            self.keys[name] = read_key(self.folder / "keys" / (name + ".key"))
            if self.rights is Packaged:
                os.chown(self.folder / "keys" / (name + ".key"), AGENT, AGENT)

    def run(self, program, *words):
        done = subprocess.run([BUILD / program, *map(str, words)], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start_controller(self):
        with open(self.folder / "duopolyd.log", "ab") as log:
            self.daemon = self.host.popen(BUILD / "duopolyd", "--config", self.folder / "duopolyd.yaml", stdout=log, stderr=log)
        wait_for("duopolyd", lambda: self.daemon.poll() is None and os.path.exists(self.socket), 30)

    def agent(self, i):
        program = self.folder / "task_program.py"
        if not program.exists():
            shutil.copy(HERE / "task_program.py", program)
        name = "h%d" % (i + 1)
        lines = ["frameworks: {socket: %s, group: %s, key: \"%s\"}" % (self.folder / (name + ".run") / "frameworks", DRIVERS[0],
                                                                       self.key_file("driver1" if i == 0 else "driver2"))]
        if self.keys:
            lines.append("key: %s" % self.key_file(name))
        after_others = [] if self.small else ["/usr/bin/chrt", "--idle", "0"]
        hostile = [*after_others, "/usr/bin/python3", str(program), str(self.seed), str(self.folder / "tasks"),
                   str(self.folder / (name + ".run") / "frameworks"), self.address[len("tcp://"):], "1" if self.small else "4"]
        (self.folder / (name + ".run")).mkdir()
        if self.rights is Packaged:
            os.chown(self.folder / (name + ".run"), AGENT, AGENT)
        return Agent(self.net, self.net.hosts[i], self.address, name=name, rights=self.rights, lines=lines,
                     commands={"hostile": hostile, "honest": ["sleep", "0.02"]})

    def key_file(self, name):
        return str(self.folder / "keys" / (name + ".key")) if self.keys else ""

    # ---- what programs are told ----

    def place(self, role, long):
        """For a hostile program."""
        user, group, keys = RIGHTS[role]
        return {"address": self.address, "socket": self.socket, "frameworks": str(self.folder / "h2.run" / "frameworks"),
                "seed": self.seed, "long": long,
                "keys": {key: self.keys[key] for key in keys} if self.keys else {}, "user": user, "group": group, "tasks": str(self.folder / "tasks"),
                "controller_key": self.keys["h1"]["controller"][0] if self.keys else "",
                "sockets": [self.socket] + [str(self.folder / ("h%d.run" % (i + 1)) / "frameworks") for i in range(HOSTS)],
                "secrets": [str(p) for p in self.folder.glob("**/*.key")] + [str(p) for p in self.folder.glob("state/*.db")],
                "folders": [str(self.folder), str(self.folder / "state"), *(agent.state for agent in self.agents)]}

    def honest_place(self, patience):
        return {"address": self.address, "socket": self.socket, "frameworks": str(self.folder / "h1.run" / "frameworks"),
                "keys": self.keys, "patience": patience}

    def known(self):
        """What a hostile program may have found out: it is told as if it had."""
        door = Packets(self.socket)
        try:
            rows = door.ask(5, list=pb.List(of=pb.LIST_TASKS)).page.tasks
            jobs = [row for row in door.ask(5, list=pb.List(of=pb.LIST_JOBS)).page.jobs if row.name.startswith("honest")]
            return {"attempts": [row.attempt for row in rows if row.state in RUNNING and row.attempt],
                    "jobs": sorted({row.job for row in jobs}),
                    "names": [row.name for row in jobs[:20]], "hosts": ["h1", "h2", "h3", "h4", "honest-app-tcp"],
                    "addresses": [(bytes(10) + bytes([0xff, 0xff, 10, 99, 0, end])).hex() for end in (1, 2, 250, 251)]}
        finally:
            door.close()

    # ---- what is looked at ----

    def hosts(self):
        door = Packets(self.socket)
        try:
            return {row.name: row.state for row in door.ask(20, list=pb.List(of=pb.LIST_HOSTS)).page.hosts}
        finally:
            door.close()

    def counters(self):
        rows = answers.read(self.run("duopolyctl", "-s", self.socket, "-j", "counters"))["counters"]
        return {row["name"]: row["value"] for row in rows if row["source"] == "controller"}

    def log(self):
        return (self.folder / "duopolyd.log").read_text(errors="replace")

    def memory_kb(self, which="VmRSS"):
        with open("/proc/%d/status" % self.daemon.pid) as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith(which + ":"))

    def dead(self):
        """Sentences about what has ended that should live."""
        ended = [("duopolyd", self.daemon, self.folder / "duopolyd.log")] + [(agent.name, agent.process,
                                                                              agent.log) for agent in self.agents]
        return ["%s has ended (%s): %s" % (name, process.poll(), pathlib.Path(log).read_text(errors="replace")[-400:])
                for name, process, log in ended if process.poll() is not None]

    # ---- its end ----

    def remove_agent(self, agent, left):
        if agent.process and agent.process.poll() is None:
            agent.kill()
        try:
            agent.restore()
        except (AssertionError, OSError, subprocess.SubprocessError) as failure:
            left.append("%s: --restore: %s" % (agent.name, str(failure)[-300:]))
            sweep(agent.cgroup)
        agent.rights.end()

    def remove(self):
        """All that was made goes, also what hostile tasks left; what could not go is said."""
        left = []
        with concurrent.futures.ThreadPoolExecutor(HOSTS) as at_once:
            list(at_once.map(lambda agent: self.remove_agent(agent, left), self.agents))
        if self.daemon and self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
            try:
                self.daemon.wait(20)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                self.daemon.wait()
                left.append("duopolyd did not end within 20 s of SIGTERM")
        subprocess.run(["umount", "--lazy", self.folder], check=False)
        self.net.remove()
        shutil.rmtree(self.state.parent)
        return left
