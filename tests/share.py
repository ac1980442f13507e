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


def file_of(item):
    """The module's, and not the one where the function stands: what a module has stays together."""
    return item.nodeid.partition("::")[0]


# Their executors stand in one /proc, where agents look for them: one pytest has them all.
EXECUTORS = {"test_guests.py", "test_guests_whole.py", "test_rights.py", "test_packaged.py"}


def share_of(file):
    return "executors" if os.path.basename(file) in EXECUTORS else file


class Sharing:
    def __init__(self):
        self.files, self.ours = set(), {}
        self.now, self.outcomes, self.began = None, collections.Counter(), 0

    def pytest_collection_finish(self, session):
        self.files = {share_of(file_of(item)) for item in session.items}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Anything but None: pytest takes it as run."""
        file = file_of(item)
        share = share_of(file)
        if share not in self.ours:
            self.ours[share] = self.take(share)
        if self.ours[share] and file != self.now:
            self.end()
            self.now, self.began = file, time.monotonic()
        return None if self.ours[share] else True

    def take(self, share):
        try:
            os.mkdir(os.path.join(SHARED, re.sub(r"\W", "_", share)))
        except FileExistsError:
            return False
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
