"""What a switch's agent cannot work with is refused: by one sentence, an exit status that is none
of success, and nothing changed."""

import socket
import subprocess
import threading
import time

import pytest

import test_sonic
import test_switches
from nets import BUILD, Net, needs_root, wait_for
from scripted import Agent

pytestmark = needs_root
needs_redis = test_sonic.pytestmark


def refused(command, *words):
    """The last line says it; there may be others about what is no fault."""
    begin = time.monotonic()
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    lines = said.stderr.splitlines()
    assert said.returncode == 1, said
    assert all(word in lines[-1] for word in words), said.stderr
    assert len([line for line in lines if any(word in line for word in words)]) == 1, "it is said once"
    return time.monotonic() - begin


# ---- SONiC
# -------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def sonic(tmp_path):
    made = test_sonic.Switch(str(tmp_path))
    try:
        yield made
    finally:
        made.end()


SONIC_CASES = {
    "no SONiC": (["DEL", "DEVICE_METADATA|localhost"], {}, ["no SONiC", "DEVICE_METADATA"]),
    "no ports": (["DEL", *["PORT|" + port for port in test_sonic.PORTS]], {}, ["no SONiC", "PORT"]),
    "floors that leave nothing": (["PING"], {"queues": {"floor": "10 %", "unmanaged": "30 %"}}, ["nothing is left to level 0"]),
    "a port's alias": (["PING"], {"switch": {"driver": "sonic", "ports": ["Ethernet*", "Eth1/*"]}}, ["Eth1/*", "switch.ports", "aliases"]),
}


@needs_redis
@pytest.mark.parametrize("case", SONIC_CASES)
def test_a_sonic_that_cannot_be_had_stays(sonic, case):
    command, settings, words = SONIC_CASES[case]
    sonic.do(*command)
    before = sonic.snapshot()
    refused(sonic.agent("--replace", **settings), *words)
    assert sonic.snapshot() == before


@needs_redis
def test_rows_of_another_cluster_stay(sonic):
    agent = sonic.begin()
    agent.kill()
    agent.wait()
    before = sonic.snapshot()
    other = sonic.start(sonic.agent("--replace", name="leaf1-of-others", state=sonic.folder + "/other"))
    wait_for("the other agent", lambda: "leaf1-of-others manages" in sonic.log())
    assert "64 of them without queues of ours" in sonic.log() and "another agent's" in sonic.log()
    assert sonic.snapshot() == before and other.poll() is None
    other.terminate()
    assert other.wait(30) == 0 and sonic.snapshot() == before
    sonic.restore()


# ---- Open vSwitch
# ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def ovs():
    made = test_switches.Switch("tcp://127.0.0.1:7")
    try:
        yield made
    finally:
        made.remove()


def ofctl(ovs, *words):
    return ovs.run("ovs-ofctl", "-O", "OpenFlow13", *words[:1], f"unix:{ovs.folder}/br0.mgmt", *words[1:])


def rows_and_flows(ovs):
    rows = [ovs.run("ovsdb-client", "dump", f"unix:{ovs.folder}/db.sock", "Open_vSwitch", table) for table in ("Bridge", "Port", "QoS", "Queue")]
    return rows, ofctl(ovs, "dump-flows", "--no-stats")


OVS_CASES = {
    "somebody's flows": (lambda ovs: ofctl(ovs, "add-flow", "priority=9,tcp,actions=drop"), "", ["table 0 of bridge br0"]),
    "no such bridge": (lambda ovs: None, ", bridge: br9, openflow: \"unix:{folder}/br0.mgmt\"", ["no bridge br9"]),
    "a table that nobody jumps to": (lambda ovs: ofctl(ovs, "add-flow", "table=7,priority=0,actions=NORMAL"), ", table: 7", ["jumps to table 7"]),
    "TLS without files": (lambda ovs: None, ", openflow: \"ssl:127.0.0.1:6653\"", ["switch.ca"]),
    "floors that leave nothing": (lambda ovs: None, "}}\nqueues: {{floor: 10 %, unmanaged: 30 %", ["nothing is left to level 0"]),
}


@test_switches.needs_openvswitch
@pytest.mark.parametrize("case", OVS_CASES)
def test_an_open_vswitch_that_cannot_be_had_stays(ovs, case):
    plant, more, words = OVS_CASES[case]
    plant(ovs)
    before = rows_and_flows(ovs)
    with open(ovs.config, encoding="utf-8") as file:
        text = file.read()
    if "bridge" in more:
        text = text.replace(", bridge: br0", "")
    with open(ovs.config, "w", encoding="utf-8") as file:
        file.write(text.rstrip().removesuffix("}") + more.format(folder=ovs.folder) + "}\n")
    refused([BUILD + "/duopoly-agent", "--config", ovs.config], *words)
    assert rows_and_flows(ovs) == before


# ---- servers that are none
# ---------------------------------------------------------------------------------------------------------


