"""make demo NET=guest: the demo in a guest, whose kernel has what the machine's may lack: ports of eight strict bands without floors
that mark (prio, RED with ECN), and DCTCP on every host.

    inside: python3 -m testbed.guest.demo

Outside it checks the variables, boots the guest and hands on what it says; inside, `make demo` itself runs with them. Its folder is
the demo's own, so logs, results and the table come out where they do without a guest."""

import os
import shutil
import sys

from testbed.demo import demo, inputs
from testbed.guest import guest, kernels
from testbed.net import system

HOSTS = "3"
LINK_BPS_MAX = 10**8  # what one CPU carries
HOSTS_MAX = 9  # what its memory holds
NO_NUDGE = "in the guest: ports of eight strict bands without floors that mark (RED, ECN), DCTCP; no BTF, so no nudge: a starved sender learns late of its promotion"
VARIABLES = ("TRACE", "JOBS", "SPEED", "CAP", "SCALE", "LINK", "HOSTS", "SLOTS", "SEED", "COMPUTE", "POLICIES", "TOPO", "RACKS",
             "SPINES", "OVERSUB")


def outside(environment):
    """The exit status of the demo in the guest."""
    environment = {**environment, "NET": "", "HOSTS": environment.get("HOSTS") or HOSTS}
    asked = demo.prepare(environment)
    if asked.link_bps > LINK_BPS_MAX or asked.hosts > HOSTS_MAX:
        raise system.Failure("a guest has one CPU and %s of memory: LINK at most 100M, HOSTS at most %d" % (kernels.MEMORY, HOSTS_MAX))
    try:
        kernels.check("uml", asked.build)
    except kernels.Missing as why:
        raise system.Failure("NET=guest: %s" % why) from why
    with demo.own_folder(asked.build) as folder:
        return boot(asked, {name: environment[name] for name in VARIABLES if environment.get(name)}, folder)


def boot(asked, words, folder):
    if asked.trace:
        # The guest's /tmp is its own.
        words["TRACE"] = os.path.join(folder, "trace")
        with inputs.open_input(asked.trace):
            shutil.copyfile(asked.trace, words["TRACE"])
    settings = ["%s=%s" % pair for pair in sorted(words.items())]
    command = ["env", *settings, "BUILD=" + asked.build, "/usr/bin/python3", "-B", "-m", "testbed.guest.demo", folder]
    booted = guest.Guest("uml", asked.build, [command], folder)
    try:
        return booted.wait()[0]
    except guest.Dead as why:
        raise system.Failure("the guest %s; its last words: %s" % (why, system.printable(last_words(booted)))) from why
    finally:
        booted.end()


def last_words(booted):
    return (booted.console() or booted.read("output").strip().splitlines() or ["none"])[-1].strip()


def inside(environment, folder):
    asked = demo.prepare(environment)
    asked.use_strict_bands()
    asked.note = NO_NUDGE
    return demo.replay_all(asked, folder)


if __name__ == "__main__":
    sys.exit(demo.run("demo", lambda environment: inside(environment, sys.argv[1])))
