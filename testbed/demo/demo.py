"""make demo: policies in turn replay one workload on this machine; then come the figures and what
they mean.

    python3 -m testbed.demo.demo

Variables set everything (make demo TRACE=… JOBS=… …, docs/tutorial/demo.md). The terminal shows
the table, a line of proof for each policy, and the verdict; with V=1 everything that is known.
Logs, results, the pages with all of it (page.py) and the figures stay in BUILD/demo
(BUILD/demo-2, … while another demo of this checkout writes there); everything else is removed at
the end, also after Ctrl-C, and after kill -9 at the next start."""

import contextlib
import fcntl
import importlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import time

from testbed.demo import (blocks, decided, gap, inputs, latency, page, places, ports, report, spoilt,
                          switching, transport, uses)
from testbed.net import cluster, instance, network, system

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STOP_SECONDS = 60
SPREAD_RUNS = 9
STEP_SECONDS = 0.2
PATIENCE_SECONDS = 120  # without the end of a job, and twice as long as the simulator's whole run
DECIDED_MOST = 2000  # tasks; at each event of decided.py all its flows are looked at
PROGRAMS = (*cluster.PROGRAMS, "duopoly-workload")
FIGURES = "figures.json"  # in the demo's folder: run_policy()'s of each policy


def build_folder():
    return os.path.join(TREE, os.environ.get("BUILD") or "build")


@contextlib.contextmanager
def own_folder(build, name="demo"):
    """BUILD/demo, or the first of BUILD/demo-2, … that no other demo writes to; ours until the end."""
    for number in itertools.count(1):
        folder = os.path.join(build, name if number == 1 else "%s-%d" % (name, number))
        os.makedirs(folder, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            continue
        try:
            yield folder
        finally:
            os.close(handle)
        return


@contextlib.contextmanager
def own_programs(asked, folder, more=()):
    """Has `asked` use a copy of the programs, and of the files `more`: a build beside the demo, which
    lasts minutes, would give one policy other programs than the next."""
    build, asked.build = asked.build, os.path.join(folder, "programs")
    shutil.rmtree(asked.build, ignore_errors=True)
    os.makedirs(asked.build)
    try:
        for name in (*PROGRAMS, *more):
            shutil.copy2(os.path.join(build, name), asked.build)
        yield
    finally:
        shutil.rmtree(asked.build, ignore_errors=True)
        asked.build = build


def prepare(environment, lasting=False):
    """Checks everything before anything is changed. `lasting`: the network has to outlive this
    process."""
    if os.geteuid() != 0:
        raise system.Failure("the testbed needs root: it makes network namespaces, queues and cgroups")
    return inputs.Inputs(environment, TREE, build_folder(), lasting)


def window_ms(crossings):
    """How long after a change an old mark may still arrive. The new mark travels on an
    acknowledgement through the queues of the receiver and of the switches to the sender, and
    packets that wait in the sender's own queue leave with the old one: queues of 100 packets,
    each served at 1 % of its link when starved; half a second for us."""
    return round(sum(100 * 1514 * 8 * 1000 / (bps / 100) for bps in crossings)) + 500


class Verify:
    """duopoly-verify on the switches while a policy runs."""

    def __init__(self, running, logs):
        self.running, self.path = running, os.path.join(logs, "verify.txt")
        self.json = os.path.join(logs, "verify.json")

    def options(self):
        net, c = self.running.net, self.running
        return ["--window", str(window_ms(net.crossings)), "--ports", c.ports, "--port", str(cluster.SERVE_PORT),
                *("--hop=" + where for where in self.places(net.ports())), *("--dataplane=" + where for where in c.dataplanes())]

    def places(self, ports):
        return ["%s@%s" % (port, self.running.net.namespace_file(switch)) for switch, port in ports]

    def start(self):
        net, c = self.running.net, self.running
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.json)  # of a run before
        command = [c.program("duopoly-verify"), "--log", c.log_folder, "--json", self.json, *self.options(), *self.places(net.taps())]
        self.child = net.start(network.CONTROLLER, command, self.path)
        system.wait_for(lambda: "capturing" in self._said() or self.child.poll() is not None, 10, "the capture",
                        lambda: system.where_said(self.path))
        if self.child.poll() is not None:
            raise system.Failure("duopoly-verify has ended: %s" % system.last_words(self.path))

    def _said(self):
        with open(self.path) as said:
            return said.read()

    def finish(self):
        """Its output, and whether all marks were right and every packet explained."""
        self.child.terminate()
        self.child.wait(STOP_SECONDS)
        return [line for line in self._said().splitlines() if "capturing" not in line], self.child.returncode == 0

    def _figures(self):
        """Of its verdict, after its end; None without one, which its output and status show."""
        try:
            with open(self.json) as figures:
                return json.load(figures)
        except FileNotFoundError:
            return None

    def frames_lost(self):
        """Frames that the capture lost."""
        figures = self._figures()
        return figures["lost"] if figures else 0

    def saw_nothing(self):
        """No packet with content at all: right where the jobs move nothing, and only there."""
        figures = self._figures()
        return bool(figures) and not figures["checked"] and not figures["unattributed"]


