"""duopoly-fastpath between two namespaces, over DPDK's af_packet devices: marks, queues, the control socket, and what it refuses."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import types

import pytest

import nets
import scripted
import test_rights
from controller import pb
from nets import wait_for

PROGRAM = os.path.join(nets.BUILD, "duopoly-fastpath")
CTL = os.path.join(nets.BUILD, "duopolyctl")
LEVEL0 = 3
ECT0 = 2
SO_RCVBUFFORCE = 33
BPS = 20_000_000
ONE_WORKER = "[0]"
TWO_WORKERS = str(sorted(os.sched_getaffinity(0))[:2])
RED = "{leaf_packets: 100, ecn_packets: 10, red_packets: 40}"

pytestmark = [nets.needs_root, pytest.mark.skipif(not os.path.exists(PROGRAM),
                                                  reason="duopoly-fastpath is not built: DPDK is missing (make deps-dpdk)")]


def dscp(level):
    return 4 * level + LEVEL0


class Fastpath:
    """The program, and a client of its control socket. `more` replaces lines of its configuration, an empty one takes it away."""

    def __init__(self, site, rights=(), **more):
        self.path = os.path.join(site.dir, "fastpath.sock")
        self.config = os.path.join(site.dir, "fastpath.yaml")
        self.log = os.path.join(site.dir, "fastpath.log")
        settings = {"host": '{device: "net_af_packet0,iface=in0"}', "network": '{device: "net_af_packet1,iface=out0"}',
                    "marks": "{by: here}", "queues": "{leaf_packets: 100}", "cpus": TWO_WORKERS}
        settings.update(more)
        with open(self.config, "w") as out:
            out.write(f"socket: {self.path}\n" + "".join(f"{key}: {value}\n" for key, value in settings.items() if value))
        self.process = site.middle.popen(*rights, "env", f"RUNTIME_DIRECTORY={site.dir}", PROGRAM, "--config", self.config, stderr=open(self.log, "w"))
        site.children.append(self)
        wait_for("frames pass", lambda: self.said("passing frames") or self.process.poll() is not None, 30)
        assert self.process.poll() is None, self.read_log()
        self.socket = self.connect()

    def read_log(self):
        with open(self.log) as f:
            return f.read()

    def said(self, words):
        return words in self.read_log()

    def connect(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.settimeout(20)
        client.connect(self.path)
        return client

    def ask(self, version=1, **body):
        self.socket.send(pb.Envelope(version=version, **body).SerializeToString())
        return pb.Envelope.FromString(self.socket.recv(1 << 17))

    def do(self, **body):
        answer = self.ask(**body)
        assert answer.WhichOneof("body") == "accepted", answer

    def refusal(self, **body):
        answer = self.ask(**body)
        assert answer.WhichOneof("body") == "refused", answer
        return answer.refused.text

    def lease(self, ms=60000):
        self.do(lease=pb.Lease(lease_ms=ms))

    def mode(self, mode):
        self.do(mode=pb.Mode(mode=mode))

    def levels(self, local, peer, coflow, macroflow, owner=1):
        def mapped(address):
            return socket.inet_pton(socket.AF_INET6, address if ":" in address else "::ffff:" + address)
        flow = pb.FlowLevels(local=mapped(local[0]), peer=mapped(peer[0]), local_port=local[1], peer_port=peer[1], owner=owner,
                             coflow_level=coflow, macroflow_level=macroflow)
        self.do(set_flows=pb.SetFlows(flows=[flow]))

    def counters(self):
        rows, cursor = {}, 0
        while True:
            page = self.ask(list=pb.List(of=pb.LIST_COUNTERS, cursor=cursor)).page
            rows.update({(row.source, row.name): row.value for row in page.counters})
            cursor = page.cursor
            if not cursor:
                return rows

    def end(self):
        """Its exit status, after SIGTERM."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Site:
    """A host, the network, and between them a namespace whose two interfaces are the program's. What the kernel at either end sends
    has its checksum: nobody behind the interface completes it."""

    def __init__(self, path):
        prefix = f"dpf{os.getpid()}"
        self.dir, self.children, self.spaces = str(path), [], []
        try:
            for name in "hmn":
                self.spaces.append(nets.Namespace(prefix + name))
            self.host, self.middle, self.network = self.spaces
            with self.middle.inside(), open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w") as f:
                f.write("1")
            for i, (space, device, theirs) in enumerate(((self.host, "in0", "up0"), (self.network, "out0", "down0")), 1):
                self.middle.ip("link", "add", device, "type", "veth", "peer", "name", theirs, "netns", space.name)
                self.middle.ip("link", "set", device, "up")
                space.ip("link", "set", theirs, "up")
                space.enter("ethtool", "-K", theirs, "tx", "off")
                space.address, space.address6 = f"10.99.0.{i}", f"fd99::{i}"
                space.ip("addr", "add", space.address + "/24", "dev", theirs)
                space.ip("addr", "add", space.address6 + "/64", "dev", theirs, "nodad")
        except BaseException:
            self.remove()
            raise

    def remove(self):
        for child in self.children:
            child.stop()
        for space in self.spaces:
            space.remove()


