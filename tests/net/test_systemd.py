"""The installed units under a real systemd: they start, find each other, run attempts, and come
back."""

import os

import pytest

from controller import workload
from nets import needs_root, wait_for
from units import Machine

pytestmark = needs_root


@pytest.fixture
def guest(tmp_path):
    made = Machine(str(tmp_path), watchdog="2")
    try:
        made.start()
        yield made
    finally:
        made.stop()


def attempts(guest):
    """{pid: user} of the commands that run."""
    found = {}
    below = guest.cgroup + "/system.slice/duopoly-starter.service"
    for path, _, files in os.walk(below):
        if path.endswith("/task"):
            with open(path + "/cgroup.procs") as text:
                found.update({int(pid): os.stat("/proc/" + pid).st_uid for pid in text.read().split()})
    return found


def test_the_units_under_a_real_systemd(guest):
    def words():
        return [guest.said(name) for name in ("duopolyd", "duopoly-agent", "duopoly-starter")]
    wait_for("a session", lambda: "session with controller" in guest.said("duopoly-agent"))
    assert "confined" not in "".join(words()), words()

    jobs = [{"id": 1, "name": "short", "arrival_ms": 0, "stages": [{"tasks": 3, "command": "true"}]},
            {"id": 2, "name": "long", "arrival_ms": 0, "stages": [{"tasks": 1, "command": "rest"}]}]
    guest.state("submit", str(workload(guest.folder, jobs, 1)))
    wait_for("the short job", lambda: "short" in guest.state("jobs", "-a") and " done " in guest.state("jobs", "-a"), 20)
    running = wait_for("the long one", lambda: attempts(guest))
    users = guest.run("id", "-u", "duopoly-task")
    assert [str(uid) for uid in running.values()] == [users]

    # An agent that hangs is ended by the watchdog; one whose starter is restarted is, too. Attempts
    # live on.
    before = guest.shows("duopoly-agent", "MainPID")
    guest.run("kill", "-STOP", before)
    wait_for("the watchdog", lambda: guest.shows("duopoly-agent", "MainPID") not in (before, "0", ""), 20)
    wait_for("three active units again", guest.active, 20)
    guest.run("systemctl", "restart", "duopoly-starter")
    wait_for("three active units after the starter's restart", guest.active, 20)
    wait_for("the third agent", lambda: guest.said("duopoly-agent").count("session with controller") == 3, 20)
    assert list(attempts(guest)) == list(running) and " worker1 " in guest.state("tasks")
    guest.state("cancel", "2")
    wait_for("its end", lambda: not attempts(guest), 20)
    guest.run("systemctl", "stop", "duopolyd")
    assert guest.shows("duopolyd", "Result") == "success"
