"""Queues on real ports: hostagent/queues/queues.c and htb_nl.c, with the classes that the marks
choose."""

import json
import os
import re
import select
import socket
import threading
import time

import pytest

from foreign import snapshot
from nets import Capture, connection, needs_root, pass_bytes, wait_for

pytestmark = needs_root
LINK = 100_000_000
PORT = 20_000_000 if os.environ.get("GUEST") else LINK  # of the switch: what a guest can fill
CLASSES = [f"d00:{1 + traffic:x}" for traffic in range(10)]  # control, levels 0 to 7, unmanaged
CONTROL, UNMANAGED, ROOT = CLASSES[0], CLASSES[-1], "d00:ff"


def dscp(level):
    return 4 * level + 3


def bits(text):
    number, unit = re.fullmatch(r"(\d+)([KMG]?)bit", text).groups()
    return int(number) * {"": 1, "K": 1000, "M": 10 ** 6, "G": 10 ** 9}[unit]


def classes(ns, dev):
    """Class id -> what tc says of it (whose HTB classes have no JSON)."""
    found = {}
    for block in ns.tc("-s", "class", "show", "dev", dev).split("\n\n"):
        head = re.match(r"class htb (\S+)(?: .*?prio (\d+))? .*?rate (\S+) ceil (\S+)", block)
        if head:
            found[head[1]] = {"prio": int(head[2] or 0), "rate": bits(head[3]), "ceil": bits(head[4]),
                              "packets": int(re.search(r"bytes (\d+) pkt", block)[1])}
    return found


def packets(ns, dev):
    return {handle: c["packets"] for handle, c in classes(ns, dev).items() if handle in CLASSES}


def rose(ns, dev, what, least=5):
    """The classes that get `least` packets while what() runs (the kernel itself sends one now and
    then)."""
    before = packets(ns, dev)
    what()
    after = packets(ns, dev)
    return {handle for handle in after if after[handle] >= before[handle] + least}


@pytest.mark.guest("host", "qemu")
def test_tree_of_the_design(net):
    agent = net.agent(net.hosts[0], cgroup=net.cgroup("a"))
    assert agent.opened.startswith("ok"), agent.opened
    tc = classes(net.hosts[0], "up0")
    assert sorted(tc) == sorted(CLASSES + [ROOT])
    rates = {handle: c["rate"] for handle, c in tc.items()}
    assert sum(rates[h] for h in CLASSES) == LINK == rates[ROOT]
    assert all(c["ceil"] == LINK for c in tc.values())
    assert [tc[h]["prio"] for h in CLASSES] == [0, 0, 1, 2, 3, 4, 5, 6, 7, 7]
    leaves = {q["parent"]: q for q in json.loads(net.hosts[0].tc("-j", "qdisc", "show", "dev", "up0")) if "parent" in q}
    assert all(leaves[h]["kind"] == "pfifo" and leaves[h]["options"]["limit"] == 100 for h in CLASSES)


def test_one_level_is_one_queue_as_long_as_eight(net):
    group = net.cgroup("a")
    task = net.cgroup("t", group)
    agent = net.agent(net.hosts[0], cgroup=group, levels=1)
    assert agent.opened.startswith("ok"), agent.opened
    tc = classes(net.hosts[0], "up0")
    assert sorted(tc) == [CONTROL, CLASSES[1], UNMANAGED, ROOT]
    leaves = {q["parent"]: q for q in json.loads(net.hosts[0].tc("-j", "qdisc", "show", "dev", "up0")) if "parent" in q}
    assert leaves[CLASSES[1]]["options"]["limit"] == 800
    agent.do("lease_ms 60000")
    agent.do(f"levels {task.id} 6 6")
    made = connection(net, net.hosts[0], net.hosts[1], task)
    assert rose(net.hosts[0], "up0", lambda: pass_bytes(made[0], made[1], 20_000)) == {CLASSES[1]}


