"""make demo NET=guest, NET=virtual: the demo in a guest, whose kernel has what the machine's may
lack: ports that mark (RED with ECN), and DCTCP on every host; in virtual time also links and
processors without noise.

    inside: python3 -m testbed.guest.demo PLACE FOLDER

Outside it checks the variables, boots the guest and prints its output; inside, `make demo`
itself runs with them. Its folder is the demo's own, so logs, results and the table appear where
they do without a guest."""

import os
import shutil
import sys
import typing

from testbed.demo import demo, inputs
from testbed.guest import guest, kernels
from testbed.net import system


class Place(typing.NamedTuple):
    """kernel: of kernels.KERNELS; hosts: default of HOSTS; hosts_max, link_bps_max: what it holds
    and carries, and why no more; queues: lines of the agents' section `queues`; note: below the
    table; bytes_per_second: of payload replayed in a real second, for the estimate at the
    beginning; 0 if the guest's time is the machine's."""
    kernel: str
    hosts: int
    hosts_max: int
    link_bps_max: int
    why: str
    queues: tuple
    note: str
    bytes_per_second: int = 0


PLACES = {
    # The source's own data path.
    "guest": Place("uml", 3, 9, 10**8, "a guest has one CPU and %s of memory" % kernels.Uml.memory,
                   ("driver: prio", "ecn: yes"),
                   "in the guest: ports of eight strict bands without floors that mark (RED, ECN), "
                   "DCTCP; no BTF, so no nudge: a starved sender learns late of its promotion"),
    "virtual": Place("virtual", 9, 40, 10**9, "the guest has %s of memory" % kernels.Virtual.memory,
                     ("driver: htb", "ecn: yes", "leaf_packets: 1000"),
                     "in virtual time: computing takes no time, so latencies of slots and "
                     "decisions are not a machine's; ports of eight bands with "
                     "floors that mark (RED, ECN), DCTCP; no BTF, so no nudge",
                     bytes_per_second=8 * 10**6),
}
BEGIN_SECONDS = 2  # of this machine's, for each host in virtual time, before anything moves
VARIABLES = ("TRACE", "JOBS", "SPEED", "CAP", "SCALE", "LINK", "HOSTS", "SLOTS", "SEED", "COMPUTE",
             "POLICIES", "TOPO", "RACKS", "SPINES", "OVERSUB", "V")


def outside(name, environment):
    """The exit status of the demo in the guest."""
    asked, words = check(name, environment)
    with demo.own_folder(asked.build) as folder:
        return replay(name, asked, words, folder)


def check(name, environment):
    """The requested network, and its variables inside; Failure before anything is changed if that
    guest cannot have it."""
    place = PLACES[name]
    environment = {**environment, "NET": "", "HOSTS": environment.get("HOSTS") or str(place.hosts)}
    asked = demo.prepare(environment)
    if asked.link_bps > place.link_bps_max or asked.hosts > place.hosts_max:
        raise system.Failure("%s: LINK at most %dM, HOSTS at most %d" %
                             (place.why, place.link_bps_max / 10**6, place.hosts_max))
    try:
        kernels.check(place.kernel, asked.build)
    except kernels.Missing as why:
        raise system.Failure("NET=%s: %s" % (name, why)) from why
    return asked, {word: environment[word] for word in VARIABLES if environment.get(word)}


def replay(name, asked, words, folder):
    """The exit status of the demo in the guest, which leaves its results in that folder."""
    place = PLACES[name]
    if place.bytes_per_second:
        print(expected(place, asked, folder), flush=True)
    return boot(name, asked, words, folder)


def expected(place, asked, folder):
    """How long it will take, in words."""
    size = asked.shuffle_bytes(asked.workload(folder))
    minutes = (BEGIN_SECONDS * asked.hosts + size / place.bytes_per_second) / 60
    all_minutes = max(minutes * len(asked.policies), 1)
    return ("in virtual time this takes some %.0f minutes a policy, %.0f in all (%.0f MB each, "
            "at %d MB a second of this machine's)" %
            (max(minutes, 1), all_minutes, size / 1e6, place.bytes_per_second / 1e6))


def boot(name, asked, words, folder):
    if asked.trace:
        # The guest's /tmp is its own.
        words["TRACE"] = os.path.join(folder, "trace")
        with inputs.open_input(asked.trace):
            shutil.copyfile(asked.trace, words["TRACE"])
    settings = ["%s=%s" % pair for pair in sorted(words.items())]
    command = ["env", *settings, "BUILD=" + asked.build, "/usr/bin/python3", "-B", "-m",
               "testbed.guest.demo", name, folder]
    booted = guest.Guest(PLACES[name].kernel, asked.build, [command], folder)
    try:
        return booted.wait()[0]
    except guest.Dead as why:
        raise system.Failure("the guest %s; its last words: %s" %
                             (why, system.printable(last_words(booted)))) from why
    finally:
        booted.end()


def last_words(booted):
    return (booted.console() or booted.read("output").strip().splitlines() or ["none"])[-1].strip()


def inside(name, environment, folder):
    place, asked = PLACES[name], demo.prepare(environment)
    asked.congestion, asked.queue_lines, asked.note = "dctcp", list(place.queues), place.note
    if place.bytes_per_second:
        asked.start_spread_s = 0
    with demo.own_programs(asked, folder):
        return demo.replay_all(asked, folder, bool(environment.get("V")))


if __name__ == "__main__":
    sys.exit(demo.run("demo", lambda environment: inside(sys.argv[1], environment, sys.argv[2])))
