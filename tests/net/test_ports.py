"""Ports by patterns, several uplinks, ports that come, go and are renamed, rates of their own: on the real agent."""

import ctypes
import errno
import fcntl
import os
import re
import socket
import struct
import subprocess
import time

import pytest

import tcx
from foreign import snapshot
from nets import BUILD, needs_root, wait_for
from scripted import Controller

pytestmark = needs_root


def add(ns, *names, up=True):
    for name in names:
        ns.ip("link", "add", name, "type", "veth", "peer", "name", "x" + name)
        if up:
            ns.ip("link", "set", name, "up")


def rate(ns, dev):
    """What the port is shaped to, in Mb/s; None: it has no queues of ours."""
    found = re.search(r"class htb d00:\S+ root .*?rate (\d+)([MG])bit", ns.tc("class", "show", "dev", dev))
    return found and int(found[1]) * {"M": 1, "G": 1000}[found[2]]


def ours(ns, dev):
    return rate(ns, dev) is not None and "egress" in tcx.hooked(ns, dev)


def refused(agent, *words):
    assert agent.process.wait(10) == 1
    last = open(agent.log).read().splitlines()[-1]
    assert all(word in last for word in words), last


def test_ports_of_patterns_have_their_rates(site):
    net, begin = site
    add(net.sw, "swp1", "swp2", "swp3", "swp49", "other")
    agent = begin(link='{ports: ["swp[1-2]", "swp4*", p1], rate: 100 Mbps, rates: [{ports: "swp[2-9]", rate: 40 Mbps}, {ports: "swp*9", rate: 0 bps}]}')
    wait_for("queues", lambda: "manages 4 ports" in open(agent.log).read())
    assert {dev: rate(net.sw, dev) for dev in ("swp1", "swp2", "swp3", "swp49", "other", "p1", "p2")} == {
        "swp1": 100, "swp2": 40, "swp3": None, "swp49": 10000, "other": None, "p1": 100, "p2": None}


def test_ports_come_go_and_get_other_names(site):
    net, begin = site
    agent = begin(link='{bridge: br0, ports: ["swp*"], rate: 100 Mbps}', flags=[])
    wait_for("the others' queues", lambda: "manages 2 ports" in open(agent.log).read())
    assert open(agent.log).read().count("there is no interface swp* in this network namespace yet (link.ports)") == 1
    add(net.sw, "swp0")
    wait_for("the queues of the one that came", lambda: ours(net.sw, "swp0"))
    wait_for("the guard", lambda: ours(net.sw, "p2"))

    begin_s = time.monotonic()
    add(net.sw, "swp1")
    wait_for("a port that came by its name", lambda: ours(net.sw, "swp1"), 5)
    add(net.sw, "late", up=False)
    assert not ours(net.sw, "late")
    net.sw.ip("link", "set", "late", "master", "br0")
    wait_for("a port that joined the bridge", lambda: ours(net.sw, "late"), 5)
    print(f"\ntwo ports that came: {time.monotonic() - begin_s:.2f} s together, with the commands")

    net.sw.ip("link", "set", "late", "nomaster")
    wait_for("a port that left", lambda: not ours(net.sw, "late"), 5)
    wait_for("as it was", lambda: not any("htb" in q for q in snapshot(net.sw, "late")["qdiscs"]) and not tcx.hooked(net.sw, "late"), 5)
    net.sw.ip("link", "set", "swp1", "down")
    net.sw.ip("link", "set", "swp1", "name", "swp7")
    wait_for("the record under its new name", lambda: os.path.exists(agent.state + "/queues-swp7"), 5)
    assert ours(net.sw, "swp7") and not os.path.exists(agent.state + "/queues-swp1")
    net.sw.ip("link", "set", "swp7", "name", "else")
    wait_for("a port with a name that is not ours", lambda: not ours(net.sw, "else"), 5)
    net.sw.ip("link", "delete", "swp0")
    wait_for("nothing kept of one that is gone", lambda: not os.path.exists(agent.state + "/queues-swp0"), 5)
    agent.terminate()
    left = "".join(net.sw.tc("qdisc", "show", "dev", dev) for dev in ("p1", "p2", "late", "else"))
    assert "htb" not in left and not any(tcx.hooked(net.sw, dev) for dev in ("p1", "p2", "late", "else"))


