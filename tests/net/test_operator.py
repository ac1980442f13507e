"""What an operator reads in duopolyctl of jobs, on real namespaces: what is left of one, what its
tasks waited for and took, which of them are shown first, and how many are not."""

import fcntl
import os

import pytest

import small_site

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the testbed needs root")


def commands(_name, seen):
    """One that ends at once, and one that ends when nobody holds a lock."""
    return {"short": "true", "waits": "flock -s %s/gate true" % seen}


@pytest.fixture
def site(tmp_path):
    with small_site.site(str(tmp_path), 2, commands) as made:
        yield made


def test_what_runs_is_shown_first(site):
    with open(os.path.join(site.seen, "gate"), "w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        number = site.submit({"tasks": 100, "command": "short", "compute_ms": 1},
                             {"tasks": 50, "command": "waits", "compute_ms": 1000, "parents": [{"stage": 0, "sums": [1000] * 50}]},
                             {"tasks": 15, "command": "short", "compute_ms": 1, "parents": [{"stage": 1, "sums": [100] * 15}]})
        job = site.wait(number, lambda job: job["done"] == 100 and job["running"] == 4)
        rows = job["tasks"]
        assert len(rows) == 96 and job["more"] == "69 more are not shown: duopolyctl tasks %s -a lists all" % number
        assert [row["stage"] for row in rows[:50]] == [1] * 50
        assert sorted(row["state"] for row in rows[:50]) == sorted(["ready"] * 46 + [row["state"] for row in rows[:4]])
        assert [row["stage"] for row in rows[50:65]] == [2] * 15 and {row["state"] for row in rows[65:]} == {"done"}
        # What is left: 50 tasks of a second, 15 of a millisecond; their input, which these tasks do
        # not say that they have.
        assert job["left_ns"] == 50_015_000_000 and 0 < job["left_bytes"] <= 50 * 1000 + 15 * 100
        assert len(site.running.ask("tasks", number, "-a")["tasks"]) == 165
    job = site.wait(number, lambda job: job["state"] == "done")
    assert job["left_ns"] is None and job["more"].startswith("69 more are not shown") and "not_kept" not in job
    said = site.text("jobs", "-a")
    assert "WORK LEFT" in said and "BYTES LEFT" in said and "ESTIMATE" not in said


def test_what_a_job_took_is_kept(site):
    number = site.submit({"tasks": 4, "compute_ms": 200},
                         {"tasks": 2, "compute_ms": 300, "parents": [{"stage": 0, "sums": [2_000_000] * 2}]})
    job = site.wait(number, lambda job: job["state"] == "done")
    assert job["measured_tasks"] == 6 and job["received_bytes"] > 1_000_000
    assert job["compute_ns"] >= 0.9 * (4 * 200 + 2 * 300) * 1_000_000 and job["receive_ns"] > 0 and job["slot_wait_ns"] >= 0
    rows = job["tasks"]
    assert sum(row["compute_ns"] for row in rows) == job["compute_ns"]
    assert sum(row["receive_ns"] for row in rows) == job["receive_ns"]
    assert sum(row["wait_ns"] for row in rows) == job["slot_wait_ns"]
    reduces = [row for row in rows if row["stage"] == 1]
    assert all(row["bytes"] == 2_000_000 and row["receive_ns"] > 0 for row in reduces)
    said = site.text("job", number)
    for heading in ("waits of tasks", "their transfers", "their computing", "they received", "WAITED", "TRANSFER", "COMPUTE"):
        assert heading in said
