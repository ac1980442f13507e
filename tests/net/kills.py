"""A replay on real daemons in which something is killed: the testbed of the kill tests, and what
they ask afterwards.

Two scales of time. `REAL` has the timers' defaults; `SHORT` a quarter of each, so that what takes
40 s of them takes 10. A promise is stated in the defaults' seconds and held in both, save
SLACK_SECONDS, which is the machine's and not a timer's."""

import json
import os
import socket
import struct
import subprocess
import threading
import time

from nets import CLONE_NEWNET, libc
from testbed.demo import soak
from testbed.net import cluster, instance, star, system

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TREE, os.environ.get("BUILD", "build"))
LINK_BPS = 20_000_000
HOSTS = 3
SLACK_SECONDS = 0.2
SERVE = cluster.SERVE_PORT
SO_TIMESTAMPNS = 35


class Scale:
    def __init__(self, name, factor):
        self.name, self.factor = name, factor

    def seconds(self, seconds):
        """Of this scale, for so many of the defaults'."""
        return seconds / self.factor


def judge(site, figures, again=()):
    """The replay's end: every task accepted once, and run once but those in `again` (twice). All
    bytes were right: a task that reads wrong ones fails, and is run again."""
    tasks = site.finish()
    for task, attempts in tasks.items():
        states = [attempt["state"] for attempt in attempts]
        assert states.count("done") == 1, "%s: %s" % (task, states)
        assert len(states) == (2 if task in again else 1), "%s: %s" % (task, attempts)
    print("\n%s; %d tasks, each accepted once, %d of them run again; %s" % (
        figures, len(tasks), len(again), site.running.check_memory()))


REAL, SHORT = Scale("real", 1), Scale("short", 4)