@pytest.fixture
def site():
    with tempfile.TemporaryDirectory(prefix="duopoly-") as path:  # one that other users get at
        made = Site(path)
        yield made
        made.remove()


def sums_hold(counters, still=True, workers=1):
    """in = out + dropped + waiting for each queue; and what came from one side came to the queues of the other, unless frames pass
    from worker to worker just now."""
    for side, other in (("host", "network"), ("network", "host")):
        queues = {source for source, _ in counters if source.startswith(side + " queue")}
        assert len(queues) == 10
        total = 0
        for queue in queues:
            came = counters[queue, "in_packets"]
            assert came == counters[queue, "out_packets"] + counters[queue, "dropped_packets"] + counters[queue, "waiting"]
            total += came
        dropped = counters[other, "too_long_packets"] + (counters["marks", "overtaken_packets"] if other == "network" else 0)
        if still or workers == 1:
            assert total + dropped == counters[other, "came_packets"]
        if still:
            assert sum(counters[queue, "out_packets"] for queue in queues) == counters[side, "went_packets"]
    return counters


def counters_at_rest(fastpath, hold=sums_hold):
    """Those of an instant in which they hold: hosts send frames of their own (of IPv6, say), which may be between two workers when the counters
    are read. What was lost never holds."""
    end = time.monotonic() + 10
    while True:
        try:
            return hold(fastpath.counters())
        except AssertionError:
            if time.monotonic() > end:
                raise


def content(seen, port=None):
    """DSCPs of TCP's content that was captured, from a port or any."""
    found = [p for p in seen.read() if p.protocol == 6 and port in (None, p.sport)]
    assert all(p.checksum_right for p in found)
    return {p.dscp for p in found if p.payload}


def sent(seen, end, other):
    """DSCPs of content that goes from one end of a connection to the other now."""
    seen.clear()
    nets.pass_bytes(end, other, 20000)
    return content(seen, end.getsockname()[1])


def wait_until_empty(fastpath):
    wait_for("empty queues", lambda: not any(value for (_, name), value in fastpath.counters().items() if name == "waiting"))


def all_accounted_for(fastpath):
    """What came from the host has been queued to the network or dropped, and what left its queues has left; returns counters and sums."""
    wait_until_empty(fastpath)
    counters = fastpath.counters()
    sums = {name: sum(value for (source, known), value in counters.items() if source.startswith("network queue") and known == name)
            for name in ("in_packets", "out_packets", "dropped_packets")}
    assert sums["in_packets"] == sums["out_packets"] + sums["dropped_packets"] == counters["host", "came_packets"]
    assert sums["out_packets"] == counters["network", "went_packets"]
    return counters, sums


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_levels_of_a_connection_by_mode_and_lease(site, family):
    fastpath = Fastpath(site)
    fastpath.lease()
    with site.network.inside():
        seen = nets.Capture(site.network, "down0")
    ours, theirs, listener = nets.connection(None, site.host, site.network, family=family)
    local, peer = ours.getsockname()[:2], ours.getpeername()[:2]

    def sends():
        return sent(seen, ours, theirs)
    assert sends() == {0}
    fastpath.levels(local, peer, 2, 5)
    wait_for("the levels", lambda: sends() == {dscp(2)})
    fastpath.mode(1)
    wait_for("the other mode", lambda: sends() == {dscp(5)})
    assert fastpath.counters()["marks", "level5_bytes"] >= 20000
    fastpath.lease(0)
    wait_for("the end of the lease", lambda: sends() == {0})
    fastpath.lease()
    wait_for("a lease again", lambda: sends() == {dscp(5)})
    fastpath.levels(local, peer, 0, 0, owner=0)
    wait_for("no levels", lambda: sends() == {0})
    for thing in (ours, theirs, listener, seen):
        thing.close()
    wait_for("the flow's end", lambda: fastpath.counters()["flows", "alive"] == 0)
    assert fastpath.end() == 0, fastpath.read_log()


