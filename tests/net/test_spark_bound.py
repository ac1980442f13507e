"""Maps that are bound, in a real Spark: a controller of the test's own says which stages are, and
what may start, so that each case is certain. What is bound starts where it is allowed, and as Spark
likes whenever what is held would."""
import os
import socket
import struct
import threading
import time

import pytest
from controller import pb
from nets import PATIENCE
from test_spark import (HOST, patiently, pytestmark, site,  # noqa: F401  fixtures, where it can run
                        workload)

VALID_MS, BEAT_S, TASKS, FIRST, SECOND = 2000, 0.2, 4, 3, 1


class Binder:
    """Speaks to one driver at a time as the controller does: binds a stage of TASKS tasks that is
    bindable, and allows task FIRST of it."""

    def __init__(self, path):
        os.mkdir(os.path.dirname(path))
        self.server = socket.create_server(path, family=socket.AF_UNIX)
        self.lock, self.facts, self.silent = threading.Lock(), [], False
        self.peer = self.stage = self.bound = None
        for run in (self.listen, self.beat):
            threading.Thread(target=run, daemon=True).start()

    def listen(self):
        while True:
            try:
                peer = self.server.accept()[0]
            except OSError:
                return  # it is closed
            with peer, peer.makefile("rb") as stream:
                while head := stream.read(4):
                    message = stream.read(*struct.unpack(">I", head))
                    self.take(peer, pb.Envelope.FromString(message))

    def take(self, peer, envelope):
        with self.lock:
            if envelope.HasField("framework_hello"):
                self.peer, self.sent, self.taken, self.answered = peer, 0, 0, 0
                self.send(False, welcome=pb.Welcome(version=1, epoch=1, heartbeat_ms=1000,
                                                    silent_ms=60000))
                self.snapshot(whole=True)
            self.taken = max(self.taken, envelope.sequence)
            self.answered = max(self.answered, envelope.acknowledged)
            if envelope.HasField("framework_stage"):
                self.take_stage(envelope.framework_stage)
            if envelope.sequence:
                self.send(False, acknowledge=pb.Acknowledge())

    def take_stage(self, stage):
        self.facts.append(stage)
        if stage.bindable and stage.tasks == TASKS and stage.phase == pb.PHASE_OFFERED:
            self.stage = pb.OpenedStage(job=stage.job, stage=stage.stage)
            self.snapshot(bound=[self.stage], allows=[self.allow(1, FIRST)])
            self.bound = self.sent

    def has_bound(self):
        return self.bound and self.answered >= self.bound

    def has_offered(self):
        """The stage, bindable or not."""
        return any(stage.tasks == TASKS and stage.phase == pb.PHASE_OFFERED
                   for stage in self.facts)

    def allow(self, number, task):
        return pb.Allow(allow=number, job=self.stage.job, stage=self.stage.stage, task=task,
                        host=HOST, until_ms=60000)

    def snapshot(self, **more):
        if self.peer and not self.silent:
            self.send(True, snapshot=pb.Snapshot(number=self.sent + 1, last=True,
                                                 valid_ms=VALID_MS, **more))

    def send(self, numbered, **body):
        self.sent += numbered
        message = pb.Envelope(version=1, epoch=1, sequence=self.sent if numbered else 0,
                              acknowledged=self.taken, **body).SerializeToString()
        try:
            self.peer.sendall(struct.pack(">I", len(message)) + message)
        except OSError:
            self.peer = None

    def beat(self):
        while self.server.fileno() >= 0:
            time.sleep(BEAT_S)
            self.say()

    def say(self, **more):
        with self.lock:
            self.snapshot(**more)

    def close(self):
        self.server.close()


@pytest.fixture
def binder(site):  # noqa: F811
    made = Binder(site.socket)
    yield made
    made.close()


@pytest.fixture
def begins(site, workload, tmp_path):  # noqa: F811
    """Makes an application whose stage begins, once `seen` holds, as two slots become free."""
    def make(seen, **settings):
        first, gate = tmp_path / "first", tmp_path / "gate"
        spark = site.application(**{"spark_duopoly_gate": "true", **settings},
                                 runs=["Waits", workload, str(first), str(gate)])
        patiently(seen, "the stage is known", spark)
        assert not spark.waiting()
        first.touch()
        return spark
    return make


def ends_well(binder, spark):
    binder.silent = True
    spark.open_gate()
    assert spark.process.wait(timeout=120) == 0, spark.said()
    assert spark.out.read_text().split() == ["tasks", "4"], spark.said()
    assert "gate is out of order" not in spark.said()


ENDS = {"allowed": lambda binder: binder.say(allows=[binder.allow(2, SECOND)]),
        "opened": lambda binder: binder.say(opened=[binder.stage]),
        "silent": lambda binder: setattr(binder, "silent", True)}


@pytest.mark.frameworks
@pytest.mark.parametrize("ends", ENDS)
def test_what_is_bound_starts_where_it_is_allowed(binder, begins, ends):
    """Spark by itself begins with task 0, and two at once."""
    spark = begins(binder.has_bound)
    patiently(spark.waiting, "a task", spark)
    until = time.monotonic() + 2
    while time.monotonic() < until:
        assert spark.waiting() == {FIRST} and spark.process.poll() is None
        time.sleep(0.05)
    begin = time.monotonic()
    ENDS[ends](binder)
    patiently(lambda: len(spark.waiting()) == 2, "another one", spark)
    assert time.monotonic() - begin < 10 * PATIENCE  # the silence takes 2 s of it
    assert ends != "allowed" or spark.waiting() == {FIRST, SECOND}
    ends_well(binder, spark)


@pytest.mark.frameworks
@pytest.mark.parametrize("settings", [{"spark_excludeOnFailure_enabled": "true"},
                                      {"spark_duopoly_gate": "order"}],
                         ids=["excludes", "holds nothing"])
def test_what_spark_alone_places_is_not_bindable(binder, begins, settings):
    spark = begins(binder.has_offered, **settings)
    patiently(lambda: len(spark.waiting()) == 2, "two tasks", spark)
    assert not any(stage.bindable for stage in binder.facts)
    ends_well(binder, spark)
