"""duopoly's own programs on a testbed's network: one controller, an agent per worker and per
switch, and beside each worker's agent the replay's server. A cluster is started for one policy
and ended before the next, so that every policy begins with empty queues and an empty memory. All
have keys, made again each time."""

import contextlib
import os
import pwd
import shutil
import subprocess
import uuid

from testbed.net import answers, disks, network, system

PROGRAMS = ("duopolyd", "duopolyctl", "duopoly-sim", "duopoly-agent", "duopoly-task",
            "duopoly-replay", "duopoly-verify", "replay-map", "replay-reduce", "replay-gpu",
            "replay-serve")
CONTROL_PORT = 7600
SERVE_PORT = 7070
USER = "nobody"
READY_SECONDS = 30

# The defaults, in seconds: the controller's, and the agents' lease of marks.
TIMERS = {"heartbeat": 1, "silent": 3, "host_lost": 30, "lease": 10, "resync_wait": 5, "start_timeout": 5, "fetch_stall": 10}
# What is not divided: an agent tries a controller that is away again every second, whatever the
# timers are.
RESYNC_LEAST = 2.5
MARKS_LEASE = 5
# Resident memory of each at most, in kB; the sanitizers' own is several times a program's.
MEMORY_KB = {"duopolyd": 65536, "duopoly-agent": 32768}
SANITIZER_FACTOR = 8

# First threshold in bytes, factor: of unscaled sizes (ours; Aalo).
THRESHOLDS = {"coflow": (10_000_000, 8), "macroflow": (1_000_000, 4), "dclas": (10_000_000, 10)}


def check_programs(build):
    for program in PROGRAMS:
        if not os.access(os.path.join(build, program), os.X_OK):
            raise system.Failure("%s is not built: run make" % os.path.join(build, program))


def policies(build):
    """Names that the daemon knows: the network policy of each."""
    rows = [line.split(None, 6) for line in system.run(os.path.join(build, "duopolyd"), "--presets").splitlines()[1:]]
    return {row[0]: row[3] for row in rows if not row[6].endswith("(simulator only)")}


def check_policies(build, names):
    check_programs(build)
    known = policies(build)
    for name in names:
        if name not in known:
            raise system.Failure("unknown policy \"%s\": POLICIES takes %s" % (name, ", ".join(known)))
    if not names or len(set(names)) != len(names):
        raise system.Failure("POLICIES must name each policy once, at least one")


def remove_cgroup(top):
    """With what is below it; false while something dies there."""
    try:
        for folder, _, _ in os.walk(top, topdown=False):
            os.rmdir(folder)
    except OSError:
        return False
    return True


def cgroup_pids(top):
    """Of the processes in a cgroup and below it."""
    pids = []
    for folder, _, _ in os.walk(top):
        with contextlib.suppress(OSError), open(os.path.join(folder, "cgroup.procs")) as procs:
            pids += map(int, procs.read().split())
    return pids


