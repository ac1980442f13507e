"""Devices that an agent's units hand out, under a scripted controller: what a task is told, who has
which, and what becomes of those whose device is gone; and which lists are refused."""

import subprocess

import pytest

from nets import BUILD, needs_root, wait_for
from scripted import FAILED, FIRST, KILLED, LOST, REFUSED, STARTED, command
from scripted import site  # noqa: F401: a fixture

pytestmark = needs_root

LIST = "devices: [{name: g0, memory: 8 GB}, {name: w0}, {name: w1}]"
UNITS = "[{slots: 2}, {name: shared, slots: 4, devices: [g0]}, " \
        "{name: whole, slots: 2, devices: [w0, w1]}]"
PLAIN, SHARED, WHOLE = range(3)
TOLD = command("""
words = ("unit_name", "gpu_milli", "gpu_mem_bytes", "device")
lines = open(os.environ["DUOPOLY_TASK_INPUT"]).read().splitlines()
print("; ".join(line for line in lines if line.split()[0] in words), file=sys.stderr)
sys.exit(3)
""")


def begin(site, **commands):
    return site.begin(units=UNITS, lines=[LIST], commands=commands)


def change(agent, *pairs):
    """Another configuration, for its next start."""
    with open(agent.config) as file:
        text = file.read()
    for one, other in pairs:
        assert one in text
        text = text.replace(one, other)
    with open(agent.config, "w") as file:
        file.write(text)


def wait_lost(controller, attempt):
    """By a message of its own, or in an inventory."""
    def lost():
        listed = [state for part in controller.of("inventory_part") for state in part["attempts"]]
        told = [state for state in controller.states(attempt) + listed
                if state["attempt"] == attempt and state["phase"] == LOST]
        return told[-1] if told else None
    return wait_for("the loss of attempt %d" % attempt, lost)


def test_a_task_is_told_its_unit_and_devices(site):
    controller, _ = begin(site, told=TOLD)
    assert controller.of("hello")[0]["has"] == [[2, 0, 0], [4, 1000, 8_000_000_000], [2, 2000, 0]]
    wait_for("what units hand out", lambda: controller.of("host_state"))
    assert controller.of("host_state")[-1]["devices"] == ["", "shared g0", "whole w0 w1"]
    wanted = {(PLAIN, 0, 0): "", (SHARED, 0, 0): "unit_name shared",
              (SHARED, 500, 3_000_000_000): "unit_name shared; gpu_milli 500; "
                                            "gpu_mem_bytes 3000000000; device g0 8000000000 -",
              (WHOLE, 300, 0): "unit_name whole; gpu_milli 300; gpu_mem_bytes 0; device w0 0 -",
              (WHOLE, 2000, 0): "unit_name whole; gpu_milli 2000; gpu_mem_bytes 0; "
                                "device w0 0 -; device w1 0 -"}
    for i, (place, words) in enumerate(wanted.items()):
        controller.do("place %d %d %d" % place)
        controller.do(f"start {FIRST + i} 1 0 {i} told")
        assert controller.wait_phase(FIRST + i, FAILED)["text"] == words


def test_whole_devices_are_one_task_s_each(site):
    """Also of an agent that finds its attempts again."""
    controller, agent = begin(site, told=TOLD)
    controller.do(f"place {WHOLE} 1000 0")
    for i in (1, 2):
        controller.do(f"start {FIRST + i} 1 0 {i} sleep 0")
        controller.wait_phase(FIRST + i, STARTED)
    agent.kill()
    agent.start()
    site.wait_session(2)
    controller.do(f"place {WHOLE} 10 0")
    controller.do(f"start {FIRST + 3} 1 0 3 told 0")
    assert "no room" in controller.wait_phase(FIRST + 3, REFUSED)["text"]
    controller.do(f"stop {FIRST + 2} 0")
    controller.wait_phase(FIRST + 2, KILLED)
    controller.do(f"start {FIRST + 4} 1 0 4 told 0")
    told = controller.wait_phase(FIRST + 4, FAILED)["text"]
    assert told.endswith("device w1 0 -"), "the one that is free"


