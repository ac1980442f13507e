"""Network namespaces, sockets inside them, cgroups and captures for tests: made by name, removed by name.

Not testbed/net, though both make namespaces: that one is what users get from `make demo` (numbered, rated links, a state file
from which another process can end it), and itself under test here; this one is the least that a test of one part needs.

Sockets belong to the namespace of the thread that made them and to the cgroup of the process at that moment,
so a test needs no helper processes: `with ns.inside():` and `with cgroup.inside():` around socket()."""

import contextlib
import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)

# `timeout` ends a run by SIGTERM: then what a test made must be removed, too.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 and not os.environ.get("REQUIRE_NET"), reason="needs root (REQUIRE_NET=1 makes this a failure)")


# How much longer than here what must merely come about may take: in a guest every process and packet is slow.
PATIENCE = {"uml": 3, "qemu": 6}.get(os.environ.get("GUEST"), 1)


def wait_for(what, condition, deadline_s=10.0 * PATIENCE):
    """Waits until condition() is true and returns its value; fails with `what` after the deadline."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what}: not within {deadline_s} s"
        time.sleep(0.005)


def run(*argv, **kw):
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=30 * PATIENCE, **kw).stdout


@contextlib.contextmanager
def inside_network(path):
    """This thread, in the network namespace of this file."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(path, os.O_RDONLY)
    try:
        assert libc.setns(there, CLONE_NEWNET) == 0
        yield
    finally:
        libc.setns(own, CLONE_NEWNET)
        os.close(own)
        os.close(there)


class Namespace:
    def __init__(self, name):
        self.name = name
        run("ip", "netns", "add", name)
        self.ip("link", "set", "lo", "up")
        with self.inside():
            for key, value in (("net/ipv4/tcp_ecn", "1"), ("net/ipv6/conf/all/accept_dad", "0"),
                               ("net/ipv6/conf/default/accept_dad", "0")):
                with open("/proc/sys/" + key, "w") as f:
                    f.write(value)

    def enter(self, *argv):
        """Runs a command inside. Not by `ip -n`, which remounts / and so fails where / is no mount point (a chroot)."""
        return run("nsenter", "--net=/run/netns/" + self.name, *argv)

    def ip(self, *argv):
        return self.enter("ip", *argv)

    def tc(self, *argv):
        return self.enter("tc", *argv)

    def inside(self):
        return inside_network("/run/netns/" + self.name)

    def popen(self, *argv, **kw):
        return subprocess.Popen(["nsenter", "--net=/run/netns/" + self.name, "--", *argv], **kw)

    def remove(self):
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True)


def cgroup2_root():
    with open("/proc/mounts") as f:
        for line in f:
            fields = line.split()
            if fields[2] == "cgroup2":
                return fields[1]
    pytest.skip("no cgroup2 mounted")


class Cgroup:
    def __init__(self, path):
        self.path = path
        os.makedirs(path, exist_ok=True)
        self.id = os.stat(path).st_ino

    @contextlib.contextmanager
    def inside(self):
        with open("/proc/self/cgroup") as f:
            own = next(line.split("::")[1].strip() for line in f if "::" in line)
        own = cgroup2_root() + own
        self._move(self.path)
        try:
            yield
        finally:
            self._move(own)

    def _move(self, path):
        with open(path + "/cgroup.procs", "w") as f:
            f.write(str(os.getpid()))

    def remove(self):
        def gone():
            try:
                os.rmdir(self.path)
            except FileNotFoundError:
                return True
            except OSError:
                return False
            return True
        wait_for("cgroup " + self.path + " empty", gone)


