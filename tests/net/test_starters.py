"""Attempts outlive the agent, and most of what starts them: kills and hangs of each, under a
scripted controller."""

import os
import signal

from nets import needs_root, wait_for
from scripted import COMPUTING, DONE, FAILED, FIRST, KILLED, QUEUED, REFUSED, STARTED, command, site  # noqa: F401: a fixture

pytestmark = needs_root


def test_agent_killed_and_started_again_finds_its_attempts(site):
    controller, agent = site.begin(commands={
        "waits": command("""
import time
say.send(b"missing 0 7 99 10.99.0.2")
say.send(b"received")
while not os.path.exists("GO"): time.sleep(0.005)
os.makedirs(os.environ["DUOPOLY_TASK_OUTPUT"])
""".replace("GO", site.net.dir + "/go"))})
    controller.do("acknowledge 0")
    controller.do(f"start {FIRST + 1} 12 1 3 waits 1 2 5")
    controller.do(f"start {FIRST + 2} 13 0 0 false")
    controller.wait_phase(FIRST + 1, COMPUTING)
    wait_for("output_lost", lambda: controller.of("output_lost"))
    controller.wait_phase(FIRST + 2, FAILED)
    pids = agent.pids(FIRST + 1) + agent.pids(FIRST + 1, "")
    agent.kill()
    assert agent.pids(FIRST + 1) + agent.pids(FIRST + 1, "") == pids, "attempts outlive the agent"
    before = len(controller.messages)
    agent.start()
    site.wait_session(2)
    listed = {a["attempt"]: a for m in controller.messages[before:] if m["kind"] == "inventory_part" for a in m["attempts"]}
    assert listed[FIRST + 2]["phase"] == FAILED and listed[FIRST + 2]["text"] == "the last"
    running = listed[FIRST + 1]
    assert running["phase"] in (STARTED, COMPUTING)
    assert (running["job"], running["stage"], running["task"], running["coflow"], running["macroflow"]) == (12, 1, 3, 2, 5)
    assert agent.records() == [f"{FIRST + 1:016x}", f"{FIRST + 2:016x}"], "not acknowledged: kept"
    wait_for("what it said before, again", lambda: [m for m in controller.messages[before:] if m["kind"] == "output_lost"])
    # The slot is still taken, and its end is seen.
    controller.do(f"start {FIRST + 3} 1 0 0 sleep 2")
    controller.wait_phase(FIRST + 3, REFUSED)
    open(site.net.dir + "/go", "w").close()
    controller.wait_phase(FIRST + 1, DONE)
    assert os.path.isdir(f"{agent.state}/outputs/12-1-3-{FIRST + 1}")
    controller.do("acknowledge 1")
    agent.kill()
    agent.start()
    site.wait_session(3)
    wait_for("acknowledged results to leave the disk", lambda: agent.attempts_on_disk() == [])
    outputs = [o for m in controller.messages if m["kind"] == "inventory_part" for o in m["outputs"]]
    assert [12, 1, 3, FIRST + 1] in outputs


def test_an_attempt_that_ends_without_an_agent_keeps_its_status(site):
    controller, agent = site.begin(commands={
        "dies": command("""
import time
while not os.path.exists("GO"): time.sleep(0.005)
sys.exit("last words")
""".replace("GO", site.net.dir + "/go"))})
    controller.do(f"start {FIRST + 1} 1 0 0 dies")
    controller.wait_phase(FIRST + 1, STARTED)
    pids = wait_for("its processes", lambda: agent.pids(FIRST + 1) and agent.pids(FIRST + 1, ""))
    agent.kill()
    open(site.net.dir + "/go", "w").close()
    wait_for("its parent to end", lambda: not any(os.path.exists(f"/proc/{p}/exe") and agent.pids(FIRST + 1, "") for p in pids))
    agent.start()
    site.wait_session(2)
    part = controller.of("inventory_part")[-1]["attempts"][0]
    assert (part["attempt"], part["phase"], part["exit"], part["text"]) == (FIRST + 1, FAILED, 1, "last words")