def test_what_the_host_accepted_follows_what_arrives(site):
    fastpath = Fastpath(site)
    fastpath.lease()
    seen = nets.Capture(site.network, "down0")
    with site.host.inside():
        listener = socket.create_server(("0.0.0.0", 0))
    with site.network.inside():
        client = socket.socket()
    client.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp(4) << 2)
    client.settimeout(20)
    client.connect((site.host.address, listener.getsockname()[1]))
    server, _ = listener.accept()
    nets.pass_bytes(client, server, 1000)
    nets.pass_bytes(server, client, 20000)
    assert content(seen) == {dscp(4)}
    client.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp(1) << 2)
    nets.pass_bytes(client, server, 1000)
    assert sent(seen, server, client) == {dscp(1)}
    for thing in (client, server, listener, seen):
        thing.close()


def test_connections_that_a_task_says_have_its_levels(site):
    """Its frames meet no kernel's marks here (the agent's driver is the recorder): the agent tells the data plane."""
    fastpath = Fastpath(site)
    seen = nets.Capture(site.network, "down0")
    ours, theirs, listener = nets.connection(None, site.host, site.network)
    words = "connection %s %d %s %d" % (*ours.getsockname(), *ours.getpeername())
    os.chmod(site.dir, 0o755)  # for the task's user
    net = types.SimpleNamespace(dir=site.dir, prefix=f"dpf{os.getpid()}")
    address = f"tcp://{site.network.address}:7000"
    controller = scripted.Controller(site.network, address)
    agent = scripted.Agent(net, site.host, address, lines=["queues: {driver: none}"], marks=f", driver: recorder, dataplane: {fastpath.path}",
                           commands={"say": scripted.command(f"say.send(b{words!r})\nimport time\ntime.sleep(1000)\n")})
    first = scripted.FIRST + 1

    def sends():
        return sent(seen, ours, theirs)
    try:
        wait_for("a session", lambda: controller.of("inventory_end"), 20)
        assert sends() == {0}
        controller.do(f"start {first} 1 0 0 say 1 2 5")
        wait_for("the task's level", lambda: sends() == {dscp(2)}, 20)
        controller.do("mode 1 1")
        wait_for("the mode", lambda: sends() == {dscp(5)})
        controller.do(f"levels {first} 1 6")
        wait_for("another level", lambda: sends() == {dscp(6)})
        fastpath.stop()
        os.unlink(fastpath.path + ".flows")  # as after a boot: it knows nothing
        again = Fastpath(site)
        wait_for("the level in another data plane", lambda: sends() == {dscp(6)}, 20)
        wait_for("words of it, which had to pass it, too", lambda: [state for state in controller.of("host_state") if state["text"].startswith(
            "connections beyond the kernel have no new marks: the data plane at")])
        wait_for("the last word", lambda: controller.of("host_state")[-1]["text"] == "")
        agent.kill()
        agent.start()
        wait_for("another session", lambda: len(controller.of("inventory_end")) > 1, 20)
        controller.do("mode 1 2")  # the recorder forgets its mode
        controller.do(f"levels {first} 1 3")
        wait_for("a level of another agent's", lambda: sends() == {dscp(3)}, 20)
        controller.do(f"stop {first} 0")
        wait_for("the end of the task", lambda: sends() == {0}, 20)
    finally:
        agent.kill()
        agent.restore()
        agent.rights.end()
        controller.stop()
    for thing in (ours, theirs, listener, seen):
        thing.close()
    assert again.end() == 0, again.read_log()


def bridge(site):
    """The kernel's path in the place of ours, as schemas/duopoly-fastpath.yaml has it."""
    site.middle.ip("link", "add", "br0", "type", "bridge")
    for device in ("br0", "in0", "out0"):
        site.middle.ip("link", "set", device, "up", *(("master", "br0") if device != "br0" else ()))


