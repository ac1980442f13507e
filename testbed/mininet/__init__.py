"""duopoly on an existing Mininet: its daemons on every host and switch of it, and a replay.

    from testbed.mininet import Duopoly
    net.start()
    with Duopoly(net) as d:
        d.replay("jobs.jsonl")
    net.stop()

This tree must be in sys.path (PYTHONPATH), the programs be built (make), and the interpreter be
/usr/bin/python3, which has Debian's mininet. What it finds in the network, and what it does not
change, is printed (testbed/net/attached.py says how). At the end of the block all of duopoly is
removed and the network is as it was; a network that is not stopped then ends with the script
(ending.py). An error ends the script with one sentence."""

import os
import re

from testbed.demo import demo, inputs, report, spoilt
from testbed.mininet import ending
from testbed.net import attached, cluster, instance, system


def _bps(text):
    return inputs.rate({"rate": text}, "rate", text)


class Duopoly:
    """net: a Mininet that was started; policy: a name that `duopolyd --presets` lists; slots: of
    each host; rate: of links without bw=, such as "100M"; seed: of the policy's choices; logs: a
    folder that keeps the daemons' logs and the results, which else are removed at the end."""

    def __init__(self, net, policy="joint", slots=4, rate="100M", seed=1, logs=None):
        self.net, self.policy, self.slots, self.rate, self.seed = net, policy, slots, rate, seed
        self.logs = logs and os.path.abspath(logs)
        self.instance = self.network = self.running = None

    def __enter__(self):
        try:
            self._up()
        except system.Failure as failure:
            sentence = self._sentence(failure)
            self._down()
            raise SystemExit(sentence) from None
        except BaseException:
            self._down()
            raise
        return self

    def __exit__(self, *_):
        self._down()

    def _sentence(self, failure):
        """After daemons have logged, also how to keep their logs."""
        return "duopoly: %s%s" % (failure, " (Duopoly(…, logs=FOLDER) keeps the logs)"
                                  if self.running and not self.logs else "")

    def _up(self):
        ending.with_script(self.net)
        if os.geteuid() != 0:
            raise system.Failure("queues, marks and cgroups need root, as Mininet does")
        if not self.net.built or not self.net.hosts:
            raise system.Failure("this Mininet was not started: call net.start() first")
        cluster.check_policies(demo.build_folder(), [self.policy])
        instance.end_abandoned()
        self.instance = instance.create(demo.TREE)
        self.instance.add_ends(ending.commands(self.net))
        self.network = attached.Attached(self.instance, self.net, _bps(self.rate))
        for line in self.network.summary():
            print("duopoly: " + line)
        self.network.up()
        self._start(scale=1)

    def _start(self, scale):
        """Thresholds in bytes follow the workload's scale, so daemons are started for one scale."""
        folder = self.logs or os.path.join(self.instance.memory(), "logs")
        self.running = cluster.Cluster(self.network, demo.build_folder(), self.policy, self.slots,
                                       scale, self.seed,
                                       os.path.join(folder, self.policy))
        self.running.up()

    def _down(self):
        with system.signals_ignored():
            if self.running:
                self.running.down()
            if self.network:
                self.network.leave()
            if self.instance:
                self.instance.down()
        self.instance = self.network = self.running = None

    def ask(self, *words):
        """The answer of `duopolyctl -j WORDS…`, as Python objects."""
        return self.running.ask(*words)

    def replay(self, path, jobs=None):
        """Replays a workload file (schemas/workload.md), at most `jobs` of it; prints its figures
        and whether all marks and queues were right at every hop, and where the logs are if they
        are kept. Returns whether all was right and all jobs ended."""
        try:
            figures, said, good = self._replay(os.path.abspath(path), jobs)
        except system.Failure as failure:
            raise SystemExit(self._sentence(failure)) from None
        spoilt_by = spoilt.verdict([figures])
        print("\n".join([*report.table([figures]), report.LEGEND, "", *said,
                         *([spoilt_by] if spoilt_by else [])]))
        if self.logs:
            print("duopoly: logs and results are in %s" % self.running.logs)
        return good and not figures["unfinished"]

    def _replay(self, path, jobs):
        if not os.path.exists(path):
            raise system.Failure("there is no workload file %s" % path)
        scale = inputs.scale_of(path)
        if scale != self.running.scale:
            self.running.down()
            self._start(scale)
        results = os.path.join(self.running.logs, "results.jsonl")
        verify = demo.Verify(self.running, self.running.logs)
        verify.start()
        watch = spoilt.Watch()
        try:
            demo.replay(self.running, path, str(jobs or 10**6), results, watch=watch)
        finally:
            machine = watch.figures()
            said, good = verify.finish()
        figures = report.load(self.policy, self.running.log_files(), results)
        return {**figures, **machine, "frames_lost": verify.frames_lost()}, said, good


def test(net):
    """mn --custom testbed/mininet/custom.py --test duopoly"""
    words = dict(re.findall(r"(\w+)=(\S+)", os.environ.get("DUOPOLY", "")))
    with Duopoly(net,
                 **{word: value for word, value in words.items()
                    if word in ("policy", "rate", "logs")}) as d:
        if not d.replay(words.get("jobs") or os.path.join(demo.TREE, inputs.DEFAULT_INPUT)):
            raise SystemExit("duopoly: the replay was not as it should be (above)")
