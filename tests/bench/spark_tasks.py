"""What a task's start, a stage's tasks and an offer wait for the plug-in, in a real Spark on loopback: timed by classes around the plug-in's own
(java/duopoly/spark), so that the plug-in is the one that is installed. Beside it a real controller and agent."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import controller
from test_frameworks import PATIENT, Relay
from testbed.demo import report
from testbed.net import system
from testbed.spark import cluster

JAVA = pathlib.Path(__file__).parent / "java"
HOST = "localhost"
SECONDS = 400
KINDS = ("sets", "starts", "held", "gated", "bare")  # what the driver's files begin with
SETTINGS = {"spark.plugins": "duopoly.spark.TimedPlugin", "spark.duopoly.gate": "true", "spark.ui.enabled": "false", "spark.executor.memory": "512m",
            "spark.driver.memory": "768m", "spark.driver.extraJavaOptions": "-XX:+UseSerialGC", "spark.executor.extraJavaOptions": "-XX:+UseSerialGC"}


def compiled(folder, jar):
    """A jar of the classes around the plug-in."""
    system.run("javac", "-nowarn", "-proc:none", "-cp", "%s:%s/jars/*" % (jar, cluster.SPARK), "-d", os.path.join(folder, "classes"),
               *map(str, sorted(JAVA.rglob("*.java"))))
    made = os.path.join(folder, "bench.jar")
    system.run("jar", "--create", "--file", made, "-C", os.path.join(folder, "classes"), ".")
    return made


def how_far(folder, pid):
    """What the driver is at, and what it has measured so far."""
    doing = pathlib.Path(folder, "doing")
    lines = {file.name: file.read_text().count("\n") for kind in KINDS for file in sorted(pathlib.Path(folder).glob(kind + "*"))}
    stack = subprocess.run(["jstack", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60, check=False).stdout
    main = [line.strip() for line in stack.partition('"main"')[2].partition("\n\n")[0].splitlines() if "duopoly" in line]
    return "it is at \"%s\"%s; lines of its files: %s" % (doing.read_text() if doing.exists() else "its begin", "".join(", " + line for line in main), lines)


def run_driver(folder, jar, daemon):
    bench = compiled(folder, jar)
    settings = {**SETTINGS, "spark.duopoly.bench": folder, "spark.duopoly.socket": daemon.folder / "relay" / "frameworks",
                "spark.duopoly.guests": daemon.folder / "relay" / "guests", "spark.local.dir": os.path.join(folder, "local")}
    words = [word for key, value in settings.items() for word in ("--conf", "%s=%s" % (key, value))]
    both = "%s:%s" % (jar, bench)
    said = os.path.join(folder, "words")
    with open(said, "wb") as out:
        child = subprocess.Popen([cluster.SPARK / "bin" / "spark-submit", "--master", "local-cluster[2,1,512]", "--jars", both.replace(":", ","),
                                  "--driver-class-path", both, *words, "--class", "duopoly.spark.DriverCosts", bench, folder],
                                 stdout=out, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True,
                                 env={**os.environ, "SPARK_HOME": str(cluster.SPARK), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": HOST})
        try:
            status = child.wait(SECONDS)
        except subprocess.TimeoutExpired:
            status = "none within %d s: %s" % (SECONDS, how_far(folder, child.pid))
        finally:
            system.stop([system.identify(child.pid)])
    if status != 0:
        with open(said, errors="replace") as words:
            lines = words.readlines()
        why = [line for line in lines if line.startswith("Exception in")]
        raise system.Failure("the driver's status is %s; its last words: %s" % (status, "".join(why + lines[-5:])))


def times_us(folder, begins):
    """Of all files whose names begin so, sorted."""
    lines = [line for name in os.listdir(folder) if name.startswith(begins) for line in pathlib.Path(folder, name).read_text().split()]
    if not lines:
        raise system.Failure("nothing was measured as %s" % begins)
    return sorted(int(line) / 1e3 for line in lines)


def part(times, permille):
    return report.median(times) if permille == 500 else report.percentile(times, permille / 10)


def shown(times):
    return "%.0f, %.0f, %.0f us" % (part(times, 500), part(times, 990), times[-1])


def show(table, folder):
    table.head("what is waited for the plug-in: median, p99, worst")
    calm, hurried, held, gated, bare = (times_us(folder, name) for name in ("starts-calm", "starts-hurried", "held", "gated", "bare"))
    table.row("start of a task (of %d)" % len(calm), shown(calm), "median <= 1, worst <= 5 ms", part(calm, 500) <= 1000 and calm[-1] <= 5000)
    table.row("  of tasks that end at once, on busy processors (of %d)" % len(hurried), shown(hurried))
    for tasks in (100, 1000):
        sets = times_us(folder, "sets-%d" % tasks)
        table.row("a stage of %d tasks, and the four that read it (of %d)" % (tasks, len(sets)), shown(sets), "worst <= 5 ms" if tasks == 100 else "",
                  sets[-1] <= 5000 if tasks == 100 else None)
    table.row("an offer to a stage that is held (of %d)" % len(held), shown(held), "p99 <= 20 us", part(held, 990) <= 20)
    table.row("an offer to a stage that reads no shuffle", shown(gated))
    table.row("  the same to Spark's own", shown(bare))
    more = part(gated, 990) - part(bare, 990)
    table.row("  p99 more than Spark's own", "%.1f us" % more, "<= 20 us", more <= 20)


def measure_tasks(table):
    daemon = controller.Daemon(config=PATIENT)
    folder = tempfile.mkdtemp(prefix="duopoly-bench-")
    relay = None
    try:
        relay = Relay(daemon, name=HOST, units="{slots: 1}", more="guests: {rung: observe, rescan: 200 ms, socket: %s/relay/guests}\n" % daemon.folder)
        run_driver(folder, os.path.abspath(os.path.join(os.environ["BUILD"], cluster.JAR)), daemon)
        show(table, folder)
    finally:
        if relay:
            relay.close()
        daemon.remove()
        shutil.rmtree(folder, ignore_errors=True)
