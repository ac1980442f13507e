"""Who may only look keeps nobody out who may change things, and pushes nothing that was changed out
of log and audit."""
import contextlib
import multiprocessing
import os
import subprocess

import pytest
import zmq

from controller import BUILD, Client, pb, read_key, wait_until

NOBODY, DAEMON = 65534, 1
LOCAL = "readers: nogroup\ngroup: daemon\n"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="other users are needed: only root can be one")


def as_user(number):
    os.setgroups([])
    os.setgid(number)
    os.setuid(number)


@contextlib.contextmanager
def another(user, work):
    """A process of that user that does `work(pipe)`; the pipe's other end."""
    ours, theirs = multiprocessing.Pipe()

    def run():
        as_user(user)
        work(theirs)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    try:
        yield ours
    finally:
        process.kill()
        process.join()


def watchers_hold(daemon, n):
    def work(pipe):
        held = []
        for _ in range(n):
            client = Client(daemon)
            try:
                client.send(watch=pb.Watch())
                if client.answer().HasField("accepted"):
                    held.append(client)
            except OSError:
                pass
        pipe.send(len(held))
        pipe.recv()  # holds them until it is killed
    return work


with_and_without_keys = pytest.mark.parametrize("keys", [True, False], ids=["keys", "no-keys"])


@needs_root
@with_and_without_keys
def test_watchers_of_a_reader_keep_no_operator_out(cluster, keys):
    daemon = cluster.daemon(log=None, config=LOCAL, keys=keys)
    os.chmod(daemon.folder, 0o755)
    with another(NOBODY, watchers_hold(daemon, 300)) as reader:
        assert reader.poll(60) and reader.recv() == 64
        stop = subprocess.run([BUILD / "duopolyctl", "-s", daemon.socket, "stance", "observe", "--all"], preexec_fn=lambda: as_user(DAEMON),
                              capture_output=True, text=True, timeout=30, check=False)
        assert stop.returncode == 0, stop.stderr
        late = subprocess.run([BUILD / "duopolyctl", "-s", daemon.socket, "status"], preexec_fn=lambda: as_user(NOBODY),
                              capture_output=True, text=True, timeout=30, check=False)
        assert late.returncode != 0, "one more of the same user has a place"
        assert daemon.ctl("status")["epoch"] == 1
    wait_until(lambda: subprocess.run([BUILD / "duopolyctl", "-s", daemon.socket, "status"], preexec_fn=lambda: as_user(NOBODY),
                                      capture_output=True, timeout=30, check=False).returncode == 0, "its places are free again")


@needs_root
@with_and_without_keys
def test_refused_requests_push_out_no_change(cluster, keys):
    daemon = cluster.daemon(log=None, config=LOCAL, keys=keys)
    os.chmod(daemon.folder, 0o755)
    agent = cluster.agent(daemon, "a", key=daemon.key("a") if keys else None)
    agent.join()

    def flood(pipe):
        client = Client(daemon)
        for n in range(1 << 30):
            client.send(cancel_job=pb.CancelJob(job=1))
            if n >= 16:
                client.answer()
            if n == 2000:
                pipe.send("floods")

    with another(NOBODY, flood) as reader:
        assert reader.poll(30)
        for _ in range(10):
            daemon.ctl("drain", "a")
            daemon.ctl("drain", "a", "--undo")
            daemon.ctl("policy", "place", "greedy")
        before = daemon.counters()["refused.cancel_job"]
        wait_until(lambda: daemon.counters()["refused.cancel_job"] > before + 2000, "the flood goes on")
        rows = daemon.ctl("audit")["audit"]
    lines = daemon.words().splitlines()
    assert sum("drain a" in line or "policy place" in line for line in lines) == 30
    assert sum("drain a" in row["what"] or "policy place" in row["what"] for row in rows) == 30
    # The flood itself is in both, a few times.
    assert 0 < sum("cancel_job" in line and "refused" in line for line in lines) < 60
    assert 0 < sum(row["what"] == "cancel_job" for row in rows) < 60


class Crowd:
    """Many connections with one key, each of which asks for the status, and then says that it is
    there."""

    def __init__(self, daemon, key, n):
        key = read_key(key)
        self.context = zmq.Context()
        self.context.max_sockets = n + 10
        self.sockets = []
        for _ in range(n):
            one = self.context.socket(zmq.DEALER)
            one.setsockopt(zmq.LINGER, 0)
            one.curve_publickey, one.curve_secretkey = key["public"].encode(), key["secret"].encode()
            one.curve_serverkey = key["controller"][0].encode()
            one.connect(daemon.address)
            self.sockets.append(one)

    def say(self, kind):
        envelope = pb.Envelope(version=1)
        getattr(envelope, kind).SetInParent()
        for one in self.sockets:
            with contextlib.suppress(zmq.Again):
                one.send(envelope.SerializeToString(), zmq.DONTWAIT)

    def served(self):
        n = 0
        for one in self.sockets:
            while one.poll(0):
                n += pb.Envelope.FromString(one.recv()).HasField("status")
        return n

    def close(self):
        for one in self.sockets:
            one.close()
        self.context.term()


@pytest.fixture
def crowds():
    made = []
    yield made
    for crowd in made:
        crowd.close()


def test_a_key_that_may_only_look_takes_no_place_of_others(cluster, crowds):
    daemon = cluster.daemon(keys=True, log=None)
    reader, admin = daemon.key("rdr", "read-only"), daemon.key("ann", "admin")
    crowds.append(Crowd(daemon, reader, 300))
    crowds[0].say("get_status")
    wait_until(lambda: daemon.counters()["agents.crowded"] > 100, "who is one too many is cut")
    command = [BUILD / "duopolyctl", "--controller", daemon.address, "--key", admin, "status"]

    def gets_in():
        return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode in (0, 8)

    for _ in range(5):
        crowds[0].say("acknowledge")
        # It comes from the crowd's own address, which has so many connections at a time.
        wait_until(gets_in, "an operator gets in", every=0.1)
    assert 0 < crowds[0].served() <= 64 + 300  # those that come back have a place when one is free


def test_a_key_that_may_only_look_takes_no_connections_of_agents(cluster, crowds):
    daemon = cluster.daemon(keys=True, log=None, files=800)
    reader, key = daemon.key("rdr", "read-only"), daemon.key("w1")
    crowds.append(Crowd(daemon, reader, 500))
    crowds[0].say("acknowledge")
    # Not from the crowd's own address, which has so many connections at a time.
    agent = cluster.agent(daemon, "w1", key=key,
                          address=daemon.address.replace("tcp://", "tcp://127.0.0.2:0;"))
    agent.hello()

    def is_in():
        crowds[0].say("acknowledge")
        return agent.socket.poll(0)

    wait_until(is_in, "an agent with a key of its own gets in", every=0.2)
    assert agent.expect("welcome")