@pytest.mark.guest("host", "uml")
def test_foreign_root_is_refused_replaced_and_put_back_exactly(net):
    host = net.hosts[0]
    before = {}
    for kind, argv in (("tbf", ["handle", "77:", "tbf", "rate", "93mbit", "burst", "17kb", "limit", "123kb"]),
                       ("tbf peak", ["tbf", "rate", "80mbit", "burst", "20kb", "latency", "31ms", "peakrate", "99mbit", "mtu", "1600"]),
                       ("tbf pfifo", ["handle", "5:", "tbf", "rate", "100mbit", "burst", "16kb", "limit", "50kb"]),
                       ("pfifo", ["pfifo", "limit", "33"])):
        host.tc("qdisc", "replace", "dev", "up0", "root", *argv)
        if kind == "tbf pfifo":
            host.tc("qdisc", "add", "dev", "up0", "parent", "5:1", "handle", "6:", "pfifo", "limit", "77")
        before[kind] = host.tc("-d", "qdisc", "show", "dev", "up0")
        refused = net.agent(host, cgroup=net.cgroup("a"))
        assert refused.opened.startswith("error") and "--replace" in refused.opened and "up0" in refused.opened
        assert host.tc("-d", "qdisc", "show", "dev", "up0") == before[kind], "a refusal changes nothing"
        agent = net.agent(host, cgroup=net.cgroup("a"), replace=True)
        assert agent.opened.startswith("ok"), agent.opened
        assert "htb" in host.tc("qdisc", "show", "dev", "up0") and "tbf" not in host.tc("qdisc", "show", "dev", "up0")
        # Killed, and restored by another run from the record on disk.
        agent.kill()
        again = net.agent(host, cgroup=net.cgroup("a"), replace=True)
        assert again.opened.startswith("ok"), again.opened
        again.do("restore")
        assert host.tc("-d", "qdisc", "show", "dev", "up0") == before[kind]
        host.tc("qdisc", "delete", "dev", "up0", "root")


def test_a_port_that_refuses_keeps_what_it_had_and_all_others_are_served(net):
    net.sw.tc("qdisc", "add", "dev", "p3", "root", "handle", "9:", "htb")
    net.sw.tc("filter", "add", "dev", "p3", "parent", "9:", "bpf", "bytecode", "1,6 0 0 4294967295", "flowid", "9:1")
    before = snapshot(net.sw, "p3")
    agent = net.agent(net.sw, ports="p1,p2,p3", role="switch", replace=True)
    assert agent.opened.startswith("error") and "p3" in agent.opened, agent.opened
    assert snapshot(net.sw, "p3") == before
    agent = net.agent(net.sw, ports="p1,p2,nowhere", role="switch", replace=True)
    assert agent.opened.startswith("error") and "nowhere" in agent.opened, agent.opened
    assert all(ROOT in classes(net.sw, port) for port in ("p1", "p2"))


def test_a_changed_configuration_changes_classes_in_place(net):
    agent = net.agent(net.hosts[0], cgroup=net.cgroup("a"))
    agent.kill()
    changed = net.agent(net.hosts[0], cgroup=net.cgroup("a"), link_bps=50_000_000)
    assert changed.opened.startswith("ok"), changed.opened
    tc = classes(net.hosts[0], "up0")
    assert tc[ROOT]["rate"] == 50_000_000 and sum(tc[h]["rate"] for h in CLASSES) == 50_000_000


