"""The kill matrix (docs/operate/restart.md): the controller killed and started again mid-replay, and its disk full."""

import os
import subprocess
import time

import pytest

import kills
from nets import needs_root
from testbed.net import network, system

pytestmark = needs_root
BOTH = [pytest.param(kills.SHORT, id="short"), pytest.param(kills.REAL, id="real", marks=pytest.mark.faults)]


def kill_controller_mid_replay(site, seconds_busy):
    """(w1's marks, when)."""
    site.submit(site.transfers(seconds_busy), kills.job("ends", compute_ms=1500))
    site.wait_running(3, stage=1)
    site.wait_running(3, job=2, state="computing")
    marks = site.marks("w1")
    site.wait("marks", marks.flows)
    site.running.kill("duopolyd", network.CONTROLLER)
    return marks, time.time()


def back_up(site):
    """Starts it again; when it had answered, and when all hosts had spoken."""
    site.running.start("duopolyd", network.CONTROLLER)
    site.running.wait_for_controller()
    answered = time.time()
    site.wait("the hosts", lambda: site.running.ask("status")["hosts_up"] == kills.HOSTS)
    return answered, time.time()


def test_a_controller_back_after_2_s_restarts_nothing_and_leaves_no_gap(begin):
    site = begin(kills.REAL)
    marks, killed = kill_controller_mid_replay(site, 8)
    kills.until(killed + 2)
    answered, spoken = back_up(site)
    kills.until(spoken + 1)
    bare, marked = (marks.between(killed, spoken + 1, which) for which in (False, True))
    assert len(marked) > 1000 and not bare, "%d of %d packets had no mark" % (len(bare), len(marked) + len(bare))
    kills.judge(site, "controller killed for 2 s: answers %.2f s after its kill, knows of all hosts after %.2f s; 0 of %d packets "
                "without their mark" % (answered - killed, spoken - killed, len(marked)))


@pytest.mark.parametrize("scale", BOTH)
def test_a_controller_away_for_20_s_restarts_nothing_and_marks_come_back(begin, scale):
    site = begin(scale)
    marks, killed = kill_controller_mid_replay(site, scale.seconds(20) + 4)
    back = killed + scale.seconds(20)
    kills.until(back)
    _, spoken = back_up(site)
    last = marks.between(killed, back, True)[-1] - killed
    assert scale.seconds(10) <= last <= scale.seconds(15) + kills.SLACK_SECONDS, last
    bare = marks.between(killed + last, back, False)
    assert len(bare) > 500, "nothing moved without marks"
    site.wait("marks again", lambda: marks.between(back, time.time(), True) and marks.flows())
    again = marks.between(back, time.time(), True)[0] - back
    kills.judge(site, "controller killed for %g s: last mark after %.2f s, then %d packets without; all hosts known %.2f s and "
                "marks again %.2f s after its return" % (scale.seconds(20), last, len(bare), spoken - back, again))


class SmallDisk(kills.Site):
    """The controller's state is a file system of its own."""

    def prepare(self):
        self.running.small = {network.CONTROLLER: "4m"}


def submission(site, name):
    """What duopolyctl complains of when one more job is submitted, and its exit status."""
    path = site.workload([kills.job(name, compute_ms=50)])
    done = subprocess.run([site.running.program("duopolyctl"), "-s", site.running.socket, "submit", path], capture_output=True,
                          text=True, timeout=30, check=False)
    return done.stderr, done.returncode


def test_a_full_disk_of_the_controller_refuses_and_recovers_alone(begin):
    site = begin(kills.REAL, SmallDisk)
    site.submit(site.transfers(5), kills.job("ends", compute_ms=1500))
    site.wait_running(3, stage=1)
    filler = os.path.join(site.running.state(network.CONTROLLER), "filler")
    system.fill_file_system(filler)
    said, status = submission(site, "refused")
    assert status == 1 and len(said.splitlines()) == 1 and "disk is full" in said, said
    site.wait("the ends of what ran", lambda: not [row for row in site.attempts() if row["job"] == 2])
    assert submission(site, "refused")[1] == 1
    os.unlink(filler)
    room = time.time()
    site.wait("a submission", lambda: submission(site, "later")[1] == 0)
    took = time.time() - room
    tasks = site.finish()
    assert {name for name, _, _ in tasks} == {"transfers", "ends", "later"}
    site.running.kill("duopolyd", network.CONTROLLER)
    back_up(site)
    kills.judge(site, "the controller's disk full: refused with \"%s\", a submission taken %.2f s after there was room" % (
        said.strip(), took))


class SmallDiskOfAgent(kills.Site):
    def prepare(self):
        self.running.small = {"w1": "1m"}


def test_an_agent_with_a_full_disk_finds_a_new_controller(begin):
    """Whose epoch it must keep before it obeys."""
    site = begin(kills.SHORT, SmallDiskOfAgent)
    site.submit(site.transfers(4))
    site.wait_running(3, stage=1)
    filler = os.path.join(site.running.state("w1"), "filler")
    system.fill_file_system(filler)
    site.running.kill("duopolyd", network.CONTROLLER)
    site.running.start("duopolyd", network.CONTROLLER)
    site.running.wait_for_controller()
    site.wait("w1's word", lambda: site.host("w1")["state"] == "full")
    os.unlink(filler)
    kills.judge(site, "an agent's disk full while the controller is started again: its session stands")