class Net:
    """Hosts h1…hN with addresses 10.99.0.N and fd99::N behind a bridge `br0` in namespace `sw`."""

    marks = "ebpf"  # the mark driver of its agents

    def __init__(self, hosts, mtu=1500):
        self.prefix = f"dpt{os.getpid()}"
        self.hosts = []
        self.dir = tempfile.mkdtemp(prefix="duopoly-test-")
        os.chmod(self.dir, 0o755)  # commands of other users read files there
        self.cgroups = []
        self.children = []
        self.sw = None
        try:
            self.sw = Namespace(self.prefix + "s")
            self.sw.ip("link", "add", "br0", "type", "bridge", "stp_state", "0", "mcast_snooping", "0")
            self.sw.ip("link", "set", "br0", "up")
            for i in range(1, hosts + 1):
                self._add_host(i, mtu)
        except BaseException:
            self.remove()
            raise

    def _add_host(self, i, mtu):
        host = Namespace(f"{self.prefix}h{i}")
        self.hosts.append(host)
        self.sw.ip("link", "add", f"p{i}", "mtu", str(mtu), "type", "veth", "peer", "name", "up0", "mtu", str(mtu),
                   "netns", host.name)
        self.sw.ip("link", "set", f"p{i}", "master", "br0")
        for ns, dev in ((self.sw, f"p{i}"), (host, "up0")):
            ns.ip("link", "set", dev, "up")
            run("nsenter", "--net=/run/netns/" + ns.name, "ethtool", "-K", dev, "tso", "off", "gso", "off", "gro", "off")
        host.address, host.address6 = f"10.99.0.{i}", f"fd99::{i}"
        host.ip("addr", "add", host.address + "/24", "dev", "up0")
        host.ip("addr", "add", host.address6 + "/64", "dev", "up0", "nodad")
        host.ip("addr", "add", f"10.98.0.{i}/24", "dev", "up0")

    def cgroup(self, name, parent=None):
        """A new one, or the one that it made with this name."""
        path = os.path.join(parent.path if parent else cgroup2_root(), name if parent else self.prefix + name)
        known = next((group for group in self.cgroups if group.path == path), None)
        if not known:
            self.cgroups.append(Cgroup(path))
        return known or self.cgroups[-1]

    def agent(self, host, ports="up0", link_bps=100_000_000, levels=8, members="10.99.0.0/24,fd99::/64", cgroup=None,
              flows=1024, control_port=7000, role="host", replace=False, name=None, leaf_packets=100, nudge=False, marks=None,
              queues=None, ecn=False, under=(), tunnels=None):
        driver = Driver(self, host, [os.path.join(self.dir, name or host.name), role, ports, str(link_bps), str(levels),
                                     members, cgroup.path if cgroup else "-", str(flows), str(control_port)], under,
                        MARKS=marks or self.marks, REPLACE=int(replace), NUDGE=int(nudge), LEAF_PACKETS=leaf_packets, QUEUES=queues, ECN=int(ecn),
                        TUNNELS=tunnels)
        self.children.append(driver)
        return driver

    def remove(self):
        for child in reversed(self.children):
            child.stop()
        for host in self.hosts:
            host.remove()
        if self.sw:
            self.sw.remove()
        for group in reversed(self.cgroups):
            group.remove()
        with open("/proc/mounts") as f:
            mounted = [line.split()[1] for line in f]
        for path in reversed([path for path in mounted if path.startswith(self.dir + "/")]):
            subprocess.run(["umount", "-l", path], capture_output=True)
        shutil.rmtree(self.dir, ignore_errors=True)


class Driver:
    """build/tests/agent-driver in a host's namespace: one command a line, one answer a line."""

    def __init__(self, net, host, argv, under=(), **settings):
        env = dict(os.environ)
        env.update({name: str(value) for name, value in settings.items() if value})
        self.bpffs = os.path.join(argv[0], "bpf")
        self.process = host.popen(*under, os.path.join(BUILD, "tests/agent-driver"), *argv, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, bufsize=1, env=env)
        self.opened = self._answer()

    def _answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], 20 * PATIENCE)
        assert ready, "the driver does not answer"
        return self.process.stdout.readline().strip()

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self._answer()

    def do(self, line):
        answer = self.ask(line)
        assert answer.startswith("ok"), answer
        return answer[3:]

    def stats(self):
        return json.loads(self.do("stats"))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            try:
                self.ask("restore")
                self.process.stdin.close()
                self.process.wait(10)
            except (OSError, AssertionError, subprocess.TimeoutExpired):
                self.kill()
        while subprocess.run(["umount", self.bpffs], capture_output=True).returncode == 0:
            pass


