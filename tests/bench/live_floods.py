"""What peers that send too much, too large, never finish, or never read cost the others: the 99th percentile of an empty round trip.

One duopolyd on loopback for each attack. Quiet and attacked windows come in turn, so that whatever else changes here changes both. Who
attacks would have a machine of its own: here it is as nice as can be."""
import resource
import statistics

import controller
import floods
from testbed.net import system

ROUNDS, PAIRS, WINDOW_S = 7, 4, 0.5
EVERY_US = 1000
SLOWER = 1.10


def take_turns(probe, attack):
    """{"": (quiet, attacked)} over PAIRS windows of each."""
    for _ in range(PAIRS):
        probe.measure(WINDOW_S, False)
        attack.switch(True)
        probe.measure(WINDOW_S, True)
        attack.switch(False)
    return {"": tuple(probe.take())}


def take_lasting(probe, attack):
    """The same for one that comes, stands and goes."""
    def during(on):
        probe.say("1")
        attack.switch(on)
        return probe.take()[1]
    probe.measure(WINDOW_S * PAIRS, False)
    quiet = probe.take()[0]
    coming = during(True)
    probe.measure(WINDOW_S * PAIRS, True)
    standing = probe.take()[1]
    return {" that stand": (quiet, standing), " that come": (quiet, coming), " that go": (quiet, during(False))}


def take_rounds(kind):
    daemon = controller.Daemon(log=None, config=kind.CONFIG)
    try:
        probe = floods.Probe(daemon, EVERY_US)
        attack = kind(daemon)
        try:
            return [(take_lasting if kind.LASTING else take_turns)(probe, attack) for _ in range(ROUNDS)]
        finally:
            attack.end()
            probe.close()
    finally:
        daemon.remove()


def median_us(rounds, which, name):
    return statistics.median(one[which][name] for one in rounds) / 1e3


def flood_rows(table, what, rounds):
    ratios = [floods.ratio_of(*one) for one in rounds]
    ratio = statistics.median(ratios)
    table.row(what, "× %.2f (%.2f to %.2f)" % (ratio, min(ratios), max(ratios)), "<= × %.2f" % SLOWER, ratio <= SLOWER)
    table.row("  p50 and p99 quiet; attacked", "%.0f, %.0f; %.0f, %.0f µs" % tuple(
        median_us(rounds, which, name) for which in (0, 1) for name in ("p50", "p99")))


def measure_floods(table):
    table.head("p99 of others' round trips beside a hostile peer to that without, median of %d rounds (smallest, largest)" % ROUNDS)
    before = floods.allow_descriptors()
    if not before:
        raise system.Failure("no more than %d files may be open here" % resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    try:
        floods.NICE = 19
        for kind in floods.ATTACKS:
            rounds = take_rounds(kind)
            for part in rounds[0]:
                flood_rows(table, kind.WHAT + part, [one[part] for one in rounds])
    finally:
        floods.NICE = 0
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
