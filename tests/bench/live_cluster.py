"""How quickly slots are filled again and the mode reaches the wire, in a replay of the demo's
default workload under the policy "duopoly": nine workers, one controller and a switch as on `make
demo`."""

import contextlib
import json
import os
import subprocess
import time

from testbed.demo import demo, inputs, latency, report, spoilt
from testbed.net import cluster, instance, system

SWITCHES = 60
SWITCH_SECONDS = 0.5


@contextlib.contextmanager
def running_cluster(name):
    """(cluster, workload, what was asked for, folder of logs) while it stands."""
    asked = demo.prepare({name: os.environ[name] for name in ("CLUSTER",) if os.environ.get(name)})
    folder = os.path.join(asked.build, "bench-live", name)
    os.makedirs(folder, exist_ok=True)
    path = asked.workload(folder)
    instance.end_abandoned()
    own = instance.create(demo.TREE)
    try:
        net = asked.network(own)
        net.up()
        logs = os.path.join(folder, "logs")
        running = cluster.Cluster(net, asked.build, "duopoly", asked.slots, inputs.scale_of(path), asked.seed, logs)
        try:
            running.up()
            yield running, path, asked, logs
        finally:
            running.down()
    finally:
        own.down()


def replay_command(running, path, asked, rounds):
    return [running.program("duopoly-replay"), "--socket", running.socket, "--label", "bench-live", "--rounds",
            str(rounds), "--set", "jobs=" + asked.jobs_limit(), path]


@contextlib.contextmanager
def replaying(running, path, asked, rounds, logs):
    with open(os.path.join(logs, "replay.log"), "ab") as out:
        driver = subprocess.Popen(replay_command(running, path, asked, rounds), stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=subprocess.STDOUT)
    running.net.instance.add_process(driver.pid)
    try:
        yield driver
    finally:
        system.stop([system.identify(driver.pid)])


def milliseconds(values, percent):
    if not values:
        return float("inf")
    return (report.median(values) if percent == 50 else report.percentile(values, percent)) / 1e6


# ---- slots ----

def slot_rows(table, slots, echoes, clones, idle_percent):
    took, floors = sorted(a for a, _ in slots), sorted(b for _, b in slots)
    idle = idle_percent >= spoilt.IDLE_LEAST
    table.row("CPU idle during the replay", "%.0f %%" % idle_percent, "< %d %%: the ratio decides" % spoilt.IDLE_LEAST)
    table.row("samples", str(len(slots)), ">= 300", len(slots) >= 300)
    for percent, name, bar in ((50, "median", 2), (99, "p99", 10)):
        value, floor = milliseconds(took, percent), milliseconds(floors, percent)
        ratio = value / floor if slots else float("inf")
        table.row("an attempt's end to the next one's clone3, %s" % name, "%.2f ms" % value,
                  "<= %d ms%s" % (bar, "" if idle else " (does not decide)"), value <= bar if idle else None)
        table.row("  its floor: empty round trip and clone3, %s" % name, "%.2f ms" % floor)
        table.row("  ratio to the floor, %s" % name, "%.1f" % ratio, "<= 4%s" % (" (does not decide)" if idle else ""),
                  None if idle else ratio <= 4)
    for what, values in (("empty round trip", echoes), ("clone3 alone", clones)):
        table.row("%s (median, p99)" % what,
                  "%.2f, %.2f ms" % (milliseconds(sorted(values), 50), milliseconds(sorted(values), 99)))


def measure_slots(table):
    table.head("slot latency in the replay of the demo's default workload")
    with running_cluster("slots") as (running, path, asked, logs):
        idle = latency.CpuIdle()
        with replaying(running, path, asked, 1, logs) as driver:
            while driver.poll() is None:
                time.sleep(0.2)
                running.check_alive()
        idle_percent = idle.percent()
        if driver.returncode != 0:
            raise system.Failure("the replay was not finished; its words are in %s" % logs)
    measured, refills, _ = latency.read(running.measurement_files(), running.log_files())
    slot_rows(table, latency.slot_latencies(measured, refills), [b - s for m in measured for s, b in m.echoes],
              [after - before for m in measured for _, before, after in m.begins.values()], idle_percent)


# ---- modes ----

def force_switches(running, driver, switches):
    for i in range(switches + 1):
        running.ask("policy", "mode", "starved" if i % 2 else "rich")
        running.check_alive()
        if driver.poll() is not None:
            raise system.Failure("the replay has ended before the last switch")
        time.sleep(SWITCH_SECONDS)


def mark_rows(table, verdict):
    table.row("to the first payload packet with the new mark, behind the sender's queues", "median, p99, worst")
    for name, key in (("flowing flows", "flowing"), ("  promoted ones of them", "promoted"),
                      ("  demoted ones of them", "demoted"), ("starved flows", "starved")):
        of, bar = verdict[key], 20 if key == "flowing" else None
        table.row("  %s: %d" % (name, of["n"]), "%.2f, %.2f, %.2f ms" % (of["p50_ms"], of["p99_ms"], of["worst_ms"]),
                  "p99 <= %d ms" % bar if bar else "", of["p99_ms"] <= bar and of["n"] > 0 if bar else None)
    table.row("  ended, or switched again, before one came", str(verdict["unseen"]))
    table.row("payload packets checked, wrong, unattributed, lost by capture",
              "%d, %d, %d, %d" % tuple(verdict[k] for k in ("checked", "wrong", "unattributed", "lost")),
              "0 wrong, 0 unattributed", verdict["wrong"] == 0 and verdict["unattributed"] == 0)


def measure_modes(table):
    table.head("mode switches forced in a replay")
    with running_cluster("modes") as (running, path, asked, logs):
        verify = demo.Verify(running, logs)
        verify.start()
        idle = latency.CpuIdle()
        with replaying(running, path, asked, 0, logs) as driver:
            force_switches(running, driver, SWITCHES)
            idle_percent = idle.percent()
        verify.finish()
        with open(os.path.join(logs, "verify.json")) as said:
            verdict = json.load(said)
    measured, _, modes = latency.read(running.measurement_files(), running.log_files())
    each, last = latency.mode_latencies(measured, modes, latency.suspended_ns())
    table.row("CPU idle", "%.0f %%" % idle_percent)
    table.row("switches that reached all hosts", "%d of %d" % (len(last), len(modes)), ">= 50", len(last) >= 50)
    table.row("from the controller's step to a host's map write (median, p99)",
              "%.2f, %.2f ms" % (milliseconds(sorted(each), 50), milliseconds(sorted(each), 99)))
    table.row("to the last host's (median)", "%.2f ms" % milliseconds(sorted(last), 50))
    table.row("to the last host's (p99)", "%.2f ms" % milliseconds(sorted(last), 99), "<= 5 ms",
              milliseconds(sorted(last), 99) <= 5)
    mark_rows(table, verdict)
