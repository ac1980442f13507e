"""What peers that send too much, too large, never finish, or never read cost the others: the 99th
percentile of an empty round trip.

Two duopolyds on loopback, each with one that measures its round trips; one of them is attacked,
each in turn. The bar holds what is measured there against what is measured beside it at the same
time, so that whatever else happens on this machine falls on both. An attacker would have a machine
of its own: here it is as nice as can be, and who is measured or measures is scheduled before all
others (SCHED_RR). What it costs the one that is not attacked, which gets no such message, is shown
beside quiet windows. What connections cost any program on libzmq is measured by turns with it, at a
program of ten lines (bare_router.c): where that is above the bar, it is the bar."""
import os
import resource
import statistics
import time

import controller
import floods
from testbed.net import system

ROUNDS, TURNS, WINDOW_S = 8, 4, 0.5
EVERY_US = 1000
SLOWER = 1.10


def schedule_first(process):
    """All its threads before everything else here."""
    for thread in os.listdir("/proc/%d/task" % process.pid):
        os.sched_setscheduler(int(thread), os.SCHED_RR, os.sched_param(1))


class Side:
    """One duopolyd (`bare`: libzmq alone), who measures there, and who attacks it when told to."""

    def __init__(self, kind, bare):
        self.daemon = floods.BareRouter() if bare else controller.Daemon(log=None, config=kind.CONFIG)
        self.probe, self.attack = None, None
        try:
            self.probe = floods.Probe(self.daemon, EVERY_US)
            self.attack = kind(self.daemon)
            schedule_first(self.daemon.process)
            schedule_first(self.probe.process)
        except BaseException:
            self.end()
            raise

    def end(self):
        if self.attack:
            self.attack.end()
        if self.probe:
            self.probe.close()
        self.daemon.remove()


def processor_ns(process):
    """What all its threads have run."""
    of_all = 0
    for thread in os.listdir("/proc/%d/task" % process.pid):
        with open("/proc/%d/task/%s/schedstat" % (process.pid, thread)) as schedstat:
            of_all += int(schedstat.read().split()[0])
    return of_all


def window(sides, attacked, seconds, step=lambda: None):
    """`step`, and what is left of the time. What it took."""
    began = time.monotonic()
    until = time.monotonic() + seconds
    for side in sides:
        side.probe.begin(attacked)
    step()
    time.sleep(max(0, until - time.monotonic()))  # what is measured
    return time.monotonic() - began


def take(here, beside):
    """Round trips there while it was quiet; beside the one that was attacked; there while it was
    attacked."""
    quiet, under = here.probe.take()
    return {"quiet": quiet, "beside": beside.probe.take()[1], "under": under}


def take_turns(here, beside):
    """{"": what was measured} over TURNS windows of each kind."""
    for _ in range(TURNS):
        window((here, beside), False, WINDOW_S)
        here.attack.switch(True)
        window((here, beside), True, WINDOW_S)
        here.attack.switch(False)
    return {"": take(here, beside)}


def take_lasting(here, beside):
    """The same for one that comes, stands and goes."""
    steps = {" that come": lambda: here.attack.switch(True), " that stand": lambda: None, " that go": lambda: here.attack.switch(False)}
    window((here, beside), False, TURNS * WINDOW_S)
    quiet, parts = take(here, beside)["quiet"], {}
    for part, step in steps.items():
        before = processor_ns(here.daemon.process)
        took = window((here, beside), True, TURNS * WINDOW_S, step)
        parts[part] = dict(take(here, beside), quiet=quiet, seconds=took, ran_ns=processor_ns(here.daemon.process) - before)
    return parts


class Pair:
    """Two sides of one kind; one of them is attacked, each in turn."""

    def __init__(self, kind, bare):
        self.kind, self.sides = kind, []
        try:
            self.sides += [Side(kind, bare)]
            self.sides += [Side(kind, bare)]
        except BaseException:
            self.end()
            raise

    def take(self, turn):
        return (take_lasting if self.kind.LASTING else take_turns)(self.sides[turn % 2], self.sides[1 - turn % 2])

    def end(self):
        for side in self.sides:
            side.end()


def take_rounds(kind):
    """Of duopolyd, and, where it is others' connections that cost something, of libzmq alone, by
    turns."""
    pairs = []
    try:
        for bare in [False, True][:1 + kind.FLOOR]:
            pairs.append(Pair(kind, bare))
        rounds = [[pair.take(turn) for pair in pairs] for turn in range(ROUNDS)]
        return [list(of_one) for of_one in zip(*rounds)]
    finally:
        for pair in pairs:
            pair.end()


def ratio_of_rounds(rounds, over, under):
    """Median, least and largest."""
    ratios = [floods.ratio_of(one[over], one[under]) for one in rounds]
    return statistics.median(ratios), min(ratios), max(ratios)


def ratio_row(table, what, rounds, over, under, **bar):
    table.row(what, "× %.2f (%.2f to %.2f)" % ratio_of_rounds(rounds, over, under), **bar)


def flood_rows(table, what, rounds, bare):
    """`bare`: what libzmq alone makes of the same; None: nothing is known of it."""
    floor = ratio_of_rounds(bare, "beside", "under")[0] if bare else 0
    most = max(SLOWER, floor)
    words = "<= × %.2f%s" % (most, ", libzmq alone" if most > SLOWER else "")
    ratio_row(table, what, rounds, "beside", "under", bar=words, met=ratio_of_rounds(rounds, "beside", "under")[0] <= most)
    if bare:
        ratio_row(table, "  the same at libzmq alone", bare, "beside", "under")
    ratio_row(table, "  beside it, to quiet", rounds, "quiet", "beside")
    for name in ("p50", "p99", "max"):
        values = tuple(statistics.median(one[kind][name] for one in rounds) / 1e3 for kind in ("quiet", "beside", "under"))
        table.row("  %s quiet, beside it, under attack" % name, "%.0f, %.0f, %.0f µs" % values)


def each_costs_us(rounds):
    """Processor time for one that comes and goes, beyond what round trips take in that time, as
    while they stand."""
    def beyond(one, part):
        return one[part]["ran_ns"] - one[part]["seconds"] * one[" that stand"]["ran_ns"] / one[" that stand"]["seconds"]
    return statistics.median(beyond(one, " that come") + beyond(one, " that go") for one in rounds) / floods.HALF_OPEN / 1e3


def part_of(rounds, part):
    return [one[part] for one in rounds]


def measure_floods(table):
    table.head("p99 of others' round trips at an attacked controller to that at another, median of %d rounds (smallest, largest)" % ROUNDS)
    before = floods.allow_descriptors()
    if not before:
        raise system.Failure("no more than %d files may be open here" % resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    try:
        floods.NICE = 19
        for kind in floods.ATTACKS:
            rounds, *bare = take_rounds(kind)
            for part in rounds[0]:
                flood_rows(table, kind.WHAT + part, part_of(rounds, part), part_of(bare[0], part) if bare else None)
            if kind.LASTING:
                table.row("  processor time for each, at the controller and at libzmq alone", "%.1f and %.1f µs" % (
                    each_costs_us(rounds), each_costs_us(bare[0])))
    finally:
        floods.NICE = 0
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
