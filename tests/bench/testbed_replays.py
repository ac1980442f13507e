"""Replays on the testbed's networks by name, NET-TOPO: the same figures from all of them, in a
guest or here."""
import contextlib
import functools
import json
import multiprocessing
import os
import signal
import sys
import tempfile

from testbed.demo import demo, report
from testbed.guest import demo as guest_demo
from testbed.net import instance, system


def variables(network, words):
    """`make demo`'s for that network: `words`, which go before the environment's."""
    net, _, topo = network.partition("-")
    environment = {**os.environ, **words, "NET": net, "TOPO": topo}
    if not environment.get("TRACE"):
        environment["JOBS"] = environment.get("JOBS") or "40"
    return environment


def prepare(network, words):
    """What is asked for (testbed.demo.inputs); Failure where that network cannot."""
    environment = variables(network, words)
    if environment["NET"] in guest_demo.PLACES:
        return guest_demo.check(environment["NET"], environment)[0]
    return demo.prepare(environment)


def nothing(_run, _net):
    return {}


def replays(network, of_words, look=nothing):
    """[replay()'s of each]; side by side where time is the guest's own. `look`: a function of a
    module."""
    one = functools.partial(replay, network, look=look)
    if network.partition("-")[0] != "virtual":
        return [one(words) for words in of_words]
    with multiprocessing.Pool(os.cpu_count(), begin_beside) as beside:  # whatever ends it ends them, by SIGTERM
        return beside.map(one, of_words, chunksize=1)


def begin_beside():
    system.end_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))  # without a trace: whoever began it says why


def replay(network, words, look=nothing):
    """[demo.run_policy()'s figures of each policy, and what look(figures, network) makes of them
    while its files are there]"""
    environment = variables(network, words)
    runs = in_guest(environment, look) if environment["NET"] in guest_demo.PLACES else here(environment, look)
    for run in runs:
        if not run["marks_right"]:
            raise system.Failure("%s, %s, %s: marks were wrong" % (network, words, run["label"]))
    return runs


def in_guest(environment, look):
    name = environment["NET"]
    asked, words = guest_demo.check(name, environment)
    with demo.own_folder(asked.build, "bench-testbed") as folder, contextlib.redirect_stdout(sys.stderr):
        path = os.path.join(folder, demo.FIGURES)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        guest_demo.replay(name, asked, words, folder)
        try:
            with open(path) as figures:
                runs = json.load(figures)
        except FileNotFoundError as nothing:
            raise system.Failure("the replay in the guest came to no figures") from nothing
        return [{**run, **look(run, asked.network(None))} for run in runs]


def here(environment, look):
    asked = demo.prepare(environment)
    with tempfile.TemporaryDirectory(prefix="duopoly-bench-") as folder:
        path = asked.workload(folder)
        own = instance.create(demo.TREE)
        try:
            net = asked.network(own)
            net.up()
            runs = [demo.run_policy(net, asked, policy, path, folder)[0] for policy in asked.policies]
            return [{**run, **look(run, net)} for run in runs]
        finally:
            own.down()


def simulated(network, words, policy, changed):
    """The simulator's figures of that replay, with these of its options changed."""
    asked = prepare(network, words)
    with tempfile.TemporaryDirectory(prefix="duopoly-bench-") as folder:
        return report.load(policy, [demo.simulate(asked, policy, asked.workload(folder), folder, changed)])
