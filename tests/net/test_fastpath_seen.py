"""duopoly-fastpath from outside: its agent, its control socket and duopolyctl, captures, and DPDK's
telemetry."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import time

import nets
import test_fastpath
from controller import Daemon, pb
from nets import wait_for
from test_fastpath import BPS, CTL, RED, Blast, Fastpath, dscp, echo, port_message, site  # noqa: F401: site is a fixture
from testbed.net import answers

pytestmark = test_fastpath.pytestmark


class Agent:
    """A switch's agent that drives the data plane of `site`, in this machine's network."""

    def __init__(self, site, controller, more=""):
        self.state, self.config, self.log = (os.path.join(site.dir, name) for name in ("state", "agent.yaml", "agent.log"))
        with open(self.config, "w") as out:
            out.write(f"name: sw1\nrole: switch\ncontroller: {controller}\nstate: {self.state}\nlink: {{rate: 20 Mbps}}\n"
                      f'switch: {{driver: fastpath, at: "unix:{site.dir}/fastpath.sock"}}\n{more}')
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([nets.BUILD + "/duopoly-agent", "--config", self.config], stderr=log)
        site.children.append(self)

    def read_log(self):
        with open(self.log) as log:
            return log.read()

    def last_line(self):
        return self.read_log().splitlines()[-1]

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def test_a_switchs_agent_sets_the_ports_and_sets_them_again(site):
    daemon = Daemon()
    try:
        fastpath = Fastpath(site, marks="{by: kernel}")
        before = [(q.serves, q.packets, q.floor_bps, q.red_packets) for q in port_message(fastpath, "network").queues]
        agent = Agent(site, daemon.address, f"queues: {RED}\n")

        def owned():
            port = port_message(fastpath, "network")
            return (port.owner, port.rate_bps, {q.red_packets for q in port.queues}) == ("sw1", 20_000_000, {40})
        wait_for("the agent's queues", owned)
        wait_for("the switch", lambda: [(row["driver"], row["port_count"], row["steps"]) for row in daemon.ctl("switches")["switches"]]
                 == [("fastpath", 2, 0)])
        blast = Blast(site, 3)

        def carries():
            rows = {row["port"]: row for row in daemon.ctl("links")["links"] if row["host"] == "sw1"}
            blast.read()
            return sorted(rows) == ["host", "network"] and rows["network"]["rate_bps"] == 20_000_000 and rows["network"]["sent_permille"] > 500
        wait_for("what the links carry", carries, 20)
        blast.stop()
        fastpath.stop()
        fastpath = Fastpath(site, marks="{by: kernel}")
        wait_for("the agent's queues again", owned, 20)
        daemon.ctl("switch", "sw1", "restore")
        wait_for("what was there", lambda: not port_message(fastpath, "network").owner)
        assert [(q.serves, q.packets, q.floor_bps, q.red_packets) for q in port_message(fastpath, "network").queues] == before
        daemon.ctl("switch", "sw1", "apply", "--confirm", "60 s")
        wait_for("the agent's queues", owned)
        agent.process.send_signal(signal.SIGTERM)
        assert agent.process.wait(20) == 0
        assert port_message(fastpath, "network").owner == ""
    finally:
        daemon.remove()


def test_what_an_agent_cannot_drive_is_one_sentence(site):
    def sentence(**more):
        agent = Agent(site, "tcp://127.0.0.1:7", **more)
        assert agent.process.wait(20) == 1
        return agent.last_line()
    assert f"no data plane listens on {site.dir}/fastpath.sock" in sentence()
    fastpath = Fastpath(site)
    assert "marks.dscp is to be the same" in sentence(more="marks: {dscp: [1, 2, 3, 4, 5, 6, 7, 8]}\n")
    agent = Agent(site, "tcp://127.0.0.1:7", more="queues: {leaf_packets: 101}\n")
    try:
        wait_for("the agent", lambda: "manages 2 ports (host and network), 2 of them without queues of ours" in agent.read_log())
        assert all(re.search(port + ": .*has memory for 1000.*nothing is done on this port", agent.read_log()) for port in ("host", "network"))
        assert agent.process.poll() is None and port_message(fastpath, "network").owner == ""
    finally:
        agent.stop()


def test_a_port_that_another_has_set_is_named_and_all_others_are_served(site):
    fastpath = Fastpath(site)
    few = [pb.DataplaneQueue(serves=0x3ff, packets=20)]
    fastpath.do(set_dataplane_ports=pb.SetDataplanePorts(owner="sw9", ports=[pb.DataplanePort(port="host", rate_bps=BPS, queues=few)]))
    for _ in range(2):
        agent = Agent(site, "tcp://127.0.0.1:7")
        try:
            wait_for("the other port's queues", lambda: port_message(fastpath, "network").owner == "sw1" and "manages" in agent.read_log())
            said = [line for line in agent.read_log().splitlines() if "host: sw9 has set its queues" in line and "nothing is done on this port" in line]
            assert len(said) == 1 and "1 of them without queues of ours" in agent.read_log()
            assert port_message(fastpath, "host").owner == "sw9"
        finally:
            agent.stop()
    agent = Agent(site, "tcp://127.0.0.1:7")
    try:
        wait_for("the agent", lambda: "manages" in agent.read_log())
        fastpath.do(set_dataplane_ports=pb.SetDataplanePorts(owner="sw9", ports=[pb.DataplanePort(port="host")]))
        wait_for("the queues of the port that is nobody's any more", lambda: port_message(fastpath, "host").owner == "sw1", 20)
        wait_for("the word", lambda: "host is in no trouble any more" in agent.read_log())
        agent.process.send_signal(signal.SIGTERM)
        assert agent.process.wait(20) == 0 and not port_message(fastpath, "network").owner
    finally:
        agent.stop()


def test_the_control_socket_says_what_it_does_not_take(site):
    fastpath = Fastpath(site)
    assert "there are 0" in fastpath.refusal(mode=pb.Mode(mode=2))
    assert "none of its flows was set" in fastpath.refusal(set_flows=pb.SetFlows(flows=[
        pb.FlowLevels(local=bytes(16), peer=bytes(16), coflow_level=8)]))
    assert "lists counters only" in fastpath.refusal(list=pb.List(of=pb.LIST_JOBS))
    assert "not get_status" in fastpath.refusal(get_status=pb.GetStatus())
    assert "speaks version 1, not 2" in fastpath.refusal(version=2, mode=pb.Mode(mode=1))
    fastpath.mode(1)
    listed = nets.run(CTL, "--socket", fastpath.path, "counters")
    assert re.search(r"^network queue 9 +dropped_packets +0$", listed, re.M)
    fastpath.socket.send(b"\xff\xff")
    assert pb.Envelope.FromString(fastpath.socket.recv(1 << 16)).refused.text
    fastpath.socket = fastpath.connect()
    fastpath.lease()
    many = [pb.FlowLevels(local=bytes(16), peer=struct.pack("!QQ", 1, i), owner=1) for i in range(256)]
    for _ in range(64):
        answer = fastpath.ask(set_flows=pb.SetFlows(flows=many))
        assert answer.WhichOneof("body") == "accepted" or "on their way" in answer.refused.text
    wait_for("flows", lambda: fastpath.counters()["flows", "alive"] == 256)
    echo(site, socket.AF_INET, 1)


def test_duopolyctl_shows_ports_queues_flows_and_cycles(site):
    fastpath = Fastpath(site)
    for _ in range(5):
        echo(site, socket.AF_INET, 1000)

    def same():
        told, counters = answers.read(nets.run(CTL, "-j", "--socket", fastpath.path, "fastpath")), fastpath.counters()
        rows = {}
        for port in told["ports"]:
            rows.update({(port["port"], name): value for name, value in port.items() if name != "port"})
        for queue in told["queues"]:
            rows.update({(f"{queue['port']} queue {queue['queue']}", name): value for name, value in queue.items()
                         if name not in ("port", "queue")})
        rows.update({("flows", name): told["flows_" + name] for name in ("alive", "made", "ended")})
        assert len(told["ports"]) == 2 and len(told["queues"]) == 20 and told["cycles_a_packet"] > 0
        assert told["dropped_packets"] == sum(queue["dropped_packets"] for queue in told["queues"])
        return rows == {key: counters[key] for key in rows} and rows["host", "came_packets"] >= 5
    wait_for("the same counters", same, 30)
    shown = nets.run(CTL, "--socket", fastpath.path, "fastpath")
    assert re.search(r"^PORT +QUEUE +IN +OUT +BYTES OUT +DROPPED +CE +WAITING$", shown, re.M)
    assert re.search(r"^network +9 ", shown, re.M) and re.search(r"^cycles a packet +\d+$", shown, re.M)
    assert fastpath.end() == 0
    done = subprocess.run([CTL, "--socket", fastpath.path, "fastpath"], stderr=subprocess.PIPE, text=True, timeout=20)
    assert done.returncode == 3 and f"no data plane listens on {fastpath.path}" in done.stderr


def read_pcapng(path):
    """[(interface's number, direction: 1 in, 2 out, frame)] of a file, whose blocks are as pcapng
    has them."""
    with open(path, "rb") as f:
        data = f.read()
    found, at = [], 0
    assert struct.unpack_from("<II", data, 0)[0] == 0x0a0d0d0a and struct.unpack_from("<I", data, 8)[0] == 0x1a2b3c4d
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length
        if kind == 6:
            interface, high, low, size, whole = struct.unpack_from("<IIIII", data, at + 8)
            assert abs((high << 32 | low) / 1e9 - time.time()) < 300
            options, direction = at + 28 + (size + 3) // 4 * 4, 0
            while options < at + length - 4:
                code, many = struct.unpack_from("<HH", data, options)
                direction = struct.unpack_from("<I", data, options + 4)[0] & 3 if code == 2 else direction
                options += 4 + (many + 3) // 4 * 4
            assert size == whole
            found.append((interface, direction, data[at + 28:at + 28 + size]))
        at += length
    return found


def test_a_capture_has_frames_as_they_come_and_as_they_leave(site):
    fastpath = Fastpath(site)
    fastpath.lease()

    def ctl(*words, status=0):
        done = subprocess.run([CTL, "-j", "--socket", fastpath.path, "fastpath", *words], capture_output=True, text=True, timeout=30)
        assert done.returncode == status, done
        try:
            return answers.read(done.stdout)
        except answers.Refused as refused:
            return str(refused)
    assert "no capture goes on" in ctl("capture", "end", status=1)
    assert "has no such port" in ctl("capture", "p7", "10", status=1)
    assert "capture PORT FRAMES" in ctl("capture", "host", status=2)
    ours, theirs, listener = nets.connection(None, site.host, site.network)
    fastpath.levels(ours.getsockname()[:2], ours.getpeername()[:2], 2, 2)
    begun = ctl("capture", "all", "10000")
    assert begun["goes_on"] and begun["path"] == f"{site.dir}/capture-all-1.pcapng"
    assert "goes on already" in ctl("capture", "host", "10", status=1)
    nets.pass_bytes(ours, theirs, 50000)
    ended = ctl("capture", "end")
    frames = read_pcapng(begun["path"])
    assert (ended["frames"], ended["lost"], ended["goes_on"]) == (len(frames), 0, False)
    content = [(interface, direction, frame[15] >> 2) for interface, direction, frame in frames
               if frame[12:14] == b"\x08\x00" and frame[23] == 6 and len(frame) > 1000]
    came = [dscp_of for interface, direction, dscp_of in content if (interface, direction) == (0, 1)]
    left = [dscp_of for interface, direction, dscp_of in content if (interface, direction) == (1, 2)]
    assert len(came) == len(left) >= 50000 // 1500 and set(came) == {0} and dscp(2) in left, "marked on its way"
    assert len(content) == len(came) + len(left)
    some = ctl("capture", "host", "20")
    nets.pass_bytes(ours, theirs, 50000)
    wait_for("the end", lambda: fastpath.said("a capture has ended: 20 frames, 0 lost"))
    frames = read_pcapng(some["path"])
    assert len(frames) == 20 and {interface for interface, _, _ in frames} == {0}
    for thing in (ours, theirs, listener):
        thing.close()
    assert fastpath.end() == 0, fastpath.read_log()


class Telemetry:
    """A client of DPDK's own telemetry socket, which lies where the unit's RuntimeDirectory is."""

    def __init__(self, site):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.socket.connect(os.path.join(site.dir, "dpdk", "rte", "dpdk_telemetry.v2"))
        self.most = json.loads(self.socket.recv(1 << 16))["max_output_len"]

    def ask(self, command):
        self.socket.send(command.encode())
        (said, value), = json.loads(self.socket.recv(self.most)).items()
        assert said == command.split(",")[0]
        return value


def test_dpdks_telemetry_tells_what_the_control_socket_tells(site):
    fastpath = Fastpath(site)
    telemetry = Telemetry(site)
    for _ in range(5):
        echo(site, socket.AF_INET, 1000)
    assert telemetry.ask("/duopoly/ports") == ["host", "network"]

    def same():
        """Counters do not stand still while the kernel looks for neighbours."""
        before = fastpath.counters()
        told = {}
        for side in ("host", "network"):
            port = telemetry.ask(f"/duopoly/port,{side}")
            queues = telemetry.ask(f"/duopoly/queues,{side}")
            assert all(len(values) == port["queues"] for values in queues.values())
            told.update({(side, name): value for name, value in port.items() if name != "queues"})
            told.update({(f"{side} queue {q}", name): value for name, values in queues.items() for q, value in enumerate(values)})
        told.update({("flows", name): value for name, value in telemetry.ask("/duopoly/flows").items()})
        return told == {key: before[key] for key in told} and before["host", "came_packets"] >= 5
    wait_for("the same counters", same, 30)
    worker = telemetry.ask("/duopoly/worker")
    assert worker["busy_cycles"] > worker["cycles_a_packet"] > 0 and worker["sleeps"] > 0
    for command in ("/duopoly/queues,nosuch", "/duopoly/port"):
        assert telemetry.ask(command) is None
    assert fastpath.end() == 0, fastpath.read_log()
