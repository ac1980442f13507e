"""duopoly-fastpath as a switch between namespaces, over DPDK's af_packet devices: stations, floods, queues, ports that are shut."""
import os
import re
import socket
import struct
import tempfile

import pytest

import nets
import test_fastpath
from controller import pb
from nets import wait_for
from test_fastpath import BPS, ECT0, ONE_WORKER, TWO_WORKERS, Blast, Fastpath, counters_at_rest, refused, wait_until_empty, write_pcap

pytestmark = test_fastpath.pytestmark
HOSTS = 3
ETH_TEST = 0x88b5  # IEEE 802, for experiments


class Site:
    """Hosts, and a namespace whose interfaces are the switch's."""

    def __init__(self, path):
        prefix = f"dps{os.getpid()}"
        self.dir, self.children, self.spaces = str(path), [], []
        try:
            self.middle = nets.Namespace(prefix + "m")
            self.spaces.append(self.middle)
            with self.middle.inside(), open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w") as f:
                f.write("1")
            for i in range(HOSTS):
                self.add_host(f"{prefix}h{i}", i)
            self.hosts = self.spaces[1:]
            self.host, self.network = self.hosts[0], self.hosts[-1]
        except BaseException:
            self.remove()
            raise

    def add_host(self, name, i):
        space = nets.Namespace(name)
        self.spaces.append(space)
        self.middle.ip("link", "add", f"in{i}", "type", "veth", "peer", "name", "up0", "netns", space.name)
        self.middle.ip("link", "set", f"in{i}", "up")
        space.ip("link", "set", "up0", "address", f"02:00:00:00:00:0{i}")
        space.ip("link", "set", "up0", "up")
        space.enter("ethtool", "-K", "up0", "tx", "off")
        space.address, space.address6 = f"10.99.0.{i + 1}", f"fd99::{i + 1}"
        space.ip("addr", "add", space.address + "/24", "dev", "up0")
        space.ip("addr", "add", space.address6 + "/64", "dev", "up0", "nodad")

    def remove(self):
        for child in self.children:
            child.stop()
        for space in self.spaces:
            space.remove()


@pytest.fixture
def site():
    with tempfile.TemporaryDirectory(prefix="duopoly-") as path:
        made = Site(path)
        yield made
        made.remove()


def switch(site, rate=1000, **more):
    ports = ", ".join(f'{{name: p{i}, device: "net_af_packet{i},iface=in{i}", rate: {rate} Mbps}}' for i in range(HOSTS))
    return Fastpath(site, host="", network="", marks="", role="switch", ports=f"[{ports}]", **more)


def queues_hold(counters):
    """in = out + dropped + waiting for each queue; returns their names."""
    queues = {source for source, name in counters if name == "in_packets"}
    for queue in queues:
        assert counters[queue, "in_packets"] == sum(counters[queue, name] for name in ("out_packets", "dropped_packets", "waiting"))
    return queues


def sums_hold(counters):
    """And all that came, with its copies, stands in a queue or was dropped by name: where no frames pass from worker to worker just now."""
    ports = {source for source, name in counters if name == "came_packets"}
    queues = queues_hold(counters)

    def total(*names):
        return sum(counters[port, name] for port in ports for name in names)
    joined = sum(counters[queue, "in_packets"] for queue in queues)
    assert joined == total("came_packets", "copied_packets") - total("too_long_packets", "over_limit_packets", "filtered_packets", "shut_packets")
    return counters


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_two_talk_and_the_third_hears_nothing_of_it(site, family):
    fastpath = switch(site)
    third = nets.Capture(site.hosts[2], "up0")
    ours, theirs, listener = nets.connection(None, site.hosts[0], site.hosts[1], family=family)
    for _ in range(5):
        nets.pass_bytes(ours, theirs, 200_000)
        nets.pass_bytes(theirs, ours, 200_000)
    with site.hosts[0].inside():
        everybody = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    everybody.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    everybody.sendto(b"x", ("10.99.0.255", 9))
    wait_for("what goes to all", lambda: [p for p in third.read() if p.protocol == 17 and p.dport == 9])
    assert not [p for p in third.read() if p.protocol == 6 and p.payload]
    counters = counters_at_rest(fastpath, sums_hold)
    assert counters["p0", "flooded_packets"] >= 1 and counters["p0", "copied_packets"] == counters["p0", "flooded_packets"]
    assert 2 <= counters["macs", "alive"] <= HOSTS and counters["p2", "shuts"] == 0
    shown = nets.run(test_fastpath.CTL, "--socket", fastpath.path, "fastpath")
    assert re.search(r"^PORT +FLOODED +COPIES +OVER LIMIT +FILTERED +SHUT OUT +TIMES SHUT +SHUT FOR$", shown, re.M)
    assert re.search(r"^stations +[23]$", shown, re.M)
    for thing in (ours, theirs, listener, everybody, third):
        thing.close()
    assert fastpath.end() == 0, fastpath.read_log()


