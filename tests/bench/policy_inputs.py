"""Workloads of another kind than the trace, for tests/bench/policy: made anew from a seed, for 50 hosts of 4 slots at 1 Gb/s if not said
otherwise.

 - generated: what `duopoly-workload generate` makes
 - deep: the same jobs, each with one to six further stages behind barriers, every third of which reads the maps' outputs too
 - log-uniform: as many jobs of every size between 1 MB and 50 GB of shuffle, where the trace has few large ones that are nearly all bytes

Where input has no place (tasks make it, or it lies in a store that is on no host):

 - spark: jobs of testbed/spark/Synthetic.java, 40 of them in 20 s on 4 hosts of 2 slots at 50 Mb/s; -mid and -slow compute 20 and 200 times as
   long, -8slots has 8 slots a host, and of -mixed every other job, of -placed each, has its blocks on the hosts
 - big-few: such jobs of 10 MB to 10 GB with 16 maps and up to 20 reduce tasks at .9 of all downlinks; -slow computes 50 times as long
 - racks-anywhere: jobs of spark's sizes with 16 maps, for 16 hosts in racks; -slow computes 5 times as long; racks-big: those of big-few with 64
   maps and up to 40 reduce tasks for 64 hosts, at .3 of all downlinks, computing 100 MB/s
 - KIND-anywhere: the same jobs as above without places, and fb-anywhere: the Facebook trace

A task reads nothing before it makes what is missing; with PLACED False and input kept (-store) it reads it from outside (duopoly-sim --outside).
Sizes follow from the seed alone; computing is 1 GB/s a slot."""
import json
import random
import subprocess

import os

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


class Load:
    """Jobs as Spark's synthetic load has them. shuffle: bytes, the least and the most; compute_bytes_s: of a slot; task_ms: of each task beside."""

    def __init__(self, hosts=4, slots=2, link_bps=50 * 10**6, shuffle=(1e6, 1e8), maps=8, reduces=6, compute_bytes_s=200e6, jobs=40, seconds=20.0,
                 placed=lambda job: False):
        self.hosts, self.slots, self.link_bps = hosts, slots, link_bps
        self.shuffle, self.maps, self.reduces, self.compute_bytes_s = shuffle, maps, reduces, compute_bytes_s
        self.jobs, self.seconds, self.placed = jobs, seconds, placed

    def compute_ms(self, byte_count):
        return 20 + byte_count * 1e3 / self.compute_bytes_s

    def map_stage(self, byte_count, placed):
        stage = {"tasks": self.maps, "compute_ms": self.compute_ms(byte_count / self.maps)}
        if placed:
            stage.update(input_bytes=int(byte_count / self.maps), replicas=[[m % self.hosts] for m in range(self.maps)])
        return stage

    def reduce_stage(self, reduces, byte_count, parents):
        sums = [int(byte_count * 2 * (r + 1) / reduces / (reduces + 1)) + 1 for r in range(reduces)]
        return {"tasks": reduces, "compute_ms": [self.compute_ms(s * len(parents)) for s in sums],
                "parents": [{"stage": parent, "edge": "barrier", "sums": sums} for parent in parents]}

    def stages(self, index, byte_count):
        reduces = int(min(self.reduces, 1 + byte_count / self.shuffle[0] / 4))
        placed = self.placed(index)
        if index % 4 == 1:  # a chain
            return [self.map_stage(byte_count / 2, placed), self.reduce_stage(reduces, byte_count / 2, [0]),
                    self.reduce_stage(reduces, byte_count / 2, [1])]
        if index % 4 == 3:  # two parents
            return [self.map_stage(byte_count / 2, placed), self.map_stage(byte_count / 2, placed), self.reduce_stage(reduces, byte_count / 2, [0, 1])]
        return [self.map_stage(byte_count, placed), self.reduce_stage(reduces, byte_count, [0])]

    def lines(self, _build, seed):
        draw, at_ms = random.Random(seed), 0.0
        least, most = self.shuffle
        lines = [json.dumps({"duopoly_workload": 1, "hosts": self.hosts, "slots": self.slots, "link_bps": self.link_bps})]
        for index in range(self.jobs):
            at_ms += draw.expovariate(self.jobs / self.seconds / 1e3)
            size = least * (most / least) ** draw.random()
            lines.append(json.dumps({"id": index + 1, "arrival_ms": round(at_ms, 3), "stages": self.stages(index, size)}))
        return lines


BIG = {"hosts": HOSTS, "slots": SLOTS, "link_bps": LINK_BPS, "shuffle": (1e7, 1e10), "maps": 16, "reduces": 20, "compute_bytes_s": 1e9, "jobs": JOBS,
       # The mean of log-uniform sizes is (most − least) ÷ ln(most ÷ least).
       "seconds": JOBS * (1e10 - 1e7) / 6.9 * 8 / (HOSTS * LINK_BPS * LOAD)}

RACKS = {"hosts": 16, "maps": 16, "reduces": 12, "compute_bytes_s": 10e6, "jobs": 120, "seconds": 40.0}
RACKS_BIG = {**BIG, "hosts": 64, "maps": 64, "reduces": 40, "compute_bytes_s": 100e6, "seconds": BIG["seconds"] * HOSTS / 64 * 3}


def trace(build, seed):
    path = os.environ.get("FB_TRACE", "../shared/traces/FB2010-1Hr-150-0.txt")
    words = ["convert", "-j", 0, "-h", HOSTS, "-s", SLOTS, "-l", LINK_BPS, "-c", COMPUTE_BYTES_S, "-S", 1, "-v", 1, "-C", 0, "-r", seed, path]
    return subprocess.run([build + "/duopoly-workload", *map(str, words)], capture_output=True, text=True, check=True).stdout.splitlines()


def without_places(lines, keep_input):
    head, *jobs = lines
    out = [head]
    for line in jobs:
        job = json.loads(line)
        for stage in job["stages"]:
            stage.pop("replicas", None)
            if not keep_input:
                stage.pop("input_bytes", None)
        out.append(json.dumps(job))
    return out


def anywhere(make, keep_input=False):
    return lambda build, seed: without_places(make(build, seed), keep_input)


ALL_PLACED = Load(placed=lambda job: True)
KINDS = {"generated": generated, "deep": deep, "log-uniform": log_uniform,
         "spark": Load().lines, "spark-mid": Load(compute_bytes_s=10e6).lines, "spark-slow": Load(compute_bytes_s=1e6).lines,
         "spark-8slots": Load(slots=8).lines, "spark-mixed": Load(placed=lambda job: job % 2 == 0).lines,
         "spark-placed": ALL_PLACED.lines, "spark-store": anywhere(ALL_PLACED.lines, keep_input=True), "big-few": Load(**BIG).lines,
         "big-slow": Load(**{**BIG, "compute_bytes_s": 20e6}).lines, "racks-anywhere": Load(**RACKS).lines,
         "racks-slow": Load(**{**RACKS, "compute_bytes_s": 2e6, "seconds": 120.0}).lines, "racks-big": Load(**RACKS_BIG).lines,
         "generated-anywhere": anywhere(generated), "deep-anywhere": anywhere(deep),
         "log-uniform-anywhere": anywhere(log_uniform), "fb-anywhere": anywhere(trace)}


def write(build, kind, seed, path):
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(KINDS[kind](build, seed)) + "\n")