@pytest.mark.guest("host", "uml")
def test_every_kind_of_packet_finds_its_class_on_host_and_switch(net):
    h1, h2, _ = net.hosts
    group = net.cgroup("a")
    task = net.cgroup("t", group)
    agent = net.agent(h1, cgroup=group)
    switch = net.agent(net.sw, ports="p1,p2,p3", role="switch")
    assert agent.opened.startswith("ok") and switch.opened.startswith("ok"), agent.opened + switch.opened
    agent.do("lease_ms 60000")
    out = Capture(net.hosts[1], "up0")
    made = connection(net, h1, h2, task)
    plain = connection(net, h1, h2)
    for level in range(8):
        agent.do(f"levels {task.id} {level} {level}")
        seen = set()
        assert rose(h1, "up0", lambda: seen.update(
            rose(net.sw, "p2", lambda: pass_bytes(made[0], made[1], 20_000)))) == {CLASSES[1 + level]}
        assert seen == {CLASSES[1 + level]}
        assert {p.dscp for p in out.read() if p.payload} == {dscp(level)}
        out.clear()
        # Acknowledgements do not wait for content, but bear the mark that the other end follows.
        seen = set()
        assert rose(h1, "up0", lambda: seen.update(
            rose(net.sw, "p2", lambda: pass_bytes(made[1], made[0], 300_000)))) == {CLASSES[1]}
        assert seen == {CLASSES[1]}
        assert {p.dscp for p in out.read() if not p.payload and p.sport == made[0].getsockname()[1]} == {dscp(level)}
        out.clear()
    assert rose(h1, "up0", lambda: pass_bytes(plain[0], plain[1], 20_000)) == {UNMANAGED}
    assert rose(net.sw, "p2", lambda: pass_bytes(plain[0], plain[1], 20_000)) == {UNMANAGED}
    control = connection(net, h1, h2, port=7000)
    control[0].setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 48 << 2)
    assert rose(h1, "up0", lambda: pass_bytes(control[0], control[1], 20_000)) == {CONTROL}
    assert rose(net.sw, "p2", lambda: pass_bytes(control[0], control[1], 20_000)) == {CONTROL}

    for s in (*made, *plain, *control):
        s.close()
    arp = packets(h1, "up0")[CONTROL]
    with h1.inside():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b"x", ("10.99.0.77", 9))
    wait_for("ARP in the control class", lambda: packets(h1, "up0")[CONTROL] > arp)
    nd = packets(h1, "up0")[CONTROL]
    with h1.inside():
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.sendto(b"x", ("fd99::77", 9))
    wait_for("neighbour discovery in the control class", lambda: packets(h1, "up0")[CONTROL] > nd)


def test_switch_port_maps_dscp_and_touches_nothing_inside_the_domain(net):
    """A packet passes the switch with its DSCP and ECN bits as they came; one that leaves the
    domain is bleached."""
    h1, h2, _ = net.hosts
    switch = net.agent(net.sw, ports="p1,p2,p3", role="switch", members="10.99.0.0/24")
    assert switch.opened.startswith("ok"), switch.opened
    out = Capture(h2, "up0")
    with h1.inside():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for tos in (dscp(3) << 2, dscp(7) << 2 | 1, 46 << 2 | 2, 3, 48 << 2):
        out.clear()
        s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        s.sendto(b"x", ("10.99.0.2", 4446))
        assert wait_for("datagram", lambda: [p for p in out.read() if p.dport == 4446])[0].tos == tos
        out.clear()
        s.sendto(b"x", ("10.98.0.2", 4446))
        expected = tos & 3 if tos >> 2 in map(dscp, range(8)) else tos
        found = wait_for("datagram", lambda: [p for p in out.read() if p.dport == 4446])[0]
        assert (found.tos, found.checksum_right) == (expected, True)


class Pump:
    """Keeps connections full and counts what arrives on each, in one thread."""

    def __init__(self):
        self.poll = select.poll()
        self.sockets, self.got, self.senders = {}, {}, {}
        self.stopping = False
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def add(self, sender, receiver):
        """The number of a stream from `sender` to `receiver`."""
        for sock, event in ((sender, select.POLLOUT), (receiver, select.POLLIN)):
            sock.setblocking(False)
            self.sockets[sock.fileno()] = sock
            self.got[sock.fileno()] = 0
            self.poll.register(sock, event)
        self.senders[receiver.fileno()] = sender
        return receiver.fileno()

    def pause(self, stream):
        """Nothing more is sent to this receiver."""
        self.poll.unregister(self.senders[stream])

    def resume(self, stream):
        self.poll.register(self.senders[stream], select.POLLOUT)

    def _run(self):
        data = b"x" * 16384
        while not self.stopping:
            for fd, event in self.poll.poll(20):
                try:
                    if event & select.POLLIN:
                        self.got[fd] += len(self.sockets[fd].recv(1 << 20))
                    elif event & select.POLLOUT:
                        self.sockets[fd].send(data)
                except OSError:
                    pass

    def rate_bps(self, streams, seconds):
        """Of one stream, or of several together."""
        streams = [streams] if isinstance(streams, int) else streams
        start, at = sum(self.got[s] for s in streams), time.monotonic()
        threading.Event().wait(seconds)
        return (sum(self.got[s] for s in streams) - start) * 8 / (time.monotonic() - at)

    def stop(self):
        self.stopping = True
        self.thread.join()
        for sock in self.sockets.values():
            sock.close()


