"""Strictness over real TCP at a switch port, with the agents' queues and marks: three hosts and a
switch of 100 Mb/s.

Tasks on h3 fetch from h1 and h2, so that levels meet at the switch's port to h3. What the high
level gets is payload as it arrives; what lower ones keep is what their classes on that port sent,
as the kernel counts it (in 2 s a starved transfer receives in lumps: its round trip is longer than
a second)."""

import os
import re
import statistics
import time

from nets import Net, wait_for
from test_queues import LINK, Bottleneck

REPEATS = 5
PROMOTIONS = int(os.environ.get("PROMOTIONS") or 50)  # of a transfer alone: what goes wrong there is rare
LOWER = (1, 2, 4, 6, 7)  # the one lower level of each repeat
FLOOR_BPS = 0.01 * LINK
MANY = 50
LEAF = 100  # packets of a queue, by default
FIRST_WINDOW = 10  # packets that a connection sends at once (RFC 6928): a queue has room for that of all that may wait in it
WINDOW_S = 0.05
ALONE_S, BESIDE_S = 1.0, 2.0


def percent(share):
    return "%.1f %%" % (100 * share)


def shares(bottleneck, streams, high, lower):
    """Worst over the repeats, each with the levels that `lower` names: share of what the high level
    gets alone just before, and share of its floor that the worst lower level keeps; and what it got
    alone."""
    share, floor, alone = 9.0, 9.0, []
    for levels in lower:
        only(bottleneck, streams, [])
        alone.append(bottleneck.pump.rate_bps(high, ALONE_S))
        only(bottleneck, streams, levels)
        sent = Sent(bottleneck)
        share = min(share, bottleneck.pump.rate_bps(high, BESIDE_S) / alone[-1])
        rates = sent.rates_bps()
        floor = min(floor, *(rates[level] / FLOOR_BPS for level in levels))
    return share, floor, alone


class Sent:
    """What the classes of the levels on the port to h3 have sent since it was made."""

    def __init__(self, bottleneck):
        self.bottleneck = bottleneck
        self.before, self.at = self._read(), time.monotonic()

    def _read(self):
        said = self.bottleneck.net.sw.tc("-s", "class", "show", "dev", "p3")
        return [int(re.search(r"class htb d00:%d .*?Sent (\d+) bytes" % (2 + level), said, re.S)[1]) for level in range(8)]

    def rates_bps(self):
        after, seconds = self._read(), time.monotonic() - self.at
        return [(now - then) * 8 / seconds for now, then in zip(after, self.before)]


class Stream:
    def __init__(self, pump, sender, receiver):
        self.pump, self.sender = pump, sender
        self.receiver = pump.add(sender, receiver)

    def run(self, on):
        self.pump.poll.modify(self.sender.fileno(), 4 if on else 0)  # POLLOUT


def only(bottleneck, streams, levels):
    """Only these lower levels send from now on; returns when the queues show it."""
    def settled():
        waiting = backlogs(bottleneck)
        return all((waiting[level] > 0) == (level in levels) for level in streams)

    for level, stream in streams.items():
        stream.run(level in levels)
    wait_for("the lower levels' queues", settled, 20)


def backlogs(bottleneck):
    """Packets that wait on the port to h3, by level."""
    said = bottleneck.net.sw.tc("-s", "class", "show", "dev", "p3")
    return {level: int(re.search(r"class htb d00:%d .*?backlog \S+ (\d+)p" % (2 + level), said, re.S)[1]) for level in range(8)}