def test_a_device_that_left_the_configuration(site):
    """What has it ends by the host's fault, what has none of it runs on; units are known by their
    names."""
    controller, agent = begin(site)
    for i, place in enumerate(("0 0 0", f"{SHARED} 100 0", f"{SHARED} 0 0", f"{WHOLE} 1000 0")):
        controller.do("place " + place)
        controller.do(f"start {FIRST + i} 1 0 {i} sleep 0")
        controller.wait_phase(FIRST + i, STARTED)
    agent.kill()
    change(agent, ("{name: g0, memory: 8 GB}, ", ""),
           ("{name: shared, slots: 4, devices: [g0]}, ", ""))
    agent.start()
    site.wait_session(2)
    lost = wait_lost(controller, FIRST + 1)
    assert "the device g0 is not in the configuration any more" in lost["text"]
    wait_for("its processes to go", lambda: not agent.pids(FIRST + 1))
    listed = {state["attempt"]: state for part in controller.of("inventory_part")
              for state in part["attempts"]}
    assert [listed[FIRST + i]["phase"] for i in (0, 2, 3)] == [STARTED] * 3
    assert listed[FIRST + 3]["unit"] == 1
    assert controller.of("hello")[-1]["has"] == [[2, 0, 0], [2, 2000, 0]]
    assert agent.pids(FIRST) and agent.pids(FIRST + 3)
    wait_for("the acknowledged one to leave the disk", lambda: len(agent.records()) == 3)


def test_what_was_lost_is_told_again(site):
    """By the next agent, where the controller had not heard of it."""
    controller, agent = begin(site)
    controller.do(f"place {SHARED} 100 0")
    controller.do(f"start {FIRST} 1 0 0 sleep 0")
    controller.wait_phase(FIRST, STARTED)
    controller.do("acknowledge 0")
    agent.kill()
    change(agent, ("name: g0", "name: g9"), ("devices: [g0]", "devices: [g9]"))
    agent.start()
    wait_lost(controller, FIRST)
    told = len(controller.of("inventory_end"))
    agent.kill()
    agent.start()
    site.wait_session(told + 1)
    again = controller.of("inventory_part")[-1]["attempts"][-1]
    assert again["phase"] == LOST and "g0 is not in the configuration" in again["text"]
    controller.do("acknowledge 1")


WHOLE_WORDS = "a unit of 2 devices hands each out whole: "


@pytest.mark.parametrize("one,other,words", [
    ("{name: w1}", "{name: w0}", [":9:49: ", "two devices are called w0"]),
    ("devices: [w0, w1]", "devices: [w0, w0]", [":7:100: ", "the device w0 is in this unit twice"]),
    ("devices: [w0, w1]", "devices: [w0, g0]",
     [":7:62: ", "the device g0 is in two units: unit shared and unit whole"]),
    ("devices: [w0, w1]", "devices: [w0, w2]",
     [":7:62: ", "unit whole has the device w2, which is not in `devices`"]),
    ("devices: [g0]", "gpu_milli: 1001, devices: [g0]",
     [":7:21: ", "gpu_milli is 1001: it is per mille of one device, 1000 at most"]),
    ("{slots: 2}", "{slots: 2, gpu_milli: 1500}", [":7:9: ", "1000 at most"]),
    ("devices: [w0, w1]", "gpu_milli: 1000, devices: [w0, w1]",
     [":7:62: ", WHOLE_WORDS + "its gpu_milli is 2000"]),
    ("devices: [w0, w1]", "gpu_memory: 1 GB, devices: [w0, w1]",
     [":7:62: ", WHOLE_WORDS + "memory of a device is said where the unit has one"]),
    ("devices: [g0]", "gpu_memory: 9 GB, devices: [g0]",
     [":7:21: ", "unit shared has more gpu_memory than its device g0, which has 8000000000 B"]),
    ("{name: w1}", "{name: w1, kind: abacus}",
     [":9:49: ", 'there is no kind of device "abacus"']),
    ("{name: w1}", "{name: w1, at: somewhere}",
     [":9:49: ", "w1 is of kind plain, which knows no `at`"]),
    ("{name: w1}", "{name: 'w 1'}", [":9:56: ", "'w 1' cannot be a device's name"])])
def test_bad_lists_get_one_sentence(site, one, other, words):
    _, agent = begin(site)
    agent.terminate()
    with open(agent.config) as file:
        right = file.read()
    change(agent, (one, other))
    for more in ([], ["--check"]):
        command = ["nsenter", "--net=/run/netns/" + agent.host.name, "--", BUILD + "/duopoly-agent",
                   "--config", agent.config, *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done
        assert all(word in done.stderr for word in words), done.stderr
    with open(agent.config, "w") as file:
        file.write(right)
