"""An unmodified Apache Spark on a testbed's network: a master and the driver on the last host, a
worker on each of the others, with or without duopoly."""

import os
import pathlib
import shutil
import subprocess
import sys

from testbed.net import cluster, system
from testbed.spark import blocks

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "duopoly" / "pyspark" / "pyspark"
SPARK = pathlib.Path(os.environ.get("SPARK_HOME") or CACHE)
HERE = pathlib.Path(__file__).parent
JAR = "duopoly-spark.jar"  # the plug-in
PORT = 7077
# While builds ran beside it one took more than 60 s. One that ended is noticed at once.
READY_SECONDS = 300
WHAT = {"master": "master", "worker": "worker", "blocks": "server of blocks"}
JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
SETTINGS = {"spark.ui.enabled": "false", "spark.eventLog.enabled": "true", "spark.scheduler.minRegisteredResourcesRatio": "1",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s", "spark.executor.cores": "1", "spark.executor.memory": "512m",
            "spark.driver.memory": "768m", "spark.driver.extraJavaOptions": JAVA, "spark.executor.extraJavaOptions": JAVA,
            "spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false"}


def check(build):
    """Failure with what to do if something is missing."""
    for missing, words in ((not (SPARK / "bin" / "spark-submit").exists(), "there is no Spark in %s: make deps-spark, or SPARK_HOME" % SPARK),
                           (not shutil.which("javac"), "there is no Java: make deps-spark"),
                           (not os.path.exists(os.path.join(build, JAR)), "the plug-in is not built: make spark-plugin")):
        if missing:
            raise system.Failure("NET=spark: " + words)


def compile_workloads(folder):
    """Their jar."""
    classes, jar = os.path.join(folder, "classes"), os.path.join(folder, "workloads.jar")
    system.run("javac", "-nowarn", "-proc:none", "-cp", "%s/jars/*" % SPARK, "-d", classes, *map(str, sorted(HERE.glob("*.java"))))
    system.run("jar", "--create", "--file", jar, "-C", classes, ".")
    return jar


def own(net, host):
    """A folder of that host's, which is OWN to Spark there."""
    return os.path.join(net.instance.memory(), "spark", host)


OWN = "own"


class Beside(cluster.Cluster):
    """duopoly's programs on that network with Spark: agents find executors, and the last host's
    agent serves the driver and has no slots. `kind`: how (demo.Kind)."""

    def __init__(self, net, build, slots, seed, logs, kind):
        super().__init__(net, build, "joint", slots, 1, seed, logs, ports=False)
        self.kind = kind

    def up(self):
        super().up()
        if self.kind.stance:
            self.ask("stance", self.kind.stance, "--all")

    def frameworks(self):
        return os.path.join(self.directory, "frameworks.sock")

    def guests(self):
        """As Spark finds it on each host."""
        return os.path.join(own(self.net, OWN), "guests")

    def _controller_yaml(self):
        text = super()._controller_yaml()
        return text if self.kind.hold_max_ms is None else text.replace("policy:\n", "policy:\n  hold_max: %d ms\n" % self.kind.hold_max_ms)

    def _agent_yaml(self, name):
        text = super()._agent_yaml(name)
        if name in self.net.switches:
            return text
        text += "guests: {rung: %s, users: [root], socket: %s}\n" % (self.kind.rung, os.path.join(own(self.net, name), "guests"))
        if name != self.net.hosts[-1]:
            return text
        key = os.path.join(self._key_folder(), "spark.key")
        return text.replace("  - {slots: %d}" % self.slots, "  - {io_bytes_s: 1}") + "frameworks: {socket: %s, key: %s}\n" % (self.frameworks(), key)

    def _make_directories(self):
        super()._make_directories()
        make_own(self.net)

    def _make_keys(self, names, role, folder):
        super()._make_keys(names, role, folder)
        if role == "agent":
            super()._make_keys("spark", "framework", folder)


def make_own(net):
    for host in [*net.hosts, OWN]:
        os.makedirs(own(net, host), exist_ok=True)


