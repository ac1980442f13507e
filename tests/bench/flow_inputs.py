"""Workload files for tests/bench/flow, made anew from a seed: Sirius's loads on the hosts of
testbed/clusters/sirius.yaml. The source says what each load is bound by and prints no times, so
they are stated here, in LOADS.

 - services, batch, both: jobs of those loads, drawn evenly, arriving by chance at .7 of all cores
   (by computing alone, on the fastest host)
 - image: COUNT image tasks at once, each a job; `filtered`: kept to the GPUs, as Docker Swarm's
   users filter; `speed`: how many times as fast a GPU is
 - priorities: 480 tasks each of MergeSort, PageRank and TPC-H, each a job, arriving evenly over
   10 s; `top`: TPC-H has the highest priority

Computing is in seconds on a core; image tasks are three times as fast on a GPU, which they prefer.
Blocks have two replicas. They are so large that max-min shares with delay scheduling have about
twice the SNP of random, as in the source, on the training seeds."""
import json
import random

HOSTS, CORES, LINK_BPS, LOAD, JOBS, MB = 20, 24, 10**9, 0.7, 120, 10**6
GPU_SPEED, IMAGE_S = 3, 30

# Of a task: seconds, megabytes of its block; then of tasks behind the shuffle: how many, seconds,
# megabytes that each receives.
LOADS = {
    "httpd": {"tasks": 8, "s": 20, "block": 32},
    "mysql": {"tasks": 8, "s": 30, "block": 320},
    "redis": {"tasks": 8, "s": 15, "block": 160},
    "mergesort": {"tasks": 24, "s": 20, "block": 96, "then": (12, 5, 64)},
    "pagerank": {"tasks": 24, "s": 15, "block": 96, "then": (24, 10, 32)},
    "tpch": {"tasks": 24, "s": 5, "block": 192, "then": (4, 2, 16)},
    "image": {"tasks": 12, "s": IMAGE_S, "block": 64, "gpu": True},
}
KINDS = {
    "services": ["httpd", "mysql", "redis"],
    "batch": ["mergesort", "pagerank", "tpch", "image"],
    "both": ["httpd", "mysql", "redis", "mergesort", "pagerank", "tpch", "image"],
}
# WHY so much: a GPU saves 20 s, and a block from elsewhere costs half a second, which counts 255 of
# weight.locality.
PREFER_GPU = [{"constraint": "gpu", "utility": 500, "speed": GPU_SPEED}]
# Seconds, evenly between: of single tasks, so that slots do not fall free all at once.
PRIORITY_LOADS = {"mergesort": (6, 18), "pagerank": (9, 27), "tpch": (0.4, 0.6)}
PRIORITY_TASKS, PRIORITY_SPAN_S, TOP = 480, 10, 1


def core_s(load):
    """Computing of one job on the fastest hosts."""
    tasks, seconds, _ = load.get("then", (0, 0, 0))
    return load["tasks"] * load["s"] / (GPU_SPEED if load.get("gpu") else 1) + tasks * seconds


def ideal_s(load):
    """A job's time alone: next to its blocks, on GPUs, and with each transfer alone on its link."""
    _, seconds, megabytes = load.get("then", (0, 0, 0))
    computing_s = load["s"] / (GPU_SPEED if load.get("gpu") else 1) + seconds
    return computing_s + megabytes * MB * 8 / LINK_BPS


def job(draw, number, name, arrival_s):
    load = LOADS[name]
    first = {"tasks": load["tasks"], "compute_ms": load["s"] * 1000,
             "input_bytes": load["block"] * MB,
             "replicas": [draw.sample(range(HOSTS), 2) for _ in range(load["tasks"])]}
    if load.get("gpu"):
        first["prefer"] = PREFER_GPU
    stages = [first]
    if "then" in load:
        tasks, seconds, megabytes = load["then"]
        edge = {"stage": 0, "edge": "barrier", "sums": [megabytes * MB] * tasks}
        stages.append({"tasks": tasks, "compute_ms": seconds * 1000, "parents": [edge]})
    return {"id": number, "name": f"{name}-{number}", "arrival_ms": round(arrival_s * 1000, 3),
            "stages": stages}


def mixed(kind, seed):
    """Lines, and by job its ideal time."""
    draw = random.Random(seed)
    names = [draw.choice(KINDS[kind]) for _ in range(JOBS)]
    mean_s = sum(core_s(LOADS[name]) for name in names) / len(names) / (LOAD * HOSTS * CORES)
    jobs, arrival_s = [], 0.0
    for number, name in enumerate(names, 1):
        jobs.append(job(draw, number, name, arrival_s))
        arrival_s += draw.expovariate(1 / mean_s)
    return jobs, {number: ideal_s(LOADS[name]) for number, name in enumerate(names, 1)}


def image(count, filtered=False, speed=GPU_SPEED):
    wish = {"constraint": "gpu", "utility": 1, "speed": speed}
    stage = {"tasks": 1, "compute_ms": IMAGE_S * 1000, "prefer": [wish]}
    if filtered:
        stage["constraint"] = "gpu"
    return [{"id": i + 1, "arrival_ms": 0, "stages": [stage]} for i in range(count)]


def priorities(seed, top):
    """Lines, and by load the numbers of its jobs."""
    draw = random.Random(seed)
    tasks = sorted((draw.uniform(0, PRIORITY_SPAN_S), name)
                   for name in PRIORITY_LOADS for _ in range(PRIORITY_TASKS))
    jobs, of = [], {name: [] for name in PRIORITY_LOADS}
    for number, (arrival_s, name) in enumerate(tasks, 1):
        of[name].append(number)
        took_ms = round(draw.uniform(*PRIORITY_LOADS[name]) * 1000, 3)
        jobs.append({"id": number, "name": f"{name}-{number}",
                     "arrival_ms": round(arrival_s * 1000, 3),
                     "priority": TOP if top and name == "tpch" else 0,
                     "stages": [{"tasks": 1, "compute_ms": took_ms}]})
    return jobs, of


def write(jobs, path, slots):
    """The file."""
    with open(path, "w", encoding="utf-8") as out:
        head = {"duopoly_workload": 1, "hosts": HOSTS, "slots": slots, "link_bps": LINK_BPS,
                "description": "tests/bench/flow_inputs.py"}
        for line in [head, *jobs]:
            out.write(json.dumps(line) + "\n")
