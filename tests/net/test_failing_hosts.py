"""A host on which every start fails, on real namespaces: jobs run beside it, `duopolyctl hosts` says what is wrong there, and
it gets work again when it works again. A command that fails everywhere is no host's fault."""

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
    """On w1 a command of all hosts is not found as long as a file is there."""
    broken = ""

    def _agent_yaml(self, name):
        wrong = "test ! -e %s || exit 127; " % self.broken if name == "w1" else ""
        return super()._agent_yaml(name).replace("  commands:\n", "  commands:\n"
                                                 "    - {name: short, argv: [sh, -c, '%ssleep 0.02']}\n"
                                                 "    - {name: wrong, argv: [sh, -c, 'exit 127']}\n" % wrong)


class Site:
    def __init__(self, running, folder):
        self.running, self.folder, self.jobs = running, folder, 0

    def run(self, tasks, command="short"):
        """The job's row, when it has ended."""
        self.jobs += 1
        path = os.path.join(self.folder, "job-%d.jsonl" % self.jobs)
        with open(path, "w") as out:
            out.write(json.dumps({"duopoly_workload": 1, "hosts": 3}) + "\n")
            out.write(json.dumps({"id": 1, "name": "job-%d" % self.jobs,
                                  "stages": [{"tasks": tasks, "command": command, "compute_ms": 20}]}) + "\n")
        number = str(self.running.ask("submit", path)["jobs"][0]["job"])
        system.wait_for(lambda: self.running.ask("job", number)["state"] not in ("active", "arriving"), 60,
                        "the end of job " + number)
        return self.running.ask("job", number)

    def host(self, name):
        return next(row for row in self.running.ask("hosts")["hosts"] if row["name"] == name)


@pytest.fixture
def site(tmp_path):
    own = instance.create(TREE)
    seen = tempfile.mkdtemp(prefix="duopoly-failing-")  # WHY: tasks have a user of their own, who must see what is in it
    try:
        os.chmod(seen, 0o755)
        Cluster.broken = os.path.join(seen, "broken")
        net = star.Star(own, 3, 20_000_000)
        net.up()
        running = Cluster(net, BUILD, "fair", 2, 1, 1, str(tmp_path / "logs"))
        running.up()
        yield Site(running, str(tmp_path))
    finally:
        shutil.rmtree(seen)
        own.down()


def test_a_host_on_which_every_start_fails(site):
    with open(Cluster.broken, "w"):
        pass
    for _ in range(6):
        assert site.run(12)["state"] == "done"
    row = site.host("w1")
    assert row["state"] == "suspect" and row["failed_in_a_row"] >= 3
    for words in ("attempts here failed, others did their tasks: suspect for ", "next probe in ", "on w1 ended with exit code 127"):
        assert words in row["text"], row["text"]
    assert [site.host(name)["state"] for name in ("w2", "w3")] == ["up", "up"]
    assert "1 suspect host gets no new work" in site.running.ask("status")["text"]
    os.unlink(Cluster.broken)

    def works():
        assert site.run(12)["state"] == "done"
        return site.host("w1")["state"] == "up"
    system.wait_for(works, 60, "a probe that finds it working")
    assert site.host("w1")["failed_in_a_row"] == 0 and site.host("w1")["text"] is None


def test_a_command_that_is_nowhere_is_no_hosts_fault(site):
    for _ in range(4):
        job = site.run(12, "wrong")
        assert job["state"] == "failed" and "failed 4 times" in job["text"] and "exit code 127" in job["text"]
        for row in site.running.ask("hosts")["hosts"]:
            said = "the last %d attempts here failed; attempt " % row["failed_in_a_row"]
            assert row["failed_in_a_row"] < 3 or row["text"].startswith(said), row
        assert site.run(3)["state"] == "done"
        assert [site.host(name)["state"] for name in ("w1", "w2", "w3")] == ["up"] * 3