def test_what_stands_on_a_port_that_comes_stays_unless_it_may_be_replaced(site):
    net, begin = site
    add(net.sw, "swp0")
    agent = begin(link='{ports: ["swp*"], rate: 100 Mbps}')
    wait_for("queues", lambda: "manages 1 port" in open(agent.log).read())
    add(net.sw, "new")
    net.sw.ip("link", "set", "new", "down")
    net.sw.tc("qdisc", "add", "dev", "new", "root", "handle", "5:", "htb")
    net.sw.ip("link", "set", "new", "name", "swp1")
    wait_for("a word about it", lambda: "swp1 already has a root qdisc" in open(agent.log).read(), 5)
    assert "htb 5:" in net.sw.tc("qdisc", "show", "dev", "swp1") and ours(net.sw, "swp0")
    add(net.sw, "swp2")
    wait_for("the next one", lambda: ours(net.sw, "swp2"), 5)
    assert open(agent.log).read().count("swp1 already has") == 1, "told once"


def test_ports_of_another_configuration_are_left(site):
    net, begin = site
    add(net.sw, "swp1", "swp2")
    agent = begin(link='{ports: ["swp*"], rate: 100 Mbps}')
    wait_for("queues", lambda: "manages 2 ports" in open(agent.log).read())
    agent.kill()
    with open(agent.config) as f:
        text = f.read()
    with open(agent.config, "w") as f:
        f.write(text.replace("swp*", "swp1"))
    agent.start()
    wait_for("queues", lambda: "manages 1 port" in open(agent.log).read())
    assert ours(net.sw, "swp1") and not ours(net.sw, "swp2") and tcx.hooked(net.sw, "swp1") and not tcx.hooked(net.sw, "swp2")


def test_a_host_has_several_uplinks(site):
    net, begin = site
    host = net.hosts[0]
    add(host, "up1")
    controller = Controller(net.hosts[1], f"tcp://{net.hosts[1].address}:7000")
    try:
        agent = begin(host=host, role="host", link='{ports: ["up*"], rate: 100 Mbps, rates: [{ports: up1, rate: 30 Mbps}]}')
        hello = wait_for("the session", lambda: controller.of("hello"))[0]
        assert (rate(host, "up0"), rate(host, "up1")) == (100, 30)
        for dev in ("up0", "up1"):
            assert tcx.hooked(host, dev) == tcx.BOTH
        assert "130000000" in str(hello) and agent.process.poll() is None
    finally:
        controller.stop()


def enter(host, *words):
    return subprocess.run(["nsenter", "--net=/run/netns/" + host.name, *words], capture_output=True, text=True)


def bond(host, mode):
    """bond0 of two links to the same bridge, with the host's address."""
    made = enter(host, "ip", "link", "add", "bond0", "type", "bond", "mode", mode, "miimon", "20")
    if made.returncode:
        pytest.skip("this kernel has no bonding: " + made.stderr)
    for dev in ("up0", "up1"):
        host.ip("addr", "flush", "dev", dev)
        host.ip("link", "set", dev, "down")
        host.ip("link", "set", dev, "master", "bond0")
    host.ip("link", "set", "bond0", "up")
    host.ip("addr", "add", host.address + "/24", "dev", "bond0")


def sent(host, dev):
    """Packets that left by our queues."""
    return sum(int(n) for n in re.findall(r"class htb d00:\S+ parent (?:.*\n)\s*Sent \d+ bytes (\d+) pkt", host.tc("-s", "class", "show", "dev", dev)))


def answers(host, address):
    """Nobody listens there, and says so."""
    with host.inside(), socket.socket() as sock:
        sock.settimeout(1)
        return sock.connect_ex((address, 9)) == errno.ECONNREFUSED