def measure_shares(table):
    net = Net(3)
    try:
        bottleneck = Bottleneck(net)
        try:
            opened = {level: bottleneck.open(bottleneck.task("low%d" % level, level, level), net.hosts[1])
                      for level in range(1, 8)}
            high = bottleneck.fetch(bottleneck.task("high", 0, 0), net.hosts[0])
            streams = {level: Stream(bottleneck.pump, *pair) for level, pair in opened.items()}
            share, floor, alone = shares(bottleneck, streams, high, [[level] for level in LOWER])
            table.row("high level alone (worst, best)", "%.1f, %.1f Mb/s" % (min(alone) / 1e6, max(alone) / 1e6))
            table.row("high level under one saturating lower level, of alone", percent(share), ">= 97 %", share >= 0.97)
            table.row("that lower level, of its floor", percent(floor), ">= 80 %", floor >= 0.8)
            share, floor, _ = shares(bottleneck, streams, high, [range(1, 8)] * REPEATS)
            table.row("high level under seven, of alone", percent(share), ">= 91 %", share >= 0.91)
            table.row("the worst of the seven, of its floor", percent(floor), ">= 80 %", floor >= 0.8)
        finally:
            bottleneck.pump.stop()
    finally:
        net.remove()


def time_to_link(bottleneck, star, limit_s=10.0):
    """Seconds from now until the stream has had 80 % of the link over a window of 50 ms."""
    start, seen = time.monotonic(), [(time.monotonic(), bottleneck.pump.got[star])]
    bottleneck.here.do("mode 1")
    while time.monotonic() < start + limit_s:
        time.sleep(0.002)
        now, got = time.monotonic(), bottleneck.pump.got[star]
        seen.append((now, got))
        old = next((s for s in reversed(seen) if s[0] <= now - WINDOW_S), None)
        if old and (got - old[1]) * 8 / (now - old[0]) >= 0.8 * LINK:
            return now - start
    return limit_s


def promotions(bottleneck, first, star, repeats):
    """Seconds that each promotion takes."""
    found = []
    for _ in range(repeats):
        bottleneck.here.do("mode 0")
        wait_for("the first to have the link", lambda: bottleneck.pump.rate_bps(first, 0.3) > 0.85 * LINK, 60)
        wait_for("the starved to wait", lambda: backlogs(bottleneck)[4] > 0, 20)
        found.append(time_to_link(bottleneck, star))
    return found


def measure_one_promotion(others, leaf_packets, repeats):
    """(seconds of each promotion, how many connections were nudged)"""
    net = Net(3)
    try:
        bottleneck = Bottleneck(net, leaf_packets=leaf_packets, nudge=True)
        try:
            rest = bottleneck.task("rest", 4, 4)
            # Before the link is full: a SYN-ACK may be starved, too.
            opened = [bottleneck.open(rest, net.hosts[1]) for _ in range(others)]
            opened.append(bottleneck.open(bottleneck.task("star", 4, 0), net.hosts[1]))
            first = bottleneck.fetch(bottleneck.task("first", 0, 7), net.hosts[0])
            star = [bottleneck.pump.add(*pair) for pair in opened][-1]
            return promotions(bottleneck, first, star, repeats), bottleneck.here.stats()["nudged"]
        finally:
            bottleneck.pump.stop()
    finally:
        net.remove()


def promotion_rows(table, others, leaf_packets, repeats, bar_s):
    found, nudged = measure_one_promotion(others, leaf_packets, repeats)
    table.row("%s, queues of %d packets (%d connections nudged), median of %d" %
              ("among %d" % others if others else "alone", leaf_packets, nudged, repeats),
              "%.0f ms" % (1000 * statistics.median(found)))
    table.row("  worst", "%.0f ms" % (1000 * max(found)), "<= %.0f ms" % (1000 * bar_s) if bar_s else "",
              max(found) <= bar_s if bar_s else None)


def measure_strictness(table):
    table.head("strictness at a switch port of 100 Mb/s, %d repeats, worst of them" % REPEATS)
    measure_shares(table)


def measure_promotion(table):
    """Queues of the default length are too short for so many connections
    (schemas/duopoly-agent.yaml): shown, without a bar."""
    table.head("from a mode switch until the starved transfer that it promotes has 80 % of a port")
    promotion_rows(table, 0, LEAF, PROMOTIONS, 0.3)
    promotion_rows(table, MANY, FIRST_WINDOW * (MANY + 1), REPEATS, 0.5)
    promotion_rows(table, MANY, LEAF, REPEATS, None)
