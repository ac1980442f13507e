"""The soak: a short one as a whole, and that its judges see what is not as it must be."""

import os
import signal
import time

import pytest

from test_demo import nothing_is_left, start, wait_for_line  # noqa: F401
from testbed.demo import demo, soak

SCHEDULE_SECONDS, KILL_EVERY_SECONDS = 20, 1.5
SMALL = ["HOSTS=4", "SLOTS=2", "JOBS=10", "SCALE=400", "NO_INSTALL=1"]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="the testbed needs root")


class Answers:
    """A cluster that answers what the test wants."""

    def __init__(self, **answers):
        self.answers = answers

    def ask(self, what, *_words):
        answer = self.answers[what]
        if isinstance(answer, Exception):
            raise answer
        return answer


def job(state, text=None):
    return {"job": 1, "name": "j", "state": state, "text": text}


@pytest.mark.parametrize("jobs, faults", [
    ([job("done"), job("failed", "its reason")], []),
    ([job("failed")], ["1 jobs failed without a reason: 1 j"]),
    ([job("active"), job("cancelled")], ["2 jobs neither done nor failed: 1 j is active; 1 j is cancelled"]),
])
def test_jobs_are_judged(jobs, faults):
    report = soak.Report()
    one = soak.Soak(Answers(jobs={"jobs": jobs}, tasks={"tasks": []}), None, 1, report)
    one.judge_jobs()
    assert report.faults == faults


def row(attempt, state, received):
    return {"job": 1, "stage": 0, "task": 2, "attempt": attempt, "state": state, "received_bytes": received, "host": "w1"}


def test_transfers_that_stand_still_are_told_once(monkeypatch):
    report, now = soak.Report(), [0.0]
    monkeypatch.setattr(soak.time, "monotonic", lambda: now[0])
    running = Answers(explain={"text": "it waits"})
    transfers = soak.Transfers(running, report)
    for step in range(4):
        running.answers["tasks"] = {"tasks": [row(7, "receiving", 0), row(8, "receiving", step), row(9, "computing", 0)]}
        transfers.look()
        now[0] += soak.STILL_SECONDS / 2 + 1
    assert len(report.faults) == 1
    assert "1/0/2, receiving with 0 bytes on w1" in report.faults[0] and "it waits" in report.faults[0]


@needs_root
def test_a_short_soak_ends_well():
    child = start("soak-live", "MINUTES=1", "KILL_EVERY=5", "SEED=9", *SMALL)
    said = child.communicate(timeout=400)[0]
    assert child.returncode == 0, said
    lines = said.splitlines()
    assert "SEED=9" in lines[0]
    assert lines[-1] == "soak: all held"
    assert any(" kills (" in line and ", 0 without, 0 not ended" in line for line in lines)


@needs_root
@pytest.mark.faults
def test_random_kills_in_a_row(tmp_path):
    """SCHEDULES (50) of them, or as many as begin within HOURS; each on a testbed of its own, whose
    timers are a quarter."""
    asked = demo.prepare(dict(word.split("=") for word in [*SMALL, "POLICIES=duopoly"]))
    hours, first = float(os.environ.get("HOURS") or 0), int(os.environ.get("SEED") or time.time())
    count = None if hours else int(os.environ.get("SCHEDULES") or 50)
    end, done = time.monotonic() + 3600 * hours, 0
    while done < count if count else time.monotonic() < end:
        print("\nschedule %d, SEED=%d" % (done + 1, first + done), flush=True)
        report = soak.schedule(asked, str(tmp_path), first + done, SCHEDULE_SECONDS, KILL_EVERY_SECONDS, quick=4)
        assert not report.faults and not report.failed, "SEED=%d" % (first + done)
        done += 1
    print("\n%d schedules of random kills in a row, seeds %d to %d" % (done, first, first + done - 1))


@needs_root
def test_a_soak_is_stopped_cleanly():
    child = start("soak-live", "KILL_EVERY=1", "SEED=3", *SMALL)
    wait_for_line(child, "kill ")
    os.killpg(child.pid, signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode != 0


@needs_root
@pytest.mark.parametrize("word", ["MINUTES=0", "KILL_EVERY=x", "HOSTS=1"])
def test_wrong_words_are_one_sentence(word):
    child = start("soak-live", "NO_INSTALL=1", word)
    said = child.communicate(timeout=60)[0]
    assert child.returncode != 0
    assert len([line for line in said.splitlines() if not line.startswith("make")]) == 1, said
