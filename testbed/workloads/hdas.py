"""Makes hdas-C.jsonl and its like, loads of testbed/clusters/hdas.yaml: mixes of HDAS's programs
as one of the sets of numbers that make bench-hdas keeps has them (tests/bench/hdas_sets.py), with
times ÷ TIMES, bytes ÷ BYTES, and so rates × TIMES ÷ BYTES.

The set is the first that is kept of those drawn (tests/bench/hdas_keep.py), a rule that looks at no
number of affinity. The mixes are those of which the source says most, and the first and the last of
its threes. Unlike in the set a disk loses nothing by further readers, since the kernel's limits do
not; and the job that holds all hosts until all jobs are submitted does so for longer.

    python3 -B -m testbed.workloads.hdas
"""

import json
import os
import random
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "..", "tests", "bench"))
import hdas_sets  # noqa: E402

SEED, DRAW = 1, 64  # which of the sets that bench-hdas draws, from 1
MIXES = "CIKPT"
TIMES, BYTES = 20, 640
UNIT = 4096  # bytes; tasks read whole ones
GATE_MS, ARRIVE_MS = 1000, 200
COMMANDS = {True: "map-gpu", False: "map"}
DESCRIPTION = ("mix %s of HDAS's applications, set %d of seed %d of make bench-hdas, times / %d, "
               "bytes / %d; made by testbed/workloads/hdas.py")


def values():
    """The set's."""
    stream = random.Random(SEED)
    return hdas_sets.at([hdas_sets.draw(stream) for _ in range(DRAW)][-1])


def disk_bytes_s():
    """Of the cluster file's hosts."""
    return hdas_sets.DISK_MB_S * hdas_sets.MB * TIMES // BYTES


def scale_way(way):
    """A stage, or another way to run its tasks."""
    profile, times = way["profile"], way["compute_ms"]
    profile["read_bytes"] = max(1, round(profile["read_bytes"] / BYTES / UNIT)) * UNIT
    profile["read_bytes_s"] = round(profile["read_bytes_s"] * TIMES / BYTES)
    way["compute_ms"] = [round(ms / TIMES) for ms in times] if isinstance(times, list) else (
        round(times / TIMES))
    way["command"] = COMMANDS["gpu_milli" in way["demand"]]


def scaled(line):
    job = json.loads(line)
    for stage in job["stages"]:
        for way in (stage, *stage["variants"]):
            scale_way(way)
    return json.dumps({**job, "arrival_ms": ARRIVE_MS}) + "\n"


def gate():
    stage, = hdas_sets.GATE["stages"]
    return {**hdas_sets.GATE, "stages": [{**stage, "command": "map", "compute_ms": GATE_MS}]}


def make(mix, of):
    """The text of a mix's file; of: values()."""
    head = {"duopoly_workload": 1, "hosts": hdas_sets.HOSTS, "slots": hdas_sets.CORES,
            "scale": BYTES, "description": DESCRIPTION % (mix, DRAW, SEED, TIMES, BYTES)}
    first = "".join(json.dumps(line) + "\n" for line in (head, gate()))
    return first + "".join(scaled(hdas_sets.job(of, name)) for name in hdas_sets.MIXES[mix])


def path_of(mix):
    return os.path.join(FOLDER, "hdas-%s.jsonl" % mix)


def main():
    of = values()
    for mix in MIXES:
        with open(path_of(mix), "w") as out:
            out.write(make(mix, of))


if __name__ == "__main__":
    main()