class Fake:
    """Whoever connects is told `first`, then `then` every `pause_s` seconds."""

    def __init__(self, path, first, then, pause_s):
        self.words, self.pause_s, self.ended = (first, then), pause_s, threading.Event()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(8)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while not self.ended.is_set():
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._speak, args=[peer], daemon=True).start()

    def _speak(self, peer):
        first, then = self.words
        with peer:
            try:
                peer.sendall(first)
                while not self.ended.wait(self.pause_s):
                    peer.sendall(then)
            except OSError:
                pass

    def end(self):
        self.ended.set()
        self.listener.close()


FAKES = {
    "half": (b"", 3600, {"ovs": b'{"id":1,"result":[{"rows":[', "sonic": b"*2\r\n$3\r\nnot"}),
    "late": (b" ", 0.2, {"ovs": b'{"id":1,"result":[{"rows":[', "sonic": b"$1000\r\n"}),
    "without end": (b"x" * 65536, 0, {"ovs": b'{"a":"', "sonic": b"$1000000000\r\n"}),
    "something else": (b"", 3600, {"ovs": b"HTTP/1.1 400 Bad Request\r\n\r\n", "sonic": b"HTTP/1.1 400 Bad Request\r\n\r\n"}),
}


@pytest.mark.parametrize("driver", ["ovs", "sonic"])
@pytest.mark.parametrize("how", FAKES)
def test_a_server_that_is_none_is_left(tmp_path, driver, how):
    then, pause_s, first = FAKES[how]
    path = str(tmp_path / "fake")
    fake = Fake(path, first[driver], then, pause_s)
    config = tmp_path / "agent.yaml"
    more = f', bridge: br0, openflow: "unix:{path}"' if driver == "ovs" else ""
    config.write_text(f"name: sw1\nrole: switch\ncontroller: tcp://127.0.0.1:7\nstate: {tmp_path}/state\nlink: {{rate: 100 Mbps}}\n"
                      f"switch: {{driver: {driver}, at: \"unix:{path}\"{more}}}\n")
    try:
        took = refused([BUILD + "/duopoly-agent", "--config", str(config)], "unix:" + path)
        assert took < 30, "nobody waits long"
    finally:
        fake.end()


# ---- Linux
# -------------------------------------------------------------------------------------------------------------------------


LINUX_CASES = {
    "a driver that there is none of": ("driver: cbq", ["cbq", "auto, htb, prio, ets, mqprio"]),
    "floors that leave nothing": ("floor: 10 %, unmanaged: 30 %", ["nothing is left to level 0"]),
}


@pytest.mark.parametrize("case", LINUX_CASES)
def test_ports_that_cannot_be_had_stay(case):
    queues, words = LINUX_CASES[case]
    net = Net(2)
    try:
        before = net.sw.tc("qdisc", "show")
        agent = Agent(net, net.sw, "tcp://127.0.0.1:7", role="switch", lines=[f"queues: {{{queues}}}"])
        assert agent.process.wait(20) == 1
        last = open(agent.log).read().splitlines()[-1]
        assert all(word in last for word in words), last
        assert net.sw.tc("qdisc", "show") == before
    finally:
        net.remove()


def nothing_is_done(net, queues, *words):
    """Each port is named, with the reason; the agent goes on, so that what changes is seen."""
    before = net.sw.tc("qdisc", "show")
    agent = Agent(net, net.sw, "tcp://127.0.0.1:7", role="switch", lines=[f"queues: {{{queues}}}"])
    wait_for("the agent", lambda: "manages 2 ports (p1 and p2), 2 of them without queues of ours" in open(agent.log).read(), 20)
    for port in ("p1", "p2"):
        said = [line for line in open(agent.log).read().splitlines() if f" {port}" in line and "nothing is done on this port" in line]
        assert len(said) == 1 and all(word in said[0] for word in words), said
    assert [line for line in net.sw.tc("qdisc", "show").splitlines() if "clsact" not in line] == before.splitlines()
    agent.terminate()
    assert net.sw.tc("qdisc", "show") == before


def test_a_nic_that_is_none_is_named():
    net = Net(2)
    try:
        nothing_is_done(net, "driver: mqprio", "mqprio")
    finally:
        net.remove()


@pytest.mark.parametrize("driver", ["prio", "ets", "mqprio"])
def test_a_qdisc_that_this_kernel_has_not_is_named(driver):
    net = Net(2)
    try:
        tried = subprocess.run(["nsenter", "--net=/run/netns/" + net.sw.name, "tc", "qdisc", "add", "dev", "br0", "root", driver,
                                *(["bands", "3"] if driver == "ets" else [])], capture_output=True, text=True)
        if "kind is unknown" not in tried.stderr:
            pytest.skip("this kernel has it: " + tried.stderr)
        nothing_is_done(net, f"driver: {driver}", f"module sch_{driver}")
    finally:
        net.remove()
