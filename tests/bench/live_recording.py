"""What the controller's recording costs: CPU time with and without it, and round trips while a file
with a large state begins.

One duopolyd on loopback, agents played here; no namespaces, no links. CPU time is the daemon's, its
writer and the children that dump its state included; what other programs do meanwhile disturbs it
little, the round trips more."""
import glob
import os
import statistics
import subprocess
import time

import controller
from testbed.demo import report

AGENTS, SLOTS, TASKS, PAIRS = 4, 4, 12000, 7
MILLION, JOBS = 1_000_000, 57_000
TICK = os.sysconf("SC_CLK_TCK")
pb = controller.pb


def cpu_seconds(pid):
    """Of its threads, and of its children that have ended."""
    with open(f"/proc/{pid}/stat") as stat:
        children = sum(int(x) for x in stat.read().rpartition(")")[2].split()[13:15]) / TICK
    threads = [open(path).read().split()[0] for path in glob.glob(f"/proc/{pid}/task/*/schedstat")]
    return children + sum(int(ns) for ns in threads) / 1e9


def join(daemon, n, slots=SLOTS):
    agents = [controller.Agent(daemon, f"h{i}", slots=slots, host=i) for i in range(1, n + 1)]
    for agent in agents:
        agent.join()
    return agents


def submit(daemon, jobs):
    daemon.ctl("submit", controller.workload(daemon.folder, jobs))


class Running:
    """A daemon with agents, gone at the end."""

    def __init__(self, log, agents, slots=SLOTS):
        self.daemon, self.agents = controller.Daemon(log=log), []
        try:
            self.agents = join(self.daemon, agents, slots)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for agent in self.agents:
            agent.close()
        self.daemon.remove()


# ---- what it takes ----

def run_tasks(agents, tasks):
    """Every started attempt goes through its phases, links are reported, and the agent waits for
    the acknowledgement."""
    done = 0
    while done < tasks:
        for agent in agents:
            while agent.socket.poll(0):
                agent.receive_start()
            for attempt in list(agent.running):
                for phase in ("STARTED", "COMPUTING", "DONE"):
                    agent.state(attempt, phase)
                agent.send(load=pb.Load(uplink_permille=done % 1000, downlink_permille=done % 999))
                del agent.running[attempt]
                agent.acknowledged(agent.sent)
                done += 1


def cpu_of_load(log):
    """CPU seconds for the same tasks, after a warm-up; the daemon on a processor of its own, or its
    wake-ups differ from run to run."""
    processors = sorted(os.sched_getaffinity(0))
    with Running(log, AGENTS) as running:
        pid = running.daemon.process.pid
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), processors[:1])
        os.sched_setaffinity(0, processors[-1:])
        try:
            submit(running.daemon, [{"id": 1, "stages": [{"tasks": 1000, "compute_ms": 1}]}])
            run_tasks(running.agents, 1000)
            before = cpu_seconds(pid)
            submit(running.daemon, [{"id": 2, "stages": [{"tasks": TASKS, "compute_ms": 1}]}])
            run_tasks(running.agents, TASKS)
            time.sleep(0.2)  # what the recording's writer still has is its cost too
            return cpu_seconds(pid) - before, running.daemon.counters().get("recording.bytes", 0)
        finally:
            os.sched_setaffinity(0, processors)


def cost_rows(table):
    ratios, bare = [], []
    for i in range(PAIRS):
        # Each goes first now and then: the machine changes meanwhile.
        order = ("folder: none", "") if i % 2 else ("", "folder: none")
        runs = {log: cpu_of_load(log) for log in order}
        without, (with_it, written) = runs["folder: none"][0], runs[""]
        ratios.append(with_it / without - 1)
        bare.append(without)
    ratio = statistics.median(ratios)
    table.row("CPU of duopolyd for %d attempts, without recording" % TASKS, "%.2f s" % statistics.median(bare))
    table.row("more with it: median of %d pairs (smallest, largest); %.1f MB" % (PAIRS, written / 1e6),
              "%+.1f %% (%+.1f, %+.1f)" % (100 * ratio, 100 * min(ratios), 100 * max(ratios)), "≤ 5 %", ratio <= 0.05)