def replay(running, path, jobs, results, rounds=1, watch=None, tick=None, patience_s=PATIENCE_SECONDS):
    """Runs the driver to its end, with its progress on our terminal; `watch`: a spoilt.Watch of the
    run; `tick`: called every now and then; `patience_s`: how long no job may end."""
    command = [running.program("duopoly-replay"), "--socket", running.socket, "--label", running.policy, "--results",
               results, "--rounds", str(rounds), "--patience", "%d" % patience_s, "--set", "jobs=" + jobs, path]
    child = subprocess.Popen(command)
    running.net.instance.add_process(child.pid)
    try:
        while child.poll() is None:
            (watch.sleep if watch else time.sleep)(STEP_SECONDS)
            running.check_alive()
            if tick:
                tick()
    finally:
        if child.poll() is None:
            system.stop([system.identify(child.pid)])
    if child.returncode == 2:
        raise system.Failure("the replay of %s was not finished; the daemons' words are in %s" %
                             (running.policy, running.logs))


def run_policy(net, asked, policy, path, folder):
    """Figures of one policy: report.load()'s, spoilt.Watch's, frames_lost, silence
    (spoilt.longest_silence()), marks_right, disks (whether hosts have some), disks_short, simulated (the simulator's on the same input), parts
    (gap.means()'s of both), logs and ports (where they are while the folder exists); and lines
    about its marks and latencies."""
    logs = os.path.join(folder, policy)
    running = cluster.Cluster(net, asked.build, policy, asked.slots, inputs.scale_of(path), asked.seed, logs, queues=asked.queue_lines,
                              limiter=asked.limiter)
    results = os.path.join(logs, "results.jsonl")
    try:
        running.up()
        simulated = simulate(asked, policy, path, logs)
        there = report.load(policy, [simulated])
        verify = Verify(running, logs)
        verify.start()
        counted = transport.read(net)
        watch = spoilt.Watch()
        switches = switching.Switching(running, asked.switches)
        replay(running, path, asked.jobs_limit(), results, watch=watch, tick=switches.tick,
               patience_s=PATIENCE_SECONDS + 2 * there["makespan"])
        machine, tcp = watch.figures(), transport.line(counted, transport.read(net))
        said, good = verify.finish()
    finally:
        running.down()
    connections = ports.read(running.saved_ports)
    said += latency.lines(running.measurement_files(), running.log_files(), connections, machine["cpu_idle"])
    said.append(tcp)
    said += switches.lines()
    used = uses.read(running.saved_uses)
    said += uses.lines(used)
    read = blocks.read(running.saved_reads)
    changed = switches.simulated(results, path)
    if changed:
        simulated = simulate(asked, policy, path, logs, changed)
        there = report.load(policy, [simulated])
    spread = simulate_spread(asked, policy, path, logs, changed) or [simulated]
    sides = gap.sides(running.log_files(), connections, results, spread)
    said.append(gap.sentence(*sides))
    if len(net.switches) == 1 and len(connections) <= DECIDED_MOST:
        names = {net.addresses[host]: host for host in net.hosts}
        said.append(decided.sentence(running.log_files(), connections, names, 1 - network.HEADERS))
    live = report.load(policy, running.log_files(), results)
    if running.disks:
        there["makespans"] = [report.load(policy, [one])["makespan"] for one in spread]
        said += blocks.lines(read, running.disks.describe(), running.disks_read, live["makespan"])
    if live["crossed"] is not None:
        said.append("between racks: %.0f %% of what the shuffle moved between hosts, simulated %.0f %%" % (100 * live["crossed"], 100 * there["crossed"]))
    measured = dict(zip(net.hosts, latency.read(running.measurement_files(), [])[0]))
    return dict(live, **machine, frames_lost=verify.frames_lost(), silence=spoilt.longest_silence(measured, watch.begin_ns, watch.end_ns), marks_right=good or (not live["link_use"] and verify.saw_nothing()),
                devices_over=uses.over(used), disks=bool(running.disks), disks_short=blocks.short(read), simulated=there, parts=gap.means(*sides), logs=running.log_files(), ports=running.saved_ports), said


