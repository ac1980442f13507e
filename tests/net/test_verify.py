"""duopoly-verify on a real switch: right marks pass, a planted wrong one fails, and what the replay's own programs write
down is what the capture sees; the same of a Spark's tasks, by its event log and its executors' sockets."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from testbed.net import instance as instances
from testbed.net import star, system
from testbed.spark import connections

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TREE, os.environ.get("BUILD", "build"))
PORT = 7070
LEVEL, OTHER = 2, 5

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

# A server that sends `size` bytes under one mark, then some under another, then the rest under the first.
SERVER = """
import socket, sys
level, planted, size = (int(word) for word in sys.argv[1:4])
listener = socket.create_server(("", %d))
print("ready", flush=True)
peer = listener.accept()[0]
def mark(level): peer.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, (4 * level + 3) << 2)
def drained():
    import array, fcntl, time
    left = array.array("i", [0])
    while fcntl.ioctl(peer, 0x5411, left) == 0 and left[0]: time.sleep(0.005)
mark(level); peer.sendall(b"x" * size); drained()
mark(planted); peer.sendall(b"x" * 3000); drained()
mark(level); peer.sendall(b"x" * size); drained()
""" % PORT

CLIENT = """
import socket, sys, time
level, path = int(sys.argv[1]), sys.argv[2]
peer = socket.socket()
peer.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, (4 * level + 3) << 2)
peer.connect(("10.77.0.2", %d))
def write(what):
    with open(path, "a") as out:
        out.write("%%s %%s %%d %%s %%d %%d\\n" %% (what, *peer.getsockname(), *peer.getpeername(),
                                                time.clock_gettime_ns(time.CLOCK_BOOTTIME)))
