"""SWITCH=: while a policy runs whose placement has objectives, they are changed, one after the
other."""

import itertools
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

    def tick(self):
        if not self.place or self.done == self.times or time.monotonic() < self.due:
            return
        self.running.ask("policy", "place", self.place, "objective=" + next(self.words))
        self.done += 1
        self.due = time.monotonic() + EVERY_S

    def lines(self):
        if not self.place:
            return []
        said = "the objective of its placement was changed %d times" % self.done
        missing = ", of %d that were asked for: the replay was over" % self.times
        return [said + (missing if self.done < self.times else "")]