def simulate_spread(asked, policy, path, folder, changed):
    """The paths of the simulator's logs of the same input where tasks start late by chance, each by
    another: which of two jobs goes first may hang on a microsecond, and all after it differs. None
    where they start in time."""
    if not asked.start_spread_s:
        return []
    return [simulate(asked, policy, path, folder, {**changed, "start-spread": asked.start_spread_s, "seed": asked.seed + run},
                     "simulated-%d.log" % (run + 1)) for run in range(SPREAD_RUNS)]


def simulate(asked, policy, path, folder, changed=None, name="simulated.log"):
    """The path of the simulator's log of the same input, in that folder; `changed`: other options."""
    log = os.path.join(folder, name)
    gap.simulate(os.path.join(asked.build, "duopoly-sim"), asked.replayed(path, folder), policy,
                 {**asked.simulator_options(), **(changed or {})}, log)
    return log


def setting(asked, path):
    """Lines: the network in the first, then the workload and how it was mapped."""
    return ["%s, links of %g Mb/s, %s; policies: %s" % (
        asked.describe_hosts(), asked.link_bps / 1e6, asked.network(None).describe(), ", ".join(asked.policies)),
        *("  " + line for line in asked.describe(path))]


def demo(environment):
    inputs.check_names(environment)
    if environment.get("USERS"):
        return importlib.import_module("testbed.demo.sharing").demo(environment)  # it is made of this
    status = places.elsewhere(environment)
    if status is not None:
        return status
    asked = prepare(environment)
    with own_folder(asked.build) as folder, own_programs(asked, folder):
        return replay_all(asked, folder, bool(environment.get("V")))


def replay_all(asked, folder, talkative=False):
    """`talkative`: everything is printed."""
    path = asked.workload(folder)
    replayed = setting(asked, path)
    print("\n".join(replayed if talkative else replayed[:1]), flush=True)
    instance.end_abandoned()
    own = instance.create(TREE)
    runs, words = [], []
    try:
        net = asked.network(own)
        net.up()
        for policy in asked.policies:
            figures, said = run_policy(net, asked, policy, path, folder)
            runs.append(figures)
            words.append((policy, said))
    finally:
        own.down()
    return conclude(page.Story(replayed, runs, words, asked.note, verdict(runs)), folder, talkative)


def verdict(runs):
    does_not_count = spoilt.verdict(runs)
    lines = ([does_not_count] if does_not_count else []) + [report.sentence(runs)]
    if not all(run["marks_right"] for run in runs):
        lines.append("Some packets were not what they should have been (above).")
    lines += ["Under %s device %s." % (run["label"], sentence) for run in runs for sentence in run.get("devices_over", [])]
    lines += ["Under %s %s" % (run["label"], sentence) for run in runs for sentence in run.get("disks_short", [])]
    return lines + blocks.verdict(runs)


def conclude(story, folder, talkative=False):
    runs = story.runs
    all_good = all(run["marks_right"] and not run.get("devices_over") and not run.get("disks_short") for run in runs)
    paths = page.write(story, folder)
    print("\n" + (page.whole(story) if talkative else page.short(story)))
    if not talkative:
        print("everything else: %s and %s" % tuple(os.path.relpath(path, TREE) for path in paths))
    with open(os.path.join(folder, FIGURES), "w") as out:
        json.dump(runs, out)
    return 0 if all_good and not any(run["unfinished"] for run in runs) else 1


def run(name, work):
    """work(environment) as make starts it; returns its exit status."""
    # make is our parent: if it is killed, we end.
    system.end_with_parent()
    system.stop_signals_raise()
    try:
        return work(os.environ)
    except system.Failure as failure:
        print("%s: %s" % (name, failure), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\n%s: stopped; nothing is left behind" % name, file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run("demo", demo))
