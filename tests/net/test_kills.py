"""The kill matrix (docs/operate/restart.md): what becomes of a replay when a part of it dies, with the figures of each promise.

Those that wait for long do so in a quarter of the time, and once in full behind the marker `faults` (make test-faults)."""

import os
import signal
import time

import pytest

import kills
from nets import needs_root
from testbed.net import system

pytestmark = needs_root
BOTH = [pytest.param(kills.SHORT, id="short"), pytest.param(kills.REAL, id="real", marks=pytest.mark.faults)]


def kill_agent_mid_replay(site, number, seconds_busy):
    """Kills w1's agent while it receives, serves and computes; (its marks, when)."""
    site.replay(site.transfers(seconds_busy), kills.job("ends", compute_ms=1500))
    site.wait_running(3, stage=1)
    site.wait_running(1, job=2, host="w1", state="computing")
    marks = site.marks("w1")
    site.wait("marks", marks.flows)
    if number == signal.SIGKILL:
        site.running.kill("duopoly-agent", "w1")
    else:
        os.kill(site.agent("w1"), number)
    return marks, time.time()


@pytest.mark.parametrize("scale", [kills.REAL], ids=["real"])
def test_an_agent_back_after_2_s_leaves_no_gap(begin, scale):
    site = begin(scale)
    marks, killed = kill_agent_mid_replay(site, signal.SIGKILL, 6)
    kills.until(killed + scale.seconds(2))
    site.running.start("duopoly-agent", "w1")
    site.wait("w1's session", lambda: site.words("duopoly-agent", "w1").count("session with controller") == 2)
    back = time.time()
    kills.until(back + scale.seconds(2))
    bare, marked = (marks.between(killed, back + scale.seconds(2), which) for which in (False, True))
    assert len(marked) > 1000 and not bare, "%d of %d packets had no mark" % (len(bare), len(marked) + len(bare))
    kills.judge(site, "agent killed, back after %.2f s: 0 of %d packets without their mark" % (back - killed, len(marked)))


@pytest.mark.parametrize("scale", BOTH)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_an_agent_away_for_12_s_fails_open_and_loses_no_end(begin, scale, number):
    site = begin(scale)
    marks, killed = kill_agent_mid_replay(site, number, scale.seconds(12) + 4)
    back = killed + scale.seconds(12)
    kills.until(back)
    if number == signal.SIGKILL:
        site.running.start("duopoly-agent", "w1")
    else:
        os.kill(site.agent("w1"), signal.SIGCONT)
    marked = marks.between(killed, back, True)
    last = marked[-1] - killed
    assert scale.seconds(4) - kills.SLACK_SECONDS <= last <= scale.seconds(5) + kills.SLACK_SECONDS, last
    bare = marks.between(marked[-1], back, False)
    assert len(bare) > 300, "nothing moved without marks"
    site.wait("marks again", lambda: marks.between(back, time.time(), True) and marks.flows())
    again = marks.between(back, time.time(), True)[0] - back
    kills.judge(site, "agent %s for %g s: last mark after %.2f s, then %d packets without, marked again %.2f s after its return" % (
        "killed" if number == signal.SIGKILL else "stopped", scale.seconds(12), last, len(bare), again))


@pytest.mark.parametrize("which", ["parent", "task"])
def test_a_killed_attempt_fails_and_runs_once_again(begin, which):
    site = begin()
    site.replay(site.transfers(3))
    victim = next(row for row in site.wait_running(3, stage=1) if row["host"] == "w1")
    pids = site.processes_of(victim["attempt"], "w1", "" if which == "parent" else "/task")
    assert pids
    os.kill(pids[0], signal.SIGKILL)
    killed = time.time()
    site.wait("the next attempt", lambda: [row for row in site.attempts() if row["task"] == victim["task"] and
                                           row["attempt"] != victim["attempt"]])
    took = time.time() - killed
    kills.judge(site, "%s killed: its task began again %.2f s later" % (which, took), again=[("transfers", 1, victim["task"])])


def turn_link(site, end, word):
    place, device = ("w1", site.net.uplink("w1")) if end == "host" else site.net.behind("w1")
    system.run(*site.net.enter(place, "ip", "link", "set", device, word))


@pytest.mark.parametrize("end", ["host", "switch"])
def test_a_link_down_for_2_s_requeues_nothing(begin, end):
    site = begin(kills.REAL)
    site.replay(site.transfers(4), kills.job("ends", compute_ms=1500))
    site.wait_running(3, stage=1)
    turn_link(site, end, "down")
    cut = time.time()
    kills.until(cut + 2)
    turn_link(site, end, "up")
    kills.judge(site, "link down for 2 s at the %s: nothing requeued" % end)


@pytest.mark.parametrize("scale", BOTH)
@pytest.mark.parametrize("end", ["host", "switch"])
def test_a_link_down_for_40_s_requeues_once_and_stops_what_is_stale(begin, scale, end):
    site = begin(scale)
    site.replay(site.transfers(3), kills.job("lasts", compute_ms=int(1000 * scale.seconds(60)), maps=1))
    site.wait_running(3, stage=1)
    stale = site.wait_running(1, job=2, host="w1")[0]
    pids = site.processes_of(stale["attempt"], "w1", "/task")
    assert pids
    turn_link(site, end, "down")
    cut = time.time()
    site.wait("its other attempt", lambda: [row for row in site.attempts() if row["job"] == 2 and row["host"] != "w1"], 60)
    lost = time.time() - cut
    assert scale.seconds(27) <= lost <= scale.seconds(30) + 1, lost
    kills.until(cut + scale.seconds(40))
    assert all(os.path.exists("/proc/%d" % pid) for pid in pids), "nobody could stop it yet"
    turn_link(site, end, "up")
    back = time.time()
    site.wait("the end of what is stale", lambda: not any(os.path.exists("/proc/%d" % pid) for pid in pids), 30)
    stopped = time.time() - back
    tasks = site.finish(120)
    states = {task: [attempt["state"] for attempt in attempts] for task, attempts in tasks.items()}
    assert states["lasts", 0, 0] == ["killed", "done"], tasks["lasts", 0, 0]
    assert all(found.count("done") == 1 and len(found) <= 2 for (_, stage, _), found in states.items() if stage), states
    print("\nlink down for %g s at the %s: requeued once, after %.2f s; the stale attempt stopped %.2f s after its return; %s" % (
        scale.seconds(40), end, lost, stopped, site.running.check_memory()))
