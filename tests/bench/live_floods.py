"""What peers that send too much, too large, never finish, or never read cost the others: the 99th percentile of an empty round trip.

One duopolyd on loopback for each attack. Quiet and attacked windows come in turn, so that whatever else changes here changes both; an
attack's beginning and end are part of it."""
import resource
import statistics

import controller
import floods
from testbed.net import system

ROUNDS, PAIRS, WINDOW_S = 7, 4, 0.5
EVERY_US = 1000
SLOWER = 1.10


def take_round(probe, attack):
    """(quiet, attacked) over PAIRS windows of each; over one long one of an attack that is slow to begin."""
    pairs = 1 if attack.LASTING else PAIRS
    for _ in range(pairs):
        probe.measure(WINDOW_S * PAIRS / pairs, False)
        probe.say("1")
        attack.switch(True)
        probe.measure(WINDOW_S * PAIRS / pairs, True)
        attack.switch(False)
    return probe.take()


def take_rounds(kind):
    daemon = controller.Daemon(log=None, config=kind.CONFIG)
    try:
        probe = floods.Probe(daemon, EVERY_US)
        attack = kind(daemon)
        try:
            return [take_round(probe, attack) for _ in range(ROUNDS)]
        finally:
            attack.end()
            probe.close()
    finally:
        daemon.remove()


def median_us(rounds, which, name):
    return statistics.median(one[which][name] for one in rounds) / 1e3


def flood_rows(table, kind):
    rounds = take_rounds(kind)
    ratios = [floods.ratio_of(*one) for one in rounds]
    ratio = statistics.median(ratios)
    table.row("%s: p99 of the others, attacked to quiet" % kind.WHAT, "× %.2f (%.2f to %.2f)" % (ratio, min(ratios), max(ratios)),
              "<= × %.2f" % SLOWER, ratio <= SLOWER)
    table.row("  p50 and p99 quiet; attacked", "%.0f, %.0f; %.0f, %.0f µs" % tuple(
        median_us(rounds, which, name) for which in (0, 1) for name in ("p50", "p99")))


def measure_floods(table):
    table.head("round trips beside a hostile peer, median of %d rounds (smallest and largest)" % ROUNDS)
    before = floods.allow_descriptors()
    if not before:
        raise system.Failure("no more than %d files may be open here" % resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    try:
        for kind in floods.ATTACKS:
            flood_rows(table, kind)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