class Bottleneck:
    """Tasks on h3 fetch from h1 and h2 through the switch, so that the port to h3 is where levels
    meet. leaf_packets: of the switch's queues; with `nudge` h3 wakes the senders of what it
    promotes; `control`: congestion control of all; without `switch` its queues are somebody else's
    affair."""

    def __init__(self, net, leaf_packets=100, nudge=False, control=b"cubic", switch=True):
        self.net, self.control, self.listener = net, control, {}
        self.root = net.cgroup("root")
        self.agents = [net.agent(h, cgroup=self.root if h == net.hosts[2] else net.cgroup("r" + h.name), nudge=nudge)
                       for h in net.hosts]
        if switch:
            self.agents.append(net.agent(net.sw, ports="p1,p2,p3", role="switch", leaf_packets=leaf_packets))
        for agent in self.agents:
            assert agent.opened.startswith("ok"), agent.opened
            agent.do("lease_ms 600000")
        self.here = self.agents[2]
        self.pump = Pump()  # last: a thread outlives a test that fails above

    def task(self, name, coflow, macroflow):
        group = self.net.cgroup(name, self.root)
        self.here.do(f"levels {group.id} {coflow} {macroflow}")
        return group

    def open(self, task, source):
        opened, accepted, self.listener[source] = connection(self.net, self.net.hosts[2], source, task,
                                                             listener=self.listener.get(source), control=self.control)
        return accepted, opened

    def fetch(self, task, source):
        return self.pump.add(*self.open(task, source))


@pytest.fixture
def bottleneck(net):
    made, plain = None, net.agent
    net.agent = lambda host, **words: plain(host, link_bps=PORT if words.get("role") == "switch" else LINK, **words)
    try:
        made = Bottleneck(net)
        yield made
    finally:
        if made:
            made.pump.stop()


@pytest.mark.guest("host", "uml")
def test_strictness_and_floors_at_a_switch_port(net, bottleneck):
    """The higher level has the link (97 % of what it gets alone), the lower one its floor."""
    b = bottleneck
    high, low = b.task("high", 0, 7), b.task("low", 4, 0)
    stream = b.fetch(high, net.hosts[0])
    alone = max(wait_for("the link alone", lambda: [r] if (r := b.pump.rate_bps(stream, 0.5)) > 0.9 * PORT else None))
    starved = b.fetch(low, net.hosts[1])
    # Other load on the machine only takes away: one window of a second shows what the queues do.
    wait_for("97 % of the link beside a lower level", lambda: b.pump.rate_bps(stream, 1.0) >= 0.97 * alone, 60)
    floor = b.pump.rate_bps(starved, 2.0)
    assert 0.4 * 0.01 * PORT <= floor <= 0.05 * PORT, f"the lower level got {floor / 1e6:.2f} Mb/s"


def test_a_mode_switch_promotes_one_of_many_starved(net, bottleneck):
    """One write on the receiver's host: of 50 starved connections in one queue the promoted one has
    the link soon."""
    b = bottleneck
    rest = b.task("rest", 4, 4)
    opened = [b.open(rest, net.hosts[1]) for _ in range(50)]
    opened.append(b.open(b.task("star", 4, 0), net.hosts[1]))
    first = b.fetch(b.task("first", 0, 7), net.hosts[0])
    star = [b.pump.add(*pair) for pair in opened][-1]
    wait_for("the first to have the link", lambda: b.pump.rate_bps(first, 0.5) > 0.85 * PORT, 60)
    wait_for("the queue of the starved to be full", lambda: re.search(
        r"d00:6 .*?backlog \S+ (\d+)p", net.sw.tc("-s", "class", "show", "dev", "p3"), re.S)[1] >= "100")
    start = time.monotonic()
    b.here.do("mode 1")
    wait_for("the promoted one to have the link", lambda: b.pump.rate_bps(star, 0.05) > 0.8 * PORT, 15)
    print(f"promoted among 50: 80 % of the link after {1000 * (time.monotonic() - start):.0f} ms")