class Spark:
    """Its daemons; `folder`: for all that they write; `daemon_java`: for each worker's virtual machine, too."""

    def __init__(self, net, folder, daemon_java=""):
        self.net, self.folder, self.java = net, folder, (JAVA + " " + daemon_java).strip()
        self.hosts = os.path.join(folder, "hosts")
        self.daemons, self.drivers = {}, []  # daemons: by (host, what), oldest first

    def up(self):
        os.makedirs(os.path.join(self.folder, "events"), exist_ok=True)
        make_own(self.net)
        with open(self.hosts, "w") as out:
            out.write("127.0.0.1 localhost\n" + "".join("%s %s\n" % (self.net.addresses[host], host) for host in self.net.hosts))
        *workers, master = self.net.hosts
        self._daemon(master, "master", "--host", master, "--port", str(PORT))
        self._wait_said(master, "master", "Started daemon")
        for worker in workers:
            self._daemon(worker, "worker", "--host", worker, "--cores", "2", "--memory", "2g", "--work-dir", os.path.join(self.folder, "work"),
                         "spark://%s:%d" % (master, PORT))
            self._start(worker, "blocks", sys.executable, "-B", blocks.__file__, str(blocks.PORT))
        for worker in workers:
            self._wait_said(worker, "blocks", "serving")
            self._wait_said(worker, "worker", "Successfully registered")

    def submit(self, settings, jar, main, words, log):
        """Starts the driver; its result is the file `log`, its output beside it."""
        host = self.net.hosts[-1]
        settings = {**SETTINGS, "spark.eventLog.dir": "file:" + os.path.join(self.folder, "events"), **settings}
        command = [SPARK / "bin" / "spark-submit", "--master", "spark://%s:%d" % (host, PORT),
                   *(word for key, value in settings.items() for word in ("--conf", "%s=%s" % (key, value))), "--class", main, jar, *words]
        with open(log, "wb") as out, open(log + ".err", "wb") as err:
            child = subprocess.Popen(self._in(host, *map(str, command)), stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self._environment(host))
        self.net.instance.add_process(child.pid)
        self.drivers.append(child)
        return child

    def down(self):
        for child in [*self.drivers, *reversed(self.daemons.values())]:
            system.stop([system.identify(child.pid)])
        for host in self.net.hosts:
            system.kill_in_namespace(self.net.instance.namespace(host))

    def _wait_said(self, host, what, words):
        """Until that daemon has said these words."""
        log = self._log(host, what)

        def has_said():
            self._check_alive()
            with open(log, errors="replace") as said:
                return words in said.read()
        system.wait_for(has_said, READY_SECONDS, "the start of Spark's %s on %s" % (WHAT[what], host),
                        lambda: "it still runs; " + system.where_said(log))

    def _check_alive(self):
        for (host, what), child in self.daemons.items():
            if child.poll() is not None:
                raise system.Failure("Spark's %s on %s has ended; %s" % (WHAT[what], host, system.where_said(self._log(host, what))))

    def _log(self, host, what):
        return os.path.join(self.folder, "%s-%s.log" % ("blocks" if what == "blocks" else "spark", host))

    def _environment(self, host):
        return {**os.environ, "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": self.net.addresses[host], "SPARK_LOCAL_HOSTNAME": host,
                "SPARK_LOCAL_DIRS": os.path.join(self.folder, "local-" + host), "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": self.java}

    def _in(self, host, *command):
        """There, under that name, which all others know, and with what is its own in its place."""
        script = 'hostname "$0" && mount --bind "$1" /etc/hosts && mount --bind "$2" "$3" && shift 3 && exec "$@"'
        return self.net.enter(host, "unshare", "--uts", "--mount", "sh", "-ec", script, host, self.hosts, own(self.net, host), own(self.net, OWN), *command)

    def _daemon(self, host, what, *words):
        name = "org.apache.spark.deploy.%s.%s" % (what, what.capitalize())
        self._start(host, what, str(SPARK / "bin" / "spark-class"), name, *words)

    def _start(self, host, what, *command):
        with open(self._log(host, what), "ab") as out:
            child = subprocess.Popen(self._in(host, *command), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=self._environment(host),
                                     start_new_session=True)
        self.net.instance.add_process(child.pid)
        self.daemons[host, what] = child
