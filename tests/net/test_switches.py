"""Switches from the operator's side: an Open vSwitch of the test's own, its agent, the controller, and duopolyctl between them."""

import os
import shutil
import subprocess
import tempfile
import time

import pytest

from controller import Daemon
from nets import BUILD, Namespace, needs_root, wait_for

needs_openvswitch = pytest.mark.skipif(not os.path.exists("/usr/sbin/ovs-vswitchd"), reason="openvswitch-switch is not installed")
PORTS, ROWS = 3, 3 * 11 + 23


class Switch:
    """ovsdb-server and ovs-vswitchd on a data path that is none, and the agent that manages them."""

    def __init__(self, controller, space=None):
        """space: a namespace with p0, p1 … as interfaces, for a data path in user space instead of one that is none."""
        self.space = space
        self.folder = tempfile.mkdtemp(prefix="duopoly-switch-")
        self.children = {}
        self.run("ovsdb-tool", "create", self.folder + "/conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
        self.start("database", "/usr/sbin/ovsdb-server", self.folder + "/conf.db", f"--remote=punix:{self.folder}/db.sock",
                   f"--unixctl={self.folder}/database.ctl")
        init = ["ovs-vsctl", f"--db=unix:{self.folder}/db.sock", "--no-wait", "init"]
        wait_for("the database", lambda: subprocess.run(init, capture_output=True, timeout=30).returncode == 0)
        self.start_vswitchd()
        words = ["add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=" + ("netdev" if space else "dummy")]
        for i in range(PORTS):
            words += ["--", "add-port", "br0", f"p{i}", "--", "set", "interface", f"p{i}", "type=" + ("system" if space else "dummy")]
        self.vsctl(*words)
        self.config = self.folder + "/agent.yaml"
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f"name: sw1\nrole: switch\ncontroller: {controller}\nstate: {self.folder}/state\nlink: {{rate: 100 Mbps}}\n"
                       f"switch: {{driver: ovs, bridge: br0, at: \"unix:{self.folder}/db.sock\"}}\n")

    def run(self, *words):
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=30).stdout

    def vsctl(self, *words):
        return self.run("ovs-vsctl", f"--db=unix:{self.folder}/db.sock", *words)

    def start(self, name, *words):
        with open(f"{self.folder}/{name}.log", "a", encoding="utf-8") as log:
            begin = self.space.popen if self.space and name == "vswitchd" else lambda *words, **more: subprocess.Popen(words, **more)
            self.children[name] = begin(*words, stdout=log, stderr=log, env={**os.environ, "OVS_RUNDIR": self.folder})

    def start_vswitchd(self):
        self.start("vswitchd", "/usr/sbin/ovs-vswitchd", f"unix:{self.folder}/db.sock", *([] if self.space else ["--enable-dummy=override"]),
                   "--disable-system", f"--unixctl={self.folder}/vswitchd.ctl")

    def start_agent(self, *words):
        self.start("agent", BUILD + "/duopoly-agent", "--config", self.config, *words)

    def kill(self, name):
        child = self.children.pop(name)
        child.kill()
        child.wait()

    def flows(self):
        shown = subprocess.run(["ovs-ofctl", "-O", "OpenFlow13", "dump-flows", f"unix:{self.folder}/br0.mgmt"], capture_output=True, text=True,
                               timeout=30, check=False).stdout
        return shown.count("set_queue")

    def log(self):
        with open(self.folder + "/agent.log", encoding="utf-8") as log:
            return log.read()

    def has_ours(self, port):
        row = self.vsctl("get", "port", port, "qos").strip()
        return row != "[]" and "duopoly=sw1" in self.vsctl("get", "qos", row, "external_ids")

    def rows(self):
        return self.vsctl("--columns=_uuid", "list", "qos").count("uuid")

    def is_right(self):
        return (self.rows(), self.flows()) == (PORTS, 23)

    def is_bare(self):
        return (self.rows(), self.flows()) == (0, 0)

    def remove(self):
        for name in list(self.children)[::-1]:
            self.kill(name)
        shutil.rmtree(self.folder)


@pytest.fixture
def site():
    daemon = Daemon()
    switch = Switch(daemon.address)
    try:
        yield daemon, switch
    finally:
        switch.remove()
        daemon.remove()


def shown(daemon):
    rows = daemon.ctl("switches")["switches"]
    return rows[0] if rows else None


