"""Who watches jobs hears of each end, however many come at once and however late it reads; who
cannot is told how many ends it missed."""
import pytest
import zmq
from controller import Client, pb, read_key, wait_until
from test_frameworks import Framework

APPLICATIONS, JOBS = 3, 8000  # together more than ZeroMQ and the kernel have room for
PATIENT = "timers: {silent: 60 s, host_lost: 120 s, forget: 4 s}\nbounds: {agent_messages: 1000000}\n"

with_and_without_keys = pytest.mark.parametrize("keys", [True, False], ids=["tcp", "unix"])


class Remote:
    """A client over TCP by the schema alone. ZeroMQ connects anew by itself, without a word and
    without what was asked: `broke` counts that."""

    def __init__(self, daemon, key):
        key = read_key(key)
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.RCVHWM, 10)
        self.socket.setsockopt(zmq.RCVBUF, 4096)
        self.socket.curve_publickey, self.socket.curve_secretkey = key["public"].encode(), key["secret"].encode()
        self.socket.curve_serverkey = key["controller"][0].encode()
        self.socket.connect(daemon.address)

    def send(self, **body):
        envelope = pb.Envelope(version=1)
        for kind, value in body.items():
            getattr(envelope, kind).CopyFrom(value)
        self.socket.send(envelope.SerializeToString())

    def answer(self):
        assert self.socket.poll(20000), "nothing came"
        return pb.Envelope.FromString(self.socket.recv())

    def ask(self, **body):
        self.send(**body)
        return self.answer()

    def close(self):
        self.socket.close()
        self.context.term()


@pytest.fixture
def clients():
    made = []

    def client(daemon, keys):
        made.append(Remote(daemon, daemon.key("sch%d" % len(made), "scheduler")) if keys else Client(daemon))
        return made[-1]
    yield client
    for one in made:
        one.close()


def jobs_of_applications(daemon, keys):
    """All of one end at once when its session is forgotten."""
    for name in ("app%d" % n for n in range(APPLICATIONS)):
        driver = Framework(daemon, name, key=daemon.key(name, "framework") if keys else None, user=1).begin()
        for job in range(JOBS):
            driver.tell(job=pb.FrameworkJob(job=job, name="%060d" % job))
        driver.settle()
        driver.close()


@with_and_without_keys
def test_ends_of_many_jobs_at_once_are_all_heard(cluster, clients, keys):
    """Or it is told how many are not."""
    daemon = cluster.daemon(config=PATIENT, keys=keys, log=None)
    watcher, other = clients(daemon, keys), clients(daemon, keys)
    assert watcher.ask(watch=pb.Watch()).HasField("accepted")
    jobs_of_applications(daemon, keys)
    wait_until(lambda: not daemon.ctl("jobs")["jobs"], "they have ended", 0.1)
    assert other.ask(get_status=pb.GetStatus()).HasField("status")
    heard, missed = set(), 0
    while len(heard) + missed < APPLICATIONS * JOBS:
        event = watcher.answer().job_event
        assert bool(event.missed) != bool(event.job)
        missed += event.missed
        heard.add(event.job)
        heard.discard(0)
    assert len(heard) > JOBS and ("are not told to it" in daemon.words()) == bool(missed)
    assert watcher.ask(get_status=pb.GetStatus()).HasField("status"), "it is served on the same connection"
