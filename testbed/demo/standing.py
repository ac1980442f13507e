"""make up, make down: a testbed that stays, with its daemons, under a load that repeats.

    python3 -m testbed.demo.standing up|down"""

import os
import subprocess
import sys

from testbed.demo import demo, inputs
from testbed.net import cluster, instance, system


def ours():
    """The lasting testbeds of this checkout."""
    return [one for one in instance.instances() if one.state["owner"] is None
            and one.state["tree"] == demo.TREE]


def up(environment):
    inputs.check_names(environment)
    asked = demo.prepare(dict(environment, POLICIES=environment.get("POLICIES") or "joint"),
                         lasting=True)
    if len(asked.policies) != 1:
        raise system.Failure("one policy at a time can stand, such as POLICIES=%s" %
                             asked.policies[0])
    instance.end_abandoned()
    if ours():
        raise system.Failure("a testbed of this checkout stands already: make down ends it")
    own = instance.create(demo.TREE)
    try:
        net = asked.network(own)
        net.up()
        folder = own.path("demo")
        os.makedirs(folder)
        path = asked.workload(folder)
        running = cluster.Cluster(net, asked.build, asked.policies[0], asked.slots,
                                  inputs.scale_of(path), asked.seed,
                                  os.path.join(folder, "logs"), ports=False, limiter=asked.limiter)
        running.up()
        with open(os.path.join(folder, "replay.log"), "ab") as out:
            driver = subprocess.Popen(
                [running.program("duopoly-replay"), "--socket", running.socket, "--label",
                 running.policy, "--rounds",
                 "0", "--set", "jobs=" + asked.jobs_limit(), path],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                start_new_session=True)
        own.add_process(driver.pid)
        own.keep()
    except BaseException:
        own.down()
        raise
    print("%s stands: %s; its logs are in %s" %
          (running.policy, asked.describe_hosts(), own.path("demo")))
    print("%s -s %s status" % (os.path.join(asked.build, "duopolyctl"), running.socket))
    return 0


def down():
    if os.geteuid() != 0:
        raise system.Failure("the testbed needs root")
    standing = ours()
    for one in standing:
        one.down()
    instance.end_abandoned()
    print("%d testbed%s ended" % (len(standing), "" if len(standing) == 1 else "s"))
    return 0


def main(words):
    system.stop_signals_raise()
    try:
        if words == ["up"]:
            return up(os.environ)
        if words == ["down"]:
            return down()
        print(__doc__.strip(), file=sys.stderr)
        return 2
    except system.Failure as failure:
        print("make %s: %s" % (words[0], failure), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
