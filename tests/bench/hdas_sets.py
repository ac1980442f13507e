"""What make bench-hdas does not know of the source's applications, drawn from stated ranges, and
the hosts and workloads that follow.

HDAS (He, Cui, Feng, doi 10.3772/j.issn.1002-0470.2016.04.002) prints of its five applications only
what is in KNOWN; its table 1 is lost. A *set* gives each name of UNKNOWN a number. Jobs of a mix
are submitted in the order of NAMES, and all of them before the first task starts: until then a job
of its own, GATE, holds all hosts. Nobody speculates."""
import collections
import functools
import itertools
import json
import math
import random

NAMES = ("KNN", "Kmeans", "RS", "NB", "BP")
# A to J: pairs; K to T: threes; U to Y: fours.
MIXES = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXY", itertools.chain.from_iterable(
    itertools.combinations(NAMES, n) for n in (2, 3, 4))))

HOSTS, CORES, GPUS, DISK_MB_S = 6, 6, 4, 128
DISK = "disk"  # in a set whose hosts have another one
MB = 10**6
GATE_MS, ARRIVE_MS = 1, .5
GATE = {"id": len(NAMES) + 1, "name": "gate", "stages": [
    {"tasks": HOSTS, "demand": {"slots": CORES, "gpu_milli": 1000 * GPUS}, "compute_ms": GATE_MS}]}
# Of the lone GPU task: the part in which it reads, megabytes of its split, seconds of computing.
KNOWN = {"KNN": {"part": .828, "split": 1000}, "Kmeans": {"part": .24},
         "RS": {}, "NB": {"part": .539, "split": 1000}, "BP": {"split": 4, "compute": 23.6}}

Range = collections.namedtuple("Range", "least most log unit what")
RATE = Range(64, DISK_MB_S, True, "MB/s", "rate at which a lone task reads")
FEW_TIMES = Range(2, 20, True, "", "lone CPU task ÷ lone GPU task")
MANY_TIMES = Range(15, 90, True, "", "lone CPU task ÷ lone GPU task")
# WHY so many: a CPU task of an application that is 30 times as fast on a GPU ends long after the
# others, and 21 times CPUs alone needs a run that is long beside it.
FEW = Range(100, 2000, True, "", "tasks")
MANY = Range(300, 4000, True, "", "tasks")
UNKNOWN = {
    "KNN rate": RATE, "KNN times": FEW_TIMES, "KNN tasks": FEW,
    "Kmeans rate": RATE, "Kmeans times": Range(5, 60, True, "", FEW_TIMES.what),
    "Kmeans tasks": FEW, "Kmeans split": Range(64, 1000, True, "MB", "split"),
    "RS rate": RATE, "RS times": MANY_TIMES, "RS tasks": MANY,
    "RS seconds": Range(2, 60, True, "s", "lone GPU task"),
    "RS part": Range(.001, .05, True, "", "part of the lone GPU task that reads"),
    "NB rate": RATE, "NB times": FEW_TIMES, "NB tasks": FEW,
    "BP rate": RATE, "BP times": MANY_TIMES, "BP tasks": MANY,
    "spread": Range(0, .3, False, "", "each task's computing is within so much of the mean"),
    "loss": Range(0, .1, False, "", "part of the disk that each further reader costs"),
    "core": Range(0, 1, False, "", "from a half on a GPU task holds a core, too"),
}

Application = collections.namedtuple(
    "Application", "name tasks split_bytes bytes_s gpu_s cpu_s read_s")
Application.__doc__ = """gpu_s: computing of its GPU task, which reads read_s before; cpu_s: of its
CPU task, with the reading."""


def lone_gpu_s(application):
    return application.read_s + application.gpu_s


# ---- sets ----


def draw(stream):
    """A point: a number from 0 to 1 for each unknown."""
    return tuple(stream.random() for _ in UNKNOWN)


def at(point):
    """The set at a point."""
    values = {}
    for (name, range_), place in zip(UNKNOWN.items(), point):
        low, high = range_.least, range_.most
        if range_.log:
            values[name] = low * (high / low) ** place
        else:
            values[name] = low + (high - low) * place
    return values


def changed(values, name, factor):
    """The set with one unknown × factor; a disk reads no faster than it can."""
    value = values[name] * factor
    if name.endswith(" rate"):
        value = min(value, DISK_MB_S)
    if name == "core":
        value = 1 if factor > 1 else 0
    return {**values, name: value}


def application(values, name):
    """What the set says of it."""
    known = KNOWN[name]
    rate = values[name + " rate"] * MB
    if name == "RS":
        read_s = values["RS part"] * values["RS seconds"]
        split, gpu_s = rate * read_s, values["RS seconds"] - read_s
    else:
        split = (known.get("split") or values[name + " split"]) * MB
        read_s = split / rate
        gpu_s = known.get("compute") or read_s * (1 - known["part"]) / known["part"]
    return Application(name, max(1, round(values[name + " tasks"])), round(split), round(rate),
                       gpu_s, values[name + " times"] * (read_s + gpu_s), read_s)


# ---- files ----


def cluster(values):
    """The text of a cluster file (schemas/cluster.md)."""
    devices = ", ".join("gpu%d" % g for g in range(GPUS))
    return ("classes:\n  - hosts: %d\n    units: [{slots: %d, devices: [%s]}]\n"
            "    disk: %d MB\n    disk_loss: %.1f %%\n"
            % (HOSTS, CORES, devices, values.get(DISK, DISK_MB_S), 100 * values["loss"]))


@functools.lru_cache(maxsize=None)
def _places(name):
    """Of an application's tasks in the spread, from −1 to 1."""
    stream = random.Random("hdas " + name)
    return [2 * stream.random() - 1 for _ in range(2 * MANY.most)]


def _times_ms(name, tasks, seconds, spread):
    """The same places in each set, in each way to run a task: sets differ by their numbers
    alone."""
    if not spread:
        return round(seconds * 1000)
    factors = [1 + spread * place for place in _places(name)[:tasks]]
    mean_ms = seconds * 1000 * tasks / math.fsum(factors)
    return [round(mean_ms * factor) for factor in factors]


def _profile(one, reads):
    profile = {"read_bytes": one.split_bytes, "read_bytes_s": one.bytes_s}
    return {**profile, "reads": reads} if reads == "before" else profile


def job(values, name, gpus=True):
    """The line of an application's job, the same in each mix: its GPU way, and its CPU way behind
    it; without `gpus` that alone."""
    one = application(values, name)
    cpu = {"demand": {"slots": 1}, "profile": _profile(one, "while"),
           "compute_ms": _times_ms(name, one.tasks, one.cpu_s, values["spread"])}
    stage = {"tasks": one.tasks, **cpu}
    if gpus:
        demand = {"slots": 1, "gpu_milli": 1000} if values["core"] >= .5 else {"gpu_milli": 1000}
        stage.update(demand=demand, profile=_profile(one, "before"),
                     compute_ms=_times_ms(name, one.tasks, one.gpu_s, values["spread"]),
                     variants=[cpu])
    line = {"id": NAMES.index(name) + 1, "name": name, "arrival_ms": ARRIVE_MS, "stages": [stage]}
    return json.dumps(line) + "\n"


def workload(mix, line_of):
    """The text of a mix's workload (schemas/workload.md); line_of: name to the job's line."""
    head = {"duopoly_workload": 1, "hosts": HOSTS, "slots": CORES,
            "description": "tests/bench/hdas_sets.py, mix " + mix}
    first = "".join(json.dumps(line) + "\n" for line in (head, GATE))
    return first + "".join(line_of(name) for name in MIXES[mix])