def test_a_connection_outlives_a_kill_and_goes_back_to_the_kernel(site):
    """With the rights that its unit gives it, and not as root."""
    os.chmod(site.dir, 0o777)
    rights = test_rights.under(test_rights.capabilities("duopoly-fastpath.service"))
    fastpath = Fastpath(site, rights)
    fastpath.lease()
    seen = nets.Capture(site.network, "down0")
    ours, theirs, listener = nets.connection(None, site.host, site.network)
    local, peer = ours.getsockname()[:2], ours.getpeername()[:2]

    def sends():
        return sent(seen, ours, theirs)
    fastpath.levels(local, peer, 2, 5)
    fastpath.mode(1)
    wait_for("the level", lambda: sends() == {dscp(5)})
    for _ in range(3):
        passing = threading.Thread(target=nets.pass_bytes, args=(ours, theirs, 20_000_000))
        came = fastpath.counters()["host", "came_packets"]
        passing.start()
        wait_for("traffic", lambda: fastpath.counters()["host", "came_packets"] > came + 100)
        fastpath.stop()
        fastpath = Fastpath(site, rights)
        passing.join()
        assert fastpath.counters()["flows", "kept"] >= 1
        assert sends() == {dscp(5)}, "its level, the mode and the lease are those of before"
    assert fastpath.end() == 0, fastpath.read_log()
    bridge(site)
    assert sends() == {0}
    for thing in (ours, theirs, listener, seen):
        thing.close()


def echo(site, family, size):
    """A datagram from the host to the network and back."""
    ends = []
    for space in (site.host, site.network):
        with space.inside():
            ends.append(socket.socket(family, socket.SOCK_DGRAM))
        ends[-1].settimeout(20)
        ends[-1].bind((space.address if family == socket.AF_INET else space.address6, 0))
    for one, other in (ends, reversed(ends)):
        one.sendto(b"x" * size, other.getsockname())
        assert len(other.recv(65536)) == size
    for end in ends:
        end.close()


def test_other_traffic_passes_and_nothing_is_lost_at_the_end(site):
    fastpath = Fastpath(site)
    for family in (socket.AF_INET, socket.AF_INET6):
        for size in (1, 1000):
            echo(site, family, size)
    echo(site, socket.AF_INET6, 4000)  # fragments; those of IPv4 the kernel puts together before the device gives them to us
    counters = sums_hold(fastpath.counters(), still=False, workers=2)
    assert counters["network queue 0", "out_packets"] > 0  # ARP and neighbour discovery
    assert counters["host", "came_packets"] > 6
    assert fastpath.end() == 0, fastpath.read_log()
    assert fastpath.said("frames came")


class Blast:
    """UDP from the host at a level, as fast as it can be sent, in a process of its own: 1400 bytes, ECT(0) or as given."""

    SEND = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(sys.argv[3]))
s.connect((sys.argv[1], int(sys.argv[2])))
end = time.monotonic() + 60
while time.monotonic() < end:
    for _ in range(8):
        try: s.send(bytes(1400))
        except OSError: pass
    time.sleep(0.001)
