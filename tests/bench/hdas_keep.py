"""Which sets make bench-hdas keeps: those under which the baselines alone behave as the source
prints. No number of `affinity` or `model` is looked at.

A condition whose set missed an earlier one is not tested, since that takes more runs. So a set's
distance is the sum of what it misses by, and 1 for each condition that it did not come to."""
import collections
import itertools
import math

import hdas_sets

Condition = collections.namedtuple("Condition", "key what least most source")
Condition.__doc__ = """source: its figure; None: it prints a bound alone."""
NEAR, WIDE = .3, .15
CONDITIONS = (
    Condition("P-KNN", "mix P under FIFO: delay of KNN's GPU tasks, 4.8 ± 30 %",
              4.8 * (1 - NEAR), 4.8 * (1 + NEAR), 4.8),
    Condition("P-NB", "mix P under FIFO: delay of NB's GPU tasks, 2.7 ± 30 %",
              2.7 * (1 - NEAR), 2.7 * (1 + NEAR), 2.7),
    Condition("C", "mix C: FIFO's speed-up over CPUs alone, ≤ 2.8", 0, 2.8, None),
    Condition("I", "mix I: FIFO's speed-up over CPUs alone, ≥ 21", 21, math.inf, None),
    Condition("mean", "all mixes: FIFO's mean speed-up over CPUs alone, 14.3 ± 15 %",
              14.3 * (1 - WIDE), 14.3 * (1 + WIDE), 14.3),
)
KEYS = tuple(condition.key for condition in CONDITIONS)

POOL, BATCH, STEP, MOVES = 20, 16, .1, .5
SAMPLER = ("walked from the %d nearest: each unknown of one of them moves with probability %.1f by "
           "N(0, %.1f) of its range, reflected at its ends, and of the old and the new ones the %d "
           "nearest stay" % (POOL, MOVES, STEP, POOL))

Tried = collections.namedtuple("Tried", "point distance missed measured walked")
Tried.__doc__ = """A set that was tried. missed: keys, of those that were tested; measured: by
key."""


def loosened(conditions, key, factor):
    """With one condition's bounds further apart."""
    return tuple(c._replace(least=c.least / factor, most=c.most * factor) if c.key == key else c
                 for c in conditions)


def miss(condition, value):
    """0: met; else from 0 to 1, the more the further off; None: there was nothing to measure."""
    if value is None:
        return 1
    if condition.least <= value <= condition.most:
        return 0
    if value <= 0:
        return 1
    off = math.log(condition.least / value if value < condition.least else value / condition.most)
    return off / (1 + off)


def judge(point, measure, conditions=CONDITIONS, walked=False):
    """measure: key to value, asked no further than the first condition that is missed, but for
    those that the same run answers."""
    distance, missed, measured, failed_run = 0, [], {}, None
    for condition in conditions:
        run = condition.key.partition("-")[0]
        if failed_run not in (None, run):
            distance += 1
            continue
        measured[condition.key] = measure(condition.key)
        off = miss(condition, measured[condition.key])
        if off:
            distance += off
            missed.append(condition.key)
            failed_run = run
    return Tried(point, distance, tuple(missed), measured, walked)


def typical(kept):
    """The one whose baselines are nearest to the source's figures."""
    return min(kept, key=lambda one: sum(abs(math.log(one.measured[c.key] / c.source))
                                         for c in CONDITIONS if c.source))


def moved(stream, point):
    """A step of the walk."""
    def reflected(place):
        place = abs(place) % 2
        return 2 - place if place > 1 else place

    return tuple(reflected(place + stream.gauss(0, STEP)) if stream.random() < MOVES else place
                 for place in point)


class Search:
    """judge_all: points, and whether they were walked to, to what was found of them, in order.
    Pure but for that: one seed, one answer, however many are judged at once."""

    def __init__(self, stream, judge_all, say=lambda search: None):
        self.stream, self.judge_all, self.say = stream, judge_all, say
        self.n_tried, self.kept, self.pool = 0, [], []
        self.came = collections.Counter()  # to a condition
        self.met = collections.Counter()

    def _take(self, points, walked):
        found = self.judge_all(points, walked)
        self.n_tried += len(found)
        for one in found:
            self.came.update(one.measured.keys())
            self.met.update(set(one.measured) - set(one.missed))
        self.kept += [one for one in found if not one.distance]
        self.pool = sorted(self.pool + found, key=lambda one: one.distance)[:POOL]
        self.say(self)

    def plain(self, n):
        for begin in range(0, n, BATCH):
            self._take([hdas_sets.draw(self.stream) for _ in range(min(BATCH, n - begin))], False)

    def walk(self, wanted, most):
        """Until so many are kept, or `most` were tried in all."""
        while len(self.kept) < wanted and self.n_tried < most:
            n = min(BATCH, most - self.n_tried)
            self._take([moved(self.stream, self.stream.choice(self.pool).point)
                        for _ in range(n)], True)

    def stuck_at(self):
        """The condition that most of the nearest sets miss."""
        missed = collections.Counter(itertools.chain.from_iterable(
            one.missed for one in self.pool))
        return missed.most_common(1)[0][0] if missed else None
