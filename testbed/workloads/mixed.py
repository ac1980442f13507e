"""Makes mixed.jsonl, the load of testbed/clusters/mixed.yaml, of demo.jsonl: the maps of each
second job compute on devices as well, in a quarter of the time, and some stages only on hosts with
a label.

    python3 -B -m testbed.workloads.mixed
"""

import json
import os

FOLDER = os.path.dirname(os.path.abspath(__file__))
FASTER = 4
# Of each second job in turn: two of the first fill a device's time, one of the second its memory.
DEMANDS = ({"slots": 1, "gpu_milli": 500, "gpu_mem_bytes": 2_000_000_000},
           {"slots": 1, "gpu_milli": 250, "gpu_mem_bytes": 5_000_000_000})
CONSTRAINTS = {9: "spot", 7: "gpu & !spot"}  # of the reduce stage of jobs whose number ends so


def faster(compute_ms):
    if isinstance(compute_ms, list):
        return [one / FASTER for one in compute_ms]
    return compute_ms / FASTER


def prefer_device(maps, demand):
    """A slot is the second way."""
    slot = {"command": "map", "demand": {"slots": 1}, "compute_ms": maps["compute_ms"]}
    maps.update(command="map-gpu", demand=demand, compute_ms=faster(slot["compute_ms"]),
                variants=[slot])


def change(job):
    maps, reduces = job["stages"]
    if job["id"] % 2 == 0:
        prefer_device(maps, DEMANDS[job["id"] // 2 % 2])
    if job["id"] % 10 in CONSTRAINTS:
        reduces["constraint"] = CONSTRAINTS[job["id"] % 10]
    return job


def make(text):
    head, *jobs = map(json.loads, text.splitlines())
    head["description"] += "; changed by testbed/workloads/mixed.py"
    return "".join(json.dumps(line) + "\n" for line in [head, *map(change, jobs)])


def main():
    with open(os.path.join(FOLDER, "demo.jsonl")) as before:
        made = make(before.read())
    with open(os.path.join(FOLDER, "mixed.jsonl"), "w") as after:
        after.write(made)


if __name__ == "__main__":
    main()