def test_queues_of_an_egress_are_strict_whoever_sends(site):
    fastpath = switch(site, BPS // 1_000_000)
    low = Blast(site, 7, site.hosts[0])
    low.wait_until_it_comes()
    high = Blast(site, 1, site.hosts[1])
    high.wait_until_it_comes()

    def strict():
        low.read(), high.read()
        begin = high.packets
        wait_for("more", lambda: high.read() >= 0 and high.packets > begin + 2000, 30)
        return high.packets - begin > 20 * low.read() > 0
    wait_for("20 times as much of the urgent level, and some of the other", strict, 60)
    low.stop(), high.stop()
    wait_until_empty(fastpath)
    counters = counters_at_rest(fastpath, sums_hold)
    marked = sum(value for (source, name), value in counters.items() if source.startswith("p2 queue") and name == "marked_packets")

    def congested():
        low.read(), high.read()
        return low.congested + high.congested
    wait_for("as many CE marks as were set", lambda: congested() == marked > 0)
    assert fastpath.end() == 0, fastpath.read_log()


def raw(space):
    with space.inside():
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    end.bind(("up0", 0))
    return end


def test_a_station_that_flaps_shuts_its_newest_port_for_a_time(site):
    fastpath = switch(site, forwarding="{shut: 2 s}")
    ours, theirs, listener = nets.connection(None, site.hosts[0], site.hosts[2])
    nets.pass_bytes(ours, theirs, 10000)
    ends = [raw(site.hosts[i]) for i in (0, 1)]
    frame = b"\xff" * 6 + bytes.fromhex("020000000077") + struct.pack("!H", ETH_TEST) + bytes(50)

    def loop():
        """One at a time, so that they come to and fro."""
        for end, port in zip(ends, ("p0", "p1")):
            before = fastpath.counters()[port, "came_packets"]
            end.send(frame)
            wait_for("the frame", lambda: fastpath.counters()[port, "came_packets"] > before)
        counters = fastpath.counters()
        return [port for port in ("p0", "p1") if counters[port, "shut_ms"]]
    port, = wait_for("a port that is shut", loop)
    wait_for("the sentence", lambda: fastpath.said(f"{port} is shut for "))
    assert re.search(r"02:00:00:00:00:77 moves to and fro between it and p[01]: is there a loop\?", fastpath.read_log())
    ours.send(b"x" * 1000)
    theirs.setblocking(True)
    assert theirs.recv(1000, socket.MSG_WAITALL) == b"x" * 1000  # of the port that is not shut at once, of the other when it is open again
    wait_for("an open port", lambda: fastpath.counters()[port, "shut_ms"] == 0)
    again, back, listener2 = nets.connection(None, site.hosts[1], site.hosts[2])
    nets.pass_bytes(again, back, 10000)
    assert counters_at_rest(fastpath, sums_hold)[port, "shuts"] >= 1
    for thing in (ours, theirs, listener, again, back, listener2, *ends):
        thing.close()
    assert fastpath.end() == 0, fastpath.read_log()


def test_floods_have_a_limit(site):
    fastpath = switch(site, forwarding="{flood: 1}")
    end = raw(site.hosts[0])
    frame = b"\xff" * 6 + bytes.fromhex("020000000077") + struct.pack("!H", ETH_TEST) + bytes(50)

    def over():
        end.send(frame)
        return fastpath.counters()["p0", "over_limit_packets"] > 20
    wait_for("drops", over)
    counters_at_rest(fastpath, sums_hold)
    test_fastpath.Reloads(fastpath)(("flood: 1", "flood: 1000000"))
    flooded = fastpath.counters()["p0", "flooded_packets"]
    for _ in range(10):
        end.send(frame)
    wait_for("what another limit lets through", lambda: fastpath.counters()["p0", "flooded_packets"] >= flooded + 10)
    end.close()
    assert fastpath.end() == 0, fastpath.read_log()


def test_bad_input_gets_one_sentence(site):
    head = f"socket: {site.dir}/bad.sock\nrole: switch\n"
    one, other = ("{name: a, device: net_null0, rate: 1 Gbps}", "{name: b, device: net_null1, rate: 1 Gbps}")
    for text, sentence in (
            (head + f"ports: [{one}]\n", "a switch .role. has two ports at least"),
            (head + f"ports: [{one}, {other}]\nhost: {{device: net_null2}}\n", "no sides host and network"),
            (head + f"ports: [{one}, {one}]\n", "net_null0 is the device of two ports"),
            (head + f"ports: [{one}, {other.replace('b,', 'a,')}]\n", "two ports are called a"),
            (head + f"ports: [{one}, {other.replace('b,', 'b b,')}]\n", r'bad.yaml:3:\d+: .*"b b" is no port.s name'),
            (head.replace("switch", "host") + f"ports: [{one}, {other}]\n", "a host .role. has the sides host and network"),
            (head + f"ports: [{one}, {other}]\nforwarding: {{macs: 1}}\n", r"bad.yaml:4:\d+: .*macs")):
        assert re.search(sentence, refused(site, text)), (sentence, refused(site, text))


@pytest.mark.parametrize("cpus", [ONE_WORKER, TWO_WORKERS])
def test_nothing_is_lost_while_queues_change(site, cpus):
    """PACKETS of them, of files in memory, faster than the ports take them: to known and unknown stations, to all, and to the link itself."""
    packets, rounds = int(os.environ.get("PACKETS", 1_000_000)), 0

    def frame(i, to):
        ip = struct.pack("!BBHHHBBH", 0x45, (4 * (to % 8) + 3) << 2 | ECT0, 46, 0, 0, 64, 17, 0) + bytes((10, 0, 0, i, 10, 0, 0, to % 200))
        return bytes((2, 0, 0, 0, 0, to)) + bytes((2, 0, 0, 0, 0, i)) + b"\x08\x00" + ip + bytes(26)
    for i in range(HOSTS):
        others = [frame(i, to) for to in range(HOSTS) for _ in range(20)] + [frame(i, 99)]
        groups = [b"\xff" * 6 + others[0][6:], bytes.fromhex("0180c200000e") + others[0][6:]]
        write_pcap(f"{site.dir}/{i}.pcap", others + groups)
    ports = ", ".join(f'{{name: p{i}, device: "net_pcap{i},rx_pcap={site.dir}/{i}.pcap,infinite_rx=1", rate: {1 + i} Gbps}}' for i in range(HOSTS))
    fastpath = Fastpath(site, host="", network="", marks="", role="switch", ports=f"[{ports}]", forwarding="{flood: 100000}", cpus=cpus)
    few = [pb.DataplaneQueue(serves=3, packets=20), pb.DataplaneQueue(serves=0x3fc, packets=30, ecn_packets=5)]
    end = None
    while end is None or end < packets or rounds < 40:
        port = f"p{rounds % HOSTS}"
        fastpath.do(set_dataplane_ports=pb.SetDataplanePorts(owner="a", ports=[pb.DataplanePort(port=port, rate_bps=10 ** 9, queues=few if rounds % 2 else [])]))
        rounds += 1
        counters = fastpath.counters()
        queues_hold(counters)
        end = sum(value for (_, name), value in counters.items() if name == "came_packets")
    counters = fastpath.counters()
    queues_hold(counters) if cpus == TWO_WORKERS else sums_hold(counters)
    assert all(counters["p0", name] > 0 for name in ("flooded_packets", "copied_packets", "filtered_packets"))
    assert fastpath.end() == 0, fastpath.read_log()
    print(f"{end} packets came, {rounds} changes")
