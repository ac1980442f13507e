"""What the testbed waits for and does not come: the sentence names the log, or what is in the way.
"""

import ast
import os
import pathlib
import re

import pytest

from testbed.net import instance as instances
from testbed.net import star, system
from testbed.spark import cluster as sparks

TREE = pathlib.Path(__file__).parents[2]


def test_each_wait_of_the_testbed_names_a_cause():
    found = 0
    for path in sorted((TREE / "testbed").rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            name = call.func if isinstance(call, ast.Call) else None
            if getattr(name, "attr", getattr(name, "id", "")) == "wait_for":
                found += 1
                assert len(call.args) == 4, "%s:%d has no cause" % (path, call.lineno)
    assert found >= 10


def test_a_wait_that_fails_says_its_cause(tmp_path):
    log = tmp_path / "log"
    log.write_text("one\ntwo\n\n")
    with pytest.raises(system.Failure) as failure:
        system.wait_for(lambda: False, 0.05, "the end", lambda: system.where_said(log))
    words = "the end did not happen within 0.05 s; its log is %s and ends: two" % log
    assert str(failure.value) == words
    assert system.last_words(tmp_path / "none") == "No such file or directory"
    assert system.names_of([os.getpid()]).startswith("%d (" % os.getpid())


@pytest.fixture
def spark(tmp_path, monkeypatch):
    """Makes Spark's daemons on three hosts, of a script that stands in for its own."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    if not system.root_is_mount():
        pytest.skip("a daemon's mounts need a root that is a mount of its own (this is a chroot)")
    own = instances.create(str(TREE))
    net = star.Star(own, 3, 50_000_000)
    net.up()
    made = sparks.Spark(net, str(tmp_path / "logs"))

    def make(script):
        program = tmp_path / "spark" / "bin" / "spark-class"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)
        monkeypatch.setattr(sparks, "SPARK", tmp_path / "spark")
        return made
    yield make
    made.down()
    own.down()


MASTER = 'case "$1" in *Master) echo "Started daemon"; exec sleep 100;; esac\n'


def failure_of(made):
    with pytest.raises(system.Failure) as failure:
        made.up()
    return str(failure.value)


def test_a_daemon_of_sparks_that_ends_is_noticed_at_once_with_its_last_words(spark):
    made = spark(MASTER + 'echo "no memory for it"; exit 1')
    said = failure_of(made)  # within the test's own time, not that of READY_SECONDS
    host = re.match(r"Spark's worker on (w[12]) has ended", said)[1]  # whichever was first
    log = os.path.join(made.folder, "spark-%s.log" % host)
    assert said.endswith(" has ended; its log is %s and ends: no memory for it" % log)


def test_a_daemon_of_sparks_that_is_late_is_said_to_run_with_its_log(spark, monkeypatch):
    made = spark(MASTER + 'echo "still loading"; exec sleep 100')
    monkeypatch.setattr(sparks, "READY_SECONDS", 3)
    said = failure_of(made)
    log = os.path.join(made.folder, "spark-w1.log")
    assert said == ("the start of Spark's worker on w1 did not happen within 3 s; it still runs; "
                    "its log is %s and ends: still loading" % log)