@pytest.mark.guest("host", "uml")
def test_a_bond_has_its_queues_on_its_links_and_keeps_them_when_one_fails(site):
    net, begin = site
    host = net.hosts[0]
    net.sw.ip("link", "add", "p1b", "type", "veth", "peer", "name", "up1", "netns", host.name)
    net.sw.ip("link", "set", "p1b", "master", "br0", "up")
    bond(host, "active-backup")
    agent = begin(link="{ports: [bond0], rate: 3 Mbps}", host=host, name="b1")
    wait_for("queues", lambda: "manages 2 ports" in open(agent.log).read(), 60)
    wait_for("marks", lambda: ours(host, "up0") and ours(host, "up1"), 60)
    assert (rate(host, "up0"), rate(host, "up1"), rate(host, "bond0")) == (3, 3, None)

    for failed, left in (("up0", "up1"), ("up1", "up0")):
        host.ip("link", "set", left, "up")
        host.ip("link", "set", failed, "down")
        wait_for("the other link", lambda: f"Active Slave: {left}" in host.enter("cat", "/proc/net/bonding/bond0"), 30)
        before = sent(host, left)
        wait_for("an answer by it", lambda: answers(host, net.hosts[1].address), 30)
        wait_for("packets in its queues", lambda: sent(host, left) > before, 10)
        assert ours(host, "up0") and ours(host, "up1")
    host.ip("link", "set", "up1", "up")
    host.ip("link", "set", "up1", "nomaster")
    wait_for("a link that left the bond", lambda: not ours(host, "up1"), 30)
    host.ip("link", "set", "up1", "down")
    host.ip("link", "set", "up1", "master", "bond0")
    wait_for("a link that joined it", lambda: ours(host, "up1"), 30)
    assert "somebody" not in open(agent.log).read()
    agent.terminate()
    assert "htb" not in host.tc("qdisc", "show") and not any(tcx.hooked(host, dev) for dev in ("up0", "up1"))


def test_an_agent_waits_for_its_first_port(site):
    net, begin = site
    agent = begin(link='{ports: ["eth7", "eth*"], rate: 100 Mbps}')
    wait_for("it says so", lambda: "no interface eth7, eth* in this network namespace (link.ports): waiting for it" in open(agent.log).read())
    add(net.sw, "eth3")
    wait_for("its queues", lambda: ours(net.sw, "eth3"))


def test_bad_ports_are_refused_in_a_sentence(site):
    net, begin = site
    add(net.sw, "swp1")
    before = net.sw.tc("qdisc", "show")
    for link, words in (('{ports: ["swp[9-1]"], rate: 100 Mbps}', ["swp[9-1]", "pattern"]),
                        ('{bridge: p1, rate: 100 Mbps}', ["p1 is no bridge", "ovs-system"]),
                        ('{rate: 100 Mbps}', ["link.bridge", "link.ports"])):
        refused(begin(link=link), *words)
    assert net.sw.tc("qdisc", "show") == before


def test_a_port_of_another_agent_is_refused(site):
    net, begin = site
    first = begin(name="a1")
    wait_for("queues", lambda: "manages 2 ports" in open(first.log).read())
    before = snapshot(net.sw, "p1"), tcx.standing(net.sw, "p1", "egress")
    for flags in ([], ["--replace"]):
        refused(begin(name="a2", link='{ports: [p1], rate: 50 Mbps}', flags=flags), "p1", "another duopoly-agent")
    add(net.sw, "swp1")
    both = begin(name="a2", link='{ports: [p1, swp1], rate: 50 Mbps}', flags=[])
    wait_for("its own port", lambda: "1 of them without queues of ours" in open(both.log).read())
    assert ours(net.sw, "swp1") and "p1 has the queues of another duopoly-agent" in open(both.log).read()
    both.terminate()
    assert (snapshot(net.sw, "p1"), tcx.standing(net.sw, "p1", "egress")) == before


