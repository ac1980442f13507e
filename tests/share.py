"""A plugin of pytest (-p tests.share) with which several of them share the files that each is
given: each takes the next one that none has taken, and says on standard error what came of it.

$SHARED is a folder that all of them have and nobody else; what is taken stands there."""

import collections
import os
import re
import time

import pytest

SHARED = os.environ["SHARED"]
SAY = os.fdopen(os.dup(2), "w", buffering=1)  # before pytest catches what is written there


class Sharing:
    def __init__(self):
        self.files, self.ours = [], {}
        self.now, self.outcomes, self.began = None, collections.Counter(), 0

    def pytest_collection_finish(self, session):
        self.files = list(dict.fromkeys(item.location[0] for item in session.items))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Anything but None: pytest takes it as run."""
        file = item.location[0]
        if file not in self.ours:
            self.end()
            self.ours[file] = self.take(file)
        return None if self.ours[file] else True

    def take(self, file):
        try:
            os.mkdir(os.path.join(SHARED, re.sub(r"\W", "_", file)))
        except FileExistsError:
            return False
        self.now, self.began = file, time.monotonic()
        return True

    def end(self):
        """Of the file that is now ours, if any."""
        if self.now:
            words = ", ".join("%d %s" % (count, outcome)
                              for outcome, count in sorted(self.outcomes.items()))
            SAY.write("%3d of %d begun; %s: %s in %.0f s\n" % (len(os.listdir(SHARED)),
                                                               len(self.files), self.now, words,
                                                               time.monotonic() - self.began))
        self.now = None
        self.outcomes.clear()

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.outcome] += 1

    def pytest_sessionfinish(self):
        self.end()


def pytest_configure(config):
    config.pluginmanager.register(Sharing(), "sharing")
