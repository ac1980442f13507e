"""Hosts that serve nothing any more, on real namespaces: a host that dies while it serves a block,
a data server that is killed, and names that nobody needs. Jobs end, the host is shown, and it comes
back."""

import json
import os

import pytest

from testbed.net import cluster, instance, star, system

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TREE, os.environ.get("BUILD") or "build")
QUICK = 6  # silent after 0.5 s, a stall is told after 1.7 s, a host is lost after 5 s

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the testbed needs root")


class Site:
    def __init__(self, running, folder):
        self.running, self.folder, self.jobs = running, folder, 0

    def submit(self, hosts, *stages):
        self.jobs += 1
        path = os.path.join(self.folder, "job-%d.jsonl" % self.jobs)
        with open(path, "w") as out:
            out.write(json.dumps({"duopoly_workload": 1, "hosts": hosts}) + "\n")
            out.write(json.dumps({"id": 1, "name": "job-%d" % self.jobs, "stages": list(stages)}) + "\n")
        return self.running.ask("submit", path)["jobs"][0]["job"]

    def job(self, number):
        return self.running.ask("job", str(number))

    def wait_done(self, number, seconds=60):
        system.wait_for(lambda: self.job(number)["state"] not in ("active", "arriving"), seconds,
                        "the end of job %d" % number)
        assert self.job(number)["state"] == "done"

    def host(self, name):
        return next(row for row in self.running.ask("hosts")["hosts"] if row["name"] == name)

    def explain(self, task):
        said = self.running.ask("explain", task)
        return said["text"], {fact["name"]: fact["value"] for fact in said["facts"]}

    def counter(self, name):
        rows = self.running.ask("counters")["counters"]
        return next(row["value"] for row in rows if row["name"] == name)

    def links(self, name):
        return [link for link in self.running.ask("links")["links"] if link["host"] == name]

    def check_gone(self, name):
        """Nothing that it said last stands there as if it were so now; since when it is lost
        does."""
        row = self.host(name)
        for key in ("stance", "slots_free", "receiving", "uplink_permille", "downlink_permille", "queues", "marks"):
            assert row[key] is None, row
        assert row["text"].startswith("lost for ") and "heard last" in row["text"] and row["lost_ns"] > 0
        for link in self.links(name):
            assert link["sent_bps"] is None and link["received_permille"] is None and link["text"].startswith("lost for ")
        assert self.host("w1")["marks"] and self.host("w1")["lost_ns"] is None

    def cut_off(self, name):
        """The host is gone: first its link, then everything that runs on it."""
        net = self.running.net
        system.run(*net.enter(name, "ip", "link", "set", "eth0", "down"))
        for program in ("duopoly-agent", "replay-serve"):
            self.running.kill(program, name)
        system.kill_in_namespace(net.instance.namespace(name))


@pytest.fixture
def site(tmp_path):
    own = instance.create(TREE)
    try:
        net = star.Star(own, 4, 20_000_000)
        net.up()
        running = cluster.Cluster(net, BUILD, "fair", 2, 1, 1, str(tmp_path / "logs"), quick=QUICK)
        running.up()
        yield Site(running, str(tmp_path))
    finally:
        own.down()


SHUFFLE = ({"tasks": 4, "compute_ms": 1},
           {"tasks": 4, "compute_ms": 1, "parents": [{"stage": 0, "sums": [40_000] * 4}]})


def test_a_host_dies_while_it_serves_a_block(site):
    """The map that reads there reads another replica, and its job ends long before its host would
    be missed."""
    for name in ("w3", "w4"):
        site.running.ask("drain", name)
    job = site.submit(4, {"tasks": 1, "input_bytes": 30_000_000, "replicas": [[2, 3]], "compute_ms": 1})
    task = "%d/0/0" % job
    system.wait_for(lambda: any(row["received_bytes"] > 100_000 for row in site.running.ask("tasks")["tasks"]), 20,
                    "the first bytes of the block")
    source = site.explain(task)[1]["block_from"]
    assert source in ("w3", "w4")
    site.cut_off(source)
    other = "w4" if source == "w3" else "w3"
    system.wait_for(lambda: site.explain(task)[1].get("block_from") == other, 20, "another replica as the source")
    assert site.counter("engine.sources_replaced") == 1
    site.wait_done(job)
    assert site.counter("engine.jobs_failed") == 0


def test_a_killed_data_server(site):
    """Who cannot be read from is shown, gets no new work, its maps run again elsewhere, and it
    comes back."""
    site.running.kill("replay-serve", "w2")
    job = site.submit(4, *SHUFFLE)
    system.wait_for(lambda: site.host("w2")["state"] == "suspect", 20, "the suspicion")
    assert "cannot read from it: suspect for" in site.host("w2")["text"]
    assert site.running.ask("status")["hosts_suspect"] == 1
    assert "1 suspect host gets no new work" in site.running.ask("status")["text"]
    site.wait_done(job)
    assert site.counter("engine.sources_replaced") + site.counter("engine.stops") > 0
    assert site.counter("engine.jobs_failed") == 0
    site.running.start("replay-serve", "w2")

    def clear():
        """After a while it is tried again, and the first who reads from it clears it."""
        site.wait_done(site.submit(4, *SHUFFLE))
        return site.host("w2")["state"] == "up" and not site.host("w2")["text"]
    system.wait_for(clear, 60, "the end of the suspicion")


def test_a_restarted_data_server_is_read_from_at_once(site):
    """Readers that wait go on where they were; nothing runs again, and the host is up at once."""
    site.running.kill("replay-serve", "w2")
    job = site.submit(4, *SHUFFLE)
    system.wait_for(lambda: site.host("w2")["state"] == "suspect", 20, "the suspicion")
    site.running.start("replay-serve", "w2")
    system.wait_for(lambda: site.host("w2")["state"] == "up", 20, "the end of the suspicion")
    site.wait_done(job)
    assert site.counter("engine.sources_replaced") == 0
    assert not site.host("w2")["text"]


def test_a_host_is_forgotten_by_order(site):
    """Not while it is up; then its name is gone, and jobs do without it."""
    with pytest.raises(system.Failure, match="host w1 is up: stop its agent first"):
        site.running.ask("host", "forget", "w1")
    with pytest.raises(system.Failure, match="there is no host or switch w9; did you mean"):
        site.running.ask("host", "forget", "w9")
    system.wait_for(lambda: site.links("w4"), 20, "what the links of w4 carry")
    site.cut_off("w4")
    system.wait_for(lambda: site.host("w4")["state"] == "lost", 20, "the loss of w4")
    site.check_gone("w4")
    site.running.ask("host", "forget", "w4")
    assert [row["name"] for row in site.running.ask("hosts")["hosts"] if row["role"] == "host"] == ["w1", "w2", "w3"]
    assert site.running.ask("status")["hosts"] == 3
    site.wait_done(site.submit(4, {"tasks": 8, "input_bytes": 1000, "replicas": [[3]] * 8, "compute_ms": 1}))
