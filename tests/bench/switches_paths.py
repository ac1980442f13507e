#!/usr/bin/python3 -B
"""Strictness and promotion of each queue driver over real TCP, on this kernel and on those of
guests (root; ten minutes). Promotions have ten starved transfers beside them.

Tasks on h3 fetch from h1 and h2 through the switch's port to h3. Round trips are a task's of the
high level, byte for byte, while a lower one saturates the port: what is added there is what the
port's queues add. A guest has the drivers that the machine's kernel has not got, at rates that it
can fill. PROMOTIONS: how many (100); KERNELS: which (host uml qemu)."""

import json
import os
import random
import re
import shutil
import socket
import statistics
import sys
import time

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path[:0] = [TREE, os.path.join(TREE, "tests/net"), os.path.join(TREE, "tests/bench")]
os.chdir(TREE)

from nets import Net, run, wait_for  # noqa: E402
from table import Table  # noqa: E402
from test_kernels import OpenVSwitch, begin_switch_agent  # noqa: E402
from test_queues import Bottleneck  # noqa: E402
from tests.guest import run as guests  # noqa: E402
from testbed.guest.kernels import KERNELS, Missing  # noqa: E402

KERNEL = os.environ.get("GUEST", "host")
LINK = {"host": 100_000_000, "uml": 20_000_000, "qemu": 2_000_000}[KERNEL]
DRIVERS = {"host": ["htb"], "uml": ["htb", "prio", "ovs"], "qemu": ["ets"]}
FLOORS = ("htb", "ovs")
FLOOR_BPS = 0.01 * LINK
PACKET_BITS = 1514 * 8
PROMOTIONS = int(os.environ.get("PROMOTIONS") or 100)
STARVED, FIRST_WINDOW = 10, 10  # packets that a connection sends at once (RFC 6928)
ROUND_TRIPS, ROUNDS, WINDOW_S = 300, 3, 4.0
LONGEST_S = 2.0  # for which the promoted one has been starved, at random: senders are at every point of their back-off


class Path:
    """Hosts whose links are faster than the switch's, so that packets wait at its port."""

    def __init__(self, driver, leaf_packets=100, floor_permille=None, nudge=False):
        self.net, self.driver, self.switch = Net(3), driver, None
        plain = self.net.agent

        def agent(host, **words):
            if words.get("role") != "switch":
                return plain(host, link_bps=10 * LINK, **words)
            if floor_permille is not None:
                os.environ["FLOOR_PERMILLE"] = str(floor_permille)
            try:
                return plain(host, link_bps=LINK, queues=driver, **words)
            finally:
                os.environ.pop("FLOOR_PERMILLE", None)
        self.net.agent = agent
        try:
            if driver == "ovs":
                run("modprobe", "openvswitch")
                self.switch = OpenVSwitch(self.net, "system")
                begin_switch_agent(self.net, self.switch, LINK)
            self.b = Bottleneck(self.net, leaf_packets=leaf_packets, nudge=nudge, switch=driver != "ovs")
        except BaseException:
            self.remove()
            raise

    def remove(self):
        if hasattr(self, "b"):
            self.b.pump.stop()
        if self.switch:
            self.switch.end()
        self.net.remove()


