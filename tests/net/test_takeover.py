"""Marks outlive the agents: no packet is lost or bears a wrong mark while the agents of both ends
are ended and begun, killed as they begin, with another bound of the flows and another layout of the
map."""

import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from nets import BUILD, Net, needs_root, wait_for
from scripted import FIRST, STARTED, Agent, Controller

pytestmark = needs_root
LEVEL, PORT = 2, 4600
PROGRAMS = ("duopoly-agent", "tests/other-agent")
SYN, FIN = 2, 1

# Connections that stay, an exchange on each every 10 ms; one that is opened for one exchange; and
# some on which the server alone speaks, every ms: what it sends bears the mark that arrived last,
# however long ago.
SERVER = f"""
import selectors, socket
sel = selectors.DefaultSelector()
listener = socket.create_server(("0.0.0.0", {PORT}), backlog=64)
sel.register(listener, selectors.EVENT_READ)
spoken_to = []
print("ready", flush=True)
while True:
    for s in spoken_to:
        s.sendall(b"z" * 100)
    for key, _ in sel.select(0.001):
        if key.fileobj is listener:
            sel.register(listener.accept()[0], selectors.EVENT_READ)
            continue
        words = key.fileobj.recv(65536)
        if words == b"speak":
            key.fileobj.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            spoken_to.append(key.fileobj)
        elif words:
            key.fileobj.sendall(b"y" * 4000)
        else:
            sel.unregister(key.fileobj)
            key.fileobj.close()
"""
CLIENT = f"""
import socket, time
def take(s):
    got = 0
    while got < 4000:
        got += len(s.recv(65536))
def one():
    return socket.create_connection(("ADDRESS", {PORT}))
stay, listens = [one() for _ in range(4)], [one() for _ in range(4)]
for s in listens:
    s.sendall(b"speak")
    s.setblocking(False)
while True:
    for s in listens:
        try:
            s.recv(65536)
        except BlockingIOError:
            pass
    new = one()
    for s in stay + [new]:
        s.sendall(b"x" * 400)
    for s in stay + [new]:
        take(s)
    new.close()
    time.sleep(0.01)
"""


def dscp(level):
    return 4 * level + 3


class Judge(threading.Thread):
    """Reads what arrives at a host and counts packets, wrong marks and holes in the streams."""

    def __init__(self, host):
        super().__init__(daemon=True)
        with host.inside():
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.sock.bind(("up0", 0))
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 20)
        self.sock.settimeout(0.1)
        self.packets = self.opened = self.lost = 0
        self.wrong, self.next, self.ended, self.stopping = [], {}, set(), False
        self.start()

    def run(self):
        while not self.stopping:
            try:
                frame, address = self.sock.recvfrom(65536)
            except TimeoutError:
                continue
            if address[2] != 4 and frame[12:14] == b"\x08\x00" and frame[23] == 6:
                self.judge(frame)

    def judge(self, frame):
        total, = struct.unpack("!H", frame[16:18])
        sport, dport, seq = struct.unpack("!HHI", frame[34:42])
        if PORT not in (sport, dport):
            return
        flags, payload = frame[47], total - 20 - (frame[46] >> 4) * 4
        flow = (sport, dport)
        if flags & SYN:
            self.opened += 1
            self.next[flow] = (seq + 1) % 2 ** 32
            self.ended.discard(flow)
        elif flow in self.ended and not payload:
            return  # the last word of a socket that is no task's any more
        ends = seq + payload + bool(flags & (SYN | FIN))
        self.lost += (seq - self.next.get(flow, seq)) % 2 ** 32 in range(1, 2 ** 31)
        if (ends - self.next.get(flow, seq)) % 2 ** 32 < 2 ** 31:
            self.next[flow] = ends % 2 ** 32
        if flags & FIN:
            self.ended.add(flow)
        self.packets += 1
        if frame[15] >> 2 != dscp(0 if flags & SYN else LEVEL):
            self.wrong.append((time.monotonic(), sport, dport, flags, payload, frame[15] >> 2))

    def missed(self):
        return struct.unpack("II", self.sock.getsockopt(263, 6, 8))[1]  # SOL_PACKET, PACKET_STATISTICS

    def stop(self):
        self.stopping = True
        self.join()
        self.sock.close()


