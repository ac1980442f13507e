"""Workloads of another kind than the trace, for tests/bench/policy: made anew from a seed, for 50 hosts of 4 slots at 1 Gb/s.

 - generated: what `duopoly-workload generate` makes
 - deep: the same jobs, each with one to six further stages behind barriers, every third of which reads the maps' outputs too
 - log-uniform: as many jobs of every size between 1 MB and 50 GB of shuffle, where the trace has few large ones that are nearly all bytes

Sizes follow from the seed alone; computing is 1 GB/s a slot."""
import json
import random
import subprocess

HOSTS, SLOTS, LINK_BPS, COMPUTE_BYTES_S, JOBS = 50, 4, 10**9, 10**9, 400
LOAD = 0.9        # of all downlinks, by the log-uniform jobs' shuffles
MAP_BYTES = 128 * 10**6


def generated(build, seed):
    """The lines of the file."""
    words = ["generate", "-j", JOBS, "-h", HOSTS, "-s", SLOTS, "-l", LINK_BPS, "-c", COMPUTE_BYTES_S, "-S", 1, "-r", seed]
    return subprocess.run([build + "/duopoly-workload", *map(str, words)], capture_output=True, text=True, check=True).stdout.splitlines()


def split(draw, total, parts):
    """`total` bytes, unevenly."""
    shares = [draw.expovariate(1) + 0.1 for _ in range(parts)]
    return [max(1, int(total * share / sum(shares))) for share in shares]


def reduce_stage(draw, tasks, parents):
    """`parents`: (stage, bytes) each."""
    sums = [split(draw, total, tasks) for _, total in parents]
    return {"tasks": tasks, "compute_ms": [sum(bytes) * 1e3 / COMPUTE_BYTES_S for bytes in zip(*sums)],
            "parents": [{"stage": stage, "edge": "barrier", "sums": s} for (stage, _), s in zip(parents, sums)]}


def deepened(draw, line):
    job = json.loads(line)
    stages = job["stages"]
    total, tasks = sum(stages[-1]["parents"][0]["sums"]), stages[-1]["tasks"]
    for depth in range(draw.randint(1, 6)):
        total, tasks = int(total * draw.uniform(0.4, 1)) + 1, max(1, int(tasks * draw.uniform(0.6, 1.1)))
        parents = [(len(stages) - 1, total)] + ([(0, total // 4 + 1)] if depth % 3 == 2 else [])
        stages.append(reduce_stage(draw, tasks, parents))
    return json.dumps(job)


def deep(build, seed):
    draw = random.Random(seed)
    head, *jobs = generated(build, seed)
    return [head] + [deepened(draw, line) for line in jobs]


def map_stage(draw, total):
    tasks = -(-total // MAP_BYTES)
    return {"tasks": tasks, "input_bytes": total // tasks, "replicas": [draw.sample(range(HOSTS), 3) for _ in range(tasks)],
            "compute_ms": total / tasks * 1e3 / COMPUTE_BYTES_S}


def log_uniform(_build, seed):
    draw, at_ms, lines = random.Random(seed), 0.0, []
    sizes = [int(10**draw.uniform(6, 10.7)) for _ in range(JOBS)]
    gap_ms = sum(sizes) * 8e3 / (HOSTS * LINK_BPS * LOAD * JOBS)
    lines.append(json.dumps({"duopoly_workload": 1, "hosts": HOSTS, "slots": SLOTS, "link_bps": LINK_BPS}))
    for i, size in enumerate(sizes):
        reduces = max(1, min(200, int(size / 10**draw.uniform(7, 8.3))))
        stages = [map_stage(draw, size), reduce_stage(draw, reduces, [(0, size)])]
        lines.append(json.dumps({"id": i + 1, "arrival_ms": round(at_ms, 3), "stages": stages}))
        at_ms += draw.expovariate(1 / gap_ms)
    return lines


KINDS = {"generated": generated, "deep": deep, "log-uniform": log_uniform}


def write(build, kind, seed, path):
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(KINDS[kind](build, seed)) + "\n")