FAULTS = {
    "somebody's qdisc": (lambda sw: sw.tc("qdisc", "add", "dev", "swp2", "root", "handle", "5:", "pfifo"),
                         lambda sw: sw.tc("qdisc", "del", "dev", "swp2", "root"), "",
                         "swp2 already has a root qdisc of its own (pfifo)"),
    "a rate above its link's": (lambda sw: None, None, ", rates: [{ports: swp2, rate: 20 Gbps}]", "swp2: a rate of 20000000000 bit/s is above the link's own"),
    "too slow": (lambda sw: None, None, ", rates: [{ports: swp2, rate: 9 bps}]", "swp2: a link of 9 bit/s is too slow"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_port_that_cannot_have_queues_is_named_and_all_others_are_served(site, fault):
    spoil, mend, more, words = FAULTS[fault]
    net, begin = site
    add(net.sw, "swp1", "swp2", "swp3")
    spoil(net.sw)
    stood = net.sw.tc("qdisc", "show", "dev", "swp2").splitlines()[0]
    agent = begin(link=f'{{ports: ["swp*"], rate: 100 Mbps{more}}}', flags=[])
    for start in range(2):
        wait_for("the agent", lambda: open(agent.log).read().count("manages 3 ports (swp1, swp2 and swp3), 1 of them without queues of ours") == start + 1)
        assert open(agent.log).read().count(words) >= start + 1
        for dev in ("swp1", "swp3"):
            assert ours(net.sw, dev)
            net.sw.tc("qdisc", "del", "dev", dev, "root")
            wait_for("a repair", lambda: ours(net.sw, dev))
        assert net.sw.tc("qdisc", "show", "dev", "swp2").splitlines()[0] == stood
        if start == 0:
            agent.kill()
            agent.start()
    plan = enter(net.sw, BUILD + "/duopoly-agent", "--config", agent.config, "--plan")
    assert plan.returncode == 1 and words in plan.stdout and "swp1" not in plan.stdout, plan
    check = enter(net.sw, BUILD + "/duopoly-agent", "--config", agent.config, "--check")
    assert check.returncode == 1 and words in check.stderr and "right" not in check.stdout and "swp1" not in check.stderr, check
    if mend:
        mend(net.sw)
        wait_for("its queues", lambda: ours(net.sw, "swp2"))
        wait_for("a word", lambda: "swp2 is in no trouble any more" in open(agent.log).read())
    agent.terminate()
    assert "htb" not in net.sw.tc("qdisc", "show")


def test_who_is_fought_for_one_port_is_left_that_and_all_others_are_guarded(site):
    net, begin = site
    add(net.sw, "swp1", "swp2", "swp3")
    agent = begin(link='{ports: ["swp*"], rate: 100 Mbps}', flags=[])
    wait_for("the agent", lambda: "manages 3 ports" in open(agent.log).read())

    def log():
        with open(agent.log, encoding="utf-8") as said:
            return said.read()
    for n in range(1, 6):
        net.sw.tc("qdisc", "replace", "dev", "swp2", "root", "handle", "7:", "pfifo", "limit", "9")
        wait_for("a repair", lambda: log().count("swp2: somebody changed our queues") == n and ours(net.sw, "swp2"))
    net.sw.tc("qdisc", "replace", "dev", "swp2", "root", "handle", "7:", "pfifo", "limit", "9")
    wait_for("the end", lambda: re.search("swp2: somebody changed our queues.*left as it is after 5 repairs in a minute", log()))
    for _ in range(3):
        for dev in ("swp1", "swp3"):
            net.sw.tc("qdisc", "del", "dev", dev, "root")
            wait_for("a repair", lambda: ours(net.sw, dev))
    assert "pfifo 7: root" in net.sw.tc("qdisc", "show", "dev", "swp2") and log().count("left as it is after") == 1
    add(net.sw, "swp4")
    wait_for("the queues of one that came", lambda: ours(net.sw, "swp4"))
    tcx.detach(net.sw, "swp1", "egress")
    wait_for("a program", lambda: ours(net.sw, "swp1"))
    assert "pfifo 7: root" in net.sw.tc("qdisc", "show", "dev", "swp2")


def test_a_port_that_vanished_is_named_and_all_others_are_served(site):
    net, begin = site
    add(net.sw, "swp1", "swp2")
    agent = begin(link='{ports: [swp1, swp2, swp3], rate: 100 Mbps}', flags=[])
    wait_for("the agent", lambda: "manages 2 ports" in open(agent.log).read())
    net.sw.ip("link", "delete", "swp2")
    wait_for("a word about it", lambda: "there is no interface swp2, swp3 in this" in open(agent.log).read())
    agent.kill()
    agent.start()
    wait_for("the agent", lambda: "manages 1 port (swp1)" in open(agent.log).read())
    net.sw.tc("qdisc", "del", "dev", "swp1", "root")
    wait_for("a repair", lambda: ours(net.sw, "swp1"))
    add(net.sw, "swp2")
    wait_for("the queues of the one that came back", lambda: ours(net.sw, "swp2"))


def test_all_ports_fail_and_the_agent_goes_on(site):
    net, begin = site
    before = net.sw.tc("qdisc", "show")
    agent = begin(link='{bridge: br0, rate: 20 Gbps}', flags=[])
    wait_for("the agent", lambda: "2 of them without queues of ours" in open(agent.log).read())
    assert [line for line in net.sw.tc("qdisc", "show").splitlines() if "clsact" not in line] == before.splitlines()
    add(net.sw, "fast")
    net.sw.ip("link", "set", "fast", "master", "br0")
    wait_for("a word of a third", lambda: "fast: a rate of" in open(agent.log).read())
    assert agent.process.poll() is None


class Tap:
    """A link with the carrier and the speed that it is given (Mb/s; None: it does not say)."""

    def __init__(self, ns, name):
        self.name = name.encode()
        with ns.inside():
            self.file = open("/dev/net/tun", "r+b", buffering=0)
            fcntl.ioctl(self.file, 0x400454ca, struct.pack("16sH22x", self.name, 0x1002))  # TUNSETIFF: IFF_TAP | IFF_NO_PI
            self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def _ethtool(self, question):
        at = ctypes.create_string_buffer(bytes(question), len(question))
        fcntl.ioctl(self.sock, 0x8946, struct.pack("16sP16x", self.name, ctypes.addressof(at)))  # SIOCETHTOOL
        return bytearray(at.raw)

    def speed(self, mbps):
        words = 0
        for _ in range(2):  # the kernel says how many words of modes it has
            question = bytearray(struct.pack("I11xb32x", 0x4c, words)) + bytearray(12 * 127)  # ETHTOOL_GLINKSETTINGS
            answer = self._ethtool(question)
            words = abs(struct.unpack_from("b", answer, 15)[0])
        struct.pack_into("II", answer, 0, 0x4d, 0xffffffff if mbps is None else mbps)  # ETHTOOL_SLINKSETTINGS
        self._ethtool(answer)

    def carrier(self, on):
        fcntl.ioctl(self.file, 0x400454e2, struct.pack("i", on))  # TUNSETCARRIER

    def close(self):
        self.file.close()
        self.sock.close()


@pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="no /dev/net/tun")
def test_a_link_that_is_down_and_does_not_say_its_speed_gets_queues_when_it_is_up(site):
    net, begin = site
    sw = net.sw
    add(sw, "ra1")
    tap = Tap(sw, "ra2")
    try:
        tap.carrier(0)
        tap.speed(None)
        sw.ip("link", "set", "ra2", "up")
        agent = begin(link='{ports: ["ra[0-9]"]}')
        wait_for("the queues of the link that is up", lambda: ours(sw, "ra1"))
        assert rate(sw, "ra2") is None and not re.search(r"qdisc htb", sw.tc("qdisc", "show", "dev", "ra2"))
        assert "ra2: " in open(agent.log).read() and "the link is down" in open(agent.log).read()
        sw.ip("link", "set", "ra1", "alias", "a")  # the guard looks, and finds nothing to say of ra2
        tap.speed(1000)
        tap.carrier(1)
        wait_for("the queues of the link that came up", lambda: rate(sw, "ra2") == 1000)
        tap.carrier(0)
        tap.speed(None)
        sw.ip("link", "set", "ra2", "alias", "b")
        agent.kill()
        agent.start()  # as it stood, while it is down
        wait_for("the agent", lambda: open(agent.log).read().count("manages 2 ports") == 2)
        assert rate(sw, "ra2") == 1000 and "changed our queues" not in open(agent.log).read()
    finally:
        tap.close()
