"""Who asks on and on over many connections does not keep others waiting: its requests are put off
while others have some. What counts is the order in which requests are served, as the controller
itself counts them."""
import os
import selectors
import subprocess

import pytest
import zmq

from controller import BUILD, Client, pb, read_key, wait_until
from test_readers import DAEMON, LOCAL, NOBODY, another, as_user, needs_root

CONNECTIONS, AHEAD, ASKED = 48, 16, 20
FAIR = "bounds: {client_time: 10 %}\n"
UNFAIR = "bounds: {client_time: 0 %}\n"


def request(of=pb.LIST_COUNTERS, wanted=""):
    return pb.Envelope(version=1, list=pb.List(of=of, filter=wanted)).SerializeToString()


def flood(clients, send, receive):
    """Each asks again for each answer, AHEAD of them."""
    ask = request()
    selector = selectors.DefaultSelector()
    for client, fd in clients:
        selector.register(fd, selectors.EVENT_READ, client)
        for _ in range(AHEAD):
            send(client, ask)
    while True:
        selector.select(0.01)
        for client, _ in clients:
            while receive(client):
                send(client, ask)


def local_flood(daemon):
    def work(pipe):
        clients = [Client(daemon).socket for _ in range(CONNECTIONS)]

        def receive(client):
            try:
                return client.recv(65536)
            except BlockingIOError:
                return None

        for client in clients:
            client.setblocking(False)
        pipe.send("asks")
        flood([(client, client.fileno()) for client in clients], lambda client, ask: client.send(ask), receive)
    return work


def dealer(context, daemon, key):
    one = context.socket(zmq.DEALER)
    one.linger = 0
    one.curve_publickey, one.curve_secretkey = key["public"].encode(), key["secret"].encode()
    one.curve_serverkey = key["controller"][0].encode()
    one.connect(daemon.address)
    return one


def remote_flood(daemon, key):
    def work(pipe):
        context = zmq.Context()
        clients = [dealer(context, daemon, key) for _ in range(CONNECTIONS)]

        def receive(client):
            try:
                return client.recv(zmq.NOBLOCK)
            except zmq.Again:
                return None

        pipe.send("asks")
        flood([(client, client.getsockopt(zmq.FD)) for client in clients], lambda client, ask: client.send(ask), receive)
    return work


def served_between(answers, counter):
    """How many others are served between two of these that were asked at once."""
    counts = [next(row.value for row in pb.Envelope.FromString(answer).page.counters if row.name == counter) for answer in answers]
    return sorted(after - before - 1 for before, after in zip(counts, counts[1:]))


def asked_by(daemon, counter, pipe):
    """By a client on the socket, of this user."""
    client = Client(daemon).socket
    client.send(request())
    client.recv(65536)
    for _ in range(ASKED):
        client.send(request(wanted=f"name={counter}"))
    pipe.send([client.recv(65536) for _ in range(ASKED)])


def put_off(daemon, source="controller"):
    return daemon.counters(source).get("clients.put_off" if source == "controller" else "put_off", 0)


