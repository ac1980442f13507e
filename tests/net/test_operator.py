"""What an operator reads in duopolyctl of jobs, on real namespaces: what is left of one, what its tasks waited for and took,
which of them are shown first, and how many are not."""

import json
import os
import shutil
import tempfile

import pytest

from testbed.net import cluster, instance, star, system

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TREE, os.environ.get("BUILD") or "build")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the testbed needs root")


class Cluster(cluster.Cluster):
    """Its agents know a command that ends at once, and one that ends when a file is there."""
    gate = ""

    def _agent_yaml(self, name):
        return super()._agent_yaml(name).replace(
            "  commands:\n", "  commands:\n    - {name: short, argv: [\"true\"]}\n"
            "    - {name: waits, argv: [sh, -c, 'until test -e %s; do sleep 0.05; done']}\n" % self.gate)


class Site:
    def __init__(self, running, folder):
        self.running, self.folder = running, folder

    def submit(self, *stages):
        path = os.path.join(self.folder, "job.jsonl")
        with open(path, "w") as out:
            out.write(json.dumps({"duopoly_workload": 1, "hosts": 2}) + "\n")
            out.write(json.dumps({"id": 1, "name": "looked-at", "stages": list(stages)}) + "\n")
        return str(self.running.ask("submit", path)["jobs"][0]["job"])

    def wait(self, number, what, seconds=60):
        system.wait_for(lambda: what(self.running.ask("job", number)), seconds, "job " + number)
        return self.running.ask("job", number)

    def text(self, *words):
        return system.run(self.running.program("duopolyctl"), "-s", self.running.socket, *words)


@pytest.fixture
def site(tmp_path):
    own = instance.create(TREE)
    seen = tempfile.mkdtemp(prefix="duopoly-operator-")  # WHY: tasks have a user of their own, who must see what is in it
    try:
        os.chmod(seen, 0o755)
        Cluster.gate = os.path.join(seen, "gate")
        net = star.Star(own, 2, 20_000_000)
        net.up()
        running = Cluster(net, BUILD, "fair", 2, 1, 1, str(tmp_path / "logs"))
        running.up()
        yield Site(running, str(tmp_path))
    finally:
        shutil.rmtree(seen)
        own.down()


def test_what_runs_is_shown_first(site):
    number = site.submit({"tasks": 100, "command": "short", "compute_ms": 1},
                         {"tasks": 50, "command": "waits", "compute_ms": 1000, "parents": [{"stage": 0, "sums": [1000] * 50}]},
                         {"tasks": 15, "command": "short", "compute_ms": 1, "parents": [{"stage": 1, "sums": [100] * 15}]})
    job = site.wait(number, lambda job: job["done"] == 100 and job["running"] == 4)
    rows = job["tasks"]
    assert len(rows) == 96 and job["more"] == "69 more are not shown: duopolyctl tasks %s -a lists all" % number
    assert [row["stage"] for row in rows[:50]] == [1] * 50
    assert sorted(row["state"] for row in rows[:50]) == sorted(["ready"] * 46 + [row["state"] for row in rows[:4]])
    assert [row["stage"] for row in rows[50:65]] == [2] * 15 and {row["state"] for row in rows[65:]} == {"done"}
    # What is left: 50 tasks of a second, 15 of a millisecond; their input, which these tasks do not say that they have.
    assert job["left_ns"] == 50_015_000_000 and 0 < job["left_bytes"] <= 50 * 1000 + 15 * 100
    assert len(site.running.ask("tasks", number, "-a")["tasks"]) == 165
    with open(Cluster.gate, "w"):
        pass
    job = site.wait(number, lambda job: job["state"] == "done")
    assert job["left_ns"] is None and job["more"].startswith("69 more are not shown") and "not_kept" not in job
    said = site.text("jobs", "-a")
    assert "WORK LEFT" in said and "BYTES LEFT" in said and "ESTIMATE" not in said


def test_what_a_job_took_is_kept(site):
    number = site.submit({"tasks": 4, "compute_ms": 20},
                         {"tasks": 2, "compute_ms": 30, "parents": [{"stage": 0, "sums": [2_000_000] * 2}]})
    job = site.wait(number, lambda job: job["state"] == "done")
    assert job["measured_tasks"] == 6 and job["received_bytes"] > 1_000_000
    assert job["compute_ns"] >= 0.9 * (4 * 20 + 2 * 30) * 1_000_000 and job["receive_ns"] > 0 and job["slot_wait_ns"] >= 0
    rows = job["tasks"]
    assert sum(row["compute_ns"] for row in rows) == job["compute_ns"]
    assert sum(row["receive_ns"] for row in rows) == job["receive_ns"]
    assert sum(row["wait_ns"] for row in rows) == job["slot_wait_ns"]
    reduces = [row for row in rows if row["stage"] == 1]
    assert all(row["bytes"] == 2_000_000 and row["receive_ns"] > 0 for row in reduces)
    said = site.text("job", number)
    for heading in ("waits of tasks", "their transfers", "their computing", "they received", "WAITED", "TRANSFER", "COMPUTE"):
        assert heading in said