@pytest.mark.parametrize("low,high,driver", [
    (1, 0, "htb"), pytest.param(7, 0, "htb", marks=pytest.mark.guest("host", "uml")), (7, 6, "htb"), (4, 2, "htb"),
    pytest.param(4, 2, "prio", marks=pytest.mark.guest("uml")), pytest.param(4, 2, "ets", marks=pytest.mark.guest("qemu"))])
def test_waiting_packets_of_a_higher_level_go_first(net, low, high, driver):
    """Both queues are filled at once; what arrives is in the order of levels, whatever else the
    machine does."""
    h1, h2, _ = net.hosts
    group = net.cgroup("a")
    agent = net.agent(h1, cgroup=group, link_bps=2_000_000, queues=driver)
    assert agent.opened.startswith("ok"), agent.opened
    assert f"qdisc {driver} " in h1.tc("qdisc", "show", "dev", "up0")
    agent.do("lease_ms 60000")
    out, socks = Capture(h2, "up0"), []
    for level in (low, high):
        task = net.cgroup(f"t{level}", group)
        agent.do(f"levels {task.id} {level} {level}")
        with h1.inside(), task.inside():
            socks.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        socks[-1].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    for sock in socks:
        for _ in range(90):
            sock.sendto(b"x" * 1400, (h2.address, 4448))
    wait_for("all packets", lambda: len([p for p in out.read() if p.dport == 4448]) == 180)
    order = [p.dscp for p in out.packets if p.dport == 4448]
    first = order.index(dscp(high))
    last = len(order) - 1 - order[::-1].index(dscp(high))
    between = order[first:last].count(dscp(low))
    # 90 packets take 500 ms: the floor's share of that is one packet, and its burst two or three.
    assert between <= 6, f"{between} lower packets between the 90 higher ones"
    assert first < 60


def test_a_connection_opens_past_what_waits(net):
    """A task's SYN, and the answer to one, leave before the content that fills the queue of their
    level."""
    h1, h2, _ = net.hosts
    group = net.cgroup("a")
    task = net.cgroup("t", group)
    agent = net.agent(h1, cgroup=group, link_bps=5_000_000)
    other = net.agent(h2, cgroup=net.cgroup("b"))
    assert agent.opened.startswith("ok") and other.opened.startswith("ok"), agent.opened + other.opened
    for one in (agent, other):
        one.do("lease_ms 60000")
    agent.do(f"levels {task.id} 5 5")
    server = net.cgroup("s", net.cgroup("c"))
    other.do(f"levels {server.id} 5 5")
    out = Capture(h2, "up0")
    with h1.inside(), task.inside():
        flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    flood.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    for _ in range(90):
        flood.sendto(b"x" * 1400, (h2.address, 4448))
    made = connection(net, h1, h2, task)
    back = connection(net, h2, h1, server)
    wait_for("all datagrams", lambda: len([p for p in out.read() if p.dport == 4448]) == 90)
    order = ["SYN" if p.flags & 2 and p.protocol == 6 else "flood" for p in out.packets
             if p.dport == 4448 or p.protocol == 6 and p.flags & 2]
    # The flood takes 200 ms; a machine may take a nap before it connects.
    assert order.count("SYN") == 2 and order[60:].count("SYN") == 0, order
    for sock in (*made, *back, flood):
        sock.close()


def test_drops_are_counted_per_queue(net):
    h1, h2, _ = net.hosts
    group = net.cgroup("a")
    agent = net.agent(h1, cgroup=group, link_bps=10_000_000)
    assert agent.opened.startswith("ok"), agent.opened
    with h1.inside():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    for _ in range(1000):
        s.sendto(b"x" * 1400, (h2.address, 4447))
    drops = agent.stats()["drops"]
    assert drops[9] > 0 and sum(drops) == drops[9]