@needs_root
@pytest.mark.parametrize("limited", [True, False], ids=["fair", "unfair"])
def test_a_users_flood_is_served_after_others(cluster, limited):
    daemon = cluster.daemon(log=None, config=LOCAL + (FAIR if limited else UNFAIR))
    os.chmod(daemon.folder, 0o755)
    with another(NOBODY, local_flood(daemon)) as flooder:
        assert flooder.recv() == "asks"
        if limited:
            wait_until(lambda: put_off(daemon), "the flood is put off")
        else:
            wait_until(lambda: daemon.counters()["clients.received"] > 10 * CONNECTIONS, "it floods")
        with another(DAEMON, lambda pipe: asked_by(daemon, "clients.received", pipe)) as other:
            between = served_between(other.recv(), "clients.received")
        stop = subprocess.run([BUILD / "duopolyctl", "-s", daemon.socket, "stance", "observe", "--all"], preexec_fn=lambda: as_user(DAEMON),
                              capture_output=True, text=True, timeout=30, check=False)
        assert stop.returncode == 0, stop.stderr
        assert put_off(daemon, f"uid {DAEMON}") == 0
        assert (put_off(daemon, f"uid {NOBODY}") > 0) == limited
        spent = {source: daemon.counters(source)["spent_ns"] for source in (f"uid {NOBODY}", f"uid {DAEMON}", "uid 0")}
        assert spent[f"uid {NOBODY}"] == max(spent.values()), spent
    median = between[len(between) // 2]
    # One may be, where the machine is busy: the flood's share comes back by the wall clock.
    assert median <= 1 if limited else median > CONNECTIONS // 2, between


@pytest.mark.parametrize("limited", [True, False], ids=["fair", "unfair"])
def test_a_keys_flood_is_served_after_others(cluster, limited):
    daemon = cluster.daemon(log=None, config=FAIR if limited else UNFAIR, keys=True)
    keys = {name: read_key(daemon.key(name, "read-only")) for name in ("ann", "bob")}
    user = os.getuid()
    with another(user, remote_flood(daemon, keys["ann"])) as flooder:
        assert flooder.recv() == "asks"
        if limited:
            wait_until(lambda: put_off(daemon, "key of ann"), "the flood is put off")
        else:
            wait_until(lambda: daemon.counters()["agents.sent"] > 10 * CONNECTIONS, "it floods")
        context = zmq.Context()
        with dealer(context, daemon, keys["bob"]) as bob:
            bob.send(request())
            bob.recv()
            for _ in range(ASKED):
                bob.send(request(wanted="name=agents.sent"))
            between = served_between([bob.recv() for _ in range(ASKED)], "agents.sent")
        context.term()
        assert put_off(daemon, "key of bob") == 0
        daemon.ctl("stance", "observe", "--all")
    assert "a connection is ended" not in daemon.words(), "who is put off is not cut"
    median = between[len(between) // 2]
    # One may be, where the machine is busy: the flood's share comes back by the wall clock.
    assert median <= 1 if limited else median > CONNECTIONS // 4, between


@needs_root
def test_who_floods_alone_is_served_all_the_same(cluster):
    """Put off again and again, and answered each time; and what is in line goes with its client."""
    daemon = cluster.daemon(log=None, config=LOCAL + "bounds: {client_time: 0.1 %}\n")
    os.chmod(daemon.folder, 0o755)

    def work(pipe):
        clients = [Client(daemon).socket for _ in range(8)]
        for _ in range(60):
            for client in clients * 20:
                client.send(request())
            for client in clients * 20:
                client.recv(65536)
        pipe.send("answered")
        for client in clients * 20:
            client.send(request())
        for client in clients:
            client.close()
        pipe.send("gone")

    with another(NOBODY, work) as flooder:
        assert flooder.poll(60) and flooder.recv() == "answered"
        assert put_off(daemon, f"uid {NOBODY}") > 1000
        assert flooder.poll(60) and flooder.recv() == "gone"
    assert daemon.counters()["clients.received"] > 9600
    assert daemon.ctl("status")["epoch"] == 1


def test_a_submission_over_tcp_that_is_put_off_is_not_cut(cluster):
    """It is sent ahead of its answers, as far as may be."""
    from controller import workload
    daemon = cluster.daemon(log=None, config="bounds: {client_time: 0.1 %}\n", keys=True)
    key = daemon.key("driver", "scheduler")
    jobs = [{"id": n + 1, "stages": [{"tasks": 2000}] * 8} for n in range(60)]
    daemon.remote(key, "submit", workload(daemon.folder, jobs, hosts=1))
    assert put_off(daemon, "key of driver") > 50
    assert daemon.ctl("status")["jobs_active"] == 60
    assert "a connection is ended" not in daemon.words()