"""

    def __init__(self, site, level, source=None, ecn=ECT0):
        with site.network.inside():
            self.sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sink.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        self.sink.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        self.sink.bind((site.network.address, 0))
        self.sink.setblocking(False)
        self.packets = self.congested = 0
        self.process = (source or site.host).popen("/usr/bin/python3", "-c", self.SEND, site.network.address, str(self.sink.getsockname()[1]),
                                       str(dscp(level) << 2 | ecn))
        site.children.append(self)

    def read(self):
        """How many came since the last time."""
        before = self.packets
        while True:
            try:
                _, ancillary, _, _ = self.sink.recvmsg(2048, 64)
            except BlockingIOError:
                return self.packets - before
            self.packets += 1
            tos = ancillary[0][2][0]
            assert tos & 3 in (ECT0, 3)
            self.congested += tos & 3 == 3

    def wait_until_it_comes(self, more=50):
        least = self.packets + more
        wait_for("traffic", lambda: self.read() >= 0 and self.packets > least, 30)

    def stop(self):
        self.process.kill()
        self.process.wait()


@pytest.mark.parametrize("queues", ["{leaf_packets: 100}", RED], ids=["threshold", "red"])
def test_queues_are_strict_have_floors_and_say_congestion(site, queues):
    fastpath = Fastpath(site, marks="{by: kernel}", queues=queues, network='{device: "net_af_packet1,iface=out0", rate: %d Mbps}' % (BPS // 1000000))
    low = Blast(site, 7)
    low.wait_until_it_comes()
    high = Blast(site, 1)
    high.wait_until_it_comes()

    def both(seconds=2):
        low.read(), high.read()
        begin = time.monotonic()
        time.sleep(seconds)  # what is measured
        return low.read(), high.read(), time.monotonic() - begin

    def strict():
        """Other load on the machine may hold up the urgent sender: one window shows what the queues do."""
        few, many, took = both()
        assert (few + many) * 1442 * 8 < 1.3 * BPS * took + 100 * 1442 * 8
        return many > 20 * few > 0
    wait_for("20 times as much of the urgent level, and some of the other", strict, 60)
    high.stop()
    wait_for("the others again", lambda: both(0.5)[0] > 100)
    low.stop()
    wait_until_empty(fastpath)
    counters = counters_at_rest(fastpath)
    marked = sum(value for (source, name), value in counters.items() if source.startswith("network queue") and name == "marked_packets")
    assert marked > 0

    def congested():
        low.read(), high.read()
        return low.congested + high.congested
    wait_for("as many CE marks as were set", lambda: congested() == marked)
    assert fastpath.end() == 0, fastpath.read_log()


def test_red_drops_what_cannot_be_marked(site):
    fastpath = Fastpath(site, marks="{by: kernel}", queues=RED,
                        network='{device: "net_af_packet1,iface=out0", rate: %d Mbps}' % (BPS // 1000000))
    Blast(site, 7, ecn=0)

    def of_queue(name):
        return fastpath.counters()["network queue 8", name]
    wait_for("drops", lambda: of_queue("dropped_packets") > 500)
    wait_for("a queue that is not full", lambda: 0 < of_queue("waiting") < 70)  # without RED it is, to the burst that left last
    assert port_message(fastpath, "network").queues[8].red_packets == 40
    assert of_queue("marked_packets") == 0
    sums_hold(fastpath.counters(), still=False, workers=2)
    assert fastpath.end() == 0, fastpath.read_log()


def port_message(fastpath, name):
    return next(port for port in fastpath.ask(get_dataplane_ports=pb.GetDataplanePorts()).dataplane_ports.ports if port.port == name)


def test_queues_are_exchanged_while_traffic_passes_and_nothing_is_lost(site):
    fastpath = Fastpath(site, marks="{by: kernel}", network='{device: "net_af_packet1,iface=out0", rate: %d Mbps}' % (BPS // 1000000))
    configured = port_message(fastpath, "network")
    assert (configured.owner, configured.rate_bps, len(configured.queues), configured.queues[9].serves) == ("", BPS, 10, 1 << 9)
    blast = Blast(site, 3)
    blast.wait_until_it_comes()
    few = pb.DataplanePort(port="network", rate_bps=2 * BPS, queues=[pb.DataplaneQueue(serves=0x3, packets=20), pb.DataplaneQueue(serves=0x3fc, packets=30)])
    for _ in range(100):
        fastpath.do(set_dataplane_ports=pb.SetDataplanePorts(owner="sw1", ports=[few]))
        fastpath.do(set_dataplane_ports=pb.SetDataplanePorts(owner="sw1", ports=[pb.DataplanePort(port="network")]))
    fastpath.do(set_dataplane_ports=pb.SetDataplanePorts(owner="sw1", ports=[few]))
    now = port_message(fastpath, "network")
    assert (now.owner, now.rate_bps, [(q.serves, q.packets) for q in now.queues]) == ("sw1", 2 * BPS, [(3, 20), (0x3fc, 30)])
    blast.stop()
    counters, sums = all_accounted_for(fastpath)
    assert ("network queue 2", "in_packets") not in counters
    wait_for("all that went", lambda: blast.read() >= 0 and blast.packets >= sums["out_packets"] - 20)  # the rest: ARP, neighbour discovery
    refused = fastpath.refusal(set_dataplane_ports=pb.SetDataplanePorts(owner="other", ports=[few]))
    assert refused == "network: sw1 has set its queues"
    few.queues[1].packets = 2000
    assert "has memory for 1000" in fastpath.refusal(set_dataplane_ports=pb.SetDataplanePorts(owner="sw1", ports=[few]))
    assert fastpath.end() == 0, fastpath.read_log()


class Reloads:
    """A configuration that is written again, and the signal."""

    def __init__(self, fastpath):
        self.fastpath = fastpath
        with open(fastpath.config) as f:
            self.text = f.read()

    def __call__(self, *replacements, answer="is in force"):
        """What the program said of it."""
        text = self.text
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        with open(self.fastpath.config, "w") as f:
            f.write(text)
        before = len(self.fastpath.read_log().splitlines())
        self.fastpath.process.send_signal(signal.SIGHUP)
        wait_for(answer, lambda: len(self.fastpath.read_log().splitlines()) > before)
        said = self.fastpath.read_log().splitlines()[-1]
        assert answer in said
        return said


def test_a_reload_loses_nothing_and_a_wrong_one_changes_nothing(site):
    fastpath = Fastpath(site, marks="{by: kernel, members: [10.0.0.0/8]}", network='{device: "net_af_packet1,iface=out0", rate: 20 Mbps}')
    blast = Blast(site, 3)
    blast.wait_until_it_comes()
    reload = Reloads(fastpath)
    fewer = ("leaf_packets: 100", "leaf_packets: 20, levels: 2, floor: 2 %")
    for _ in range(3):  # ten lines of a kind are logged in a minute
        reload(("20 Mbps", "40 Mbps"), fewer)
        reload()
    reload(("20 Mbps", "40 Mbps"), fewer)
    port = port_message(fastpath, "network")
    assert (port.rate_bps, len(port.queues)) == (40_000_000, 4)
    for wrong, sentence in (
            (("20 Mbps", "fast"), "fastpath.yaml:"),
            (("{by: kernel", "{by: here"), "marks.by stays as it is until a restart"),
            (("iface=out0", "iface=in0"), "port network: name and device stay as they are until a restart"),
            (("leaf_packets: 100", "leaf_packets: 101"), "there is memory for 100"),
            (("leaf_packets: 100", "floor: 10 %, unmanaged: 50 %"), "nothing is left to level 0")):
        assert sentence in reload(wrong, answer="not reloaded")
        assert (port_message(fastpath, "network").rate_bps, port_message(fastpath, "network").queues[0].packets) == (40_000_000, 20)
    blast.stop()
    all_accounted_for(fastpath)
    assert fastpath.end() == 0, fastpath.read_log()


def test_what_a_reload_says_of_members_counts(site):
    fastpath = Fastpath(site, marks="{by: kernel, members: [10.0.0.0/8]}")
    seen, blast = nets.Capture(site.network, "down0"), Blast(site, 3)
    wait_for("marks", lambda: [p for p in seen.read() if p.protocol == 17 and p.dscp == dscp(3)])
    reload = Reloads(fastpath)
    reload(("10.0.0.0/8", "192.168.0.0/16"))

    def bleached():
        seen.clear()
        return {p.dscp for p in seen.read() if p.protocol == 17} == {0}
    wait_for("no marks for who is no member any more", bleached)
    fastpath.do(set_dataplane_ports=pb.SetDataplanePorts(owner="sw1", ports=[pb.DataplanePort(
        port="network", rate_bps=BPS, queues=[pb.DataplaneQueue(serves=0x3ff, packets=20)])]))
    reload()
    assert port_message(fastpath, "network").owner == "sw1", "what an agent has set stays"
    wait_for("marks again", lambda: [p for p in seen.read() if p.protocol == 17 and p.dscp == dscp(3)])
    blast.stop()
    seen.close()
    assert fastpath.end() == 0, fastpath.read_log()


def test_it_sleeps_when_there_is_nothing_to_do(site):
    fastpath = Fastpath(site)

    def ticks():
        with open(f"/proc/{fastpath.process.pid}/stat") as f:
            return sum(int(word) for word in f.read().rsplit(")", 1)[1].split()[11:13])
    before, slept, begin = ticks(), fastpath.counters()["worker", "sleeps"], time.monotonic()
    wait_for("sleeps", lambda: fastpath.counters()["worker", "sleeps"] > slept + 1000, 30)
    used, took = (ticks() - before) / os.sysconf("SC_CLK_TCK"), time.monotonic() - begin
    assert used < took / 2, (used, took)


def test_what_is_longer_than_the_mtu_is_dropped_and_counted(site):
    fastpath = Fastpath(site, mtu="1000")
    site.host.ip("link", "set", "up0", "mtu", "1400")
    with site.host.inside():
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.sendto(bytes(1200), (site.network.address, 9))
    wait_for("the count", lambda: fastpath.counters()["host", "too_long_packets"] > 0)
    echo(site, socket.AF_INET, 900)
    sums_hold(fastpath.counters(), still=False, workers=2)
    sender.close()


def refused(site, text, *words):
    """One sentence on standard error, and exit status 1."""
    path = os.path.join(site.dir, "bad.yaml")
    with open(path, "w") as out:
        out.write(text)
    with site.middle.inside():
        done = subprocess.run([*words, "env", f"RUNTIME_DIRECTORY={site.dir}", PROGRAM, "--config", path], stderr=subprocess.PIPE, text=True,
                              timeout=60)
    assert done.returncode == 1, done
    lines = [line for line in done.stderr.splitlines() if line]
    assert len(lines) == 1, lines
    return lines[0]


def test_bad_input_gets_one_sentence(site):
    sock = f"socket: {site.dir}/bad.sock\n"
    null = 'host: {device: net_null0}\nnetwork: {device: net_null1, rate: 100 Mbps}\n'
    for text, sentence in (
            (sock + "host: {device: eth0}\nnetwork: {device: net_null1}\n", r"bad.yaml:2:\d+: .*\"eth0\" is no virtual device"),
            (sock + "host: {device: net_null0}\nnetwork: {device: net_null0}\n", r"net_null0 is the device of two ports"),
            (sock + null + "queues: {floor: 10 %, unmanaged: 50 %}\n", r"nothing is left to level 0"),
            (sock + null + "queues: {red_packets: 60}\n", r"marks at random from 0 to 60 packets"),
            (sock + null + "queues: {ecn_packets: 20, red_packets: 101}\n", r"at most the queue's 100 and 1023"),
            (sock + null + "queues: {red_packets: 1024}\n", r"bad.yaml:\d+:\d+: .*1023"),
            (sock + null + "marks: {dscp: [1, 2]}\n", r"bad.yaml:4:\d+: dscp has one number for each of the 8 levels"),
            (sock + null + "marks: {memberz: []}\n", r"bad.yaml:4:\d+: .*memberz"),
            (sock + null + "cpus: [1000]\n", r"cpus: processor 1000 is none that this process may run on"),
            (sock + null + "cpus: [0, 1, 0]\n", r"cpus: processor 0 is there twice"),
            (sock + null + "cpus: [0, 1, 2, 3, 4, 5, 6, 7, 8]\n", r"bad.yaml:4:\d+: .*8"),
            (sock + "host: {device: net_nosuch0}\nnetwork: {device: net_null1}\n", r"host: device \"net_nosuch0\" cannot be opened"),
            (sock + null.replace("100 Mbps", "1000 Gbps"), r"1000000000000")):
        assert re.search(sentence, refused(site, text)), (sentence, refused(site, text))
    assert not os.path.exists(f"{site.dir}/bad.sock")


def test_a_second_instance_and_one_without_rights_are_refused(site):
    fastpath = Fastpath(site)
    with open(fastpath.config) as f:
        text = f.read()
    assert fastpath.path in refused(site, text)
    os.chmod(site.dir, 0o777)
    assert "cannot be opened" in refused(site, text.replace("fastpath.sock", "own.sock"), "setpriv", "--reuid=65534", "--regid=65534",
                                         "--clear-groups", "--inh-caps=-all", "--bounding-set=-all")
    fastpath.mode(1)
    assert fastpath.end() == 0


def segment(ends, number=0, ecn=0):
    """A frame with one of TCP's segments; ends: (four bytes, port) of who sends it and of who gets it."""
    ip = struct.pack("!BBHHHBBH", 0x45, ecn, 46, 0, 0, 64, 6, 0) + b"".join(address for address, _ in ends)
    return bytes(12) + b"\x08\x00" + ip + struct.pack("!HHIIBBHHH", *(port for _, port in ends), number, 0, 0x50, 0x10, 0, 0, 0) + b"x" * 6


