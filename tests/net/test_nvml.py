"""Devices of kind nvidia: the agent asks NVML, which stands in here (nvml_standin.c), under a
scripted controller: what it has, that it is lost and comes back, that it hangs, and that it is not
there at all."""

import os
import subprocess

import pytest

from nets import BUILD, TOP, needs_root, wait_for
from scripted import FAILED, FIRST, LOST, STARTED, AsRoot, command
from scripted import site  # noqa: F401: a fixture

pytestmark = needs_root

LIST = "devices: [{name: g0, kind: nvidia, at: GPU-0}, {name: g1, kind: nvidia, at: '1'}]"
UNITS = "[{slots: 2}, {name: gpu0, slots: 2, devices: [g0]}, {name: gpu1, slots: 1, devices: [g1]}]"
GB = 10**9
PLAIN, GPU0, GPU1 = [2, 0, 0], [2, 1000, 8 * GB], [1, 1000, 16 * GB]
THERE = {"GPU-0": (8 * GB, 0), "GPU-1": (16 * GB, 0)}
IS_LOST, HANGS = 15, 99
TOLD = command("""
lines = open(os.environ["DUOPOLY_TASK_INPUT"]).read().splitlines()
print("; ".join(line for line in lines if line.startswith("device")), file=sys.stderr)
sys.exit(3)
""")


class Standin:
    """The library, and what it says of devices."""

    def __init__(self, folder):
        self.folder, self.file = str(folder), os.path.join(folder, "devices")
        library = os.path.join(folder, "libnvidia-ml.so.1")
        source = os.path.join(TOP, "tests/net/nvml_standin.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source],
                       check=True)
        self.say(THERE)

    def say(self, devices):
        with open(self.file + ".new", "w") as out:
            for uuid, (size, state) in devices.items():
                out.write("%s %d %d\n" % (uuid, size, state))
        os.rename(self.file + ".new", self.file)

    def environment(self):
        return ["env", "LD_LIBRARY_PATH=" + self.folder, "NVML_STANDIN=" + self.file]

    def rights(self):
        """As root, with the library where programs look for it."""
        words = self.environment()
        return type("Rights", (AsRoot,), {"words": words})


@pytest.fixture
def standin(tmp_path):
    return Standin(tmp_path)


def begin(site, rights=AsRoot):
    site.rights = rights
    return site.begin(units=UNITS, lines=[LIST], commands={"told": TOLD})


def wait_has(controller, has):
    return wait_for("a HELLO with %s" % has, lambda: controller.of("hello")[-1]["has"] == has, 20)


def wait_text(controller, words):
    wait_for("the words '%s'" % words, lambda: any(words in state["text"] for state in
                                                   controller.of("host_state")[-1:]), 20)


def start(controller, number, unit, command="sleep"):
    controller.do(f"place {unit} 100 {GB}")
    controller.do(f"start {FIRST + number} 1 0 {number} {command}")


def wait_lost(controller, attempt):
    """Said when it ended, or in the inventory where the session that began anew came between."""
    def said():
        listed = [state for part in controller.of("inventory_part") for state in part["attempts"]]
        return next((state for state in controller.states(attempt) + listed
                     if (state["attempt"], state["phase"]) == (attempt, LOST)), None)
    return wait_for("attempt %d to be lost" % attempt, said, 20)


def check(agent, *words):
    """Of its configuration, but for a command that is there to fail."""
    with open(agent.config) as file:
        text = file.read().replace("/no/such/program", "true")
    with open(agent.config, "w") as file:
        file.write(text)
    done = subprocess.run([*words, "nsenter", "--net=/run/netns/" + agent.host.name, "--",
                           BUILD + "/duopoly-agent", "--config", agent.config, "--check"],
                          capture_output=True, text=True, timeout=20, check=False)
    return done.returncode, done.stderr


