"""SWITCH=: while a policy runs whose placement has objectives, they are changed, one after the
other."""

import itertools
import json
import time

OBJECTIVES = ("quincy", "borg", "duopoly", "weights")
EVERY_S = 1.5


def _place(running):
    """The placement in force if it has objectives; else None."""
    rows = running.ask("policy")["policies"]
    return next((row["policy"] for row in rows if row["parameter"] == "objective"), None)


class Switching:
    """The caller calls tick() every now and then. Nothing happens under other placements."""

    def __init__(self, running, times):
        self.running, self.times, self.done = running, times, 0
        self.place = _place(running) if times else None
        self.words, self.due = itertools.cycle(OBJECTIVES), time.monotonic() + EVERY_S
        self.changes = []  # (CLOCK_BOOTTIME in ns, objective)

    def tick(self):
        if not self.place or self.done == self.times or time.monotonic() < self.due:
            return
        word = next(self.words)
        self.running.ask("policy", "place", self.place, "objective=" + word)
        self.changes.append((time.clock_gettime_ns(time.CLOCK_BOOTTIME), word))
        self.done += 1
        self.due = time.monotonic() + EVERY_S

    def lines(self):
        if not self.place:
            return []
        said = "the objective of its placement was changed %d times" % self.done
        missing = ", of %d that were asked for: the replay was over" % self.times
        return [said + (missing if self.done < self.times else "")]

    def simulated(self, results, workload):
        """Options of duopoly-sim, so that it changes the objective when this run did: of the
        driver's results and the replayed workload."""
        if not self.changes:
            return {}
        planned_ns = min(row["planned_ns"] for row in _rows(results) if "job" in row)
        began_ns = planned_ns - 1e6 * min(row["arrival_ms"] for row in _rows(workload)
                                          if "arrival_ms" in row)
        return {"change": ["%.3f:objective=%s" % (max(ns - began_ns, 0) / 1e9, word)
                           for ns, word in self.changes]}


def _rows(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines if line.strip()]
