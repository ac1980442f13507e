"""A few hosts in namespaces under all daemons, whose agents know commands of the test's own."""

import contextlib
import json
import os
import shutil
import tempfile

from testbed.net import cluster, instance, star, system

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TREE, os.environ.get("BUILD") or "build")


class Site:
    """`seen`: a folder that tasks see."""

    def __init__(self, running, folder, seen):
        self.running, self.folder, self.seen, self.jobs = running, folder, seen, 0

    def submit(self, *stages):
        """The number of a job of these stages."""
        self.jobs += 1
        path = os.path.join(self.folder, "job-%d.jsonl" % self.jobs)
        with open(path, "w") as out:
            out.write(json.dumps({"duopoly_workload": 1, "hosts": len(self.running.net.hosts)}) + "\n")
            out.write(json.dumps({"id": 1, "name": "job-%d" % self.jobs, "stages": list(stages)}) + "\n")
        return str(self.running.ask("submit", path)["jobs"][0]["job"])

    def wait(self, number, what, seconds=60):
        """The job's row, when `what` holds for it."""
        system.wait_for(lambda: what(self.running.ask("job", number)), seconds, "job " + number)
        return self.running.ask("job", number)

    def host(self, name):
        return next(row for row in self.running.ask("hosts")["hosts"] if row["name"] == name)

    def text(self, *words):
        return system.run(self.running.program("duopolyctl"), "-s", self.running.socket, *words)


@contextlib.contextmanager
def site(folder, hosts, commands):
    """`commands(name, seen)`: the shell's words of each command of the host `name`, by the
    command's name."""
    seen = tempfile.mkdtemp(prefix="duopoly-seen-")  # WHY: tasks have a user of their own, who must see what is in it
    os.chmod(seen, 0o755)

    class Cluster(cluster.Cluster):
        def _agent_yaml(self, name):
            lines = ["    - {name: %s, argv: [sh, -c, '%s']}\n" % command for command in commands(name, seen).items()]
            return super()._agent_yaml(name).replace("  commands:\n", "  commands:\n" + "".join(lines))

    own = instance.create(TREE)
    try:
        net = star.Star(own, hosts, 20_000_000)
        net.up()
        running = Cluster(net, BUILD, "fair", 2, 1, 1, os.path.join(folder, "logs"))
        running.up()
        yield Site(running, folder, seen)
    finally:
        shutil.rmtree(seen)
        own.down()