write("open")
while peer.recv(65536): pass
write("close")
""" % PORT


@pytest.fixture
def net():
    instance = instances.create(TREE)
    try:
        made = star.Star(instance, 2, 50_000_000)
        made.up()
        os.mkdir(instance.path("ports"))
        yield made
    finally:
        instance.down()


def write_log(net, attempt):
    """What a controller would have written about one attempt."""
    path = net.instance.path("duopoly.log")
    with open(path, "w") as out:
        out.write("duopoly-log 1\nbegin 1\nstep %d\nd start reason=greedy left=0 right=0 attempt=%d job=1 stage=1 task=0 "
                  "coflow_level=%d macroflow_level=%d\n"
                  % (time.clock_gettime_ns(time.CLOCK_BOOTTIME), attempt, LEVEL, OTHER))
    return path


class Verify:
    """The program, capturing while the `with` block runs; then its result."""

    def __init__(self, net, log, *more, port=str(PORT), ports=None):
        self.json = net.instance.path("verify.json")
        command = [os.path.join(BUILD, "duopoly-verify"), "--log", log, "--ports", ports or net.instance.path("ports"), "--port", port,
                   "--json", self.json, *more, *("%s@%s" % (port, net.namespace_file(switch)) for switch, port in net.taps())]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        assert self.child.stdout.readline() == "capturing on 2 ports\n"
        return self

    def __exit__(self, *_):
        self.child.send_signal(signal.SIGTERM)
        self.said = self.child.communicate(timeout=20)[0]
        self.status = self.child.returncode
        if self.status < 2:
            with open(self.json) as result:
                self.result = json.load(result)


def transfer(net, planted):
    server = subprocess.Popen(net.enter("w2", sys.executable, "-c", SERVER, str(LEVEL), str(planted), "400000"),
                              stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    system.run(*net.enter("w1", sys.executable, "-c", CLIENT, str(LEVEL), net.instance.path("ports", "1-1-0-9")))
    assert server.wait(10) == 0


def test_right_marks_pass(net):
    with Verify(net, write_log(net, 9)) as verify:
        transfer(net, LEVEL)
    assert verify.status == 0, verify.said
    assert verify.result["checked"] == verify.result["right"] > 500
    assert verify.result["lost"] == 0


def test_a_planted_wrong_mark_fails(net):
    with Verify(net, write_log(net, 9)) as verify:
        transfer(net, OTHER)
    assert verify.status == 1, verify.said
    assert 2 <= verify.result["wrong"] <= 4, verify.said
    assert "has %d" % (4 * LEVEL + 3) in verify.said


APPLICATION, SPARKS = 7, 41  # its number, and Spark's of the task: the halves of the attempt's

# What an agent takes for an executor, too, which fetches under its task's level; it stays until its input ends.
EXECUTOR = """
import socket, sys, time
peer = socket.socket()
peer.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, (4 * int(sys.argv[1]) + 3) << 2)
peer.connect(("10.77.0.2", %d))
print("connected", flush=True)
sys.stdin.read(1)
while peer.recv(65536): pass
""" % connections.FIRST
WORDS = ["org.apache.spark.executor.CoarseGrainedExecutorBackend", "--executor-id", "3"]


def spark_transfer(net, planted, edges):
    """One task's of an executor on w1, of a stage that reads what `edges` say; verify's end."""
    log, events = net.instance.path("duopoly.log"), net.instance.path("events")
    os.mkdir(events)
    begin = time.time_ns() // 10**6
    with open(log, "w") as out:
        out.write("step %d\ne framework_stage job=9 stage=1 tasks=1 demand=1,0,0,0,0,0 parents=%s edges=%s history=0 phase=1 ungated=0\n"
                  "d allow reason=rank left=0 right=0 job=9 stage=1 host=0 count=1 allow=5 task=0 coflow_level=%d macroflow_level=%d\n"
                  "e framework_started attempt=%d allow=5 job=9 stage=1 task=0 host=0\n"
                  % (time.clock_gettime_ns(time.CLOCK_BOOTTIME), edges, edges, LEVEL, LEVEL, APPLICATION << 32 | SPARKS))
    server = subprocess.Popen(net.enter("w2", sys.executable, "-c", SERVER.replace(str(PORT), str(connections.FIRST)), str(LEVEL), str(planted), "400000"),
                              stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    watch = connections.Watch(net)
    with Verify(net, log, "--begin", "20", port="%d-%d" % (connections.FIRST, connections.LAST), ports=net.instance.path("of-spark")) as verify:
        executor = subprocess.Popen(net.enter("w1", sys.executable, "-c", EXECUTOR, str(LEVEL), *WORDS), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    text=True)
        assert executor.stdout.readline() == "connected\n"
        watch.look()
        executor.communicate("x")
        assert server.wait(10) == 0
        with open(os.path.join(events, "app-1"), "w") as out:
            for event in ({"Event": "SparkListenerApplicationStart"},
                          {"Event": "SparkListenerTaskEnd", "Stage ID": 1, "Task Info": {
                              "Task ID": SPARKS, "Index": 0, "Executor ID": "3", "Launch Time": begin, "Finish Time": time.time_ns() // 10**6 + 1}}):
                out.write(json.dumps(event) + "\n")
        watch.write(events, [log], net.instance.path("of-spark"))
    return verify


def test_a_sparks_right_marks_pass(net):
    verify = spark_transfer(net, LEVEL, "0")
    assert verify.status == 0, verify.said
    assert verify.result["right_bytes"] >= 803_000 and verify.result["wrong_bytes"] == verify.result["unattributed"] == 0, verify.said


def test_a_sparks_planted_wrong_mark_fails(net):
    verify = spark_transfer(net, OTHER, "0")
    assert verify.status == 1 and verify.result["wrong_bytes"] == 3000, verify.said
    assert "wrong: %d (3000 bytes), the first from 10.77.0.2 port %d" % (verify.result["wrong"], connections.FIRST) in verify.said, verify.said
    assert "attempt %d (its framework's %d, task 0 of stage 1) has %d" % (APPLICATION << 32 | SPARKS, SPARKS, 4 * LEVEL + 3) in verify.said, verify.said


def test_what_a_sparks_task_without_a_shuffle_fetches_is_nobodys_level(net):
    verify = spark_transfer(net, OTHER, "")
    assert verify.status == 0 and verify.result["unlevelled"] == verify.result["checked"] > 500, verify.said


def test_another_attempts_connection_is_unattributed(net):
    with Verify(net, write_log(net, 8)) as verify:
        transfer(net, LEVEL)
    assert verify.status == 1
    assert verify.result["unattributed"] == verify.result["checked"] > 0


def test_an_idle_link_ends_at_once_and_proves_nothing(net):
    with Verify(net, write_log(net, 9)) as verify:
        pass
    assert verify.status == 1 and verify.result["checked"] == 0


@pytest.mark.parametrize("where, word", [("nosuch", "nosuch"), ("nosuch@SWITCH", "nosuch"), ("w1@/run/netns/absent", "absent"),
                                         ("w1@/dev/null", "/dev/null")])
def test_a_missing_interface_or_namespace_is_a_sentence(net, where, word):
    where = where.replace("SWITCH", net.namespace_file(star.SWITCH))
    done = subprocess.run([os.path.join(BUILD, "duopoly-verify"), "--log", "x", "--ports", "y", "--port", "1", where],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and word in done.stderr and len(done.stderr.splitlines()) == 1


# A switch's ports as an agent of ours makes them, in short: what bears level 2's mark has that level's class, without content (less
# than 64 bytes, no FIN) that of level 0.
QUEUES = """
for port in w1 w2; do
    tc qdisc replace dev $port root handle d00: htb default 0xa
    for minor in 2 3 4 5 6 7 8 9 a; do tc class add dev $port parent d00: classid d00:$minor htb rate 50mbit; done
    tc filter add dev $port parent d00: protocol ip prio 1 u32 match ip tos 0x2c 0xfc match u8 1 1 at 33 flowid d00:4
    tc filter add dev $port parent d00: protocol ip prio 2 u32 match ip tos 0x2c 0xfc match u16 0 0xffc0 at 2 flowid d00:2
    tc filter add dev $port parent d00: protocol ip prio 3 u32 match ip tos 0x2c 0xfc flowid d00:4