class Packet:
    """What a test wants to know of an Ethernet frame, with or without VLAN tags and IPv6 extension headers."""

    def __init__(self, frame):
        kind, = struct.unpack("!H", frame[12:14])
        start = 14
        while kind in (0x8100, 0x88a8):
            kind, = struct.unpack("!H", frame[start + 2:start + 4])
            start += 4
        self.tags = (start - 14) // 4
        self.version, self.sport, self.dport, self.payload, self.flags = 0, 0, 0, 0, 0
        self.tos = self.protocol = None
        self.checksum_right = True
        ip = frame[start:]
        if kind == 0x0800:
            self.version, self.tos, self.protocol = 4, ip[1], ip[9]
            header, total = (ip[0] & 15) * 4, struct.unpack("!H", ip[2:4])[0]
            self.src, self.dst = socket.inet_ntop(socket.AF_INET, ip[12:16]), socket.inet_ntop(socket.AF_INET, ip[16:20])
            words = struct.unpack(f"!{header // 2}H", ip[:header])
            total_sum = sum(words)
            while total_sum >> 16:
                total_sum = (total_sum & 0xffff) + (total_sum >> 16)
            self.checksum_right = total_sum == 0xffff
        elif kind == 0x86dd:
            self.version, self.protocol = 6, ip[6]
            self.tos = (ip[0] & 15) << 4 | ip[1] >> 4
            self.flow_label = struct.unpack("!I", ip[:4])[0] & 0xfffff
            header, total = 40, 40 + struct.unpack("!H", ip[4:6])[0]
            while self.protocol in (0, 43, 44, 60):
                self.protocol, length = ip[header], 8 if self.protocol == 44 else 8 + 8 * ip[header + 1]
                header += length
            self.src, self.dst = socket.inet_ntop(socket.AF_INET6, ip[8:24]), socket.inet_ntop(socket.AF_INET6, ip[24:40])
        if self.protocol in (6, 17) and len(ip) >= header + 8:
            self.sport, self.dport = struct.unpack("!HH", ip[header:header + 4])
            if self.protocol == 6:
                self.flags = ip[header + 13]
                self.payload = total - header - (ip[header + 12] >> 4) * 4
            else:
                self.payload = total - header - 8

    @property
    def dscp(self):
        return self.tos >> 2

    @property
    def ecn(self):
        return self.tos & 3


class Capture:
    """All frames that pass `dev` of a namespace in one direction (default: that arrive there); `raw`: as bytes."""

    def __init__(self, ns, dev, outgoing=False, raw=False):
        with ns.inside():
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.sock.bind((dev, 0))
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.sock.setblocking(False)
        self.outgoing, self.raw = outgoing, raw
        self.packets = []

    def read(self):
        while True:
            try:
                frame, address = self.sock.recvfrom(65536)
            except BlockingIOError:
                return self.packets
            if (address[2] == 4) == self.outgoing:
                packet = frame if self.raw else Packet(frame)
                if self.raw or packet.version:
                    self.packets.append(packet)

    def clear(self):
        self.read()
        self.packets = []

    def close(self):
        self.sock.close()


def connection(net, opener, accepter, group=None, family=socket.AF_INET, port=0, accepter_group=None, mapped=False,
               address=None, listener=None, control=b"cubic"):
    """A TCP connection between two hosts; returns (socket of the opener, socket of the accepter, listener)."""
    def made(ns, in_group, kind):
        with ns.inside(), (in_group.inside() if in_group else contextlib.nullcontext()):
            sock = socket.socket(kind, socket.SOCK_STREAM)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)  # BBR ignores priorities
            return sock
    if address is None:
        address = accepter.address if family == socket.AF_INET or mapped else accepter.address6
    if listener is None:
        listener = made(accepter, accepter_group, family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("::" if family == socket.AF_INET6 else "0.0.0.0", port))
        listener.listen(64)
    here = made(opener, group, family)
    here.settimeout(10 * PATIENCE)
    listener.settimeout(10 * PATIENCE)
    here.connect((("::ffff:" if mapped else "") + address, listener.getsockname()[1]))
    there, _ = listener.accept()
    there.settimeout(10 * PATIENCE)
    return here, there, listener


def pass_bytes(source, target, count):
    """Sends `count` bytes and receives them all."""
    sent = got = 0
    source.setblocking(False)
    target.setblocking(False)
    end = time.monotonic() + 20 * PATIENCE
    while got < count:
        assert time.monotonic() < end, f"{got} of {count} bytes arrived"
        readable, writable, _ = select.select([target], [source] if sent < count else [], [], 1)
        if writable:
            sent += source.send(b"x" * min(65536, count - sent))
        if readable:
            data = target.recv(65536)
            assert data, "the connection ended"
            got += len(data)
    source.settimeout(10 * PATIENCE)
    target.settimeout(10 * PATIENCE)


def tcp_sent_again(sock):
    """Payload that the socket has sent more than once (tcpi_bytes_retrans, Linux 4.19)."""
    return struct.unpack_from("=Q", sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 216), 208)[0]


def tcp_queued(sock):
    """Bytes in the socket's send queue (SIOCOUTQ): sent and not acknowledged, or not sent."""
    return struct.unpack("i", fcntl.ioctl(sock, 0x5411, struct.pack("i", 0)))[0]