class Ends:
    """h1 fetches under an agent, h2 serves under another; each has a controller of its own."""

    def __init__(self, net):
        self.net, self.judges, self.agents, self.controllers, self.server = net, [], [], [], None
        h1, h2 = net.hosts
        self.server = h2.popen("/usr/bin/python3", "-c", SERVER, stdout=subprocess.PIPE)
        assert self.server.stdout.readline() == b"ready\n"
        for i, host in enumerate(net.hosts):
            address = f"tcp://{h2.address}:{7000 + i}"
            self.controllers.append(Controller(h2, address))
            self.agents.append(Agent(net, host, address, name=host.name[-2:], marks=", flows: 8192", lines=["on_exit: keep"],
                                     task_lines=[f"  program: {BUILD}/duopoly-task"], commands={"fetch": CLIENT.replace("ADDRESS", h2.address)}))
        for i in (0, 1):
            self.wait_session(i, 1)
        self.controllers[0].do(f"start {FIRST + 1} 1 0 0 fetch 1 {LEVEL} 5")
        self.controllers[0].wait_phase(FIRST + 1, STARTED)
        self.judges = [Judge(host) for host in net.hosts]
        self.wait_traffic()

    def wait_session(self, i, n):
        def there():
            assert self.agents[i].process.poll() is None, open(self.agents[i].log).read()
            return len(self.controllers[i].of("inventory_end")) >= n
        wait_for("the session", there)

    def wait_traffic(self):
        before = [judge.packets for judge in self.judges]
        wait_for("traffic both ways", lambda: all(judge.packets > n + 100 for judge, n in zip(self.judges, before)))

    def restart(self, i, number, flows, program, interrupt_s):
        """Ends and begins agent i; with interrupt_s once more, killed that long after its
        beginning."""
        agent = self.agents[i]
        sessions = len(self.controllers[i].of("inventory_end"))
        agent.process.send_signal(number)
        agent.process.wait(10)
        with open(agent.config) as f:
            text = re.sub(r"flows: \d+", f"flows: {flows}", f.read())
        with open(agent.config, "w") as f:
            f.write(text)
        if interrupt_s is not None:
            agent.start(program)
            time.sleep(interrupt_s)  # where it is then is what is tried out
            agent.kill()
        agent.start(program)
        self.wait_session(i, sessions + 1)
        self.wait_traffic()

    def fill(self, n):
        """So many more flows at h2, by SYNs to a port that nobody judges: a table takes its time to
        change hands."""
        h1, h2 = self.net.hosts
        with h1.inside():
            out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            out.bind(("up0", 0))
        to = bytes.fromhex(json.loads(h2.ip("-j", "link", "show", "up0"))[0]["address"].replace(":", ""))
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 6, 0, socket.inet_aton(h1.address), socket.inet_aton(h2.address))
        total = sum(struct.unpack("!10H", ip))
        ip = ip[:10] + struct.pack("!H", 0xffff - (total % 0x10000 + total // 0x10000)) + ip[12:]
        for i in range(n):
            if i % 50 == 0:
                time.sleep(0.002)  # or the queue of what opens connections overflows
            out.send(to + b"\x02\0\0\0\0\x01\x08\x00" + ip + struct.pack("!HHIIBBHHH", i + 10000, 9, 0, 0, 0x50, SYN, 0, 0, 0))
        out.close()

    def end(self):
        for judge in self.judges:
            judge.stop()
        for agent in self.agents:
            if agent.process.poll() is None:
                agent.kill()
            agent.restore()
        for controller in self.controllers:
            controller.stop()
        if self.server:
            self.server.kill()
            self.server.wait()


@pytest.fixture
def ends():
    net = Net(2)
    made = Ends.__new__(Ends)
    try:
        made.__init__(net)
        yield made
    finally:
        try:
            made.end()
        finally:
            net.remove()


@pytest.mark.parametrize("restarts", [20, pytest.param(200, marks=pytest.mark.faults)])
def test_no_packet_is_lost_or_mismarked_by_restarts(ends, restarts):
    seed = int(os.environ.get("TEST_SEED", time.time_ns() % 10 ** 6))
    rng = random.Random(seed)
    counts = dict.fromkeys(("killed", "other bound", "other layout", "killed as they began"), 0)
    flows, program = [8192] * 2, [PROGRAMS[0]] * 2
    for n in range(restarts):
        if n % 10 == 0:
            ends.fill(5000)
        i, number = n % 2, (signal.SIGKILL, signal.SIGTERM)[n // 2 % 2]
        was = flows[i], program[i]
        flows[i] = rng.choice((8192, 12000, 16384))
        program[i] = rng.choice(PROGRAMS)
        interrupt_s = rng.uniform(0, 0.15) if rng.random() < 0.25 else None
        ends.restart(i, number, flows[i], program[i], interrupt_s)
        for key, true in zip(counts, (number == signal.SIGKILL, flows[i] != was[0], program[i] != was[1], interrupt_s is not None)):
            counts[key] += true
        assert not any(judge.wrong for judge in ends.judges), (seed, n, was, flows[i], program[i], interrupt_s, [j.wrong[:20] for j in ends.judges])
    packets, lost = (sum(getattr(judge, what) for judge in ends.judges) for what in ("packets", "lost"))
    assert not any(judge.missed() for judge in ends.judges)
    print(f"\n{restarts} restarts (seed {seed}; {json.dumps(counts)}): {packets} packets, {ends.judges[1].opened} connections opened, "
          f"{lost} lost, 0 with a wrong mark")
    assert lost == 0


def test_what_cannot_be_taken_over_is_refused_and_goes_on(ends):
    """A pinned map of another kind: one sentence, and the marks of the agent before stay as they
    are."""
    agent = ends.agents[1]
    agent.kill()
    pin = agent.state + "/bpf/received-1"
    os.unlink(pin)
    subprocess.run(["bpftool", "map", "create", pin, "type", "hash", "key", "8", "value", "16", "entries", "4096", "name", "received"], check=True)
    before = sorted(os.listdir(agent.state + "/bpf"))
    agent.start()
    assert agent.process.wait(10) == 1
    said = open(agent.log).read().splitlines()[-1]
    assert pin in said and "--restore" in said
    assert sorted(os.listdir(agent.state + "/bpf")) == before
    ends.wait_traffic()
    assert not any(judge.wrong for judge in ends.judges)