def write_pcap(path, frames):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            f.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


@pytest.mark.parametrize("cpus", [ONE_WORKER, TWO_WORKERS])
def test_nothing_is_lost_while_flows_modes_and_leases_change(site, cpus):
    """PACKETS of them, of files in memory, faster than the network takes them. in = out + dropped + waiting of each queue, and at the
    end no frame is nowhere: its exit status says so."""
    packets, flows, rounds = int(os.environ.get("PACKETS", 2_000_000)), 1024, 0
    workers = len(json.loads(cpus))
    mapped = bytes(10) + b"\xff\xff"

    ends = [((struct.pack("!BBH", 10, 99, n), 5000), (bytes((10, 98, 0, 1)), 80)) for n in range(flows)]
    write_pcap(site.dir + "/0.pcap", [segment(both, ecn=ECT0) for both in ends])
    write_pcap(site.dir + "/1.pcap", [segment(both[::-1], ecn=ECT0) for both in ends])
    host, network = (f'{{device: "net_pcap{i},rx_pcap={site.dir}/{i}.pcap,infinite_rx=1", rate: {rate}}}'
                     for i, rate in enumerate(("10 Gbps", "1 Gbps")))
    fastpath = Fastpath(site, host=host, network=network, queues="{leaf_packets: 1000, ecn: yes}", marks="{flows: 512}", cpus=cpus)

    def change():
        """Levels of a part of the flows, or none; then mode and lease."""
        nonlocal rounds
        some = [ends[(97 * rounds + i) % flows] for i in range(64)]
        answer = fastpath.ask(set_flows=pb.SetFlows(flows=[
            pb.FlowLevels(local=mapped + ours[0], peer=mapped + theirs[0], local_port=ours[1], peer_port=theirs[1],
                          owner=(rounds + i) % 5, coflow_level=(rounds + i) % 8, macroflow_level=i % 8)
            for i, (ours, theirs) in enumerate(some)]))
        assert answer.WhichOneof("body") == "accepted" or "on their way" in answer.refused.text
        fastpath.mode(rounds % 2)
        fastpath.lease(0 if rounds % 7 == 0 else 60000)
        rounds += 1

    def came():
        change()
        counters = sums_hold(fastpath.counters(), still=False, workers=workers)
        return sum(counters[side, "came_packets"] for side in ("host", "network"))
    end, last = time.monotonic() + 60 * nets.PATIENCE, 0
    while last < packets or rounds < 40:
        now = came()
        end = time.monotonic() + 60 * nets.PATIENCE if now > last else end
        assert time.monotonic() < end, f"nothing passes after {now} packets"
        last = now
    counters = sums_hold(fastpath.counters(), still=False, workers=workers)

    def total(name):
        return sum(value for (source, said), value in counters.items() if "queue" in source and said == name)
    assert counters["flows", "evictions"] > 0
    assert sum(counters["marks", f"level{level}_bytes"] > 0 for level in range(8)) > 1
    assert fastpath.end() == 0, fastpath.read_log()
    print(f"{last} packets came, {total('dropped_packets')} dropped, {total('marked_packets')} marked, {rounds} changes")


