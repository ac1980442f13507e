"""duopolyd under messages that were made by nobody: the seeds of tests/fuzz/wire with bytes
changed, cut and repeated, over both its doors.

It goes on serving, and holds no more memory. TEST_SEED= and MESSAGES= (10 000 a door) may be given;
the seed is printed."""
import os
import random
import select
import socket

import pytest

from controller import DEADLINE, TOP, wait_until, workload
from floods import Peer, frame
from test_floods import memory
from tests.hostile.edges import changed

MESSAGES = int(os.environ.get("MESSAGES", 10_000))
GROWTH = 32e6  # bytes


class ClientDoor:
    """The Unix socket: what is malformed ends the connection, and another one is made."""

    def __init__(self, daemon):
        self.daemon, self.socket = daemon, None

    def send(self, message):
        try:
            if not self.socket:
                self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                self.socket.settimeout(DEADLINE)
                self.socket.connect(str(self.daemon.socket))
            self.socket.send(message or b"\0")
            if not self.socket.recv(1 << 17):
                self.close()
        except (BrokenPipeError, ConnectionResetError):
            self.close()

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None


class AgentDoor:
    """TCP: sessions end and begin as the messages say; answers are taken and not looked at."""

    def __init__(self, daemon):
        self.daemon, self.peer = daemon, None

    def send(self, message):
        try:
            if not self.peer:
                self.peer = Peer(self.daemon)
            self.peer.socket.sendall(frame(message))
            while self.peer and select.select([self.peer.socket], [], [], 0)[0]:
                if not self.peer.socket.recv(1 << 16):
                    self.close()
        except OSError:
            self.close()

    def close(self):
        if self.peer:
            self.peer.close()
        self.peer = None


@pytest.mark.parametrize("door", [ClientDoor, AgentDoor])
def test_made_up_messages_are_survived(cluster, door):
    seed = int(os.environ.get("TEST_SEED", 20261122))
    rng = random.Random(seed)
    seeds = [path.read_bytes() for path in sorted((TOP / "tests" / "fuzz" / "wire").iterdir())]
    daemon = cluster.daemon(config="bounds: {agent_messages: 1000000}")
    made = door(daemon)
    try:
        for _ in range(1000):
            made.send(changed(seeds, rng))
        before = memory(daemon)
        for _ in range(MESSAGES):
            made.send(changed(seeds, rng))
    finally:
        made.close()
    grown = memory(daemon) - before
    print("\n%s: %d messages, TEST_SEED=%d, %.1f MB more memory" % (door.__name__, MESSAGES, seed, grown / 1e6))
    assert daemon.process.poll() is None, daemon.words()
    assert "internal:" not in daemon.words()
    assert grown < GROWTH
    works(cluster, daemon)


def works(cluster, daemon):
    """A job is taken, started and done."""
    agent = cluster.agent(daemon, "well", slots=4, host=9)
    agent.join()
    daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "name": "after", "stages": [{"tasks": 1}]}], hosts=1))
    wait_until(agent.receive_start, "a start")
    attempt = next(iter(agent.running))
    agent.state(attempt, "STARTED")
    agent.state(attempt, "DONE")
    wait_until(lambda: daemon.ctl("status")["jobs_active"] == 0, "the job is done")
