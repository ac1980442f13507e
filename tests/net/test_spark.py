"""The plug-in in a real, unmodified Apache Spark, whose driver and executors run on loopback: what a real duopolyd learns from it.

Needs the plug-in (make spark-plugin) and Spark (SPARK_HOME, or where make deps-spark keeps it); skipped where one is missing. make test runs
what is not marked frameworks, within 90 s; make test-frameworks all."""
import os
import re
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest
from controller import BUILD, TOP, Agent, wait_until
from nets import PATIENCE
from test_frameworks import PATIENT, Relay, needs_root

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "duopoly" / "pyspark" / "pyspark"
SPARK = pathlib.Path(os.environ.get("SPARK_HOME") or CACHE)
JAR = BUILD / "duopoly-spark.jar"
HOST = "localhost"  # as Spark calls the host of all executors here, so as its agent is called
MAPS, REDUCES, BYTES = 4, 3, 600_000
SETTINGS = {"spark.plugins": "duopoly.spark.Plugin", "spark.ui.enabled": "false", "spark.executor.memory": "512m", "spark.driver.memory": "512m",
            "spark.shuffle.compress": "false", "spark.sql.shuffle.partitions": "3", "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}

pytestmark = [needs_root, pytest.mark.skipif(not JAR.exists(), reason="the plug-in is not built: make spark-plugin"),
              pytest.mark.skipif(not (SPARK / "bin" / "spark-submit").exists(), reason="there is no Spark: SPARK_HOME, or make deps-spark"),
              pytest.mark.skipif(not shutil.which("javac"), reason="there is no Java: make deps-spark")]


@pytest.fixture(scope="module")
def workload(tmp_path_factory):
    """A jar of the workload."""
    folder = tmp_path_factory.mktemp("workload")
    subprocess.run(["javac", "-nowarn", "-proc:none", "-cp", f"{JAR}:{SPARK}/jars/*", "-d", folder / "classes",
                    *sorted((TOP / "tests/net/spark").glob("[TW]*.java"))],
                   check=True, capture_output=True)
    subprocess.run(["jar", "--create", "--file", folder / "workload.jar", "-C", folder / "classes", "."], check=True)
    return folder / "workload.jar"


class Application:
    """Spark's driver with two executors of one core, all in a session of their own, which is ended as a whole."""

    def __init__(self, folder, workload, socket_path, master="local-cluster[2,1,512]", runs=None, **settings):
        self.gate, self.out, self.err = folder / "gate", folder / "out", folder / "err"
        settings = {**SETTINGS, "spark.duopoly.socket": socket_path, "spark.duopoly.guests": socket_path.replace("frameworks", "guests"),
                    "spark.local.dir": folder / "local",
                    "spark.sql.warehouse.dir": folder / "warehouse", **{key.replace("_", "."): value for key, value in settings.items()}}
        words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                [SPARK / "bin" / "spark-submit", "--master", master, "--jars", JAR, "--driver-class-path", JAR, *words,
                 "--class", *(runs or ["Workload", workload, self.gate, str(MAPS), str(REDUCES), str(BYTES)])], stdout=out, stderr=err, cwd=folder,
                start_new_session=True, env={**os.environ, "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": HOST})

    def said(self):
        return self.err.read_text(errors="replace")

    def waiting(self):
        """Reduce tasks of the first job that have begun."""
        return {int(file.name.rpartition("-")[2]) for file in self.gate.parent.glob("gate-*")}

    def open_gate(self):
        self.gate.touch()

    def ended_well(self):
        self.open_gate()
        assert self.process.wait(timeout=120) == 0, self.said()
        assert self.out.read_text().split() == ["chunks", str(MAPS * BYTES // 1000), "rows", "7"]

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def patiently(condition, what, spark):
    """What takes Spark a while."""
    for _ in range(6):
        try:
            return wait_until(condition, what, every=0.05)
        except AssertionError:
            assert spark.process.poll() is None, spark.said()
    raise AssertionError(f"{what}: {spark.said()}")


def jobs(daemon, *words):
    return sorted(daemon.ctl("jobs", *words)["jobs"], key=lambda row: row["job"])


def all_done(daemon, n=2):
    """So many jobs: soon after the driver went, since what it said last is under way."""
    return wait_until(lambda: [row["state"] for row in jobs(daemon, "--all")] == ["done"] * n and jobs(daemon, "--all"), "all jobs are done")


@pytest.fixture
def site(cluster, tmp_path, workload):
    """A controller, the agent of the executors' host, and what makes relays and applications."""
    class Site:
        daemon = cluster.daemon(config=PATIENT)
        socket = str(daemon.folder / "relay" / "frameworks")

        guests = str(daemon.folder / "relay" / "guests")

        def relay(self, **more):
            made.append(Relay(self.daemon, **more))
            return made[-1]

        def host(self):
            """The relay is their host's agent, too, which sees them and hears of their tasks."""
            return self.relay(name=HOST, units="{slots: 2}", more=f"guests: {{rung: observe, rescan: 200 ms, socket: {self.guests}}}\n")

        def application(self, **settings):
            made.append(Application(tmp_path, workload, self.socket, **settings))
            return made[-1]

        def agent(self, slots=2):
            made.append(Agent(self.daemon, HOST, slots=slots))
            made[-1].join()
            return made[-1]

        def two_started(self):
            """Of the first job, after its maps; what duopoly allows is not started yet."""
            row = next(iter(jobs(self.daemon)), None)
            if not row or row["done"] != MAPS:
                return None
            tasks = [task for task in self.daemon.ctl("tasks", row["job"])["tasks"] if task["state"] == "started"]
            return tasks if len(tasks) == 2 else None

        def check_reduces_run(self, spark):
            """The first job's maps are done, two of its reduce tasks run, and each one's size is what the maps wrote for it."""
            started = patiently(self.two_started, "two reduce tasks run", spark)
            row = jobs(self.daemon)[0]
            assert (row["task_count"], row["done"]) == (MAPS + REDUCES, MAPS) and row["name"].endswith("/0-two-stages")
            assert {task["host"] for task in started} == {HOST}
            patiently(lambda: spark.waiting() == {task["task"] for task in started}, "the same two in Spark", spark)
            for task in started:  # serialisation adds some, Spark's sizes are at most 10 % high
                share = MAPS * BYTES * (task["task"] + 1) // 6
                assert share <= task["bytes"] <= share * 1.25, task
                assert re.fullmatch(rf"stage 1\.0 \(.+ at .+\), partition {task['task']}, task [4-6]", task["text"]), task
            return row["job"]

    made = []
    yield Site()
    for thing in reversed(made):
        thing.close()


def recorded(daemon, *events):
    """The fields of each of these in the recording."""
    for file in sorted((daemon.folder / "log").iterdir(), key=lambda file: file.stat().st_mtime_ns):
        for line in file.read_text(errors="replace").splitlines():
            if line.startswith(tuple(f"e {event} " for event in events)):
                yield dict(word.split("=", 1) for word in line.split() if "=" in word)


def check_early_sizes(daemon):
    """What each map has for a stage was told before the last map's end: from then on its tasks are given away."""
    facts = list(recorded(daemon, "framework_bytes", "framework_done"))
    last = max(place for place, fields in enumerate(facts) if fields["stage"] == "0")
    early = [fields for fields in facts[:last] if fields.get("form") == "1"]  # a row
    assert {fields["first"] for fields in early} == {str(task) for task in range(MAPS)}
    assert {len(fields["bytes"].split(",")) for fields in early} == {REDUCES}


def test_jobs_stages_tasks_and_sizes_are_known_and_the_end_is_told_whole(site):
    """Of its last tasks and jobs Spark tells the plug-in when the application ends already."""
    site.agent(), site.relay()
    spark = site.application(spark_extraListeners="Tardy")
    site.check_reduces_run(spark)
    check_early_sizes(site.daemon)
    spark.ended_well()
    done = all_done(site.daemon)
    assert [row["done"] for row in done] == [MAPS + REDUCES, done[1]["task_count"]], done
    assert done[1]["name"].endswith("-a-query")  # all jobs of one execution are one


@pytest.mark.frameworks
def test_all_is_told_to_who_comes_later(site):
    agent = site.agent()
    spark = site.application()
    patiently(lambda: "duopoly has no session" in spark.said(), "the log says that there is no agent", spark)
    relay = site.relay()
    job = site.check_reduces_run(spark)
    site.daemon.kill()
    site.daemon.start()
    agent.connect()
    agent.hello_sequence += 1
    agent.join()
    relay.follow()
    assert site.check_reduces_run(spark) == job
    spark.ended_well()
    all_done(site.daemon)
    assert spark.said().count("duopoly has no session") <= 2


def stages_told(daemon):
    """Of each application, in the order in which they came: place of a stage in its job, its tasks and history number, as the recording has them."""
    told = {}
    for fields in recorded(daemon, "framework_stage"):
        job = int(fields["job"])
        told.setdefault(job >> 30, set()).add((job % (1 << 30), int(fields["stage"]), fields["tasks"], fields["history"]))
    return list(told.values())


def test_where_input_lies_is_told(site, workload):
    """Of each map, of which Spark tells in an order of its own, before it may be given away."""
    hosts, places = "abc", "abcaabbccccbaab"
    made = [Agent(site.daemon, name, slots=1) for name in hosts]
    for agent in made:
        agent.join()
    site.relay()
    spark = site.application(runs=["Where", workload, places], spark_locality_wait="0")  # nobody runs anything there
    assert spark.process.wait(timeout=120) == 0 and spark.out.read_text().split() == ["hosts", "3"], spark.said()
    told, = recorded(site.daemon, "framework_tasks")
    replicas, per = told["replicas"].split(","), int(told["replicas_per_task"])
    assert (told["stage"], told["first"]) == ("0", "0") and "".join(hosts[int(replica)] for replica in replicas[::per]) == places
    assert set(replicas[1::per]) == {str(2**32 - 1)}
    assert [fields.get("phase") for fields in recorded(site.daemon, "framework_tasks", "framework_stage") if fields["stage"] == "0"] == [None, "1"]


@pytest.mark.frameworks
def test_a_later_run_has_the_same_history(site):
    """Also of what Spark's SQL makes of a query while it runs, and for a controller that began anew."""
    agent, relay = site.agent(), site.relay()
    site.application().ended_well()
    site.daemon.stop()
    site.daemon.start()
    agent.connect()
    agent.hello_sequence += 1
    agent.join()
    relay.follow()
    site.application().ended_well()
    first, second = stages_told(site.daemon)
    assert first == second and len({history for *_, history in first}) == len(first) >= 5, (first, second)
    all_done(site.daemon, 4)


@pytest.mark.frameworks
def test_a_stopped_agent_stops_no_spark(site):
    site.agent()
    relay, spark = site.relay(), site.application()
    site.check_reduces_run(spark)
    relay.process.send_signal(signal.SIGSTOP)
    try:
        spark.ended_well()
    finally:
        relay.process.send_signal(signal.SIGCONT)


@pytest.mark.frameworks
def test_without_its_setting_spark_runs_as_without_it(site):
    spark = site.application(spark_duopoly_socket="")
    spark.ended_well()
    assert spark.said().count("duopoly is left out") == 1 and "spark.duopoly.socket is not set" in spark.said()


def talk_nonsense(server, wrong, heard):
    while True:
        try:
            peer = server.accept()[0]
        except OSError:
            return  # it is closed
        with peer:
            peer.recv(65536)
            peer.sendall(wrong[len(heard) % len(wrong)])
        heard.append(peer)


def counters(site):
    return {row["name"]: row["value"] for row in site.daemon.ctl("counters")["counters"]}


def test_the_gate_starts_what_is_allowed(site):
    site.agent(), site.relay()
    spark = site.application(spark_duopoly_gate="true")
    site.check_reduces_run(spark)
    assert counters(site)["engine.allows"] == counters(site)["engine.allows_used"] >= 2
    assert 2 in spark.waiting()  # the largest is the first that is allowed; Spark by itself takes them as they come
    spark.ended_well()
    all_done(site.daemon)
    assert counters(site)["engine.allows_used"] >= REDUCES and not re.search("gate (inactive|is)", spark.said())


@pytest.mark.frameworks
def test_of_two_plug_ins_one_is_followed(site):
    """Both are of the same application: one session is refused for good, and that one's gate is out of the way."""
    site.agent(), site.relay()
    spark = site.application(spark_duopoly_gate="true", spark_plugins="duopoly.spark.Plugin,Twin")
    site.check_reduces_run(spark)
    spark.ended_well()
    assert counters(site)["engine.allows_used"] >= REDUCES
    assert spark.said().count("duopoly refuses") == 1 and "gate is out of order" not in spark.said()


@pytest.mark.frameworks
def test_an_agent_that_talks_nonsense_stops_no_spark(site):
    """What is too long, cut, no message, or refused without a reason, one after the other, each time the plug-in connects."""
    wrong = [b"\xff\xff\xff\xff", b"\0\1\0\1", b"\0\0\0\0", b"\0\0\0\3\xff\xff\xff", b"\0\0\0\10\xa2\6", b"\0\0\0\3\xfa\1\0"]
    os.mkdir(os.path.dirname(site.socket))
    made, heard = [], []
    for path in (site.socket, site.guests):
        made.append(socket.create_server(path, family=socket.AF_UNIX))
        threading.Thread(target=talk_nonsense, args=(made[-1], wrong, heard), daemon=True).start()
    spark = site.application(spark_duopoly_gate="true")
    patiently(lambda: len(heard) > 2 * len(wrong), "connections, again and again", spark)
    spark.ended_well()
    for server in made:
        server.close()
    assert 1 <= spark.said().count("duopoly has no session") + spark.said().count("duopoly refuses") <= 2
    assert "gate is out of order" not in spark.said()


@pytest.mark.frameworks
@pytest.mark.parametrize("ends", ["controller", "relay"])
def test_what_is_held_starts_when_nobody_says_anything(site, ends):
    """No more is to start there: the first one does since nothing else runs, the second one waits for what two seconds of silence bring."""
    site.agent()
    site.daemon.ctl("drain", HOST)
    relay, spark = site.relay(), site.application(spark_duopoly_gate="true")
    patiently(lambda: len(spark.waiting()) == 1, "a reduce task", spark)
    begin = time.monotonic()
    while time.monotonic() - begin < 3:
        assert len(spark.waiting()) == 1 and spark.process.poll() is None
        time.sleep(0.05)
    end = site.daemon.kill if ends == "controller" else lambda: relay.process.send_signal(signal.SIGSTOP)
    begin = time.monotonic()
    end()
    try:
        patiently(lambda: len(spark.waiting()) == 2, "the other reduce task", spark)
        assert time.monotonic() - begin < 3.2 * PATIENCE
        spark.ended_well()
    finally:
        relay.process.send_signal(signal.SIGCONT)


def guests(site):
    return {name.partition(".")[2]: value for name, value in site.daemon.counters(HOST).items() if name.startswith("guests.")}


@pytest.mark.frameworks
def test_executors_announce_their_tasks(site):
    """Each of them, and those that were allowed by what they were allowed as."""
    relay, spark = site.host(), site.application(spark_duopoly_gate="true")
    patiently(lambda: len(spark.waiting()) >= 1, "a reduce task", spark)
    patiently(lambda: guests(site).get("tasks") == MAPS + len(spark.waiting()), "all that ran were announced", spark)
    application, = (row for row in site.daemon.ctl("jobs")["applications"] if row["application"] in spark.said())  # there may be others here
    assert (application["rung"], application["executors"]) == ("observe", 2)
    assert guests(site)["tasks_unknown"] == MAPS  # which nobody had to allow
    spark.ended_well()
    assert "hears nothing" not in spark.said()
    relay.until_said("is cut", 0)


@pytest.mark.frameworks
def test_an_agent_that_begins_anew_hears_of_what_runs(site):
    relay, spark = site.host(), site.application()
    site.check_reduces_run(spark)
    relay.process.kill()
    relay.process.wait()
    os.unlink(site.socket), os.unlink(site.guests)
    relay.start()
    patiently(lambda: guests(site).get("tasks") == 2, "both that run were announced again", spark)
    spark.ended_well()


@pytest.mark.parametrize("check", ["AllowsCheck", "JobCheck", "MessageCheck", "SessionCheck", "SlotsCheck", "UnmarkedCheck"])
def test_what_was_said_counts_until_it_does_not(tmp_path, check):
    path = f"{JAR}:{SPARK}/jars/*"
    subprocess.run(["javac", "-nowarn", "-proc:none", "-cp", path, "-d", tmp_path, TOP / f"tests/net/spark/duopoly/spark/{check}.java"], check=True,
                   capture_output=True)
    opens = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.lang", "java.lang.invoke", "java.net", "java.nio", "java.util",
                                                                      "java.util.concurrent", "sun.nio.ch")]
    done = subprocess.run(["java", *opens, "-cp", f"{tmp_path}:{path}", f"duopoly.spark.{check}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