def begin_watching(daemon, switch):
    """The agent looks at its switch, and leaves it as it is."""
    daemon.ctl("stance", "observe", "--all")
    switch.start_agent()
    wait_for("the switch", lambda: shown(daemon) and shown(daemon)["stance"] == "observe" and shown(daemon)["steps"] == ROWS)


@needs_root
@needs_openvswitch
def test_an_operator_looks_tries_keeps_and_takes_back(site):
    daemon, switch = site
    begin_watching(daemon, switch)
    assert switch.is_bare(), "looking changes nothing"
    row = shown(daemon)
    assert (row["driver"], row["port_count"], row["state"]) == ("ovs", PORTS, "up") and row["differs_ns"] > 0 and row["confirm_ns"] is None
    said = daemon.ctl("switch", "sw1")
    assert [(p["name"], p["rate_bps"], p["queues"]) for p in said["ports"]] == [(f"p{i}", 10 ** 8, 10) for i in range(PORTS)]
    for_people = subprocess.run([BUILD + "/duopolyctl", "-s", daemon.socket, "switch", "sw1"], capture_output=True, text=True, check=True)
    assert "p0   100.0 Mbit/s" in for_people.stdout
    plan = daemon.ctl("switch", "sw1", "plan")["plan"]
    assert len(plan) == ROWS and plan[0] == {"verb": "add", "port": "p0", "text": "linux-htb at 100.0 Mbit/s"}

    daemon.ctl("switch", "sw1", "apply", "--confirm", "2 s")
    wait_for("our queues", switch.is_right)
    assert shown(daemon)["confirm_ns"] is not None
    assert "waits for a confirmation" in daemon.ctl("switch", "sw1", "apply", "--confirm", "2 s", expect=1), "twice at once"
    wait_for("what was there", switch.is_bare, 10)

    daemon.ctl("switch", "sw1", "apply", "--confirm", "60 s")
    wait_for("our queues", switch.is_right)
    daemon.ctl("switch", "sw1", "apply")
    wait_for("the confirmation", lambda: shown(daemon)["confirm_ns"] is None and shown(daemon)["steps"] == 0)
    assert switch.is_right() and shown(daemon)["differs_ns"] is None

    switch.kill("vswitchd")
    switch.start_vswitchd()
    wait_for("what it forgot", switch.is_right, 10)
    switch.vsctl("clear", "port", "p1", "qos")
    wait_for("what somebody took", lambda: "[]" not in switch.vsctl("get", "port", "p1", "qos"), 10)

    daemon.ctl("switch", "sw1", "restore")
    wait_for("what was there", switch.is_bare, 10)
    wait_for("the plan", lambda: shown(daemon)["steps"] == ROWS)


@needs_root
@needs_openvswitch
def test_a_trial_ends_without_the_controller(site):
    daemon, switch = site
    begin_watching(daemon, switch)
    daemon.ctl("switch", "sw1", "apply", "--confirm", "3 s")
    wait_for("our queues", switch.is_right)
    daemon.kill()
    wait_for("what was there", switch.is_bare, 15)


@needs_root
@needs_openvswitch
def test_a_killed_agents_queues_are_taken_back(site):
    daemon, switch = site
    switch.start_agent()
    wait_for("our queues", switch.is_right)
    switch.kill("agent")
    assert switch.is_right()
    switch.run(BUILD + "/duopoly-agent", "--config", switch.config, "--restore")
    assert switch.is_bare()