class Site:
    """Workers of 2 slots, their daemons, and one replay."""

    hosts = HOSTS
    slow = None  # the worker whose cable is slow

    def __init__(self, scale, folder):
        self.scale = scale
        self.own = instance.create(TREE)
        self.driver = None
        self.captures = []
        try:
            self.net = star.Star(self.own, self.hosts, LINK_BPS)
            self.net.slow = self.slow
            self.net.up()
            self.running = cluster.Cluster(self.net, BUILD, "duopoly", 2, 1, 1, os.path.join(folder, "logs"),
                                           quick=scale.factor, ports=False)
            self.prepare()
            self.running.up()
        except BaseException:
            self.own.down()
            raise

    def prepare(self):
        """Before the daemons start."""

    def down(self):
        for capture in self.captures:
            capture.close()
        if self.driver and self.driver.poll() is None:
            system.stop([system.identify(self.driver.pid)])
        self.running.down()
        self.own.down()

    # ---- the load ----

    def replay(self, *jobs):
        """Begins a replay of these jobs (job())."""
        path = self.workload(jobs)
        self.driver = subprocess.Popen([self.running.program("duopoly-replay"), "--socket", self.running.socket, "--patience",
                                        "120", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                       start_new_session=True)
        self.own.add_process(self.driver.pid)

    def submit(self, *jobs):
        """Hands them over without a driver; `finish` waits for their ends all the same."""
        self.running.ask("submit", self.workload(jobs))

    def workload(self, jobs):
        """A file with these jobs."""
        path = self.own.path("workload.jsonl")
        with open(path, "w") as out:
            for line in ({"duopoly_workload": 1, "hosts": self.hosts}, *(dict(job, id=i + 1) for i, job in enumerate(jobs))):
                out.write(json.dumps(line) + "\n")
        return path

    def transfers(self, seconds):
        """A job whose three reduces keep every link busy for about so long."""
        reduce_bytes = int(seconds * LINK_BPS / 8 * self.hosts / (self.hosts - 1))
        return job("transfers", 5, reduce_bytes)

    def wait(self, what, condition, seconds=30):
        def holds():
            self.running.check_alive()
            return condition()
        return system.wait_for(holds, seconds, what)

    def wait_running(self, count, **wanted):
        """So many attempts that look so."""
        def rows():
            found = [row for row in self.attempts() if row["state"] in RUNNING and all(row[k] == v for k, v in wanted.items())]
            return found if len(found) >= count else None
        return self.wait("%d attempts with %s" % (count, wanted), rows)

    def attempts(self, *words):
        return self.running.ask("tasks", *words)["tasks"]

    def finish(self, seconds=90):
        """The replay's end; (all jobs' attempts by (job, stage, task), in order of their
        numbers)."""
        if self.driver:
            said = self.driver.communicate(timeout=seconds)[1]
            assert self.driver.returncode == 0, said
        else:
            self.wait("the jobs' ends", lambda: self.running.ask("status")["jobs_active"] == 0, seconds)
        jobs = [row for row in self.running.ask("jobs", "-a")["jobs"] if not soak.was_refused(row)]
        assert jobs and all(row["state"] == "done" for row in jobs), jobs
        found = {}
        for row in jobs:
            for attempt in self.attempts(str(row["job"]), "-a"):
                found.setdefault((row["name"], attempt["stage"], attempt["task"]), []).append(attempt)
        for tasks in found.values():
            tasks.sort(key=lambda attempt: attempt["attempt"])
        return found

    # ---- what is killed ----

    def agent(self, host):
        return self.running.processes["duopoly-agent", host].pid

    def host(self, name):
        return next(row for row in self.running.ask("hosts")["hosts"] if row["name"] == name)

    def reboot(self, name, keep=False):
        """Nothing of it lives or is remembered, and it comes back as another boot."""
        self.running.end_host(name)
        self.running.forget_boot(name, keep)
        self.running.begin_host(name)

    def processes_of(self, attempt, host, below=""):
        """Its parent, or below="/task" its command's."""
        path = os.path.join(self.own.state["cgroup"], host, "%016x%s" % (attempt, below), "cgroup.procs")
        try:
            with open(path) as lines:
                return [int(line) for line in lines]
        except OSError:
            return []

    def words(self, program, host):
        with open(os.path.join(self.running.logs, "%s-%s.log" % (program, host)), errors="replace") as said:
            return said.read()

    def marks(self, host):
        self.captures.append(Marks(self.net, host))
        return self.captures[-1]


RUNNING = ("sent", "queued", "started", "receiving", "computing")


def job(name, compute_ms, reduce_bytes=0, arrival_ms=0, maps=HOSTS):
    """A map on each of the first hosts, then, where bytes are given, as many reduces, which read
    from all of them."""
    stages = [{"tasks": maps, "input_bytes": 1000, "replicas": [[i] for i in range(maps)], "compute_ms": compute_ms}]
    if reduce_bytes:
        stages.append({"tasks": maps, "compute_ms": 20, "parents": [{"stage": 0, "sums": [reduce_bytes] * maps}]})
    return {"name": name, "arrival_ms": arrival_ms, "stages": stages}


class Marks:
    """The code points of what a host sends on the replay's connections, as the switch receives it:
    what it serves, and what it acknowledges; not the packets of a connection's beginning and end,
    which may belong to no task's socket."""

    def __init__(self, net, host):
        self.seen = []  # (seconds as time.time() has them, code point)
        self.ended = False
        self.socket = self._open(net, host)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    @staticmethod
    def _open(net, host):
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        switch, port = net.behind(host)
        there = os.open(net.namespace_file(switch), os.O_RDONLY)
        try:
            assert libc.setns(there, CLONE_NEWNET) == 0
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            made.bind((port, 0))
        finally:
            libc.setns(own, CLONE_NEWNET)
            os.close(own)
            os.close(there)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        made.settimeout(0.1)
        return made

    def _read(self):
        frame = bytearray(96)
        while not self.ended:
            try:
                _, ancillary, _, address = self.socket.recvmsg_into([frame], 64)
            except socket.timeout:
                continue
            if address[2] == socket.PACKET_OUTGOING or frame[12:14] != b"\x08\0" or frame[23] != socket.IPPROTO_TCP:
                continue
            tcp = 14 + (frame[14] & 15) * 4
            ports = struct.unpack_from("!HH", frame, tcp)
            if SERVE not in ports or frame[tcp + 13] & 0b111:  # SYN, FIN, RST
                continue
            seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
            self.seen.append((seconds + nanoseconds / 1e9, frame[15] >> 2))

    def close(self):
        self.ended = True
        self.thread.join()
        self.socket.close()

    def between(self, begin, end, marked):
        """The times of packets with or without a mark."""
        return [at for at, dscp in self.seen if begin <= at <= end and bool(dscp) == marked]

    def flows(self, seconds=0.2):
        """Whether marked packets have come in the last moment."""
        return len(self.between(time.time() - seconds, time.time(), True)) > 10


def until(when):
    """An outage lasts until then (time.time())."""
    time.sleep(max(0, when - time.time()))
