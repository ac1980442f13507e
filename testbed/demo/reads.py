"""From which hosts each attempt of a run reads its shuffle, by its log (schemas/recording.md): sums
of bytes, split evenly over the parents' tasks, from where these were started last."""

import collections
import typing


class Stage(typing.NamedTuple):
    tasks: int
    parents: list
    shares: dict  # {parent: bytes of each task}


class Reads:
    """unknown: why this run has no answer; None: it has."""

    def __init__(self):
        self.unknown = None
        self._stages, self._where = collections.defaultdict(list), {}

    def stage(self, f):
        if any(numbers(f["edges"])):
            self.unknown = "job %s has edges that are no barriers" % f["job"]
        self._stages[f["job"]].append(Stage(int(f["tasks"]), numbers(f["parents"]),
                                            collections.defaultdict(dict)))

    def bytes(self, f):
        if f["matrix"] != "0":
            self.unknown = "job %s has a matrix of bytes, not sums" % f["job"]
        shares = self._stages[f["job"]][int(f["stage"])].shares[int(f["parent"])]
        shares.update(enumerate(numbers(f["bytes"]), int(f["first"])))

    def start(self, f):
        """{host: bytes}, its own among them; O(its parents' tasks)."""
        job, stage, task = f["job"], int(f["stage"]), int(f["task"])
        self._where[job, stage, task] = int(f["host"])
        left = collections.Counter()
        if self.unknown or stage >= len(self._stages[job]):
            return left
        for parent in self._stages[job][stage].parents:
            tasks = self._stages[job][parent].tasks
            each, more = divmod(self._stages[job][stage].shares[parent].get(task, 0), tasks)
            for number in range(tasks):
                left[self._where.get((job, parent, number))] += each + (number < more)
        return left

    def has_parents(self, f):
        return bool(self._stages[f["job"]][int(f["stage"])].parents)


def numbers(text):
    return [int(word) for word in text.split(",") if word]