@needs_root
@needs_openvswitch
def test_two_trials_at_once_are_one(site):
    daemon, switch = site
    begin_watching(daemon, switch)
    command = [BUILD + "/duopolyctl", "--socket", daemon.socket, "switch", "sw1", "apply", "--confirm", "60s"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = "".join(one.communicate(timeout=30)[1] for one in both)
    assert sorted(one.returncode for one in both) == [0, 1], said
    assert "waits for a confirmation" in said and said.count("\n") == 1
    wait_for("our queues", switch.is_right)


@needs_root
@needs_openvswitch
def test_words_that_make_no_sense_are_refused(site):
    daemon, _ = site
    assert "there is no switch nobody" in daemon.ctl("switch", "nobody", expect=5)
    for words in (("a/b",), ("sw1", "dance"), ("sw1", "plan", "--confirm", "60 s"), ("sw1", "apply", "--confirm", "soon"),
                  ("sw1", "apply", "--confirm", "2 h"), ("sw1", "apply", "--undo"), ("sw1", "render"), ("sw1", "render", "--as", "ios"),
                  ("sw1", "render", "--as", "ios", "--from", "x")):
        daemon.ctl("switch", *words, expect=2)


@needs_root
@needs_openvswitch
def test_what_its_agent_says_is_rendered_as_a_description_is(site, tmp_path):
    daemon, switch = site
    assert "there is no switch sw1" in daemon.ctl("switch", "sw1", "render", "--as", "eos", expect=5)
    with open(switch.config, "a", encoding="utf-8") as file:
        file.write("queues: {floor: 2 %, unmanaged: 5 %, ecn_packets: 30}\n")
    begin_watching(daemon, switch)
    description = tmp_path / "sw1.yaml"
    description.write_text(f"ports: [{', '.join(f'p{i}' for i in range(PORTS))}]\nrate: 100 Mbps\nfloor: 2 %\nunmanaged: 5 %\necn_packets: 30\n")
    for words in ([form, *undo] for form in ("eos", "nvue", "openconfig") for undo in ([], ["--undo"])):
        asked = daemon.ctl("switch", "sw1", "render", "--as", *words)
        assert asked == daemon.ctl("switch", "sw1", "render", "--as", *words, "--from", description)
        assert "p0" in str(asked) and "p2" in str(asked)
    assert "site" in daemon.ctl("switch", "sw1", "render", "--as", "sonic-patch", expect=1)
    switch.vsctl("add-port", "br0", "p0;reload", "--", "set", "interface", "p0;reload", "type=dummy")
    wait_for("the fourth port", lambda: shown(daemon)["port_count"] == PORTS + 1)
    assert "'p0;reload' is no name" in daemon.ctl("switch", "sw1", "render", "--as", "eos", expect=1)


@needs_root
@needs_openvswitch
def test_ports_that_are_not_there_yet_are_named_and_get_queues_when_they_come(site):
    daemon, switch = site
    with open(switch.config, encoding="utf-8") as file:
        text = file.read()
    with open(switch.config, "w", encoding="utf-8") as file:
        file.write(text.replace("bridge: br0", 'ports: ["px*"], bridge: br0') + "queues: {on_change: yield}\n")
    switch.start_agent()
    wait_for("the word", lambda: shown(daemon) and "no port yet" in shown(daemon)["text"])
    assert "px*" in shown(daemon)["text"] and shown(daemon)["port_count"] == 0 and switch.rows() == 0
    for i in (1, 2):
        begin = time.monotonic()
        switch.vsctl("add-port", "br0", f"px{i}", "--", "set", "interface", f"px{i}", "type=dummy")
        wait_for("its queues", lambda: switch.rows() == i)
        print(f"\npx{i}: {time.monotonic() - begin:.2f} s")
    wait_for("no more to say", lambda: shown(daemon)["port_count"] == 2 and not shown(daemon)["text"])
    with open(switch.folder + "/agent.log", encoding="utf-8") as log:
        assert "somebody" not in log.read()


def plant(switch, port, *words):
    switch.vsctl("set", "port", port, "qos=@q", "--", "--id=@q", "create", "qos", *words)


OTHERS = {
    "somebody's": (["type=linux-sfq"], "p1 has a QoS of its own (linux-sfq): run with --replace"),
    "another agent's": (["type=linux-htb", "external_ids:duopoly=of-others", "external_ids:duopoly-port=p1"], "p1 has queues of another agent, of-others"),
}


@needs_root
@needs_openvswitch
@pytest.mark.parametrize("whose", OTHERS)
def test_a_port_that_is_others_is_named_and_all_others_are_served(site, whose):
    daemon, switch = site
    words, said = OTHERS[whose]
    plant(switch, "p1", *words)
    before = switch.vsctl("get", "port", "p1", "qos")
    for _ in range(2):
        switch.start_agent()
        wait_for("the others' queues", lambda: switch.has_ours("p0") and switch.has_ours("p2") and switch.flows() == 23)
        for port in ("p0", "p2"):
            switch.vsctl("clear", "port", port, "qos")
            wait_for("a repair", lambda: switch.has_ours(port))
        assert switch.vsctl("get", "port", "p1", "qos") == before
        switch.kill("agent")
    switch.start_agent()
    named = "1 of 3 ports has no queues of ours"
    wait_for("its name", lambda: (now := shown(daemon)) and said in now["text"] and named in now["text"] and now["steps"] == 0)
    ports = {port["name"]: port for port in daemon.ctl("switch", "sw1")["ports"]}
    assert ports["p1"]["queues"] is None and said in ports["p1"]["text"] and ports["p0"]["queues"] == 10
    # The words above may be the killed agent's.
    wait_for("its host's word", lambda: said in daemon.ctl("hosts")["hosts"][0]["text"])
    rows = daemon.ctl("queues")["queues"]
    assert [(row["name"], row["port"]) for row in rows] == [("sw1", f"p{i}") for i in range(PORTS)]
    assert rows[1]["queues"].startswith("none: " + said) and rows[2]["queues"].startswith("ovs") and rows[2]["rate_bps"] == 10 ** 8
    assert switch.log().count(said) >= 3 and "manages 3 ports (p0, p1 and p2), 1 of them without queues of ours" in switch.log()
    plan = subprocess.run([BUILD + "/duopoly-agent", "--config", switch.config, "--plan"], capture_output=True, text=True, timeout=60, check=False)
    assert plan.returncode == 1 and said in plan.stdout, plan
    switch.vsctl("clear", "port", "p1", "qos")
    wait_for("its queues", lambda: switch.has_ours("p1"))
    wait_for("no more to say", lambda: not shown(daemon)["text"] and daemon.ctl("queues")["queues"][1]["queues"].startswith("ovs"))
    assert "p1 is in no trouble any more" in switch.log()


@needs_root
@needs_openvswitch
def test_who_is_fought_for_one_port_is_left_that_and_all_others_are_guarded(site):
    daemon, switch = site
    switch.start_agent()
    wait_for("our queues", switch.is_right)
    for n in range(1, 6):
        switch.vsctl("clear", "port", "p1", "qos")
        wait_for("a repair", lambda: switch.log().count("p1: somebody changed our queues") == n and switch.has_ours("p1"))
    plant(switch, "p1", "type=linux-sfq")
    theirs = switch.vsctl("get", "port", "p1", "qos")
    wait_for("the end", lambda: "left as it is after 5 repairs in a minute" in switch.log())
    for port in ("p0", "p2", "p0"):
        switch.vsctl("clear", "port", port, "qos")
        wait_for("a repair", lambda: switch.has_ours(port))
    assert switch.vsctl("get", "port", "p1", "qos") == theirs
    wait_for("its name", lambda: "p1: what somebody made of our queues is left as it is" in shown(daemon)["text"])
    switch.vsctl("clear", "port", "p1", "qos")
    daemon.ctl("stance", "observe", "--all")
    daemon.ctl("stance", "enforce", "--all")
    wait_for("our queues, after a new word", lambda: switch.has_ours("p1"))


@needs_root
@needs_openvswitch
def test_an_interface_that_open_vswitch_cannot_use_is_named_and_all_others_are_served():
    daemon, space = Daemon(), Namespace(f"dpo{os.getpid()}")
    switch = None
    try:
        for i in range(PORTS - 1):
            space.ip("link", "add", f"p{i}", "type", "veth", "peer", "name", f"x{i}")
            space.ip("link", "set", f"p{i}", "up")
        switch = Switch(daemon.address, space)
        switch.start_agent()
        wait_for("the others' queues", lambda: switch.has_ours("p0") and switch.has_ours("p1") and switch.flows() == 23, 20)
        wait_for("its name", lambda: shown(daemon) and "p2: Open vSwitch cannot use interface p2: could not open network device p2" in shown(daemon)["text"])
        switch.vsctl("clear", "port", "p1", "qos")
        wait_for("a repair", lambda: switch.has_ours("p1"))
        assert not switch.has_ours("p2")
        space.ip("link", "add", "p2", "type", "veth", "peer", "name", "x2")
        wait_for("the queues of the one that came", lambda: switch.has_ours("p2"), 20)
        space.ip("link", "delete", "p0")
        switch.kill("vswitchd")
        switch.start_vswitchd()
        wait_for("the name of the one that went", lambda: "p0: Open vSwitch cannot use interface p0" in shown(daemon)["text"], 20)
        switch.vsctl("clear", "port", "p2", "qos")
        wait_for("a repair", lambda: switch.has_ours("p2") and switch.flows() == 23)
    finally:
        if switch:
            switch.remove()
        space.remove()
        daemon.remove()