def test_a_device_that_is_lost_and_comes_back(site, standin):
    controller, agent = begin(site, standin.rights())
    wait_has(controller, [PLAIN, GPU0, GPU1])
    start(controller, 0, 1, "told")
    assert controller.wait_phase(FIRST, FAILED)["text"] == "device g0 8000000000 GPU-0"
    for number, unit in ((1, 1), (2, 2)):
        start(controller, number, unit)
        controller.wait_phase(FIRST + number, STARTED)
    standin.say({**THERE, "GPU-0": (8 * GB, IS_LOST)})
    lost = wait_lost(controller, FIRST + 1)
    assert lost["text"] == "device g0 is gone: NVML says of GPU-0: GPU is lost"
    wait_has(controller, [PLAIN, [0, 0, 0], GPU1])
    wait_text(controller, "device g0 is gone: NVML says of GPU-0: GPU is lost")
    units = controller.of("host_state")[-1]["devices"]
    assert units == ["", "shared g0 (g0 is not usable)", "shared g1"]
    wait_for("its processes to go", lambda: not agent.pids(FIRST + 1))
    assert agent.pids(FIRST + 2), "the other device's task runs on"
    start(controller, 3, 1)
    assert "g0 is gone" in controller.wait_phase(FIRST + 3, LOST)["text"]
    status, said = check(agent, *standin.environment())
    assert status == 1 and "device g0 is gone: NVML says of GPU-0: GPU is lost" in said
    standin.say(THERE)
    wait_has(controller, [PLAIN, GPU0, GPU1])
    start(controller, 4, 1)
    controller.wait_phase(FIRST + 4, STARTED)
    assert [state["phase"] for state in controller.states(FIRST + 2)] == [STARTED]
    assert check(agent, *standin.environment())[0] == 0


def test_where_there_is_no_nvml_that_is_said(site):
    """By --check, in the log and for `duopolyctl hosts`; the other units work."""
    controller, agent = begin(site)
    wait_has(controller, [PLAIN, [0, 0, 0], [0, 0, 0]])
    words = "nobody knows of it: NVML is not here, it comes with NVIDIA's driver: libnvidia-ml.so.1"
    wait_text(controller, "device g0, " + words)
    with open(agent.log) as log:
        assert "device g1, " + words in log.read()
    controller.do("place 0 0 0")
    controller.do(f"start {FIRST} 1 0 0 sleep")
    controller.wait_phase(FIRST, STARTED)
    start(controller, 1, 1)
    assert words in controller.wait_phase(FIRST + 1, LOST)["text"]
    status, said = check(agent)
    assert status == 1 and words in said and said.count("\n") == 1


def test_an_nvml_that_hangs_holds_nobody(site, standin):
    """Its units take nothing more, what runs there runs on, and the session stays."""
    controller, agent = begin(site, standin.rights())
    wait_has(controller, [PLAIN, GPU0, GPU1])
    start(controller, 0, 1)
    controller.wait_phase(FIRST, STARTED)
    standin.say({**THERE, "GPU-1": (16 * GB, HANGS)})
    wait_has(controller, [PLAIN, [0, 0, 0], [0, 0, 0]])
    wait_text(controller, "who is asked whether it is there does not answer")
    assert agent.pids(FIRST) and len(controller.of("hello")) == 2, "two HELLOs: of before, and now"
    agent.terminate()


def test_a_unit_promises_what_its_device_has(site, standin):
    _, agent = begin(site, standin.rights())
    agent.terminate()
    with open(agent.config) as file:
        text = file.read()
    with open(agent.config, "w") as file:
        file.write(text.replace("devices: [g0]", "gpu_memory: 9 GB, devices: [g0]"))
    status, said = check(agent, *standin.environment())
    assert status == 1, said
    where = next((n, line.index("{name: gpu0") + 1) for n, line in enumerate(text.splitlines(), 1)
                 if "{name: gpu0" in line)
    assert agent.config + ":%d:%d: " % where in said
    assert "unit 1 has 9000000000 B of gpu_memory, but device g0 has 8000000000 B" in said
    agent.start()
    assert agent.process.wait(20) == 1
    with open(agent.config, "w") as file:
        file.write(text)


def test_which_device_is_said(site):
    _, agent = begin(site)
    agent.terminate()
    with open(agent.config) as file:
        text = file.read()
    no_at = "g0 is of kind nvidia, so `at` says which it is: its UUID"
    for one, other, words in ((", at: GPU-0", "", no_at),
                              ("'1'", "GPU-0", "g0 and g1 are one device: both are at GPU-0")):
        with open(agent.config, "w") as file:
            file.write(text.replace(one, other))
        status, said = check(agent)
        assert status == 1 and words in said and ":9:" in said, said
    with open(agent.config, "w") as file:
        file.write(text)