done
"""


def hops(net):
    system.run(*net.enter(star.SWITCH, "sh", "-ec", QUEUES))
    return ["--hop=%s@%s" % (port, net.namespace_file(star.SWITCH)) for port in net.hosts]


def test_every_packet_is_followed_through_the_switch(net):
    with Verify(net, write_log(net, 9), *hops(net)) as verify:
        transfer(net, LEVEL)
    assert verify.status == 0, verify.said
    assert "hop by hop on 2 ports: %(checked)d payload packets came in, %(checked)d left towards a host, 0 unexplained" % (
        verify.result) in verify.said
    assert re.search(r"^ +%d +%d +%d +0$" % (4 * LEVEL + 3, LEVEL, verify.result["checked"]), verify.said, re.MULTILINE)


def test_what_waits_in_another_queue_than_its_mark_says_is_unexplained(net):
    ports = hops(net)
    system.run(*net.enter(star.SWITCH, "sh", "-ec", "tc filter del dev w1 parent d00:"))
    with Verify(net, write_log(net, 9), *ports) as verify:
        transfer(net, LEVEL)
    assert verify.status == 1 and verify.result["wrong"] == verify.result["unattributed"] == 0, verify.said
    assert re.search(r" are not as the queues count, most at w1@", verify.said), verify.said


def test_a_port_without_our_queues_cannot_be_a_hop(net):
    port = "w1@" + net.namespace_file(star.SWITCH)
    done = subprocess.run([os.path.join(BUILD, "duopoly-verify"), "--log", "x", "--ports", "y", "--port", "1", "--hop", port, port],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "has no HTB of duopoly's" in done.stderr and len(done.stderr.splitlines()) == 1


def run_reduce(net, attempt, size):
    """A reduce task on w1 as duopoly-task starts it; what it said."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with open(net.instance.path("input"), "w") as out:
        out.write("duopoly-task-input 1\njob 1\nstage 1\ntask 0\nattempt %d\ncompute_ns 1000000\noutput_bytes 0\n"
                  "input 10.77.0.2 %d map 0 0 3\n" % (attempt, size))
    environment = dict(os.environ, DUOPOLY_TASK_INPUT=net.instance.path("input"),
                       DUOPOLY_TASK_SOCKET=str(theirs.fileno()))
    done = subprocess.run(net.enter("w1", os.path.join(BUILD, "replay-reduce"), "--port", str(PORT), "--ports", net.instance.path("ports")),
                          env=environment, pass_fds=[theirs.fileno()], timeout=30, check=False)
    assert done.returncode == 0
    theirs.close()
    said = []
    while text := ours.recv(512):
        said.append(text.decode())
    return said


def test_the_replays_own_connections_are_all_attributed(net):
    registry = net.instance.path("w2")
    os.makedirs(os.path.join(registry, "1-0-0-3"))
    net.start("w2", [os.path.join(BUILD, "replay-serve"), "--port", str(PORT), "--registry", registry],
              net.instance.path("serve.log"))
    size = 2_000_000
    with Verify(net, write_log(net, 9)) as verify:
        begin = time.monotonic()
        said = run_reduce(net, 9, size)
        took = time.monotonic() - begin
    assert [words.split()[0] for words in said] == ["connection", "received", "done"]
    assert size * 8 / took < 52e6
    # Nobody marks here: every packet is wrong, none unattributed.
    assert verify.status == 1
    assert verify.result["unattributed"] == 0
    assert verify.result["wrong"] == verify.result["checked"] > size / 1460