# ---- whether anybody waits ----

def round_trips(agent, until):
    """ms each, until `until()`."""
    times = []
    while not until():
        began = time.perf_counter()
        agent.acknowledged(agent.send(numbered=True, agent_heartbeat=pb.AgentHeartbeat()))
        times.append(1e3 * (time.perf_counter() - began))
    return times


def p99(times):
    return report.percentile(sorted(times), 99)


def for_seconds(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def million(running):
    """A task for nobody, a million times."""
    running.daemon.ctl("drain", "h1")
    running.daemon.ctl("drain", "h2")
    submit(running.daemon, [{"id": 1, "stages": [{"tasks": MILLION, "compute_ms": 1}]}])


def bytes_of_million():
    with Running("max_bytes: 1 TB", 2) as running:
        million(running)
        return running.daemon.counters()["recording.bytes"]


def while_it_rotates(enough):
    """Round trips before a file begins, and while its state is written. max_bytes is reached by
    reports of a second agent."""
    with Running("max_bytes: %d B" % enough, 2) as running:
        folder = running.daemon.folder / "log"
        million(running)
        agent, other = running.agents
        round_trips(agent, for_seconds(0.5))
        before = round_trips(agent, for_seconds(1.5))
        written = running.daemon.counters()["recording.bytes"]
        assert running.daemon.counters()["recording.files"] == 1
        for i in range((enough - written) // 60):
            other.send(load=pb.Load(uplink_permille=i % 500, downlink_permille=i % 499))
            if i % 100 == 0:
                other.acknowledged(other.send(numbered=True, agent_heartbeat=pb.AgentHeartbeat()))
            if (folder / "duopoly.next").exists():
                break
        other.acknowledged(other.send(numbered=True, agent_heartbeat=pb.AgentHeartbeat()))
        during = round_trips(agent, lambda: (folder / "duopoly.log.1").exists())
        return before, during


def rotation_rows(table):
    enough = bytes_of_million() + 200_000
    before, during, shares = [], [], []
    for _ in range(PAIRS):
        a, b = while_it_rotates(enough)
        before, during = before + a, during + b
        shares.append(p99(b) / p99(a) - 1)
    table.row("round trip with 10⁶ tasks, p50, p99 of %d" % len(before),
              "%.3f, %.3f ms" % (statistics.median(before), p99(before)))
    table.row("the same while their state is written, p50, p99, longest of %d" % len(during),
              "%.3f, %.3f, %.1f ms" % (statistics.median(during), p99(during), max(during)))
    more = statistics.median(shares)
    table.row("p99 more, median of %d rotations" % PAIRS, "%+.0f %%" % (100 * more), "≤ 10 %", more <= 0.10)


def many_jobs_rows(table):
    for log, words in (("folder: none", "not recorded"), ("max_bytes: 1 MB", "recorded in files of 1 MB")):
        with Running(log, 1, slots=1) as running:
            running.daemon.ctl("drain", "h1")
            path = controller.workload(running.daemon.folder, [{"id": i, "stages": [{"tasks": 1}]} for i in range(1, JOBS + 1)])
            client = subprocess.Popen([controller.BUILD / "duopolyctl", "-s", running.daemon.socket, "submit", path],
                                      stdout=subprocess.DEVNULL)
            began = time.monotonic()
            times = round_trips(running.agents[0], lambda: client.poll() is not None)
            seconds = time.monotonic() - began
            counters = running.daemon.counters()
            times_after = round_trips(running.agents[0], for_seconds(1))
            table.row("%d jobs submitted in %.0f s, %s: round trip p99, longest; after" % (JOBS, seconds, words),
                      "%.2f, %.0f; %.2f ms" % (p99(times), max(times), p99(times_after)))
            if counters.get("recording.files"):
                table.row("files begun for %.0f MB" % (counters["recording.bytes"] / 1e6), str(counters["recording.files"]), "≤ 20",
                          counters["recording.files"] <= 20)


def measure_recording(table):
    table.head("the recording of the controller")
    cost_rows(table)
    rotation_rows(table)
    many_jobs_rows(table)