def test_a_parent_that_dies_is_a_failed_attempt_and_nothing_survives(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pid = wait_for("its process", lambda: agent.pids(FIRST + 1))[0]
    os.kill(agent.pids(FIRST + 1, "")[0], signal.SIGKILL)
    failed = controller.wait_phase(FIRST + 1, FAILED)
    assert failed["exit"] == -signal.SIGKILL and "parent" in failed["text"]
    wait_for("the command to die", lambda: not agent.pids(FIRST + 1))
    wait_for("cgroup and directory to go", lambda: agent.cgroups() == [] and agent.attempts_on_disk() == [])
    assert not os.path.exists(f"/proc/{pid}/exe") or "sleep" not in os.readlink(f"/proc/{pid}/exe")


def test_what_starts_attempts_may_die_and_attempts_live_on(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pids = wait_for("its process", lambda: agent.pids(FIRST + 1))
    first = agent.starter()
    os.kill(first, signal.SIGKILL)
    wait_for("the agent to notice", lambda: "started again" in open(agent.log).read())
    controller.do(f"start {FIRST + 2} 1 0 0 true")
    controller.wait_phase(FIRST + 2, DONE)
    assert agent.starter() != first and agent.pids(FIRST + 1) == pids
    controller.do(f"stop {FIRST + 1} 0")
    controller.wait_phase(FIRST + 1, KILLED)
    wait_for("all to be gone", lambda: agent.cgroups() == [] and agent.attempts_on_disk() == [])


def test_a_start_that_is_stuck_keeps_nobody_waiting_and_is_refused_when_its_starter_dies(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 true")
    controller.wait_phase(FIRST + 1, DONE)
    starter = agent.starter()
    os.kill(starter, signal.SIGSTOP)
    try:
        controller.do(f"start {FIRST + 2} 1 0 0 sleep")
        controller.do(f"start {FIRST + 3} 1 0 1 sleep")
        controller.do("mode 1 1")
        wait_for("the mode", lambda: any(line.startswith("mode 1 1 ") for line in open(agent.measurements)))
        controller.do(f"start {FIRST + 4} 1 0 2 sleep")
        assert "room" in controller.wait_phase(FIRST + 4, REFUSED)["text"], "both slots are taken"
        assert not controller.states(FIRST + 2)
    finally:
        os.kill(starter, signal.SIGKILL)
    for i in (2, 3):
        assert "duopoly-task died" in controller.wait_phase(FIRST + i, REFUSED)["text"]
    wait_for("all to be gone", lambda: agent.cgroups() == [] and agent.attempts_on_disk() == [])
    for i in (5, 6):
        controller.do(f"start {FIRST + i} 1 0 {i} sleep")
        controller.wait_phase(FIRST + i, STARTED)


def test_a_starter_that_hangs_is_replaced_and_what_it_had_not_come_to_is_refused(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 sleep")
    controller.wait_phase(FIRST + 1, STARTED)
    pids = wait_for("its process", lambda: agent.pids(FIRST + 1))
    starter = agent.starter()
    os.kill(starter, signal.SIGSTOP)
    try:
        controller.do(f"start {FIRST + 2} 1 0 1 sleep")
        controller.do(f"start {FIRST + 3} 1 0 2 true 1 0 0 1")
        controller.wait_phase(FIRST + 3, QUEUED)
        assert "did not come to this start in time" in controller.wait_phase(FIRST + 2, REFUSED, 30)["text"]
        # Who waited for the slot has it, from another starter.
        controller.wait_phase(FIRST + 3, DONE)
        assert agent.starter() != starter and not os.path.exists(f"/proc/{starter}/exe")
    finally:
        if os.path.exists(f"/proc/{starter}/exe"):
            os.kill(starter, signal.SIGKILL)
    assert agent.pids(FIRST + 1) == pids, "what it had started lives on"
    assert "hangs" in open(agent.log).read()
    controller.do(f"stop {FIRST + 1} 0")
    controller.wait_phase(FIRST + 1, KILLED)
    wait_for("all to be gone", lambda: agent.cgroups() == [] and agent.attempts_on_disk() == [])


def test_a_stop_overtakes_a_start(site):
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 true")
    controller.wait_phase(FIRST + 1, DONE)
    starter = agent.starter()
    os.kill(starter, signal.SIGSTOP)
    try:
        controller.do(f"start {FIRST + 2} 1 0 0 sleep 1 0 0 0")
        controller.do(f"stop {FIRST + 2} 0")
    finally:
        os.kill(starter, signal.SIGCONT)
    controller.wait_phase(FIRST + 2, KILLED)
    wait_for("all to be gone", lambda: agent.cgroups() == [] and agent.attempts_on_disk() == [])


def test_starts_that_an_agent_left_waiting_never_run(site):
    """An agent dies with an order under way: the next one knows of the attempt, and says that it is
    none."""
    controller, agent = site.begin()
    controller.do(f"start {FIRST + 1} 1 0 0 true")
    controller.wait_phase(FIRST + 1, DONE)
    starter = agent.starter()
    os.kill(starter, signal.SIGSTOP)
    try:
        controller.do(f"start {FIRST + 2} 1 0 0 sleep")
        wait_for("its record", lambda: len(agent.records()) == 1)
        agent.kill()
    finally:
        os.kill(starter, signal.SIGCONT)
    wait_for("the starter to go with its agent", lambda: not os.path.exists(f"/proc/{starter}/exe"))
    agent.start()
    site.wait_session(2)
    listed = controller.of("inventory_part")[-1]["attempts"]
    assert [(a["attempt"], a["phase"]) for a in listed] == [(FIRST + 2, FAILED)]
    wait_for("all to be gone", lambda: agent.cgroups() == [] and agent.attempts_on_disk() == [])
