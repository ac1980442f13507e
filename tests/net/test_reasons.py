"""A command that fails and one that there is not, on real hosts: what an operator sees of them in
duopolyctl, in the driver's results and words, and in the daemon's log."""

import json
import os
import subprocess

import pytest

from testbed.net import cluster, network, star
from testbed.net import instance as instances

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TREE, os.environ.get("BUILD", "build"))

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


class Cluster(cluster.Cluster):
    """Its agents know a command that writes two lines and fails, and one whose program is not
    there."""

    def _agent_yaml(self, name):
        known = super()._agent_yaml(name)
        return known.replace("  commands:\n", "  commands:\n"
                             "    - {name: breaks, argv: [sh, -c, 'echo first >&2; echo disk is full >&2; exit 3']}\n"
                             "    - {name: absent, argv: [/no/such/program]}\n")


@pytest.fixture
def standing(tmp_path):
    made = instances.create(TREE)
    try:
        net = star.Star(made, 2, 100_000_000)
        net.up()
        running = Cluster(net, BUILD, "fair", 2, 1, 1, str(tmp_path / "logs"))
        running.up()
        yield running
        running.down()
    finally:
        made.down()


def workload(path):
    jobs = [{"id": i, "name": command, "arrival_ms": 0, "stages": [{"tasks": 2, "command": command, "compute_ms": 1}]}
            for i, command in enumerate(("map", "breaks", "nosuch", "absent"), 1)]
    path.write_text("\n".join(json.dumps(line) for line in [{"duopoly_workload": 1, "hosts": 2}, *jobs]) + "\n")
    return str(path)


REASONS = {"breaks": "('breaks') on {host} ended with exit code 3: disk is full",
           "nosuch": "('nosuch') on {host} was refused: no such command",
           "absent": "('absent') on {host} ended with exit code "}


def test_operators_see_why_a_job_failed(standing, tmp_path):
    results = tmp_path / "results"
    driver = standing.net.enter(network.CONTROLLER, standing.program("duopoly-replay"), "--socket", standing.socket,
                                "--results", str(results), workload(tmp_path / "workload.jsonl"))
    done = subprocess.run(driver, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done
    rows = {row["name"]: row for row in map(json.loads, results.read_text().splitlines()[1:])}
    assert rows["map"]["state"] == "done" and "reason" not in rows["map"]
    with open(os.path.join(standing.logs, "duopolyd-c.log")) as said:
        log = said.read()
    listed = {row["name"]: row for row in standing.ask("jobs", "-a")["jobs"]}
    for name, words in REASONS.items():
        row = rows[name]
        reason = row["reason"]
        assert row["state"] == "failed" and row["host"] in ("w1", "w2")
        assert f"; attempt {row['attempt']} {words.format(host=row['host'])}" in reason, reason
        assert f"job {row['job']} ({name}) failed: {reason}" in done.stdout
        assert f"job {row['job']} ({name}) failed: {reason}" in log
        assert (listed[name]["text"], listed[name]["failed_host"], listed[name]["failed_attempt"]) == \
            (reason, row["host"], row["attempt"])
        job = standing.ask("job", str(row["job"]))
        assert job["text"] == reason and row["attempt"] in [task["attempt"] for task in job["tasks"]]
        for subject in (f"{row['job']}/0/0", str(row["attempt"])):
            assert standing.ask("explain", subject)["text"].endswith(f"({name}) is failed: {reason}.")
    assert "No such file" in rows["absent"]["reason"], "who could not be started says so"
    again = {row["name"]: row["answer"] for row in standing.ask("submit", str(tmp_path / "workload.jsonl"))["jobs"]}
    assert again["map"] == f"is job {rows['map']['job']}, done"
    assert again["breaks"] == f"is job {rows['breaks']['job']}, failed: {rows['breaks']['reason']}"