def round_trips_s(here, there):
    """In a process of its own: the thread that fills the port is none of it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        seen = []
        for sock in (here, there):
            sock.setblocking(True)
        for _ in range(ROUND_TRIPS):
            start = time.perf_counter()
            here.send(b"?")
            there.recv(1)
            there.send(b"!")
            here.recv(1)
            seen.append(time.perf_counter() - start)
        os.write(writer, json.dumps(seen).encode())
        os._exit(0)
    os.close(writer)
    text = b""
    while part := os.read(reader, 65536):
        text += part
    os.close(reader)
    os.waitpid(child, 0)
    return json.loads(text)


class Switched:
    """A stream that sends or does not."""

    def __init__(self, pump, sender, receiver):
        self.pump, self.sender, self.receiver = pump, sender, pump.add(sender, receiver)

    def send(self, on):
        self.pump.poll.modify(self.sender.fileno(), 4 if on else 0)  # POLLOUT


def shared(b, high, low):
    """(what the high level gets beside the low one, of what it got alone just before; what the low
    one gets, of its floor).

    Medians of rounds: in a guest any window may hold a nap of the machine."""
    rounds = []
    for _ in range(ROUNDS):
        low.send(False)
        wait_for("the low level to be gone", lambda: b.pump.rate_bps(low.receiver, 0.5) == 0, 60)
        wait_for("the high level to fill the port", lambda: b.pump.rate_bps(high.receiver, 0.5) > 0.8 * LINK, 60)
        alone = b.pump.rate_bps(high.receiver, WINDOW_S)
        low.send(True)
        before, at = b.pump.got[low.receiver], time.monotonic()
        share = b.pump.rate_bps(high.receiver, WINDOW_S) / alone
        rounds.append((share, (b.pump.got[low.receiver] - before) * 8 / (time.monotonic() - at) / FLOOR_BPS))
    return [statistics.median(values) for values in zip(*rounds)]


def strictness(table, driver):
    path = Path(driver)
    try:
        b, (h1, h2, _) = path.b, path.net.hosts
        high_task, low_task = b.task("high", 0, 0), b.task("low", 4, 4)
        there, here = b.open(high_task, h1)
        for sock in (here, there):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        high = Switched(b.pump, *b.open(high_task, h1))
        low = Switched(b.pump, *b.open(low_task, h2))
        high.send(False), low.send(False)
        idle = statistics.median(round_trips_s(here, there))
        low.send(True)
        wait_for("the low level to fill the port", lambda: b.pump.rate_bps(low.receiver, 0.5) > 0.8 * LINK, 60)
        beside = statistics.median(round_trips_s(here, there))
        high.send(True)
        share, kept = shared(b, high, low)
    finally:
        path.remove()
    bar = idle + 2 * PACKET_BITS / LINK
    table.row(f"{driver}: high level beside a saturating one, of alone", "%.1f %%" % (100 * share), ">= 95 %", share >= 0.95)
    table.row(f"{driver}: round trip of the high level, median; idle", "%.2f; %.2f ms" % (1000 * beside, 1000 * idle),
              "<= %.2f ms" % (1000 * bar), beside <= bar)
    if driver in FLOORS:
        table.row(f"{driver}: the low level, of its floor", "%.2f" % kept, "0.5 to 3", 0.5 <= kept <= 3)


def backlog(net, level):
    said = net.sw.tc("-s", "qdisc", "show", "dev", "p3")
    return int(re.search(r"parent d00:%x .*?backlog \S+ (\d+)p" % (2 + level), said, re.S)[1])


def promote(path, first, star, starved_s):
    """Seconds until a starved transfer has 80 % of the port over 50 ms (of a slow port: over twenty
    packets' time)."""
    b, window = path.b, max(0.05, 20 * PACKET_BITS / LINK)
    b.here.do("mode 0")
    wait_for("the first to have the port", lambda: b.pump.rate_bps(first, 0.3) > 0.85 * LINK, 60)
    wait_for("the starved to wait", lambda: backlog(path.net, 4) > 0, 60)
    time.sleep(starved_s)
    begin = time.monotonic()
    seen = [(begin, b.pump.got[star])]
    b.here.do("mode 1")
    while (now := time.monotonic()) < begin + 20:
        time.sleep(0.002)
        seen.append((now, b.pump.got[star]))
        old = next((s for s in reversed(seen) if s[0] <= now - window), None)
        if old and (seen[-1][1] - old[1]) * 8 >= 0.8 * LINK * (now - old[0]):
            break
    return now - begin


def promotion(table, driver, floor_permille, median_bar_s, first_after):
    """The first has level 0, and then another: above the promoted one's old level, 4, it holds back
    what still waits there."""
    path = Path(driver, FIRST_WINDOW * (STARVED + 1), floor_permille, nudge=True)
    try:
        b, (h1, h2, _) = path.b, path.net.hosts
        rest = b.task("rest", 4, 4)
        opened = [b.open(rest, h2) for _ in range(STARVED)] + [b.open(b.task("star", 4, 0), h2)]
        first = b.fetch(b.task("first", 0, first_after), h1)
        star = [b.pump.add(*pair) for pair in opened][-1]
        chance = random.Random(1)
        took = [promote(path, first, star, LONGEST_S * chance.random()) for _ in range(PROMOTIONS)]
    finally:
        path.remove()
    what = (f"{driver}, {'no floors but the nudge' if floor_permille == 0 else 'with floors'}, "
            f"the first {'stays above' if first_after < 4 else 'gives way'}: {len(took)} promotions")
    table.row(what + ", median", "%.0f ms" % (1000 * statistics.median(took)), "<= %.0f ms" % (1000 * median_bar_s), statistics.median(took) <= median_bar_s)
    table.row("  worst", "%.0f ms" % (1000 * max(took)), "<= 1000 ms", max(took) <= 1)


def measure_here(table):
    table.head(f"queue drivers on the kernel {os.uname().release} ({KERNEL}), a port of {LINK // 1_000_000} Mb/s")
    for driver in DRIVERS[KERNEL]:
        if driver == "ovs" and not shutil.which("ovs-vswitchd"):
            table.row("ovs", "no Debian package openvswitch-switch")
        else:
            strictness(table, driver)
    if KERNEL == "host":
        promotion(table, "htb", None, 0.1, 7)
        promotion(table, "htb", None, 0.1, 2)
        promotion(table, "htb", 0, 0.25, 2)


class Program:
    """What a guest is to run."""

    def __init__(self, kernel, path):
        self.kernel, self.path = kernel, path

    def commands(self, _home):
        return [["/usr/bin/python3", "-B", os.path.relpath(self.path)]]


def measure_guest(table, kernel, path):
    try:
        KERNELS[kernel].check(guests.BUILD)
    except Missing as why:
        table.row(f"guest {kernel}", "skipped", str(why))
        return
    guest = guests.Guest(kernel, Program(kernel, path))
    try:
        table.missed += any(guest.wait())
    finally:
        guest.remove()


def main(measure, path):
    table, kernels = Table(), [KERNEL] if KERNEL != "host" else (os.environ.get("KERNELS") or "host uml qemu").split()
    for kernel in kernels:
        measure(table) if kernel == KERNEL else measure_guest(table, kernel, path)
    sys.exit(1 if table.missed else 0)


if __name__ == "__main__":
    main(measure_here, __file__)
