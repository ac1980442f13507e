"""Runs of make bench-hdas: programs that simulate line by line, and what their answers say."""
import contextlib
import json
import os
import queue
import shutil
import subprocess
import tempfile

import hdas_sets

BINS = 100
CPUS_ALONE = "cpu"  # under FIFO; the others are presets
BASELINES = (CPUS_ALONE, "fifo", "drf", "model")
COMPARED = ("fifo", "model", "affinity")


class Failure(Exception):
    """A sentence."""


class Runners:
    """`count` programs; threads share them."""

    def __init__(self, program, count):
        self.free, self.all = queue.Queue(), []
        for _ in range(count):
            self.all.append(subprocess.Popen([program], stdin=subprocess.PIPE, text=True,
                                             stdout=subprocess.PIPE))
            self.free.put(self.all[-1])

    def ask(self, words):
        """words: (option, value)… The answer to one run."""
        runner = self.free.get()
        try:
            runner.stdin.write("\t".join("%s=%s" % pair for pair in words) + "\n")
            runner.stdin.flush()
            line = runner.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            self.free.put(runner)
        answer = json.loads(line) if line else {"error": "%s ended" % runner.args[0]}
        if "error" in answer:
            raise Failure(answer["error"])
        return answer

    def close(self):
        for runner in self.all:
            with contextlib.suppress(BrokenPipeError):
                runner.stdin.close()
            runner.stdout.close()
            runner.wait()


class Trial:
    """A set's runs, each of them made once. Its files go with close()."""

    def __init__(self, runners, values, job=hdas_sets.job):
        """job: makes an application's line, as hdas_sets.job."""
        self.runners, self.values, self.job = runners, values, job
        self.folder = tempfile.mkdtemp(prefix="hdas-")
        self.lines, self.answers, self.written = {}, {}, None
        self._write("cluster.yaml", hdas_sets.cluster(values))

    def _write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as out:
            out.write(text)

    def _line(self, name, gpus):
        key = name, gpus
        if key not in self.lines:
            self.lines[key] = self.job(self.values, name, gpus)
        return self.lines[key]

    def _write_workload(self, mix, gpus):
        if self.written != (mix, gpus):
            text = hdas_sets.workload(mix, lambda name: self._line(name, gpus))
            self._write("workload.jsonl", text)
        self.written = mix, gpus

    def run(self, mix, policy, options=(), bins=0):
        """options: further (option, value)…"""
        key = mix, policy, tuple(options), bins
        if key not in self.answers:
            gpus = policy != CPUS_ALONE
            self._write_workload(mix, gpus)
            self.answers[key] = self.runners.ask([
                ("cluster", os.path.join(self.folder, "cluster.yaml")),
                ("workload", os.path.join(self.folder, "workload.jsonl")),
                ("policy", policy if gpus else "fifo"), ("bins", bins), *options])
        return self.answers[key]

    def speed_up(self, mix, policy):
        """Over CPUs alone."""
        return self.run(mix, CPUS_ALONE)["run_s"] / self.run(mix, policy)["run_s"]

    def measure(self, key):
        """Of a condition of hdas_keep."""
        if key.startswith("P-"):
            return gpu_delay(self.run("P", "fifo"), "P", key[2:])
        if key == "mean":
            return sum(self.speed_up(mix, "fifo") for mix in hdas_sets.MIXES) / len(hdas_sets.MIXES)
        return self.speed_up(key, "fifo")

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- what an answer says ----


def _place(mix, name):
    """The gate is the first job."""
    return 1 + hdas_sets.MIXES[mix].index(name)


def _ways(answer, mix, name):
    return answer["ways"][_place(mix, name)]


def mean_delay(answer):
    """(5): the mean over tasks of their time ÷ that of a lone task of their kind."""
    ways = [way for ways in answer["ways"][1:] for way in ways]
    return sum(way["delay"] for way in ways) / sum(way["tasks"] for way in ways)


def gpu_delay(answer, mix, name):
    """The same of an application's GPU tasks; None: it has none."""
    ways = [way for way in _ways(answer, mix, name) if way["gpu"] and way["tasks"]]
    return sum(w["delay"] for w in ways) / sum(w["tasks"] for w in ways) if ways else None


def predicted(answer):
    """How many tasks were predicted, and the sum of |took ÷ predicted − 1|."""
    ways = [way for ways in answer["ways"][1:] for way in ways]
    return sum(way["predicted"] for way in ways), sum(way["off"] for way in ways)


def cpu_part(answer, mix, name):
    """Of its tasks."""
    ways = _ways(answer, mix, name)
    return sum(w["tasks"] for w in ways if not w["gpu"]) / sum(w["tasks"] for w in ways)


IDLE, FULL = .2, .9


def lopsided(answer):
    """The part of hosts' time in which one of GPUs and disk is idle while the other is full."""
    pairs = [pair for rows in zip(answer["gpus"], answer["disks"]) for pair in zip(*rows)]
    return sum(min(pair) < IDLE and max(pair) > FULL for pair in pairs) / len(pairs)


def together(answer, mix, one, other):
    """Of the time in which the rarer of two applications has GPUs of a host, the part in which both
    have some; None: one never has."""
    a, b = _place(mix, one), _place(mix, other)
    least = min(answer["together_s"][a][a], answer["together_s"][b][b])
    return answer["together_s"][a][b] / least if least else None