def read_pcap(path):
    frames = []
    with open(path, "rb") as f:
        data = f.read()[24:]
    while data:
        length = struct.unpack("<I", data[8:12])[0]
        frames.append(data[16:16 + length])
        data = data[16 + length:]
    return frames


def pass_files(site, frames, **more):
    """What comes out at the network of frames that come from both sides."""
    out_path, in_path = os.path.join(site.dir, "out.pcap"), os.path.join(site.dir, "in.pcap")
    write_pcap(in_path, frames)
    fastpath = Fastpath(site, host=f'{{device: "net_pcap0,rx_pcap={in_path},tx_pcap={site.dir}/none.pcap", rate: 1 Gbps}}',
                        network=f'{{device: "net_pcap1,rx_pcap={in_path},tx_pcap={out_path}", rate: 1 Gbps}}',
                        queues="{leaf_packets: 10000}", **more)
    wait_for("all frames", lambda: fastpath.counters()["network", "went_packets"] == len(frames))
    counters_at_rest(fastpath)
    assert fastpath.end() == 0, fastpath.read_log()
    return read_pcap(out_path)


@pytest.mark.parametrize("cpus", [ONE_WORKER, TWO_WORKERS])
def test_frames_from_a_file_pass_once_and_in_order(site, cpus):
    """One of each priority, then the file is at its end: what comes out is what came in."""
    frames = [bytes(12) + b"\x88\xb5" + struct.pack("!I", i) + bytes(60) for i in range(400)]
    assert pass_files(site, frames, cpus=cpus) == frames


def test_each_connection_stays_in_order_between_workers(site):
    flows, each = 50, 100

    def of_flow(flow, number):
        return segment(((bytes((10, 97, 0, flow)), 5000), (bytes((10, 98, 0, 1)), 80)), number)
    frames = [of_flow(flow, number) for number in range(each) for flow in range(flows)]
    got = pass_files(site, frames, cpus=TWO_WORKERS)
    assert sorted(got) == sorted(frames)
    for flow in range(flows):
        assert [frame for frame in got if frame[29] == flow] == [of_flow(flow, number) for number in range(each)]
