"""Room that moves, in a real Spark: its standalone cluster on loopback, whose executors come when
they are wanted and go when they die or their application ends; what a real duopolyd has of them on
a host with an agent and on one without. Where it runs: test_spark.py."""
import os
import pathlib
import re
import signal
import subprocess

import pytest
from controller import wait_until
from test_spark import HOST, MAPS, REDUCES, SPARK, Application, jobs, patiently, pytestmark, site, workload  # noqa: F401  fixtures, and where it can run

CORES = 6
DYNAMIC = {"spark_dynamicAllocation_enabled": "true", "spark_dynamicAllocation_shuffleTracking_enabled": "true",
           "spark_dynamicAllocation_minExecutors": "0", "spark_dynamicAllocation_maxExecutors": "3", "spark_executor_cores": "1",
           "spark_dynamicAllocation_schedulerBacklogTimeout": "1s"}


class Cluster:
    """Spark's own: a master, and a worker with CORES cores."""

    def __init__(self, folder):
        self.folder, self.made, self.applications = folder, [], 0
        self.daemon("master.Master", "--host", HOST, "--port", 0, "--webui-port", 0)
        wait_until(lambda: "I have been elected leader" in self.said("master.Master"), "Spark's master leads")
        self.master = re.search(r"Starting Spark master at (spark://\S+)", self.said("master.Master"))[1]
        self.daemon("worker.Worker", "--host", HOST, "--cores", CORES, "--memory", "8g", "--webui-port", 0, "--work-dir", folder / "work", self.master)
        wait_until(lambda: "Successfully registered" in self.said("worker.Worker"), "its worker is there")

    def daemon(self, name, *words):
        with open(self.folder / name, "wb") as log:
            self.made.append(subprocess.Popen([SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *map(str, words)], stdout=log, stderr=log,
                                              cwd=self.folder, start_new_session=True,
                                              env={**os.environ, "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1",
                                                   "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}))

    def said(self, name):
        return (self.folder / name).read_text(errors="replace")

    def executors(self, name):
        """Processes of the executors of the application with this one of its numbers among the
        master's."""
        found = []
        for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = line.read_bytes().decode(errors="replace").split("\0")
                own = os.getsid(int(line.parent.name)) == self.made[-1].pid
            except (OSError, ValueError):
                continue
            if own and "--app-id" in words and words[words.index("--app-id") + 1].endswith(name) and words[0].endswith("java"):
                found.append(int(line.parent.name))
        return found

    def close(self):
        for process in reversed(self.made):
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


@pytest.fixture(scope="module")
def standalone(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("standalone"))
    yield made
    made.close()


def host(site):
    return {row["name"]: row for row in site.daemon.ctl("hosts")["hosts"]}[HOST]


def slots(site):
    return host(site)["slots"], host(site)["slots_free"]


def started(site, name):
    """Tasks of the application's first job that run."""
    job, = [row["job"] for row in jobs(site.daemon) if row["name"].startswith(f"{name}/") and row["name"].endswith("/0-two-stages")]
    return [task["task"] for task in site.daemon.ctl("tasks", job)["tasks"] if task["state"] == "started"]


def submit(site, standalone, workload, made, **settings):  # noqa: F811
    folder = standalone.folder / f"app-{standalone.applications}"
    standalone.applications += 1
    folder.mkdir()
    made.append(Application(folder, workload, site.socket, master=standalone.master, spark_duopoly_gate="true", **settings))
    return made[-1]


@pytest.fixture
def applications(site, standalone, workload):  # noqa: F811
    made = []
    yield lambda **settings: submit(site, standalone, workload, made, **settings)
    for application in made:
        application.close()


def name_of(site, others=()):
    """The application whose job is there, as it is called."""
    names = {row["name"].partition("/")[0] for row in jobs(site.daemon)} - set(others)
    return names.pop() if len(names) == 1 else None


def test_two_applications_have_what_their_executors_have(site, standalone, applications):  # noqa: F811
    """One whose executors come when they are wanted, and one with two: its third reduce task waits,
    though the host has a slot."""
    site.relay(name=HOST, units=f"{{slots: {CORES}}}")
    dynamic = applications(**DYNAMIC)
    first = patiently(lambda: name_of(site), "a job", dynamic)
    patiently(lambda: len(dynamic.waiting()) == REDUCES, "three executors came, and all its reduce tasks run", dynamic)
    assert slots(site) == (CORES, CORES - 3)
    fixed = applications(spark_cores_max="2", spark_executor_cores="1")
    second = patiently(lambda: name_of(site, [first]), "a job of the other one", fixed)
    patiently(lambda: len(fixed.waiting()) == 2, "two of its reduce tasks run", fixed)
    patiently(lambda: (len(started(site, first)), len(started(site, second))) == (3, 2), "duopoly has seen all", fixed)
    assert slots(site) == (CORES, 1)
    assert site.daemon.counters()["engine.opens"] == 0
    dynamic.ended_well()
    patiently(lambda: slots(site) == (CORES, CORES - 2), "its executors went with it", fixed)
    os.kill(standalone.executors(second.rpartition("-")[2])[0], signal.SIGKILL)
    fixed.ended_well()  # another one came for it
    wait_until(lambda: slots(site) == (CORES, CORES), "nothing is left")
    assert not [row for row in jobs(site.daemon, "--all") if row["state"] != "done"]
    assert all("gate inactive" not in application.said() for application in (dynamic, fixed))


def test_executors_on_a_host_without_an_agent(site, standalone, applications):  # noqa: F811
    """It has what they have, bears no marks, and is there as long as they are."""
    site.relay()  # the driver's, which is called otherwise
    spark = applications(**DYNAMIC)
    patiently(lambda: len(spark.waiting()) == REDUCES, "all its reduce tasks run", spark)
    row = host(site)
    assert (row["state"], row["text"], row["slots"], row["slots_free"], row["marks"]) == ("unmarked", "no agent: unmarked", 3, 0, None)
    assert site.daemon.counters()["engine.allows_used"] >= REDUCES and site.daemon.counters()["frameworks.unknown_hosts"] == 0
    assert jobs(site.daemon)[0]["done"] == MAPS
    spark.ended_well()
    wait_until(lambda: HOST not in {row["name"] for row in site.daemon.ctl("hosts")["hosts"]}, "it is gone")