class Cluster:
    """policy: a name that `duopolyd --presets` lists; slots per worker; scale: the divisor of the
    workload's bytes; logs: a directory for the daemons' logs; quick: the divisor of the daemons'
    timers; ports: whether each task records its connections, in a file that stays (not for a
    load without end); queues: further lines of the agents' section `queues`; preset: the policy's
    name there, where `policy` is only what this run is called; choices: further lines of the
    controller's section `policy`; limiter: what limits hosts' disks (disks.py), None: what can."""

    def __init__(self, net, build, policy, slots, scale, seed, logs, quick=1, ports=True,
                 queues=(), preset=None, choices=(), limiter=None):
        self.net, self.build, self.policy, self.slots = net, build, policy, slots
        self.preset, self.choices = preset or policy, choices
        self.scale, self.seed, self.logs, self.quick = scale, seed, logs, quick
        self.queue_lines = queues
        self.controller_lines = ()  # of its configuration, besides what is said here
        # What knows one level has one queue, as long as the eight together.
        self.queue_levels = 1 if policies(build)[self.preset] == "none" else 8
        self.directory = os.path.join(net.instance.memory(), policy)
        self.socket = os.path.join(self.directory, "duopolyd.sock")
        self.ports = os.path.join(self.directory, "ports") if ports else None
        self.uses = os.path.join(self.directory, "uses") if ports and self._devices() else None
        self.saved_uses = os.path.join(logs, "uses")  # {host}/…, when it is down (schemas/devices.md)
        rates = {name: host.disk_bytes_s for name, host in net.described.items() if host.disk_bytes_s}
        self.disks = disks.Disks(net.instance, rates, limiter) if rates else None
        self.reads = os.path.join(self.directory, "reads") if ports and rates else None
        self.saved_reads = os.path.join(logs, "reads")  # when it is down, as is what the disks' limits counted:
        self.disks_read = {}
        self.log_folder = os.path.join(logs, "log")
        self.saved_ports = os.path.join(logs, "ports")  # when it is down
        self.small = {}  # name: the size of a file system of its own for its state, as tmpfs takes it
        self.boots = {}  # name: a file with its boot id, where that is not the machine's
        self.processes = {}  # (program, name): what was started there, oldest first

    # ---- its life ----

    def up(self):
        self._install()
        self._make_directories()
        self._make_keys("controller", "controller", os.path.join(self.state(network.CONTROLLER), "keys"))
        self.start("duopolyd", network.CONTROLLER)
        self.wait_for_controller()
        self._make_keys(",".join([*self.net.switches, *self.net.hosts]), "agent", self._key_folder())
        for switch in self.net.switches:
            self.start("duopoly-agent", switch)
            if self.net.shared:
                system.wait_for(lambda name=switch: self.check_alive() or self._is_managed(name), READY_SECONDS,
                                "%s's queues" % switch, lambda name=switch: self.where_said("duopoly-agent", name))
        for host in self.net.hosts:
            self.begin_host(host)
        system.wait_for(self._all_joined, READY_SECONDS, "all agents joining and putting their queues in place",
                        self._who_has_not_joined)

    def start(self, program, host):
        """Starts the controller, an agent, or a worker's server: at first, and again after its
        kill."""
        if program == "duopolyd":
            self._start(host, program, "--config", self._write("duopolyd.yaml", self._controller_yaml()))
        elif program == "replay-serve":
            self._start(host, program, "--port", str(SERVE_PORT), "--registry", self._outputs(host))
        else:
            self._start(host, program, "--replace", "--config",
                        self._write("agent-%s.yaml" % host, self._agent_yaml(host)))

    def wait_for_controller(self):
        """Until it answers."""
        system.wait_for(lambda: self.check_alive() or self.controller_answers(), READY_SECONDS,
                        "duopolyd's answer", lambda: self.where_said("duopolyd", network.CONTROLLER))

    def controller_answers(self, *words):
        """Whether it carries out the command; without words: whether it answers."""
        try:
            return bool(self.ask(*(words or ["status"])))
        except system.Failure:
            return False

    def kill(self, program, host):
        """As a crash: nothing is cleaned up."""
        child = self.processes.pop((program, host))
        child.kill()
        child.wait()

    def end_host(self, host):
        """Kills all that runs on a host: the agent first, which would start more."""
        for program in ("duopoly-agent", "replay-serve"):
            self.kill(program, host)
        system.kill_in_namespace(self.net.instance.namespace(host))

    def begin_host(self, host):
        self.start("replay-serve", host)
        self.start("duopoly-agent", host)

    def forget_boot(self, host, keep_state=False):
        """Forgets everything of an ended host, its kernel's queues and filters too; its next agent
        finds another boot id, in a mount namespace of its own."""
        state = self.state(host)
        cgroup = os.path.join(self.net.instance.state["cgroup"], host)
        system.wait_for(lambda: remove_cgroup(cgroup), 10, "the end of %s's cgroups" % host,
                        lambda: "still in them: " + system.names_of(cgroup_pids(cgroup)))
        system.run("umount", os.path.join(state, "bpf"))
        for what in (["root", "handle", "d00:"], ["clsact"]):  # what is not there cannot be deleted
            subprocess.run(self.net.enter(host, "tc", "qdisc", "del", "dev", self.net.uplink(host), *what), capture_output=True, check=False)
        for name in [] if keep_state else os.listdir(state):
            path = os.path.join(state, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        # Mounted here, so that all agents of this boot see it.
        os.makedirs(os.path.join(state, "bpf"), exist_ok=True)
        system.run("mount", "-t", "bpf", "-o", "mode=0700", "bpf", os.path.join(state, "bpf"))
        self.boots[host] = self._write("boot-" + host, "%s\n" % uuid.uuid4())

    def check_memory(self):
        """The most memory that a daemon of each kind used, in words; Failure beyond MEMORY_KB."""
        most = {}
        for (program, _), child in self.processes.items():
            if program in MEMORY_KB and child.poll() is None:
                most[program] = max(most.get(program, 0), system.peak_memory_kb(child.pid))
        for program, kilobytes in most.items():
            bound = MEMORY_KB[program] * (SANITIZER_FACTOR if self.build.endswith("san") else 1)
            if kilobytes > bound:
                raise system.Failure("%s had %d kB of memory, more than %d" % (program, kilobytes, bound))
        return "memory at most " + ", ".join("%s %d kB" % pair for pair in sorted(most.items()))

    def down(self):
        """Agents end before the controller; what they leave ends with the instance."""
        for child in reversed(self.processes.values()):
            system.stop([system.identify(child.pid)])
        self.processes = {}
        self.disks_read = self.disks.counted() if self.disks and self.disks.limit else {}
        for folder, saved in ((self.ports, self.saved_ports), (self.uses, self.saved_uses), (self.reads, self.saved_reads)):
            if folder and os.path.isdir(folder):
                shutil.copytree(folder, saved, dirs_exist_ok=True)
        for name in self.small:
            system.run("umount", "-l", self.state(name))
        shutil.rmtree(self.directory, ignore_errors=True)

    def ended(self):
        """[(program, name, its last line)] of the daemons that have ended by themselves."""
        return [(program, name, system.last_words(self._log(program, name)))
                for (program, name), child in self.processes.items() if child.poll() is not None]

    def check_alive(self):
        """Failure with its last line when a daemon has ended; else false."""
        for sentence in ["%s on %s has ended: %s" % ended for ended in self.ended()] + self.net.ended():
            raise system.Failure(sentence)
        return False

    def where_said(self, program, name):
        """Where a daemon's log is, and how it ends."""
        return system.where_said(self._log(program, name))

    def program(self, name):
        return self.net.instance.path("bin", name)

    def ask(self, *words):
        """What duopolyctl answers (answers.py); Failure with its sentence."""
        command = (self.program("duopolyctl"), "-s", self.socket, "-j", *words)
        try:
            return answers.read(system.run(*command, fine=range(9)))
        except answers.Refused as refused:
            raise system.Failure("%s: duopolyctl: %s" % (" ".join(command)[:120], refused)) from None

    def log_files(self):
        """The controller's logs, oldest first."""
        names = os.listdir(self.log_folder) if os.path.isdir(self.log_folder) else []
        ages = {name: int(name.rpartition(".")[2]) if name[-1].isdigit() else 0
                for name in names if name.startswith("duopoly.log")}
        return [os.path.join(self.log_folder, name) for name in sorted(ages, key=ages.get, reverse=True)]

    def dataplanes(self):
        """Control sockets of data planes in user space, each with its namespace."""
        return ["%s@%s" % (switch.dataplane, self.net.namespace_file(name)) for name, switch in self.net.switches.items() if switch.dataplane]

    def measurement_files(self):
        """The measurements of the workers' agents."""
        return [self._measurements(host) for host in self.net.hosts]

    # ---- its parts ----

    def _measurements(self, host):
        return os.path.join(self.logs, "measurements-%s" % host)

    def _install(self):
        """Copies the programs to where an unprivileged task may run them, whatever the rights of
        the checkout's own folder."""
        folder = self.net.instance.path("bin")
        os.makedirs(folder, exist_ok=True)
        os.chmod(self.net.instance.directory, 0o755)
        for program in PROGRAMS:
            if not os.path.exists(self.program(program)):
                shutil.copy2(os.path.join(self.build, program), folder)

    def _make_directories(self):
        user = pwd.getpwnam(USER)
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.rmtree(self.logs, ignore_errors=True)
        os.makedirs(self.log_folder)
        for folder in filter(None, (self.ports, self.reads)):
            os.makedirs(folder)
            os.chown(folder, user.pw_uid, user.pw_gid)
        if self.disks:
            self.disks.make(self.directory, user)
        for host, devices in self._devices().items():
            self._make_devices(host, devices, user)
        for name in [*self.net.hosts, *self.net.switches, network.CONTROLLER]:
            os.makedirs(self.state(name))
        for name, size in self.small.items():
            system.run("mount", "-t", "tmpfs", "-o", "mode=755,size=" + size, "duopoly-testbed", self.state(name))
        os.makedirs(self.net.instance.state["cgroup"], exist_ok=True)

    def _devices(self):
        """{host: its devices}, of those that have some."""
        return {name: host.devices() for name, host in self.net.described.items() if host.devices()}

    def _device_folder(self, host):
        return os.path.join(self.directory, "devices", host)

    def _make_devices(self, host, devices, user):
        """What stands for its devices (schemas/devices.md), and where its tasks say when they use them."""
        os.makedirs(self._device_folder(host))
        for device in devices:
            path = os.path.join(self._device_folder(host), device)
            with open(path, "x"):
                os.chown(path, user.pw_uid, user.pw_gid)
        if self.uses:
            os.makedirs(os.path.join(self.uses, host))
            os.chown(os.path.join(self.uses, host), user.pw_uid, user.pw_gid)

    def _make_keys(self, names, role, folder):
        system.run(self.program("duopolyctl"), "-s", self.socket, "keys", "make", names, "--role", role, "--out", folder)

    def _key_folder(self):
        return os.path.join(self.directory, "keys")

    def state(self, name):
        """The state folder of a host's agent, or of the controller."""
        return os.path.join(self.directory, "state", name)

    def _outputs(self, host):
        """Where its agent keeps attempts' outputs."""
        return os.path.join(self.state(host), "outputs")

    def _log(self, program, name):
        return os.path.join(self.logs, "%s-%s.log" % (program, name))

    def _start(self, name, program, *arguments):
        # A dozen hosts share a few cores here: without this, what should take a host's controller
        # and agent no time waits behind every other host's packets and tasks, several milliseconds
        # at each of a round trip's eight wake-ups. (The lowest nice value is not enough: it buys a
        # larger share, not the end of who runs.)
        urgent = ["chrt", "--fifo", "10"] if program in ("duopolyd", "duopoly-agent") else []
        # Only /proc is made private: the root may be no mount of its own (a chroot), and nothing
        # else changes.
        booted = ["unshare", "--mount", "--propagation", "unchanged", "sh", "-c",
                  'mount --make-private /proc && mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"',
                  self.boots[name]] if name in self.boots else []
        limited = self.disks.enter(name) if self.disks and program == "duopoly-agent" else []
        self.processes[program, name] = self.net.start(name, [*booted, *limited, *urgent, self.program(program), *arguments],
                                                       self._log(program, name))

    def _write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w") as out:
            out.write(text)
        return path

    def _all_joined(self):
        self.check_alive()
        return self.ask("status")["hosts_up"] >= len(self.net.hosts) and all(map(self._is_managed, self.net.switches))

    def _who_has_not_joined(self):
        up = {row["name"] for row in self.ask("hosts")["hosts"] if row["state"] == "up"}
        late = [name for name in self.net.hosts if name not in up]
        late += [name for name in self.net.switches if not self._is_managed(name)]
        return "not yet: %s" % ", ".join(late) + "".join("; %s: %s" % (name, self.where_said("duopoly-agent", name))
                                                         for name in late[:1])

    def _is_managed(self, switch):
        """Whether every port of a switch has the agent's queues instead of the link's: by their
        handle, or, for a data plane in user space, as its agent reports."""
        if self.net.switches[switch].dataplane:
            return any(row["name"] == switch and row["port_count"] and row["steps"] == 0 for row in self.ask("switches")["switches"])
        said = system.run(*self.net.enter(switch, "tc", "qdisc", "show"))
        return all(" d00: dev %s " % port in said for port in self.net.switches[switch].ports())

    # ---- configurations ----

    def _timer(self, name):
        """Of the controller, in seconds."""
        quick = TIMERS[name] / self.quick
        return max(quick, RESYNC_LEAST) if name == "resync_wait" else quick

    def _controller_yaml(self):
        lines = ["listen: tcp://%s:%d" % (self.net.addresses[network.CONTROLLER], CONTROL_PORT),
                 "socket: %s" % self.socket,
                 "group: root",
                 "state: %s" % self.state(network.CONTROLLER),
                 "timers:",
                 *("  %s: %d ms" % (name, 1000 * self._timer(name)) for name in TIMERS),
                 "log:",
                 "  folder: %s" % self.log_folder,
                 "policy:",
                 "  preset: %s" % self.preset,
                 *("  " + line for line in self.choices),
                 "  seed: %d" % self.seed,
                 "levels:"]
        for table, (first, factor) in THRESHOLDS.items():
            lines += ["  %s:" % table, "    first: %d B" % max(first // self.scale, 1), "    factor: %d" % factor]
        return "\n".join([*lines, *self.controller_lines]) + "\n"

    def _agent_yaml(self, name):
        switch = self.net.switches.get(name)
        link = switch.agent_link if switch else ["uplink: " + self.net.uplink(name), "rate: %d bps" % self.net.rate(name)]
        lines = ["name: %s" % name,
                 "role: %s" % ("switch" if switch else "host"),
                 *(["rack: " + self.net.racks[name], *self.net.rack_lines] if name in self.net.racks else []),
                 "controller: tcp://%s:%d" % (self.net.addresses[network.CONTROLLER], CONTROL_PORT),
                 "address: %s" % self.net.addresses[name],
                 "state: %s" % self.state(name),
                 "key: %s" % os.path.join(self._key_folder(), name + ".key"),
                 "measurements: %s" % self._measurements(name),
                 "link:",
                 *("  " + line for line in link),
                 *(['switch: {driver: fastpath, at: "unix:%s"}' % switch.dataplane] if switch and switch.dataplane else []),
                 "queues:",
                 "  levels: %d" % self.queue_levels,
                 *("  " + line for line in self.queue_lines),
                 "marks:",
                 "  members: [%s]" % self.net.members,
                 "  lease: %d ms" % (1000 * MARKS_LEASE / self.quick),
                 "tasks:",
                 "  user: %s" % USER,
                 "  program: %s" % self.program("duopoly-task"),
                 "  cgroup_root: %s" % self.net.instance.state["cgroup"],
                 "  cgroup: %s" % name]
        if not switch:
            lines += ["  commands:", *self._command_lines(name), *self._unit_lines(name)]
        return "\n".join(lines) + "\n"

    def _command_lines(self, name):
        shared = ["--port", str(SERVE_PORT)] + (["--ports", self.ports] if self.ports else [])
        shared += self._disk_words(name)
        commands = {"map": ["replay-map"], "reduce": ["replay-reduce"]}
        if name in self._devices():
            commands["map-gpu"] = ["replay-gpu", "--devices", self._device_folder(name)] + (["--uses", os.path.join(self.uses, name)] if self.uses else [])
        return ["    - {name: %s, argv: [%s]}" % (command, ", ".join([self.program(program), *shared, *words]))
                for command, (program, *words) in commands.items()]

    def _disk_words(self, name):
        words = self.disks.words(name) if self.disks else []
        return words + (["--reads", self.reads] if words and self.reads else [])

    def _unit_lines(self, name):
        host = self.net.described.get(name)
        return host.agent_lines(self.slots) if host else ["units:", "  - {slots: %d}" % self.slots]
