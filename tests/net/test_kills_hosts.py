"""The kill matrix (docs/operate/restart.md), what befalls a whole machine: a reboot, a full disk."""

import os
import time

import pytest

import kills
from nets import needs_root
from testbed.net import system

pytestmark = needs_root


@pytest.mark.parametrize("memory", ["wiped", "kept"])
def test_a_rebooted_host_is_believed_at_once(begin, memory):
    """`kept`: the state folder outlives the boot, as it should not (schemas/duopoly-agent.yaml), and what is in it is old."""
    site = begin(kills.REAL)
    site.replay(site.transfers(4), kills.job("lasts", compute_ms=8000))
    site.wait_running(3, stage=1)
    lost = {(row["job"], row["stage"], row["task"]): row["attempt"] for row in site.wait_running(2, host="w1")}
    generation = site.host("w1")["boot"]
    down = time.time()
    site.reboot("w1", keep=memory == "kept")
    site.wait("the new boot", lambda: site.host("w1")["boot"] != generation and site.host("w1")["state"] == "up")
    believed = time.time() - down

    def begun_anew():
        again = {(row["job"], row["stage"], row["task"]): row["attempt"] for row in site.attempts()}
        return all(again.get(task, attempt) != attempt for task, attempt in lost.items())
    site.wait("other attempts than those of the old boot", begun_anew)
    requeued = time.time() - down
    # The old session must be silent (3 s) before a name is another boot's; it is asked for again after 1 s, then 2 s.
    assert believed < 8, believed
    tasks = site.finish()
    states = {task: [attempt["state"] for attempt in attempts] for task, attempts in tasks.items()}
    assert states["lasts", 0, 0] == ["lost", "done"], tasks["lasts", 0, 0]
    assert all(found.count("done") == 1 for (_, stage, _), found in states.items() if stage), states
    print("\nhost rebooted, state %s: its new boot believed after %.2f s, its attempts begun anew after %.2f s; %s" % (
        memory, believed, requeued, site.running.check_memory()))


class SmallDisk(kills.Site):
    """w1's state is a file system of its own, of 1 MiB."""

    def prepare(self):
        self.running.small = {"w1": "1m"}


def test_a_full_disk_of_an_agent_refuses_and_recovers_alone(begin):
    site = begin(kills.REAL, SmallDisk)
    site.replay(site.transfers(5), kills.job("ends", compute_ms=1500), kills.job("later", compute_ms=50, arrival_ms=2500),
                kills.job("afterwards", compute_ms=50, arrival_ms=6000))
    site.wait_running(3, stage=1)
    site.wait_running(3, job=2)
    filler = os.path.join(site.running.state("w1"), "filler")
    system.fill_file_system(filler)
    full = time.time()
    row = site.wait("its word", lambda: site.host("w1")["state"] == "full" and site.host("w1"))
    told = time.time() - full
    assert "no room for another attempt" in row["text"] and "No space left" in row["text"], row
    site.running.kill("duopoly-agent", "w1")
    site.running.start("duopoly-agent", "w1")
    site.wait("its word again", lambda: site.host("w1")["state"] == "full" and
              site.words("duopoly-agent", "w1").count("session with controller") == 2)
    site.wait("work that was begun meanwhile, elsewhere", lambda: [
        job for job in site.running.ask("jobs", "-a")["jobs"] if job["name"] == "later" and job["state"] == "done"])
    os.unlink(filler)
    room = time.time()
    site.wait("its return", lambda: site.host("w1")["state"] == "up")
    back = time.time() - room
    tasks = site.finish()
    for (name, stage, task), attempts in tasks.items():
        states = [attempt["state"] for attempt in attempts]
        assert states.count("done") == 1 and "failed" not in states, attempts
        if name in ("transfers", "ends"):
            assert states == ["done"], "what ran goes on"
        if name == "later":
            assert attempts[-1]["host"] != "w1"
    assert "w1" in [attempts[-1]["host"] for (name, _, _), attempts in tasks.items() if name == "afterwards"]
    print("\nan agent's disk full: told after %.2f s, %d tasks done meanwhile elsewhere, back %.2f s after there was room; %s" % (
        told, sum(name == "later" for name, _, _ in tasks), back, site.running.check_memory()))
