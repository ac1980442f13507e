"""What runs the tests: what fails once is run again, alone, and said; what was skipped is said with its reason."""

import os
import shutil
import subprocess

import pytest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLAKY = """
import os, pytest
@pytest.mark.parametrize("word", ["a b", "c"])
def test_once(word):
    if word == "a b" and not os.path.exists("seen"):
        open("seen", "w").close()
        assert False
def test_skipped():
    pytest.skip("no such\\nkernel")
"""
BAD = """
import pytest
@pytest.fixture
def broken():
    yield
    assert False, "cannot be undone"
def test_never(broken):
    assert False
"""
PROGRAM = """#!/bin/sh
echo 1..3
echo ok 1 - one
echo 'skipped: no such disk'
echo 'ok 2 - two # SKIP'
echo 'not ok 3 - three # SKIP'
"""


@pytest.fixture
def tree(tmp_path):
    """A tree that has the runners, one flaky file of tests and a bad one."""
    (tmp_path / "tests/net").mkdir(parents=True)
    for name in ("run-net", "run-unit", "recheck", "junit.py"):
        shutil.copy(os.path.join(TREE, "tests", name), tmp_path / "tests")
    (tmp_path / "tests/net/test_flaky.py").write_text(FLAKY)
    (tmp_path / "tests/net/test_bad.py").write_text(BAD)
    program = tmp_path / "test_program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return tmp_path


def run(tree, *words):
    environment = dict(os.environ, COUNTS=str(tree / "counts"), BUILD="build")
    return subprocess.run(["tests/" + words[0], *words[1:]], cwd=tree, env=environment, capture_output=True, text=True, timeout=120)


def said(tree, name):
    path = tree / name
    return path.read_text().splitlines() if path.exists() else []


def total(tree):
    return [sum(column) for column in zip(*(map(int, line.split()) for line in said(tree, "counts")))]


def test_what_passes_when_run_again_is_flaky_and_does_not_count_as_failed(tree):
    assert run(tree, "run-net").returncode != 0
    assert sorted(said(tree, "counts.failed")) == ["host\tbuild\ttests/net/test_bad.py::test_never", "host\tbuild\ttests/net/test_flaky.py::test_once[a b]"]
    passed, failed, skipped = total(tree)
    assert run(tree, "recheck").returncode == 0
    assert said(tree, "counts.flaky") == ["flaky: tests/net/test_flaky.py::test_once[a b]"]
    assert total(tree) == [passed + 1, failed - 1, skipped] and failed - 1 > 0


def test_many_failures_are_no_flakes(tree):
    (tree / "counts.failed").write_text("host\tbuild\ttests/net/test_flaky.py::test_once[c]\n" * 21)
    assert run(tree, "recheck").stdout == "" and said(tree, "counts.flaky") == []


def test_what_was_skipped_is_said_with_its_reason(tree):
    run(tree, "run-net", "tests/net/test_flaky.py")
    run(tree, "run-unit", "some", str(tree / "test_program"))
    assert said(tree, "counts.skips") == ["no such kernel", "no such disk", "test_program gives no reason"]
