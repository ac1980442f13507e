"""A real Spark whose tasks duopoly holds back, while programs of either side die or stand still:
all its jobs are right, and nothing that is held waits for who does not answer. Takes minutes: make
test-frameworks runs it, make test does not (marker faults); SCHEDULES= random faults (20)."""
import os
import pathlib
import random
import signal
import time

import pytest
from controller import wait_until
from nets import PATIENCE
from test_spark import HOST, REDUCES, counters, jobs, patiently, pytestmark, site, workload  # noqa: F401  fixtures, and where it can run

pytestmark = [*pytestmark, pytest.mark.faults]
RELEASED_S = 3.2  # two seconds of silence, Spark's next offer, and the machine's share
SCHEDULES = int(os.environ.get("SCHEDULES") or 20)


class Side:
    """A program of duopoly's that is killed or stopped, and is there again later."""

    def __init__(self, process, start, name):
        self.process, self.start, self.name, self.killed = process, start, name, False

    def fail(self, how):
        self.process().send_signal(how)
        self.killed = how == signal.SIGKILL
        if self.killed:
            self.process().wait()

    def mend(self):
        if self.killed:
            self.start()
        else:
            self.process().send_signal(signal.SIGCONT)


def sides(site, relay):
    def start_relay():
        for path in (site.socket, site.guests):
            pathlib.Path(path).unlink(missing_ok=True)
        relay.start()

    return {"controller": Side(lambda: site.daemon.process, site.daemon.start, "controller"), "agent": Side(lambda: relay.process, start_relay, "agent")}


@pytest.mark.parametrize("seed", range(1, SCHEDULES + 1))
def test_what_is_held_runs_without_them(site, seed):  # noqa: F811
    """No more is to start there: one starts since nothing else runs, and the second reduce task
    waits, until nobody says that it has to."""
    chance = random.Random(seed)
    who, how = chance.choice([["agent"], ["controller"], ["agent", "controller"]]), chance.choice([signal.SIGKILL, signal.SIGSTOP])
    print("seed %d: %s of %s" % (seed, how.name, " and ".join(who)))
    site.agent()
    site.daemon.ctl("drain", HOST)
    relay, spark = site.relay(), site.application(spark_duopoly_gate="true")
    all_sides = sides(site, relay)
    patiently(lambda: len(spark.waiting()) == 1, "a reduce task", spark)
    moment = time.monotonic() + chance.uniform(0, 1.5)  # of the heartbeats' turn
    while time.monotonic() < moment:
        assert len(spark.waiting()) == 1 and spark.process.poll() is None
        time.sleep(0.01)
    begin = time.monotonic()
    try:
        for name in who:
            all_sides[name].fail(how)
        patiently(lambda: len(spark.waiting()) == 2, "the other reduce task", spark)
        took = time.monotonic() - begin
        print("it started after %.2f s" % took)
        assert took < RELEASED_S * PATIENCE
    finally:
        for name in who:
            all_sides[name].mend()
    spark.ended_well()


def executors(spark):
    """Process ids of the application's, by its process group."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(entry.name)) == spark.process.pid and b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except (OSError, ProcessLookupError):
            continue
    return found


@pytest.fixture
def gated(site):  # noqa: F811
    """Makes an application with the gate, of whose reduce tasks two run."""
    site.host()

    def start(**settings):
        spark = site.application(spark_duopoly_gate="true", **settings)
        patiently(lambda: len(spark.waiting()) == 2, "two reduce tasks", spark)
        return spark
    return start


def test_an_executor_dies(site, gated):  # noqa: F811
    spark = gated()
    os.kill(executors(spark)[0], signal.SIGKILL)
    patiently(lambda: len(executors(spark)) == 2, "Spark has another one", spark)
    spark.ended_well()
    wait_until(lambda: [row["state"] for row in jobs(site.daemon, "--all")] == ["done", "done"], "duopoly saw both through")


def test_a_driver_dies(site, gated):  # noqa: F811
    """Of what ran, nothing is left at either: the executors end with their driver, the jobs when
    the application is forgotten."""
    spark = gated()
    os.killpg(spark.process.pid, signal.SIGKILL)
    spark.process.wait()
    wait_until(lambda: "applications" not in site.daemon.ctl("jobs"), "no executor is known")
    assert counters(site)["engine.allows_used"] >= 2
    spark = site.application(spark_duopoly_gate="true")  # whoever comes next finds room
    patiently(lambda: len(spark.waiting()) >= 1, "a reduce task of the next one", spark)
    spark.ended_well()


def test_copies_are_not_held(site, gated):  # noqa: F811
    """Spark takes a task for slow, and runs it twice."""
    spark = gated(spark_speculation="true", spark_speculation_interval="100ms", spark_speculation_multiplier="1.1", spark_speculation_quantile="0.1")
    spark.ended_well()
    assert counters(site)["engine.allows_used"] >= REDUCES


def test_executors_come_and_go(site, gated):  # noqa: F811
    spark = gated(spark_dynamicAllocation_enabled="true", spark_dynamicAllocation_shuffleTracking_enabled="true", spark_dynamicAllocation_minExecutors="1",
                  spark_dynamicAllocation_initialExecutors="1", spark_dynamicAllocation_maxExecutors="2", spark_dynamicAllocation_executorIdleTimeout="1s",
                  spark_dynamicAllocation_schedulerBacklogTimeout="1s")
    spark.ended_well()
    assert counters(site)["engine.allows_used"] >= REDUCES
